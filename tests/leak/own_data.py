"""Own records full of unmistakable values: what is labelled, and the text around it."""

from __future__ import annotations

import json
from pathlib import Path
from random import Random

import yaml
from driving import SMALLEST

WORDS = ("total", "names", "paths", "lines", "items", "rows", "words", "keys", "parts", "cells", "files", "rates")


def _value(random: Random) -> str:
    """Nothing that occurs by chance; its separators and its letter beyond ASCII take another form when escaped."""
    one, two, three = ("".join(random.choices("bcdfghjkmnpqrstvwxz23456789", k=7)) for _ in range(3))
    return f"{one}-é{two}/{three}"


def _program(random: Random, value: str | None) -> tuple[str, int]:
    one, two = random.sample(WORDS, 2)
    head = f"def load_{one}(path, {two}=None):\n    result = []\n    for line in open(path):\n"
    head += f"        if line.startswith('{random.choice(WORDS)}'):\n            result.append(line)\n    key = '"
    tail = f"'\n    return sorted(result, key=len)[:{random.randrange(2, 40)}]\n"
    return head + (value or one) + tail, len(head)


class OwnData:
    """Files of the four splits, the config that names them, and all values that may be seen nowhere."""

    def __init__(self, folder: Path, seed: int = 0) -> None:
        random = Random(f"own {seed}")
        folder.mkdir(parents=True)
        self.values: list[str] = []
        own = {}
        sizes = {"train": (4, 4), "calibration": (3, 4), "utility": (0, 4), "reference": (0, 6)}
        for split, (private, clean) in sizes.items():
            rows = []
            for person in range(private):
                value = self._new(random)
                rows += [self._row(random, f"{split}-p{person}", value) for _ in range(4)]
            rows += [self._row(random, None, None) for _ in range(clean)]
            marked = self._row(random, None, None)
            marked["text"] = f"# {self._new(random)}\n{marked['text']}"
            rows.append(marked)
            own[split] = str(folder / f"{split}.jsonl")
            lines = (json.dumps({"id": f"{split}-{number}", **row}) for number, row in enumerate(rows))
            Path(own[split]).write_text("\n".join(lines) + "\n", encoding="utf-8")
        config = yaml.safe_load(SMALLEST.read_text())
        config["data"] = {"dataset": "own", "own": own, "public_chars": 60_000}
        self.config = folder / "own.yaml"
        self.config.write_text(yaml.safe_dump(config))

    def _new(self, random: Random) -> str:
        self.values.append(_value(random))
        return self.values[-1]

    @staticmethod
    def _row(random: Random, group: str | None, value: str | None) -> dict:
        text, start = _program(random, value)
        if value is None:
            return {"text": text}
        return {"text": text, "group": group, "spans": [{"start": start, "end": start + len(value), "label": "key"}]}
