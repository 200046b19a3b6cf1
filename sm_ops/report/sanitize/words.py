"""A sanitization as people read it: the filters' table, the choice in words, and what its numbers do not say."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from sm_ops.report.words import count, decimal, numbered, paragraph, percent, rated, text_table

Json = dict[str, Any]

SIDES = ("validation", "application")
RATES = ("AUROC", "removes", "takes along", "precision", "F1")
HEADER = ("filter", "verdict", "AUROC, validation", "application", "removes", "takes along", "precision", "F1")
LIMITS = (
    "Only labelled content counts as a target: what the labels miss is in no number of this page.",
    "Thresholds are chosen on validation data alone. Data of another kind, or of other repositories, may need others: "
    "verify on a labelled sample of it.",
    "An AUROC says how targets rank, not what a mask costs: read the coverage at the acceptable collateral rate, and "
    "the precision.",
    "Intervals are over documents or repositories. Few of them make wide intervals; none is shown where resampling "
    "says nothing.",
    "Removing the labelled values does not anonymise a text: what is left may identify a person all the same.",
)


def side_of(results: Json) -> str:
    """The side whose rates are told: the application side, or validation where the other has no labels."""
    return "application" if results["corpus"]["labelled"] else "validation"


def cells(row: Json, side: str) -> tuple[str, ...]:
    """One filter in the order of `HEADER`: how it separates on both sides, and what it does on one of them."""
    own = row[side]
    return (
        row["filter"],
        row["decision"],
        *(numbered(row[each] and row[each]["auroc"]) for each in ("validation", "application")),
        rated(own["tpr"]),
        rated(own["fpr"]),
        rated(own["precision"]),
        numbered(own["f1"]),
    )


def rates(row: Json) -> tuple[str, ...]:
    """Rates in the order of `RATES`; a mask has no AUROC."""
    shares = (rated(row[name]) for name in ("tpr", "fpr", "precision"))
    return numbered(row.get("auroc")), *shares, numbered(row["f1"])


def table_lines(results: Json) -> Iterator[str]:
    """The corpus in a line and a table of the filters, of the first fold."""
    sides, side = results["corpus"]["sides"], side_of(results)
    counts = ", ".join(f"{name.rpartition('-')[0]} {_sized(each)}" for name, each in sides.items() if _first(name))
    yield from paragraph(f"corpus: {results['corpus']['corpus']}; {counts}")
    for sentence in shared(results):
        yield from paragraph(f"overlap: {sentence}")
    yield f"rates of {results['asked']['unit']} on the {side} side, at each filter's threshold:"
    yield from text_table(HEADER, [cells(row, side) for row in results["rows"] if row["fold"] == "0"])


def told_lines(results: Json) -> Iterator[str]:
    """Each filter's verdict, the choice, and what was redacted."""
    for name, verdict in results["verdicts"].items():
        yield from paragraph(f"{name}: {verdict['decision']}. {verdict['reason']}")
    yield from paragraph(f"choice: {chosen(results['choice'])}")
    yield from paragraph(f"redacted: {redacted(results['redaction'])}")


def chosen(choice: Json) -> str:
    """The filter that was taken with its threshold, or why there is none."""
    if choice["filter"] is None:
        return choice["reason"]
    at = "where it finds something" if choice["tau"] is None else f"at a threshold of {decimal(choice['tau'])}"
    return f"Take {choice['filter']} {at} ({choice['decision']})."


def redacted(redaction: Json) -> str:
    """What the redaction removed, in counts."""
    if not redaction["records"]:
        return "nothing, as no filter is to be taken; one that you name (use, --filter) cleans all the same."
    removed, characters = redaction["characters"]["removed"], redaction["characters"]["all"]
    share = percent(removed / characters if characters else None)
    said = (
        f"{count(redaction['intervals'])} intervals in {count(redaction['changed'])} of {count(redaction['records'])} "
        f"records, {count(removed)} characters ({share}), every labelled span among them."
    )
    missing = redaction["unwritten"]
    return said + f" {count(missing)} others are not written: no fold with a filter cleans them." * bool(missing)


def shared(results: Json) -> list[str]:
    """What the two sides of each fold have in common, where that is anything: figures there are flattered by it."""
    return [
        f"The two sides{fold} share {count(own['groups'])} groups with {count(own['records_of_shared_groups'])} of "
        f"{count(own['records'])} records to be cleaned; the texts of {count(own['equal_texts'])} stand on both, those "
        f"of {count(own['near_duplicates'])} nearly so. What was fitted or chosen on a text knows it: such records say "
        "nothing of new ones."
        for fold, own in _overlaps(results["corpus"]["overlap"])
    ]


def _overlaps(overlaps: Json) -> Iterator[tuple[str, Json]]:
    for fold, own in overlaps.items():
        if own["groups"] or own["equal_texts"] or own["near_duplicates"]:
            yield (f" of fold {fold}" if len(overlaps) > 1 else ""), own


def _first(name: str) -> bool:
    return name.endswith("-0")


def _sized(side: Json) -> str:
    return f"{count(side['records'])} records with {count(side['targets'])} targets in {count(side['groups'])} groups"
