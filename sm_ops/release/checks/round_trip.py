"""Every record that was masked reversibly comes back through the vault, as the NFC form of its source."""

from __future__ import annotations

from contextlib import closing

from sm_ops.core.errors import InputError
from sm_ops.core.settings import Settings
from sm_ops.pii.corpus import MappingSource, text_digest
from sm_ops.pii.errors import RuleError
from sm_ops.pii.replacement import restore
from sm_ops.release.checking import NO_SOURCES, Bundle, Outcome, count
from sm_ops.release.checks._rows import Pair, nfc, pairs, texts_of, told
from sm_ops.vault import Vault


def run(bundle: Bundle, settings: Settings) -> Outcome:
    """Restore all records, one at a time, and compare each with its source."""
    if bundle.manifest["method"] != "reversible":
        return Outcome("not applicable", "No record was masked reversibly.")
    if bundle.origin is None:
        return NO_SOURCES
    datasets = {shard: bundle.origin.dataset_of(shard) for shard in bundle.shards}
    if None in datasets.values() or not set(datasets) <= set(bundle.origin.sources):
        return Outcome("unmeasured", "Sources or mappings of the masked records are not known.")
    vault = Vault(bundle.release.home / "vault")
    records = lost = 0
    try:
        for shard, dataset in datasets.items():
            with closing(vault.mappings(str(dataset))) as mappings:
                for pair in pairs(bundle, shard):
                    records += 1
                    lost += not _comes_back(pair, mappings)
    except InputError as error:
        return Outcome("unmeasured", f"{told(bundle, error)}.")
    measured = {"records": records, "not_restored": lost}
    if lost:
        return Outcome("fail", f"{lost:,} of {count(records, 'record')} do not come back as they were.", measured)
    return Outcome("pass", f"Each of {count(records, 'record')} comes back as it was.", measured)


def _comes_back(pair: Pair, mappings: MappingSource) -> bool:
    if pair.source is None:
        return False
    given = texts_of(pair.row)
    try:
        mapping, digest = mappings.get_with_digest(pair.row.id)
        restored = [restore(text, mapping) for text in given]
    except RuleError:
        return False
    except InputError as error:
        if error.code != "unknown-record":
            raise
        return False
    return restored == [nfc(text) for text in texts_of(pair.source)] and digest in ("", text_digest(given))
