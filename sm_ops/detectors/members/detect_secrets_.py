"""detect-secrets: Yelp's plugins for keys, tokens, passwords behind a keyword and strings of high entropy.

Every plugin and filter that its scan takes by default, over a file without a known type. Two things are ours (choices
D-3, D-4): a comment in the data that allows a secret counts for nothing, and a private key, of which the package
reports the first line alone, reaches to its END line.
"""

from __future__ import annotations

import re
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

from sm_ops.detectors.detector import (
    SECRET,
    Detection,
    check_packages,
    check_texts,
    in_order,
    missing_package,
    with_threshold,
)
from sm_ops.detectors.lines import Lines

PACKAGES = ("detect-secrets",)
DEFAULTS = {"threshold": 0.0}
_ALLOWLIST = "detect_secrets.filters.allowlist.is_line_allowlisted"
_PRIVATE_KEY = "Private Key"
_REST = re.compile(r"(?:(?!-----BEGIN)[\s\S])*?-----END [A-Z0-9 ]*PRIVATE KEY[A-Z ]*-----")


def load(settings: Mapping[str, Any]) -> DetectSecretsDetector:
    """The detector; reads `threshold` (it has no scores: all are 1). `InputError` where it is not installed."""
    check(settings)
    try:
        import_module("detect_secrets")
    except ModuleNotFoundError as error:
        raise missing_package("detect_secrets", error) from None
    return DetectSecretsDetector()


def check(settings: Mapping[str, Any]) -> dict[str, Any]:
    """The settings as `load` takes them."""
    return with_threshold("detect_secrets", settings, DEFAULTS)


def available(settings: Mapping[str, Any]) -> None:
    """`InputError` where the package is not installed."""
    check_packages("detect_secrets", "detect_secrets")


class DetectSecretsDetector:
    """Texts as temporary files through the package's scan; nothing is verified over a network."""

    def detect(self, texts: Sequence[str]) -> list[list[Detection]]:
        """The spans of each text, labelled `secret`; see `Detector.detect`.

        The package names a line and a value: every occurrence of the value in that line is one.
        """
        from detect_secrets.settings import default_settings

        check_texts(texts)
        with tempfile.TemporaryDirectory() as folder, default_settings() as settings:
            settings.disable_filters(_ALLOWLIST)
            path = Path(folder) / "text"
            return [in_order(_detect(text, path)) for text in texts]


def _detect(text: str, path: Path) -> Iterator[Detection]:
    from detect_secrets.core.scan import scan_file

    lines = Lines.of(text)
    path.write_text(text, encoding="utf-8", newline="")
    for found in scan_file(str(path)):
        number, value = found.line_number - 1, found.secret_value or ""
        for match in re.finditer(re.escape(value), lines.texts[number]) if value else ():
            start, end = (lines.starts[number] + place for place in match.span())
            if found.type == _PRIVATE_KEY:
                start, end = _whole_key(text, start, end)
            yield Detection(start, end, SECRET, 1.0)


def _whole_key(text: str, start: int, end: int) -> tuple[int, int]:
    """From the dashes before BEGIN to those of the END line, where there is one before the next key begins."""
    rest = _REST.match(text, end)
    return len(text[:start].rstrip("-")), rest.end() if rest else end
