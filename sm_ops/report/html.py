"""The report: one script-free HTML page with inlined figures, and its numbers as JSON and CSV beside it."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Sequence
from html import escape
from pathlib import Path
from typing import Any

from sm_ops.core import fs
from sm_ops.core.home import Run
from sm_ops.evaluation.frontier import family
from sm_ops.masking.conditions import variant
from sm_ops.report.outputs import Outputs
from sm_ops.report.plots import budget_svg, coverage_svgs, frontier_svg, histogram_svg
from sm_ops.report.results import load_results
from sm_ops.report.strip import shade, strip_svg
from sm_ops.report.words import HEADER, cells, count, decimal, headline, interval, percent, share, told

Json = dict[str, Any]

TABLES = ("rows", "per_seed", "by_kind", "curve", "canaries", "operating_points", "references", "stages", "claims")
BOUND_ROWS = 20
_LOGS = ("log_p", "log_p_lower", "log_samples_upper")
METHODS = {
    "continue": "continued pretraining of the base model on packed text",
    "scratch": "pretraining from scratch on packed text",
    "lora": "fine-tuning of the base model with low-rank adapters",
}


def write_report(run: Run, home: Path) -> Path:
    """Write report.html, frontier.svg, results.json and a CSV file a table into the run's folder."""
    results = load_results(run, home)
    outputs = Outputs(run, home)
    calibration = outputs.json("calibrate", "calibration.json")["references"]
    histogram = calibration[run.config["masking"]["reference"]]["histogram"]
    page = _page(results, run.config, histogram, outputs.json("mask", "strip.json"))
    fs.write_json(run.folder / "results.json", results)
    for name in TABLES:
        fs.write_atomic(run.folder / f"{name}.csv", _csv(results[name]).encode())
    fs.write_atomic(run.folder / "frontier.svg", frontier_svg(results).encode())
    fs.write_atomic(run.folder / "report.html", page.encode())
    return run.folder / "report.html"


def _page(results: Json, config: Json, histogram: Json, strip: Json) -> str:
    sections = (
        _frontier(results),
        _conditions(results),
        _coverage(results),
        _calibration(results, histogram),
        _bound(results),
        _strip(strip),
        _kinds(results),
        _budget(results, config),
        _stages(results, config),
        _limits(results, config),
    )
    title = escape(f"{results['run']['name']}: leakage against utility")
    finished = results["run"]["finished"][:16].replace("T", " ")
    facts = escape(f"Run {results['run']['id']}, finished {finished} UTC.")
    page = (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width,initial-scale=1">'
        f"<title>{title}</title><style>{_CSS}</style></head>\n"
        f'<body><header><h1>{title}</h1><p class="note">{facts}</p></header>\n<main>\n'
        + "\n".join(sections)
        + "\n</main></body></html>\n"
    )
    return page.replace(" %", "\N{NO-BREAK SPACE}%")


def _frontier(results: Json) -> str:
    claims = [
        f'<li><span class="{told(c)}">{told(c)}</span> <span>{escape(c["sentence"])}</span>'
        f'<span class="note">{escape(c["detail"])}</span></li>'
        for c in results["claims"]
    ]
    note = (
        "Each mark is a condition, pooled over its training seeds (small dots). Vertical bars are 95 % intervals "
        "that take each canary as one cluster, horizontal bars the standard error over seeds. Down and left is better."
    )
    return _section(
        "The frontier",
        '<div class="pair">',
        _figure(frontier_svg(results), note),
        f'<div><h3>What the run shows</h3><ul class="claims">{"".join(claims)}</ul></div></div>',
    )


def _conditions(results: Json) -> str:
    rows, shown = results["rows"], headline(results["rows"])
    header = (*HEADER, "NLL against unmasked", "canaries exposed")
    table = _table(header, [_condition(row) for row in shown])
    if len(shown) < len(rows):
        every = _table(header, [_condition(row) for row in rows])
        table += f"<details><summary>All {len(rows)} conditions</summary>{every}</details>"
    note = (
        "Masked: downstream tokens that are not learned. Coverage: share of the target tokens among them; collateral: "
        "share of the others. Brackets are 95 % intervals, ± is one standard error over seeds. Exposed: canaries with "
        "an occurrence of which no token is masked. ● on the frontier: no other mask that needs no labels in training "
        "leaks less at no worse NLL. A dash is undefined."
    )
    return _section("Conditions", table, _note(note))


def _condition(row: Json) -> tuple[str, ...]:
    change, error = row["nll_change"], row["nll_change_se"]
    against = "-" if change is None else f"{100 * change:+.1f} %" + (f" ± {100 * error:.1f}" if error else "")
    exposed = row["exposed_canaries"]
    name = row["condition"] + (" ●" if row["on_frontier"] else "")
    return name, *cells(row)[1:], against, "-" if exposed is None else f"{exposed['k']} of {exposed['n']}"


