"""An interpolated n-gram over byte-level BPE tokens as reference: trained in seconds, scored by array look-ups.

Witten-Bell interpolation: with c(h w) the count of w after h, c(h) its sum and t(h) the number of distinct words
after h, P(w | h) = (c(h w) + t(h) P(w | h without its first token)) / (c(h) + t(h)); the empty history falls
back to the uniform distribution. Every text begins with `order - 1` prefix tokens.
"""

from __future__ import annotations

import hashlib
import io
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any
from zipfile import BadZipFile

import numpy as np

from sm_ops.core.errors import InputError
from sm_ops.core.fs import write_atomic, write_json
from sm_ops.core.records import Record
from sm_ops.core.tokens import Scored
from sm_ops.core.types import Progress
from sm_ops.scoring.grid import to_grid
from sm_ops.scoring.hub import damaged
from sm_ops.scoring.scores import Source
from sm_ops.scoring.tokenize import encode, tokenize_all, tokenizer_hash, untrim

FORMAT = "ngram/1"
PREFIX_TOKEN = "<|endoftext|>"
_BATCH = 256


def fit(
    texts: Sequence[str],
    path: Path,
    order: int = 3,
    vocab_size: int = 2048,
    repeat: Sequence[int] | None = None,
) -> None:
    """Train tokenizer and counts on `texts` and write them to the folder `path`.

    `repeat` says how often each text counts (all once by default), so that a few clean documents of the user's
    own domain can outweigh general ones.
    """
    tokenizer = _train_tokenizer(texts, vocab_size)
    ids = [np.array(encode(tokenizer, text)[0], dtype=np.int64) for text in texts]
    model = NGram.count(ids, order, tokenizer.get_vocab_size(), repeat)
    path.mkdir(parents=True, exist_ok=True)
    write_atomic(path / "tokenizer.json", tokenizer.to_str().encode())
    buffer = io.BytesIO()
    arrays: dict[str, Any] = {}
    for k, (keys, counts) in enumerate(model.levels, 1):
        arrays |= {f"keys{k}": keys, f"counts{k}": counts}
    np.savez(buffer, **arrays)
    write_atomic(path / "counts.npz", buffer.getvalue())
    write_json(path / "ngram.json", {"sm_ops_format": FORMAT, "order": order, "vocab_size": model.vocab_size})


def load(settings: Any) -> NGramReference:
    """The n-gram in the folder `settings.model`, as `fit` wrote it; a prompt is refused."""
    from tokenizers import Tokenizer

    if settings.prompt is not None or settings.violating is not None:
        raise InputError(
            "prompted-ngram",
            "An n-gram sees a few tokens back and has no use for a prompt; leave it out, or use the backend hf.",
        )
    folder = Path(settings.model)
    try:
        config = json.loads((folder / "ngram.json").read_text())
        counts = (folder / "counts.npz").read_bytes()
        tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
    except FileNotFoundError:
        raise InputError(
            "model-not-found",
            f"{settings.model!r} is no n-gram folder (ngram.json, counts.npz, tokenizer.json); fit one first.",
        ) from None
    except Exception:  # tokenizers raises no other class
        raise damaged(str(settings.model)) from None
    if config.get("sm_ops_format") != FORMAT:
        raise InputError(
            "unknown-format",
            f"{settings.model!r} has format {config.get('sm_ops_format')!r}, this version reads {FORMAT!r}; refit it.",
        )
    untrim(tokenizer)
    try:
        with np.load(io.BytesIO(counts)) as arrays:
            levels = [(arrays[f"keys{k}"], arrays[f"counts{k}"]) for k in range(1, config["order"] + 1)]
    except (ValueError, KeyError, OSError, EOFError, BadZipFile):
        raise damaged(str(settings.model)) from None
    model = NGram(config["vocab_size"], tuple(levels))
    return NGramReference(model, tokenizer, folder.resolve().name, hashlib.sha256(counts).hexdigest())


