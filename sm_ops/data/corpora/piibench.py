"""PIIBench: mixed text as tokens with BIO tags (Jha, 2026; paper, A.4), read from one JSON object a line.

A row has `tokens` and as many tags under `tags`, `ner_tags` or `labels`: O, B-LABEL or I-LABEL; `id`, `source` and
`split` may stand beside them. The text is the tokens joined by single spaces, and an entity's span holds the spaces
within it. An I- tag that continues nothing begins an entity, as in the CoNLL scorer.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import accumulate
from pathlib import Path
from typing import Any

from sm_ops.core.errors import InputError
from sm_ops.core.records import Record, Span
from sm_ops.core.registry import did_you_mean
from sm_ops.core.seeds import derive
from sm_ops.data.corpora._reading import Reading, kept, name, place, refuse, with_defaults
from sm_ops.data.records import jsonl_rows

RULE = "piibench_raw"
SETTING = FAMILIES = "piibench"
TAGS = ("tags", "ner_tags", "labels")
SIZES = {"tuning": 3_046, "screening": 1_005, "fit": 1_012, "held_out": 4_937}
"""Roles of the 10,000 official validation records (paper, A.4); a file of another size is divided in proportion."""
ROLES = {"all": tuple(SIZES), "calibration": ("tuning", "screening"), **{role: (role,) for role in SIZES}}
_DEFAULTS = {"role": "all", "seed": 0}


def recognises(row: dict[str, Any]) -> bool:
    """Whether a row has tokens, and tags for them."""
    return isinstance(row.get("tokens"), list) and any(isinstance(row.get(key), list) for key in TAGS)


def read(path: str | Path | None, settings: Mapping[str, Any] = {}) -> Reading:
    """One record a row, its own group, its spans labelled by the tags' labels.

    Reads `role`: all, calibration (tuning and screening), tuning, screening, fit or held_out; hashes of `seed` and the
    record's id decide which record has which role. Rows without an id are numbered. Left out and counted are rows
    without tokens. Raises `InputError` that names file, line and field.
    """
    values = with_defaults("piibench", settings, _DEFAULTS)
    if values["role"] not in ROLES:
        hint = f"The corpus 'piibench' has no role {values['role']!r}; {did_you_mean(str(values['role']), ROLES)}."
        raise InputError("unknown-role", hint)
    file, skipped = place("piibench", path), Counter()
    records = _records(file, skipped)
    if values["role"] != "all":
        wanted = _of_role([record.id for record in _records(file, Counter())], values["role"], int(values["seed"]))
        records = (record for record in records if record.id in wanted)
    return Reading(records, skipped)


def _records(file: Path, skipped: Counter[str]) -> Iterator[Record]:
    seen: set[str] = set()
    for number, (line, row) in enumerate(jsonl_rows(file), start=1):
        where = f"{file}, {line}"
        identity = str(row["id"]) if type(row.get("id")) is int else None
        identity = identity or (f"{file.stem}-{number:06d}" if row.get("id") is None else name(row, "id", where))
        if identity in seen:
            refuse(where, "id", "is the same as in an earlier line")
        seen.add(identity)
        tokens, tags = _strings(row, ("tokens",), where), _strings(row, TAGS, where)
        if len(tokens) != len(tags):
            refuse(where, "tags", f"has {len(tags)} entries for {len(tokens)} tokens")
        if not "".join(tokens).strip():
            skipped["no text"] += 1
            continue
        meta = kept(row, ("source", "split"))
        yield Record(identity, text=" ".join(tokens), group=identity, spans=_spans(tokens, tags, where), meta=meta)
    if not seen:
        raise InputError("no-documents", f"{file} holds no row; check the path.")


def _strings(row: dict[str, Any], keys: Sequence[str], where: str) -> list[str]:
    key = next((key for key in keys if row.get(key) is not None), keys[0])
    values = row.get(key)
    if not isinstance(values, list):
        refuse(where, key, "is missing" if values is None else "must be a list")
    for number, value in enumerate(values):
        if not isinstance(value, str):
            named = "; replace numbers by the data set's names of tags" if key in TAGS else ""
            refuse(where, f"{key}[{number}]", f"must be a string{named}")
    return values


def _spans(tokens: Sequence[str], tags: Sequence[str], where: str) -> tuple[Span, ...]:
    """Half-open spans of the joined text: an entity ends where another one begins or nothing is tagged."""
    spans: list[Span] = []
    starts = [0, *accumulate(len(token) + 1 for token in tokens)]
    before = ""
    for number, (token, tag) in enumerate(zip(tokens, tags, strict=True)):
        sign, _, label = tag.partition("-")
        if tag != "O" and (sign not in ("B", "I") or not label):
            refuse(where, f"tags[{number}]", "is none of O, B-LABEL and I-LABEL")
        if tag != "O":
            end = starts[number] + len(token)
            if sign == "I" and before == label:
                spans[-1] = Span(spans[-1].start, end, label)
            elif token:
                spans.append(Span(starts[number], end, label))
            else:
                refuse(where, f"tokens[{number}]", "is empty and begins an entity")
        before = label
    return tuple(spans)


def _of_role(ids: Sequence[str], role: str, seed: int) -> set[str]:
    order = sorted(ids, key=lambda each: (derive(seed, "piibench", each), each))
    whole = sum(SIZES.values())
    tops = [len(ids) * size // whole for size in accumulate(SIZES.values())]
    parts = {name: order[start:stop] for name, start, stop in zip(SIZES, [0, *tops], tops, strict=False)}
    return {each for name in ROLES[role] for each in parts[name]}
