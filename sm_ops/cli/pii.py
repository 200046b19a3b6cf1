"""Personal data: masked reversibly, restored, judged, generated, removed for good."""

from __future__ import annotations

import json
import shlex
import sys
import tempfile
from array import array
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import typer

from sm_ops.cli.options import Json

app = typer.Typer(help="Mask personal data reversibly, restore it, judge extractors.", rich_markup_mode=None)

_CONFIRMATION = "the mapping is the secret"

File = Annotated[Path, typer.Argument(help="Records, JSONL or Parquet, or plain text (.txt).", metavar="FILE")]
Out = Annotated[Path, typer.Option("--out", help="File to write, of the same kind as FILE.")]
PredictionsOption = Annotated[
    list[Path] | None, typer.Option("--predictions", help="An extractor's rows {id, prediction, parse_success}.")
]
AllowMissing = Annotated[
    bool, typer.Option("--allow-missing", help="Let records without a row in --predictions pass; they are counted.")
]
Known = Annotated[
    list[str] | None,
    typer.Option("--known-values", help="vault:NAME, or a file with rows TYPE<TAB>VALUE.", metavar="FROM"),
]
DetectorName = Annotated[list[str] | None, typer.Option("--detector", help="A detector; see sm-ops ls detectors.")]
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
    allow_missing: AllowMissing = False,
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
    from sm_ops.pii.corpus import Masking, finish_killed, mask_file, published

    if vault is not None and mapping is not None:
        raise InputError("two-places", "--vault and --mapping are two places for the mappings; choose one.")
    others = [*(predictions or ()), *(known_values or ())]
    _check_places(file, out, *others, mapping)
    store = _mapping_store(mapping, file, others) if mapping else _vault_store(vault, out)
    sources, total = _sources(
        file, predictions, allow_missing, known_values, detector, labels, label, keep, any_label=False
    )
    masking = Masking(sources.finders, sources.known, keep or ())
    if mapping and not understood:
        _confirm(mapping)
    if finish_killed(out, store.read):
        _say(f"an earlier run was killed at its end: what it left of {out} is put in its place, and then replaced")
        replace = True
    with (
        _told("records masked", total) as progress,
        published(out, store.write(replace)) as (unfinished, sink),
    ):
        mask_file(file, unfinished, masking, sink, progress)
    _print_result(out)
    _say(
        f"masked by {sources.said}: {_number(masking.spans, 'place')} in {masking.masked:,} of "
        f"{_number(masking.records, 'record')}"
    )
    _say(f"tokens: {_counts(masking.tokens)}; their spellings are in {store.said}")
    if masking.left_over:
        left_over = _number(masking.left_over, "stretch", "stretches")
        _say(f"left over of labelled places by all candidates, and masked as they stand: {left_over}")
    sources.warn()
    _say_next("restore", out, *store.option, "--out", out.with_name(f"restored{out.suffix}"))


