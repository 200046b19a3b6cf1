"""The report: one script-free HTML page with inlined figures, and its numbers as JSON and CSV beside it."""

from __future__ import annotations

from collections.abc import Iterator
from html import escape
from pathlib import Path
from typing import Any

from sm_ops.core import fs
from sm_ops.core.home import Run
from sm_ops.evaluation.frontier import family
from sm_ops.masking.conditions import variant
from sm_ops.report.outputs import Outputs
from sm_ops.report.page import claim_list, csv_text, figure, html_table, item_list, page, remark, section, stage_section
from sm_ops.report.surprise.limits import limits
from sm_ops.report.surprise.measures import (
    DISPLAY,
    EXTRACTION,
    OUTCOMES,
    Measure,
    likelihood_of,
    measured,
    outcome_of,
    utilities_of,
)
from sm_ops.report.surprise.plots import budget_svg, coverage_svgs, frontier_svg, histogram_svg
from sm_ops.report.surprise.results import load_results
from sm_ops.report.surprise.strip import shade, strip_svg
from sm_ops.report.surprise.tables.words import as_html, as_rows, correlation_rows
from sm_ops.report.surprise.words import METHODS, conditions_table, headline
from sm_ops.report.words import DASH, changed, count, decimal, finished, interval, percent, share

Json = dict[str, Any]

TABLES = (
    "rows", "per_seed", "by_kind", "by_quirk", "by_family", "curve", "canaries", "operating_points", "detectors",
    "references", "stages", "claims",
)  # fmt: skip
BOUND_ROWS = 20
_LOGS = ("log_p", "log_p_lower", "log_samples_upper")


def write_report(run: Run, home: Path) -> Path:
    """Write report.html, frontier.svg, results.json and a CSV file a table into the run's folder."""
    results = load_results(run, home)
    outputs = Outputs(run, home)
    calibration = outputs.json("calibrate", "calibration.json")["references"]
    histogram = calibration[run.config["masking"]["reference"]]["histogram"]
    page = _page(results, run.config, histogram, outputs.json("mask", "strip.json"))
    fs.write_json(run.folder / "results.json", results)
    files = {name: results.get(name, []) for name in TABLES}
    files |= {f"table_{each['table']}": as_rows(each) for each in results["tables"]}
    files["correlations"] = correlation_rows(results["tables"])
    for name, rows in files.items():
        if rows:
            fs.write_atomic(run.folder / f"{name}.csv", csv_text(rows).encode())
    fs.write_atomic(run.folder / "frontier.svg", frontier_svg(results).encode())
    fs.write_atomic(run.folder / "report.html", page.encode())
    return run.folder / "report.html"


def _page(results: Json, config: Json, histogram: Json, strip: Json) -> str:
    sections = (
        _frontier(results),
        _conditions(results),
        _coverage(results),
        _calibration(results, histogram, config),
        _bound(results),
        _strip(strip),
        *_leaked(results, config),
        *_paper(results),
        _stages(results, config),
        section("What this does not say", item_list(limits(results, config))),
    )
    title = f"{results['run']['name']}: leakage against utility"
    return page(title, finished(results["run"]), sections)


def _frontier(results: Json) -> str:
    clusters = "task" if outcome_of(results["rows"]) is DISPLAY else "canary"
    note = (
        "Each mark is a condition, pooled over its training seeds (small dots). Bars of shares are 95 % intervals that "
        f"take each {clusters} as one cluster, those of the NLL the standard error over seeds. "
    )
    figures = [
        figure(frontier_svg(results, utility), f"{note}Down and {_better(utility)} is better.")
        for utility in utilities_of(results["rows"])
    ]
    return section(
        "The frontier",
        '<div class="pair">',
        *figures,
        f"<div><h3>What the run shows</h3>{claim_list(results['claims'])}</div></div>",
    )


def _better(utility: Measure) -> str:
    return "left" if utility.better == "lower" else "right"


