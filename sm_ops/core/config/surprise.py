"""The settings of the main job: masks by a reference's surprise, and what they cost and gain."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field, ValidationInfo, field_validator, model_validator

from sm_ops.core.config.about import About
from sm_ops.core.config.base import (
    Count,
    Device,
    Dtype,
    Lora,
    Name,
    Optimisation,
    Positive,
    Rate,
    Section,
    no_repetition,
)
from sm_ops.core.registry import did_you_mean, members


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
    scale: Annotated[float, Field(gt=0, le=1)] | None = Field(
        default=None, description="executable_code_pii: share of the paper's sizes; null: the numbers above"
    )
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
    engine: Literal["local", "ray"] = Field(
        default="local", description="ray: the workers are on the nodes of the cluster that RAY_ADDRESS names (hf)"
    )
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


def stands_alone(path: str, reference: Reference) -> None:
    """Refuse what a reference cannot be in a flow that has no base model and no clean split beside it."""
    if reference.backend not in members("reference"):
        near = did_you_mean(reference.backend, members("reference"))
        raise ValueError(f"{path}.backend: there is no reference {reference.backend!r}; {near}")
    if reference.backend != "ngram" and reference.model is None:
        raise ValueError(f"{path}.model is empty: name a model (backend ngram alone is fitted on the spot)")
    if reference.fit is not None and (reference.backend != "ngram" or reference.model is not None):
        raise ValueError(f"{path}.fit belongs to an n-gram that is fitted here: backend ngram, no model")
    if reference.examples:
        raise ValueError(f"{path}.examples puts clean documents before every text, and this flow has none; set 0")


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
            no_repetition(name, values)
        for name, values in self.baselines.items():
            if name not in members("baseline"):
                raise ValueError(f"there is no baseline {name!r}; {did_you_mean(name, members('baseline'))}")
            if not {value for value in values if value <= 1} <= set(self.targets):
                raise ValueError(f"baseline {name} has the budget of an operating point that is not among targets")
        return self


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

    @model_validator(mode="after")
    def _clip_has_whole_microbatches(self) -> Train:
        """Its multiplier is that of one microbatch's gradient."""
        if "clip" in (self.intervention, *self.compare) and (self.sharded or self.accumulation % self.processes):
            raise ValueError(
                f"intervention clip measures the gradients of whole microbatches; take parallel ddp and an "
                f"accumulation that {self.processes} processes divide"
            )
        return self


class Attack(Section):
    """Prefix extraction of the canaries (paper B.1)."""

    name: str = "prefix_extraction"
    samples: Positive = 128
    budgets: tuple[Positive, ...] = Field(default=(1, 8, 16, 32, 64, 128), min_length=1)
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


class Redact(Section):
    """Which operating point removes text from the training records, beside every annotated span."""

    target: Rate | None = Field(default=None, description="one of masking.targets; null: the highest")


class Release(Section):
    """Whether a run ends with a release of its redacted text, and what its card says of it."""

    build: bool = False
    about: About | None = None

    @model_validator(mode="after")
    def _is_described(self) -> Release:
        if self.build and self.about is None:
            raise ValueError("build needs about: title and description at least; see docs/how-to/own-data.md")
        return self


class Pipeline(Section):
    """A whole run, from data to the frontier."""

    flow: Literal["surprise"] = "surprise"
    name: Name = "tiny"
    seeds: tuple[Count, ...] = Field(default=(0, 1, 2), min_length=1, description="training seeds of every condition")
    data: Data = Data()
    base: Base = Base()
    references: dict[Name, Reference] = REFERENCES
    masking: Masking = Masking()
    train: Train = Train()
    attack: Attack = Attack()
    evaluate: Evaluate = Evaluate()
    redact: Redact = Redact()
    release: Release = Release()

    @model_validator(mode="after")
    def _names_are_known(self) -> Pipeline:
        no_repetition("seeds", self.seeds)
        if self.redact.target is not None and self.redact.target not in self.masking.targets:
            raise ValueError(f"redact.target {self.redact.target:g} is not among masking.targets")
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
