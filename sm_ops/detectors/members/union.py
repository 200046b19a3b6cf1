"""Several detectors at once: whatever any of them finds, under its own labels."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import chain
from typing import Any

from sm_ops.core import registry
from sm_ops.core.errors import InputError
from sm_ops.detectors.detector import Detection, Detector, with_threshold
from sm_ops.detectors.overlaps import longest

DEFAULTS = {"of": ("spacy", "regex"), "settings": {}, "threshold": 0.0}


def load(settings: Mapping[str, Any]) -> UnionDetector:
    """The detectors named in `of`; reads `settings` (name -> settings of that detector) and `threshold`."""
    loaded = [registry.load("detector", name).load(own) for name, own in parts(settings).items()]
    return UnionDetector(loaded, check(settings)["threshold"])


def check(settings: Mapping[str, Any]) -> dict[str, Any]:
    """The settings as `load` takes them, those of its parts unseen."""
    values = with_threshold("union", settings, DEFAULTS)
    names, own = values["of"], values["settings"]
    if not _are_names(names) or "union" in names:
        raise InputError("bad-union", "The detector 'union' needs the names of others in `of`, such as [spacy, regex].")
    if not isinstance(own, dict) or not all(isinstance(each, dict) for each in own.values()):
        raise InputError("bad-union", "The union's `settings` must be those of each detector under its name.")
    if stray := own.keys() - set(names):
        raise InputError("bad-union", f"The union has settings of {', '.join(sorted(stray))}, which is not in `of`.")
    return values


def parts(settings: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """The detectors that it loads with their settings (see `named`); `InputError` where these say nothing usable."""
    values = check(settings)
    return {name: values["settings"].get(name, {}) for name in values["of"]}


def _are_names(names: Any) -> bool:
    return isinstance(names, list | tuple) and bool(names) and all(isinstance(each, str) for each in names)


class UnionDetector:
    """Loaded detectors; where detections of one label overlap, the longest counts."""

    def __init__(self, detectors: Sequence[Detector], threshold: float = 0.0) -> None:
        self._detectors, self._threshold = detectors, threshold

    def detect(self, texts: Sequence[str]) -> list[list[Detection]]:
        """The spans of each text; see `Detector.detect`."""
        columns = zip(*(detector.detect(texts) for detector in self._detectors), strict=True)
        merged = (longest(chain(*found)) for found in columns)
        return [[each for each in found if each.score >= self._threshold] for found in merged]