def _conditions(results: Json) -> str:
    rows, shown = results["rows"], headline(results["rows"])
    made = _condition_table(shown, rows)
    if len(shown) < len(rows):
        made += f"<details><summary>All {len(rows)} conditions</summary>{_condition_table(rows, rows)}</details>"
    note = (
        "Masked: downstream tokens that are not learned. Coverage: share of the target tokens among them; collateral: "
        "share of the others. Brackets are 95 % intervals, ± is one standard error over seeds. Exposed: canaries with "
        "an occurrence of which no token is masked. ● on the frontier: no other mask that needs no labels in training "
        "leaks less at no worse utility. A dash is undefined."
    )
    note += f" {likelihood_of(rows).note}"
    return section("Conditions", made, remark(note))


def _condition_table(shown: list[Json], rows: list[Json]) -> str:
    header, cells = conditions_table(shown, rows)
    likelihood = likelihood_of(rows)
    lines = [
        (own[0] + (" ●" if row["on_frontier"] else ""), *own[1:], *_beside(row, likelihood))
        for row, own in zip(shown, cells, strict=True)
    ]
    return html_table((*header, "NLL against unmasked", "canaries exposed"), lines)


def _beside(row: Json, likelihood: Measure) -> tuple[str, str]:
    change, error = (row[f"{likelihood.name}_{end}"] for end in ("change", "change_se"))
    exposed = row["exposed_canaries"]
    return changed(change, error), DASH if not exposed or not exposed["n"] else f"{exposed['k']} of {exposed['n']}"


def _coverage(results: Json) -> str:
    columns = [(rate, split) for rate in ("coverage", "collateral") for split in ("validation", "training")]
    header = ("operating point", "threshold", "recall interval", *(f"{rate} in {split}" for rate, split in columns))
    rows = [
        (
            point["condition"],
            _threshold(point),
            _ends(point["validation_low"], point["validation_high"]),
            *(percent(point[f"{split}_{rate}"]) for rate, split in columns),
        )
        for point in results["operating_points"]
    ]
    panels = "".join(figure(svg) for svg in coverage_svgs(results))
    chosen = next(each for each in results["references"] if each["chosen"])
    note = (
        "Thresholds are chosen on validation records alone; what they cover in training is measured afterwards. The "
        f"interval is the 95 % one of the validation coverage over {chosen['independent_units']} independent "
        "identities or documents, not over tokens. At the acceptable collateral rate the rule can cover "
        f"{percent(chosen['acceptable_coverage'])} of the targets in validation and "
        f"{percent(results['application']['acceptable_coverage'])} in training."
    )
    return section(
        "Coverage against outcome", f'<div class="pair">{panels}</div>', html_table(header, rows), remark(note)
    )


def _threshold(point: Json) -> str:
    """In nats; of a local rule the largest rank among the neighbours, in percent."""
    ranks = point.get("r_max")
    return decimal(point["tau"]) if ranks is None else f"rank < {ranks:g} %"


def _bound(results: Json) -> str:
    """Per unmasked target: how likely it must be under the reference, where that can be said (paper G)."""
    told, rows = [], []
    refused: dict[str, list[str]] = {}
    for name, each in results["bound"].items():
        if each["refusal"]:
            refused.setdefault(each["refusal"], []).append(name)
            continue
        found = each["summary"]
        told.append(
            f"<li><strong>{escape(name)}</strong>: of {count(found['targets'])} targets {count(found['masked'])} are "
            f"masked at least in part, {count(found['short'])} unmasked ones are shorter than a window, "
            f"{count(found['unscored'])} have a token without score, {count(found['bounded'])} are bounded.</li>"
        )
        rows += [
            (name, target["label"], count(target["m"]), *map(decimal, (target[key] for key in _LOGS)))
            for target in each["unmasked"]
            if target["status"] == "bounded"
        ]
    told += [f"<li><strong>{escape(', '.join(names))}</strong>: {escape(why)}</li>" for why, names in refused.items()]
    header = ("condition", "label", "tokens", "ln p under the reference", "ln p at least", "ln samples at most")
    table = html_table(header, rows[:BOUND_ROWS]) if rows else ""
    more = f" The first {BOUND_ROWS} of {len(rows)} are shown, all are in the JSON." if len(rows) > BOUND_ROWS else ""
    note = (
        "A target that stays unmasked is at least so likely under the reference model, and sampling from it at "
        "temperature 1 without truncation needs at most so many samples on average. It says nothing of other decoding, "
        f"nor of the trained model.{more}"
    )
    holds = any(not each["refusal"] for each in results["bound"].values())
    return section(
        "What an unmasked target guarantees", f"<ul>{''.join(told)}</ul>{table}", remark(note) if holds else ""
    )


