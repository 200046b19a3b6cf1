"""Personal data: masked reversibly, restored, judged, generated, removed for good."""

from __future__ import annotations

import json
import re
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

from sm_ops.cli.options import Json

app = typer.Typer(help="Mask personal data reversibly, restore it, judge extractors.", rich_markup_mode=None)

_CONFIRMATION = "the mapping is the secret"

File = Annotated[Path, typer.Argument(help="Records, JSONL or Parquet, or plain text (.txt).", metavar="FILE")]
Out = Annotated[Path, typer.Option("--out", help="File to write, of the same kind as FILE.")]
PredictionsOption = Annotated[
    Path | None, typer.Option("--predictions", help="An extractor's rows {id, prediction, parse_success}.")
]
Known = Annotated[
    str | None, typer.Option("--known-values", help="vault:NAME, or a file with rows TYPE<TAB>VALUE.", metavar="FROM")
]
DetectorName = Annotated[str | None, typer.Option("--detector", help="A detector; see sm-ops ls detector.")]
OwnLabels = Annotated[
    bool, typer.Option("--labels", help="The records' own spans and entities; the default when nothing else is named.")
]
LabelNames = Annotated[
    list[str] | None,
    typer.Option("--label", help="What an own label stands for; LABEL=- leaves it as it is.", metavar="LABEL=TYPE"),
]
Keep = Annotated[
    list[str] | None, typer.Option("--keep", help="A further key of the records to keep, as it is.", metavar="KEY")
]
VaultName = Annotated[str | None, typer.Option("--vault", help="Name of the mappings in the vault.", metavar="NAME")]


@app.callback()
def _pii() -> None:
    """Mask personal data reversibly, restore it, judge extractors, make documents, remove it for good."""


@app.command(
    epilog="Examples: sm-ops pii mask notes.jsonl --predictions rows.jsonl --out masked.jsonl | "
    "sm-ops pii mask notes.txt --known-values vault:customers --detector regex --out masked.txt"
)
def mask(
    file: File,
    out: Out,
    predictions: PredictionsOption = None,
    known_values: Known = None,
    detector: DetectorName = None,
    labels: OwnLabels = False,
    label: LabelNames = None,
    keep: Keep = None,
    vault: VaultName = None,
    mapping: Annotated[
        Path | None, typer.Option(help="Write the mappings to this file (.jsonl) instead of the vault.")
    ] = None,
    understood: Annotated[
        bool,
        typer.Option("--i-understand-the-mapping-is-the-secret", help="Answers the warning of --mapping, for scripts."),
    ] = False,
    replace: Annotated[bool, typer.Option("--replace", help="Replace mappings of that name that are there.")] = False,
) -> None:
    """Replace values by tokens such as [PERSON_1]; the way back goes to the vault."""
    from sm_ops.core.errors import InputError
    from sm_ops.pii.corpus import Masking, mask_file, published

    if vault is not None and mapping is not None:
        raise InputError("two-places", "--vault and --mapping are two places for the mappings; choose one.")
    _check_places(file, out, predictions, known_values, mapping)
    place = str(mapping) if mapping else f"dataset {vault or _dataset_name(out)!r} of the vault"
    store = _mapping_file(mapping, file, replace) if mapping else _vault_writer(vault or _dataset_name(out), replace)
    sources, total = _sources(file, predictions, known_values, detector, labels, label, any_label=False)
    masking = Masking(sources.finders, sources.known, keep or ())
    if mapping and not understood:
        _confirm(mapping)
    with _told("records masked", total) as progress, published(out, store) as (unfinished, sink):
        mask_file(file, unfinished, masking, sink, progress)
    print(out)
    _say(f"masked by {sources.said}: {masking.spans:,} places in {masking.records:,} records")
    _say(f"tokens: {_counts(masking.tokens)}; their spellings are in {place}")
    if masking.left_over:
        _say(f"{masking.left_over:,} stretches of labelled places that no candidate covers are masked as they stand")
    sources.warn()
    source = f"--mapping {mapping}" if mapping else f"--vault {vault or _dataset_name(out)}"
    _say(f"next: sm-ops pii restore {out} {source} --out {out.with_name('restored' + out.suffix)}")


