"""Surprise masking on the user's own files: score, calibrate, mask."""

from __future__ import annotations

import json
import shlex
import shutil
import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from sm_ops.cli.options import Json, quiet_models, say_next
from sm_ops.core.defaults import ACCEPTABLE_COLLATERAL, TARGETS

app = typer.Typer()

RecordFile = Annotated[Path, typer.Argument(help="Records, JSONL or Parquet.", metavar="RECORDS")]
ScoreFile = Annotated[Path, typer.Option("--scores", help="Score file of these records.")]
Tokenizer = Annotated[
    str | None, typer.Option(help="Model whose tokens are masked, if it is not the reference.", metavar="MODEL")
]
Other = Annotated[
    Path | None, typer.Option(help="The same records with the spans that another filter masks.", metavar="RECORDS")
]


@app.command(
    epilog="Examples: sm-ops score train.jsonl --model gpt2 | sm-ops score train.jsonl --model mine/ --set workers=2"
)
def score(
    records: RecordFile,
    model: Annotated[str, typer.Option(help="Folder or hub name of a causal model, or what a backend reads.")],
    out: Annotated[Path, typer.Option(help="Score file to write (.parquet or .jsonl).")] = Path("scores.parquet"),
    overrides: Annotated[
        list[str] | None,
        typer.Option("--set", help="A setting of a reference: backend, prompt, dtype, ...", metavar="KEY=VALUE"),
    ] = None,
) -> None:
    """Score every token of your records under a reference model; run again after a kill, it goes on."""
    from sm_ops import surprise
    from sm_ops.core.config import parsed
    from sm_ops.core.display import counting
    from sm_ops.core.fs import canonical_json, check_outputs, private_folder, sha256
    from sm_ops.core.home import home_folder

    quiet_models()
    check_outputs([out], [records, Path(model)], (".parquet", ".jsonl"))
    settings = parsed(overrides)
    digest = sha256(canonical_json([str(records.absolute()), model, settings]))
    folder = private_folder(home_folder() / "restricted") / ".scratch" / f"score-{digest[:16]}"
    with counting("records scored") as progress:
        scores = surprise.score(records, model, folder=folder, progress=progress, **settings)
    scores.save(out)
    shutil.rmtree(folder, ignore_errors=True)
    print(out)
    calibrating = shlex.join(["sm-ops", "calibrate", str(records), "--scores", str(out)])
    print(f"next: {calibrating} (labelled records)", file=sys.stderr)


@app.command(
    epilog="Examples: sm-ops calibrate validation.jsonl --scores scores.parquet --auto | sm-ops calibrate "
    "validation.jsonl --scores scores.parquet --set windows=line --set k=1 --set propagate=none"
)
def calibrate(
    records: RecordFile,
    scores: ScoreFile,
    out: Annotated[Path, typer.Option("--out", help="Where to write the calibration.")] = Path("calibration.json"),
    auto: Annotated[bool, typer.Option("--auto", help="Compare the paper's rules, choose, and verify.")] = False,
    target: Annotated[list[float] | None, typer.Option(help="Target recall of an operating point.")] = None,
    acceptable: Annotated[
        float, typer.Option(help="Largest collateral masking rate that you accept.")
    ] = ACCEPTABLE_COLLATERAL,
    confidence: Annotated[
        float | None, typer.Option(help="With which the recall shall hold for further identities.")
    ] = None,
    by: Annotated[str | None, typer.Option(help="Key of the records' meta: one threshold per value.")] = None,
    tokenizer: Tokenizer = None,
    other: Other = None,
    verify: Annotated[Path | None, typer.Option(help="Labelled records that verify the choice.")] = None,
    verify_scores: Annotated[Path | None, typer.Option(help="Their score file.")] = None,
    application: Annotated[Path | None, typer.Option(help="Labelled records like those to be masked.")] = None,
    application_scores: Annotated[Path | None, typer.Option(help="Their score file.")] = None,
    overrides: Annotated[
        list[str] | None, typer.Option("--set", help="A setting of the rule: windows, n, k, ...", metavar="KEY=VALUE")
    ] = None,
    as_json: Json = False,
) -> None:
    """Choose thresholds on labelled records, and say whether surprise masking is the right tool for them."""
    from sm_ops import surprise
    from sm_ops.core.config import parsed
    from sm_ops.core.fs import check_outputs
    from sm_ops.report.calibration import lines

    inputs = [records, scores, other, verify, verify_scores, application, application_scores]
    check_outputs([out], inputs, (".json",))
    calibration = surprise.calibrate(
        records,
        surprise.Scores.load(scores),
        rule=parsed(overrides),
        auto=auto,
        tokenizer=tokenizer,
        targets=target or TARGETS,
        acceptable_collateral=acceptable,
        confidence=confidence,
        by=by,
        other=other,
        verify=_pair("verify", verify, verify_scores),
        application=_pair("application", application, application_scores),
    )
    calibration.save(out)
    print(json.dumps(calibration.report, indent=1) if as_json else "\n".join(lines(calibration.report)))
    if calibration.verdict["decision"] == "suitable":
        say_next("mask", "RECORDS", "--scores", "SCORES", "--calibration", str(out))
    else:
        print(f"next: another rule or reference; {out} masks at a named --point alone", file=sys.stderr)


