"""Membership inference: was a sentence in the training data (spec section 16, OP-59; background IV-H).

Scores are larger for likelier members. `phi` is the mean log probability of a sentence's tokens in nats, which is
minus its loss. A shadow model saw a sentence where it saw a record that holds the same text. Sentences of one record
are not independent: intervals take records as clusters.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterator, Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from sm_ops.attacks.material import Material, Row
from sm_ops.attacks.measures import Measure, by_occurrences, measure, rate
from sm_ops.attacks.sentences import Sentence, sentences_of, token_logprobs
from sm_ops.core.errors import InputError
from sm_ops.core.types import Progress, unheard
from sm_ops.metrics import (
    auroc,
    auroc_interval,
    clustered_rate,
    threshold_at_fpr,
    tpr_at_fpr,
    tpr_at_fpr_interval,
)
from sm_ops.scoring.language_model import LanguageModel

KNOWLEDGE = (
    "The attacker has sentences and the probabilities that the model gives their tokens; `ref_baseline` also asks the "
    "public model, and `ref`, `offline` and `lira` ask shadow models trained on records of the same kind."
)
HEADLINE = {"measure": "auc", "score": "loss", "variant": "all", "class": "all"}
PREFERRED = ({"score": "ref"}, {"score": "ref_baseline"})
"""Stronger scores, where there are shadow models or at least a public one. With few shadows `lira` is noisy."""

SCORES = ("loss", "ref_baseline", "ref", "offline", "lira")
RATES = (Fraction(1, 100), Fraction(1, 1000))
_SMALLEST_DEVIATION = 1e-6
_BOTH = "its text is among members and others"
_NO_TOKEN = "no token to score"


def run(
    model: LanguageModel,
    material: Material,
    settings: Any,
    seed: int,
    progress: Progress = unheard,
) -> list[Row]:
    """A row for each sentence of members and others; with `settings.sentences`, for that many of either, drawn.

    `scores` are null where they are undefined: `ref` and `offline` need a shadow model that did not see the sentence,
    `lira` also one that did. `left_out` says why a row has no score. Raises `InputError` without others, and where
    shadow models make it matter that a member and another record share an id.
    """
    if not material.others:
        raise InputError(
            "no-others",
            "Membership inference compares members with records that the model never saw, and there are none; "
            "name some (--others).",
        )
    if material.shadows and {r.id for r in material.records} & {r.id for r in material.others}:
        raise InputError(
            "shared-ids",
            "Members and others share record ids, so it is unknown which of them a shadow model saw; rename them.",
        )
    members, others = (sentences_of(side, material.attacked) for side in (material.records, material.others))
    occurrences = Counter(each.text for each in members)
    both = occurrences.keys() & {each.text for each in others}
    drawn = [
        (member, each)
        for member, sentences in ((True, members), (False, others))
        for each in _drawn(sentences, settings.sentences, seed)
    ]
    chosen, left = ([pair for pair in drawn if (pair[1].text in both) == out] for out in (False, True))
    texts = list(dict.fromkeys(each.text for _, each in chosen))
    phi, tokens = _phi(model, texts, progress)
    shadows = [_phi(shadow.model, texts, progress)[0] for shadow in material.shadows]
    seen = [_seen(members + others, shadow.seen, texts) for shadow in material.shadows]
    size = (len(shadows), len(texts))
    found = scores(phi, np.array(shadows).reshape(size), np.array(seen, bool).reshape(size))
    place = {text: number for number, text in enumerate(texts)}

    def row(member: bool, each: Sentence, number: int | None) -> Row:
        count = 0 if number is None else int(tokens[number])
        return {
            "member": member,
            "case": each.case,
            "record": each.record,
            "class": None,
            "mention": each.mention,
            "length": len(each.text),
            "occurrences": occurrences[each.text],
            "tokens": count,
            "phi": float(phi[number]) if number is not None and count else None,
            "scores": {} if number is None else {name: _number(own[number]) for name, own in found.items()},
            "left_out": _BOTH if number is None else None if count else _NO_TOKEN,
        }

    return [row(member, each, place[each.text]) for member, each in chosen] + [row(*pair, None) for pair in left]


def scores(phi: np.ndarray, shadow: np.ndarray, seen: np.ndarray) -> dict[str, np.ndarray]:
    """`loss`, `ref`, `offline` and `lira` of n sentences (spec section 16); NaN where one is undefined.

    `phi` (n) is the attacked model's, `shadow` (models, n) that of the shadow models, `seen` (models, n) says which of
    them were trained on the sentence. Standard deviations are those of the population, and at least 1e-6.
    """
    centre_in, spread_in = _moments(shadow, seen)
    centre_out, spread_out = _moments(shadow, ~seen)
    return {
        "loss": phi,
        "ref": phi - centre_out,
        "offline": (phi - centre_out) / spread_out,
        "lira": _log_density(phi, centre_in, spread_in) - _log_density(phi, centre_out, spread_out),
    }


def summary(rows: list[Row], baseline: list[Row] | None, settings: Any) -> list[Measure]:
    """AUC and the true positive rate at false positive rates of 1 % and 0.1 %, for each score that is defined.

    `variant`: all sentences, those with a mention, those without; then by how often the sentence stands in the
    members, against all others. AUC has the interval of `metrics.auroc_interval` (DeLong over records), the rates that
    of `metrics.tpr_at_fpr_interval` (bootstrap over records), or Wilson's over records where resamples agree. `too_few`
    marks rates for which there are fewer others than one in 1 / FPR: then it is the rate without a false positive.
    """
    known = {(row["member"], row["case"]): row["phi"] for row in baseline or []}
    kept = [_with_baseline(row, known) for row in rows if row["left_out"] is None]
    measures = [
        rate("left_out", sum(row["left_out"] == reason for row in rows), len(rows), variant=reason)
        for reason in (_BOTH, _NO_TOKEN)
    ]
    for score in SCORES:
        scored = [row for row in kept if row["scores"].get(score) is not None]
        if not scored and score != HEADLINE["score"]:
            continue
        measures.append(rate("undefined", len(kept) - len(scored), len(kept), score=score))
        others = [row for row in scored if not row["member"]]
        groups: list[tuple[dict[str, str], list[Row]]] = [
            ({"variant": "all"}, scored),
            ({"variant": "with a mention"}, [row for row in scored if row["mention"]]),
            ({"variant": "without a mention"}, [row for row in scored if not row["mention"]]),
        ]
        groups += [
            ({"variant": "all", "occurrences": labels["occurrences"]}, own + others)
            for labels, own in by_occurrences([row for row in scored if row["member"]])
        ]
        for labels, own in groups:
            measures += _measures(score, labels, own)
    return measures


def _measures(score: str, labels: dict[str, str], rows: Sequence[Row]) -> Iterator[Measure]:
    values = np.array([row["scores"][score] for row in rows], np.float64)
    member = np.array([row["member"] for row in rows], bool)
    records = np.array([f"{row['member']}/{row['record']}" for row in rows])
    sizes = {"members": int(member.sum()), "others": int((~member).sum())}
    ends = auroc_interval(values, member, records)
    yield {**measure("auc", auroc(values, member), ends, "delong", len(rows), **labels, score=score), **sizes}
    for most in RATES:
        value, passed = tpr_at_fpr(values, member, most), values >= threshold_at_fpr(values, member, most)
        ends, interval = tpr_at_fpr_interval(values, member, records, most, seed=0), "bootstrap"
        if ends is None and value is not None:
            ends, interval = clustered_rate(passed[member], records[member]), "wilson"
        found = measure(f"tpr_at_fpr_{float(most):g}", value, ends, interval, sizes["members"], **labels, score=score)
        yield {**found, **sizes, "hits": int(passed[member].sum()), "too_few": most * sizes["others"] < 1}


def _with_baseline(row: Row, known: dict[tuple[bool, str], float | None]) -> Row:
    """The row with the public model as the one shadow model that saw nothing."""
    public = known.get((row["member"], row["case"]))
    difference = None if public is None else row["phi"] - public
    return {**row, "scores": {**row["scores"], "ref_baseline": difference}}


def _drawn(sentences: Sequence[Sentence], most: int | None, seed: int) -> list[Sentence]:
    """At most so many of them, the same whatever their order is; they keep it."""
    if most is None or len(sentences) <= most:
        return list(sentences)

    def key(each: Sentence) -> bytes:
        return hashlib.blake2b(f"{seed}\x1f{each.case}".encode(), digest_size=8).digest()

    last = sorted(map(key, sentences))[most - 1]
    return [each for each in sentences if key(each) <= last]


def _phi(model: LanguageModel, texts: Sequence[str], progress: Progress) -> tuple[np.ndarray, np.ndarray]:
    """Mean log probability (NaN without a token) and number of scored tokens of each text."""
    logprobs = token_logprobs(model, texts, progress)
    phi = np.array([own.mean() if len(own) else np.nan for own in logprobs], np.float64)
    return phi, np.array([len(own) for own in logprobs], np.int64)


def _seen(sentences: Sequence[Sentence], records: frozenset[str], texts: Sequence[str]) -> list[bool]:
    known = {each.text for each in sentences if each.record in records}
    return [text in known for text in texts]


def _moments(values: np.ndarray, counted: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Mean and population standard deviation (at least 1e-6) of each column's counted values; NaN for none."""
    n = counted.sum(axis=0)
    n = np.where(n, n, np.nan)
    centre = np.where(counted, values, 0).sum(axis=0) / n
    variance = np.where(counted, (values - centre) ** 2, 0).sum(axis=0) / n
    return centre, np.maximum(np.sqrt(variance), _SMALLEST_DEVIATION)


def _log_density(values: np.ndarray, centre: np.ndarray, spread: np.ndarray) -> np.ndarray:
    return -0.5 * ((values - centre) / spread) ** 2 - np.log(spread) - 0.5 * np.log(2 * np.pi)


def _number(value: float) -> float | None:
    return float(value) if np.isfinite(value) else None
