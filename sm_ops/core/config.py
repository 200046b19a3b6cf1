"""The pipeline's configuration: frozen models, and messages that name the field and the nearest one.

A validated config is dumped to plain JSON (`resolve`); everything below the command line reads that JSON.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Annotated, Any, Literal

import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from sm_ops.core.errors import InputError
from sm_ops.core.registry import did_you_mean, members

CONFIGS = Path(__file__).resolve().parents[2] / "configs"

Count = Annotated[int, Field(ge=0)]
Positive = Annotated[int, Field(ge=1)]
Rate = Annotated[float, Field(gt=0, le=1)]
Name = Annotated[str, Field(pattern=r"^[A-Za-z0-9_][A-Za-z0-9_.-]*$", max_length=60)]
Device = Literal["auto", "cpu", "cuda"]
Dtype = Literal["auto", "float32", "bfloat16"]


def _no_repetition(name: str, values: tuple[float, ...]) -> None:
    """What is listed twice would be made twice under one name."""
    repeated = sorted({value for value in values if values.count(value) > 1})
    if repeated:
        raise ValueError(f"{name} lists {', '.join(map(str, repeated))} more than once")


class Section(BaseModel):
    """A part of the config: immutable, and unknown fields are errors."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)


class Own(Section):
    """Files of the user's own labelled records (JSONL or Parquet), for `data.dataset: own`."""

    train: str | None = None
    calibration: str | None = None
    utility: str | None = None
    reference: str | None = None


class Data(Section):
    """What is trained on, calibrated on and measured on (paper A.1)."""

    dataset: str = "code_pii"
    seed: Count = 0
    hosts: str | None = Field(default=None, description="folder of .py files or records; null: the standard library")
    identities: Positive = 6
    repetitions: Positive = 8
    values_per_program: Positive = 1
    clean: Count = 96
    calibration_identities: Positive = 5
    calibration_repetitions: Positive = 3
    calibration_clean: Count = 30
    utility: Positive = 60
    reference: Count = 160
    form: Literal["text", "chat"] = "text"
    min_chars: Positive = 250
    max_chars: Positive = 900
    public_chars: Count = 1_200_000
    own: Own = Own()

    @model_validator(mode="after")
    def _own_files_belong_to_own_data(self) -> Data:
        given = [f"own.{split}" for split, path in self.own.model_dump().items() if path is not None]
        if given and self.dataset != "own":
            raise ValueError(f"{given[0]} is read only with dataset: own; set that too")
        required = ("train", "calibration", "utility")
        missing = [f"own.{split}" for split in required if getattr(self.own, split) is None]
        if self.dataset == "own" and missing:
            raise ValueError(f"dataset own needs a file of records for {', '.join(missing)}")
        return self


class Optimisation(Section):
    """How a model is trained, whatever on."""

    epochs: Positive = 8
    batch_size: Positive = 4
    accumulation: Positive = 1
    optimizer: Literal["adamw", "muon"] = "adamw"
    learning_rate: Annotated[float, Field(gt=0)] = 3e-3
    muon_learning_rate: Annotated[float, Field(gt=0)] = Field(default=0.01, description="of the hidden matrices")
    schedule: Literal["linear", "cosine", "constant"] = "linear"
    warmup_steps: Count = 10
    weight_decay: Annotated[float, Field(ge=0)] = 0.0
    dtype: Dtype = "float32"
    device: Device = "auto"
    threads: Positive = 1
    checkpoint_steps: Positive = 100


class Base(Optimisation):
    """The model that is trained further: one trained on the spot (`name: null`) or a named one."""

    name: str | None = Field(default=None, description="folder or hub name of a causal model; null: a tiny GPT-2")
    revision: str | None = None
    layers: Positive = 2
    width: Positive = 128
    heads: Positive = 4
    context: Positive = 256
    vocab_size: Positive = 2048
    reference_repeats: Positive = 3
    seed: Count = 0
    epochs: Positive = 2
    batch_size: Positive = 8
    schedule: Literal["linear", "cosine", "constant"] = "cosine"

    @model_validator(mode="after")
    def _heads_divide_width(self) -> Base:
        if self.width % self.heads:
            raise ValueError(f"width {self.width} is not a multiple of heads {self.heads}")
        return self


