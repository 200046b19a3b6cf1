"""What sections are made of: the frozen model that refuses unknown fields, types of settings, shared sections."""

from __future__ import annotations

from typing import Annotated, Any, Literal, TypeVar, get_args

from pydantic import BaseModel, ConfigDict, Field, ValidationInfo, field_validator, model_validator
from pydantic_core import PydanticCustomError

Count = Annotated[int, Field(ge=0)]
Positive = Annotated[int, Field(ge=1)]
Rate = Annotated[float, Field(gt=0, le=1)]
Usd = Annotated[float, Field(ge=0, le=1e6)]
Name = Annotated[str, Field(pattern=r"^[A-Za-z0-9_][A-Za-z0-9_.-]*$", max_length=60)]
Device = Literal["auto", "cpu", "cuda"]
Dtype = Literal["auto", "float32", "bfloat16"]


def no_repetition(name: str, values: tuple[float | str, ...]) -> None:
    """What is listed twice would be made twice under one name."""
    repeated = sorted({value for value in values if values.count(value) > 1})
    if repeated:
        raise ValueError(f"{name} lists {', '.join(map(str, repeated))} more than once")


class Section(BaseModel):
    """A part of the config: immutable, and unknown fields are errors."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    @field_validator("*", mode="before")
    @classmethod
    def _yes_and_no_are_no_numbers(cls, value: Any, info: ValidationInfo) -> Any:
        """Where a number is asked for, `true` would be taken as 1."""
        if _holds_truth(value) and _is_numeric(cls.model_fields[str(info.field_name)].annotation):
            raise PydanticCustomError("number_type", "a number is asked for, not yes or no")
        return value

    @field_validator("*")
    @classmethod
    def _names_are_names_of_files(cls, value: Any, info: ValidationInfo) -> Any:
        """Of steps, exports and tables: some file systems do not keep names apart that differ by case alone."""
        if isinstance(value, dict) and Name in get_args(cls.model_fields[str(info.field_name)].annotation):
            seen: dict[str, str] = {}
            for name in value:
                if (other := seen.setdefault(name.lower(), name)) != name:
                    raise ValueError(f"the names {other!r} and {name!r} differ by case alone; take another")
        return value


def _holds_truth(value: Any) -> bool:
    if isinstance(value, dict):
        return _holds_truth(list(value.values()))
    return isinstance(value, bool) or (isinstance(value, list | tuple) and any(map(_holds_truth, value)))


def _is_numeric(annotation: Any) -> bool:
    """Whether a number stands somewhere in a type, and no section (which looks at its own)."""
    return annotation in (int, float) or any(map(_is_numeric, get_args(annotation)))


SectionType = TypeVar("SectionType", bound=Section)


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
    warmup_ratio: Annotated[float, Field(ge=0, lt=1)] | None = Field(
        default=None, description="of all steps; null: warmup_steps"
    )
    steps: Positive | None = Field(default=None, description="optimiser steps, at most those of epochs; null: these")
    weight_decay: Annotated[float, Field(ge=0)] = 0.0
    dtype: Dtype = "float32"
    device: Device = "auto"
    threads: Positive = 1
    checkpoint_steps: Positive = 100
    processes: Positive = Field(
        default=1, description="of this machine that share the rows of each step, with a GPU each where it has GPUs"
    )
    parallel: Literal["ddp", "fsdp2"] = Field(
        default="ddp", description="ddp: each process holds the whole model; fsdp2: a part of it"
    )

    @model_validator(mode="after")
    def _processes_share_a_step(self) -> Optimisation:
        if self.accumulation % self.processes and self.batch_size % self.processes:
            raise ValueError(
                f"{self.processes} processes divide neither accumulation {self.accumulation} nor batch_size "
                f"{self.batch_size}, so they cannot share a step evenly"
            )
        if self.sharded and self.optimizer == "muon":
            raise ValueError("muon needs whole matrices; take parallel ddp, or optimizer adamw")
        return self

    @property
    def sharded(self) -> bool:
        """Whether no process holds all the weights."""
        return self.processes > 1 and self.parallel == "fsdp2"


class Lora(Section):
    """Low-rank adaptation of all linear layers (paper C.1)."""

    rank: Positive = 16
    alpha: Positive = 32
    dropout: Annotated[float, Field(ge=0, lt=1)] = 0.0
