"""What is versioned: the data among the outputs of each stage, and the `.dvc` file of one."""

from __future__ import annotations

import re
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Literal

import yaml

from sm_ops.core.errors import InputError

RemoteName = Literal["default", "restricted"]
REMOTES: tuple[RemoteName, ...] = ("default", "restricted")
DATA = {
    "synthesize": "*.jsonl",
    "mask": "*.parquet",
    "redact": "redacted.jsonl",
    "pii_generate": "*.jsonl",
    "pii_mask": "masked.jsonl",
    "audit_data": "*.jsonl",
    "audit_prepare": "*.parquet",
    "san_corpus": "*.jsonl",
    "san_redact": "redacted.jsonl",
    "rank_pairs": "*.jsonl",
    "rewrite_data": "*.jsonl",
    "rewrite_apply": "rewritten.jsonl",
}
"""Stages that make data, and which of their outputs are: records, masks, training sets; neither models nor scores."""
ENDING = ".dvc"
FORMAT = "data/1"


def is_data(stage: str, output: str) -> bool:
    """Whether an output of a stage is data that is versioned."""
    return fnmatchcase(output, DATA.get(stage, ""))


@dataclass(frozen=True)
class Entry:
    """One versioned file: `PIPELINE/STEP/OUTPUT`, DVC's MD5 of it, its size in bytes, our SHA-256, and its class."""

    path: str
    md5: str
    size: int
    sha256: str
    cls: str

    @property
    def remote(self) -> RemoteName:
        """The one remote that it may go to."""
        return "restricted" if self.cls == "restricted" else "default"

    @property
    def pipeline(self) -> str:
        """The first part of its path."""
        return self.path.partition("/")[0]

    @property
    def name(self) -> str:
        """`STEP/OUTPUT`."""
        return self.path.partition("/")[2]

    def to_yaml(self) -> str:
        """The content of its `.dvc` file."""
        out = {"md5": self.md5, "size": self.size, "hash": "md5", "path": self.path.rpartition("/")[2]}
        about = {"format": FORMAT, "sha256": self.sha256, "class": self.cls}
        value = {"outs": [out | {"remote": self.remote}], "meta": about}
        return yaml.safe_dump(value, sort_keys=False)

    @classmethod
    def from_yaml(cls, path: str, text: str) -> Entry:
        """Read the `.dvc` file that stands for `path`; `InputError` for one that this version did not write."""
        try:
            value = yaml.safe_load(text)
            (out,), about = value["outs"], value["meta"]
            entry = cls(path, out["md5"], out["size"], about["sha256"], about["class"])
            if about["format"] == FORMAT and entry._is_sound():
                return entry
        except (yaml.YAMLError, ValueError, TypeError, KeyError):
            pass
        hint = f"{path}{ENDING} is not of format {FORMAT!r}, which this version reads; use the version that wrote it."
        raise InputError("data-format", hint)

    def _is_sound(self) -> bool:
        """Whether it names places below the folders that are meant: a repository may have come from elsewhere."""
        digests = re.fullmatch("[0-9a-f]{32}", self.md5) and re.fullmatch("[0-9a-f]{64}", self.sha256)
        return bool(digests) and isinstance(self.size, int) and ".." not in self.path.split("/")