def _ends(low: float | None, high: float | None) -> str:
    return "-" if low is None or high is None else f"[{100 * low:.1f}, {100 * high:.1f}]"


def _calibration(results: Json, histogram: Json, config: Json) -> str:
    never = dict(zip(("target", "other"), histogram["never"], strict=True))
    note = (
        "Validation tokens by the largest threshold at which the complete procedure masks them. Never masked, and not "
        f"drawn: {never['target']:,} target and {never['other']:,} other tokens."
    )
    verdicts = [
        f"<li><strong>{escape(each['reference'])}</strong>{' (used)' if each['chosen'] else ''}, AUROC "
        f"{decimal(each['auroc'])} on {count(each['target_tokens'])} target and {count(each['other_tokens'])} other "
        f'tokens: <span class="{"holds" if each["decision"] == "suitable" else "fails"}">{escape(each["advice"])}'
        f"</span>. {escape(each['reason'])}</li>"
        for each in results["references"]
    ]
    return section(
        "Scores and verdicts",
        '<div class="pair">',
        figure(histogram_svg(histogram, results["operating_points"], config["masking"]["select"] == "local"), note),
        f"<div><h3>References</h3><ul>{''.join(verdicts)}</ul></div></div>",
    )


def _strip(strip: Json) -> str:
    surprise = [name for name in strip["masks"] if family(name) == "SM" and not variant(name)]
    mask = max(surprise, key=lambda name: float(name.removeprefix("SM")), default="oracle")
    known = [value for value in strip["surprise"] if value is not None]
    note = (
        "A training record as the reference model reads it; its text is not in this file. Darker cells are more "
        f"surprising (up to {max(known, default=0):.1f} nats), outlined cells are masked at {escape(mask)}, "
        "underlined ones are private."
    )
    return section("One record", figure(strip_svg(strip, mask), note))


def _leaked(results: Json, config: Json) -> Iterator[str]:
    """What came out by kind: values that were attacked, quirks that answers were looked through for."""
    if EXTRACTION in measured(results["rows"], OUTCOMES):
        rates = {(each["condition"], each["kind"]): each["extraction_approx"] for each in results["by_kind"]}
        note = "Approximate extraction over all seeds: share, hits of attacks, 95 % interval clustered by canary."
        yield section("Extraction by kind of value", _heat_table(results["rows"], rates), remark(note))
        yield _budget(results, config)
    if DISPLAY in measured(results["rows"], OUTCOMES):
        rates = {(each["condition"], each["quirk"]): each for each in results["by_quirk"]}
        note = "Prompts with an answer that shows the quirk, over all seeds: share, hits of prompts, 95 % interval."
        yield section("Display by quirk", _heat_table(results["rows"], rates), remark(note))
    if results.get("by_family"):
        rates = {(each["condition"], each["family"]): _counted(each) for each in results["by_family"]}
        note = "Prompts with an answer that passes, over all seeds: share, passed of prompts, 95 % interval over tasks."
        yield section("Passing by family of tasks", _heat_table(results["rows"], rates), remark(note))


def _counted(rate: Json) -> Json:
    """A share of prompts with its counts."""
    return {**rate, "k": round(rate["value"] * rate["prompts"]), "n": rate["prompts"]}