@app.command(
    epilog="Examples: sm-ops pii restore masked.jsonl --vault masked --out restored.jsonl | "
    "sm-ops pii restore masked.txt --mapping mapping.jsonl --out restored.txt"
)
def restore(
    file: File,
    out: Out,
    vault: VaultName = None,
    mapping: Annotated[Path | None, typer.Option(help="The file that mask --mapping wrote.")] = None,
    edited: Annotated[
        bool, typer.Option("--edited", help="The texts were changed on purpose after they were masked.")
    ] = False,
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
    mappings = MappingFile(mapping) if mapping is not None else Vault().mappings(vault or "")
    total = survey(file, check_texts, distinct=False)
    if file.suffix == ".txt" and total != len(mappings):
        hint = f"{file} has {total} paragraphs, its mappings are of {len(mappings)}; plain text is restored whole."
        raise InputError("other-paragraphs", hint)
    with _told("records restored", total) as progress, whole(out) as unfinished:
        counts = restore_file(file, unfinished, mappings, edited, progress)
    _print_result(out)
    restored, records = _number(counts.restored, "token"), _number(counts.records, "record")
    _say(f"restored, to the NFC form of the text: {restored} in {records}")
    if counts.changed:
        _say(f"changed after masking, or masked with other mappings: {_number(counts.changed, 'record')}")
    if counts.unchecked:
        unchecked = _number(counts.unchecked, "record")
        _say(f"not checked, for older mappings do not tell which text they were made for: {unchecked}")
    if counts.unknown:
        _say(f"without a spelling in the mapping, so left (markers of the source?): {_number(counts.unknown, 'token')}")
    if counts.absent:
        _say(f"in the mappings and no longer in the texts: {_number(counts.absent, 'token')}")
    _say(f"{out} holds personal data again; it is for its owner alone (mode 0600)")
    last = f"rm {shlex.quote(str(mapping))}" if mapping else f"sm-ops vault shred {vault}"
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
    _say_next("mask", records, "--predictions", predictions, "--out", f"masked{records.suffix}")


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
    _say_next("mask", out / "test.jsonl", "--out", "masked.jsonl")


@app.command(
    epilog="Examples: sm-ops pii scrub notes.jsonl --out scrubbed.jsonl | "
    "sm-ops pii scrub notes.txt --detector regex --out scrubbed.txt"
)
def scrub(
    file: File,
    out: Out,
    predictions: PredictionsOption = None,
    allow_missing: AllowMissing = False,
    known_values: Known = None,
    detector: DetectorName = None,
    labels: OwnLabels = False,
    label: LabelNames = None,
    keep: Keep = None,
) -> None:
    """Replace values by [TYPE] for good: no number, no mapping, no way back."""
    from sm_ops.pii.files import whole
    from sm_ops.pii.scrub import Scrubbing, scrub_file

    _check_places(file, out, *(predictions or ()), *(known_values or ()))
    sources, total = _sources(
        file, predictions, allow_missing, known_values, detector, labels, label, keep, any_label=True
    )
    scrubbing = Scrubbing(sources.finders, sources.known, keep or ())
    with _told("records scrubbed", total) as progress, whole(out) as unfinished:
        scrub_file(file, unfinished, scrubbing, progress)
    _print_result(out)
    _say(f"scrubbed by {sources.said}: {_counts(scrubbing.removed)} in {_number(scrubbing.records, 'record')}")
    sources.warn()
    _say(f"next: read some of {out}: what no source named is still there")


# ---- what is masked ------------------------------------------------------------------------------------


@dataclass
class _Sources:
    """What names the values, and how it is told."""

    finders: list[Any]
    known: Any
    said: str
    predictions: list[Any]
    missing: int
    unseen: set[str]

    def warn(self) -> None:
        """Say what predictions left open, and which keys to keep were in no record."""
        for given in self.predictions:
            _say(f"{given.path}: {given.used:,} of {len(given):,} predictions belong to a record of the file")
            if given.nowhere:
                _say(f"{given.path}: {given.nowhere:,} of {given.rows:,} predicted rows stand nowhere in their record")
        if self.missing:
            _say(f"without a prediction, and masked by what else was named alone: {_number(self.missing, 'record')}")
        if self.unseen:
            _say(f"named by --keep, and in no record: {', '.join(sorted(self.unseen))}")


def _sources(
    file: Path,
    predictions: list[Path] | None,
    allow_missing: bool,
    known_values: list[str] | None,
    detectors: list[str] | None,
    labels: bool,
    label: list[str] | None,
    keep: list[str] | None,
    any_label: bool,
) -> tuple[_Sources, int]:
    """The sources that were named, else the records' own labels; and the number of records, each looked at once."""
    from sm_ops.core import registry
    from sm_ops.core.errors import InputError
    from sm_ops.pii.corpus import document, survey
    from sm_ops.pii.files import Row
    from sm_ops.pii.finders import Detections, Labels, Predictions, known_values_of

    own = Labels(_label_names(label), any_label)
    only_own = not (predictions or known_values or detectors)
    labelled = labels or only_own
    if label and not labelled:
        raise InputError("no-labels", "--label speaks of the records' own labels; add --labels to use them too.")
    found = [Predictions(path) for path in predictions or ()]
    without = array("Q")
    unseen = set(keep or ())

    def look(row: Row) -> None:
        own.look(row) if labelled else document(row)
        unseen.difference_update(row.value)
        if found and not sum(each.look(row) for each in found):
            without.append(row.number)

    total = survey(file, look)
    if labelled and not own.count:
        hint = f"{file} has no labels; name what to look for with --predictions, --known-values or --detector."
        raise InputError("no-labels", hint)
    for each in found:
        if not each.used:
            raise InputError("no-predictions", f"{each.path} has a row for no record of {file}; is it the right file?")
    if without and not allow_missing:
        hint = f"{file} has {len(without):,} of {_number(total, 'record')} without a prediction, the first is record "
        hint += f"{without[0]}; predict them too, or let them pass with --allow-missing."
        raise InputError("missing-predictions", hint)
    finders = [own] if labelled else []
    finders += found
    finders += [Detections(registry.load("detector", name).load({})) for name in detectors or ()]
    known = known_values_of(known_values) if known_values else None
    said = [
        *(["the records' own labels"] if labelled else []),
        *map(str, predictions or ()),
        *(f"the detector {name}" for name in detectors or ()),
        *(known_values or ()),
    ]
    return _Sources(finders, known, ", ".join(said), found, len(without), unseen), total


def _label_names(given: list[str] | None) -> dict[str, str | None]:
    from sm_ops.core.errors import InputError
    from sm_ops.pii.types import TYPES

    names: dict[str, str | None] = {}
    for each in given or []:
        name, sign, type_ = each.rpartition("=")
        if not (name and sign) or type_ not in (*TYPES, "-"):
            raise InputError("label", f"--label {each}: write LABEL=TYPE with one of {', '.join(TYPES)}, or LABEL=-.")
        own = None if type_ == "-" else type_
        if names.setdefault(name, own) != own:
            raise InputError("label", f"--label {name} is given twice, for different types; keep one of them.")
    return names


# ---- where it goes -------------------------------------------------------------------------------------


def _check_places(file: Path, out: Path, *others: Path | str | None) -> None:
    """Refuse, before work begins, an output of another kind, at a place of an input, or that cannot be written."""
    from sm_ops.core.errors import InputError
    from sm_ops.core.fs import check_outputs
    from sm_ops.pii.files import SUFFIXES
    from sm_ops.pii.mapping_file import is_mapping_file

    if file.suffix not in SUFFIXES:
        hint = f"{file}: the name of a file that is read here ends in {', '.join(SUFFIXES)}."
        raise InputError("suffix", hint)
    check_outputs([out], [file, *(Path(each) for each in others if each)], (file.suffix,))
    if is_mapping_file(out):
        hint = f"{out} holds mappings, perhaps the only way back from what was masked with them; choose another --out."
        raise InputError("output-is-mapping", hint)


class _Store(NamedTuple):
    """Where mappings go: how it is opened to read, and (whether what is there may be replaced) to write."""

    said: str
    option: tuple[str, str]
    read: Callable[[], AbstractContextManager[Any]]
    write: Callable[[bool], AbstractContextManager[Any]]


def _dataset_name(out: Path) -> str:
    from sm_ops.core.errors import InputError
    from sm_ops.vault import is_name

    if not is_name(out.stem):
        raise InputError("vault-name", f"{out} gives its mappings no name for the vault; name them with --vault NAME.")
    return out.stem


def _vault_store(name: str | None, out: Path) -> _Store:
    from sm_ops.vault import Vault

    name = _dataset_name(out) if name is None else name
    vault = Vault()
    vault.names()  # refuses where there is no vault, before work begins
    return _Store(
        f"dataset {name!r} of the vault",
        ("--vault", name),
        lambda: vault.mappings(name),
        lambda replace: vault.writer(name, replace=replace),
    )


def _mapping_store(path: Path, file: Path, others: Sequence[Path | str]) -> _Store:
    from sm_ops.core.fs import check_outputs
    from sm_ops.pii.mapping_file import MappingFile, writing_mappings

    check_outputs([path], [file, *map(Path, others)], (".jsonl",), option="--mapping")
    return _Store(
        str(path),
        ("--mapping", str(path)),
        lambda: MappingFile(path),
        lambda replace: writing_mappings(path, replace),
    )


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


def _say_next(command: str, *words: Path | str) -> None:
    _say(f"next: sm-ops pii {command} {shlex.join(map(str, words))}")


def _print_result(out: Path) -> None:
    """Print where the result is; a failure to do so does not undo it, and says so."""
    from sm_ops.core.errors import InputError

    try:
        print(out, flush=True)
    except BrokenPipeError:
        raise
    except OSError:
        with suppress(OSError):
            sys.stdout.close()
        hint = f"{out} is written, whole, and need not be made again; but standard output took no line that says so."
        raise InputError("output", hint) from None


def _number(count: int, one: str, many: str = "") -> str:
    return f"{count:,} {one if count == 1 else many or one + 's'}"


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
