"""The settings of the leakage audit: defences, attacks on the models that each gives, and what both cost."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field, ValidationError, field_validator, model_validator

from sm_ops.core.config.attacks import ATTACKS
from sm_ops.core.config.base import Count, Device, Lora, Name, Optimisation, Positive, Rate, Section, no_repetition
from sm_ops.core.config.private import Private
from sm_ops.core.config.sentences import sentences
from sm_ops.core.config.surprise import Base, Evaluate, Rule
from sm_ops.core.defaults import ACCEPTABLE_COLLATERAL
from sm_ops.core.registry import did_you_mean, members

BASE = "base"


class Corpus(Section):
    """Labelled documents, cut into records and dealt out by document or author."""

    corpus: str = Field(default="court", description="a reader of a layout, or court: generated court-like documents")
    path: str | None = Field(default=None, description="file or folder that the reader reads")
    absent: Literal["refuse", "court"] = Field(
        default="refuse", description="where path is not there; court: generated documents take its place"
    )
    unit: Literal["document", "paragraph", "sentence"] = "paragraph"
    seed: Count = 0
    documents: Positive | None = Field(default=None, description="only so many documents; null: all (generated: 60)")
    shares: tuple[Rate, Rate, Rate] = Field(
        default=(0.5, 0.25, 0.25), description="of members, of others of their kind, and for validation"
    )
    public: str | None = Field(default=None, description="public records that the base model also learns, if there")
    public_chars: Count = Field(default=1_200_000, description="at most so many characters of them")
    public_documents: Count = Field(default=120, description="generated documents of other people, for the base model")

    @model_validator(mode="after")
    def _consistent(self) -> Corpus:
        if self.corpus not in members("corpus"):
            raise ValueError(f"there is no corpus {self.corpus!r}; {did_you_mean(self.corpus, members('corpus'))}")
        if self.corpus != "court" and self.path is None:
            raise ValueError(f"corpus {self.corpus} needs path: the file or folder to read")
        if sum(self.shares) > 1 + 1e-9:
            raise ValueError(f"shares add up to {sum(self.shares):g}, more than everything")
        return self


class Defence(Section):
    """What is done to the training records, in this order, and how the model is then trained."""

    dedup: bool = Field(default=False, description="exact and near duplicates are left out")
    scrub: bool = Field(default=False, description="labelled spans are replaced by a mask token")
    mask: Literal["none", "surprise", "goldfish"] = Field(default="none", description="out of the training loss")
    private: bool = Field(default=False, description="DP-SGD")


DEFENCES = {
    "undefended": Defence(),
    "scrubbed": Defence(scrub=True),
    "dp": Defence(private=True),
    "dp_scrubbed": Defence(private=True, scrub=True),
    "deduplicated": Defence(dedup=True),
    "deduplicated_scrubbed": Defence(dedup=True, scrub=True),
    "masked": Defence(mask="surprise"),
    "goldfish": Defence(mask="goldfish"),
}


class Deduplicate(Section):
    """Which records count as the same."""

    threshold: Rate | None = Field(
        default=0.8, description="Jaccard index of word shingles from which two are the same; null: equal texts alone"
    )
    shingle: Positive = Field(default=5, description="words of a shingle")


class AuditMasking(Rule):
    """The rule of the defence with `mask: surprise`, its recall, and Goldfish's number."""

    n: Positive = 4
    k: Positive = 1
    propagate: Literal["none", "record", "group", "corpus"] = "none"
    target: Rate = Field(default=0.9, description="target recall on the labelled validation records")
    acceptable_collateral: Rate = ACCEPTABLE_COLLATERAL
    goldfish: Annotated[int, Field(ge=2)] = Field(default=3, description="about one token of so many is left out")


class Tuning(Optimisation):
    """How each model is fine-tuned: all weights, or adapters."""

    method: Literal["full", "lora"] = "full"
    context: Positive = Field(default=256, description="tokens of a record; longer ones are cut")
    patience: Positive | None = Field(
        default=None, description="epochs without a better validation perplexity after which training ends; null: never"
    )
    lora: Lora = Lora()

    @model_validator(mode="after")
    def _adapters_take_adamw(self) -> Tuning:
        if self.method == "lora" and self.optimizer != "adamw":
            raise ValueError("method lora takes optimizer adamw")
        return self

    @model_validator(mode="after")
    def _patience_keeps_whole_weights(self) -> Tuning:
        if self.patience is not None and self.sharded:
            raise ValueError("patience keeps the weights of the best epoch; take parallel ddp, or no patience")
        return self


