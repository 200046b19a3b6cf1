"""Workers execute steps in processes of their own, print nothing on our terminal, and end with the run."""

from __future__ import annotations

import os
import threading
from pathlib import Path

import pytest
from driving import wait_for, workers_of
from processes import alive
from toy_stages import HERE, VALUE, step

from sm_ops.core.errors import BugError, InputError
from sm_ops.core.pool import Pool
from sm_ops.core.schedule import run_steps
from sm_ops.core.stage import Step
from sm_ops.core.store import Store

pytestmark = pytest.mark.unit


@pytest.fixture(autouse=True)
def _toys(monkeypatch):
    monkeypatch.setenv("PYTHONPATH", str(HERE))


@pytest.fixture
def store(tmp_path):
    home = tmp_path / "home"
    yield Store(home)
    assert workers_of(home) == [], "a worker outlived its pool"


def logs(store: Store) -> list[Path]:
    return list((store.restricted / "logs").iterdir())


def test_a_worker_executes_many_steps(store):
    with Pool(store, 1) as pool:
        outcomes = [pool.run(step(text=text), {}) for text in ("a", "b", "a")]
        assert len(workers_of(store.home)) == 1
    assert [outcome.found for outcome in outcomes] == [False, False, True]
    assert outcomes[0].record == store.find("toy", outcomes[0].record.fingerprint)
    assert logs(store) == []


def test_what_libraries_print_stays_in_a_restricted_log(store, capfd):
    heard = []
    with Pool(store, 1, listener=lambda made, message: heard.append((made.name, message))) as pool:
        pool.run(step("chatter"), {})
        (log,) = logs(store)
        text = log.read_text()
        assert log.stat().st_mode & 0o777 == 0o600
    assert heard == [("toy", {"progress": [1, 2]})]
    assert [f"{source} {VALUE}" in text for source in ("stdout", "stderr", "child")] == [True] * 3
    assert VALUE not in "".join(capfd.readouterr())


def test_a_bug_is_a_sentence_and_its_traceback_is_restricted(store):
    with Pool(store, 1) as pool, pytest.raises(BugError) as caught:
        pool.run(step("refuse"), {})
    (log,) = logs(store)
    assert VALUE not in str(caught.value)
    assert str(log) in caught.value.hint
    assert VALUE in log.read_text()


def test_a_killed_worker_is_a_sentence_and_the_pool_goes_on(store):
    with Pool(store, 1) as pool:
        with pytest.raises(InputError, match="process of step toy was ended from outside") as caught:
            pool.run(step("die"), {})
        assert caught.value.exit_code == 2
        assert not pool.run(step(), {}).found


def test_closing_ends_workers_and_their_children(store):
    pool = Pool(store, 1)
    failures = []

    def work():
        try:
            pool.run(step("hang"), {})
        except InputError as error:
            failures.append(error)

    thread = threading.Thread(target=work)
    thread.start()
    child_file = "restricted/.scratch/*/child"
    wait_for(lambda: any(path.read_text() for path in store.home.glob(child_file)), 20)
    child = int(next(store.home.glob(child_file)).read_text())
    pool.close()
    thread.join(10)
    assert len(failures) == 1
    wait_for(lambda: not alive(child), 5)


def test_a_closed_pool_starts_nothing(store):
    pool = Pool(store, 1)
    pool.close()
    with pytest.raises(InputError, match="run-ended"):
        pool.run(step(), {})


def test_the_first_failure_ends_the_run_at_once(store):
    steps = [
        Step("hang", step("hang").stage, {"toy": {"text": "x"}}),
        Step("refuse", step("refuse").stage, {"toy": {"text": "x"}}),
        Step("after", step().stage, {"toy": {"text": "y"}}, {"one": ("hang", "open.txt")}),
    ]
    with Pool(store, 2) as pool, pytest.raises(BugError):
        run_steps(steps, store, pool, 2, lambda made, outcome: pytest.fail("nothing finishes"))


def test_steps_run_in_the_order_of_their_inputs(store):
    first = step(text="first")
    second = Step("second", step().stage, {"toy": {"text": "second"}}, {"one": ("toy", "open.txt")})
    finished = []
    with Pool(store, 2) as pool:
        records = run_steps([first, second], store, pool, 2, lambda made, outcome: finished.append(made.name))
        assert finished == ["toy", "second"]
        again = run_steps([first, second], store, pool, 2, lambda made, outcome: finished.append(outcome.found))
    assert finished[2:] == [True, True]
    assert records == again


def test_steps_that_no_order_allows_are_refused(store):
    lost = Step("lost", step().stage, {"toy": {"text": "x"}}, {"one": ("nobody", "open.txt")})
    with Pool(store, 1) as pool, pytest.raises(RuntimeError, match="no order allows the steps lost"):
        run_steps([lost], store, pool, 1, lambda made, outcome: None)


def test_workers_run_the_parents_code_whatever_lies_in_the_folder(store, tmp_path, monkeypatch):
    (tmp_path / "sm_ops").mkdir()
    (tmp_path / "sm_ops" / "__init__.py").write_text("raise SystemExit('the wrong package')")
    (tmp_path / "json.py").write_text("raise SystemExit('the wrong module')")
    monkeypatch.chdir(tmp_path)
    with Pool(store, 1) as pool:
        assert not pool.run(step(), {}).found


def test_a_worker_that_cannot_start_says_where_its_reason_is(store, monkeypatch, tmp_path):
    (tmp_path / "filelock.py").write_text("raise ImportError('broken installation')")
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(tmp_path), str(HERE)]))
    with Pool(store, 1) as pool, pytest.raises(InputError, match="worker-died") as caught:
        pool.run(step(), {})
    (log,) = logs(store)
    assert str(log) in caught.value.hint
    assert "broken installation" in log.read_text()
