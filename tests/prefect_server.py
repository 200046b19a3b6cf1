"""A real Prefect server with authentication, and workers, as processes of a test."""

from __future__ import annotations

import os
import secrets
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import httpx
from driving import environment, wait_for
from processes import living, variables

PREFECT = [sys.executable, "-m", "prefect"]


class PrefectServer:
    """A server over a folder, whose API a test reads as plain JSON."""

    def __init__(self, folder: Path, home: Path) -> None:
        self.folder = folder
        self.home = home
        self.password = f"sm-ops:{secrets.token_hex(16)}"
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.port = probe.getsockname()[1]
        self.url = f"http://127.0.0.1:{self.port}/api"
        self.environment = {
            **environment(home),
            "PREFECT_HOME": str(folder / "prefect"),
            "PREFECT_API_URL": self.url,
            "PREFECT_API_AUTH_STRING": self.password,
            "PREFECT_SERVER_ANALYTICS_ENABLED": "false",
            "PREFECT_WORKER_QUERY_SECONDS": "2",
        }
        self.processes: list[subprocess.Popen[bytes]] = []

    def start(self) -> subprocess.Popen[bytes]:
        """Start the server and wait until it answers."""
        words = ["server", "start", "--no-ui", "--host", "127.0.0.1", "--port", str(self.port)]
        process = self._start(words, "server.log", PREFECT_SERVER_API_AUTH_STRING=self.password)
        wait_for(self._answers, 120)
        return process

    def worker(self, pool: str, **variables: str) -> subprocess.Popen[bytes]:
        """Start a worker of a pool."""
        return self._start(["worker", "start", "--pool", pool, "--type", "process"], "worker.log", **variables)

    def deploy(self, file: Path, *words: str) -> subprocess.CompletedProcess[str]:
        """`sm-ops deploy FILE`."""
        command = [sys.executable, "-P", "-m", "sm_ops.cli", "deploy", str(file), *words]
        return subprocess.run(command, env=self.environment, capture_output=True, text=True, timeout=120, check=False)

    def post(self, path: str, value: Any) -> Any:
        """The answer of the API to a request with a body."""
        return self._json(httpx.post(f"{self.url}/{path}", json=value, auth=self._auth(), timeout=30))

    def get(self, path: str) -> Any:
        """The answer of the API to a request without one."""
        return self._json(httpx.get(f"{self.url}/{path}", auth=self._auth(), timeout=30))

    def runs(self, deployment: str, *states: str) -> list[dict[str, Any]]:
        """Runs of a deployment in the order in which they were due, of some state names or of all."""
        own = {"deployments": {"id": {"any_": [self.get(f"deployments/name/{deployment}")["id"]]}}}
        found = self.post("flow_runs/filter", {**own, "sort": "EXPECTED_START_TIME_ASC"})
        return [run for run in found if not states or run["state_name"] in states]

    def started(self) -> list[int]:
        """Living processes that have our API's address, which are the server, workers, and what runs below them."""
        own = f"PREFECT_API_URL={self.url}"
        return [pid for pid in living() if own in variables(pid)]

    def kill_workers(self) -> None:
        """Kill the workers and all that they have started, as if their machine had gone."""
        for pid in self.started():
            with suppress(ProcessLookupError):
                if os.getpgid(pid) != self.processes[0].pid:
                    os.kill(pid, signal.SIGKILL)

    def end(self) -> None:
        """End all in order, and kill what is left."""
        for process in reversed(self.processes):
            if process.poll() is None:
                process.terminate()
        for process in self.processes:
            with suppress(subprocess.TimeoutExpired):
                process.wait(timeout=40)
        for pid in self.started():
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        for process in self.processes:
            process.wait()

    def _start(self, words: list[str], log: str, **variables: str) -> subprocess.Popen[bytes]:
        with (self.folder / log).open("ab") as stream:
            process = subprocess.Popen(
                [*PREFECT, *words],
                env=self.environment | variables,
                cwd=self.folder,
                stdin=subprocess.DEVNULL,
                stdout=stream,
                stderr=stream,
                start_new_session=True,
            )
        self.processes.append(process)
        return process

    def _answers(self) -> bool:
        with suppress(httpx.TransportError):
            return httpx.get(f"{self.url}/health", timeout=5).status_code == 200
        time.sleep(0.2)
        return False

    def _auth(self) -> tuple[str, str]:
        user, _, password = self.password.partition(":")
        return user, password

    @staticmethod
    def _json(answer: httpx.Response) -> Any:
        answer.raise_for_status()
        return answer.json() if answer.content else None


@contextmanager
def prefect_server(folder: Path, home: Path) -> Iterator[PrefectServer]:
    """A server that has started; nothing of it is left afterwards."""
    server = PrefectServer(folder, home)
    try:
        server.start()
        yield server
    finally:
        server.end()
