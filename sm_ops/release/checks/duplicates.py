"""No record of one split stands in another again, or nearly so: what a model is tested on, it must not have learnt.

A shard is a split, but for the parts into which a large one was cut (`train-00001.jsonl`, ...).
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator

from sm_ops.core.errors import InputError
from sm_ops.core.records import Message, Record
from sm_ops.core.settings import Settings
from sm_ops.data.across import across
from sm_ops.release.checking import Bundle, Outcome, count
from sm_ops.release.checks._rows import TOKEN_KEYS, released, texts_of, told

_PART = re.compile(r"-\d{5}(?=\.[a-z]+$)")


def run(bundle: Bundle, settings: Settings) -> Outcome:
    """Compare each split with the smaller ones, by `sm_ops.data.across`; the largest is read as a stream."""
    splits: dict[str, list[str]] = defaultdict(list)
    for shard in bundle.shards:
        splits[_PART.sub("", shard)].append(shard)
    if len(splits) < 2:
        return Outcome("not applicable", "There is one split, so nothing can stand in two.", {"splits": len(splits)})
    sizes = {split: sum(bundle.shards[shard].stat().st_size for shard in shards) for split, shards in splits.items()}
    order = sorted(splits, key=lambda split: (sizes[split], split))
    seen = [0]
    try:
        parts = [_records(bundle, splits[split], seen) for split in order]
        found = across(parts, settings.threshold, settings.shingle)
    except InputError as error:
        return Outcome("unmeasured", f"{told(bundle, error)}.")
    records, exact, near = seen[0], sum(each[0] for each in found), sum(each[1] for each in found)
    measured = {"splits": len(splits), "records": records, "exact": exact, "near": near}
    within = exact <= settings.exact and near <= settings.near * records
    sentence = f"Of {count(records, 'record')} in {len(splits)} splits, {exact:,} are in another one too and {near:,} "
    sentence += f"are near one there (Jaccard index of {settings.threshold:g} or more)"
    allowed = f"{settings.exact:,} and {100 * settings.near:.1f} % are allowed"
    return Outcome("pass" if within else "fail", f"{sentence}; {allowed}.", measured)


def _records(bundle: Bundle, shards: list[str], seen: list[int]) -> Iterator[Record]:
    """What is compared of a split's records; `seen` counts them."""
    for shard in shards:
        for row in released(bundle, shard):
            seen[0] += 1
            ids = next((row.value[key] for key in TOKEN_KEYS if key in row.value), None)
            if ids is not None:
                yield Record(row.id, text=" ".join(map(str, ids)))
            elif row.value.get("messages"):
                turns = zip(row.value["messages"], texts_of(row), strict=True)
                yield Record(row.id, messages=tuple(Message(str(turn.get("role")), text) for turn, text in turns))
            else:
                yield Record(row.id, text=texts_of(row)[0])
