"""k-anonymity (Sweeney, 2002): each combination of the listed quasi-identifiers stands in k records or more."""

from __future__ import annotations

import json
from collections import Counter
from hashlib import blake2b

from sm_ops.core.errors import InputError
from sm_ops.core.settings import Settings
from sm_ops.release.checking import Bundle, Outcome, count
from sm_ops.release.checks._rows import released, told


def run(bundle: Bundle, settings: Settings) -> Outcome:
    """Count records by combination, over all shards; a record without a column has null there.

    Memory grows with the number of combinations.
    """
    columns, k = list(settings.columns), settings.k
    if not columns:
        return Outcome("not applicable", "The policy lists no quasi-identifiers.")
    found, present = Counter[bytes](), set[str]()
    try:
        for shard in bundle.shards:
            for row in released(bundle, shard):
                present.update(column for column in columns if row.value.get(column) is not None)
                found[_digest([row.value.get(column) for column in columns])] += 1
    except InputError as error:
        return Outcome("unmeasured", f"{told(bundle, error)}.")
    if absent := [column for column in columns if column not in present]:
        return Outcome("unmeasured", f"No record has {', '.join(absent)}; correct the policy's columns.")
    smallest, few = min(found.values()), [size for size in found.values() if size < k]
    measured = {"k": k, "smallest": smallest, "combinations": len(found), "records_below": sum(few)}
    of = f"of {', '.join(columns)}"
    if few:
        told_few = f"{count(sum(few), 'record')} in {count(len(few), 'combination')} {of} with fewer than {k} records"
        return Outcome("fail", f"{told_few}; the smallest has {smallest}.", measured)
    sentence = f"Each of {count(len(found), 'combination')} {of} stands in {smallest} records or more (k = {k})."
    return Outcome("pass", sentence, measured)


def _digest(values: list[object]) -> bytes:
    return blake2b(json.dumps(values, sort_keys=True, default=str).encode(), digest_size=16).digest()
