"""OpenAI Privacy Filter: a bidirectional token classifier of eight categories, through transformers.

Its attention is a band, so a token's scores depend on a known number of neighbours (layers times half a band) and on
nothing further away. A text that is too long for one pass is cut into windows that overlap by so many tokens on either
side, only a window's inner scores are kept, and one decoding runs over the whole text: cutting changes nothing.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from sm_ops.core.errors import InputError
from sm_ops.detectors.bioes import Decoder
from sm_ops.detectors.detector import (
    Detection,
    check_texts,
    in_order,
    missing_package,
    threshold_of,
    with_defaults,
)
from sm_ops.scoring.arithmetic import pick_device, pick_dtype, positive
from sm_ops.scoring.hub import check_reachable, reading
from sm_ops.scoring.tokenize import encode, load_tokenizer

_ARCHITECTURE = "openai_privacy_filter"
_CALIBRATION = "viterbi_calibration.json"
_DEFAULTS = {
    "model": "openai/privacy-filter",
    "revision": None,
    "operating_point": "default",
    "threshold": 0.0,
    "dtype": "float32",
    "device": "auto",
    "token_budget": 8192,
}


def load(settings: Mapping[str, Any]) -> PrivacyFilter:
    """The model that `settings` names.

    Reads `model` (folder or hub name), `revision`, `operating_point` (a set of biases in the checkpoint's
    viterbi_calibration.json; without that file all are 0), `threshold`, `dtype` ("float32" | "bfloat16" | "auto"),
    `device` ("auto" | "cpu" | "cuda") and `token_budget` (positions of a batch and of a window).
    Raises `InputError` where the model is not to be had or is another kind of model.
    """
    values = with_defaults("privacy_filter", settings, _DEFAULTS)
    threshold, name, revision = threshold_of(values), str(values["model"]), values["revision"]
    try:
        from transformers import AutoConfig, AutoModelForTokenClassification

        device, dtype = pick_device(values["device"]), pick_dtype(values["dtype"])
    except ModuleNotFoundError as error:
        raise missing_package("privacy_filter", error) from None
    budget = positive("token_budget", values["token_budget"])
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
    return PrivacyFilter(model.to(device).eval(), tokenizer, decoder, threshold, budget)


class _Window(NamedTuple):
    """Tokens [start, end) of a text go through the model; of their scores those of [first, last) are kept."""

    text: int
    start: int
    end: int
    first: int
    last: int


class PrivacyFilter:
    """A loaded model with its tokenizer; labels are its categories, scores mean probabilities of the category."""

    def __init__(self, model: Any, tokenizer: Any, decoder: Decoder, threshold: float, token_budget: int) -> None:
        """Take a model in evaluation mode; `InputError` where `token_budget` leaves a window no room."""
        self._model, self._tokenizer, self._decoder = model, tokenizer, decoder
        self._threshold, self._budget = threshold, token_budget
        self._reach = model.config.num_hidden_layers * model.config.sliding_window
        if token_budget <= 2 * self._reach:
            raise InputError(
                "small-token-budget",
                f"token_budget is {token_budget}, but the model sees {self._reach} tokens to either side; give at "
                f"least {2 * self._reach + 1}.",
            )

    def detect(self, texts: Sequence[str]) -> list[list[Detection]]:
        """The spans of each text, without blanks at their ends; see `Detector.detect`."""
        check_texts(texts)
        encoded = [encode(self._tokenizer, text) for text in texts]
        scores = self._logits([ids for ids, _ in encoded])
        return [
            self._detections(text, offsets, own) for text, (_, offsets), own in zip(texts, encoded, scores, strict=True)
        ]

    def _detections(self, text: str, offsets: Sequence[tuple[int, int]], logits: np.ndarray) -> list[Detection]:
        found = []
        for span in self._decoder.spans(logits):
            start, end = offsets[span.start][0], offsets[span.end - 1][1]
            value = text[start:end]
            start += len(value) - len(value.lstrip())
            end -= len(value) - len(value.rstrip())
            if start < end and span.score >= self._threshold:
                found.append(Detection(start, end, span.category, span.score))
        return in_order(found)

    def _logits(self, texts: Sequence[Sequence[int]]) -> list[np.ndarray]:
        """Scores of shape (tokens, labels) for each text."""
        scores = [np.zeros((len(ids), self._model.config.num_labels), np.float32) for ids in texts]
        for batch in self._batches([w for number, ids in enumerate(texts) for w in self._windows(number, len(ids))]):
            rows = self._run([texts[window.text][window.start : window.end] for window in batch])
            for window, row in zip(batch, rows, strict=True):
                kept = row[window.first - window.start : window.last - window.start]
                scores[window.text][window.first : window.last] = kept
        return scores

    def _windows(self, text: int, length: int) -> Iterator[_Window]:
        if length <= self._budget:
            if length:
                yield _Window(text, 0, length, 0, length)
            return
        for first in range(0, length, step := self._budget - 2 * self._reach):
            last = min(first + step, length)
            yield _Window(text, max(0, first - self._reach), min(length, last + self._reach), first, last)

    def _batches(self, windows: list[_Window]) -> Iterator[list[_Window]]:
        """Windows of similar length together, each batch within the budget, padding included."""
        batch: list[_Window] = []
        for window in sorted(windows, key=lambda w: (w.end - w.start, w)):
            if (len(batch) + 1) * (window.end - window.start) > self._budget:
                yield batch
                batch = []
            batch.append(window)
        if batch:
            yield batch

    def _run(self, rows: Sequence[Sequence[int]]) -> np.ndarray:
        import torch

        longest, device = max(map(len, rows)), self._model.device
        ids = torch.full((len(rows), longest), self._model.config.pad_token_id or 0)
        mask = torch.zeros_like(ids)
        for number, row in enumerate(rows):
            ids[number, : len(row)] = torch.tensor(row)
            mask[number, : len(row)] = 1
        with torch.inference_mode():
            logits = self._model(input_ids=ids.to(device), attention_mask=mask.to(device)).logits
        return logits.float().cpu().numpy()


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