@app.command(
    epilog="Examples: sm-ops pii restore masked.jsonl --vault masked --out restored.jsonl | "
    "sm-ops pii restore masked.txt --mapping mapping.jsonl --out restored.txt"
)
def restore(
    file: File,
    out: Out,
    vault: VaultName = None,
    mapping: Annotated[Path | None, typer.Option(help="The file that mask --mapping wrote.")] = None,
) -> None:
    """Put the spellings back into masked records, any of them in any order; needs the vault's key."""
    from sm_ops.core.errors import InputError
    from sm_ops.pii.corpus import check_texts, restore_file, survey
    from sm_ops.pii.files import whole
    from sm_ops.pii.mapping_file import MappingFile
    from sm_ops.vault import Vault

    if vault is not None and mapping is not None:
        raise InputError("two-places", "--vault and --mapping are two places for the mappings; choose one.")
    if vault is None and mapping is None:
        raise InputError("no-mappings", "Name the mappings with --vault NAME; see: sm-ops vault status")
    _check_places(file, out, mapping)
    mappings = MappingFile(mapping) if mapping else Vault().mappings(vault or "")
    total = survey(file, check_texts, distinct=False)
    if file.suffix == ".txt" and total != len(mappings):
        hint = f"{file} has {total} paragraphs, its mappings are of {len(mappings)}; plain text is restored whole."
        raise InputError("other-paragraphs", hint)
    with _told("records restored", total) as progress, whole(out) as unfinished:
        counts = restore_file(file, unfinished, mappings.get, progress)
    print(out)
    _say(f"{counts.restored:,} tokens in {counts.records:,} records restored, to the NFC form of the text")
    if counts.unknown:
        _say(f"{counts.unknown:,} tokens have no spelling in their record's mapping and stay: markers of the source?")
    if counts.absent:
        _say(f"{counts.absent:,} tokens of the mappings do not stand in the texts: they were changed after masking")
    _say(f"{out} holds personal data again; it is for its owner alone (mode 0600)")
    last = f"rm {mapping}" if mapping else f"sm-ops vault shred {vault}"
    _say(f"next: {last} (when nothing masked with these mappings is to be restored any more)")


@app.command(
    epilog="Examples: sm-ops pii evaluate test.jsonl rows.jsonl | sm-ops pii evaluate test.jsonl rows.jsonl --json"
)
def evaluate(
    records: Annotated[Path, typer.Argument(help="Documents with entities, or records with spans.", metavar="RECORDS")],
    predictions: Annotated[Path, typer.Argument(help="Rows {id, prediction, parse_success}.", metavar="PREDICTIONS")],
    label: LabelNames = None,
    as_json: Json = False,
) -> None:
    """Judge an extractor's rows: pairs found, values left readable, rows made up."""
    from sm_ops.metrics import wilson
    from sm_ops.pii.evaluation import summary
    from sm_ops.pii.judging import Judging
    from sm_ops.report.pii.words import NOT

    names = _label_names(label)
    judging = Judging(records, predictions, names)
    with _told("records judged", judging.total) as progress:
        result = summary(judging.counts(progress))
    result["intervals"] = {name: wilson(k, n) for name, (k, n) in _shares(result).items()}
    shown = json.dumps({**result, "not": NOT}, indent=1) if as_json else "\n".join(_evaluation(result, NOT))
    print(shown)
    _say(f"next: sm-ops pii mask {records} --predictions {predictions} --out masked{records.suffix}")


@app.command(epilog="Examples: sm-ops pii generate --out documents | sm-ops pii generate --out large --scale 2")
def generate(
    out: Annotated[Path, typer.Option("--out", help="Folder for the documents; new, or the same set.")],
    seed: Annotated[int, typer.Option(min=0, help="Equal seeds give equal bytes.")] = 42,
    scale: Annotated[int, typer.Option(min=1, help="So many times 2,200 documents.")] = 1,
) -> None:
    """Make synthetic Korean and English documents with labelled personal data that nobody can hold."""
    from sm_ops.pii.documents import generate as make

    manifest = _made_once(out, lambda folder: make(folder, seed, scale), seed, scale)
    print("\n".join(str(out / name) for name in manifest["files"]))
    for partition, languages in manifest["partitions"].items():
        told = (f"{name} {own['records']:,} ({own['negative']:,} negative)" for name, own in languages.items())
        _say(f"{partition}: {', '.join(told)}")
    _say(f"{manifest['records']:,} documents; README.md says what they are, manifest.json what was checked")
    _say(f"next: sm-ops pii mask {out / 'test.jsonl'} --out masked.jsonl")


@app.command(
    epilog="Examples: sm-ops pii scrub notes.jsonl --out scrubbed.jsonl | "
    "sm-ops pii scrub notes.txt --detector regex --out scrubbed.txt"
)
def scrub(
    file: File,
    out: Out,
    predictions: PredictionsOption = None,
    known_values: Known = None,
    detector: DetectorName = None,
    labels: OwnLabels = False,
    label: LabelNames = None,
    keep: Keep = None,
) -> None:
    """Replace values by [TYPE] for good: no number, no mapping, no way back."""
    from sm_ops.pii.files import whole
    from sm_ops.pii.scrub import Scrubbing, scrub_file

    _check_places(file, out, predictions, known_values)
    sources, total = _sources(file, predictions, known_values, detector, labels, label, any_label=True)
    scrubbing = Scrubbing(sources.finders, sources.known, keep or ())
    with _told("records scrubbed", total) as progress, whole(out) as unfinished:
        scrub_file(file, unfinished, scrubbing, progress)
    print(out)
    _say(f"scrubbed by {sources.said}: {_counts(scrubbing.removed)} in {scrubbing.records:,} records")
    sources.warn()
    _say(f"next: read some of {out}: what no source named is still there")


