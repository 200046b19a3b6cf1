"""An audit of one model as people read it: what was tried, how far it came, and what was not tried."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from json import dumps
from textwrap import wrap
from typing import Any

from sm_ops.report.words import DASH, count, decimal, percent, text_table

Measure = Mapping[str, Any]

_WIDTH = 118
_COLUMNS = {*("measure", "class", "value", "low", "high", "interval", "n"), *("hits", "members", "others", "too_few")}


def lines(report: Mapping[str, Any]) -> Iterator[str]:
    """Model and data, a table an attack, and what was not tried last."""
    baseline = report["baseline"] or "none"
    yield f"model: {report['model']}; public model: {baseline}; tagger: {report['tagger']}; seed: {report['seed']}"
    header = ("class", "records", "with a mention", "mentions", "distinct", "mentions of each")
    yield from text_table(header, [_counted(row) for row in report["statistics"]])
    if report["others"]:
        yield f"records that the model never saw: {count(report['others']['records'])}"
    for name, attack in report["attacks"].items():
        yield from ("", name, *_attack(attack))
    yield from ("", "not tried:")
    for said in report["not_tried"]:
        yield from _indented(said, "- ")


def _counted(row: Mapping[str, Any]) -> list[str]:
    numbers = (count(row[key]) for key in ("records", "records_with_mention", "mentions", "distinct"))
    return [row["class"], *numbers, decimal(row["duplication"], digits=2)]


def _attack(attack: Mapping[str, Any]) -> Iterator[str]:
    """Knowledge, settings, all measures of all classes together, and the headline by class and by occurrences."""
    yield from _indented(attack["knowledge"])
    yield from _indented(
        "settings: " + " ".join(f"{name}={dumps(value)}" for name, value in attack["settings"].items())
    )
    measures, chief = attack["measures"], _chief(attack)
    labels = _varying(measures)
    alike = [name for name in labels if name != "occurrences"]
    rows = [
        _row(each, labels)
        for each in measures
        if (each["class"] == "all" and "occurrences" not in each)
        or (each["measure"] == chief.get("measure") and all(each.get(name) == chief.get(name) for name in alike))
    ]
    yield from text_table(("measure", "class", "value", "95 % interval", "n"), rows)
    if any(each.get("too_few") for each in measures):
        yield "* fewer others than one in 1 / FPR: the rate without a false positive"


def _chief(attack: Mapping[str, Any]) -> Measure:
    """The measure that stands for the attack: what the headline selects, of several the one of most sampled tokens."""
    found = [
        each
        for each in attack["measures"]
        if "occurrences" not in each and all(each.get(name) == value for name, value in attack["headline"].items())
    ]
    return max(found, key=lambda each: each.get("tokens") or 0, default={})


def _varying(measures: Sequence[Measure]) -> list[str]:
    """Labels that tell measures apart; what is alike in all of them stands in the settings."""
    names = dict.fromkeys(name for each in measures for name in each if name not in _COLUMNS)
    values = {name: {dumps(each[name]) for each in measures if name in each} for name in names}
    return [name for name in names if len(values[name]) > 1 or name in ("variant", "occurrences")]


def _row(measure: Measure, labels: Sequence[str]) -> list[str]:
    of = ", ".join(_label(name, measure[name]) for name in labels if name in measure)
    name = f"{measure['measure']} ({of})" if of else measure["measure"]
    show = percent if "hits" in measure or measure["interval"] == "wilson" else decimal
    ends = DASH if measure["low"] is None else f"[{show(measure['low'])}, {show(measure['high'])}]"
    mark = "*" if measure.get("too_few") else ""
    return [name + mark, measure["class"], show(measure["value"]), ends, count(measure["n"])]


def _label(name: str, value: Any) -> str:
    return str(value) if name in ("variant", "score") else f"{name} {'all' if value is None else value}"


def _indented(text: str, first: str = "  ") -> list[str]:
    return wrap(text, _WIDTH, initial_indent=first, subsequent_indent="  ", break_on_hyphens=False)
