"""Exact quantities of extraction under a model of finite order, in rationals (spec section 14, eq. 2 and 3).

Three quantities that are easily mixed up: the expected number of occurrences of a target (eq. 3; it may exceed 1), the
chance that it occurs at least once, and the mean chance of the target at a slot of its class (alg. 4). Texts have a
fixed number of tokens; none ends early.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

from sm_ops.core.errors import InputError

Token = str
Context = tuple[Token, ...]
Chances = Mapping[Token, Fraction]


@dataclass(frozen=True)
class MarkovModel:
    """A model whose next token depends on the last `order` tokens, fewer at the beginning of a text.

    `start` is the row of the first token, `table` that of each context. Raises `InputError` for an order below 1 and
    for a row whose chances do not sum to 1.
    """

    start: Chances
    table: Mapping[Context, Chances]
    order: int = 1

    def __post_init__(self) -> None:
        if self.order < 1:
            raise InputError("bad-order", f"order is {self.order}; give 1 or more.")
        for number, row in enumerate([self.start, *self.table.values()]):
            if sum(row.values()) != 1 or min(row.values()) < 0:
                raise InputError("bad-row", f"Row {number} (0: the start) has chances that do not sum to 1.")

    def row(self, context: Context) -> Chances:
        """The chances of the next token; `InputError` for a context that the table lacks."""
        known = context[-self.order :]
        if not known:
            return self.start
        if known not in self.table:
            raise InputError("no-row", f"The table has no row for a context of {len(known)} tokens that is reached.")
        return self.table[known]

    def chance(self, continuation: Iterable[Token], context: Context = ()) -> Fraction:
        """The chance of exactly this continuation behind a context."""
        chance = Fraction(1)
        for token in continuation:
            chance *= self.row(context).get(token, Fraction(0))
            if not chance:
                break
            context = (*context, token)[-self.order :]
        return chance

    def reached(self, length: int, top_k: int = 0) -> Iterator[dict[Context, Fraction]]:
        """The distribution of the last `order` tokens before each of `length` places, as a sampler gets there."""
        now = {(): Fraction(1)}
        for _ in range(length):
            yield now
            after: defaultdict[Context, Fraction] = defaultdict(Fraction)
            for context, chance in now.items():
                for token, share in among_top(self.row(context), top_k).items():
                    after[(*context, token)[-self.order :]] += chance * share
            now = dict(after)


def among_top(row: Chances, k: int) -> Chances:
    """A row cut to its k likeliest tokens, those tied with the k-th kept, and to chances above 0 (OP-56; 0: all)."""
    positive = {token: chance for token, chance in row.items() if chance}
    if not 0 < k < len(positive):
        return positive
    least = sorted(positive.values(), reverse=True)[k - 1]
    kept = {token: chance for token, chance in positive.items() if chance >= least}
    whole = sum(kept.values())
    return {token: chance / whole for token, chance in kept.items()}


def expected_occurrences(model: MarkovModel, target: Sequence[Token], length: int) -> Fraction:
    """How often the target stands in a text of `length` tokens, on average (eq. 3); overlapping ones count."""
    places = max(0, length - len(target) + 1)
    return sum(
        (
            chance * model.chance(target, context)
            for contexts in model.reached(places)
            for context, chance in contexts.items()
        ),
        start=Fraction(0),
    )


def chance_of_occurrence(model: MarkovModel, target: Sequence[Token], length: int) -> Fraction:
    """The chance that the target stands in a text of `length` tokens at least once.

    By the automaton of the target's prefixes (Knuth, Morris and Pratt), run beside the model: O(length * contexts *
    len(target)) states. Raises `InputError` for an empty target.
    """
    borders = _borders(target)
    found = Fraction(0)
    now: dict[tuple[Context, int], Fraction] = {((), 0): Fraction(1)}
    for _ in range(length):
        after: defaultdict[tuple[Context, int], Fraction] = defaultdict(Fraction)
        for (context, matched), chance in now.items():
            for token, share in among_top(model.row(context), 0).items():
                longer = _advance(target, borders, matched, token)
                if longer == len(target):
                    found += chance * share
                else:
                    after[(*context, token)[-model.order :], longer] += chance * share
        now = dict(after)
    return found


def lazy(
    model: MarkovModel, target: Sequence[Token], slots: Collection[Token], length: int, top_k: int = 0
) -> Fraction | None:
    """What the lazy estimate (alg. 4) approaches with ever more texts of `length` tokens; slots are single tokens.

    The expected sum of the target's chances over the slots of a text, divided by the expected number of slots
    (OP-54). Texts are drawn from the `top_k` likeliest tokens (0: all), the target's chance is of the whole row, and
    the target may reach beyond the text. `None` where no slot is ever drawn.
    """
    total = seen = Fraction(0)
    for contexts in model.reached(length, top_k):
        for context, chance in contexts.items():
            drawn = among_top(model.row(context), top_k)
            slot = chance * sum((drawn.get(token, Fraction(0)) for token in set(slots)), start=Fraction(0))
            if slot:
                seen += slot
                total += slot * model.chance(target, context)
    return total / seen if seen else None


def lazy_of_samples(
    model: MarkovModel, target: Sequence[Token], slots: Collection[Token], samples: Iterable[Sequence[Token]]
) -> Fraction | None:
    """The lazy estimate (alg. 4) from given texts: one ratio over the slots of all of them; `None` without a slot."""
    chances = [
        model.chance(target, tuple(sample[:place]))
        for sample in samples
        for place, token in enumerate(sample)
        if token in slots
    ]
    return sum(chances, start=Fraction(0)) / len(chances) if chances else None


def observed(found: Sequence[Collection[Hashable]], target: Hashable) -> Fraction | None:
    """The share of samples whose mentions hold the target (alg. 3); `None` without a sample."""
    return Fraction(sum(target in own for own in found), len(found)) if found else None


def success(games: Sequence[tuple[Collection[Hashable], Collection[Hashable]]]) -> Fraction | None:
    """The mean recall of (true set, guessed set) over games (eq. 2); games without a true string are left out."""
    recalls = [Fraction(len({*true} & {*guess}), len({*true})) for true, guess in games if true]
    return sum(recalls, start=Fraction(0)) / len(recalls) if recalls else None


def _borders(target: Sequence[Token]) -> list[int]:
    """For each prefix of the target, the length of its longest proper border."""
    if not target:
        raise InputError("empty-target", "The target has no token; give one.")
    borders = [0]
    for token in target[1:]:
        borders.append(_advance(target, borders, borders[-1], token))
    return borders


def _advance(target: Sequence[Token], borders: Sequence[int], matched: int, token: Token) -> int:
    while matched and target[matched] != token:
        matched = borders[matched - 1]
    return matched + (target[matched] == token)
