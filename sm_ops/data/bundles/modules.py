"""The modules around a solution (command line, settings, jobs, publishing), its texts, and the tests of all of them."""

from __future__ import annotations

import json
from random import Random
from textwrap import fill

from sm_ops.data.bundles.settings_files import FORMS, Setting
from sm_ops.data.tasks import Task


def modules(entry: str, random: Random) -> dict[str, str]:
    """The four modules by path; each is drawn from a few ways to write it."""
    return {
        "cli.py": random.choice(_CLI).format(entry=entry, title=_title(entry), option=random.choice(_OPTIONS)),
        "settings.py": random.choice(_SETTINGS).format(default=random.choice((10, 20, 30, 60))),
        "jobs.py": random.choice(_JOBS).format(entry=entry, title=_title(entry), most=random.randint(2, 9)),
        "publish.py": random.choice(_PUBLISH).format(title=_title(entry), width=random.choice((12, 16, 20, 24))),
    }


def asks(entry: str, random: Random) -> dict[str, str]:
    """What a user may have asked to get each module."""
    return {
        "cli.py": random.choice(
            (
                f"Write `cli.py`, a command line with argparse around `{entry}` from `solution.py` that prints JSON.",
                f"I want to call `{entry}` from a shell. Write `cli.py` for it: a file in, JSON out.",
            )
        ),
        "settings.py": random.choice(
            (
                "Write `settings.py`, which reads `config/defaults.json` and gives single settings with a default.",
                f"The tool around `{entry}` needs settings from `config/defaults.json`. Please write `settings.py`.",
            )
        ),
        "jobs.py": random.choice(
            (
                f"Write `jobs.py`, which runs `{entry}` over several files and goes on where one of them fails.",
                f"We have many files for `{entry}`. Write `jobs.py`: all results by file, and the files that failed.",
            )
        ),
        "publish.py": random.choice(
            (
                f"Write `publish.py`, which turns what `{entry}` returns into lines of text for people.",
                "Please write `publish.py`: results of any shape (dictionary, list, number) become readable lines.",
            )
        ),
    }


def asks_for_settings(path: str, settings: list[Setting], random: Random) -> str:
    """What a user may have asked to get a file of settings."""
    named = ", ".join(f"{key} {value}" for key, value in settings)
    return random.choice(
        (
            f"Write the file `{path}` with these settings: {named}.",
            f"I need `{path}` for the repository; it should set {named}.",
            f"Add `{path}`. Settings are {named}.",
        )
    )


def texts(task: Task, entry: str, random: Random) -> dict[str, str]:
    """The issue, the page that explains the repository, and its packaging."""
    first, second = random.sample(task.prompts, 2)
    name = entry.replace("_", "-")
    version = f"{random.randint(0, 3)}.{random.randint(1, 9)}"
    needs = '"exstruct>=0.9"' if "exstruct" in task.solution else ""
    return {
        "ISSUE.md": f"# {_title(entry)}\n\n{fill(first, 100, break_long_words=False, break_on_hyphens=False)}\n",
        "README.md": (
            f"# {name}\n\n{fill(second, 100, break_long_words=False, break_on_hyphens=False)}\n\n"
            f"    python cli.py FILE\n    python suite.py\n\nSettings are in `config/`, deployment is in `deploy/`.\n"
        ),
        "pyproject.toml": (
            f'[project]\nname = "{name}"\nversion = "{version}"\nrequires-python = ">=3.{random.randint(10, 11)}"\n'
            f"dependencies = [{needs}]\n"
        ),
        "suite.py": _SUITE,
    }


def repair(issue: str, faulty: str) -> str:
    """What a user may ask who has a solution with a slip."""
    ask = "The tests of this solution.py fail. Repair it and return the whole module."
    return f"{issue}\n\n{ask}\n\n```python\n{faulty}```"


def checks(task: Task, settings: dict[str, list[Setting]]) -> str:
    """`test_repository.py`: every file of settings still says what it said, and every module does its work."""
    expected = {path: {key: str(value) for key, value in found} for path, found in settings.items() if path in FORMS}
    data = json.dumps(expected, indent=4, ensure_ascii=False)
    file = min(task.files)
    missing = f"missing.{file.partition('.')[2]}"
    return _CHECKS.replace("§EXPECTED", data).replace("§FILE", file).replace("§MISSING", missing)


