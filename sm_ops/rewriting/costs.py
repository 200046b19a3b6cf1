"""What conditions cost in US dollars a million source tokens, and where routing costs more than rewriting all (F.4)."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from sm_ops.metrics import usd_per_million

Json = dict[str, Any]
MILLION = 1e6


def source_tokens(text: str) -> int:
    """Words and marks of a text: what costs are told for a million of, whatever tokens an endpoint counts (R-7)."""
    return len(re.findall(r"\w+|[^\w\s]", text))


def usd(usage: Mapping[str, int | None], prices: Mapping[str, float], source: int, selector_usd: float) -> float | None:
    """The formula of F.4; `prices` are dollars a million tokens, `source` the tokens of the source texts.

    `usage` has `calls`, `input_tokens` (cached ones included), `cached_tokens` and `output_tokens`. None where an
    endpoint did not report its tokens.
    """
    tokens = [usage[name] for name in ("input_tokens", "cached_tokens", "output_tokens")]
    if None in tokens:
        return None
    input_, cached, output = (int(each or 0) for each in tokens)
    return usd_per_million(
        source_tokens=source,
        input_tokens=input_,
        cached_tokens=cached,
        output_tokens=output,
        input_price=prices["input"] / MILLION,
        cached_price=prices["cached"] / MILLION,
        output_price=prices["output"] / MILLION,
        selector_usd=selector_usd,
    )


def crossing(route: Json, full: Json) -> Json | None:
    """From which share of the sentences on routing costs more than a full rewrite.

    Both have `usd` and `selector_usd` a million source tokens, and `calls`; the route has `units`, the sentences there
    are. Calls of a route cost about the same each, since each repeats goal and context: the share is where selector +
    calls x (mean cost of the route's calls) reaches the full rewrite. It may lie beyond 1: then routing stays cheaper
    even where every sentence is sent. None without a call or a cost.
    """
    if not route["calls"] or route["usd"] is None or full["usd"] is None:
        return None
    each = (route["usd"] - route["selector_usd"]) / route["calls"]
    if each <= 0:
        return None
    calls = (full["usd"] - route["selector_usd"]) / each
    return {
        "route": route["condition"],
        "full": full["condition"],
        "share": max(0.0, calls / route["units"]),
        "calls": max(0.0, calls),
        "route_share": route["calls"] / route["units"],
        "route_usd": route["usd"],
        "full_usd": full["usd"],
        "dearer": route["usd"] > full["usd"],
    }
