"""The settings of each attack of a leakage audit: one section a member of the kind `attack`."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, model_validator

from sm_ops.core.config.base import Count, Positive, Section, no_repetition


class _Sampling(Section):
    """Texts drawn from the model."""

    tokens: Positive = Field(default=16_384, description="sampling budget")
    length: Positive = Field(default=64, description="tokens of one sample")
    top_k: Count = Field(default=40, description="0: the full distribution")
    min_chars: Count = Field(default=0, description="shorter mentions are left out; the official code takes 4")
    batch_size: Positive = 64


class Extraction(_Sampling):
    """Observed extraction (spec section 13): what mentions samples from the model hold."""

    points: Positive = Field(default=4, description="sample sizes of the curve, evenly spread")
    baseline_tokens: Positive | None = Field(
        default=None, description="sampling budget on the model before fine-tuning (the paper: 13M); null: the same"
    )


class Extractability(_Sampling):
    """Observed and lazy extractability of single values (spec section 14)."""

    targets: Positive = Field(default=50, description="values of a class, drawn from the seed")


class Reconstruction(Section):
    """A masked mention from the words around it, without candidates (spec section 15)."""

    cases: Positive = Field(default=50, description="mentions of a class, drawn from the seed")
    samples: Positive = Field(default=64, description="texts from which candidates are taken")
    length: Positive = Field(default=32, description="tokens of one such text")
    top_k: Count = 40
    batch_size: Positive = 64
    draw: Literal["prefix", "suffix"] = Field(
        default="prefix", description="suffix: only the gap is written, so twice the texts of half the length"
    )
    candidates: Literal["paper", "repo"] = Field(
        default="paper", description="repo: only persons, and no string that the text around the slot holds"
    )
    criterion: Literal["ppl", "prob"] = Field(default="ppl", description="lowest perplexity or largest probability")
    surroundings: Literal["scrubbed", "original"] = Field(
        default="scrubbed", description="other mentions around the slot: masked (and filled, where there is a filler)"
    )
    context: Positive | None = Field(
        default=None, description="characters of prefix and of suffix that the attacker has; null: all"
    )
    min_chars: Count = Field(default=0, description="shorter mentions are left out; the official code takes 4")


class Tab(Section):
    """The baseline of reconstruction: decode after the prefix."""

    cases: Positive = 50
    length: Positive = Field(default=32, description="tokens decoded")
    surroundings: Literal["scrubbed", "original"] = "scrubbed"
    context: Positive | None = Field(default=None, description="characters of prefix that the attacker has; null: all")
    min_chars: Count = 0


class Inference(Section):
    """A masked mention among given candidates (spec section 15).

    The first size, knowledge and context are those of the leakage table.
    """

    cases: Positive = 50
    sizes: tuple[Annotated[int, Field(ge=2)], ...] = Field(
        default=(100, 10, 500), min_length=1, description="of the candidate sets, which are nested"
    )
    draw: Literal["sentence", "unique"] = Field(
        default="sentence", description="a sentence, then a mention in it; or (the official code) a distinct string"
    )
    knowledge: tuple[Literal["prefix", "both"], ...] = Field(
        default=("both", "prefix"), min_length=1, description="the text before the slot, or also that behind it"
    )
    contexts: tuple[Positive | None, ...] = Field(
        default=(None,), min_length=1, description="characters of prefix and of suffix that the attacker has; null: all"
    )
    criterion: Literal["ppl", "prob"] = "ppl"
    surroundings: Literal["scrubbed", "original"] = "scrubbed"
    min_chars: Count = 0

    @model_validator(mode="after")
    def _names_nothing_twice(self) -> Inference:
        no_repetition("sizes", self.sizes)
        no_repetition("knowledge", self.knowledge)
        no_repetition("contexts", tuple("null" if each is None else each for each in self.contexts))
        return self


class PrefixExtraction(Section):
    """Values completed from the first three quarters of their tokens (spec section 12)."""

    canaries: Positive | None = Field(default=50, description="values of a class, drawn from the seed; null: all")
    samples: Positive = Field(default=128, description="continuations of a value")
    budgets: tuple[Positive, ...] = Field(default=(1, 8, 32, 128), min_length=1, description="samples of the curve")
    reveal: Literal["floor", "ceil"] = Field(
        default="floor", description="rounding of three quarters of the tokens; ceil for models trained from scratch"
    )
    batch_size: Positive = 128

    @model_validator(mode="after")
    def _budgets_are_recorded(self) -> PrefixExtraction:
        if max(self.budgets) > self.samples:
            raise ValueError(f"budgets go to {max(self.budgets)}, but only {self.samples} samples are drawn")
        return self


class Membership(Section):
    """Which sentences the model was trained on (spec section 16)."""

    sentences: Positive | None = Field(default=None, description="of members and of others, drawn; null: all")


class Exposure(Section):
    """The rank of a canary among strings of its form."""

    canaries: Positive | None = Field(default=50, description="values of a class, drawn from the seed; null: all")
    space: Positive = Field(default=1000, description="random strings of the same form beside each")


ATTACKS: dict[str, type[Section]] = {
    "extraction": Extraction,
    "extractability": Extractability,
    "reconstruction": Reconstruction,
    "tab": Tab,
    "inference": Inference,
    "prefix_extraction": PrefixExtraction,
    "membership": Membership,
    "exposure": Exposure,
}
