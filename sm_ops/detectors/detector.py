"""What every detector offers, whatever it is made of: texts in, labelled spans with scores out."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from importlib.util import find_spec
from typing import Any, NamedTuple, Protocol

from sm_ops.core import settings as core_settings
from sm_ops.core.errors import InputError

SECRET = "secret"
"""The label of every credential: scanners have hundreds of rules, whose names say what a key opens, not what it is."""


class Detection(NamedTuple):
    """A found span: half-open code points of the given text, the detector's own label, and a score.

    The score says in [0, 1] how sure the detector is; where it leaves the threshold to others
    (`batches.own_threshold`) it is any finite number, larger = more suspicious.
    """

    start: int
    end: int
    label: str
    score: float


class Detector(Protocol):
    """A filter that is loaded once and given many texts.

    It answers for each text alone: the same spans, whatever other texts it is given with.
    """

    def detect(self, texts: Sequence[str]) -> list[list[Detection]]:
        """The spans of each text, ascending, none of them empty; spans of different labels may overlap.

        Raises `InputError` that names a text by its index, never by its content.
        """
        ...


def in_order(detections: Iterable[Detection]) -> list[Detection]:
    """Detections as `detect` gives them: ascending by start, then end, then label; one for each of these."""
    best: dict[tuple[int, int, str], Detection] = {}
    for each in detections:
        place = each[:3]
        if place not in best or best[place].score < each.score:
            best[place] = each
    return sorted(best.values())


def check_texts(texts: Sequence[str]) -> None:
    """Refuse what is no text: models stop at a lone surrogate with a message that holds the text."""
    for index, text in enumerate(texts):
        if not isinstance(text, str):
            raise InputError("no-text", f"Text {index} is no string; give strings.")
        if not text.isascii() and any("\ud800" <= character <= "\udfff" for character in text):
            raise InputError(
                "lone-surrogate", f"Text {index} holds half a surrogate pair; read the file as UTF-8 without errors=."
            )


def with_defaults(detector: str, settings: Mapping[str, Any], defaults: Mapping[str, Any]) -> dict[str, Any]:
    """The detector's settings, the missing ones filled in; `InputError` for a name that it does not know."""
    return core_settings.with_defaults(f"the detector {detector!r}", settings, defaults)


def threshold_of(settings: Mapping[str, Any]) -> float:
    """The setting `threshold`: detections with a lower score are left out."""
    value = settings["threshold"]
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 1:
        raise InputError("bad-threshold", f"threshold is {value!r}; give a number from 0 to 1.")
    return float(value)


def with_threshold(detector: str, settings: Mapping[str, Any], defaults: Mapping[str, Any]) -> dict[str, Any]:
    """As `with_defaults`; `InputError`, too, where the setting `threshold` is none (see `threshold_of`)."""
    values = with_defaults(detector, settings, defaults)
    return {**values, "threshold": threshold_of(values)}


def check_packages(detector: str, *modules: str, extra: str = "detectors") -> None:
    """`InputError` for the first module that is not installed; none is imported."""
    for name in modules:
        if find_spec(name) is None:
            raise missing_package(detector, ModuleNotFoundError(name=name), extra)


def missing_package(detector: str, error: ModuleNotFoundError, extra: str = "detectors") -> InputError:
    """What to say where a detector's optional package is not installed."""
    return InputError(
        "missing-package",
        f"The detector {detector!r} needs the package {error.name}, which is not installed; "
        f"install sm-ops with the extra `{extra}`: pip install 'sm-ops[{extra}]'.",
    )
