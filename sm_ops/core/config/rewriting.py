"""The settings of rewriting: a benchmark, selectors of units, conditions, and the endpoints that texts may go to."""

from __future__ import annotations

import re
from typing import Annotated, Any, Literal

from pydantic import Field, field_validator, model_validator

from sm_ops.core.config.base import Count, Name, Positive, Rate, Section, no_repetition
from sm_ops.core.config.prices import MachinePrices, TokenPrices
from sm_ops.core.config.surprise import Reference
from sm_ops.core.registry import did_you_mean, members


class Texts(Section):
    """The benchmark and its texts: generated ones, or files of the published format."""

    benchmark: Literal["rat", "redac"] = Field(
        default="rat", description="rat: is the person identified? redac: which propositions are disclosed?"
    )
    path: str | None = Field(default=None, description=".jsonl file, or a folder of them; null: generated texts")
    validation: str | None = Field(default=None, description="of the same format; null: the generated validation set")
    levels: tuple[Annotated[int, Field(ge=1, le=3)], ...] = Field(
        default=(1, 2), min_length=1, description="difficulties of the application side (rat); the explicit ones: 1, 2"
    )
    documents: Positive | None = Field(
        default=None, description="only the first so many of a file; generated: profiles (rat) or documents (redac)"
    )
    population: str | None = Field(
        default=None, description="CSV of people by attribute, in which the alike are counted (rat)"
    )
    people: Positive | None = Field(default=None, description="how many that table was drawn from; null: it is all")
    seed: Count = 0

    @model_validator(mode="after")
    def _levels_differ(self) -> Texts:
        no_repetition("levels", self.levels)
        return self


class Selector(Section):
    """How suspicious a unit of a text is; which kind needs which setting stands in docs/how-to/rewriting.md."""

    kind: Literal["random", "surprise", "detector", "both"]
    reference: Name | None = Field(default=None, description="of the section references (surprise)")
    aggregate: Literal["mean", "top"] | None = Field(
        default=None, description="of a sentence's token scores; top: of the three largest; null: as the benchmark does"
    )
    detector: str | None = None
    settings: dict[str, Any] = Field(default={}, description="of the detector")
    of: tuple[Name, ...] = Field(default=(), description="the selectors that are put together (both)")

    @model_validator(mode="after")
    def _has_what_its_kind_needs(self) -> Selector:
        needs = {"surprise": "reference", "detector": "detector", "both": "of"}
        given = {"reference": self.reference is not None, "detector": self.detector is not None, "of": bool(self.of)}
        for name, there in given.items():
            if there != (needs.get(self.kind) == name):
                raise ValueError(f"a selector of kind {self.kind} {'has no' if there else 'needs'} {name}")
        if self.kind == "both" and len(set(self.of)) < 2:
            raise ValueError("both needs at least two selectors in of, each once")
        if self.detector is not None and self.detector not in members("detector"):
            near = did_you_mean(self.detector, members("detector"))
            raise ValueError(f"there is no detector {self.detector!r}; {near}")
        return self


class Condition(Section):
    """What is done to the texts of the application side."""

    kind: Literal["unmodified", "direct", "route", "rewrite"] = Field(
        description="direct: units are masked; route: sentences are sent one by one; rewrite: whole texts are sent"
    )
    selector: Name | None = Field(default=None, description="who chooses the units (direct, route)")
    budget: Rate | None = Field(
        default=None, description="share of validation units that are chosen; null: a detector's own spans (direct)"
    )
    unit: Literal["segment", "sentence"] = Field(default="segment", description="what is masked (direct)")
    quantiles: Literal["validation", "retrospective"] = Field(
        default="validation", description="retrospective: of the application's own scores, known only afterwards"
    )
    style: Literal["exact_span", "audit", "zero_shot", "one_example", "high_recall"] | None = Field(
        default=None, description="how whole texts are rewritten"
    )

    @model_validator(mode="after")
    def _has_what_its_kind_needs(self) -> Condition:
        if (self.selector is not None) != (self.kind in ("direct", "route")):
            raise ValueError(f"a condition of kind {self.kind} {'has no' if self.selector else 'needs a'} selector")
        if (self.style is not None) != (self.kind == "rewrite"):
            raise ValueError(f"a condition of kind {self.kind} {'has no' if self.style else 'needs a'} style")
        if self.budget is None and self.kind == "route":
            raise ValueError("a condition of kind route needs a budget")
        if self.budget is not None and self.kind not in ("direct", "route"):
            raise ValueError(f"a condition of kind {self.kind} has no budget")
        return self


