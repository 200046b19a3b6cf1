"""Numbers as people read them: one way to write a rate, an interval, an error, a verdict."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from decimal import ROUND_CEILING, Decimal
from textwrap import wrap
from typing import Any

DASH = "-"

_WIDTH = 118

Row = dict[str, Any]


def percent(share: float | None, digits: int = 1) -> str:
    """A share in percent; undefined is a dash, never 0."""
    return DASH if share is None else f"{100 * share:.{digits}f} %"


def share(rate: Row) -> float | None:
    """The point estimate of `{k, n, low, high}`."""
    return rate["k"] / rate["n"] if rate["n"] else None


def interval(rate: Row) -> str:
    """A rate with its 95 % interval: "33.3 % [17.2, 54.6]"."""
    if not rate["n"]:
        return DASH
    return f"{percent(share(rate))} [{100 * rate['low']:.1f}, {100 * rate['high']:.1f}]"


def rated(value: Row | None, digits: int = 1) -> str:
    """A rate `{value, low, high}` in percent with its 95 % interval where there is one."""
    if value is None or value["value"] is None:
        return DASH
    ends = "" if value["low"] is None else f" [{100 * value['low']:.{digits}f}, {100 * value['high']:.{digits}f}]"
    return percent(value["value"], digits) + ends


def numbered(value: Row | None, digits: int = 3) -> str:
    """A number `{value, low, high}` with its 95 % interval where there is one."""
    if value is None or value["value"] is None:
        return DASH
    ends = "" if value["low"] is None else f" [{value['low']:.{digits}f}, {value['high']:.{digits}f}]"
    return decimal(value["value"], digits=digits) + ends


def changed(change: float | None, error: float | None) -> str:
    """A relative change in percent with its standard error where there is one."""
    return DASH if change is None else f"{100 * change:+.1f} %" + ("" if error is None else f" ± {100 * error:.1f}")


def decimal(value: float | None, error: float | None = None, digits: int = 3) -> str:
    """A number with its standard error where there is one."""
    if value is None:
        return DASH
    return f"{value:.{digits}f}" + ("" if error is None else f" ± {error:.{digits}f}")


def bound(value: float | None, digits: int = 4) -> str:
    """A number that must not be told smaller than it is, in significant digits: rounded up."""
    if value is None:
        return DASH
    exact = Decimal(repr(value))
    up = exact.quantize(Decimal(1).scaleb(exact.adjusted() - digits + 1), ROUND_CEILING)
    return f"{float(up):.{digits}g}"


def count(value: int | None) -> str:
    """A count with thousands apart."""
    return DASH if value is None else f"{value:,}"


def minute(moment: str) -> str:
    """An ISO moment to the minute: "2026-05-04 10:30"."""
    return moment[:16].replace("T", " ")


def finished(run: Row) -> str:
    """Which run a page is of (`{id, finished}`), and when it was done."""
    return f"Run {run['id']}, finished {minute(run['finished'])} UTC."


def rule_name(rule: Row) -> str:
    """A masking rule in the paper's letters: "global n=4 k=4", "global line k=1"."""
    windows = f"n={rule['n']}" if rule["windows"] == "fixed" else rule["windows"]
    return f"{rule['select']} {windows} k={rule['k']}"


def paragraph(text: str, first: str = "", rest: str = "  ") -> list[str]:
    """A sentence in lines for the screen; `first` and `rest` are what they begin with."""
    return wrap(text, _WIDTH, initial_indent=first, subsequent_indent=rest, break_on_hyphens=False)


def text_table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    """A table as aligned plain text: names to the left, numbers to the right."""
    table = [header, *rows]
    widths = [max(len(line[column]) for line in table) for column in range(len(header))]
    lines = ["  ".join(_aligned(line, widths)) for line in table]
    return [lines[0], "  ".join("-" * width for width in widths), *lines[1:]]


def _aligned(line: Sequence[str], widths: Sequence[int]) -> list[str]:
    return [line[0].ljust(widths[0]), *(cell.rjust(width) for cell, width in zip(line[1:], widths[1:], strict=True))]


def claim(sentence: str, passed: bool | None, detail: str) -> Row:
    """What a run shows, and the numbers for it; `passed` is `None` where the run cannot tell."""
    return {"sentence": sentence, "passed": passed, "detail": detail}


def claim_lines(claims: Sequence[Row]) -> list[str]:
    """Each claim with whether it holds and the numbers."""
    width = max((len(told(each)) for each in claims), default=0)
    return [f"{told(each):<{width}}  {each['sentence']} ({each['detail']})" for each in claims]


def told(of: Row) -> str:
    """Whether a claim holds, in a word."""
    return {True: "holds", False: "fails", None: "undefined"}[of["passed"]]
