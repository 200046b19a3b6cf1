"""An audit of any model and any labelled records, without a pipeline."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer

from sm_ops.cli.options import Json, quiet_models
from sm_ops.core.types import Progress

app = typer.Typer()


@app.command(
    epilog="Examples: sm-ops attack --attack tab --model mine/ --records train.jsonl --class PERSON --baseline gpt2 | "
    "sm-ops attack --attack membership --model mine/ --records train.jsonl --others unseen.jsonl --out audit.json"
)
def attack(
    attacks: Annotated[
        list[str],
        typer.Option("--attack", help="An attack; see sm-ops ls attacks. May be given again.", metavar="NAME"),
    ],
    model: Annotated[str, typer.Option(help="The attacked model: folder, adapter or hub name.", metavar="MODEL")],
    records: Annotated[Path, typer.Option(help="What it was trained on, JSONL or Parquet.", metavar="RECORDS")],
    baseline: Annotated[
        str | None, typer.Option(help="A public model, the same attacks on which say what anyone knows.")
    ] = None,
    base: Annotated[str | None, typer.Option(help="What adapters among the models belong to.", metavar="MODEL")] = None,
    others: Annotated[
        Path | None, typer.Option(help="Records of the same kind that the model never saw.", metavar="RECORDS")
    ] = None,
    tagger: Annotated[
        str, typer.Option(help="What finds mentions: gold (the records' own spans), spacy, regex, ..., or A+B.")
    ] = "gold",
    classes: Annotated[
        list[str] | None, typer.Option("--class", help="A class to attack, as PERSON; default: all.", metavar="CLASS")
    ] = None,
    shadows: Annotated[
        list[str] | None,
        typer.Option("--shadow", help="A shadow model and what it was trained on.", metavar="MODEL=RECORDS"),
    ] = None,
    fill: Annotated[
        str | None, typer.Option(help="A masked language model that fills the masks around a slot.", metavar="MODEL")
    ] = None,
    backend: Annotated[str, typer.Option(help="How the models are reached: hf, service.")] = "hf",
    seed: Annotated[int, typer.Option(help="What is drawn depends on it alone.")] = 0,
    overrides: Annotated[
        list[str] | None,
        typer.Option("--set", help="A setting: ATTACK.NAME=VALUE, NAME=VALUE, model.NAME=VALUE.", metavar="KEY=VALUE"),
    ] = None,
    out: Annotated[Path | None, typer.Option(help="Also write the report to this file (.json).")] = None,
    as_json: Json = False,
) -> None:
    """Attack a model and say what it gives away of its training records, and what was not tried; no values."""
    from sm_ops.attacks import auditing
    from sm_ops.core.fs import check_outputs, write_json
    from sm_ops.report.attack import lines

    quiet_models()
    pairs = [_pair(each) for each in shadows or []]
    check_outputs([out] if out else [], [records, others, *(path for _, path in pairs)], (".json",))
    chosen, model_settings = auditing.settings_of(list(dict.fromkeys(attacks)), overrides)
    report = auditing.run(
        auditing.Audit(
            attacks=chosen,
            model=model,
            records=records,
            baseline=baseline,
            base=base,
            others=others,
            tagger=tagger,
            classes=classes or (),
            shadows=pairs,
            fill=fill,
            backend=backend,
            model_settings=model_settings,
            seed=seed,
        ),
        _progress,
    )
    print(json.dumps(report, indent=1, ensure_ascii=False) if as_json else "\n".join(lines(report)))
    if out:  # last: what was computed is on the screen should the disk be full
        write_json(out, report)
    _say_next(out, baseline)


@contextmanager
def _progress(task: str) -> Iterator[Progress]:
    from sm_ops.core.display import counting

    with counting(task) as tell:
        yield tell


def _pair(shadow: str) -> tuple[str, Path]:
    from sm_ops.core.errors import InputError

    model, equals, records = shadow.rpartition("=")
    if not (equals and model and records):
        raise InputError("bad-shadow", "--shadow names a model and the records that it saw, as MODEL=RECORDS.")
    return model, Path(records)


def _say_next(out: Path | None, baseline: str | None) -> None:
    if baseline is None:
        said = "the same with --baseline MODEL, which says what a public model knows already"
    elif out is None:
        said = "the same with --out audit.json keeps the numbers"
    else:
        said = "the same for a model trained on defended records; sm-ops run audit_tiny compares defences"
    print(f"next: {said}", file=sys.stderr)
