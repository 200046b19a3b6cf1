"""Residual masks filled by a masked language model before candidates are scored (algorithm 6, appendix B)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

from sm_ops.core.errors import InputError
from sm_ops.masking.scrubbing import MASK
from sm_ops.scoring.hub import check_reachable, reading

How = Literal["paper", "repo"]


def load_filler(name: str, how: How = "paper", device: str = "cpu") -> Filler:
    """The filler of a masked language model, by folder or name; for `Material.fill`.

    Raises `InputError` where there is no such model, or none that fills masks.
    """
    from transformers import AutoModelForMaskedLM, AutoTokenizer

    check_reachable(name, None)
    with reading(name):
        tokenizer = AutoTokenizer.from_pretrained(name)
        model, found = AutoModelForMaskedLM.from_pretrained(name, output_loading_info=True)
    if tokenizer.mask_token_id is None or found["missing_keys"]:
        raise InputError(
            "no-masked-model", f"The model {name!r} has no mask token or no head that fills one; name a masked model."
        )
    return Filler(model.to(device), tokenizer, how)


class Filler:
    """Puts one token of a masked language model in place of each mask; the rest of a text stays as it is.

    The texts of one call are the parts of a query, in order, with a gap between any two. `paper`: each part alone, its
    masks one at a time from left to right, each with what was filled before it, and with those behind it still masked.
    `repo` (the official code): the whole query, its gaps as masks that stay, cut into windows; all masks of a window at
    once. A text longer than the model's positions is seen through a window, around the mask in `paper`.
    """

    def __init__(self, model: Any, tokenizer: Any, how: How = "paper") -> None:
        self._model, self._tokenizer, self._how = model.eval(), tokenizer, how
        self._words = _words(tokenizer, model.config.vocab_size)
        self._room = _positions(model, tokenizer) - 2

    def __call__(self, texts: Sequence[str]) -> list[str]:
        """The texts with every mask filled."""
        parts = [text.split(MASK) for text in texts]
        if self._how == "paper":
            filled = [self._one_by_one(*self._ids(pieces)) for pieces in parts]
        else:
            filled = self._at_once(parts)
        return [_joined(pieces, words) for pieces, words in zip(parts, filled, strict=True)]

    def _ids(self, pieces: Sequence[str]) -> tuple[list[int], list[int]]:
        """Ids of a text with mask tokens between its pieces, and the places of these."""
        ids: list[int] = []
        places = []
        for number, piece in enumerate(pieces):
            if number:
                places.append(len(ids))
                ids.append(self._tokenizer.mask_token_id)
            shown = piece.rstrip() if number + 1 < len(pieces) else piece  # the blank belongs to the filled word
            ids += self._tokenizer(shown, add_special_tokens=False)["input_ids"]
        return ids, places

    def _one_by_one(self, ids: list[int], places: Sequence[int]) -> list[str]:
        words = []
        for place in places:
            start = max(0, min(place - self._room // 2, len(ids) - self._room))
            ids[place] = self._likeliest(ids[start : start + self._room], [place - start])[0]
            words.append(self._words[ids[place]])
        return words

    def _at_once(self, parts: Sequence[Sequence[str]]) -> list[list[str]]:
        """One pass over the joined parts; the masks that join them are gaps."""
        query: list[int] = []
        places: list[list[int]] = []
        for number, pieces in enumerate(parts):
            if number:
                query.append(self._tokenizer.mask_token_id)
            ids, own = self._ids(pieces)
            places.append([len(query) + place for place in own])
            query += ids
        words = {}
        for start in range(0, len(query), self._room):
            window = query[start : start + self._room]
            own = [place for part in places for place in part if start <= place < start + len(window)]
            if own:
                found = self._likeliest(window, [place - start for place in own])
                words |= {place: self._words[each] for place, each in zip(own, found, strict=True)}
        return [[words[place] for place in own] for own in places]

    def _likeliest(self, ids: list[int], places: list[int]) -> list[int]:
        """The likeliest word at each place, the smallest id of tied ones."""
        import torch

        whole = torch.tensor(
            [[self._tokenizer.cls_token_id, *ids, self._tokenizer.sep_token_id]], device=self._model.device
        )
        with torch.inference_mode():
            logits = self._model(whole, attention_mask=torch.ones_like(whole)).logits[0, 1:-1][places]
        allowed = torch.tensor(list(self._words), device=logits.device)
        return allowed[logits[:, allowed].argmax(-1)].tolist()


def _words(tokenizer: Any, size: int) -> dict[int, str]:
    """The text of each id that can stand for a mention: no control token, no blank, no piece that continues a word."""
    ids = [i for i in range(min(size, len(tokenizer))) if i not in set(tokenizer.all_special_ids)]
    texts = tokenizer.batch_decode([[i] for i in ids])
    return {i: word for i, text in zip(ids, texts, strict=True) if (word := text.strip()) and not word.startswith("##")}


def _positions(model: Any, tokenizer: Any) -> int:
    """How many positions a text may have: models that number padding apart have fewer than their table."""
    tables = [part for name, part in model.named_modules() if name.endswith("position_embeddings")]
    padding = [table.padding_idx for table in tables if getattr(table, "padding_idx", None) is not None]
    before = padding[0] + 1 if padding else 0
    return min(model.config.max_position_embeddings - before, tokenizer.model_max_length)


def _joined(pieces: Sequence[str], words: Sequence[str]) -> str:
    return pieces[0] + "".join(word + piece for word, piece in zip(words, pieces[1:], strict=True))
