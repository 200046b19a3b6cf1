"""Sanitization of one's own corpus: which filter to take, and the corpus cleaned by it."""

from __future__ import annotations

import json
import shutil
import sys
from contextlib import nullcontext, redirect_stdout
from pathlib import Path
from typing import Annotated, Any

import typer

from sm_ops.cli.options import Jobs, Json, Set, home_with_servers

app = typer.Typer()

NAME = "sanitize"
SURPRISE, CONTRAST = "surprise", "contrast"
REDACTED = "redacted.jsonl"


@app.command(
    epilog="Examples: sm-ops sanitize --validation labelled.jsonl --records corpus.jsonl --out cleaned | sm-ops "
    "sanitize --validation labelled.jsonl --records corpus.jsonl --detector credsweeper --detector regex --json | "
    "sm-ops sanitize --validation labelled.jsonl --set corpus.folds=3"
)
def sanitize(
    validation: Annotated[
        Path | None, typer.Option(help="Labelled sample of the corpus; without it a corpus is generated.")
    ] = None,
    records: Annotated[Path | None, typer.Option(help="What is to be cleaned, labelled or not.")] = None,
    out: Annotated[Path | None, typer.Option(help="Folder for the cleaned records and the report.")] = None,
    corpus: Annotated[str, typer.Option(help="Layout of both files; see sm-ops ls corpora.", metavar="NAME")] = "auto",
    reference: Annotated[
        str, typer.Option(help="ngram (fitted on the spot), or the folder or hub name of a causal model.")
    ] = "ngram",
    contrast: Annotated[
        bool, typer.Option("--contrast", help="One more filter: the contrast of two instructions to a causal model.")
    ] = False,
    detectors: Annotated[
        list[str] | None,
        typer.Option("--detector", help="A filter beside surprise (again: one more); default: regex.", metavar="NAME"),
    ] = None,
    filter_: Annotated[
        str, typer.Option("--filter", help="The filter that cleans; auto: the best suitable one.", metavar="NAME")
    ] = "auto",
    acceptable: Annotated[float, typer.Option(help="Largest share of other content that may be masked.")] = 0.1,
    coverage: Annotated[float, typer.Option(help="Share of the targets that a suitable filter covers then.")] = 0.8,
    overrides: Set = None,
    jobs: Jobs = None,
    as_json: Json = False,
) -> None:
    """Compare filters on your labelled records, say which one to take, and clean a corpus with it."""
    from sm_ops.core.config import built, resolve
    from sm_ops.core.fs import check_outputs, existing
    from sm_ops.release import after_run
    from sm_ops.report.finish import finish, results_of
    from sm_ops.report.sanitize.answer import answer
    from sm_ops.runner import run_pipeline

    given = [existing(path) for path in (validation, records) if path is not None]
    if out is not None:
        check_outputs([out / REDACTED], given, (".jsonl",))
    values = {
        "flow": NAME,
        "name": NAME,
        "corpus": {"name": corpus, "validation": _text(validation), "records": _text(records)},
        "acceptable_collateral": acceptable,
        "coverage": coverage,
        "use": filter_,
        **_filters(reference, contrast, list(dict.fromkeys(["regex"] if detectors is None else detectors))),
    }
    resolved = resolve(built(values, "sm-ops sanitize", overrides))
    home = home_with_servers()
    run = run_pipeline(resolved, home, jobs)
    with redirect_stdout(sys.stderr) if as_json else nullcontext():
        finish(run, home, after_run.release)
    files = [] if out is None else _export(run, home, out)
    if as_json:
        told = answer(results_of(run).load_results(run, home))
        print(json.dumps({**told, "files": [str(path) for path in files]}, indent=1))
    else:
        print("\n".join(map(str, files)), end="\n" if files else "")


def _text(path: Path | None) -> str | None:
    return None if path is None else str(path)


def _filters(reference: str, contrast: bool, detectors: list[str]) -> dict[str, Any]:
    """References, filters and combinations: surprise beside each detector, alone and together with it."""
    from sm_ops.core.config.sanitize import NGRAM
    from sm_ops.core.errors import InputError
    from sm_ops.masking import published

    fitted = reference == "ngram"
    if contrast and fitted:
        hint = "--contrast puts two instructions to a causal model, which an n-gram is not; name one with --reference."
        raise InputError("no-instructions", hint)
    references = {"ngram": NGRAM["ngram"].model_dump()} if fitted else {"model": {"model": reference}}
    scores = {SURPRISE: next(iter(references))}
    if contrast:
        scores[CONTRAST] = "instructed"
        references["instructed"] = {"model": reference, **published.CONTRAST}
    filters = {name: {"kind": "surprise", "reference": own} for name, own in scores.items()}
    filters |= {name: {"kind": "detector", "detector": name} for name in detectors}
    combinations = [[score, name] for score in scores for name in detectors]
    return {"references": references, "filters": filters, "combinations": combinations}


def _export(run: Any, home: Path, out: Path) -> list[Path]:
    """Copy what is not restricted of a run; the redacted records only where there are any."""
    from sm_ops.core.errors import InputError
    from sm_ops.core.store import Store

    store = Store(home)

    def stored(step: str, output: str) -> Path:
        known = run.steps[step]
        found = store.find(known["stage"], known["fingerprint"])
        assert found is not None  # it was made or found a moment ago
        return store.output_path(found, output)

    out.mkdir(parents=True, exist_ok=True)
    measured = [step for step in run.steps if step.startswith("san_measure@")]
    copies = {"report.html": run.folder / "report.html"}
    copies |= {path.name: path for path in sorted(run.folder.glob("*.csv"))}
    for step in measured:
        name = "measures.json" if len(measured) == 1 else f"measures-{step.partition('@')[2]}.json"
        copies[name] = stored(step, "measures.json")
    copies["redaction.json"] = stored("san_redact", "redaction.json")
    if run.steps["san_redact"]["numbers"]["records"]:
        copies[REDACTED] = stored("san_redact", REDACTED)
    elif (out / REDACTED).exists():
        hint = f"{out / REDACTED} is of an earlier run, and by this one no filter is to be taken; remove that file."
        raise InputError("stale-redaction", hint)
    for name, source in copies.items():
        _copy(source, out / name)
    return [out / name for name in copies]


def _copy(source: Path, path: Path) -> None:
    """Copy a file, whole or not at all; what goes wrong names where it was to be."""
    from sm_ops.core.fs import replacing

    try:
        with replacing(path) as unfinished, source.open("rb") as known, unfinished.open("wb") as copy:
            shutil.copyfileobj(known, copy)
    except OSError as error:
        raise OSError(error.errno, error.strerror, str(path)) from None
