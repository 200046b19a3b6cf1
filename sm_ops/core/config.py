"""The pipeline's configuration: frozen models, and messages that name the field and the nearest one.

A validated config is dumped to plain JSON (`resolve`); everything below the command line reads that JSON.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar

import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError, ValidationInfo, field_validator, model_validator

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


SectionType = TypeVar("SectionType", bound=Section)


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
    token_budget: Positive | None = Field(
        default=None, description="positions of a batch, padding included; null: 1024 on a CPU, 65536 on a GPU (hf)"
    )
    prefix_token: str | None = None
    prompt: str | None = Field(default=None, description="text put before every record, after the examples (hf)")
    violating: str | None = Field(
        default=None, description="second prompt, for the prompted contrast; for backend file a second score file"
    )
    threads: Positive = 1
    workers: Positive = Field(default=1, description="processes that score; worker i takes the i-th GPU (hf)")
    order: Positive = 3
    vocab_size: Positive = 2048

    @model_validator(mode="after")
    def _scores_are_named(self) -> Reference:
        if self.backend == "file" and self.model is None:
            raise ValueError("backend file needs model: the path of a score file")
        return self

    @model_validator(mode="after")
    def _prompts_have_a_reader(self) -> Reference:
        if self.backend == "file" and self.prompt is not None:
            raise ValueError("backend file brings its scores; prompt belongs to a model that is still to be run")
        if self.backend == "ngram" and (self.prompt is not None or self.violating is not None):
            raise ValueError("backend ngram sees a few tokens back and has no use for prompt or violating")
        if self.backend == "hf" and self.violating is not None and self.prompt is None:
            raise ValueError("violating needs prompt: the contrast is between a violating and a compliant prompt")
        return self


REFERENCES = {"tiny": Reference(), "ngram": Reference(backend="ngram")}


class Rule(Section):
    """How reference scores become a mask (paper section 2 and D); by default the rule of code with private values."""

    windows: str = Field(default="fixed", description="fixed, line, sentence, field, response or segment")
    n: Positive = Field(default=4, description="width of a fixed window, in tokens")
    agg: Literal["mean", "top"] = Field(default="mean", description="of the token scores; top: of the three largest")
    select: str = Field(default="global", description="global (a threshold) or local (a rank among neighbours)")
    radius: Positive = Field(default=32, description="neighbours on either side (local)")
    k: Positive = Field(default=4, description="selected windows that must hold a token")
    propagate: Literal["none", "record", "group", "corpus"] = "group"
    prop_n: Positive | None = Field(default=None, description="tokens of a repeated sequence; null: n")

    @field_validator("windows", "select")
    @classmethod
    def _is_known(cls, name: str, info: ValidationInfo) -> str:
        names = members("rule") if info.field_name == "select" else {"fixed": "", **members("window")}
        if name not in names:
            raise ValueError(f"there is no {name!r}; {did_you_mean(name, names)}")
        return name

    @model_validator(mode="after")
    def _can_be_applied(self) -> Rule:
        if self.windows == "fixed" and self.k > self.n:
            raise ValueError(f"k {self.k} is larger than n {self.n}: no token lies in that many windows")
        if self.windows != "fixed" and self.propagate != "none" and self.prop_n is None:
            raise ValueError(f"windows {self.windows} have no width; set prop_n, or propagate to none")
        return self


BASELINES: dict[str, tuple[int | float, ...]] = {"random": (0.95,), "goldfish": (3,)}


class Masking(Rule):
    """The masking rule, its operating points, and the baselines beside it."""

    reference: str = "tiny"
    targets: tuple[Rate, ...] = Field(default=(0.5, 0.7, 0.9, 0.95), description="target recalls")
    by: str | None = Field(default=None, description="a key of the records' meta: one more point, a threshold for each")
    confidence: Annotated[float, Field(gt=0, lt=1)] | None = Field(
        default=None, description="with which the recall holds for further identities; null: on the validation data"
    )
    baselines: dict[Name, tuple[Annotated[int | float, Field(gt=0)], ...]] = Field(
        default=BASELINES, description="values of each: up to 1 the recall whose budget it gets, above 1 its own number"
    )
    seed: Count = 0
    acceptable_collateral: Rate = 0.25

    @field_validator("baselines", mode="before")
    @classmethod
    def _beside_the_usual_ones(cls, given: Any) -> Any:
        return {**BASELINES, **given} if isinstance(given, dict) else given

    @model_validator(mode="after")
    def _consistent(self) -> Masking:
        for name, values in {"targets": self.targets, **self.baselines}.items():
            _no_repetition(name, values)
        for name, values in self.baselines.items():
            if name not in members("baseline"):
                raise ValueError(f"there is no baseline {name!r}; {did_you_mean(name, members('baseline'))}")
            if not {value for value in values if value <= 1} <= set(self.targets):
                raise ValueError(f"baseline {name} has the budget of an operating point that is not among targets")
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
    intervention: Literal["loss", "attention", "both", "clip", "scale", "drop"] = Field(
        default="loss", description="what happens to masked tokens (paper E.1)"
    )
    compare: tuple[Literal["loss", "attention", "both", "clip", "scale", "drop"], ...] = Field(
        default=(), description="further interventions, at the highest target recall (paper E.1)"
    )
    truncated: Literal["refuse", "drop"] = Field(
        default="refuse", description="records that the context cuts so that nothing supervised is left"
    )
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

    token_budget: Positive = Field(default=1024, description="positions of a batch, padding included")
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
        _set(values, override)
    return validated(Pipeline, values, where)


def validated(section: type[SectionType], values: dict[str, Any], where: str) -> SectionType:
    """A section (or a whole pipeline) from plain values; `InputError` begins with `where` and names the field."""
    try:
        return section.model_validate(values)
    except ValidationError as error:
        raise InputError("bad-config", f"{where}: {_sentences(error, section)}") from None


def parsed(overrides: list[str] | None) -> dict[str, Any]:
    """`KEY=VALUE` settings of one section as plain values; `InputError` for another form."""
    values: dict[str, Any] = {}
    for override in overrides or []:
        _set(values, override)
    return values


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


def _set(values: dict[str, Any], override: str) -> None:
    key, equals, text = override.partition("=")
    if not equals or not key:
        raise InputError("bad-override", f"--set {override!r} is not of the form KEY=VALUE.")
    path, value = key.split("."), _parse(text, f"--set {key}")
    for part in path[:-1]:
        inner = values.setdefault(part, {})
        if not isinstance(inner, dict):
            raise InputError("bad-override", f"--set {override!r}: {part} is a value, not a section.")
        values = inner
    values[path[-1]] = value


def _sentences(error: ValidationError, root: type[Section]) -> str:
    return "; ".join(_sentence(detail, root) for detail in error.errors(include_url=False)) + "."


def _sentence(detail: Any, root: type[Section]) -> str:
    path = ".".join(str(part) for part in detail["loc"])
    if detail["type"] == "extra_forbidden":
        known = _fields_at(detail["loc"][:-1], root)
        return f"there is no setting {path}; {did_you_mean(str(detail['loc'][-1]), known)}"
    message = detail["msg"].removeprefix("Value error, ")
    message = (message[0].lower() + message[1:]).replace("tuple", "list")
    if detail["type"] == "value_error":
        return f"{path}: {message}" if path else message
    if detail["type"] == "model_type":
        message = f"it is a section with the settings {', '.join(_fields_at(detail['loc'], root))}"
    if detail["type"] == "string_pattern_mismatch":
        message = "a name is made of letters, digits, '_', '-' and '.'"
    if detail["type"] == "literal_error" and isinstance(detail["input"], str):
        allowed = re.findall(r"'([^']+)'", detail["ctx"]["expected"])
        message += f"; {did_you_mean(detail['input'], allowed)}"
    return f"{path} is {detail['input']!r}, but {message}"


def _fields_at(location: tuple[int | str, ...], root: type[Section]) -> list[str]:
    model: Any = root
    for part in location:
        if isinstance(model, type) and issubclass(model, Section) and part in model.model_fields:
            annotation = model.model_fields[str(part)].annotation
            model = Reference if part == "references" else annotation
    return list(model.model_fields) if isinstance(model, type) and issubclass(model, Section) else []
