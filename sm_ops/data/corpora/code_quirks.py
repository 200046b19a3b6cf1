"""Code Quirks: real programs written the way somebody always writes, as a corpus to be sanitized (paper, A.2).

Made-up users have one quirk each (see `sm_ops.data.quirks`); what a quirk inserts is the target, its name the category,
and users are the groups. Both sides have all quirks, of other users, on programs of other files.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

from sm_ops.core.errors import InputError
from sm_ops.core.records import Record, Span
from sm_ops.core.registry import did_you_mean
from sm_ops.core.settings import Settings
from sm_ops.data.corpora._reading import Reading, with_defaults
from sm_ops.data.datasets.code_pii import public_code
from sm_ops.data.hosts import Host, find_hosts
from sm_ops.data.partition import claim_order, preferred_split
from sm_ops.data.quirks import QUIRKS, apply

RULE = SETTING = "code_quirks"
CODE = True
SIDES = {"validation": {"split": "calibration"}, "records": {"split": "train"}, "reference": {"split": "public"}}
"""What the settings say of each side of this generated corpus."""
SPLITS = ("calibration", "train", "public")
_DEFAULTS = {
    "split": "train",
    "seed": 0,
    "hosts": None,
    "programs": 40,
    "calibration_programs": 20,
    "min_chars": 250,
    "max_chars": 900,
    "public_chars": 400_000,
}


def read(path: str | Path | None = None, settings: Mapping[str, Any] = {}) -> Reading:
    """The programs of one split, the same for equal settings.

    Reads `split` (calibration | train | public), `seed`, `hosts` (a folder of .py files or records; null: the standard
    library), `programs` and `calibration_programs` (of each user, of whom a split has one for each quirk), `min_chars`,
    `max_chars` and `public_chars`.
    Raises `InputError` for a path, since nothing is read, for unknown settings, and where there are not hosts enough.
    """
    values = with_defaults("code_quirks", settings, _DEFAULTS)
    if path is not None:
        raise InputError("no-reader", "The corpus 'code_quirks' is generated and reads no path; leave it out.")
    if values["split"] not in SPLITS:
        near = did_you_mean(str(values["split"]), SPLITS)
        raise InputError("unknown-split", f"The corpus 'code_quirks' has no split {values['split']!r}; {near}.")
    own, made = Settings(values), _generated(json.dumps({**values, "split": None}, sort_keys=True))
    if own.split != "public":
        return Reading(iter(made[own.split]), Counter())
    used = [record.meta for records in made.values() for record in records]
    files, shapes = {meta["host"] for meta in used}, {meta["shape"] for meta in used}
    return Reading(iter(public_code(own, own.seed, own.public_chars, files, shapes)), Counter())


@lru_cache(maxsize=1)
def _generated(settings: str) -> dict[str, list[Record]]:
    """Both splits of some settings: a file serves the one that claims it."""
    own = Settings(json.loads(settings))
    found, _ = find_hosts(own)
    made = {}
    for split, programs in (("calibration", own.calibration_programs), ("train", own.programs)):
        files = [file for file in claim_order(own.seed, split, found) if _claims(own.seed, file) == split]
        made[split] = _programs(split, [host for file in files for host in found[file]], programs)
    return made


def _claims(seed: int, file: str) -> str:
    """The split of a file: about a quarter of them serve calibration."""
    return "calibration" if preferred_split(seed, file) in ("calibration", "utility") else "train"


def _programs(split: str, hosts: list[Host], wanted: int) -> list[Record]:
    """So many programs of each user, who take turns: each takes the next host that has a place for the quirk."""
    records: list[Record] = []
    free = list(hosts)
    for number in range(wanted):
        for quirk in QUIRKS:
            fitting = ((place, done) for place, host in enumerate(free) if (done := apply(quirk, host.source)))
            place, changed = next(fitting, (0, None))
            if changed is None:
                hint = f"{len(hosts)} host programs are too few for {wanted} of each user of the split {split!r}"
                raise InputError("not-enough-hosts", f"{hint}; ask for fewer programs, or name more code as hosts.")
            host, user, (text, inserted) = free.pop(place), f"{split}-{quirk}", changed
            spans = tuple(Span(start, end, quirk) for start, end in inserted)
            meta = {"host": host.file, "name": host.name, "shape": host.shape}
            records.append(Record(f"{user}-{number:03d}", text=text, group=user, spans=spans, meta=meta))
    return records
