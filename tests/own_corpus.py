"""Own labelled documents for an audit, full of unmistakable values, and the config that names them."""

from __future__ import annotations

import json
from pathlib import Path
from random import Random

import yaml
from driving import ROOT

SMALLEST_AUDIT = ROOT / "tests" / "pipelines" / "audit_smallest.yaml"
_FRAMES = ("On Monday {} asked the office about {}.", "The letter of {} was sent to {} in May.")


def _value(random: Random) -> str:
    """Nothing that occurs by chance; its letters beyond ASCII take another form when escaped."""
    one, two = ("".join(random.choices("bcdfghjkmnpqrstvwxz", k=7)) for _ in range(2))
    return f"{one}-é{two}가힣"


class OwnCorpus:
    """A records file, the config that names it, and all values that may be seen nowhere."""

    def __init__(self, folder: Path) -> None:
        random = Random("corpus")
        folder.mkdir(parents=True)
        self.values: list[str] = []
        self.path = folder / "documents.jsonl"
        rows = [self._row(random, number) for number in range(12)]
        lines = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
        self.path.write_text(lines, encoding="utf-8")
        config = yaml.safe_load(SMALLEST_AUDIT.read_text())
        config["data"] = {"corpus": "records", "path": str(self.path), "public_documents": 4}
        config["classes"] = ["PERSON"]
        self.config = folder / "own.yaml"
        self.config.write_text(yaml.safe_dump(config))

    def _row(self, random: Random, number: int) -> dict:
        """A name is labelled; what the sentence says besides is not, and may be seen as little. One is said twice."""
        lines, spans, start = [], [], 0
        said = [(frame, _value(random), _value(random)) for frame in _FRAMES]
        self.values += [value for _, *values in said for value in values]
        for frame, named, besides in (*said, said[0]):
            lines.append(frame.format(named, besides))
            begin = start + lines[-1].index(named)
            spans.append({"start": begin, "end": begin + len(named), "label": "PERSON"})
            start += len(lines[-1]) + 2
        return {"id": f"doc-{number}", "text": "\n\n".join(lines), "group": f"author-{number}", "spans": spans}
