"""Code PII: made-up private values of known people, planted into real programs, with clean programs beside them.

Paper, section A.1. Settings: `hosts`, `min_chars`, `max_chars`; `identities`, `repetitions`, `clean` (training),
`calibration_identities`, `calibration_repetitions`, `calibration_clean`; `utility`, `reference` (clean programs
alone); `values_per_program` (of one person's, in one program); `form` (`text` or `chat`).
"""

from __future__ import annotations

import ast
from dataclasses import dataclass
from random import Random
from typing import Any

from sm_ops.core.errors import InputError
from sm_ops.core.records import Message, Record, Span
from sm_ops.core.sensitive import Sensitive
from sm_ops.data.dataset import SPLITS, Canary, Dataset
from sm_ops.data.hosts import Host, find_hosts, only_function, shapes, source_files
from sm_ops.data.identities import KINDS, SLOTS, Identity, identities, ordinary_value
from sm_ops.data.partition import claim_order, partition
from sm_ops.data.planting import PLACES, plant

READS = (
    "identities", "repetitions", "values_per_program", "clean", "calibration_identities", "calibration_repetitions",
    "calibration_clean", "utility", "reference", "form", "min_chars", "max_chars",
)  # fmt: skip
LONG_MODULE = 40_000
"""Modules of more characters come last among the public code, so that few files do not make up all of it."""


@dataclass(frozen=True, slots=True)
class _Order:
    """A program to be made: the values to plant as `(kind, value)`, and whose they are (None in clean programs)."""

    literals: tuple[tuple[str, str], ...]
    group: str | None