def _pair(option: str, records: Path | None, scores: Path | None) -> Any:
    from sm_ops import surprise
    from sm_ops.core.errors import InputError

    if (records is None) != (scores is None):
        raise InputError("half-a-pair", f"--{option} and --{option}-scores belong together; give both.")
    return None if records is None or scores is None else (records, surprise.Scores.load(scores))


@app.command(
    epilog="Examples: sm-ops mask train.jsonl --scores train.parquet --calibration calibration.json | sm-ops mask "
    "train.jsonl --scores train.parquet --calibration calibration.json --point SM95 --redact"
)
def mask(
    records: RecordFile,
    scores: ScoreFile,
    calibration: Annotated[Path, typer.Option("--calibration", help="What sm-ops calibrate wrote.")],
    out: Annotated[Path, typer.Option("--out", help="Folder for the results.")] = Path("masked"),
    point: Annotated[str | None, typer.Option(help="Operating point; default: the one that calibration chose.")] = None,
    tokenizer: Tokenizer = None,
    other: Other = None,
    combine: Annotated[
        str | None, typer.Option(help="With the other filter: union (default), intersection or residual.")
    ] = None,
    redact: Annotated[bool, typer.Option("--redact", help="Also write records with masked spans replaced.")] = False,
    placeholder: Annotated[str, typer.Option(help="What takes the place of a masked span.")] = "[MASKED]",
) -> None:
    """Mask records by a calibrated rule: a masked training set, the spans with their reasons, redacted records."""
    from sm_ops import surprise
    from sm_ops.core.errors import InputError
    from sm_ops.core.fs import check_outputs

    written = [out / "train.parquet", out / "masks.parquet", out / "bound.json"]
    redacted = out / "redacted.jsonl"
    check_outputs([*written, redacted], [records, scores, calibration, other], (".parquet", ".json", ".jsonl"))
    if combine is not None and other is None:
        raise InputError("no-other", "--combine needs the other filter's spans; give them with --other.")
    if redacted.exists() and not redact:
        hint = f"{redacted} is of an earlier mask and would not fit this one; add --redact, or choose another --out."
        raise InputError("stale-redaction", hint)
    masked = surprise.mask(
        records,
        surprise.Scores.load(scores),
        surprise.Calibration.load(calibration),
        point=point,
        tokenizer=tokenizer,
        other=other,
        combination=combine or "union",
    )
    masked.write(out)
    if redact:
        written.append(redacted)
        masked.write_redacted(redacted, placeholder)
    print("\n".join(map(str, written)))
    print("\n".join(masked.summary(placeholder if redact else None)), file=sys.stderr)