class Reference(Section):
    """A model that never saw the private values and says how surprising each token is."""

    backend: str = "hf"
    model: str | None = Field(default=None, description="folder, file or hub name; null: the base model, or a fit")
    revision: str | None = None
    fit: str | None = Field(default=None, description="clean records of your own domain to fit the reference to")
    examples: Count = Field(default=0, description="clean documents put before every text (hf)")
    dtype: Dtype = "float32"
    device: Device = "auto"
    token_budget: Positive = 4096
    prefix_token: str | None = None
    threads: Positive = 1
    order: Positive = 3
    vocab_size: Positive = 2048

    @model_validator(mode="after")
    def _scores_are_named(self) -> Reference:
        if self.backend == "file" and self.model is None:
            raise ValueError("backend file needs model: the path of a score file")
        return self


REFERENCES = {"tiny": Reference(), "ngram": Reference(backend="ngram")}


class Masking(Section):
    """The masking rule of paper A.1 and D, its operating points, and the baselines beside it."""

    reference: str = "tiny"
    windows: Literal["fixed"] = "fixed"
    n: Positive = 4
    select: str = "global"
    k: Positive = 4
    propagate: Literal["none", "record", "group", "corpus"] = "group"
    targets: tuple[Rate, ...] = (0.5, 0.7, 0.9, 0.95)
    random: tuple[Rate, ...] = Field(default=(0.95,), description="random masks at these operating points' budgets")
    goldfish: tuple[Annotated[int, Field(ge=2)], ...] = (3,)
    seed: Count = 0
    acceptable_collateral: Rate = 0.25

    @model_validator(mode="after")
    def _consistent(self) -> Masking:
        if self.k > self.n:
            raise ValueError(f"k {self.k} is larger than n {self.n}: no token lies in that many windows")
        for name in ("targets", "random", "goldfish"):
            _no_repetition(name, getattr(self, name))
        if not set(self.random) <= set(self.targets):
            raise ValueError("random names an operating point that is not among targets")
        return self


class Lora(Section):
    """Low-rank adaptation of all linear layers (paper C.1)."""

    rank: Positive = 16
    alpha: Positive = 32
    dropout: Annotated[float, Field(ge=0, lt=1)] = 0.0


class Train(Optimisation):
    """How each condition is trained: further from the base model, from scratch, or by LoRA."""

    method: Literal["continue", "scratch", "lora"] = "continue"
    context: Positive = 256
    lora: Lora = Lora()


class Attack(Section):
    """Prefix extraction of the canaries (paper B.1)."""

    name: str = "prefix_extraction"
    samples: Positive = 128
    budgets: tuple[Positive, ...] = (1, 8, 16, 32, 64, 128)
    reveal: Literal["floor", "ceil"] = "ceil"
    batch_size: Positive = 128
    device: Device = "auto"
    threads: Positive = 1

    @model_validator(mode="after")
    def _budgets_are_recorded(self) -> Attack:
        if max(self.budgets) > self.samples:
            raise ValueError(f"budgets go to {max(self.budgets)}, but only {self.samples} samples are drawn")
        return self


class Evaluate(Section):
    """Utility: negative log likelihood of held-out clean records (paper B.2)."""

    token_budget: Positive = 4096
    device: Device = "auto"
    threads: Positive = 1


class Pipeline(Section):
    """A whole run, from data to the frontier."""

    name: Name = "tiny"
    seeds: tuple[Count, ...] = Field(default=(0, 1, 2), min_length=1, description="training seeds of every condition")
    data: Data = Data()
    base: Base = Base()
    references: dict[Name, Reference] = REFERENCES
    masking: Masking = Masking()
    train: Train = Train()
    attack: Attack = Attack()
    evaluate: Evaluate = Evaluate()

    @model_validator(mode="after")
    def _names_are_known(self) -> Pipeline:
        _no_repetition("seeds", self.seeds)
        if self.masking.reference not in self.references:
            near = did_you_mean(self.masking.reference, self.references)
            raise ValueError(f"masking.reference {self.masking.reference!r} is not among references; {near}")
        named = [("data.dataset", "dataset", self.data.dataset), ("attack.name", "attack", self.attack.name)]
        named += [("masking.select", "rule", self.masking.select)]
        named += [(f"references.{k}.backend", "reference", r.backend) for k, r in self.references.items()]
        for path, kind, name in named:
            if name not in members(kind):
                raise ValueError(f"{path}: there is no {kind} {name!r}; {did_you_mean(name, members(kind))}")
        if self.train.method == "scratch" and self.base.name is not None:
            raise ValueError("train.method scratch makes its own model; leave base.name empty")
        return self


