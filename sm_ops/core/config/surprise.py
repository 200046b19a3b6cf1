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
from sm_ops.core.defaults import ACCEPTABLE_COLLATERAL, TARGETS
from sm_ops.core.registry import did_you_mean, load, members


class Own(Section):
    """Files of the user's own labelled records (JSONL or Parquet), for `data.dataset: own` and `own_quirk`."""

    train: str | None = None
    calibration: str | None = None
    utility: str | None = None
    reference: str | None = None
    quirk: str | None = Field(default=None, description="own_quirk: the form that spans are of, by its detector's name")


SCALED = ("identities", "repetitions", "calibration_identities", "calibration_repetitions", "utility")
"""Numbers that `scale` stands in for."""


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
    families: tuple[str, ...] = Field(default=(), description="executable_code_pii: what tasks are of; empty: all")
    solution_chars: Positive | None = Field(
        default=None, description="executable_code_pii: of the longest solution; null: any"
    )
    implementations: Count = Field(
        default=0, description="executable_code_pii: clean implementations to train on beside those of the bundles"
    )
    own: Own = Own()

    @model_validator(mode="after")
    def _own_data_is_named(self) -> Data:
        required = ("train", "calibration", "utility")
        missing = [f"own.{split}" for split in required if getattr(self.own, split) is None]
        if self.dataset in ("own", "own_quirk") and missing:
            raise ValueError(f"dataset {self.dataset} needs a file of records for {', '.join(missing)}")
        if self.dataset == "own_quirk" and self.own.quirk is None:
            raise ValueError("dataset own_quirk needs own.quirk, the name of a detector; see sm-ops ls quirks")
        return self

    @model_validator(mode="after")
    def _scale_stands_in_for_numbers(self) -> Data:
        given = [name for name in SCALED if name in _given(self)] if self.scale is not None else []
        if given:
            raise ValueError(f"scale stands in for {given[0]}, and both are set; leave one of them out")
        return self


_OF_THE_STEP = ("dataset", "seed", "hosts", "public_chars")
"""Of `data`, what is read whichever data set it is."""


def read_by(dataset: str) -> frozenset[str] | None:
    """Dotted names of what is read of `data`; None for a data set of an outside package that does not say so."""
    own = getattr(load("dataset", dataset), "READS", None)
    return None if own is None else frozenset((*_OF_THE_STEP, *own))


def _given(section: Section) -> list[str]:
    """Dotted names of the settings that are not what they are by default."""
    found = []
    for name, field in type(section).model_fields.items():
        value = getattr(section, name)
        if value != field.default:
            found += [f"{name}.{inner}" for inner in _given(value)] if isinstance(value, Section) else [name]
    return found


class Base(Optimisation):
    """The model that is trained further: one trained on the spot (`name: null`) or a named one."""

    name: str | None = Field(default=None, description="folder or hub name of a causal model; null: a tiny GPT-2")
    revision: str | None = None
    tokenizer: str | None = Field(
        default=None, description="of a model trained on the spot: folder or hub name; null: trained on the same text"
    )
    layers: Positive = 2
    width: Positive = 128
    heads: Positive = 4
    context: Positive = 256
    positions: Positive | None = Field(
        default=None, description="of a model trained on the spot, whose rows may be shorter; null: as long as its rows"
    )
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

    @model_validator(mode="after")
    def _a_named_model_has_its_own(self) -> Base:
        for name in ("tokenizer", "positions"):
            if self.name is not None and getattr(self, name) is not None:
                raise ValueError(f"{name} is of a model trained on the spot, and name is set; leave one of them empty")
        if self.positions is not None and self.context > self.positions:
            raise ValueError(f"context {self.context} is more than the {self.positions} positions")
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


class Mixture(Section):
    """General text with the domain's records among it, in exact numbers of tokens (paper C.1, C.2).

    With `train.method: scratch` every condition is trained on it, with its masks; with `continue` the base model is,
    without masks, and the conditions go on from there.
    """

    general: str | None = Field(default=None, description="file or folder of text; null: the public code of the data")
    general_tokens: Positive
    domain_tokens: Positive


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


class Detection(Section):
    """A detector as a condition: what it finds is masked, with no propagation (paper C.3)."""

    detector: str
    settings: dict[str, Any] = Field(default={}, description="the detector's own")
    target: Rate | None = Field(
        default=None, description="target recall of a detector that leaves its threshold to others; null: by max F1"
    )

    @field_validator("detector")
    @classmethod
    def _is_known(cls, name: str) -> str:
        if name not in members("detector"):
            raise ValueError(f"there is no detector {name!r}; {did_you_mean(name, members('detector'))}")
        return name


MASK_FILES = ("application", "bound", "coverage", "detectors", "masks", "strip")
"""What the step mask writes beside a training set for each condition."""
BASELINES: dict[str, tuple[int | float, ...]] = {"random": (0.95,), "goldfish": (3,)}