class Calls(Section):
    """How an endpoint is called; none of it changes an answer."""

    key: str | None = Field(default=None, description="environment variable that holds the key; null: none is sent")
    timeout: Annotated[float, Field(gt=0, le=3600)] = Field(default=120.0, description="seconds for one answer")
    attempts: Annotated[int, Field(ge=1, le=20)] = Field(default=5, description="where a failure may pass")
    pause: Annotated[float, Field(ge=0, le=60)] = Field(default=1.0, description="seconds, doubled at each attempt")
    at_once: Annotated[int, Field(ge=1, le=64)] = 4

    @field_validator("key")
    @classmethod
    def _names_a_variable(cls, name: str | None) -> str | None:
        if name is not None and not re.fullmatch(r"[A-Z_][A-Z0-9_]{0,59}", name):
            raise ValueError("key names an environment variable, such as OPENAI_API_KEY, and is never a key itself")
        return name


class Endpoint(Section):
    """A model behind OpenAI's chat completions; texts are sent to it only where a config names it."""

    url: str | None = Field(
        default=None, description="what /chat/completions is appended to; null: nothing is sent", max_length=500
    )
    model: str | None = Field(default=None, max_length=200)
    temperature: Annotated[float, Field(ge=0, le=2)] = 0.0
    max_tokens: Positive = 4096
    limit: Literal["max_completion_tokens", "max_tokens"] = Field(
        default="max_completion_tokens", description="what the service calls the most tokens of an answer"
    )
    calls: Calls = Calls()
    prices: TokenPrices = TokenPrices()

    @model_validator(mode="after")
    def _url_and_model(self) -> Endpoint:
        if (self.url is None) != (self.model is None):
            raise ValueError("url and model are named together")
        if self.url is not None and not re.fullmatch(r"https?://[A-Za-z0-9\-._~:/\[\]%]+", self.url):
            raise ValueError("url begins with https:// or http:// and holds no user, password, query or blank")
        return self


class Endpoints(Section):
    """Who is asked: to rewrite, to guess who a person is (rat), to judge what is disclosed (redac)."""

    rewriter: Endpoint = Endpoint()
    attacker: Endpoint = Endpoint()
    judge: Endpoint = Endpoint()


REFERENCES = {"ngram": Reference(backend="ngram")}
SELECTORS = {
    "random": Selector(kind="random"),
    "surprise": Selector(kind="surprise", reference="ngram"),
    "regex": Selector(kind="detector", detector="regex"),
    "both": Selector(kind="both", of=("surprise", "regex")),
}


class RewritingPipeline(Section):
    """A whole run: texts, what chooses among their units, what each condition makes of them, protects and costs."""

    flow: Literal["rewriting"]
    name: Name = "rewriting_tiny"
    data: Texts = Texts()
    references: dict[Name, Reference] = REFERENCES
    selectors: dict[Name, Selector] = SELECTORS
    conditions: dict[Name, Condition] = Field(min_length=1)
    endpoints: Endpoints = Endpoints()
    prices: MachinePrices = MachinePrices()

    @model_validator(mode="after")
    def _names_are_known(self) -> RewritingPipeline:
        for name, selector in self.selectors.items():
            self._known(f"selectors.{name}.reference", selector.reference, self.references)
            for part in selector.of:
                self._known(f"selectors.{name}.of", part, self.selectors)
                if self.selectors[part].kind == "both":
                    raise ValueError(f"selectors.{name}.of: {part} is made of others itself; name those")
        for name, condition in self.conditions.items():
            self._known(f"conditions.{name}.selector", condition.selector, self.selectors)
            kind = self.selectors[condition.selector].kind if condition.selector else None
            if condition.kind == "direct" and condition.budget is None and kind != "detector":
                raise ValueError(f"conditions.{name}: without a budget only a detector knows what to mask")
        for name, reference in self.references.items():
            if reference.backend == "hf" and reference.model is None:
                raise ValueError(f"references.{name}: backend hf needs model, the folder or hub name")
            for prompt in (reference.prompt, reference.violating):
                if "{policy}" in (prompt or "") and self.data.benchmark != "redac":
                    raise ValueError(f"references.{name}: only texts of redac have a policy for {{policy}}")
        return self

    @staticmethod
    def _known(where: str, name: str | None, known: dict[str, Any]) -> None:
        if name is not None and name not in known:
            raise ValueError(f"{where}: there is no {name!r}; {did_you_mean(name, known)}")
