"""The page of figure 4: one script-free HTML file with its figure inlined, the numbers as JSON and CSV beside it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from sm_ops.report.coverage.plots import figure_svg
from sm_ops.report.page import figure, html_table, item_list, page, remark, section, write_page
from sm_ops.report.surprise.tables.validation import TITLES
from sm_ops.report.words import DASH, count, decimal, numbered, percent, rated, text_table

Json = dict[str, Any]

_CORRELATED = ("regime", "correlated", "r", "points", "runs", "paper")
_HEADER = (
    "run", "condition", "data", "regime", "target coverage", "collateral", "outcome", "pass@k", "perplexity",
    "of", "seeds",
)  # fmt: skip
_LIMITS = (
    "Runs of other models, data and schedules stand in one panel: look at the path of each run, not across runs. "
    "Perplexities of different tokenizers, or of answers and of all tokens, are not comparable at all.",
    "A correlation over operating points of rising recall is high almost by construction; it does not say that "
    "validation gives the right level. The tables of each run have both levels.",
    "Points of one run share its records and scores. The interval therefore resamples runs, and there is none under "
    "five of them.",
    "A run that stopped at an unsuitable rule is not here.",
)


def write(found: Json, folder: Path) -> Path:
    """Write coverage.html, .svg, .json and .csv, and correlations.csv, into a folder; gives the page's path."""
    picture = figure_svg(found["points"])
    tables = {"coverage": found["points"], "correlations": found["correlations"]}
    return write_page(folder, "coverage", found, _page(found, picture), picture, tables)


def lines(found: Json) -> Iterator[str]:
    """The correlations and the points, for the screen."""
    yield from text_table(_CORRELATED, map(_correlated, found["correlations"]))
    yield ""
    yield from text_table(_HEADER, map(_cells, found["points"]))
    if found["without"]:
        yield f"without results: {', '.join(found['without'])}"


def _page(found: Json, picture: str) -> str:
    runs = len({point["run"] for point in found["points"]})
    caption = (
        "Filled marks and solid lines: fine-tuning; hollow marks and dashed lines: pretraining. Lines join the "
        "surprise-masking points of a run. Left: what is not wanted, by the share of target tokens masked. Middle and "
        "right: answers that pass, and held-out perplexity, by the share of other tokens masked (square-root scale). "
        "Perplexity is the exponential of the NLL: of the mean over right answers where the held-out records are "
        "answers to prompts, as in the paper, elsewhere of the mean over all their tokens."
    )
    note = (
        "Pearson's r over the conditions whose coverage was estimated on validation records, pooled within a regime; "
        "the bracket is a 95 % interval over runs. The paper reports one number over its points for each."
    )
    return page(
        "What masks cover, and what models leak and can do",
        f"{len(found['points'])} conditions of {runs} finished runs.",
        (
            section("Coverage and outcome", figure(picture, caption)),
            section(
                "Does validation tell what training masks?",
                html_table(_CORRELATED, map(_correlated, found["correlations"])),
                remark(note),
            ),
            section("Numbers", html_table(_HEADER, map(_cells, found["points"])), _without(found)),
            section("What this does not say", item_list(_LIMITS)),
        ),
    )


def _without(found: Json) -> str:
    return remark(f"Runs without results: {', '.join(found['without'])}.") if found["without"] else ""


def _correlated(found: Json) -> tuple[str, ...]:
    line = " (two points always lie on a line)" if found["points"] == 2 else ""
    return (
        found["regime"],
        TITLES[found["measure"]],
        numbered(found) + line,
        count(found["points"]),
        count(found["runs"]),
        f"over {found['paper_over']:.2f}",
    )


def _cells(point: Json) -> tuple[str, ...]:
    return (
        point["run"],
        point["condition"],
        point["title"],
        point["regime"],
        percent(point["target_coverage"]),
        percent(point["collateral_rate"]),
        DASH if point["outcome_rate"] is None else f"{point['outcome']} {rated(point['outcome_rate'])}",
        rated(point["pass_at"]),
        _perplexity(point["perplexity"]),
        point["nll_over"],
        count(point["seeds"]),
    )


def _perplexity(found: Json | None) -> str:
    return DASH if found is None else decimal(found["value"], found["error"], 2)