class PrivateTuning(Private):
    """DP-SGD of the private defences; what is null here is as in `train`. Its optimiser is AdamW."""

    epochs: Positive | None = None
    batch_size: Positive | None = None
    learning_rate: Annotated[float, Field(gt=0)] | None = None


class Shadows(Section):
    """Models that the attacker trains, undefended, on random halves of records of the kind (membership)."""

    count: Count = Field(default=0, description="in pairs, so that every record is in half of them")

    @model_validator(mode="after")
    def _come_in_pairs(self) -> Shadows:
        if self.count % 2:
            raise ValueError(f"count is {self.count}; shadow models come in pairs")
        return self


class Filling(Section):
    """The masked language model that fills residual masks around a slot (appendix B)."""

    model: str | None = Field(default=None, description="folder or hub name; null: masks stay")
    how: Literal["paper", "repo"] = "paper"


class Probe(Section):
    """How the attacks run models."""

    token_budget: Positive = Field(default=4096, description="positions of a batch, padding included")
    device: Device = "auto"
    threads: Positive = 1


class AuditPipeline(Section):
    """A whole audit: from documents to leakage against perplexity."""

    flow: Literal["audit"]
    name: Name = "audit_tiny"
    seeds: tuple[Count, ...] = Field(default=(0,), min_length=1, description="seeds of training and attacks")
    data: Corpus = Corpus()
    tagger: str = Field(default="gold", description="gold, a detector, or the union of two as A+B; it also scrubs")
    classes: tuple[str, ...] = Field(default=(), description="entity classes that are attacked; none: all")
    base: Base = Base()
    defences: dict[Name, Defence] = DEFENCES
    deduplicate: Deduplicate = Deduplicate()
    masking: AuditMasking = AuditMasking()
    train: Tuning = Tuning()
    private: PrivateTuning = PrivateTuning()
    shadows: Shadows = Shadows()
    filling: Filling = Filling()
    attacks: dict[Name, dict[str, Any]] = Field(
        default={"extraction": {}, "inference": {}, "membership": {}}, min_length=1, validate_default=True
    )
    probe: Probe = Probe()
    evaluate: Evaluate = Evaluate()

    @field_validator("attacks")
    @classmethod
    def _have_their_settings(cls, given: dict[str, dict[str, Any]]) -> dict[str, dict[str, Any]]:
        return {name: _attack_settings(name, values) for name, values in given.items()}

    @model_validator(mode="after")
    def _names_are_known(self) -> AuditPipeline:
        no_repetition("seeds", self.seeds)
        no_repetition("classes", self.classes)
        if BASE in self.defences:
            raise ValueError(f"defences: {BASE} is the model before fine-tuning; take another name")
        tagger = self.tagger.split("+")
        if not all(tagger):
            raise ValueError(f"tagger is {self.tagger!r}, but must be one detector, or different ones with +")
        no_repetition("tagger", tuple(tagger))
        for name in tagger:
            if name not in members("detector"):
                raise ValueError(f"tagger: there is no detector {name!r}; {did_you_mean(name, members('detector'))}")
        if self.base.name is None and not self.data.public_documents:
            raise ValueError("data.public_documents is 0, but the base model learns them; raise it, or set base.name")
        if any(each.mask != "none" and each.private for each in self.defences.values()):
            raise ValueError("a private defence learns every token of its records; leave its mask at none")
        if any(each.private for each in self.defences.values()) and self.train.processes > 1:
            raise ValueError("train.processes is above 1, but a private defence is trained in one process; drop either")
        return self


def _attack_settings(name: str, values: dict[str, Any]) -> dict[str, Any]:
    """All settings of an attack; one of another package has what is given."""
    if name not in members("attack"):
        raise ValueError(f"there is no attack {name!r}; {did_you_mean(name, members('attack'))}")
    if name not in ATTACKS:
        return values
    try:
        return ATTACKS[name].model_validate(values).model_dump(mode="json")
    except ValidationError as error:
        raise ValueError(sentences(error, ATTACKS[name], within=(name,))) from None
