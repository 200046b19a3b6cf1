"""The settings of differentially private training."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from sm_ops.core.config.base import Positive, Section


class Private(Section):
    """DP-SGD: what it protects, how strongly, and how much of a batch is worked on at once."""

    target_epsilon: Annotated[float, Field(gt=0)] = 8.0
    delta: Annotated[float, Field(gt=0, lt=1)] | None = Field(default=None, description="null: 1 / records")
    noise_multiplier: Annotated[float, Field(ge=0)] | None = Field(
        default=None, description="standard deviation of the noise / max_grad_norm; null: what target_epsilon asks for"
    )
    max_grad_norm: Annotated[float, Field(gt=0)] = 1.0
    unit: Literal["record", "group"] = Field(
        default="record", description="whose presence is protected: one record, or all records of a group"
    )
    physical_batch: Positive = Field(default=16, description="records worked on at once; changes memory, not results")
