"""What machines and endpoints cost in US dollars (paper F.4); the defaults are the paper's."""

from __future__ import annotations

from pydantic import Field

from sm_ops.core.config.base import Section, Usd
from sm_ops.core.defaults import MACHINE_HOUR


class MachinePrices(Section):
    """For the cost of what runs here, filters and selectors."""

    machine_hour: Usd = Field(default=MACHINE_HOUR, description="USD an hour of the machine; the paper's is an H200")


class TokenPrices(Section):
    """US dollars a million tokens."""

    input: Usd = 5.0
    cached: Usd = 0.5
    output: Usd = 30.0
