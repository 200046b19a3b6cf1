"""Private values planted into programs of the standard library, the hosts of a run without own ones."""

from __future__ import annotations

import ast
from collections import Counter

import pytest
from data.planted import places_of, program, settings

from sm_ops.data.audit import audit
from sm_ops.data.datasets.code_pii import generate, public_code
from sm_ops.data.hosts import shape
from sm_ops.data.planting import unplanted
from sm_ops.data.records import read_records, write_records


@pytest.fixture(scope="module")
def library_run():
    wanted = settings("", identities=6, repetitions=8, clean=96, calibration_identities=4, calibration_repetitions=3,
                      calibration_clean=48, utility=60, reference=60, min_chars=300)
    wanted.hosts = None
    made = generate(wanted, 0)
    return made, public_code(wanted, 0, 400_000, made.host_files, made.shapes)


def test_the_standard_library_serves_the_default_sizes(library_run):
    made, public = library_run
    assert audit(made, public) == []
    assert made.counts["records_train"] == 6 * 4 * 8 + 96
    assert places_of(made.splits["train"]).most_common()[-1][1] >= 15
    assert all(len({record.meta["host"] for record in made.splits[split]}) >= 8 for split in made.splits)


def test_datasets_survive_their_files(library_run, tmp_path):
    made, _ = library_run
    for split, records in made.splits.items():
        write_records(tmp_path / f"{split}.jsonl", records)
        assert list(read_records(tmp_path / f"{split}.jsonl")) == records


@pytest.mark.parametrize("form", ["text", pytest.param("chat", marks=pytest.mark.slow)])
def test_several_values_of_a_person_in_one_program(form):
    """Each value still occurs exactly `repetitions` times, every span is exact, and the host can be recovered."""
    made = generate(settings("", values_per_program=4, repetitions=3, identities=2, form=form), 0)
    private = [record for record in made.splits["train"] if record.spans]
    assert len(private) == 2 * 3
    values = {canary.value.reveal(): canary for canary in made.canaries}
    found = Counter()
    for record in private:
        content = record.content
        for start, end, label in record.content_spans:
            canary = values[content[start:end]]
            assert (canary.kind, canary.group) == (label, record.group)
            found[canary.id] += 1
        assert shape(unplanted(program(record), record.meta["inserted"])) == record.meta["shape"]
        assert ast.parse(program(record))
    assert set(found.values()) == {3}
    assert len(found) == 8
    assert audit(made, []) == []
