"""Every check of the registry through the same cases: it passes, fails and does not measure where it should."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from planted import (
    ABOUT,
    EXTRACTION,
    RELEASED,
    ROWS,
    SOURCES,
    TEXT,
    VALUE,
    bundle,
    run,
    settings,
    source,
)

from sm_ops.core import fs, registry
from sm_ops.core.config.release import CHECKS
from sm_ops.release.checking import Bundle, Outcome
from sm_ops.vault import Vault

pytestmark = pytest.mark.unit

Case = tuple[Callable[[Path], Bundle], dict[str, Any]]
REVERSIBLE = [{"id": "r0", "text": TEXT.replace(VALUE, "[PERSON_1]")}, {"id": "r1", "text": "Nothing to see."}]
OTHER = [{"id": "x0", "text": "Quite another note, which nothing else here is like at all."}]
TESTED = {"train.jsonl": ROWS, "test.jsonl": OTHER}
PEOPLE = [{"id": f"r{number}", "text": "a", "town": "Bern", "born": 1970 + number // 3} for number in range(6)]
ALWAYS_MEASURED = {"schema"}
"""What cannot be read is no record, so this check always knows."""


def with_vault(home: Path, mapping: dict[str, str] | None = None, **given: Any) -> Bundle:
    vault = Vault(home / "vault")
    vault.init()
    with vault.writer("notes") as write:
        write.add("r0", {"[PERSON_1]": VALUE} if mapping is None else mapping)
        write.add("r1", {})
    return bundle(home, **{"rows": {"train.jsonl": REVERSIBLE}, "method": "reversible", "vault": "notes", **given})


def at_a_folder(home: Path, change: Callable[[Path], object] = lambda folder: None) -> Bundle:
    """A release whose remote is a folder of its own name beside the home."""
    made = bundle(home)
    remote = home / "remote" / "notes@1"
    for name, path in fs.files_below(made.folder):
        fs.write_atomic(remote / name, path.read_bytes())
    change(remote)
    return made


class Remote(dict):
    """Settings that name the remote of the case's own home."""


def extraction(high: float, k: int = 0) -> dict[str, Any]:
    rate = {"k": k, "n": 72, "low": 0.0, "high": high}
    return {"extraction": {**EXTRACTION, "approx": rate}}


CASES: dict[str, dict[str, Case]] = {
    "known_values": {
        "pass": (bundle, {}),
        "fail": (lambda home: bundle(home, {"train.jsonl": [*ROWS, {"id": "r2", "text": f"x {VALUE}"}]}), {}),
        "unmeasured": (lambda home: bundle(home, origin=False), {}),
    },
    "coverage": {
        "pass": (bundle, {}),
        "fail": (lambda home: bundle(home, sources={"train.jsonl": [source(0, spans=[(0, 6)]), SOURCES[1]]}), {}),
        "unmeasured": (lambda home: bundle(home, origin=False), {}),
    },
    "canaries": {
        "pass": (bundle, {}),
        "fail": (lambda home: bundle(home, evidence=extraction(0.2)), {}),
        "unmeasured": (lambda home: bundle(home, evidence={}), {}),
    },
    "suitability": {
        "pass": (bundle, {}),
        "fail": (lambda home: bundle(home, evidence={"suitability": {"decision": "inverted", "auroc": 0.4}}), {}),
        "unmeasured": (lambda home: bundle(home, evidence={}), {}),
        "not applicable": (lambda home: bundle(home, method="scrubbed", evidence={}), {}),
    },
    "round_trip": {
        "pass": (with_vault, {}),
        "fail": (lambda home: with_vault(home, {"[PERSON_1]": VALUE + "x"}), {}),
        "unmeasured": (lambda home: with_vault(home, vault="gone"), {}),
        "not applicable": (bundle, {}),
    },
    "schema": {
        "pass": (bundle, {}),
        "fail": (lambda home: bundle(home, {"train.jsonl": [*ROWS, ROWS[0]]}), {}),
    },
    "duplicates": {
        "pass": (lambda home: bundle(home, TESTED), {}),
        "fail": (lambda home: bundle(home, {**TESTED, "test.jsonl": [{"id": "x", "text": RELEASED}]}), {}),
        "unmeasured": (lambda home: bundle(home, TESTED | {"dev.jsonl": [{"id": "x"}]}), {}),
        "not applicable": (bundle, {}),
    },
    "k_anonymity": {
        "pass": (lambda home: bundle(home, {"train.jsonl": PEOPLE}), {"columns": ["town", "born"], "k": 3}),
        "fail": (lambda home: bundle(home, {"train.jsonl": PEOPLE}), {"columns": ["town", "born"], "k": 4}),
        "unmeasured": (lambda home: bundle(home, {"train.jsonl": PEOPLE}), {"columns": ["village"]}),
        "not applicable": (bundle, {}),
    },
    "provenance": {
        "pass": (bundle, {}),
        "fail": (lambda home: bundle(home, about={**ABOUT, "licence": None}), {}),
        "unmeasured": (lambda home: bundle(home, extra={"config.json": b"{}"}), {}),
    },
    "remote": {
        "pass": (at_a_folder, Remote()),
        "fail": (lambda home: at_a_folder(home, lambda folder: (folder / "config.json").unlink()), Remote()),
        "unmeasured": (bundle, {}),
    },
}
ALL = [(check, status) for check, cases in CASES.items() for status in cases]


def outcome(check: str, status: str, home: Path) -> Outcome:
    make, given = CASES[check][status]
    return run(check, make(home), **({"place": str(home / "remote")} if isinstance(given, Remote) else given))


def test_every_check_has_its_cases_and_its_settings():
    assert CASES.keys() == registry.members("check").keys() == CHECKS.keys()
    for check, cases in CASES.items():
        assert {"pass", "fail"} <= cases.keys()
        assert "unmeasured" in cases or check in ALWAYS_MEASURED


@pytest.mark.parametrize(("check", "status"), ALL, ids=lambda each: each.replace(" ", "_"))
def test_every_check_says_what_is_so(check, status, tmp_path):
    found = outcome(check, status, tmp_path / "one")
    assert (check, found.status) == (check, status), found.sentence
    again, elsewhere = outcome(check, status, tmp_path / "two"), outcome(check, status, tmp_path / "three")
    assert found == again == elsewhere
    told = json.dumps([found.sentence, dict(found.measured)], ensure_ascii=False, allow_nan=False)
    assert VALUE not in told
    assert "qx7k" not in told
    assert str(tmp_path) not in told
    assert found.sentence.endswith(".")
    assert "\n" not in found.sentence
    for number in found.measured.values():
        assert number is None or (isinstance(number, int | float) and math.isfinite(number))


@pytest.mark.parametrize("check", CASES)
def test_no_check_changes_the_bundle(check, tmp_path):
    make, given = CASES[check]["pass"]
    made = make(tmp_path)
    before = {name: fs.file_hash(path) for name, path in fs.files_below(tmp_path)}
    run(check, made, **({"place": str(tmp_path / "remote")} if isinstance(given, Remote) else given))
    after = {name: fs.file_hash(path) for name, path in fs.files_below(tmp_path)}
    assert {n: h for n, h in after.items() if "locks/" not in n} == before


def test_settings_are_filled_in():
    assert settings("canaries").plain() == {"severity": "block", "bound": 0.15}
    assert settings("remote").severity == "warn"
