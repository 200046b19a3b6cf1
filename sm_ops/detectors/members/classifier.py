"""A token classifier that was fine-tuned on the user's own labelled records (see `detectors.classifier.fitting`)."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from sm_ops.core.errors import InputError
from sm_ops.detectors import token_classifier
from sm_ops.detectors.bioes import Decoder
from sm_ops.detectors.classifier.fitting import margin
from sm_ops.detectors.classifier.settings import ABOUT, DEFAULTS, FORMAT, check
from sm_ops.detectors.detector import check_packages, missing_package
from sm_ops.detectors.forward import Forward, frame
from sm_ops.detectors.token_classifier import TokenClassifier
from sm_ops.scoring.arithmetic import pick_device, positive
from sm_ops.scoring.hub import reading
from sm_ops.scoring.tokenize import load_tokenizer

PLACES = ("model", "encoder")
own_threshold = token_classifier.own_threshold
__all__ = ["DEFAULTS", "PLACES", "available", "check", "load", "own_threshold"]


def load(settings: Mapping[str, Any]) -> TokenClassifier:
    """The model in the folder `model`; its labels are the categories that it learned.

    Reads `model`, `output` ("decoded" | "log_odds" | "soft"), `threshold`, `device`, `token_budget` (positions of a
    batch) and `threads`; settings of the fitting may stand beside them. Raises `InputError` where the folder holds no
    such model.
    """
    values = check(settings)
    try:
        import torch
        from transformers import AutoModelForTokenClassification

        device = pick_device(values["device"])
    except ModuleNotFoundError as error:
        raise missing_package("classifier", error) from None
    folder = _fitted(values["model"])
    torch.set_num_threads(values["threads"])
    window = _about(folder)["window"]
    with reading(str(folder)):
        tokenizer = load_tokenizer(folder)
        model: Any = AutoModelForTokenClassification.from_pretrained(folder, dtype="float32")
    around = frame(tokenizer)
    budget = max(values["token_budget"], window + sum(map(len, around)))
    forward = Forward(model.to(device).eval(), window, margin(window), budget, around)
    decoder = Decoder([model.config.id2label[number] for number in range(model.config.num_labels)])
    return TokenClassifier(tokenizer, forward, decoder, values["output"], values["threshold"])


def available(settings: Mapping[str, Any]) -> None:
    """`InputError` where a package is not installed, or the folder `model` holds no fitted model."""
    check_packages("classifier", "torch", "transformers")
    _about(_fitted(check(settings)["model"]))


def _fitted(model: Any) -> Path:
    if model is None or not (Path(str(model)) / ABOUT).is_file():
        where = "is not set" if model is None else f"is {str(model)!r}, where none is"
        raise InputError(
            "no-classifier",
            f"The detector 'classifier' needs the folder of a fitted model, and `model` {where}; fit one with "
            "sm_ops.detectors.classifier.fitting.fit (in sanitization a filter without `model` is fitted in the run).",
        )
    return Path(str(model))


def _about(folder: Path) -> dict[str, Any]:
    try:
        about = json.loads((folder / ABOUT).read_text(encoding="utf-8"))
        if about["format"] == FORMAT:
            positive("window", about["window"])
            return about
    except (ValueError, KeyError, TypeError):
        pass
    raise InputError("unknown-format", f"{folder / ABOUT} is not of format {FORMAT!r}; fit the classifier again.")
