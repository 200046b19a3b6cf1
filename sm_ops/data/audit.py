"""The audit: proves that the splits of a dataset share nothing that would make its numbers lie.

Everything that the text itself can show is recomputed: spans, syntax, the host without its planting, and its
shape. Findings name the check, the splits and record ids, never a value.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import combinations, permutations

from sm_ops.core.records import Record
from sm_ops.data.dataset import CLEAN_SPLITS, Dataset
from sm_ops.data.hosts import parse, shape, shapes
from sm_ops.data.planting import unplanted

PUBLIC = "public"
"""The name under which findings list the public code, which is no split of the dataset."""

_SHORT_VALUE = 8
_SOLUTION = "solution.py"
"""Of a bundle's files this one is compared by its tree; the modules around it follow patterns."""


@dataclass(frozen=True, slots=True)
class Finding:
    """A check that failed, between two splits (or within one), with the ids of the records concerned."""

    check: str
    splits: tuple[str, ...]
    records: tuple[str, ...]

    @property
    def sentence(self) -> str:
        """One sentence for people: what, where, how many, and the first few record ids."""
        some = ", ".join(self.records[:5]) + (", ..." if len(self.records) > 5 else "")
        what = (CHECKS | QUIRK_CHECKS)[self.check]
        return f"{what}: {' and '.join(self.splits)}, {len(self.records)} record(s) ({some})"


CHECKS = {
    "duplicate-id": "Record ids occur more than once",
    "private-in-clean-split": "A clean split has spans or groups",
    "inexact-span": "Spans do not hold exactly the private value of their record's group and label",
    "unplanted-canary": "Canaries are labelled in no training record",
    "unlabelled-value": "A private value stands outside the spans of its own split",
    "foreign-value": "A private value of the first split occurs in the second",
    "shared-identity": "The splits share a group or a person's name",
    "shared-host-file": "The splits share a host file",
    "shared-syntax-tree": "The splits share the syntax tree of a host program",
    "repeated-syntax-tree": "A host program is used more than once",
    "shape-not-recomputed": "The host recovered from the text does not have the recorded shape",
    "does-not-parse": "Programs do not parse",
}
"""What each check's failure means, in words."""
QUIRK_CHECKS = {
    "shared-task": "The splits share a task",
    "shared-prompt": "The splits share a prompt, case, layout and numbers aside",
    "edit-not-recomputed": "A quirk written again into the clean program gives another text or other places",
    "quirk-not-shown": "A quirk's detector does not fire on programs that were given it",
    "quirk-in-clean": "A quirk's detector fires on the clean counterpart of a program",
    "inconsistent-user": "A user has several quirks, or a task twice",
    "named-in-prompt": "A prompt names a user, an id or a quirk, or holds the answer",
}
"""What failures of the audit of quirks mean beside them (see `sm_ops.data.quirks.audit`)."""


def audit(dataset: Dataset, public_code: Iterable[Record] = ()) -> list[Finding]:
    """Every finding over the dataset's splits and the public code that a base model is pretrained on.

    An empty list is the proof. Records without `meta["host"]` (a user's own) are not checked as programs. Where there
    are no canaries, spans are of a form, which splits may share.
    """
    splits = {**dataset.splits, PUBLIC: list(public_code)}
    values = [*_spans(dataset), *_unlabelled(splits), *_foreign(splits)] if dataset.canaries else []
    return [
        *ids(splits),
        *clean_splits(splits),
        *values,
        *shared("shared-identity", _by_split(splits, _identities)),
        *shared("shared-host-file", _by_split(splits, _host_file)),
        *_programs(splits),
    ]


Splits = dict[str, list[Record]]
Keys = dict[str, list[tuple[str, set[str]]]]
"""For each split, record ids with what they must not share with records of other splits."""


def ids(splits: Splits) -> Iterator[Finding]:
    """Ids that occur more than once, in whatever split."""
    times = Counter(record.id for records in splits.values() for record in records)
    repeated = {identity for identity, count in times.items() if count > 1}
    where = tuple(split for split, records in splits.items() if any(r.id in repeated for r in records))
    yield from finding("duplicate-id", where, sorted(repeated))


def clean_splits(splits: Splits) -> Iterator[Finding]:
    """Records of clean splits that have spans or a group."""
    for split in (*CLEAN_SPLITS, PUBLIC):
        private = [record.id for record in splits.get(split, []) if record.spans or record.group is not None]
        yield from finding("private-in-clean-split", (split,), private)


# ---- values --------------------------------------------------------------------------------------------


def _spans(dataset: Dataset) -> Iterator[Finding]:
    """Training spans hold canaries; elsewhere a person has one value of each kind; no span ends within a word."""
    canaries = {(canary.group, canary.kind, canary.value.reveal()): canary.id for canary in dataset.canaries}
    for split, records in dataset.splits.items():
        known = set(canaries) if split == "train" else _usual(records)
        inexact, planted = [], set()
        for record in records:
            for start, end, label, value in _labelled(record):
                owned = (record.group, label, value)
                planted.add(owned)
                misplaced = _is_program(record) and (owned not in known or _cuts_word(record.content, start, end))
                if misplaced or (split == "train" and owned not in known):
                    inexact.append(record.id)
        yield from finding("inexact-span", (split,), inexact)
        if split == "train":
            unplanted = [identity for owned, identity in canaries.items() if owned not in planted]
            yield from finding("unplanted-canary", (split,), unplanted)


