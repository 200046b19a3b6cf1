"""A batched reference whose values change when anything about their batch does; it can be slow, or die."""

from __future__ import annotations

import os
import random
import signal
import time
import zlib
from pathlib import Path

import numpy as np

from sm_ops.core.errors import InputError
from sm_ops.core.records import Record
from sm_ops.core.tokens import Tokens
from sm_ops.scoring.plan import Plan
from sm_ops.scoring.reference import run_plan
from sm_ops.scoring.scores import Source

RNG = random.Random(0)
RECORDS = [Record(str(i), text="".join(RNG.choices("abc", k=RNG.randint(0, 40)))) for i in range(200)]


class Toy:
    """Each finished batch leaves a line with the process in `log`; at rows of `fatal` tokens it fails, or is killed."""

    tokenizer, context = None, 30

    def __init__(self, log=None, pause=0.0, fatal=None, kill=False, device="cpu"):
        self.log, self.pause, self.fatal, self.kill = log, pause, fatal, kill
        self.source, self.arithmetic = Source("toy", "1"), {"threads": 1, "device": device}

    def plan(self, records):
        return Plan(records, [_tokens(record.text) for record in records], [0] * len(records), [2], 30, 100)

    def settle(self, worker):
        pass

    def run(self, batch):
        time.sleep(self.pause)
        rows = [row.ids.tolist() for row in batch.rows]
        if any(len(row) == self.fatal for row in rows):
            if self.kill:
                os.kill(os.getpid(), signal.SIGKILL)
            raise InputError("toy", "The toy has had enough.")
        if self.log is not None:
            with open(self.log, "a") as log:
                log.write(f"{os.getpid()} {rows}\n")
        return np.arange(batch.scores, dtype=np.float32) - zlib.crc32(repr(rows).encode()) % 1000

    def score(self, records, progress=None):
        return run_plan(self, records, progress)


def _tokens(text):
    ids = np.array([ord(c) for c in text], np.int64)
    places, flags = np.arange(len(ids)), np.zeros(len(ids), bool)
    return Tokens(ids, places, places + 1, flags, ~flags)


def lines(log: Path) -> list[str]:
    return log.read_text().splitlines() if log.exists() else []


def as_bytes(scored):
    return [(each.id, each.logprobs.tobytes()) for each in scored]


EXPECTED = as_bytes(Toy().score(RECORDS))
