"""The settings of the flow that ranks whole outputs: pairs, references, score rules."""

from __future__ import annotations

from typing import Literal

from pydantic import Field, field_validator, model_validator

from sm_ops.core.config.base import Count, Name, Rate, Section, no_repetition
from sm_ops.core.config.surprise import Reference, stands_alone
from sm_ops.core.registry import did_you_mean, members


class Pairs(Section):
    """Where the risky and the safe outputs come from, and how they are dealt out."""

    source: Literal["generated", "pairs", "citations"] = Field(
        default="generated", description="pairs: own files; citations: files of HALLMARK; generated: a small example"
    )
    validation: str | None = Field(default=None, description="file of the validation side, or of both sides")
    application: str | None = Field(default=None, description="file of the other side; null: validation is split")
    share: Rate = Field(default=0.2, description="of the pairs that are for validation, where one file is split")
    seed: Count = 0
    types: tuple[str, ...] = Field(
        default=("plausible_fabrication",), min_length=1, description="kinds of fabrication that count (citations)"
    )
    controls: Literal["released", "generated"] = Field(
        default="released", description="generated: a model or a person rewrote the safe outputs for this comparison"
    )
    setting: Name | None = Field(
        default=None,
        description="name in the suitability panel, such as insecure_code, medical_advice or financial_advice; "
        "null: citations, or the pipeline's name",
    )

    @field_validator("types")
    @classmethod
    def _differ(cls, types: tuple[str, ...]) -> tuple[str, ...]:
        no_repetition("types", types)
        return types

    @model_validator(mode="after")
    def _files_belong_to_their_source(self) -> Pairs:
        if self.source == "generated" and (self.validation or self.application):
            raise ValueError("source generated reads no file; set source to pairs or citations too")
        if self.source != "generated" and self.validation is None:
            raise ValueError(f"source {self.source} needs validation: the file to read")
        if self.share == 1 and self.application is None:
            raise ValueError("share 1 leaves nothing for the other side; lower it, or name application")
        return self


class Score(Section):
    """A score: a named rule over the scores of one reference."""

    rule: str = Field(default="mean_nll", description="mean_nll, prompted_window64 or zscore_mean")
    reference: Name = "ngram"

    @field_validator("rule")
    @classmethod
    def _is_known(cls, name: str) -> str:
        if name not in members("ranking"):
            raise ValueError(f"there is no score rule {name!r}; {did_you_mean(name, members('ranking'))}")
        return name


class RankingPipeline(Section):
    """A whole run, from pairs to how well each score tells risky outputs from safe ones."""

    flow: Literal["ranking"]
    name: Name = "ranking_tiny"
    pairs: Pairs = Pairs()
    references: dict[Name, Reference] = Field(default={"ngram": Reference(backend="ngram")}, min_length=1)
    scores: dict[Name, Score] = Field(default={"mean_nll": Score()}, min_length=1)
    acceptable_collateral: Rate = Field(default=0.1, description="share of safe outputs that may be taken for risky")
    coverage: Rate = Field(default=0.8, description="share of risky outputs that a suitable score finds at that price")

    @model_validator(mode="after")
    def _names_are_known(self) -> RankingPipeline:
        for name, reference in self.references.items():
            stands_alone(f"references.{name}", reference)
            if reference.backend == "ngram" and reference.model is not None:
                raise ValueError(f"references.{name}: an n-gram is fitted to safe outputs here; leave model empty")
        for name, score in self.scores.items():
            if score.reference not in self.references:
                near = did_you_mean(score.reference, self.references)
                raise ValueError(f"scores.{name}.reference {score.reference!r} is not among references; {near}")
        return self
