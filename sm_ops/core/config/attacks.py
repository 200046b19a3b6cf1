"""The settings of each attack of a leakage audit: one section a member of the kind `attack`."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from sm_ops.core.config.base import Count, Positive, Section


class _Sampling(Section):
    """Texts drawn from the model."""

    tokens: Positive = Field(default=16_384, description="sampling budget")
    length: Positive = Field(default=64, description="tokens of one sample")
    top_k: Count = Field(default=40, description="0: the full distribution")
    batch_size: Positive = 64


class Extraction(_Sampling):
    """Observed extraction (spec section 13): what mentions samples from the model hold."""

    points: Positive = Field(default=4, description="sample sizes of the curve, evenly spread")
    min_chars: Count = Field(default=0, description="shorter mentions are left out; the official code takes 4")


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
        default="prefix", description="candidates sampled behind the prefix, or with the suffix known"
    )
    criterion: Literal["ppl", "prob"] = "ppl"
    surroundings: Literal["scrubbed", "original"] = Field(
        default="scrubbed", description="other mentions around the slot: masked (and filled, where there is a filler)"
    )
    min_chars: Count = Field(default=0, description="shorter mentions are left out; the official code takes 4")


class Tab(Section):
    """The baseline of reconstruction: decode after the prefix."""

    cases: Positive = 50
    length: Positive = Field(default=32, description="tokens decoded")
    surroundings: Literal["scrubbed", "original"] = "scrubbed"
    min_chars: Count = 0


class Inference(Section):
    """A masked mention among given candidates (spec section 15)."""

    cases: Positive = 50
    sizes: tuple[Annotated[int, Field(ge=2)], ...] = (10, 100, 500)
    draw: Literal["sentence", "unique"] = "sentence"
    knowledge: tuple[Literal["prefix", "both"], ...] = ("prefix", "both")
    contexts: tuple[Positive | None, ...] = Field(
        default=(None,), description="characters of prefix and of suffix that the attacker has; null: all"
    )
    criterion: Literal["ppl", "prob"] = "ppl"
    surroundings: Literal["scrubbed", "original"] = "scrubbed"
    min_chars: Count = 0


class Membership(Section):
    """Which sentences the model was trained on (spec section 16)."""

    sentences: Positive | None = Field(default=None, description="of members and of others, drawn; null: all")


class Exposure(Section):
    """The rank of a canary among strings of its form."""

    canaries: Positive = Field(default=50, description="values of a class, drawn from the seed")
    space: Positive = Field(default=1000, description="random strings of the same form beside each")


ATTACKS: dict[str, type[Section]] = {
    "extraction": Extraction,
    "extractability": Extractability,
    "reconstruction": Reconstruction,
    "tab": Tab,
    "inference": Inference,
    "membership": Membership,
    "exposure": Exposure,
}
