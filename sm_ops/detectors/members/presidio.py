"""Presidio's analyzer over a spaCy model, with its Korean recognisers, and without any network.

Beside what Presidio loads for English this uses what it ships for Korea: resident and foreigner registration numbers,
driver's licences, passports and business numbers (its own Korean pipeline would need a Korean spaCy model), and the
phone numbers of Korea. Its patterns are taken as they are, with their faults: an e-mail address that a particle
follows is not found, and a domain must be in the public suffix list, so `.test` and `.example` are no domains.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from importlib import import_module
from typing import Any

from sm_ops.detectors.detector import (
    Detection,
    check_packages,
    check_texts,
    in_order,
    missing_package,
    with_threshold,
)
from sm_ops.detectors.spacy_models import DEFAULT, check_installed, check_lengths

PACKAGES = ("presidio-analyzer", "phonenumbers", "tldextract")
PLACES = ("model",)
DEFAULTS = {"model": DEFAULT, "threshold": 0.4}
"""Below 0.4 are shapes that no context supports, such as any 8 to 17 digits as a bank number."""

_KOREAN = ("KrRrn", "KrFrn", "KrBrn", "KrDriverLicense", "KrPassport")
_BATCH = 64


def load(settings: Mapping[str, Any]) -> PresidioDetector:
    """The analyzer; reads `model` (a spaCy model of English: package or folder) and `threshold`.

    Raises `InputError` where Presidio, spaCy or the model is not installed; nothing is ever downloaded.
    """
    values = check(settings)
    try:
        import_module("spacy")  # before Presidio, which would be imported without it
        import_module("presidio_analyzer")
    except ModuleNotFoundError as error:
        raise missing_package("presidio", error) from None
    model = str(values["model"])
    check_installed(model)  # Presidio would download it
    logging.getLogger("presidio-analyzer").setLevel(logging.ERROR)  # it warns of every entity that nobody asked for
    return PresidioDetector(_analyzer(model), values["threshold"])


def check(settings: Mapping[str, Any]) -> dict[str, Any]:
    """The settings as `load` takes them."""
    return with_threshold("presidio", settings, DEFAULTS)


def available(settings: Mapping[str, Any]) -> None:
    """`InputError` where Presidio, spaCy or the model is not installed."""
    check_packages("presidio", "spacy", "presidio_analyzer")
    check_installed(str(check(settings)["model"]))


class PresidioDetector:
    """An analyzer in the language `en`, given texts in batches; labels and scores are Presidio's."""

    def __init__(self, analyzer: Any, threshold: float) -> None:
        from presidio_analyzer import BatchAnalyzerEngine

        self._analyzer, self._threshold = analyzer, threshold
        self._batches = BatchAnalyzerEngine(analyzer)

    def detect(self, texts: Sequence[str]) -> list[list[Detection]]:
        """The spans of each text; see `Detector.detect`. The same place may have several labels."""
        check_texts(texts)
        check_lengths(texts, self._analyzer.nlp_engine.nlp["en"].max_length)
        found = self._batches.analyze_iterator(texts, language="en", batch_size=_BATCH, score_threshold=self._threshold)
        return [in_order(Detection(r.start, r.end, r.entity_type, float(r.score)) for r in each) for each in found]


def _analyzer(model: str) -> Any:
    from presidio_analyzer import AnalyzerEngine, RecognizerRegistry, predefined_recognizers
    from presidio_analyzer.nlp_engine import SpacyNlpEngine

    engine = SpacyNlpEngine(models=[{"lang_code": "en", "model_name": model}])
    engine.load()
    registry = RecognizerRegistry(supported_languages=["en"])
    registry.load_predefined_recognizers(languages=["en"], nlp_engine=engine)
    own = [*_offline(), _phones()]
    own += [getattr(predefined_recognizers, f"{name}Recognizer")(supported_language="en") for name in _KOREAN]
    for recognizer in own:
        registry.remove_recognizer(recognizer.name)
        registry.add_recognizer(recognizer)
    return AnalyzerEngine(registry=registry, nlp_engine=engine, supported_languages=["en"])


def _phones() -> Any:
    from presidio_analyzer.predefined_recognizers import PhoneRecognizer

    return PhoneRecognizer(supported_regions=(*PhoneRecognizer.DEFAULT_SUPPORTED_REGIONS, "KR"))


def _offline() -> list[Any]:
    """The two recognisers that ask for the public suffix list, with the copy that tldextract brings."""
    from presidio_analyzer.predefined_recognizers import EmailRecognizer, UrlRecognizer
    from tldextract import TLDExtract

    suffixes = TLDExtract(cache_dir=None, suffix_list_urls=())

    class _Email(EmailRecognizer):
        def validate_result(self, pattern_text: str) -> bool:
            return bool(suffixes(pattern_text).fqdn)

    class _Url(UrlRecognizer):
        def validate_result(self, pattern_text: str) -> bool:
            return bool(suffixes(pattern_text).fqdn)

    return [_Email(name="EmailRecognizer"), _Url(name="UrlRecognizer")]
