"""OpenAI Privacy Filter: a bidirectional token classifier of eight categories, through transformers.

Its attention is a band, so a token's scores depend on a known number of neighbours (layers times half a band) and on
nothing further away. A text that is too long for one pass is cut into windows that overlap by so many tokens on either
side, only a window's inner scores are kept, and one decoding runs over the whole text: cutting changes nothing.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from sm_ops.core.errors import InputError
from sm_ops.detectors import token_classifier
from sm_ops.detectors.bioes import Decoder
from sm_ops.detectors.detector import check_packages, missing_package
from sm_ops.detectors.forward import Forward
from sm_ops.detectors.token_classifier import TokenClassifier, with_output
from sm_ops.scoring.arithmetic import pick_device, pick_dtype
from sm_ops.scoring.hub import check_reachable, reading
from sm_ops.scoring.tokenize import load_tokenizer

PLACES = ("model",)
own_threshold = token_classifier.own_threshold

_ARCHITECTURE = "openai_privacy_filter"
_CALIBRATION = "viterbi_calibration.json"
DEFAULTS = {
    "model": "openai/privacy-filter",
    "revision": None,
    "operating_point": "default",
    "dtype": "float32",
    "device": "auto",
    "token_budget": 8192,
    "threads": 1,
    **token_classifier.SETTINGS,
}


def load(settings: Mapping[str, Any]) -> TokenClassifier:
    """The model that `settings` names.

    Reads `model` (folder or hub name), `revision`, `operating_point` (a set of biases in the checkpoint's
    viterbi_calibration.json; without that file all are 0), `output` ("decoded" | "log_odds" | "soft"), `threshold`,
    `dtype` ("float32" | "bfloat16" | "auto"), `device` ("auto" | "cpu" | "cuda"), `token_budget` (positions of a
    batch and of a window) and `threads`. Raises `InputError` where the model is not to be had or is another kind of
    model.
    """
    values = check(settings)
    name, revision = str(values["model"]), values["revision"]
    try:
        import torch
        from transformers import AutoConfig, AutoModelForTokenClassification

        device, dtype = pick_device(values["device"]), pick_dtype(values["dtype"])
    except ModuleNotFoundError as error:
        raise missing_package("privacy_filter", error) from None
    budget = values["token_budget"]
    torch.set_num_threads(values["threads"])
    check_reachable(name, revision)
    tokenizer = load_tokenizer(name, revision)
    with reading(name):
        config: Any = AutoConfig.from_pretrained(name, revision=revision or "main")
        if config.model_type != _ARCHITECTURE:
            hint = f"The model {name!r} is of kind {config.model_type!r}; name one of kind {_ARCHITECTURE!r}."
            raise InputError("other-architecture", hint)
        labels = [config.id2label[number] for number in range(config.num_labels)]
        decoder = Decoder(labels, _biases(name, revision, str(values["operating_point"])))
        model: Any = AutoModelForTokenClassification.from_pretrained(name, revision=revision or "main", dtype=dtype)
    forward = Forward(model.to(device).eval(), budget, _reach(config, budget), budget)
    return TokenClassifier(tokenizer, forward, decoder, values["output"], values["threshold"])


def check(settings: Mapping[str, Any]) -> dict[str, Any]:
    """The settings as `load` takes them."""
    values = with_output("privacy_filter", settings, DEFAULTS)
    pick_dtype(values["dtype"])
    return values


def available(settings: Mapping[str, Any]) -> None:
    """`InputError` where a package is not installed; whether the model can be had is seen when it is loaded."""
    check_packages("privacy_filter", "torch", "transformers")


def _reach(config: Any, budget: int) -> int:
    """How many neighbours to either side a token's scores depend on; `InputError` where a window has no room."""
    reach = config.num_hidden_layers * config.sliding_window
    if budget <= 2 * reach:
        raise InputError(
            "small-token-budget",
            f"token_budget is {budget}, but the model sees {reach} tokens to either side; give at least "
            f"{2 * reach + 1}.",
        )
    return reach


def _biases(name: str, revision: str | None, point: str) -> dict[str, float]:
    from transformers.utils.hub import cached_file

    path = cached_file(
        name,
        _CALIBRATION,
        revision=revision,
        _raise_exceptions_for_missing_entries=False,
        _raise_exceptions_for_connection_errors=False,
    )
    points: dict[str, dict[str, float]] = {"default": {}}
    if path is not None:
        try:
            file = json.loads(Path(path).read_text(encoding="utf-8"))
            points = {
                str(key): {str(bias): float(value) for bias, value in own["biases"].items()}
                for key, own in file["operating_points"].items()
            }
        except (ValueError, KeyError, TypeError, AttributeError):
            hint = f"{_CALIBRATION} of the model {name!r} has no operating points with biases; fetch the model again."
            raise InputError("bad-calibration", hint) from None
    if point not in points:
        hint = f"The model {name!r} has no operating point {point!r}; it has {', '.join(sorted(points))}."
        raise InputError("unknown-operating-point", hint)
    return points[point]
