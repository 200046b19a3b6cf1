"""A ranking's numbers as people read them, and what they do not say."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from sm_ops.report.suitability.collect import GAP
from sm_ops.report.words import DASH, claim, decimal, percent, text_table

Json = dict[str, Any]

HEADER = ("score", "AUROC validation", "AUROC application", "finds", "taken along", "F1", "verdict")

LIMITS = (
    "A ranking of whole outputs says how well a score tells the two kinds of this comparison apart, not why: safe and "
    "risky outputs differ in more than in risk.",
    "The direction is fixed before anything is measured: a higher score means risky. An AUROC under 0.5 is not turned.",
    "Where one file was split, both sides come from one collection: the application side is an internal check, no new "
    "benchmark.",
)
CONTROLS = (
    "The safe outputs were generated for this comparison. Differences in length, wording or the model that wrote them "
    "may separate the two kinds as well as risk does."
)


def cell(value: Json, share: bool = False) -> str:
    """A number with its 95 % interval where there is one."""
    if value["value"] is None:
        return DASH
    if share:
        shown, ends = percent(value["value"]), [f"{100 * end:.1f}" for end in _ends(value)]
    else:
        shown, ends = decimal(value["value"]), [decimal(end) for end in _ends(value)]
    return f"{shown} [{', '.join(ends)}]" if ends else shown


def _ends(value: Json) -> list[float]:
    return [] if value["low"] is None else [value["low"], value["high"]]


def cells(row: Json) -> tuple[str, ...]:
    """One row of the table, in the order of `HEADER`; what it finds and takes along is of the application side."""
    own = row["application"]
    areas = (cell(row[side]["auroc"]) for side in ("validation", "application"))
    return (
        row["score"], *areas, cell(own["coverage"], share=True), cell(own["collateral"], share=True),
        cell(own["f1"]), row["decision"],
    )  # fmt: skip


def table_lines(rows: Sequence[Json]) -> list[str]:
    """The table as aligned plain text."""
    return text_table(HEADER, map(cells, rows))


def claims(results: Json) -> list[Json]:
    """What the application side shows of each score and of what is no score, with the numbers."""
    found = [each for row in results["rows"] for each in _claims(row, results)]
    for name, sides in results["baselines"].items():
        area = sides["application"]
        near = None if area["value"] is None else abs(area["value"] - 0.5) <= GAP
        found.append(claim(f"Outputs cannot be ranked by {name} alone.", near, f"AUROC {cell(area)}"))
    return found


def _claims(row: Json, results: Json) -> list[Json]:
    """A ranking whose interval holds one half is not established: such a claim is undefined."""
    own = row["application"]
    low, high = (own["auroc"]["value"] if own["auroc"][end] is None else own["auroc"][end] for end in ("low", "high"))
    above = None if low is None or low <= 0.5 <= high else low > 0.5
    wanted, price = results["coverage"], results["acceptable_collateral"]
    coverage, collateral = own["coverage"]["value"], own["collateral"]["value"]
    kept = None if coverage is None or collateral is None else coverage >= wanted and collateral <= price
    name = row["score"]
    return [
        claim(f"{name} ranks risky outputs above safe ones.", above, f"AUROC {cell(own['auroc'])}"),
        claim(
            f"{name} finds {percent(wanted)} of the risky outputs for {percent(price)} of the safe ones.",
            kept,
            f"{cell(own['coverage'], share=True)} for {cell(own['collateral'], share=True)}",
        ),
    ]


def cautions(results: Json) -> Iterator[str]:
    """What a reader must know beside the verdicts: generated controls, what separates alone, gaps, shared outputs."""
    if results["pairs"]["controls"] == "generated":
        yield CONTROLS
    for name, sides in results["baselines"].items():
        yield from _alone(name, sides["application"], results["rows"])
    for row in results["rows"]:
        if row["gap"] is not None and row["gap"] > GAP:
            yield f"{row['score']}: the AUROCs of the two sides differ by {row['gap']:.3f}, more than {GAP}."
        if undefined := sum(row[side]["undefined"] for side in ("validation", "application")):
            yield f"{row['score']}: {undefined} outputs have no score and rank below all others."
    if shared := results["pairs"]["shared_outputs"]:
        yield f"{shared} outputs of the application side stand on the validation side too, letter by letter."


def _alone(name: str, alone: Json, rows: Sequence[Json]) -> Iterator[str]:
    """Told where something that is no score ranks further from chance than a score does, whatever the direction."""
    if alone["value"] is None or abs(alone["value"] - 0.5) <= GAP:
        return
    for row in rows:
        area = row["application"]["auroc"]["value"]
        if area is not None and abs(alone["value"] - 0.5) >= abs(area - 0.5):
            yield (
                f"{row['score']}: {name} alone separates the outputs as well (AUROC {alone['value']:.3f}, against "
                f"{area:.3f}), so the ranking may be of {name}."
            )
