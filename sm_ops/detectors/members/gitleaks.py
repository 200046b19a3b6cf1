"""Gitleaks: the program on the path (version 8.19 or newer), over temporary files, its JSON report read back.

Its rules are its own, or those of the file that the setting `config` names; its environment variables, which name rules
unseen, are kept from it. A comment in the data that allows a leak counts for nothing (choice D-3).
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from sm_ops.core.errors import InputError
from sm_ops.detectors.detector import SECRET, Detection, check_texts, in_order, with_threshold
from sm_ops.detectors.lines import Lines

PACKAGES = ("gitleaks",)
PLACES = ("config",)
DEFAULTS = {"config": None, "threshold": 0.0}
_OPTIONS = (
    "--report-format=json", "--exit-code=0", "--no-banner", "--log-level=fatal", "--ignore-gitleaks-allow",
)  # fmt: skip


def load(settings: Mapping[str, Any]) -> GitleaksDetector:
    """The detector; reads `config` (a file of rules) and `threshold` (it has no scores: all are 1).

    Raises `InputError` where the program or the file is not there.
    """
    program, rules = available(settings), check(settings)["config"]
    return GitleaksDetector(program, None if rules is None else Path(rules))


def check(settings: Mapping[str, Any]) -> dict[str, Any]:
    """The settings as `load` takes them."""
    values = with_threshold("gitleaks", settings, DEFAULTS)
    if not (values["config"] is None or isinstance(values["config"], str)):
        raise InputError(
            "bad-config", "The setting `config` of 'gitleaks' is no text; give the path of a file of rules."
        )
    return values


def available(settings: Mapping[str, Any]) -> str:
    """Where the program is; `InputError` where it or the file of its rules is not there."""
    rules = check(settings)["config"]
    if not (rules is None or Path(rules).is_file()):
        raise InputError(
            "no-rules",
            f"The detector 'gitleaks' finds no file of rules at {rules!r}; name one in `config`, or leave it out.",
        )
    program = shutil.which("gitleaks")
    if program is None:
        raise InputError(
            "missing-program",
            "The detector 'gitleaks' needs the program gitleaks, which is not on the path; install version 8.19 or "
            "newer (github.com/gitleaks/gitleaks) or take another detector.",
        )
    return program


class GitleaksDetector:
    """A program that reads a folder of texts, one start for all texts of a call."""

    def __init__(self, program: str, rules: Path | None = None) -> None:
        self._program, self._rules = program, [] if rules is None else [f"--config={rules.absolute()}"]

    def detect(self, texts: Sequence[str]) -> list[list[Detection]]:
        """The spans of each text, labelled `secret`; see `Detector.detect`."""
        check_texts(texts)
        if not texts:
            return []
        found: list[list[Detection]] = [[] for _ in texts]
        with tempfile.TemporaryDirectory() as folder:
            places = Path(folder, "texts")
            places.mkdir()
            for number, text in enumerate(texts):
                (places / f"{number}.txt").write_text(text, encoding="utf-8", newline="")
            try:
                for leak in self._leaks(places, Path(folder, "report.json")):
                    number = int(Path(leak["File"]).stem)
                    found[number] += _places(texts[number], leak)
            except (ValueError, KeyError, TypeError, IndexError):
                raise _failed("wrote a report that cannot be read") from None
        return [in_order(own) for own in found]

    def _leaks(self, folder: Path, report: Path) -> list[dict[str, Any]]:
        command = [self._program, "dir", str(folder), f"--report-path={report}", *self._rules, *_OPTIONS]
        own = {name: value for name, value in os.environ.items() if not name.startswith("GITLEAKS_")}
        done = subprocess.run(
            command, cwd=folder.parent, env=own, stdin=subprocess.DEVNULL, capture_output=True, check=False
        )
        if done.returncode:
            raise _failed(f"ended with code {done.returncode}")
        return json.loads(report.read_text(encoding="utf-8")) or []


def _places(text: str, leak: Mapping[str, Any]) -> Iterator[Detection]:
    """Where a reported secret stands: every occurrence in the lines of the finding.

    Its columns are not used: they count bytes, in the first line of a text from another place than in the others. Where
    the secret is not there as it is reported (it was decoded first), the lines are (choice D-5).
    """
    secret, starts = str(leak["Secret"]), Lines.of(text).starts
    first = starts[min(max(leak["StartLine"], 1), len(starts)) - 1]
    last = starts[leak["EndLine"]] if leak["EndLine"] < len(starts) else len(text)
    found = [place for place in _occurrences(text, secret) if first <= place < last]
    for start in found:
        yield Detection(start, start + len(secret), SECRET, 1.0)
    if not found and first < last:
        yield Detection(first, last, SECRET, 1.0)


def _occurrences(text: str, value: str) -> Iterator[int]:
    place = text.find(value) if value else -1
    while place >= 0:
        yield place
        place = text.find(value, place + len(value))


def _failed(what: str) -> InputError:
    return InputError("gitleaks-failed", f"The program gitleaks {what}; the detector needs version 8.19 or newer.")
