"""Adapter for the published masking cases: `run(kind, input)`, see ../shared/cases/masking/CASES.md.

One function per kind, in one table per module. To extend it, write a module beside this one with its own table and
add that table to `KINDS`.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from itertools import pairwise
from types import SimpleNamespace
from typing import Any

import attack_kinds
import hf_kinds
import measure_kinds
import membership_kinds
import numpy as np
import reconstruction_kinds
import training_kinds

from sm_ops.calibration.critical import critical_values
from sm_ops.calibration.thresholds import Threshold, at_max_f1, at_recall, by_category
from sm_ops.core.errors import InputError
from sm_ops.core.records import Record, Span
from sm_ops.core.tokens import Scored, Tokens
from sm_ops.masking.baselines import goldfish, oracle, random
from sm_ops.masking.corpus import Corpus
from sm_ops.masking.duplicates import propagate
from sm_ops.masking.intervals import line, sentence
from sm_ops.masking.labels import labels
from sm_ops.masking.local_rank import local_rank
from sm_ops.masking.procedure import mask_downstream, mask_reference
from sm_ops.masking.windows import FixedWindows, windows_of
from sm_ops.metrics import auroc

Input = dict[str, Any]


def run(kind: str, case: Input) -> Input:
    """What the product answers to a case; an error that a user would see is `{"error": True}`."""
    if kind not in KINDS:
        raise NotImplementedError(kind)
    try:
        return KINDS[kind](case)
    except InputError:
        return {"error": True}


# From the cases' notation to ours and back


def _tokens(length: int, offsets=None, ids=None, sup=None, special=None) -> Tokens:
    spans = np.array(offsets if offsets is not None else [[i, i + 1] for i in range(length)], np.int64)
    spans = spans.reshape(-1, 2)
    return Tokens(
        ids=np.array(ids if ids is not None else [0] * length, np.int64),
        starts=spans[:, 0],
        ends=spans[:, 1],
        special=np.array(special if special is not None else [0] * length, bool),
        supervised=np.array(sup if sup is not None else [1] * length, bool),
    )


def _logprobs(values: list) -> np.ndarray:
    return np.array([np.nan if value is None else float(value) for value in values], np.float64)


def _corpus(records: list[Input]) -> Corpus:
    scored = [
        Scored(
            id=str(number),
            group=record.get("group"),
            tokens=_tokens(
                len(record["ids"]),
                record.get("offsets"),
                ids=record["ids"],
                sup=record.get("sup"),
                special=record.get("special"),
            ),
            logprobs=_logprobs(record.get("lp_compliant") or record.get("lp") or [None] * len(record["ids"])),
            violating=_logprobs(record["lp_violating"]) if "lp_violating" in record else None,
        )
        for number, record in enumerate(records)
    ]
    return Corpus.from_scored(scored, [_text(record, str(number)) for number, record in enumerate(records)])


def _text(record: Input, name: str = "r") -> Record:
    return Record(name, text=record.get("text", ""), meta={"fields": record.get("fields", [])})


def _rule(rule: Input) -> SimpleNamespace:
    return SimpleNamespace(**{**DEFAULTS, **rule})


DEFAULTS = {"n": 0, "k": 1, "agg": "mean", "propagate": "none", "prop_n": None, "radius": 32}


def _ints(mask: np.ndarray) -> list[int]:
    return mask.astype(int).tolist()


def _finite(values: np.ndarray) -> list[float | None]:
    return [value if np.isfinite(value) else None for value in values.tolist()]


# Windows, rules, propagation, projection


def _window_scores(case: Input) -> Input:
    corpus = _flat(case)
    return {"L": _finite(FixedWindows(corpus.bounds, case["n"]).scores(corpus))}


def _flat(case: Input) -> Corpus:
    cuts = pairwise(np.cumsum([0, *case.get("lens", [len(case["lp"])])]).tolist())
    flags = {name: case.get(name) or [value] * len(case["lp"]) for name, value in (("sup", 1), ("special", 0))}
    return _corpus(
        [
            {
                "ids": [0] * (end - start),
                "lp": case["lp"][start:end],
                **{key: value[start:end] for key, value in flags.items()},
            }
            for start, end in cuts
        ]
    )


def _lines(case: Input) -> Input:
    return {"intervals": [list(each) for each in line.lines(case["text"])]}


def _sentences(case: Input) -> Input:
    return {"intervals": [list(each) for each in sentence.sentences(case["text"])]}


def _interval_windows(case: Input) -> Input:
    corpus = _corpus([{"ids": [0] * len(case["offsets"]), **case}])
    windows = windows_of(corpus, case["windows"], 0)
    return {"windows": [windows.members(window).tolist() for window in range(windows.bounds[-1])]}


def _interval_scores(case: Input) -> Input:
    corpus = _corpus([{"ids": [0] * len(case["offsets"]), **case}])
    return {"L": _finite(windows_of(corpus, case["windows"], 0).scores(corpus, case.get("agg", "mean")))}


def _local_rank(case: Input) -> Input:
    corpus = _flat(case)
    scores = FixedWindows(corpus.bounds, case["n"]).scores(corpus)
    return {"rank": _finite(local_rank(scores, corpus.bounds, case.get("radius", 32)))}


def _mask(case: Input) -> Input:
    corpus = _corpus(case["records"])
    return {"mask": [_ints(own) for own in corpus.split(mask_reference(corpus, _rule(case["rule"])))]}


def _propagate(case: Input) -> Input:
    corpus = _corpus(case["records"])
    mask = np.concatenate([np.array(record["mask"], bool) for record in case["records"]])
    spread = propagate(mask, corpus, case.get("scope", "group"), case["n"])
    return {"mask": [_ints(own) for own in corpus.split(spread)]}


def _project(case: Input) -> Input:
    reference = _tokens(len(case["ref_mask"]), case["ref_offsets"])
    downstream = _tokens(
        len(case["dn_offsets"]), case["dn_offsets"], sup=case.get("dn_sup"), special=case.get("dn_special")
    )
    return {"mask": _ints(mask_downstream(reference, np.array(case["ref_mask"], bool), downstream))}


def _oracle(case: Input) -> Input:
    record = Record("r", text="", spans=tuple(Span(start, end, "x") for start, end in case["spans"]))
    tokens = _tokens(len(case["offsets"]), case["offsets"], sup=case.get("sup"), special=case.get("special"))
    return {"mask": _ints(oracle.mask([record], [tokens])[0])}


def _labels(case: Input) -> Input:
    learned = labels(np.array(case["ids"]), np.array(case["sup"], bool), np.array(case["mask"], bool))
    return {"labels": learned.tolist()}


# Calibration and metrics


def _critical(case: Input) -> Input:
    corpus = _corpus(case["records"])
    return {"crit": [_finite(own) for own in corpus.split(critical_values(corpus, _rule(case["rule"])))]}


def _labelled(case: Input) -> tuple[np.ndarray, np.ndarray]:
    corpus = _corpus(case["records"])
    critical = critical_values(corpus, _rule(case["rule"]))
    gold, ignored = (
        np.concatenate([np.array(record.get(key, [0] * len(record["ids"])), bool) for record in case["records"]])
        for key in ("gold", "ignore")
    )
    return critical[~ignored], gold[~ignored]  # the cases count ineligible gold positions as out of reach


def _threshold_recall(case: Input) -> Input:
    point = at_recall(*_labelled(case), case["target"])
    return {**_named(point), "recall": point.recall, "reached": point.reached, "masked": point.masked}


def _threshold_f1(case: Input) -> Input:
    point = at_max_f1(*_labelled(case))
    return {**_named(point), "f1": point.f1, "masked": point.masked}


def _named(point: Threshold) -> Input:
    return {"tau": point.tau, "r_star": None if point.tau is None else -point.tau}


def _threshold_by_category(case: Input) -> Input:
    critical = np.array([unit["crit"] for unit in case["units"]], np.float64)
    members = {name: np.array([unit["cat"] == name for unit in case["units"]]) for name in case["categories"]}
    points = by_category(critical, members)
    return {name: {"tau": point.tau, "f1": point.f1} for name, point in points.items()}


def _auroc(case: Input) -> Input:
    scores = np.array([-np.inf if score is None else score for score in case["scores"]], np.float64)
    return {"auroc": auroc(scores, np.array(case["labels"], bool))}


def _auc(case: Input) -> Input:
    value = _auroc(case)["auroc"]
    return {"auc": None if value is None else str(Fraction(value).limit_denominator(10**6))}


# Baselines


def _random_masks(case: Input, reverse: bool = False) -> tuple[list[np.ndarray], list[Tokens]]:
    rows = case["records"][::-1] if reverse else case["records"]
    tokens = [_tokens(len(row["sup"]), sup=row["sup"], special=row.get("special")) for row in rows]
    masks = random.mask(
        [Record(row["id"], text="") for row in rows],
        tokens,
        budget=case["budget"][::-1] if reverse and isinstance(case["budget"], list) else case["budget"],
        seed=case["seed"],
        scope=case.get("scope", "corpus"),
    )
    return (masks[::-1], tokens[::-1]) if reverse else (masks, tokens)


def _random(case: Input) -> Input:
    return {"mask": [_ints(own) for own in _random_masks(case)[0]]}


def _random_count(case: Input) -> Input:
    masks, tokens = _random_masks(case)
    reversed_masks, _ = _random_masks(case, reverse=True)
    return {
        "total": sum(int(own.sum()) for own in masks),
        "per_record": [int(own.sum()) for own in masks],
        "illegal": sum(int((own & ~its.eligible).sum()) for own, its in zip(masks, tokens, strict=True)),
        "order_free": all(np.array_equal(a, b) for a, b in zip(masks, reversed_masks, strict=True)),
    }


def _goldfish_masks(texts: list[str], case: Input) -> list[np.ndarray]:
    tokens = _tokens(len(case["offsets"]), case["offsets"])
    records = [Record(str(number), text=text) for number, text in enumerate(texts)]
    return goldfish.mask(records, [tokens] * len(texts), k=case["k"], seed=case["seed"], h=case["h"])


def _goldfish(case: Input) -> Input:
    return {"mask": _ints(_goldfish_masks([case["text"]], case)[0])}


def _goldfish_norm(case: Input) -> Input:
    return {"s": goldfish.normalise(case["s"])}


def _goldfish_ids(case: Input) -> Input:
    cuts = pairwise(np.cumsum([0, *case["lens"]]).tolist())
    records = [_tokens(end - start, ids=case["ids"][start:end]) for start, end in cuts]
    masks = goldfish.mask_ids(records, k=case["k"], seed=case["seed"], h=case["h"])
    return {"mask": [bit for own in masks for bit in _ints(own)]}


def _goldfish_props(case: Input) -> Input:
    text, offsets, k, h = case["text"], case["offsets"], case["k"], case["h"]
    mask = _goldfish_masks([text], case)[0]
    decisions: dict[str, set[bool]] = {}
    for position in range(k, len(offsets)):
        context = goldfish.normalise(text[offsets[max(0, position - h)][0] : offsets[position][0]])
        decisions.setdefault(context, set()).add(bool(mask[position]))
    replaced = _goldfish_masks([text[:start] + "#" * (end - start) + text[end:] for start, end in offsets], case)
    trials = len(offsets) - k
    return {
        "first_k": int(mask[:k].sum()),
        "repeat": np.array_equal(mask, _goldfish_masks([text], case)[0]),
        "own_token_free": all(own[place] == mask[place] for place, own in enumerate(replaced)),
        "same_context": all(len(seen) == 1 for seen in decisions.values()),
        "rate_ok": abs(mask.sum() - trials / k) <= 5 * np.sqrt(trials * (1 / k) * (1 - 1 / k)),
    }


MASKING: dict[str, Callable[[Input], Input]] = {
    "sm.window_scores": _window_scores,
    "sm.lines": _lines,
    "sm.sentences": _sentences,
    "sm.interval_windows": _interval_windows,
    "sm.interval_scores": _interval_scores,
    "sm.local_rank": _local_rank,
    "sm.mask": _mask,
    "sm.propagate": _propagate,
    "sm.project": _project,
    "sm.oracle": _oracle,
    "sm.labels": _labels,
    "sm.critical": _critical,
    "sm.threshold_recall": _threshold_recall,
    "sm.threshold_f1": _threshold_f1,
    "sm.threshold_by_category": _threshold_by_category,
    "sm.auroc": _auroc,
    "atk.auc": _auc,
    "sm.random": _random,
    "sm.random_count": _random_count,
    "sm.goldfish": _goldfish,
    "sm.goldfish_norm": _goldfish_norm,
    "sm.goldfish_ids": _goldfish_ids,
    "sm.goldfish_props": _goldfish_props,
}

KINDS: dict[str, Callable[[Input], Input]] = {
    **MASKING,
    **attack_kinds.KINDS,
    **measure_kinds.KINDS,
    **membership_kinds.KINDS,
    **reconstruction_kinds.KINDS,
    **hf_kinds.KINDS,
    **training_kinds.KINDS,
}
"""Every kind the product answers; further modules add their tables here."""
