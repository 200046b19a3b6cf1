"""Reconstruction, TAB and inference (spec section 15): guesses in small models, exclusions, candidate sets."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
from attack_kinds import model_of
from small_models import MarkovLanguageModel

from sm_ops.attacks import candidate_sets, guesses
from sm_ops.scoring.candidates import rank

Input = dict[str, Any]

EXCLUDE = {None: "none", "base_correct": "paper", "base_same": "repo"}


def _reconstruct(case: Input) -> Input:
    named = {"".join(tokens): name for name, tokens in case["candidates"].items()}
    ranking = rank(
        MarkovLanguageModel(model_of(case["lm"])),
        "".join(case["prefix"]),
        list(named),
        "".join(case["suffix"]),
        case.get("criterion", "ppl"),
    )
    return {
        "best": None if ranking.best is None else named[ranking.best],
        "tied": [named[each] for each in ranking.tied],
        "ppl": {named[each]: ppl if np.isfinite(ppl) else None for each, ppl in ranking.perplexity.items()},
    }


def _tab(case: Input) -> Input:
    model = MarkovLanguageModel(model_of(case["lm"]))
    ids = [*model.prefix, *model.encode("".join(case["prefix"]))[0]]
    return {"tokens": [model.decode([each]) for each in model.greedy(ids, case["length"])]}


def _accuracy(case: Input) -> Input:
    rows, base = (
        [
            {"case": number, "class": "C", "occurrences": 1, "guess": guess, "hit": guess == true}
            for number, (guess, true) in enumerate(zip(given, case["true"], strict=True))
        ]
        for given in (case["pred"], case.get("base", case["pred"]))
    )
    wanted = {"variant": EXCLUDE[case.get("exclude")], "class": "all"}
    found = next(each for each in guesses.accuracy(rows, base) if wanted.items() <= each.items())
    return {"accuracy": str(Fraction(found["hits"], found["n"]))}


def _candidates(case: Input) -> Input:
    return {"p": _texts(candidate_sets.chances(case["sentences"], case["mode"]))}


def _inclusion(case: Input) -> Input:
    chances = candidate_sets.chances(case["sentences"], case["mode"])
    return {"p": _texts(candidate_sets.inclusion(chances, case["target"], case["size"]))}


def _texts(chances: dict[str, Fraction]) -> dict[str, str]:
    return {value: str(chance) for value, chance in chances.items()}


KINDS: dict[str, Callable[[Input], Input]] = {
    "atk.reconstruct": _reconstruct,
    "atk.tab": _tab,
    "atk.accuracy": _accuracy,
    "atk.candidates": _candidates,
    "atk.inclusion": _inclusion,
}