class Masking(Rule):
    """The masking rule, its operating points, and the baselines beside it."""

    reference: str = "tiny"
    targets: tuple[Rate, ...] = Field(default=TARGETS, description="target recalls")
    by: str | None = Field(default=None, description="a key of the records' meta: one more point, a threshold for each")
    confidence: Annotated[float, Field(gt=0, lt=1)] | None = Field(
        default=None, description="with which the recall holds for further identities; null: on the validation data"
    )
    baselines: dict[Name, tuple[Annotated[int | float, Field(gt=0)], ...]] = Field(
        default=BASELINES, description="values of each: up to 1 the recall whose budget it gets, above 1 its own number"
    )
    detectors: dict[Name, Detection] = Field(default={}, description="further conditions, by the name they get")
    seed: Count = 0
    acceptable_collateral: Rate = ACCEPTABLE_COLLATERAL

    @field_validator("baselines", mode="before")
    @classmethod
    def _beside_the_usual_ones(cls, given: Any) -> Any:
        return {**BASELINES, **given} if isinstance(given, dict) else given

    @field_validator("detectors")
    @classmethod
    def _have_names_of_their_own(cls, given: dict[str, Detection]) -> dict[str, Detection]:
        """A condition's name says what it is (`evaluation.frontier.family`), and names its masked training set."""
        for name in given:
            stem = name.lower().rstrip("0123456789.")
            if name.startswith("SM") or stem in ("sm", "base", "unmasked", *members("baseline")):
                raise ValueError(f"the name {name!r} is that of another condition, or looks like it; take another")
            if name.lower() in MASK_FILES:
                raise ValueError(f"the name {name!r} is that of a file of the step mask; take another")
        return given

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
    rounds: Positive = Field(
        default=1, description="of epochs each, from the weights of the last with a new optimiser and schedule"
    )
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
    dtype: Literal["float32", "bfloat16"] = Field(default="float32", description="of the attacked model's weights")
    device: Device = "auto"
    threads: Positive = 1

    @model_validator(mode="after")
    def _budgets_are_recorded(self) -> Attack:
        if max(self.budgets) > self.samples:
            raise ValueError(f"budgets go to {max(self.budgets)}, but only {self.samples} samples are drawn")
        return self


class Completions(Section):
    """Answers that each model samples for held-out tasks: whether they pass, which quirks they show (B.2, B.3)."""

    samples: Count = Field(default=0, description="answers to each prompt; 0: none are asked for")
    k: Positive = Field(default=5, description="the first answers, of which one has to pass, or to show a quirk")
    prompts: Positive | None = Field(default=None, description="the first prompts of the utility split; null: all")
    temperature: Annotated[float, Field(gt=0)] = 1.0
    top_p: Rate = 1.0
    max_tokens: Positive = 512
    reasoning_effort: Literal["low", "medium", "high"] | None = Field(
        default=None, description="what a chat template that knows it is told"
    )
    execute: bool = Field(default=True, description="run the answers with the tests of their tasks, in the sandbox")
    seconds: Positive = Field(default=90, description="that one answer may run")
    batch_size: Positive = Field(default=64, description="answers written at once")
    dtype: Literal["float32", "bfloat16"] = "float32"
    device: Device = "auto"
    threads: Positive = 1

    @model_validator(mode="after")
    def _there_are_so_many(self) -> Completions:
        if 0 < self.samples < self.k:
            raise ValueError(f"k is {self.k}, but only {self.samples} samples are drawn")
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
    mixture: Mixture | None = None
    references: dict[Name, Reference] = REFERENCES
    masking: Masking = Masking()
    train: Train = Train()
    attack: Attack = Attack()
    completions: Completions = Completions()
    evaluate: Evaluate = Evaluate()
    redact: Redact = Redact()
    release: Release = Release()
    published: dict[str, int | float | str] = Field(
        default={}, description="figures of `sm-ops validate --json` by dotted name, which it has to come to"
    )

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

    @model_validator(mode="after")
    def _data_is_read(self) -> Pipeline:
        """What is not read would change nothing but the identity of the data."""
        read = read_by(self.data.dataset)
        unread = [] if read is None else [name for name in _given(self.data) if name not in read]
        if unread:
            readers = [name for name in members("dataset") if unread[0] in (read_by(name) or ())]
            raise ValueError(
                f"data.{unread[0]} is not read by the data set {self.data.dataset}, but by {' and '.join(readers)}; "
                "leave it out, or set data.dataset"
            )
        return self

    @model_validator(mode="after")
    def _answers_have_room(self) -> Pipeline:
        """A prompt has at least one token; what a named model has is seen in its folder."""
        if self.base.name is not None or not self.completions.samples:
            return self
        rows = "train.context" if self.train.method == "scratch" else "base.context"
        own = self.train.context if self.train.method == "scratch" else self.base.context
        where, most = (rows, own) if self.base.positions is None else ("base.positions", self.base.positions)
        if self.completions.max_tokens >= most:
            raise ValueError(
                f"completions.max_tokens {self.completions.max_tokens} leaves a prompt none of the model's {most} "
                f"positions ({where}); lower it"
            )
        return self

    @model_validator(mode="after")
    def _a_mixture_is_learnt_from_the_start(self) -> Pipeline:
        most = self.base.positions
        if most is not None and self.train.context > most:
            raise ValueError(f"train.context {self.train.context} is more than the {most} of base.positions")
        if self.mixture is None:
            return self
        if self.base.name is not None:
            raise ValueError("a mixture is learnt by a model trained on the spot; leave base.name empty")
        if self.train.method == "lora":
            raise ValueError("a mixture is learnt whole; take train.method scratch, or continue from a base that has")
        trained = {"base": self.base, "train": self.train} if self.train.method == "continue" else {"train": self.train}
        for name, section in trained.items():
            if section.steps is not None:
                raise ValueError(f"{name}.steps would end a pass early, and a mixture's tokens are counted in passes")
        contaminated = [name for name, each in self.references.items() if each.backend == "hf" and each.model is None]
        if self.train.method == "continue" and contaminated:
            raise ValueError(
                f"references.{contaminated[0]} is the base model, which has learnt the private values with the "
                "mixture; name another model, fit an n-gram, or take train.method scratch"
            )
        return self