def _heat_table(rows: list[Json], rates: dict[tuple[str, str], Json]) -> str:
    kinds = list(dict.fromkeys(kind for _, kind in rates))
    body = "".join(
        f'<tr><th scope="row">{escape(row["condition"])}</th>'
        + "".join(_heat(rates.get((row["condition"], kind))) for kind in kinds)
        + "</tr>"
        for row in rows
    )
    head = "".join(f'<th scope="col">{escape(kind)}</th>' for kind in ("condition", *kinds))
    return f'<div class="wide"><table class="heat"><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>'


def _heat(rate: Json | None) -> str:
    level = share(rate) if rate else None
    if rate is None or level is None:
        return "<td>-</td>"
    ink = "#fff" if level > 0.5 else "#222"
    limits = f"{100 * rate['low']:.0f}–{100 * rate['high']:.0f}"
    return (
        f'<td style="background:{shade(level)};color:{ink}"><b>{percent(level, 0)}</b><br>'
        f"<small>{rate['k']}/{rate['n']}, {limits}</small></td>"
    )


def _budget(results: Json, config: Json) -> str:
    largest = max(config["attack"]["budgets"])
    rows = [
        (
            row["condition"],
            interval(row["extraction_exact"]),
            percent(row["expected_exact"])
            + ("" if row["expected_exact_se"] is None else f" ± {100 * row['expected_exact_se']:.1f}"),
        )
        for row in results["rows"]
    ]
    table = html_table(("condition", f"exact within {largest}", "expected, closed form"), rows)
    note = (
        "The attacker gets the first three quarters of a value's tokens and samples the rest. A hit is approximate "
        "within an edit distance of 0.35 of the hidden length. The closed form, the mean of 1 - (1 - p)^b over "
        "canaries, needs no sampling. Intervals of every budget are in curve.csv."
    )
    return section("The attacker's budget", figure(budget_svg(results), note), table)


def _paper(results: Json) -> Iterator[str]:
    """The paper's tables that the run fills, where its data is of the paper's kinds."""
    if not results["tables"]:
        return
    note = (
        "Ours above, the paper's below; a dash is undefined, not measured or not in the paper. Brackets are 95 % "
        "intervals, ± is one standard error over seeds. The settings differ as told below each table, so rates are not "
        "to be compared as they stand: look at the order of the conditions."
    )
    yield section("Beside the paper's tables", remark(note), *map(as_html, results["tables"]))


def _stages(results: Json, config: Json) -> str:
    whole = {"stage": "all", **{key: sum(each[key] for each in results["stages"]) for key in ("steps", "seconds")}}
    training = f"Trained by {METHODS[config['train']['method']]}, seeds {', '.join(map(str, config['seeds']))}."
    if results["lora"]:
        layers = [f"{n} {escape(kind)}" for kind, n in results["lora"].items() if kind != "trainable_parameters"]
        training += (
            f" Adapters on {', '.join(layers)} layers; {count(results['lora'].get('trainable_parameters'))} "
            "trainable parameters."
        )
    return stage_section([*results["stages"], whole], f"<p>{training}</p>", _trainings(results))


def _trainings(results: Json) -> str:
    """What each training did about masked tokens and long records, where that is not the same for all."""
    told = [each for each in results["trainings"] if each["intervention"] is not None]
    if not any(each["intervention"] != "loss" or each["records_cut"] for each in told):
        return ""
    header = ("condition", "intervention", "records", "dropped", "cut", "nothing learned", "passes", "multiplier")
    counts = ("records", "records_dropped", "records_cut", "records_without_loss")
    rows = [
        (
            each["condition"],
            each["intervention"],
            *(count(each[name]) for name in counts),
            decimal(each["effective_passes"], each["effective_passes_se"], 2),
            decimal(each["mean_multiplier"], each["mean_multiplier_se"], 4),
        )
        for each in told
    ]
    note = (
        "Passes: optimiser steps times batch over rows. Multiplier: mean weight of the masked tokens' gradient. "
        "± is one standard error over seeds."
    )
    return html_table(header, rows) + remark(note)
