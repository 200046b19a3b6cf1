"""The settings of sanitization: a labelled corpus, filters beside each other, and which of them cleans the corpus."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field, ValidationError, field_validator, model_validator

from sm_ops.core.config.base import Count, Name, Positive, Rate, Section, no_repetition
from sm_ops.core.config.prices import MachinePrices
from sm_ops.core.config.sentences import sentences
from sm_ops.core.config.surprise import Reference, Release, Rule, stands_alone
from sm_ops.core.registry import did_you_mean, members

DETECTOR = "detector"


class SanitizedCorpus(Section):
    """What thresholds are chosen on, and what is cleaned with them."""

    name: str = Field(default="auto", description="a reader of a layout; auto: the one whose rows these are")
    validation: str | None = Field(default=None, description="labelled sample; null: the corpus is generated")
    records: str | None = Field(default=None, description="what is cleaned, labelled or not; null: generated, or folds")
    settings: dict[str, Any] = Field(default={}, description="the reader's own")
    families: str | None = Field(default=None, description="file that maps each category to its family")
    folds: Positive | None = Field(
        default=None, description="so many divisions of validation by group into halves: one chooses, one is cleaned"
    )
    seed: Count = 0
    public_chars: Count | None = Field(
        default=None, description="of the standard library, that fitted references also learn; null: 400,000 for code"
    )

    @model_validator(mode="after")
    def _has_two_sides(self) -> SanitizedCorpus:
        if self.name not in ("auto", *members("corpus")):
            near = did_you_mean(self.name, ("auto", *members("corpus")))
            raise ValueError(f"there is no corpus {self.name!r}; {near}")
        if self.records is not None and self.validation is None:
            raise ValueError("records has no thresholds without validation: name a labelled sample of the same kind")
        if self.folds is not None and self.records is not None:
            raise ValueError("folds cuts validation itself; leave records out, or folds")
        if self.validation is not None and self.records is None and self.folds is None:
            raise ValueError("validation alone cleans nothing: name records, or cut it by folds")
        return self


class Filter(Section):
    """What gives every character of a text a level: a scorer over a reference, or a detector."""

    kind: Name = Field(description="detector, or a scorer: surprise, ...")
    reference: Name | None = Field(default=None, description="of a scorer, one of references")
    detector: Name | None = None
    rule: dict[str, Any] = Field(
        default={}, description="what differs from the corpus's published rule, or from the one that `published` names"
    )
    settings: dict[str, Any] = Field(default={}, description="the detector's or the scorer's own")
    workers: Positive = Field(
        default=1, description="processes that a detector runs in; a scorer's are its reference's"
    )

    @model_validator(mode="after")
    def _is_whole(self) -> Filter:
        kinds = (DETECTOR, *members("scorer"))
        if self.kind not in kinds:
            raise ValueError(f"there is no kind of filter {self.kind!r}; {did_you_mean(self.kind, kinds)}")
        needed, other = ("detector", "reference") if self.kind == DETECTOR else ("reference", "detector")
        if getattr(self, needed) is None:
            raise ValueError(f"kind {self.kind} needs {needed}")
        if getattr(self, other) is not None or (self.rule and self.kind == DETECTOR):
            raise ValueError(f"kind {self.kind} has no {other if getattr(self, other) is not None else 'rule'}")
        if self.workers > 1 and self.kind != DETECTOR:
            raise ValueError(f"kind {self.kind} has no workers of its own; set those of its reference")
        if self.detector is not None and self.detector not in members(DETECTOR):
            near = did_you_mean(self.detector, members(DETECTOR))
            raise ValueError(f"there is no detector {self.detector!r}; {near}")
        return self

    @field_validator("rule")
    @classmethod
    def _is_known(cls, given: dict[str, Any]) -> dict[str, Any]:
        own = {name: value for name, value in given.items() if name != "published"}
        try:
            Rule.model_validate({"k": 1, "propagate": "none", **own})
        except ValidationError as error:
            raise ValueError(sentences(error, Rule, within=("rule",))) from None
        return given


NGRAM = {"ngram": Reference(backend="ngram", order=4, vocab_size=512)}
"""Fitted on the spot; of the sizes tried on credentials and documents this one separates best (choice F-1)."""
FILTERS = {
    "surprise": Filter(kind="surprise", reference="ngram"),
    "regex": Filter(kind=DETECTOR, detector="regex"),
}


class SanitizePipeline(Section):
    """A whole run: from a labelled sample to which filter to take, and the corpus cleaned by it."""

    flow: Literal["sanitize"]
    name: Name = "sanitize_tiny"
    corpus: SanitizedCorpus = SanitizedCorpus()
    references: dict[Name, Reference] = NGRAM
    filters: dict[Name, Filter] = Field(default=FILTERS, min_length=1)
    combinations: tuple[tuple[Name, Name], ...] = Field(default=(), description="pairs of filters")
    unit: Literal["characters", "tokens", "lines"] = Field(default="characters", description="of thresholds")
    threshold_folds: Annotated[int, Field(ge=2)] | None = Field(
        default=None, description="thresholds are chosen over so many folds of validation, then frozen; null: on all"
    )
    by: str | None = Field(default=None, description="a key of the records' meta: figures per value, and their mean")
    regimes: tuple[Name, ...] = Field(default=(), description="of the corpus, for the transfer of thresholds")
    acceptable_collateral: Rate = Field(default=0.1, description="largest share of other content that may be masked")
    coverage: Rate = Field(default=0.8, description="share of the targets that a suitable filter covers at that price")
    use: Name = Field(default="auto", description="the filter that cleans; auto: the best suitable one on validation")
    prices: MachinePrices = MachinePrices()
    release: Release = Release()

    @model_validator(mode="after")
    def _names_are_known(self) -> SanitizePipeline:
        for name, reference in self.references.items():
            stands_alone(f"references.{name}", reference)
        for name, each in self.filters.items():
            if each.reference is not None and each.reference not in self.references:
                near = did_you_mean(each.reference, self.references)
                raise ValueError(f"filters.{name}.reference {each.reference!r} is not among references; {near}")
        no_repetition("combinations", tuple("+".join(pair) for pair in self.combinations))
        named = [(f"combinations[{n}]", name) for n, pair in enumerate(self.combinations) for name in pair]
        for path, name in named:
            if name not in self.filters:
                raise ValueError(f"{path}: there is no filter {name!r}; {did_you_mean(name, self.filters)}")
        if any(one == other for one, other in self.combinations):
            raise ValueError("combinations pairs a filter with itself; name two different ones")
        if self.use not in ("auto", *self.filters):
            raise ValueError(f"use: there is no filter {self.use!r}; {did_you_mean(self.use, ('auto', *self.filters))}")
        if self.unit == "tokens" and all(each.kind == DETECTOR for each in self.filters.values()):
            raise ValueError("unit tokens are those of a reference, and no filter has one; take characters or lines")
        no_repetition("regimes", self.regimes)
        return self
