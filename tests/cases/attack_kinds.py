"""Extraction and extractability (spec sections 13 and 14): counting of guesses, exact quantities of small models."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from fractions import Fraction
from typing import Any

from sm_ops.attacks import exact
from sm_ops.attacks.members import extraction

Input = dict[str, Any]


def model_of(lm: Input) -> exact.MarkovModel:
    """A case's `lm` object."""
    return exact.MarkovModel(
        start=_row(lm["start"]),
        table={tuple(context.split(" ")): _row(row) for context, row in lm["table"].items()},
        order=lm["order"],
    )


def _row(row: Input) -> dict[str, Fraction]:
    return {token: Fraction(chance) for token, chance in row.items()}


def _text(value: Fraction | None) -> str | None:
    return None if value is None else str(value)


def _pii(case: Input) -> Input:
    generated, train = (
        Counter(("C", value) for value in case[key] if len(value) >= case.get("min_chars", 0))
        for key in ("generated", "train")
    )
    rows = extraction.strings(train, [generated], lambda label, value: value)
    variant = replace(extraction.VARIANTS[case.get("variant", "paper")], cap=case.get("cap", False))
    outcome = extraction.count(rows, set(case.get("baseline", ())), variant)
    guessed, hits = len(outcome.guesses), outcome.hits
    return {
        "guessed": guessed,
        "hits": hits,
        "precision": str(Fraction(hits, guessed)) if guessed else None,
        "recall": str(Fraction(hits, outcome.size)) if outcome.size else None,
    }


def _succ(case: Input) -> Input:
    return {"succ": _text(exact.success(case["games"]))}


def _occurrences(case: Input) -> Input:
    return {"value": _text(exact.expected_occurrences(model_of(case["lm"]), case["target"], case["length"]))}


def _contains(case: Input) -> Input:
    return {"value": _text(exact.chance_of_occurrence(model_of(case["lm"]), case["target"], case["length"]))}


def _lazy_exact(case: Input) -> Input:
    model, top_k = model_of(case["lm"]), case.get("top_k", 0)
    return {"value": _text(exact.lazy(model, case["target"], case["slots"], case["length"], top_k))}


def _lazy_samples(case: Input) -> Input:
    model = model_of(case["lm"])
    return {"value": _text(exact.lazy_of_samples(model, case["target"], case["slots"], case["samples"]))}


def _observed(case: Input) -> Input:
    return {"value": _text(exact.observed(case["tags"], case["target"]))}


KINDS = {
    "atk.pii": _pii,
    "atk.succ": _succ,
    "atk.occurrences": _occurrences,
    "atk.contains": _contains,
    "atk.lazy_exact": _lazy_exact,
    "atk.lazy_samples": _lazy_samples,
    "atk.observed": _observed,
}
