"""Case kinds that need a forward pass, and the extraction attack's arithmetic: one function per kind in `KINDS`."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from functools import cache
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np

from sm_ops.attacks.material import Material
from sm_ops.attacks.members import prefix_extraction as attack
from sm_ops.core.records import Record
from sm_ops.core.sensitive import Sensitive
from sm_ops.core.tokens import Scored, Tokens
from sm_ops.masking.corpus import Corpus
from sm_ops.masking.procedure import mask_downstream, mask_reference
from sm_ops.scoring.backends import hf
from sm_ops.scoring.candidates import rank
from sm_ops.scoring.contrast import align
from sm_ops.scoring.models.hf import HFModel
from sm_ops.scoring.perplexity import corpus_perplexity, perplexity
from sm_ops.scoring.tokenize import encode, tokenize

Input = dict[str, Any]
MODELS = Path(__file__).resolve().parents[2].parent / "shared" / "cases" / "masking" / "models"


@cache
def _loaded(name: str) -> tuple[Any, Any]:
    settings = SimpleNamespace(
        model=str(MODELS / name), revision=None, dtype="float32", device="cpu", token_budget=1024,
        prefix_token=None, examples=(), prompt=None, violating=None, threads=1,
    )  # fmt: skip
    reference = hf.load(settings)
    return reference._model, reference.tokenizer


def _score(case: Input) -> Any:
    model, tokenizer = _loaded(case["model"])
    head = hf.fixed_head(tokenizer) if case.get("bos", True) else []
    head += encode(tokenizer, case.get("prompt", ""))[0]
    reference = hf.HFReference(model, tokenizer, head)
    return reference.score([Record("0", text=case["text"])])[0]


def _hf_score(case: Input) -> Input:
    scored = _score(case)
    return {
        "ids": scored.tokens.ids.tolist(),
        "offsets": np.stack([scored.tokens.starts, scored.tokens.ends], axis=1).tolist(),
        "lp": [None if np.isnan(value) else value for value in scored.logprobs.tolist()],
    }


def _hf_contrast(case: Input) -> Input:
    model, tokenizer = _loaded(case["model"])
    head, violating = (hf.fixed_head(tokenizer, prompt=case[name]) for name in ("compliant", "violating"))
    reference = hf.HFReference(model, tokenizer, head, violating=violating)
    return {"s": reference.score([Record("0", text=case["text"])])[0].surprise.tolist()}


def _sm_contrast(case: Input) -> Input:
    violating, compliant = (_placed(case[name]) for name in ("violating", "compliant"))
    surprise = align(violating, compliant).surprise
    return {"s": [None if np.isnan(value) else value for value in surprise.tolist()]}


def _placed(rows: list[list]) -> Scored:
    """A record from `[start, end, log probability]` rows."""
    starts, ends = np.array([row[:2] for row in rows], np.int64).reshape(-1, 2).T
    flags = np.zeros(len(rows), bool)
    tokens = Tokens(np.zeros(len(rows), np.int64), starts, ends, special=flags, supervised=~flags)
    return Scored("0", None, tokens, np.array(_floats([row[2] for row in rows])))


def _hf_reconstruct(case: Input) -> Input:
    ranking = rank(HFModel(*_loaded(case["model"])), case["prefix"], case["candidates"], case["suffix"])
    return {"best": ranking.best, "tied": ranking.tied, "ppl": ranking.perplexity}


def _hf_ppl(case: Input) -> Input:
    return {"ppl": perplexity(_score(case).logprobs)}


def _hf_greedy(case: Input) -> Input:
    model = HFModel(*_loaded(case["model"]))
    return {"ids": model.greedy([*model.prefix, *model.encode(case["text"])[0]], case["n"])}


def _hf_mask(case: Input) -> Input:
    scored = _score(case)
    rule = {"propagate": "none", "agg": "mean", "prop_n": None, **case["rule"]}
    mask = mask_reference(Corpus.from_scored([scored]), SimpleNamespace(**rule))
    result = {"mask": mask.astype(int).tolist()}
    if "downstream" in case:
        downstream = tokenize(Record("0", text=case["text"]), _loaded(case["downstream"])[1])
        result["dn_mask"] = mask_downstream(scored.tokens, mask, downstream).astype(int).tolist()
    return result


def _hf_extract(case: Input) -> Input:
    model = HFModel(*_loaded(case["model"]))
    canary = SimpleNamespace(id="0", kind="test", value=Sensitive(case["canary"]))
    settings = SimpleNamespace(samples=1, budgets=(1,), reveal=case["rule"], batch_size=1)
    (row,) = attack.run(model, Material(records=(), canaries=[canary]), settings, seed=0)
    result = {
        "r": row["tokens"] - row["hidden"],
        "p_exact": row["p_exact"],
        "within": [attack.expected_exact(row["p_exact"], b) for b in case["budgets"]],
    }
    if case.get("approx"):
        p = approx_chance(model, case["canary"], result["r"])
        result |= {"p_approx": p, "within_approx": [attack.expected_exact(p, b) for b in case["budgets"]]}
    return result


def approx_chance(model: HFModel, value: str, known: int) -> float:
    """The chance of an approximate hit: every sequence within reach of few edits, each scored by the model."""
    ids, _ = model.encode(value)
    prefix, hidden = [*model.prefix, *ids[:known]], tuple(ids[known:])
    words = [i for i in range(len(model.tokenizer)) if i != model.end]
    near = {hidden}
    for _ in range(7 * len(hidden) // 20):
        for seq in list(near):
            for i in range(len(seq) + 1):
                near |= {seq[:i] + seq[i + 1 :]}
                near |= {(*seq[:i], w, *seq[i + skip :]) for w in words for skip in (0, 1)}
    hits = [s for s in near if len(s) <= len(hidden) and attack.approximate_hit(s, hidden)]
    ended = [s if len(s) == len(hidden) else (*s, model.end) for s in hits]
    return sum(float(np.exp(own.sum())) for own in model.continuation_logprobs(prefix, ended))


def _atk_reveal(case: Input) -> Input:
    return {"r": [attack.revealed(length, case["rule"]) for length in case["L"]]}


def _atk_edit(case: Input) -> Input:
    return {"d": attack.edit_distance(case["a"], case["b"])}


def _atk_curve(case: Input) -> Input:
    rows = []
    for canary in case["canaries"]:
        hidden = canary["ids"][attack.revealed(len(canary["ids"]), case["rule"]) :]
        approx, exact = attack.first_hits(canary["conts"], hidden)
        rows.append({"samples": len(canary["conts"]), "first_approx": approx, "first_exact": exact})
    return {
        name: [str(Fraction(attack.hits(rows, f"first_{name}", budget), len(rows))) for budget in case["budgets"]]
        for name in ("approx", "exact")
    }


def _atk_within(case: Input) -> Input:
    return {"p": attack.expected_exact(float(Fraction(case["p"])), case["b"])}


def _floats(values: list[float | None]) -> list[float]:
    return [np.nan if value is None else value for value in values]


def _atk_ppl(case: Input) -> Input:
    return {"ppl": perplexity(_floats(case["lp"]))}


def _atk_corpus_ppl(case: Input) -> Input:
    return {"ppl": corpus_perplexity([_floats(text) for text in case["texts"]], case["how"])}


KINDS: dict[str, Callable[[Input], Input]] = {
    "hf.score": _hf_score,
    "hf.contrast": _hf_contrast,
    "sm.contrast": _sm_contrast,
    "hf.reconstruct": _hf_reconstruct,
    "hf.ppl": _hf_ppl,
    "hf.greedy": _hf_greedy,
    "hf.mask": _hf_mask,
    "hf.extract": _hf_extract,
    "atk.reveal": _atk_reveal,
    "atk.edit": _atk_edit,
    "atk.curve": _atk_curve,
    "atk.within": _atk_within,
    "atk.ppl": _atk_ppl,
    "atk.corpus_ppl": _atk_corpus_ppl,
}
