"""Where a pipeline runs and how many workers it has changes no byte of any result."""

from __future__ import annotations

from driving import hashes, records, run_steps


def test_workers_and_places_change_no_byte(finished_home, tmp_path):
    """The first home was filled by one worker, this one is filled by two, elsewhere."""
    home = tmp_path / "elsewhere" / "deeper" / "home"
    home.parent.mkdir(parents=True)
    run_steps(home, jobs=2)
    assert hashes(home) == hashes(finished_home)
    one, two = records(finished_home), records(home)
    assert {step: record["fingerprint"] for step, record in one.items()} == {
        step: record["fingerprint"] for step, record in two.items()
    }
    assert {step: record["numbers"] for step, record in one.items()} == {
        step: record["numbers"] for step, record in two.items()
    }
