"""CredSweeper: rules for credentials in source code and configuration, and its model that judges what they find.

The rules, their filters and the model (an ONNX file) are the package's own. A text is read as a file of no known type;
each line of a credential that reaches over several (a PEM key, a pair of id and secret) is a detection of its own.
"""

from __future__ import annotations

import logging
import warnings
from collections.abc import Iterator, Mapping, Sequence
from importlib import import_module
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

PACKAGES = ("credsweeper", "onnxruntime")
DEFAULTS = {"threshold": 0.62204}
"""CredSweeper's own default, its preset `medium`."""

_CONFIG = {
    "use_filters": True,
    "find_by_ext": False,
    "size_limit": None,
    "pedantic": False,
    "depth": 0,
    "doc": False,
    "severity": "info",
    "confidence": "weak",
}
"""What its command line takes without options: every rule for code, no containers, no documents."""

_BATCH = 16


def load(settings: Mapping[str, Any]) -> CredSweeperDetector:
    """The rules and the model; reads `threshold`: the model's least probability (rules that need no model say 1).

    Raises `InputError` where the package is not installed.
    """
    threshold = check(settings)["threshold"]
    try:
        import_module("credsweeper")  # by its own name, whatever of it is imported already
        from credsweeper.app import APP_PATH
        from credsweeper.config.config import Config
        from credsweeper.ml_model.ml_validator import MlValidator
        from credsweeper.scanner.scanner import Scanner
        from credsweeper.utils.util import Util
    except ModuleNotFoundError as error:
        raise missing_package("credsweeper", error) from None
    logging.getLogger("credsweeper").setLevel(logging.CRITICAL)  # its warnings and errors may hold values
    own: Any = Util.json_load(APP_PATH / "secret" / "config.json")
    scanner = Scanner(Config({**own, **_CONFIG}), None)
    return CredSweeperDetector(scanner, MlValidator(threshold, ml_threads_limit=1), threshold)


def check(settings: Mapping[str, Any]) -> dict[str, Any]:
    """The settings as `load` takes them."""
    return with_threshold("credsweeper", settings, DEFAULTS)


def available(settings: Mapping[str, Any]) -> None:
    """`InputError` where the package is not installed."""
    check_packages("credsweeper", "credsweeper")


class CredSweeperDetector:
    """A scanner and its validator, without the program around them, which would start a process for its results."""

    def __init__(self, scanner: Any, validator: Any, threshold: float) -> None:
        self._scanner, self._validator, self._threshold = scanner, validator, threshold

    def detect(self, texts: Sequence[str]) -> list[list[Detection]]:
        """The spans of each text; see `Detector.detect`. Their label is `secret`."""
        check_texts(texts)
        return [in_order(self._detect(text)) for text in texts]

    def _detect(self, text: str) -> Iterator[Detection]:
        lines = Lines.of(text)
        for candidate, score in self._judged(self._scanner.scan(_provider(lines.texts))):
            if score >= self._threshold:
                for part in candidate.line_data_list:
                    first = lines.starts[part.line_num - 1]
                    if 0 <= part.value_start < part.value_end:
                        yield Detection(first + part.value_start, first + part.value_end, SECRET, score)

    def _judged(self, candidates: Sequence[Any]) -> Iterator[tuple[Any, float]]:
        """Candidates with a probability: those that name the same place are judged together, as in its program."""
        from credsweeper.credentials.candidate_key import CandidateKey

        groups: dict[Any, list[Any]] = {}
        for candidate in candidates:
            groups.setdefault(CandidateKey(candidate.line_data_list[0]), []).append(candidate)
        doubtful = [(key, own) for key, own in groups.items() if any(each.use_ml for each in own)]
        _, judged = self._validator.validate_groups(doubtful, _BATCH, None) if doubtful else ((), ())
        probability = {key: float(value) for (key, _), value in zip(doubtful, judged, strict=True)}
        for key, own in groups.items():
            for candidate in own:
                yield candidate, probability[key] if candidate.use_ml else 1.0


def _provider(lines: list[str]) -> Any:
    from credsweeper.file_handler.string_content_provider import StringContentProvider

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # of its future name
        return StringContentProvider(lines)