# ---- what is masked ------------------------------------------------------------------------------------


@dataclass
class _Sources:
    """What names the values, and how it is told."""

    finders: list[Any]
    known: Any
    said: str
    predictions: Any

    def warn(self) -> None:
        """Say what predictions left open."""
        if self.predictions is None:
            return
        given = self.predictions
        _say(f"predictions: {given.used:,} of {len(given):,} belong to a record of the file")
        if given.nowhere:
            _say(f"{given.nowhere:,} of {given.rows:,} predicted rows stand nowhere in their record")


def _sources(
    file: Path,
    predictions: Path | None,
    known_values: str | None,
    detector: str | None,
    labels: bool,
    label: list[str] | None,
    any_label: bool,
) -> tuple[_Sources, int]:
    """The sources that were named, else the records' own labels; and the number of records, each looked at once."""
    from sm_ops.core import registry
    from sm_ops.core.errors import InputError
    from sm_ops.pii.corpus import document, survey
    from sm_ops.pii.finders import Detections, Labels, Predictions, known_values_of

    own = Labels(_label_names(label), any_label)
    only_own = not (predictions or known_values or detector)
    labelled = labels or only_own
    if label and not labelled:
        raise InputError("no-labels", "--label speaks of the records' own labels; add --labels to use them too.")
    total = survey(file, own.look if labelled else document)
    if labelled and not own.count:
        hint = f"{file} has no labels; name what to look for with --predictions, --known-values or --detector."
        raise InputError("no-labels", hint)
    found = Predictions(predictions) if predictions else None
    finders = [own] if labelled else []
    finders += [found] if found else []
    finders += [Detections(registry.load("detector", detector).load({}))] if detector else []
    known = known_values_of(known_values) if known_values else None
    said = [
        *(["the records' own labels"] if labelled else []),
        *([str(predictions)] if predictions else []),
        *([f"the detector {detector}"] if detector else []),
        *([known_values] if known_values else []),
    ]
    return _Sources(finders, known, ", ".join(said), found), total


def _label_names(given: list[str] | None) -> dict[str, str | None]:
    from sm_ops.core.errors import InputError
    from sm_ops.pii.types import TYPES

    names: dict[str, str | None] = {}
    for each in given or []:
        name, sign, type_ = each.rpartition("=")
        if not (name and sign) or type_ not in (*TYPES, "-"):
            raise InputError("label", f"--label {each}: write LABEL=TYPE with one of {', '.join(TYPES)}, or LABEL=-.")
        names[name] = None if type_ == "-" else type_
    return names


# ---- where it goes -------------------------------------------------------------------------------------


def _check_places(file: Path, out: Path, *others: Path | str | None) -> None:
    """Refuse, before work begins, an output of another kind, at a place of an input, or that cannot be written."""
    from sm_ops.core.errors import InputError
    from sm_ops.core.fs import check_outputs
    from sm_ops.pii.files import SUFFIXES

    if file.suffix not in SUFFIXES:
        hint = f"{file}: the name of a file that is read here ends in {', '.join(SUFFIXES)}."
        raise InputError("suffix", hint)
    check_outputs([out], [file, *(Path(each) for each in others if each)], (file.suffix,))


def _dataset_name(out: Path) -> str:
    from sm_ops.core.errors import InputError

    if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._@+-]{0,99}", out.stem):
        raise InputError("vault-name", f"{out} gives its mappings no name for the vault; name them with --vault NAME.")
    return out.stem


def _vault_writer(name: str, replace: bool) -> AbstractContextManager[Any]:
    from sm_ops.core.errors import InputError
    from sm_ops.vault import Vault

    vault = Vault()
    try:
        if name in vault.names() and not replace:
            vault.mappings(name).close()
            hint = f"The vault has mappings {name!r}, the only way back from what was masked with them; choose another "
            raise InputError("mappings-there", hint + "--vault NAME, or give them up with --replace.")
    except InputError as error:
        if error.code != "no-mappings":
            raise
    return vault.writer(name)


