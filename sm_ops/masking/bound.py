"""How unlikely an unmasked span can be: the generation-probability bound (section 10, paper G.1).

It holds for the global rule over fixed windows with the union of votes, with and without propagation, and speaks
of sampling from the reference model at temperature 1 without truncation. For other decoding see
`sm_ops/scoring/decoding.py`. Everything is in logs: the exponentials overflow for long spans.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from sm_ops.core.errors import InputError
from sm_ops.core.records import Record
from sm_ops.core.tokens import Scored
from sm_ops.masking.rules import Rule


@dataclass(frozen=True, slots=True)
class Bound:
    """Natural logs: the span's probability is at least, and the expected samples until it comes are at most, this."""

    log_p_lower: float
    log_samples_upper: float


def bound(m: int, n: int, tau: float) -> Bound:
    """For an unmasked span of m tokens under windows of n and the threshold `tau`: ln p >= -n tau ceil(m / n).

    Raises `InputError` for m < n: then no window lies inside the span, and nothing is known.
    """
    if m < n:
        raise InputError(
            "span-too-short", f"A span of {m} tokens holds no window of {n}; the bound needs at least {n} tokens."
        )
    reach = n * tau * -(-m // n)
    return Bound(log_p_lower=-reach, log_samples_upper=reach)


def refusal(rule: Rule, *, contrast: bool, temperature: float = 1.0, top_k: int = 0, top_p: float = 1.0) -> str | None:
    """Why the bound must not be stated for this rule and this decoding, as a sentence; `None` where it holds.

    `contrast` says whether scores are a prompted contrast. `top_k` 0 and `top_p` 1 = no truncation.
    """
    if contrast:
        reason = "scores are a prompted contrast, which is no log probability"
    elif rule.select != "global":
        reason = f"the {rule.select} rule compares windows with each other, not with one threshold"
    elif rule.windows != "fixed":
        reason = f"{rule.windows} windows have no fixed width"
    elif rule.agg != "mean":
        reason = f"the aggregate {rule.agg} is not the mean over all tokens of a window"
    elif rule.k > 1:
        reason = f"with {rule.k} votes a window over the threshold can stay unmasked"
    elif temperature != 1 or top_k > 0 or top_p < 1:
        reason = "it speaks of temperature 1 without truncation, and this decoding is another"
    else:
        return None
    return f"The generation-probability bound does not hold here: {reason}."


def check(logprobs: np.ndarray, n: int, tau: float) -> bool | None:
    """Whether an unmasked span's own log probabilities (nats, grid of OP-04) keep the bound; compared exactly.

    `None` where the claim does not apply: a window inside is selected at `tau` or not scored. Positive log
    probabilities (rounding noise, OP-07) loosen the bound by their sum. Raises `InputError` for fewer than n.
    """
    bound(len(logprobs), n, tau)
    if not np.isfinite(logprobs).all():
        return None
    values = [Fraction(float(value)) for value in logprobs]
    threshold = Fraction(tau)
    if any(-sum(values[i : i + n]) >= n * threshold for i in range(len(values) - n + 1)):
        return None
    noise = sum(value for value in values if value > 0)
    return sum(values) + noise >= -n * threshold * -(-len(values) // n)


@dataclass(frozen=True, slots=True)
class Target:
    """An annotated target under a rule: `status` is one of

    * `masked`: at least one of its tokens is masked;
    * `short`: unmasked, but of fewer than n tokens, so no window lies inside;
    * `unscored`: unmasked, but some token is ineligible or has no score;
    * `bounded`: unmasked and of m tokens, with ln p under the reference and the bound (nats), which an infinite
      threshold does not give.
    """

    status: str
    m: int
    log_p: float | None = None
    log_p_lower: float | None = None
    log_samples_upper: float | None = None


def targets(
    scored: Scored, mask: np.ndarray, spans: Sequence[tuple[int, int]], n: int, tau: float
) -> list[Target]:
    """What one record's mask of reference tokens (bool) leaves of its spans (characters), span by span.

    A span's tokens are those from the first to the last that share a character with it. Ask `refusal` first.
    """
    tokens, found = scored.tokens, []
    usable = tokens.eligible & np.isfinite(scored.logprobs)
    for start, end in spans:
        touching = np.flatnonzero((tokens.starts < end) & (tokens.ends > start) & (tokens.ends > tokens.starts))
        own = slice(int(touching[0]), int(touching[-1]) + 1) if len(touching) else slice(0, 0)
        m = own.stop - own.start
        if mask[own].any():
            found.append(Target("masked", m))
        elif m < n:
            found.append(Target("short", m))
        elif not usable[own].all():
            found.append(Target("unscored", m))
        else:
            limits = asdict(bound(m, n, tau)) if np.isfinite(tau) else {}
            found.append(Target("bounded", m, float(scored.logprobs[own].sum()), **limits))
    return found


def summary(found: Iterable[Target]) -> dict[str, Any]:
    """A data set's targets: how many have each status, and the range of the bounded ones' numbers.

    `log_p`, `log_p_lower` and `log_samples_upper` are `[smallest, median, largest]`, or `None` without a bounded one.
    """
    found = list(found)
    bounded = [each for each in found if each.status == "bounded"]

    def spread(name: str) -> list[float] | None:
        values = [value for each in bounded if (value := getattr(each, name)) is not None]
        return np.quantile(values, [0.0, 0.5, 1.0]).tolist() if values else None

    return {
        "targets": len(found),
        **{status: sum(each.status == status for each in found) for status in _STATUSES},
        **{name: spread(name) for name in ("log_p", "log_p_lower", "log_samples_upper")},
    }


def told(
    rule: Rule,
    level: float | np.ndarray,
    records: Sequence[Record],
    scored: Sequence[Scored],
    masks: Sequence[np.ndarray],
) -> dict[str, Any]:
    """The bound over labelled records, as JSON: `refusal` where it does not hold, else a `summary` and `unmasked`.

    `level` is the threshold, or one per record; `masks` are those of the reference's tokens. `unmasked` has one entry
    for each unmasked target, with its label and the numbers of `Target`.
    """
    contrast = any(each.violating is not None for each in scored)
    if reason := refusal(rule, contrast=contrast):
        return {"refusal": reason, "summary": None, "unmasked": []}
    taus = np.broadcast_to(np.asarray(level, np.float64), len(records)).tolist()
    found: list[tuple[str, Target]] = []
    for record, own, mask, tau in zip(records, scored, masks, taus, strict=True):
        spans = record.content_spans
        places = targets(own, mask, [(start, end) for start, end, _ in spans], rule.n, tau)
        found += [(label, each) for (_, _, label), each in zip(spans, places, strict=True)]
    unmasked = [{"label": label, **asdict(each)} for label, each in found if each.status != "masked"]
    return {"refusal": None, "summary": summary(each for _, each in found), "unmasked": unmasked}


_STATUSES = ("masked", "short", "unscored", "bounded")
