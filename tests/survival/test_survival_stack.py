"""What a supervisor starts again: a server, a database or a worker dies in the middle of a deployed training."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from deployed_runs import (
    again_and_equal,
    forget_training,
    kill,
    message,
    nothing_left,
    prefect_worker,
    state,
    under_way,
    undisturbed,
    untrained,
    whole_and_equal,
)
from driving import run_cli, wait_for

from sm_ops.core.errors import InputError
from sm_ops.stack.postgres import program

sys.path.append(str(Path(__file__).resolve().parents[1] / "stack"))

import running_stack

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("survival-stack")]


class Stack:
    """A running stack over a home in which the training is still to be done, and its Prefect API."""

    def __init__(self, home: Path) -> None:
        self.home = home
        self.process = running_stack.start(home, "--postgres", "--s3")
        done = run_cli("deploy", home=home)
        assert done.returncode == 0, done.stderr

    def get(self, path: str) -> Any:
        """The answer of the API to a request without a body."""
        return self._ask("GET", path)

    def post(self, path: str, value: Any) -> Any:
        """The answer of the API to a request with one."""
        return self._ask("POST", path, json=value)

    def kill(self, service: str) -> None:
        """Kill a service's own process; wait until another one answers."""
        pid = running_stack.status(self.home)[service]["pid"]
        kill(pid)
        running_stack.runs_again(self.home, service, but=pid)

    def _ask(self, method: str, path: str, **body: Any) -> Any:
        known = running_stack.client(self.home)
        user, _, password = known["PREFECT_API_AUTH_STRING"].partition(":")
        url = f"{known['PREFECT_API_URL']}/{path}"
        answer = httpx.request(method, url, auth=(user, password), timeout=30, **body)
        answer.raise_for_status()
        return answer.json() if answer.content else None


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return undisturbed(tmp_path_factory.mktemp("source") / "undisturbed")


@pytest.fixture(scope="module")
def started(source: Path) -> Iterator[Stack]:
    try:
        program("initdb")
    except InputError as error:
        pytest.skip(error.hint)
    with running_stack.open_home() as home:
        stack = Stack(untrained(source, home))
        yield stack
        running_stack.end(stack.process)


@pytest.fixture
def stack(started: Stack) -> Stack:
    forget_training(started.home)
    return started


def test_postgres_is_killed(stack: Stack, source: Path) -> None:
    run = under_way(stack, stack.home)
    stack.kill("postgres")
    whole_and_equal(stack, run, stack.home, source)


def test_the_prefect_server_is_killed(stack: Stack, source: Path) -> None:
    run = under_way(stack, stack.home)
    stack.kill("prefect-server")
    whole_and_equal(stack, run, stack.home, source)


def test_mlflow_and_s3_are_killed(stack: Stack, source: Path) -> None:
    run = under_way(stack, stack.home)
    stack.kill("mlflow")
    stack.kill("s3")
    whole_and_equal(stack, run, stack.home, source)
    pushed = run_cli("track", "push", home=stack.home)
    assert pushed.returncode == 0, pushed.stderr


def test_the_worker_is_killed(stack: Stack, source: Path) -> None:
    run = under_way(stack, stack.home)
    worker = prefect_worker(stack.home)
    kill(worker)
    wait_for(lambda: state(stack, run) == "Crashed", 40)
    nothing_left(stack, stack.home)
    again_and_equal(stack, stack.home, source)
    assert prefect_worker(stack.home) != worker


def test_the_stack_is_ended_and_started_again(stack: Stack, source: Path) -> None:
    run = under_way(stack, stack.home)
    stack.process.send_signal(signal.SIGTERM)
    stack.process.communicate(timeout=150)
    assert stack.process.returncode == 0
    assert [pid for pid in running_stack.processes_of(stack.home) if pid != os.getpid()] == []
    again = Stack(stack.home)
    stack.process = again.process
    assert state(stack, run) == "Crashed", message(stack, run)
    again_and_equal(stack, stack.home, source)