def _mapping_file(path: Path, file: Path, replace: bool) -> AbstractContextManager[Any]:
    from sm_ops.core.errors import InputError
    from sm_ops.core.fs import check_outputs
    from sm_ops.pii.mapping_file import writing_mappings

    check_outputs([path], [file], (".jsonl",))
    if path.exists() and not replace:
        hint = f"{path} is there, perhaps the only way back from what was masked with it; choose another name, or give "
        raise InputError("mappings-there", hint + "it up with --replace.")
    return writing_mappings(path)


def _confirm(mapping: Path) -> None:
    from sm_ops.core.errors import InputError

    _say(f"{mapping} will hold every masked value as plain text: whoever reads it undoes the masking, and nothing can")
    _say(f"take that back. The vault keeps mappings encrypted. To go on, type: {_CONFIRMATION}")
    if sys.stdin.readline().strip() != _CONFIRMATION:
        raise InputError("not-confirmed", "The words were not typed; nothing was written.")


def _made_once(out: Path, make: Callable[[Path], dict[str, Any]], seed: int, scale: int) -> dict[str, Any]:
    """Make a folder that is new, or find that it is the same already; any other is refused."""
    from sm_ops.core.errors import InputError
    from sm_ops.core.fs import content_hash, read_json

    refusal = InputError("folder-there", f"{out} holds something else; choose another --out, or empty it yourself.")
    filled = out.exists() and (not out.is_dir() or any(out.iterdir()))
    if filled:
        try:
            there = read_json(out / "manifest.json")
            same = (there["seed"], there["scale"]) == (seed, scale)
        except (OSError, ValueError, KeyError, TypeError):
            same = False
        if not same:
            raise refusal
    out.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=out.parent, prefix=f".{out.name}-") as temporary:
        made = Path(temporary) / "made"
        made.mkdir()
        manifest = make(made)
        if not filled:
            made.replace(out)
        elif content_hash(made) != content_hash(out):
            raise refusal
    return manifest


# ---- what is said --------------------------------------------------------------------------------------


def _say(line: str) -> None:
    print(line, file=sys.stderr)


@contextmanager
def _told(what: str, total: int) -> Iterator[Callable[[int], None]]:
    """Progress in some two hundred steps, for a bar costs more than a record."""
    from sm_ops.core.display import counting

    step = max(1, total // 200)
    with counting(what) as progress:
        yield lambda done: progress(done, total) if done % step == 0 or done == total else None


def _counts(by_type: Mapping[str, int]) -> str:
    from sm_ops.pii.types import PRIORITY

    order = sorted(by_type, key=lambda name: (PRIORITY.get(name, len(PRIORITY)), name))
    return ", ".join(f"{name} {by_type[name]:,}" for name in order) or "none"


def _shares(result: dict[str, Any]) -> dict[str, tuple[int, int]]:
    """The rates that are shares of documents, which are independent of each other, as hits and documents."""
    total = result["documents"]["total"]
    return {
        "documents.leak_rate": (result["documents"]["leaked"], total),
        "parse.success_rate": (result["parse"]["success"], total),
        "tokenization.deterministic_rate": (result["tokenization"]["deterministic"], total),
        "tokenization.round_trip_rate": (result["tokenization"]["round_trip"], total),
    }


def _evaluation(result: dict[str, Any], notes: Sequence[str]) -> Iterator[str]:
    from sm_ops.report.words import DASH, count, decimal, interval, percent, text_table

    def scores(name: str, each: dict[str, Any]) -> list[str]:
        tp, fp, fn = each["tp"], each["fp"], each["fn"]
        rates = (each["precision"], tp + fp), (each["recall"], tp + fn), (each["f1"], tp + fp + fn)
        return [name, count(tp), count(fp), count(fn), *(decimal(rate) if whole else DASH for rate, whole in rates)]

    by_type = {**result["per_type"], "all": result["entity"]}
    yield from text_table(
        ["type", "TP", "FP", "FN", "precision", "recall", "F1"], [scores(name, each) for name, each in by_type.items()]
    )
    entities = result["entities"]
    ratios = {
        "entities.leak_rate": (entities["leaked"], entities["gold"]),
        "entities.over_redaction_rate": (result["entity"]["fp"], entities["predicted"]),
        "entities.hallucination_rate": (entities["hallucinated"], entities["rows"]),
    }
    rows = [
        [name, count(k), count(n), interval({"k": k, "n": n, "low": low, "high": high})]
        for name, (k, n) in _shares(result).items()
        for low, high in [result["intervals"][name]]
    ]
    rows += [[name, count(k), count(n), percent(k / n) if n else DASH] for name, (k, n) in ratios.items()]
    yield ""
    yield from text_table(["rate", "k", "n", "rate [95 % of documents]"], sorted(rows))
    yield ""
    yield from (f"- {note}" for note in notes)