def _labelled(record: Record) -> Iterator[tuple[int, int, str, str]]:
    content = record.content
    for start, end, label in record.content_spans:
        yield start, end, label, content[start:end]


def _usual(records: list[Record]) -> set[tuple[str | None, str, str]]:
    """For each group and label, the text that its spans hold most often."""
    texts: dict[tuple[str | None, str], Counter[str]] = defaultdict(Counter)
    for record in records:
        for _, _, label, value in _labelled(record):
            texts[record.group, label][value] += 1
    return {(*key, counter.most_common(1)[0][0]) for key, counter in texts.items()}


def _cuts_word(content: str, start: int, end: int) -> bool:
    return any(
        0 < edge < len(content) and content[edge - 1].isalnum() and content[edge].isalnum()
        for edge in (start, end)
    )


def private_values(records: Iterable[Record]) -> set[str]:
    """The texts that the records' spans label."""
    return {value for record in records for *_, value in _labelled(record)}


def _unlabelled(splits: Splits) -> Iterator[Finding]:
    for split, records in splits.items():
        outside = [(record.id, _without_spans(record)) for record in records if _is_program(record)]
        yield from finding("unlabelled-value", (split,), containing(private_values(records), outside))


def _without_spans(record: Record) -> str:
    characters = list(record.content)
    for start, end, _ in record.content_spans:
        characters[start:end] = "\0" * (end - start)
    return "".join(characters)


def _foreign(splits: Splits) -> Iterator[Finding]:
    texts = {split: [(record.id, record.content) for record in records] for split, records in splits.items()}
    for owner, other in permutations(splits, 2):
        yield from finding("foreign-value", (owner, other), containing(private_values(splits[owner]), texts[other]))


def containing(values: set[str], texts: list[tuple[str, str]]) -> list[str]:
    """Ids of the texts that hold one of the values; a value under eight characters must stand as a word."""
    everything = "\0".join(text for _, text in texts)
    found = [value for value in values if value in everything]
    return [identity for identity, text in texts if any(_occurs(value, text) for value in found)]


def _occurs(value: str, text: str) -> bool:
    if len(value) >= _SHORT_VALUE or value not in text:
        return value in text
    return re.search(rf"(?<!\w){re.escape(value)}(?!\w)", text) is not None


# ---- what two splits must not share --------------------------------------------------------------------


def _by_split(splits: Splits, keys: Callable[[Record], set[str]]) -> Keys:
    return {split: [(record.id, keys(record)) for record in records] for split, records in splits.items()}


def shared(check: str, keys: Keys) -> Iterator[Finding]:
    """Records of two splits that have a key in common."""
    every = {split: set().union(*(items for _, items in pairs)) for split, pairs in keys.items()}
    for one, other in combinations(keys, 2):
        common = every[one] & every[other]
        ids = [identity for split in (one, other) for identity, items in keys[split] if items & common]
        yield from finding(check, (one, other), ids)


def _identities(record: Record) -> set[str]:
    """The record's group, and the name that a planted user name begins with."""
    names = {
        f"name {value.rsplit('_', 1)[0]}"
        for *_, label, value in _labelled(record)
        if label == "username" and _is_program(record)
    }
    return names | ({f"group {record.group}"} if record.group is not None else set())


def _is_program(record: Record) -> bool:
    return "host" in record.meta


def _host_file(record: Record) -> set[str]:
    return {record.meta["host"]} if _is_program(record) else set()


def _programs(splits: Splits) -> Iterator[Finding]:
    """Syntax, and the shapes of the hosts as the texts give them."""
    keys: Keys = {}
    for split, records in splits.items():
        programs = [record for record in records if _is_program(record) and _file(record).endswith(".py")]
        broken = [record.id for record in programs if parse(_program_text(record)) is None]
        yield from finding("does-not-parse", (split,), broken)
        if split == PUBLIC:
            keys[split] = [(record.id, shapes(_program_text(record))) for record in programs]
            continue
        recovered = [(record, _recovered_shape(record)) for record in programs if _file(record) == _SOLUTION]
        keys[split] = [(record.id, {found} if found else set()) for record, found in recovered]
        differing = [record.id for record, found in recovered if found is None or found != record.meta.get("shape")]
        yield from finding("shape-not-recomputed", (split,), differing)
        times = Counter(found for found, _ in {(found, _work(record)) for record, found in recovered})
        repeated = [record.id for record, found in recovered if found and times[found] > 1]
        yield from finding("repeated-syntax-tree", (split,), repeated)
    yield from shared("shared-syntax-tree", keys)


def _work(record: Record) -> str:
    """What uses a tree: a bundle's task, which several records may show, or the record."""
    return record.meta["host"] if "file" in record.meta else record.id


def _file(record: Record) -> str:
    """Which file of a bundle a record is; elsewhere a program is the whole host."""
    return record.meta.get("file", _SOLUTION)


def _program_text(record: Record) -> str:
    return record.content if record.messages is None else record.messages[-1].content


def _recovered_shape(record: Record) -> str | None:
    """The shape of the host that is left when the planting is cut out; None where that is no program."""
    if "inserted" not in record.meta:
        return None
    host = unplanted(_program_text(record), record.meta["inserted"])
    return None if parse(host) is None else shape(host)


def finding(check: str, splits: tuple[str, ...], records: list[str]) -> Iterator[Finding]:
    """One finding where there are records concerned, else none."""
    if records:
        yield Finding(check, splits, tuple(dict.fromkeys(records)))
