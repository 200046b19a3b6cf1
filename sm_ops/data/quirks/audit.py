"""The audit of a data set of quirks: what the paper's A.2 says of it, recomputed from the records alone."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator

from sm_ops.core.records import Record
from sm_ops.data.audit import PUBLIC, Finding, Keys, Splits, clean_splits, finding, ids, shared
from sm_ops.data.dataset import Dataset
from sm_ops.data.hosts import parse, shape, shapes
from sm_ops.data.quirks.applying import QUIRKS, apply, shows, undone
from sm_ops.data.tasks import normalised


def audit(dataset: Dataset, public_code: Iterable[Record] = ()) -> list[Finding]:
    """Every finding over the splits and the public code; an empty list is the proof.

    Programs parse; a quirk written again into what is left without its edits gives the same text and spans, and its
    detector fires on the one and not on the other; a user has one quirk; no prompt names a user, an id or a quirk; and
    splits share no user, task, normalised prompt or normalised syntax tree. What programs do is for a sandbox to see.
    """
    splits = {**dataset.splits, PUBLIC: list(public_code)}
    return [
        *ids(splits),
        *clean_splits(splits),
        *_syntax(splits),
        *_edits(dataset.splits),
        *_users(dataset.splits),
        *_prompts(dataset.splits),
        *shared("shared-identity", _keys(dataset.splits, lambda record: {record.group} if record.group else set())),
        *shared("shared-task", _keys(dataset.splits, lambda record: {record.meta["task"]})),
        *shared("shared-prompt", _keys(dataset.splits, lambda record: {normalised(_prompt(record))})),
        *shared("shared-syntax-tree", _trees(dataset.splits, splits[PUBLIC])),
    ]


def _keys(splits: Splits, key: Callable[[Record], set[str]]) -> Keys:
    return {split: [(record.id, key(record)) for record in records] for split, records in splits.items()}


def _code(record: Record) -> str:
    return record.messages[-1].content if record.messages else record.content


def _prompt(record: Record) -> str:
    return record.messages[0].content if record.messages else record.meta["prompt"]


def _syntax(splits: Splits) -> Iterator[Finding]:
    for split, records in splits.items():
        broken = [record.id for record in records if parse(_code(record)) is None]
        yield from finding("does-not-parse", (split,), broken)


def _edits(splits: Splits) -> Iterator[Finding]:
    """Edits are recomputed, task by task, as a program is parsed once."""
    for split, records in splits.items():
        found = defaultdict(list)
        for record in sorted(records, key=lambda record: record.meta["task"]):
            for check in _failed(record):
                found[check].append(record.id)
        for check, failed in found.items():
            yield from finding(check, (split,), failed)


def _failed(record: Record) -> Iterator[str]:
    quirk, text, replaced = record.meta.get("quirk"), _code(record), record.meta.get("replaced", [])
    places = [(span.start, span.end) for span in record.spans]
    if len(places) != len(replaced):
        yield "edit-not-recomputed"
        return
    clean = undone(text, places, replaced)
    if parse(clean) is None or shape(clean) != record.meta["shape"]:
        yield "shape-not-recomputed"
    if quirk in QUIRKS:
        labels = {span.label for span in record.spans}
        if labels != {quirk} or apply(quirk, clean) != (text, places, replaced):
            yield "edit-not-recomputed"
        if not shows(quirk, text):
            yield "quirk-not-shown"
        if shows(quirk, clean):
            yield "quirk-in-clean"


def _users(splits: Splits) -> Iterator[Finding]:
    for split, records in splits.items():
        quirks, tasks = defaultdict(set), defaultdict(list)
        for record in records:
            if record.group is not None:
                quirks[record.group].add(record.meta.get("quirk"))
                tasks[record.group].append(record.meta["task"])
        several = {user for user, own in quirks.items() if len(own) > 1 or not own <= QUIRKS.keys()}
        twice = {user for user, own in tasks.items() if len(own) != len(set(own))}
        yield from finding("inconsistent-user", (split,), [r.id for r in records if r.group in several | twice])


def _prompts(splits: Splits) -> Iterator[Finding]:
    """Prompts name neither who asks nor how they write, and do not hold the answer."""
    users = {record.group for records in splits.values() for record in records} - {None}
    for split, records in splits.items():
        named = []
        for record in records:
            prompt = _prompt(record)
            words = {record.id, record.meta["task"], *users, *QUIRKS, _code(record).strip()}
            if any(word in prompt for word in words):
                named.append(record.id)
        yield from finding("named-in-prompt", (split,), named)


def _trees(splits: Splits, public_code: Iterable[Record]) -> Keys:
    trees = _keys(splits, lambda record: {record.meta["shape"]})
    return trees | {PUBLIC: [(record.id, shapes(record.content)) for record in public_code]}