def load_pipeline(source: str | None, overrides: list[str] | None = None) -> Pipeline:
    """Read a preset by name or a YAML file by path, apply `KEY=VALUE` overrides, validate.

    Raises `InputError` that names the field, what was given, what is allowed and the nearest name.
    """
    values, where = _read(source or "tiny")
    if overrides:
        values.setdefault("references", {name: r.model_dump() for name, r in REFERENCES.items()})
    for override in overrides or []:
        key, equals, text = override.partition("=")
        if not equals or not key:
            raise InputError("bad-override", f"--set {override!r} is not of the form KEY=VALUE.")
        _assign(values, key.split("."), _parse(text, f"--set {key}"), override)
    try:
        return Pipeline.model_validate(values)
    except ValidationError as error:
        raise InputError("bad-config", f"{where}: {_sentences(error)}") from None


def resolve(pipeline: Pipeline) -> dict[str, Any]:
    """The config as plain JSON with every default filled in."""
    return pipeline.model_dump(mode="json")


def presets() -> list[str]:
    """Names of the presets that come with the package."""
    return sorted(path.stem for path in CONFIGS.glob("*.yaml") if path.stem != "release_policy")


def _read(source: str) -> tuple[dict[str, Any], str]:
    path = Path(source)
    if not path.suffix:
        path = CONFIGS / f"{source}.yaml"
        if not path.is_file():
            near = did_you_mean(source, presets())
            hint = f"There is no preset {source!r} ({near}); a file's name ends in .yaml."
            raise InputError("unknown-preset", hint)
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise InputError("no-config", f"There is no file {source}; check the path, or name a preset.") from None
    except UnicodeDecodeError:
        raise InputError("bad-yaml", f"{path.name}: the file is not UTF-8 text.") from None
    values = _parse(text, path.name)
    if values is not None and not isinstance(values, dict):
        raise InputError("bad-yaml", f"{path.name}: the top level must be a mapping of sections.")
    return values or {}, path.name


def _parse(text: str, where: str) -> Any:
    try:
        return yaml.safe_load(text)
    except yaml.YAMLError as error:
        line = getattr(getattr(error, "problem_mark", None), "line", None)
        place = where if line is None else f"{where}, line {line + 1}"
        raise InputError("bad-yaml", f"{place}: this is not valid YAML.") from None


def _assign(values: dict[str, Any], path: list[str], value: Any, override: str) -> None:
    for part in path[:-1]:
        inner = values.setdefault(part, {})
        if not isinstance(inner, dict):
            raise InputError("bad-override", f"--set {override!r}: {part} is a value, not a section.")
        values = inner
    values[path[-1]] = value


def _sentences(error: ValidationError) -> str:
    return "; ".join(_sentence(detail) for detail in error.errors(include_url=False)) + "."


def _sentence(detail: Any) -> str:
    path = ".".join(str(part) for part in detail["loc"])
    if detail["type"] == "extra_forbidden":
        known = _fields_at(detail["loc"][:-1])
        return f"there is no setting {path}; {did_you_mean(str(detail['loc'][-1]), known)}"
    message = detail["msg"].removeprefix("Value error, ")
    message = (message[0].lower() + message[1:]).replace("tuple", "list")
    if detail["type"] == "value_error":
        return f"{path}: {message}" if path else message
    if detail["type"] == "model_type":
        message = f"it is a section with the settings {', '.join(_fields_at(detail['loc']))}"
    if detail["type"] == "string_pattern_mismatch":
        message = "a name is made of letters, digits, '_', '-' and '.'"
    if detail["type"] == "literal_error" and isinstance(detail["input"], str):
        allowed = re.findall(r"'([^']+)'", detail["ctx"]["expected"])
        message += f"; {did_you_mean(detail['input'], allowed)}"
    return f"{path} is {detail['input']!r}, but {message}"


def _fields_at(location: tuple[int | str, ...]) -> list[str]:
    model: Any = Pipeline
    for part in location:
        if isinstance(model, type) and issubclass(model, Section) and part in model.model_fields:
            annotation = model.model_fields[str(part)].annotation
            model = Reference if part == "references" else annotation
    return list(model.model_fields) if isinstance(model, type) and issubclass(model, Section) else []
