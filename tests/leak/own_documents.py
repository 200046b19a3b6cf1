"""Own labelled documents full of unmistakable values, in both languages: what is labelled, and the text around it."""

from __future__ import annotations

import json
from pathlib import Path
from random import Random

import yaml
from driving import ROOT

SMALLEST_PII = ROOT / "tests" / "pipelines" / "pii_smallest.yaml"
_FRAMES = (
    "고객 {}님께서 오늘 {} 창구에 다녀가셨습니다.\n연락처 {} 확인 바랍니다.",
    "Please call {} about the {} form.\nReach them at {} before noon.",
)


def _value(random: Random) -> str:
    """Nothing that occurs by chance; its separators and its letters beyond ASCII take another form when escaped."""
    one, two, three = ("".join(random.choices("bcdfghjkmnpqrstvwxz", k=6)) for _ in range(3))
    return f"{one}-é{two}/{three}가힣"


def _address(random: Random) -> str:
    """An e-mail address, which regular expressions find, so that it comes into a mapping."""
    one, two = ("".join(random.choices("bcdfghjkmnpqrstvwxz", k=9)) for _ in range(2))
    return f"{one}@{two}.example"


class OwnDocuments:
    """Files of the three partitions, the config that names them, and all values that may be seen nowhere."""

    def __init__(self, folder: Path, seed: int = 0) -> None:
        random = Random(f"documents {seed}")
        folder.mkdir(parents=True)
        self.values: list[str] = []
        own = {}
        for split, size in {"train": 8, "validation": 2, "test": 6}.items():
            rows = [self._row(random, f"{split}-{number}", _FRAMES[number % 2]) for number in range(size)]
            own[split] = str(folder / f"{split}.jsonl")
            lines = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
            Path(own[split]).write_text(lines, encoding="utf-8")
        config = yaml.safe_load(SMALLEST_PII.read_text())
        config["documents"] = {"own": own}
        self.config = folder / "own.yaml"
        self.config.write_text(yaml.safe_dump(config))

    def _row(self, random: Random, id_: str, frame: str) -> dict:
        """A name and an address are labelled; what stands between them is not, and may be seen as little."""
        parts = [_value(random), _value(random), _address(random)]
        self.values += parts
        text = frame.format(*parts)
        labelled = [(parts[0], "PERSON"), (parts[2], "EMAIL")]
        spans = [{"start": text.index(p), "end": text.index(p) + len(p), "label": label} for p, label in labelled]
        return {"id": id_, "text": text, "spans": spans}
