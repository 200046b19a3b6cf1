"""Every row can be read and is a record, ids differ over the whole release, and the manifest counts the rows."""

from __future__ import annotations

from sm_ops.core.errors import InputError
from sm_ops.core.settings import Settings
from sm_ops.pii.corpus import check_texts
from sm_ops.pii.files import Row
from sm_ops.pii.lookup import Index
from sm_ops.release.checking import Bundle, Outcome, count
from sm_ops.release.checks._rows import TOKEN_KEYS, released, told
from sm_ops.release.folder import DATA


def run(bundle: Bundle, settings: Settings) -> Outcome:
    """Read all shards once; 16 bytes of memory a row, for its id."""
    if not bundle.shards:
        return Outcome("fail", "The manifest lists no data.", {"rows": 0, "shards": 0})
    listed = {each["path"]: each.get("rows") for each in bundle.manifest["files"]}
    index = Index()
    for shard in bundle.shards:
        before = len(index)
        try:
            for row in released(bundle, shard):
                _check(row)
                index.add(row.id, len(index))
        except InputError as error:
            return Outcome("fail", f"{told(bundle, error)}.", {"rows": len(index), "shards": len(bundle.shards)})
        found, expected = len(index) - before, listed[f"{DATA}/{shard}"]
        if found != expected:
            sentence = f"{DATA}/{shard} has {count(found, 'row')}, but the manifest says {expected}."
            return Outcome("fail", sentence, {"rows": len(index), "shards": len(bundle.shards)})
    measured = {"rows": len(index), "shards": len(bundle.shards)}
    if not len(index):
        return Outcome("fail", "There are no rows.", measured)
    if (number := index.repeated()) is not None:
        return Outcome("fail", f"The id of row {number + 1:,} of the release was given to an earlier row.", measured)
    told_all = f"{count(len(index), 'row')} in {count(len(bundle.shards), 'shard')}, as the manifest says; ids differ."
    return Outcome("pass", told_all, measured)


def _check(row: Row) -> None:
    """Refuse what is neither a text or chat nor a list of token ids."""
    if not any(key in row.value for key in TOKEN_KEYS):
        check_texts(row)
    elif not all(isinstance(ids, list) and all(isinstance(each, int) for each in ids) for ids in _ids(row)):
        raise row.refused("its token ids are no list of whole numbers")


def _ids(row: Row) -> list[object]:
    return [row.value[key] for key in TOKEN_KEYS if key in row.value]
