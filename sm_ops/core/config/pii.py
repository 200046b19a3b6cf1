"""The settings of the PII pipeline: documents, an extractor tuned on them, and detectors beside it."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, field_validator, model_validator

from sm_ops.core.config.base import (
    Count,
    Device,
    Dtype,
    Lora,
    Name,
    Optimisation,
    Positive,
    Section,
    no_repetition,
)
from sm_ops.core.registry import did_you_mean, members


class OwnDocuments(Section):
    """Files of the user's own labelled documents: records with spans whose labels are the nine types."""

    train: str | None = None
    validation: str | None = None
    test: str | None = None

    @model_validator(mode="after")
    def _all_or_none(self) -> OwnDocuments:
        given = self.model_dump()
        missing = [split for split, path in given.items() if path is None]
        if missing and len(missing) < len(given):
            raise ValueError(f"documents.own needs a file of records for {', '.join(missing)} too")
        return self


class Documents(Section):
    """What the extractor is tuned on and judged on: the synthetic set (G1), or own documents."""

    seed: Count = 42
    scale: Positive = Field(default=1, description="times the 2,200 records of the synthetic set")
    train: Positive | None = Field(default=None, description="only so many training documents; null: all")
    validation: Positive | None = Field(default=None, description="only so many validation documents; null: all")
    test: Positive | None = Field(default=None, description="only so many test documents; null: all")
    own: OwnDocuments = OwnDocuments()


class ExtractorBase(Optimisation):
    """The causal model before tuning: a name, or how the tiny one is made on the spot."""

    name: str | None = Field(default=None, description="folder or hub name of a causal model; null: make the tiny one")
    revision: str | None = None
    window: Positive | None = Field(
        default=90, description="characters read at a time, to ends of lines and sentences; null: whole documents"
    )
    think: Literal["marked", "none"] = Field(
        default="marked", description="marked: before its rows the model copies the text and marks what is private"
    )
    quantization: Literal["none", "4bit"] = Field(default="none", description="4bit: bitsandbytes and a GPU")
    layers: Positive = 4
    width: Positive = 128
    heads: Annotated[int, Field(ge=2)] = 2
    context: Positive = Field(default=1024, description="positions of the tiny model")
    vocab_size: Annotated[int, Field(ge=512)] = 2048
    strings: Positive = Field(default=2000, description="random strings, on which copying is learned first")
    texts: Positive | None = Field(default=None, description="windows that are marked at random; null: each once")
    seed: Count = 0
    epochs: Positive = 1
    batch_size: Positive = 8
    optimizer: Literal["adamw", "muon"] = "muon"
    learning_rate: Annotated[float, Field(gt=0)] = 4e-3
    muon_learning_rate: Annotated[float, Field(gt=0)] = 0.01
    warmup_steps: Count = 20

    @model_validator(mode="after")
    def _heads_have_an_even_size(self) -> ExtractorBase:
        if self.width % (2 * self.heads):
            raise ValueError(f"width {self.width} is not a multiple of twice the heads {self.heads}")
        return self


class Tune(Optimisation):
    """How the extractor is tuned on the training documents."""

    method: Literal["full", "lora"] = "full"
    lora: Lora = Lora()
    context: Positive = Field(default=1024, description="tokens of a window with question and answer")
    variations: Count = Field(
        default=3, description="of each window: other words, other values, parts of several; against learning by heart"
    )
    epochs: Positive = 1
    batch_size: Positive = 16
    optimizer: Literal["adamw", "muon"] = "muon"
    learning_rate: Annotated[float, Field(gt=0)] = 4e-3
    muon_learning_rate: Annotated[float, Field(gt=0)] = 0.01

    @model_validator(mode="after")
    def _adapters_take_adamw(self) -> Tune:
        if self.method == "lora" and self.optimizer != "adamw":
            raise ValueError("method lora takes optimizer adamw")
        return self


class Extract(Section):
    """How the extractor lists what stands in a document."""

    decoding: Literal["constrained", "free"] = Field(
        default="constrained", description="constrained: only rows whose values stand in the document"
    )
    context: Positive = Field(default=1024, description="tokens of a question and its longest answer")
    max_new_tokens: Positive = 400
    token_budget: Positive = Field(default=16384, description="positions of a batch, padding and answers included")
    dtype: Dtype = "float32"
    device: Device = "auto"
    threads: Positive = 1


class PiiPipeline(Section):
    """A whole run, from documents to what each way of finding PII covers, leaves and costs."""

    flow: Literal["pii"]
    name: Name = "pii_tiny"
    seeds: tuple[Count, ...] = Field(default=(0,), min_length=1, description="seeds of the extractor's tuning")
    documents: Documents = Documents()
    base: ExtractorBase = ExtractorBase()
    tune: Tune = Tune()
    extract: Extract = Extract()
    detectors: tuple[Name, ...] = Field(default=("regex",), description="detectors judged beside the extractor")

    @field_validator("detectors")
    @classmethod
    def _are_known(cls, names: tuple[str, ...]) -> tuple[str, ...]:
        no_repetition("detectors", names)
        for name in names:
            if name not in members("detector"):
                raise ValueError(f"there is no detector {name!r}; {did_you_mean(name, members('detector'))}")
        return names

    @model_validator(mode="after")
    def _names_and_processes_fit(self) -> PiiPipeline:
        no_repetition("seeds", self.seeds)
        if self.base.quantization != "none" and self.tune.processes > 1:
            raise ValueError("tune.processes is above 1, but a quantized base is tuned in one process; drop either")
        return self
