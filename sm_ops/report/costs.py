"""What a way of finding targets costs per million source tokens, where no rewriter is called (paper, F.4)."""

from __future__ import annotations

from typing import Any

from sm_ops.core.defaults import MACHINE_HOUR
from sm_ops.metrics import usd_per_million
from sm_ops.report.words import DASH

Json = dict[str, Any]


def selecting(seconds: float, source_tokens: int | None, machine_hour: float = MACHINE_HOUR) -> Json:
    """`usd_per_million` of a selector that took so many seconds of a machine, and `usd_from` in words.

    Start-up counts here, as a step's seconds hold it (choice Y-1); the paper leaves it out.
    """
    if not source_tokens:
        return {"usd_per_million": None, "usd_from": "no reference model of the run counted source tokens"}
    cost = usd_per_million(
        source_tokens=source_tokens,
        input_tokens=0,
        cached_tokens=0,
        output_tokens=0,
        input_price=0.0,
        cached_price=0.0,
        output_price=0.0,
        selector_usd=seconds / 3600 * machine_hour,
    )
    told = f"{seconds:,.1f} s of a machine at {machine_hour:.2f} USD an hour for {source_tokens:,} source tokens"
    return {"usd_per_million": cost, "usd_from": told}


def usd(value: float | None) -> str:
    """Dollars: two digits behind the point, or the first two that are not zero."""
    if value is None:
        return DASH
    return f"{value:.2f}" if value >= 0.1 or value == 0 else f"{value:.2g}"
