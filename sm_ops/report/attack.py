"""An audit of one model as people read it: what was tried, how far it came, and what was not tried."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from json import dumps
from typing import Any

from sm_ops.attacks.measures import at_ceiling, is_rate
from sm_ops.report.audit.measures import headline
from sm_ops.report.words import DASH, count, decimal, paragraph, percent, text_table

Measure = Mapping[str, Any]

_COLUMNS = {"measure", "class", "value", "low", "high", "interval", "n"}
_COLUMNS |= {"hits", "members", "others", "too_few", "ceiling"}


def lines(report: Mapping[str, Any]) -> Iterator[str]:
    """Model and data, a table an attack, and what was not tried last."""
    baseline = report["baseline"] or "none"
    yield f"model: {report['model']}; public model: {baseline}; tagger: {report['tagger']}; seed: {report['seed']}"
    for said in report["notes"]:
        yield from paragraph(said, "note: ")
    header = ("class", "records", "with a mention", "mentions", "distinct", "mentions of each")
    yield from text_table(header, [_counted(row) for row in report["statistics"]])
    if report["others"]:
        yield f"records that the model never saw: {count(report['others']['records'])}"
    for name, attack in report["attacks"].items():
        yield from ("", name, *_attack(attack))
    yield from ("", "not tried:")
    for said in report["not_tried"]:
        yield from paragraph(said, "- ")


def _counted(row: Mapping[str, Any]) -> list[str]:
    numbers = (count(row[key]) for key in ("records", "records_with_mention", "mentions", "distinct"))
    return [row["class"], *numbers, decimal(row["duplication"], digits=2)]


def _attack(attack: Mapping[str, Any]) -> Iterator[str]:
    """Knowledge, settings, all measures of all classes together, and the headline by class and by occurrences."""
    yield from paragraph(attack["knowledge"], "  ")
    settings = " ".join(f"{name}={dumps(value)}" for name, value in attack["settings"].items())
    yield from paragraph(f"settings: {settings}", "  ")
    measures = attack["measures"]
    chief = headline(measures, attack["headline"]) or {}
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
    if any(at_ceiling(each) for each in measures):
        yield "^ the most that this many random strings can show; the exposure may be higher"


def _varying(measures: Sequence[Measure]) -> list[str]:
    """Labels that tell measures apart; what is alike in all of them stands in the settings."""
    names = dict.fromkeys(name for each in measures for name in each if name not in _COLUMNS)
    values = {name: {dumps(each[name]) for each in measures if name in each} for name in names}
    return [name for name in names if len(values[name]) > 1 or name in ("variant", "occurrences")]


def _row(measure: Measure, labels: Sequence[str]) -> list[str]:
    of = ", ".join(_label(name, measure[name]) for name in labels if name in measure)
    name = f"{measure['measure']} ({of})" if of else measure["measure"]
    show = percent if is_rate(measure) else decimal
    ends = DASH if measure["low"] is None else f"[{show(measure['low'])}, {show(measure['high'])}]"
    mark = "*" if measure.get("too_few") else "^" if at_ceiling(measure) else ""
    return [name + mark, measure["class"], show(measure["value"]), ends, count(measure["n"])]


def _label(name: str, value: Any) -> str:
    return str(value) if name in ("variant", "score") else f"{name} {'all' if value is None else value}"