def _title(entry: str) -> str:
    return entry.replace("_", " ").capitalize()


_OPTIONS = ("--pretty", "--indented", "--readable", "--spaced")

_CLI = (
    '''"""{title}, from the command line."""

import argparse
import json
import sys

from solution import {entry}


def parser():
    found = argparse.ArgumentParser(description=__doc__)
    found.add_argument("file", help="the file to read")
    found.add_argument("{option}", dest="pretty", action="store_true", help="print over several lines")
    return found


def main(arguments=None):
    given = parser().parse_args(arguments)
    try:
        answer = {entry}(given.file)
    except OSError as error:
        print(error, file=sys.stderr)
        return 2
    print(json.dumps(answer, indent=2 if given.pretty else None))
    return 0


if __name__ == "__main__":
    sys.exit(main())
''',
    '''"""Print {entry} of a file as JSON."""

import json
import sys
from argparse import ArgumentParser
from pathlib import Path

from solution import {entry}


def main(arguments=None):
    parser = ArgumentParser(description="{title}")
    parser.add_argument("file", type=Path)
    parser.add_argument("{option}", dest="pretty", action="store_true")
    given = parser.parse_args(arguments)
    if not given.file.exists():
        print(f"{{given.file}} does not exist", file=sys.stderr)
        return 2
    indent = 4 if given.pretty else None
    sys.stdout.write(json.dumps({entry}(given.file), indent=indent) + "\\n")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
''',
)

_SETTINGS = (
    '''"""Settings of this repository."""

import json
from pathlib import Path

PLACE = Path(__file__).parent / "config" / "defaults.json"
DEFAULTS = {{"timeout": {default}}}


def load(place=PLACE):
    with open(place, encoding="utf-8") as file:
        return {{**DEFAULTS, **json.load(file)}}


def get(name, default=None):
    return load().get(name, default)
''',
    '''"""Reads config/defaults.json once."""

import json
from functools import lru_cache
from pathlib import Path


@lru_cache
def load(place=None):
    text = Path(place or Path(__file__).parent / "config" / "defaults.json").read_text(encoding="utf-8")
    found = json.loads(text)
    found.setdefault("timeout", {default})
    return found


def get(name, default=None):
    settings = load()
    if name in settings:
        return settings[name]
    return default
''',
    '''"""Settings with a default for what a file leaves out."""

import json
import os

FOLDER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "config")


def load(place=None):
    found = {{"timeout": {default}}}
    with open(place or os.path.join(FOLDER, "defaults.json"), encoding="utf-8") as file:
        found.update(json.load(file))
    return found


def get(name, default=None):
    try:
        return load()[name]
    except KeyError:
        return default
''',
)

_JOBS = (
    '''"""{title} of many files."""

from solution import {entry}


def run_all(paths, attempts={most}):
    done, failed = {{}}, []
    for path in paths:
        for _ in range(attempts):
            try:
                done[str(path)] = {entry}(path)
                break
            except OSError:
                continue
        else:
            failed.append(str(path))
    return done, failed
''',
    '''"""Runs {entry} over files, one after the other."""

import logging

from solution import {entry}

LOG = logging.getLogger(__name__)


def attempt(path, left={most}):
    try:
        return True, {entry}(path)
    except OSError as error:
        LOG.debug("%s: %s", path, error)
        return (False, None) if left <= 1 else attempt(path, left - 1)


def run_all(paths):
    answers = {{str(path): attempt(path) for path in paths}}
    done = {{name: value for name, (worked, value) in answers.items() if worked}}
    return done, [name for name in answers if name not in done]
''',
    '''"""A batch of files for {entry}."""

from concurrent.futures import ThreadPoolExecutor

from solution import {entry}

AT_ONCE = {most}


def one(path):
    try:
        return str(path), {entry}(path), None
    except OSError as error:
        return str(path), None, error


def run_all(paths):
    done, failed = {{}}, []
    with ThreadPoolExecutor(AT_ONCE) as pool:
        for name, answer, error in pool.map(one, paths):
            if error is None:
                done[name] = answer
            else:
                failed.append(name)
    return done, failed
''',
)

