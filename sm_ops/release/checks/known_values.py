"""No known value stands anywhere in the release: not in a shard, not in any other file, in none of its forms.

Known are all values of the vault, those of restricted outputs such as canaries, and what stands in the annotated spans
of the sources. The forms, and what is too short to be told from chance, are those of `sm_ops.leaks`. Token ids are
decoded first. The files are read as streams; memory grows with the number of distinct values.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from sm_ops.core import fs
from sm_ops.core.errors import InputError
from sm_ops.core.settings import Settings
from sm_ops.leaks import Leaks, find_leaks
from sm_ops.pii.files import Row, lines, rows
from sm_ops.release.checking import NO_SOURCES, Bundle, Origin, Outcome, count, listed
from sm_ops.release.checks._rows import annotated_values, holds_tokens, released, token_ids, told
from sm_ops.release.folder import CARD, CHECKS, DATA, DECISION, REPORT, Release
from sm_ops.vault import Vault

if TYPE_CHECKING:
    from tokenizers import Tokenizer

SEARCHES_RENDERED = True


def run(bundle: Bundle, settings: Settings) -> Outcome:
    """Search every file of the bundle, and what `check` is about to write."""
    if bundle.origin is None:
        return NO_SOURCES
    try:
        values = set(known_values(bundle.release, bundle.origin, settings.vault))
        if not values:
            return Outcome("unmeasured", "No known values: neither vault nor sources hold any.", {"values": 0})
        with _scratch(bundle.release) as name:
            scratch = Path(name)
            _decode(bundle, settings.tokenizer, scratch)
            for path, data in bundle.rendered.items():
                fs.write_atomic(scratch / path, data)
            signed = (bundle.folder / DECISION).is_file()  # then what is there may stay
            old = [] if signed else [bundle.folder / path for path in (CHECKS, CARD, REPORT)]
            leaks = find_leaks([bundle.folder, scratch], values, old, bundle.progress)
            return _outcome(bundle, leaks, scratch)
    except InputError as error:
        return Outcome("unmeasured", f"{told(bundle, error)}.")


def stands_in(release: Release, text: str) -> bool:
    """Whether a known value stands in a text that is about to become part of a release; False where none is known."""
    origin = Origin.load(release)
    if origin is None:
        return False
    with _scratch(release) as name:
        path = Path(name) / "text"
        path.write_text(text, encoding="utf-8")
        return bool(find_leaks([path], known_values(release, origin, "all")))


def known_values(release: Release, origin: Origin, vault: str) -> Iterator[str]:
    """All values that may stand nowhere, some of them more than once.

    Raises `InputError` where the vault or a file of values cannot be read.
    """
    yield from _vault_values(release.home, origin, vault)
    sources = set(origin.sources.values())
    for path in {*origin.values, *sources}:
        if path in sources or path.suffix in (".jsonl", ".parquet"):
            for row in rows(path):
                yield from _row_values(row)
        else:
            yield from _line_values(path)


def _row_values(row: Row) -> Iterator[str]:
    """The `value` of a canary or of a listed value, else what is annotated in a record."""
    if isinstance(row.value.get("value"), str):
        yield row.value["value"]
    else:
        yield from annotated_values(row)


def _line_values(path: Path) -> Iterator[str]:
    """Of a file that is no file of records: rows TYPE<TAB>VALUE, or a value a line."""
    for _, _, line in lines(path, marked=True):
        if value := line.rstrip("\r\n").rpartition("\t")[2].strip():
            yield value


def _vault_values(home: Path, origin: Origin, which: str) -> Iterator[str]:
    vault = Vault(home / "vault")
    if which == "all" and vault.exists():
        names = vault.names()
    else:
        names = origin.datasets
    for name in names:
        for _, value in vault.values(name):
            yield value


def _scratch(release: Release) -> tempfile.TemporaryDirectory[str]:
    """A folder for what may hold values."""
    return tempfile.TemporaryDirectory(dir=fs.private_folder(release.home / "restricted"), prefix=".check-")


def _decode(bundle: Bundle, tokenizer: str | None, folder: Path) -> None:
    """Write the text of each token shard below `folder`, a list of ids a line."""
    shards = [shard for shard in bundle.shards if holds_tokens(bundle, shard)]
    if not shards:
        return
    decode = _tokenizer(tokenizer, shards[0])
    for shard in shards:
        path = folder / DATA / f"{shard} (decoded)"
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("w", encoding="utf-8", errors="replace") as out:
            for row in released(bundle, shard):
                for ids in token_ids(row.value).values():
                    out.write(decode.decode([each for each in ids if each >= 0], skip_special_tokens=False) + "\n")


def _tokenizer(given: str | None, shard: str) -> Tokenizer:
    from tokenizers import Tokenizer

    if given is None:
        raise InputError("no-tokenizer", f"{DATA}/{shard} holds token ids; name their tokenizer in the policy.")
    path = Path(given) / "tokenizer.json" if Path(given).is_dir() else Path(given)
    try:
        return Tokenizer.from_file(str(path))
    except Exception:  # the library raises plain ones
        raise InputError("no-tokenizer", "The tokenizer that the policy names cannot be read.") from None


def _outcome(bundle: Bundle, leaks: Leaks, scratch: Path) -> Outcome:
    places = sorted({_relative(finding.place, bundle.folder, scratch) for finding in leaks.findings})
    forms = sorted({finding.form for finding in leaks.findings})
    occurrences = sum(finding.occurrences for finding in leaks.findings)
    measured = {
        "values": leaks.searched + leaks.not_searchable,
        "searched": leaks.searched,
        "as_words": leaks.as_words,
        "by_head": leaks.cut,
        "too_short": leaks.not_searchable,
        "occurrences": occurrences,
        "files_with_values": len(places),
        "files_unread": len(leaks.unread),
    }
    looked = f"{count(leaks.searched, 'known value')} searched ({leaks.as_words:,} of them as whole words alone)"
    looked += f"; {leaks.not_searchable:,} too short to be told from chance, so not searched"
    if places:
        told_places = f"Known values stand in {listed(places)}: {count(occurrences, 'occurrence')} ({', '.join(forms)})"
        return Outcome("fail", f"{told_places}; {looked}.", measured)
    if leaks.unread:
        unread = sorted(_relative(place, bundle.folder, scratch) for place in leaks.unread)
        return Outcome("unmeasured", f"Not all can be looked into: {listed(unread)}; {looked}.", measured)
    if not leaks.searched:
        return Outcome("unmeasured", f"Nothing could be looked for: {looked}.", measured)
    return Outcome("pass", f"No known value stands in any file; {looked}.", measured)


def _relative(place: str, *roots: Path) -> str:
    """A place as the bundle names it."""
    for root in roots:
        if Path(place).is_relative_to(root.absolute()):
            return Path(place).relative_to(root.absolute()).as_posix()
    return Path(place).name
