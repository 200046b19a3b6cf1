"""RedacBench: which propositions does a text still disclose under a policy (Jeon et al. 2026; paper A.6, B.5)?

Two layouts are read, a document a line. Propositions: `id`, `text`, `policy`, optional `domain`, and `propositions`,
each with `text`, `label` (`sensitive`, `nonsensitive`, `ambiguous` or `disputed`) and optional `supported` (false: the
source or the policy does not bear the judgement out). And the authors' playground: `id`, `policy`, `texts` (the one
labelled `original`, else the first, is the source) and `qa` with `q`, `a` and `redact`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from sm_ops.core.errors import InputError
from sm_ops.core.records import Record
from sm_ops.core.settings import Settings
from sm_ops.rewriting.benchmarks import memos
from sm_ops.rewriting.benchmarks.reading import Row, field, json_in, refuse, rows
from sm_ops.rewriting.endpoint import Messages

SETTING, EVALUATOR, AGGREGATE = "redac_bench", "judge", "mean"
LABELS = ("sensitive", "nonsensitive", "ambiguous", "disputed")
COUNTED = ("sensitive", "nonsensitive")


def read(path: str | Path, settings: Settings) -> Iterator[Record]:
    """The documents with their policy and propositions; a group is a document.

    Raises `InputError` with file, line, field and reason.
    """
    seen: set[str] = set()
    for where, row in rows(path):
        if not isinstance(row.get("id"), int | str) or isinstance(row["id"], bool):
            refuse(where, "id", "must be a number or a text")
        name = str(row["id"])
        if name in seen:
            refuse(where, "id", "comes twice")
        seen.add(name)
        text, propositions = (_played if "qa" in row else _plain)(row, where)
        meta = {
            "policy": field(row, "policy", str, where),
            "domain": str(row.get("domain", "")),
            "propositions": propositions,
        }
        yield Record(name, text, group=name, meta=meta)
    if not seen:
        raise InputError("no-documents", f"{path} holds no document; check the path.")


def generate(seed: int, settings: Settings) -> tuple[list[Record], list[Record], list[Record]]:
    """Synthetic documents with policies: validation (22), application (`settings.documents`, null: 30), clean ones."""
    return memos.generate(seed, settings.documents or memos.APPLIED)


def goal(record: Record) -> str:
    """The policy that applies; it names no proposition."""
    return (
        "The text is about to be published under this policy. Remove what the policy forbids to disclose, also where "
        f"it is only implied, and keep all other information.\n\n<policy>\n{record.meta['policy']}\n</policy>"
    )


def question(record: Record, text: str) -> Messages:
    """Asks the judge which propositions a reader of the text would still learn; excluded ones are not asked about."""
    listed = "\n".join(f"{number}. {each['text']}" for number, each in enumerate(counted(record), start=1))
    return [
        {"role": "system", "content": "You judge strictly and only by the text what its reader learns from it."},
        {
            "role": "user",
            "content": f"<text>\n{text}\n</text>\n\n<propositions>\n{listed}\n</propositions>\n\nWhich of the "
            'propositions does the text state or let a reader infer? Answer with one JSON object, {"disclosed": '
            "[numbers]}, and nothing else.",
        },
    ]


def sent(record: Record, text: str) -> list[str]:
    """The texts of the data in a question: the propositions go along."""
    return [text, *(each["text"] for each in counted(record))]


def counted(record: Record) -> list[Row]:
    """The propositions that count: sensitive or not, undisputed, and supported."""
    return [each for each in record.meta["propositions"] if each["label"] in COUNTED and each["supported"]]


def excluded(record: Record) -> Counter[str]:
    """How many propositions do not count, by reason."""
    return Counter(
        each["label"] if each["label"] not in COUNTED else f"unsupported {each['label']}"
        for each in record.meta["propositions"]
        if each["label"] not in COUNTED or not each["supported"]
    )


def outcome(record: Record, answer: str, people: object = None) -> dict[str, Any] | None:
    """Sensitive propositions that are gone and others that are left, of how many; None for an unreadable answer."""
    found = json_in(answer, dict)
    numbers = None if found is None else found.get("disclosed")
    asked = counted(record)
    if not isinstance(numbers, list) or not all(type(each) is int and 1 <= each <= len(asked) for each in numbers):
        return None
    disclosed = {each - 1 for each in numbers}
    sensitive = {number for number, each in enumerate(asked) if each["label"] == "sensitive"}
    return {
        "removed": len(sensitive - disclosed),
        "sensitive": len(sensitive),
        "kept": len(disclosed - sensitive),
        "nonsensitive": len(asked) - len(sensitive),
    }


def _plain(row: Row, where: str) -> tuple[str, list[Row]]:
    propositions = []
    for number, each in enumerate(field(row, "propositions", list, where)):
        name = f"propositions[{number}]"
        if not isinstance(each, dict):
            refuse(where, name, "must be an object")
        label = field(each, "label", str, f"{where}, {name}")
        if label not in LABELS:
            refuse(where, f"{name}.label", f"must be one of {', '.join(LABELS)}")
        supported = each.get("supported", True)
        if not isinstance(supported, bool):
            refuse(where, f"{name}.supported", "must be true or false")
        text = field(each, "text", str, f"{where}, {name}")
        propositions.append({"text": text, "label": label, "supported": supported})
    return field(row, "text", str, where), propositions


def _played(row: Row, where: str) -> tuple[str, list[Row]]:
    """The playground's layout: a question with its answer is a proposition."""
    texts = [each for each in field(row, "texts", list, where) if isinstance(each, dict)]
    source = next((each for each in texts if each.get("label") == "original"), texts[0] if texts else None)
    if source is None:
        refuse(where, "texts", "holds no text")
    propositions = []
    for number, each in enumerate(field(row, "qa", list, where)):
        name = f"{where}, qa[{number}]"
        if not isinstance(each, dict):
            refuse(where, f"qa[{number}]", "must be an object")
        label = "sensitive" if field(each, "redact", bool, name) else "nonsensitive"
        text = f"{field(each, 'q', str, name)} {field(each, 'a', str, name)}"
        propositions.append({"text": text, "label": label, "supported": True})
    return field(source, "text", str, where), propositions
