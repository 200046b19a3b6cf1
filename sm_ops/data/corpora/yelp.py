"""Yelp: reviews, one JSON object a line, as the Yelp dataset is published; the paper keeps those of health services."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from sm_ops.core.errors import InputError
from sm_ops.core.records import Record
from sm_ops.data.corpora._reading import Reading, name, place, refuse, string, with_defaults
from sm_ops.data.records import jsonl_rows

_DEFAULTS = {"businesses": None, "category": "Health & Medical"}


def read(path: str | Path | None, settings: Mapping[str, Any] = {}) -> Reading:
    """One record a review (`review_id`, `text`), its group the reviewer (`user_id`).

    Reads `businesses` (a file of businesses, one a line with `business_id` and `categories`; null: all reviews are
    taken) and `category`. Left out and counted are reviews of other businesses and reviews without a word.
    Raises `InputError` that names file, line and field.
    """
    values = with_defaults("yelp", settings, _DEFAULTS)
    file = place("yelp", path)
    wanted = None if values["businesses"] is None else _wanted(Path(values["businesses"]), str(values["category"]))
    skipped: Counter[str] = Counter()
    return Reading(_records(file, wanted, skipped), skipped)


def _records(file: Path, wanted: set[str] | None, skipped: Counter[str]) -> Iterator[Record]:
    seen: dict[str, str] = {}
    for line, row in jsonl_rows(file):
        where = f"{file}, {line}"
        if wanted is not None and name(row, "business_id", where) not in wanted:
            skipped["other businesses"] += 1
            continue
        identity, text = name(row, "review_id", where), string(row, "text", where)
        if identity in seen:
            refuse(where, "review_id", f"is the same as in {seen[identity]}")
        seen[identity] = line
        if not text.strip():
            skipped["no text"] += 1
            continue
        yield Record(identity, text=text, group=name(row, "user_id", where))


def _wanted(file: Path, category: str) -> set[str]:
    found = set()
    for line, row in jsonl_rows(place("yelp", file)):
        where, categories = f"{file}, {line}", row.get("categories") or []
        if isinstance(categories, str):  # older editions have a list
            categories = [each.strip() for each in categories.split(",")]
        if not isinstance(categories, list):
            refuse(where, "categories", "must be a string or a list")
        if category in categories:
            found.add(name(row, "business_id", where))
    if not found:
        raise InputError("no-businesses", f"{file} has no business of the category {category!r}; check both.")
    return found