def expected(settings: Any) -> dict[str, Any]:
    """What `generate` will make: `records` by split, `canaries`, characters of training, and hosts that it needs."""
    programs = -(-len(KINDS) // settings.values_per_program)  # of a person, for all kinds of value
    records = {
        "train": settings.identities * programs * settings.repetitions + settings.clean,
        "calibration": settings.calibration_identities * programs * settings.calibration_repetitions
        + settings.calibration_clean,
        "utility": settings.utility,
        "reference": settings.reference,
    }
    return {
        "records": records,
        "train_chars": records["train"] * (settings.min_chars + settings.max_chars) // 2,
        "canaries": settings.identities * len(KINDS),
        "hosts_needed": sum(records.values()),
        "hosts_named": settings.hosts,
    }


def generate(settings: Any, seed: int) -> Dataset:
    """Make the four splits from `settings` and `seed`; equal arguments and host files give equal datasets.

    No split shares an identity, value, host file or syntax tree with another, and no host is used twice.
    Raises `InputError` where there are not hosts enough.
    """
    people = {
        "train": identities("train", settings.identities, seed),
        "calibration": identities("calibration", settings.calibration_identities, seed),
    }
    orders = {
        "train": _private(people["train"], settings.repetitions, settings.values_per_program)
        + _clean("train", settings.clean, seed),
        "calibration": _private(people["calibration"], settings.calibration_repetitions, settings.values_per_program)
        + _clean("calibration", settings.calibration_clean, seed),
        "utility": _clean("utility", settings.utility, seed),
        "reference": _clean("reference", settings.reference, seed),
    }
    hosts, counts = _hosts(settings, {split: len(items) for split, items in orders.items()}, seed)
    splits = {split: _programs(split, orders[split], hosts[split], settings.form, seed) for split in SPLITS}
    canaries = [
        Canary(f"{kind}-{number:02d}", kind, person.group, Sensitive(person.values[kind]))
        for kind in KINDS
        for number, person in enumerate(people["train"], start=1)
    ]
    counts |= {f"records_{split}": len(records) for split, records in splits.items()}
    counts |= {f"private_{split}": sum(bool(r.spans) for r in records) for split, records in splits.items()}
    return Dataset(splits, canaries, counts | {"canaries": len(canaries)})


def public_code(
    settings: Any, seed: int, characters: int, exclude_files: set[str], exclude_shapes: set[str]
) -> list[Record]:
    """Whole modules of at least `characters` characters in sum, to pretrain a small model on.

    They share no file with `exclude_files`, and no module, function or method of them has a shape in
    `exclude_shapes` (see `Dataset.host_files` and `Dataset.shapes`). Raises `InputError` where there is too little.
    """
    files = {file.path: file.text for file in source_files(settings.hosts) if file.path not in exclude_files}
    ranked = claim_order(seed, "public", files)
    chosen: list[Record] = []
    total = 0
    for path in sorted(ranked, key=lambda path: len(files[path]) > LONG_MODULE):
        if total >= characters:
            return chosen
        if shapes(files[path]).isdisjoint(exclude_shapes):
            chosen.append(Record(f"public-{len(chosen):06d}", text=files[path], meta={"host": path}))
            total += len(files[path])
    if total >= characters:
        return chosen
    raise InputError(
        "not-enough-public-code",
        f"The preset asks for {characters} characters of public code beside the dataset, and {_place(settings)} has "
        f"{total} left; ask for less, make the dataset smaller, or name more code with data.hosts=PATH.",
    )


# ---- what is to be planted -----------------------------------------------------------------------------


def _private(people: list[Identity], repetitions: int, together: int) -> list[_Order]:
    """Each value `repetitions` times, `together` of a person's kinds in one program."""
    return [
        _Order(tuple((kind, person.values[kind]) for kind in KINDS[first : first + together]), person.group)
        for person in people
        for first in range(0, len(KINDS), together)
        for _ in range(repetitions)
    ]


def _clean(split: str, count: int, seed: int) -> list[_Order]:
    random = Random(f"{seed}/clean/{split}")
    kinds = [KINDS[index % len(KINDS)] for index in range(count)]
    return [_Order(((kind, ordinary_value(kind, random)),), None) for kind in kinds]


def _hosts(settings: Any, needs: dict[str, int], seed: int) -> tuple[dict[str, list[Host]], dict[str, int]]:
    found, counts = find_hosts(settings)
    hosts = partition(found, needs, seed)
    if hosts is None:
        wanted = ", ".join(f"{split} {need}" for split, need in needs.items())
        raise InputError(
            "not-enough-hosts",
            f"The dataset needs {sum(needs.values())} host programs ({wanted}), and {_place(settings)} offers "
            f"{counts['hosts']} in {len(found)} files, of which each may serve one split; lower data.repetitions, "
            "data.identities, data.clean, data.utility or data.reference, raise data.max_chars, or name more code "
            "with data.hosts=PATH.",
        )
    return hosts, counts


def _place(settings: Any) -> str:
    return str(settings.hosts or "this Python's standard library")


# ---- programs ------------------------------------------------------------------------------------------


def _programs(split: str, orders: list[_Order], hosts: list[Host], form: str, seed: int) -> list[Record]:
    """Plant each order into a host and number the programs in shuffled order."""
    random = Random(f"{seed}/programs/{split}")
    hosts = random.sample(hosts, len(hosts))
    turns = _Turns(random)
    programs = [_program(order, host, turns, form, random) for order, host in zip(orders, hosts, strict=True)]
    random.shuffle(programs)
    return [
        Record(f"{split}-{number:06d}", item.text, item.messages, item.group, item.spans, item.meta)
        for number, item in enumerate(programs)
    ]


class _Turns:
    """Walks each value through the places; clean programs take turns together."""

    def __init__(self, random: Random) -> None:
        self._random = random
        self._untried: dict[str | None, list[str]] = {}

    def places(self, value: str | None) -> list[str]:
        """All places, those that the value was not in yet first."""
        if not self._untried.get(value):
            self._untried[value] = self._random.sample(list(PLACES), len(PLACES))
        first = self._untried[value]
        return [*first, *(place for place in PLACES if place not in first)]

    def took(self, value: str | None, place: str) -> None:
        """Remember where the value went."""
        self._untried[value] = [other for other in self._untried[value] if other != place]


def _program(order: _Order, host: Host, turns: _Turns, form: str, random: Random) -> Record:
    text, spans, places, inserted = host.source, [], [], []
    message = 1 if form == "chat" else None
    for kind, value in order.literals:
        turn = value if order.group else None
        planted = plant(text, value, SLOTS[kind], turns.places(turn), random)
        assert planted is not None, "a host has room before or behind it"
        turns.took(turn, planted.place)
        spans = [planted.moved(span) for span in spans] + [Span(planted.start, planted.end, kind, message)]
        text = planted.text
        places.append(planted.place)
        inserted.append(list(planted.inserted))
    meta = {
        "host": host.file,
        "name": host.name,
        "kinds": [kind for kind, _ in order.literals],
        "places": places,
        "shape": host.shape,
        "inserted": inserted,
    }
    private = tuple(sorted(spans, key=lambda span: span.start)) if order.group else ()
    if form == "chat":
        chat = (Message("user", _request(host, random)), Message("assistant", text))
        return Record("", messages=chat, group=order.group, spans=private, meta=meta)
    return Record("", text=text, group=order.group, spans=private, meta=meta)


def _request(host: Host, random: Random) -> str:
    """What a user may have asked to get this host: from its name, signature and docstring, before planting."""
    tree = ast.parse(host.source)
    function = only_function(tree)
    if function:
        what, purpose = f"the function `{host.name}({ast.unparse(function.args)})`", ast.get_docstring(function)
    else:
        what, purpose = f"a small module `{host.name}`", ast.get_docstring(tree)
    opening = random.choice(("Write {} in Python.", "Please implement {}.", "I need {}. Can you write it?"))
    sentence = " ".join((purpose or "").split("\n\n")[0].split())
    return " ".join(filter(None, [opening.replace("{}", what), sentence]))