_PUBLISH = (
    '''"""{title}, for people to read."""

WIDTH = {width}


def lines(answer):
    if isinstance(answer, dict):
        return [f"{{str(key):<{{WIDTH}}}}{{value}}" for key, value in answer.items()]
    if isinstance(answer, (list, tuple)):
        return [str(part) for part in answer]
    return [str(answer)]


def page(answer):
    return "\\n".join(lines(answer)) + "\\n"
''',
    '''"""Turns an answer into text."""


def lines(answer, width={width}):
    found = []
    if isinstance(answer, dict):
        for key in answer:
            found.append(str(key).ljust(width) + str(answer[key]))
    elif isinstance(answer, list):
        found.extend(map(str, answer))
    else:
        found.append(str(answer))
    return found


def page(answer):
    text = ""
    for line in lines(answer):
        text += line + "\\n"
    return text
''',
)

_SUITE = '''"""Runs every test of this repository."""

import test_repository
import tests


def main():
    for module in (tests, test_repository):
        for name, check in sorted(vars(module).items()):
            if name.startswith("test_"):
                check()


if __name__ == "__main__":
    main()
'''

_CHECKS = '''"""Tests of what stands around the solution: settings in every format, and the modules that use it."""

import configparser
import contextlib
import csv
import io
import json
import shlex
import sqlite3
import tomllib
from pathlib import Path
from xml.etree import ElementTree

import cli
import jobs
import publish
import settings

HERE = Path(__file__).parent
EXPECTED = §EXPECTED


def pairs(text, start=""):
    found = [line.removeprefix(start).split("=", 1) for line in text.splitlines() if "=" in line]
    return {key.strip(): " ".join(shlex.split(value)) for key, value in found}


def nested(text):
    """Settings of a YAML file in which every value is a number or a text in double quotes."""
    found = [line.strip().split(": ", 1) for line in text.splitlines() if ": " in line]
    return {key: json.loads(value) if value[0] in '"0123456789' else value for key, value in found}


def read(path):
    text = (HERE / path).read_text(encoding="utf-8")
    match path.rpartition(".")[2]:
        case "json":
            found = json.loads(text)
            return found.get("application", found)
        case "toml":
            return tomllib.loads(text)["service"]
        case "yaml":
            return nested(text)
        case "ini":
            parser = configparser.ConfigParser(interpolation=None)
            parser.read_string(text)
            return dict(parser[parser.sections()[0]])
        case "xml":
            return {part.get("name"): part.text for part in ElementTree.fromstring(text)}
        case "csv":
            return {row["key"]: row["value"] for row in csv.DictReader(io.StringIO(text))}
        case "sql":
            database = sqlite3.connect(":memory:")
            database.executescript(text)
            return dict(database.execute("SELECT name, value FROM settings"))
        case "env":
            return pairs(text)
        case "sh":
            return pairs(text, "export ")
        case "properties":
            return pairs(text, "job.")


def test_settings_of_every_format():
    for path, expected in EXPECTED.items():
        found = {key.lower(): str(value) for key, value in read(path).items()}
        assert {key: found.get(key) for key in expected} == expected, path


def test_settings_have_defaults():
    found = settings.load()["timeout"]
    assert found == int(EXPECTED["config/defaults.json"].get("timeout", found))
    assert settings.get("there is no such setting", 7) == 7


def test_command_line_prints_json():
    written = io.StringIO()
    with contextlib.redirect_stdout(written):
        assert cli.main([str(HERE / "§FILE")]) == 0
    done, failed = jobs.run_all([HERE / "§FILE", HERE / "§MISSING"])
    assert failed == [str(HERE / "§MISSING")]
    assert json.loads(written.getvalue()) == json.loads(json.dumps(done[str(HERE / "§FILE")]))


def test_answers_are_written_for_people():
    assert publish.lines({"a": 1})[0].split() == ["a", "1"]
    assert publish.page([2, 3]) == "2\\n3\\n"
    assert publish.lines(4) == ["4"]
'''
