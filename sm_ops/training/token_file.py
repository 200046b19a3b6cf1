"""The tokens of a long text in one file, of which any part is read without the rest.

A folder holds `tokens.bin` (unsigned integers of 2 or 4 bytes, little end first) and `tokens.json` (`format`,
`dtype`, `tokens`, `documents`, `separator`). Before each document stands the separator.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np

from sm_ops.core import fs
from sm_ops.core.errors import InputError
from sm_ops.core.types import Progress, unheard
from sm_ops.data.general import Piece
from sm_ops.scoring.tokenize import backend, encode, separator_id

FORMAT = "tokens/1"
_TOKENS, _ABOUT = "tokens.bin", "tokens.json"


def write(
    pieces: Iterable[Piece],
    tokenizer: Any,
    wanted: int,
    folder: Path,
    progress: Progress = unheard,
) -> dict[str, int]:
    """Write exactly so many tokens, separators among them; the last document is cut. Memory holds one piece.

    Returns `tokens`, `documents` (begun), `characters` (read) and `bytes`. Raises `InputError` where there are fewer
    tokens, with their number, or for a piece that is no text.
    """
    folder.mkdir(parents=True, exist_ok=True)
    separator, entries = separator_id(tokenizer), backend(tokenizer).get_vocab_size()
    dtype = np.dtype("<u2" if entries <= 1 << 16 else "<u4")
    written = documents = characters = 0
    with (folder / _TOKENS).open("wb") as file:
        for number, (text, begins) in enumerate(pieces):
            if written == wanted:
                break
            ids = ([separator] if begins else []) + encode(tokenizer, text)[0]
            kept = np.array(ids[: wanted - written], dtype)
            file.write(kept.tobytes())
            written, documents, characters = written + len(kept), documents + begins, characters + len(text)
            if number % 100 == 0 or written == wanted:
                progress(written, wanted)
    if written < wanted:
        raise InputError(
            "too-little-text",
            f"mixture.general_tokens is {wanted:,}, but the {documents:,} documents of the general text have "
            f"{written:,} tokens, the separators before them included; lower it, or name more text with "
            "mixture.general.",
        )
    about = {"dtype": dtype.str, "tokens": written, "documents": documents, "separator": separator}
    fs.write_json(folder / _ABOUT, {"format": FORMAT, **about})
    return {"tokens": written, "documents": documents, "characters": characters, "bytes": written * dtype.itemsize}


class TokenFile:
    """The tokens of a folder by place; each read opens the file anew, so that nothing of it stays in memory.

    Raises `InputError` for another format, and where the file is not as long as it should be.
    """

    def __init__(self, folder: Path) -> None:
        about = fs.read_json(folder / _ABOUT)
        if about.get("format") != FORMAT:
            hint = f"{folder.name}: format {about.get('format')!r} instead of {FORMAT!r}; make the tokens again."
            raise InputError("tokens-format", hint)
        self._file, self._dtype = folder / _TOKENS, np.dtype(about["dtype"])
        self.tokens, self.documents, self.separator = about["tokens"], about["documents"], about["separator"]
        if self._file.stat().st_size != self.tokens * self._dtype.itemsize:
            hint = f"{folder.name} does not hold the {self.tokens} tokens that it tells of; make the tokens again."
            raise InputError("tokens-cut-off", hint)

    def __len__(self) -> int:
        return self.tokens

    def read(self, start: int, stop: int) -> np.ndarray:
        """The ids (int64) from `start` up to `stop`, or the end."""
        count = max(0, min(stop, self.tokens) - start)
        found = np.fromfile(self._file, self._dtype, count, offset=start * self._dtype.itemsize) if count else []
        return np.asarray(found, np.int64)