def _coverage(results: Json) -> str:
    columns = [(rate, split) for rate in ("coverage", "collateral") for split in ("validation", "training")]
    header = ("operating point", "threshold", "recall interval", *(f"{rate} in {split}" for rate, split in columns))
    rows = [
        (
            point["condition"],
            decimal(point["tau"]),
            _ends(point["validation_low"], point["validation_high"]),
            *(percent(point[f"{split}_{rate}"]) for rate, split in columns),
        )
        for point in results["operating_points"]
    ]
    panels = "".join(_figure(svg) for svg in coverage_svgs(results))
    chosen = next(each for each in results["references"] if each["chosen"])
    note = (
        "Thresholds are chosen on validation records alone; what they cover in training is measured afterwards. The "
        f"interval is the 95 % one of the validation coverage over {chosen['independent_units']} independent "
        "identities or documents, not over tokens. At the acceptable collateral rate the rule can cover "
        f"{percent(chosen['acceptable_coverage'])} of the targets in validation and "
        f"{percent(results['application']['acceptable_coverage'])} in training."
    )
    return _section("Coverage against outcome", f'<div class="pair">{panels}</div>', _table(header, rows), _note(note))


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
    table = _table(header, rows[:BOUND_ROWS]) if rows else ""
    more = f" The first {BOUND_ROWS} of {len(rows)} are shown, all are in the JSON." if len(rows) > BOUND_ROWS else ""
    note = (
        "A target that stays unmasked is at least so likely under the reference model, and sampling from it at "
        "temperature 1 without truncation needs at most so many samples on average. It says nothing of other decoding, "
        f"nor of the trained model.{more}"
    )
    holds = any(not each["refusal"] for each in results["bound"].values())
    return _section(
        "What an unmasked target guarantees", f"<ul>{''.join(told)}</ul>{table}", _note(note) if holds else ""
    )


def _ends(low: float | None, high: float | None) -> str:
    return "-" if low is None or high is None else f"[{100 * low:.1f}, {100 * high:.1f}]"


def _calibration(results: Json, histogram: Json) -> str:
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
    return _section(
        "Scores and verdicts",
        '<div class="pair">',
        _figure(histogram_svg(histogram, results["operating_points"]), note),
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
    return _section("One record", _figure(strip_svg(strip, mask), note))


def _kinds(results: Json) -> str:
    kinds = list(dict.fromkeys(each["kind"] for each in results["by_kind"]))
    rates = {(each["condition"], each["kind"]): each["extraction_approx"] for each in results["by_kind"]}
    body = "".join(
        f'<tr><th scope="row">{escape(row["condition"])}</th>'
        + "".join(_heat(rates[row["condition"], kind]) for kind in kinds)
        + "</tr>"
        for row in results["rows"]
    )
    head = "".join(f'<th scope="col">{escape(kind)}</th>' for kind in ("condition", *kinds))
    return _section(
        "Extraction by kind of value",
        f'<div class="wide"><table class="heat"><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>',
        _note("Approximate extraction over all seeds: share, hits of attacks, 95 % interval clustered by canary."),
    )


def _heat(rate: Json) -> str:
    level = share(rate)
    if level is None:
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
    table = _table(("condition", f"exact within {largest}", "expected, closed form"), rows)
    note = (
        "The attacker gets the first three quarters of a value and samples the rest. A hit is approximate within an "
        "edit distance of 0.35 of the hidden length. The closed form, the mean of 1 - (1 - p)^b over canaries, needs "
        "no sampling. Intervals of every budget are in curve.csv."
    )
    return _section("The attacker's budget", _figure(budget_svg(results), note), table)


def _stages(results: Json, config: Json) -> str:
    rows = [(each["stage"], count(each["steps"]), decimal(each["seconds"], digits=1)) for each in results["stages"]]
    total = sum(each["seconds"] for each in results["stages"])
    rows.append(("all", count(sum(each["steps"] for each in results["stages"])), decimal(total, digits=1)))
    training = f"Trained by {METHODS[config['train']['method']]}, seeds {', '.join(map(str, config['seeds']))}."
    if results["lora"]:
        layers = [f"{n} {escape(kind)}" for kind, n in results["lora"].items() if kind != "trainable_parameters"]
        training += (
            f" Adapters on {', '.join(layers)} layers; {count(results['lora'].get('trainable_parameters'))} "
            "trainable parameters."
        )
    note = "Seconds that each result took when it was made; a result found in the store costs none again."
    return _section(
        "Stages",
        f"<p>{training}</p>",
        _table(("stage", "steps", "seconds"), rows, narrow=True),
        _note(note),
        _trainings(results),
    )


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
            decimal(each["effective_passes"], digits=2),
            decimal(each["mean_multiplier"], digits=4),
        )
        for each in told
    ]
    note = "Passes: optimiser steps times batch over rows. Multiplier: mean weight of the masked tokens' gradient."
    return _table(header, rows) + _note(note)