@dataclass(frozen=True)
class NGram:
    """Counts of all 1- to `order`-grams; `levels[k-1]` holds the sorted keys of the k-grams and their counts.

    The key of a k-gram is its ids read as digits to the base `vocab_size`.
    """

    vocab_size: int
    levels: tuple[tuple[np.ndarray, np.ndarray], ...]

    @classmethod
    def count(
        cls, texts: Sequence[np.ndarray], order: int, vocab_size: int, repeat: Sequence[int] | None = None
    ) -> NGram:
        """Count the n-grams of texts given as ids; each text counts `repeat` times."""
        if vocab_size**order >= 2**63:
            raise InputError(
                "ngram-too-large", f"order {order} with vocab_size {vocab_size} is too large; lower one of them."
            )
        times = np.repeat(np.ones(len(texts), np.int64) if repeat is None else repeat, [len(t) for t in texts])
        levels = []
        for keys in _keys(texts, order, vocab_size):
            unique, inverse = np.unique(keys, return_inverse=True)
            levels.append((unique, np.bincount(inverse, weights=times, minlength=len(unique)).astype(np.int64)))
        return cls(vocab_size, tuple(levels))

    @cached_property
    def _histories(self) -> list[tuple[np.ndarray, np.ndarray, np.ndarray]]:
        """Per level the sorted histories, c(h) and t(h)."""
        result = []
        for keys, counts in self.levels:
            histories, first, types = np.unique(keys // self.vocab_size, return_index=True, return_counts=True)
            result.append((histories, np.add.reduceat(counts, first) if len(first) else counts, types))
        return result

    def logprobs(self, texts: Sequence[np.ndarray]) -> np.ndarray:
        """ln P of every id of every text, end to end."""
        probability = np.full(sum(map(len, texts)), 1.0 / self.vocab_size)
        keys_by_level = _keys(texts, len(self.levels), self.vocab_size)
        for keys, (known, counts), (histories, totals, types) in zip(
            keys_by_level, self.levels, self._histories, strict=True
        ):
            history = keys // self.vocab_size
            total, kinds = _look_up(histories, history, totals, types)
            (count,) = _look_up(known, keys, counts)
            mixed = count + kinds * probability
            probability = np.where(total > 0, mixed / np.maximum(total + kinds, 1), probability)
        return np.log(probability)


class NGramReference:
    """A fitted n-gram as a `Reference`; chats are read as their contents joined by newlines."""

    context = None

    def __init__(self, model: NGram, tokenizer: Any, name: str, revision: str) -> None:
        self.tokenizer = tokenizer
        self.source = Source(name, revision, tokenizer_hash(tokenizer), prefix=PREFIX_TOKEN, dtype="float64")
        self._model = model

    def score(self, records: Sequence[Record], progress: Progress | None = None) -> list[Scored]:
        """Scores of `records` in their order; see `Reference.score`."""
        tokens = tokenize_all(records, self.tokenizer)
        scored: list[Scored] = []
        for top in range(0, len(records), _BATCH):
            part = tokens[top : top + _BATCH]
            values = to_grid(self._model.logprobs([each.ids for each in part]))
            cuts = np.cumsum([len(each) for each in part])[:-1]
            scored += [
                Scored(record.id, record.group, each, own)
                for record, each, own in zip(records[top : top + _BATCH], part, np.split(values, cuts), strict=True)
            ]
            if progress is not None:
                progress(len(scored), len(records))
        return scored


def _keys(texts: Sequence[np.ndarray], order: int, base: int) -> Iterator[np.ndarray]:
    """For k = 1..order: the key of the k-gram that ends at each token of each text, prefix tokens in front."""
    pad = np.zeros(order - 1, dtype=np.int64)  # the prefix token is the trainer's first token, id 0
    joined = np.concatenate([np.concatenate([pad, text]) for text in texts] or [pad]).astype(np.int64)
    own = np.concatenate([np.repeat([False, True], [order - 1, len(text)]) for text in texts] or [pad > 0])
    positions = np.flatnonzero(own)
    keys = np.zeros(len(positions), dtype=np.int64)
    for back in range(order):
        keys = keys + joined[positions - back] * base**back
        yield keys


def _look_up(sorted_keys: np.ndarray, wanted: np.ndarray, *values: np.ndarray) -> list[np.ndarray]:
    """Of each array of values, those of `wanted` keys, 0 for unknown ones.

    Searching for rising keys is several times as fast as for any.
    """
    if not len(sorted_keys):
        return [np.zeros(len(wanted), dtype=np.int64) for _ in values]
    rising = np.argsort(wanted)
    place = np.empty(len(wanted), np.int64)
    place[rising] = np.searchsorted(sorted_keys, wanted[rising])
    np.minimum(place, len(sorted_keys) - 1, out=place)
    known = sorted_keys[place] == wanted
    return [np.where(known, own[place], 0) for own in values]


def _train_tokenizer(texts: Sequence[str], vocab_size: int) -> Any:
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, processors, trainers

    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.post_processor = processors.ByteLevel(trim_offsets=False)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=vocab_size,
        special_tokens=[PREFIX_TOKEN],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    tokenizer.train_from_iterator(texts, trainer)
    return tokenizer
