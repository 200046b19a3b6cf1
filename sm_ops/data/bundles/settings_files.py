"""Configuration in ten formats: ordinary settings as text, and a private value in a line of the same form."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from itertools import accumulate
from random import Random

from sm_ops.data.identities import KINDS, SLOTS, ordinary_value
from sm_ops.data.planting import Planted

Setting = tuple[str, str | int]
_ORDINARY: tuple[tuple[str, tuple[str | int, ...]], ...] = (
    ("timeout", (5, 10, 20, 30, 60, 90, 120)),
    ("retries", (1, 2, 3, 4, 5, 8)),
    ("page_size", (10, 20, 25, 50, 100, 200)),
    ("log_level", ("debug", "info", "warning", "error")),
    ("language", ("en", "de", "fr", "es", "ko", "sv")),
    ("theme", ("light", "dark", "contrast")),
    ("time_zone", ("UTC", "Europe/Paris", "Asia/Seoul", "America/Lima")),
    ("workers", (1, 2, 4, 6, 8)),
    ("encoding", ("utf-8", "latin-1")),
    ("endpoint", ("https://reports.example.org/v2", "https://data.example.com/api", "http://localhost:8080")),
    ("queue", ("nightly", "weekly", "urgent", "bulk")),
    ("port", (8000, 8080, 9090, 5432)),
    ("cache_minutes", (5, 15, 45, 60, 240)),
    ("date_format", ("year-month-day", "day.month.year")),
    ("currency_places", (0, 2, 3)),
    ("contact_team", ("reporting", "platform", "finance", "support")),
    ("mode", ("light", "strict", "fast")),
    ("max_rows", (500, 1000, 5000, 20000)),
    ("archive_after_days", (7, 30, 90, 365)),
    ("release_channel", ("stable", "beta", "nightly")),
)


@dataclass(frozen=True, slots=True)
class Form:
    """How a format writes its settings: what stands before and behind, and each one's line (`@` key, `§` value)."""

    head: str
    line: str
    tail: str = ""
    quoted: Callable[[str], str] = str
    separated: str = ""
    """What ends every line but the last."""


def _double(text: str) -> str:
    return json.dumps(text)


FORMS: dict[str, Form] = {
    "config/defaults.json": Form('{\n  "version": 1,\n', '  "@": §', "}\n", _double, ","),
    "config/logging.ini": Form("[logging]\n", "@ = §"),
    "config/app.json": Form('{\n  "application": {\n', '    "@": §', "  }\n}\n", _double, ","),
    "config/features.yaml": Form("features:\n", "  @: §", "", _double),
    "config/service.toml": Form("[service]\n", "@ = §", "", _double),
    "config/paths.ini": Form("[paths]\n", "@ = §"),
    "config/client.xml": Form("<client>\n", '  <setting name="@">§</setting>', "</client>\n"),
    "config/accounts.csv": Form("key,value\n", "@,§"),
    "deploy/compose.yaml": Form("services:\n  report:\n    environment:\n", "      @: §", "", _double),
    "deploy/service.env": Form("# read by the service at its start\n", "@=§"),
    "deploy/run.sh": Form("#!/bin/sh\nset -e\n", "export @=§", "exec python suite.py\n", _double),
    "deploy/job.properties": Form("# settings of the nightly job\n", "job.@=§"),
    "deploy/seed.sql": Form(
        "CREATE TABLE settings (name TEXT PRIMARY KEY, value TEXT);\n", "INSERT INTO settings VALUES ('@', §);", "",
        lambda text: f"'{text}'",
    ),
}  # fmt: skip


def draw(random: Random) -> list[Setting]:
    """Ordinary settings with distinct keys; in half of the files one stands where others have a private value."""
    found: list[Setting] = [
        (key, random.choice(values)) for key, values in random.sample(_ORDINARY, random.randint(3, 6))
    ]
    if random.random() < 0.5:
        kind = random.choice(KINDS)
        place = random.randint(0, len(found))
        found.insert(place, (random.choice(SLOTS[kind]), ordinary_value(kind, random)))
    return found


def write(path: str, settings: list[Setting]) -> str:
    """The file with these settings."""
    form = FORMS[path]
    return form.head + "".join(_lines(path, settings)) + form.tail


def plant(path: str, settings: list[Setting], kind: str, value: str, random: Random) -> Planted:
    """The file with one more setting, whose value is private: a line before one of the others."""
    form = FORMS[path]
    name = random.choice([name for name in SLOTS[kind] if name not in dict(settings)])
    before, after = form.line.replace("@", _key(path, name)).split("§")
    mark = form.quoted("")[:1]
    before, after = before + mark, mark + after + form.separated + "\n"
    lines = _lines(path, settings)
    at = random.choice([len(form.head) + end for end in accumulate(map(len, lines[:-1]), initial=0)])
    text, start = write(path, settings), at + len(before)
    end = start + len(value)
    whole = text[:at] + before + value + after + text[at:]
    return Planted(whole, start, end, (at, end + len(after)), path.rpartition(".")[2])


def _lines(path: str, settings: list[Setting]) -> list[str]:
    form, lines = FORMS[path], []
    for key, value in settings:
        written = form.quoted(value) if isinstance(value, str) else str(value)
        lines.append(form.line.replace("@", _key(path, key)).replace("§", written) + form.separated + "\n")
    lines[-1] = lines[-1].removesuffix(form.separated + "\n") + "\n"
    return lines


def _key(path: str, key: str) -> str:
    return key.upper() if path in ("deploy/service.env", "deploy/run.sh", "deploy/compose.yaml") else key