def _limits(results: Json, config: Json) -> str:
    attacked = next((row["extraction_approx"]["n"] for row in results["rows"]), 0)
    seeds = len(config["seeds"])
    regime = METHODS[config["train"]["method"]]
    if config["base"]["name"] is None and config["train"]["method"] != "scratch":
        regime += ", here a small GPT-2 trained on the spot on public code"
    items = (
        f"The regime is {regime}. Larger models, other data and other schedules memorise differently: compare "
        "conditions within this run, and do not carry its rates over.",
        f"Each condition was attacked {attacked} times ({attacked // seeds} canaries, {seeds} "
        f"{'seed' if seeds == 1 else 'seeds'}). Seeds share their canaries, masks and base model, so intervals count "
        "canaries, and differences within them are not established.",
        "One attack was run. What it does not extract may fall to another: paraphrase, membership inference, gradients "
        "and other prompts were not tried. Low extraction is no guarantee of privacy.",
        "Utility is the loss on held-out clean records; no downstream task was measured.",
        "Only labelled values count as private. What the labels miss is in no rate on this page.",
    )
    return _section("What this does not say", "<ul>" + "".join(f"<li>{escape(item)}</li>" for item in items) + "</ul>")


def _section(title: str, *parts: str) -> str:
    return f"<section><h2>{escape(title)}</h2>\n{''.join(parts)}</section>"


def _figure(svg: str, note: str = "") -> str:
    caption = f"<figcaption>{escape(note)}</figcaption>" if note else ""
    return f"<figure>{svg}{caption}</figure>\n"


def _note(text: str) -> str:
    return f'<p class="note">{escape(text)}</p>'


def _table(header: Sequence[str], rows: Iterable[Sequence[str]], narrow: bool = False) -> str:
    """A table whose first column names the row; every cell is escaped here."""
    head = "".join(f'<th scope="col">{escape(name)}</th>' for name in header)
    body = "".join(
        f'<tr><th scope="row">{escape(first)}</th>{"".join(f"<td>{escape(cell)}</td>" for cell in rest)}</tr>'
        for first, *rest in rows
    )
    kind = ' class="narrow"' if narrow else ""
    return f'<div class="wide"><table{kind}><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>\n'


def _csv(rows: Sequence[Json]) -> str:
    """Rows as CSV; nested numbers get names joined by an underscore, undefined ones stay empty."""
    flat = [_flat(row) for row in rows]
    names = list(dict.fromkeys(name for row in flat for name in row))
    stream = io.StringIO()
    writer = csv.DictWriter(stream, names, lineterminator="\n")
    writer.writeheader()
    writer.writerows(flat)
    return stream.getvalue()


def _flat(row: Json, prefix: str = "") -> Json:
    result: Json = {}
    for name, value in row.items():
        result |= _flat(value, f"{prefix}{name}_") if isinstance(value, dict) else {prefix + name: value}
    return result


_CSS = """
:root{color-scheme:light}
*{box-sizing:border-box}
body{margin:0 auto;max-width:66rem;padding:1rem;background:#fff;color:#222;
font:16px/1.5 system-ui,-apple-system,"Segoe UI",Roboto,"DejaVu Sans",sans-serif}
h1{font-size:1.5rem;line-height:1.2;margin:.5rem 0 .25rem}
h2{font-size:1.2rem;margin:0 0 .75rem;padding-top:1.5rem;border-top:1px solid #ddd}
h3{font-size:1rem;margin:.25rem 0}
section{margin-top:1.75rem}
figure{margin:0 0 .75rem}
figure svg{display:block;width:100%;max-width:40rem;height:auto}
figcaption,.note{color:#555;font-size:.875rem}
figcaption{margin-top:.4rem;max-width:40rem}
ul{padding-left:1.2rem;max-width:46rem}
li{margin:.35rem 0}
.claims{list-style:none;padding:0}
.claims li{display:grid;grid-template-columns:5rem 1fr;gap:0 .5rem;margin:.5rem 0}
.claims .note{grid-column:2}
.holds,.fails,.undefined{font-weight:600;font-size:.875rem}
.holds{color:#00664b}.fails{color:#a33c00}.undefined{color:#555}
.wide{overflow-x:auto;margin:.5rem 0}
.pair{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(100%,24rem),1fr));gap:0 2rem}
table{border-collapse:collapse;font-size:.875rem;font-variant-numeric:tabular-nums;min-width:100%}
table.narrow{min-width:18rem}
th,td{padding:.35rem .5rem;border-bottom:1px solid #e5e5e5;text-align:right;white-space:nowrap}
th{font-weight:600}
thead th{white-space:normal;vertical-align:bottom;border-bottom:2px solid #bbb;line-height:1.25}
tr>th:first-child{text-align:left;position:sticky;left:0;background:#fff}
.heat td{text-align:center;border:1px solid #fff}
.heat thead th:not(:first-child){text-align:center}
"""
