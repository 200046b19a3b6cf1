"""Ray nodes on this machine, as separate processes that ask for a token; they end with the test."""

from __future__ import annotations

import os
import secrets
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from contextlib import suppress
from pathlib import Path

TESTS = Path(__file__).resolve().parent
RAY = Path(sys.executable).with_name("ray")


class Cluster:
    """`Cluster(0, 1, 1)`: a head without CPUs for work and two nodes with one; `environment` is what a client needs."""

    def __init__(self, *cpus: int, path: tuple[Path, ...] = ()) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="ray-"))  # short: the names of sockets have a limit
        token = self.folder / "token"
        token.touch(mode=0o600)
        token.write_text(secrets.token_hex(32))
        self.environment = {
            "RAY_ADDRESS": f"127.0.0.1:{free_port()}",
            "RAY_AUTH_MODE": "token",
            "RAY_AUTH_TOKEN_PATH": str(token),
            "RAY_USAGE_STATS_ENABLED": "0",
        }
        self._path = os.pathsep.join(map(str, (TESTS.parent, TESTS, *path)))
        self.nodes: list[subprocess.Popen[bytes]] = []
        try:
            for count in cpus:
                self.start(count)
        except BaseException:
            self.close()
            raise

    def start(self, cpus: int) -> subprocess.Popen[bytes]:
        """Another node, which the cluster knows when this returns. It leads a process group of its own.

        On a busy machine Ray's fixed deadlines pass while it starts, so it has several tries.
        """
        for _ in range(4):
            node, log = self._try(cpus)
            deadline = time.monotonic() + 120
            while node.poll() is None and time.monotonic() < deadline:
                if "runtime started" in log.read_text():
                    self.nodes.append(node)
                    return node
                time.sleep(0.2)
            _end(node)
        raise RuntimeError(f"a Ray node did not start: {log.read_text()[-2000:]}")

    def _try(self, cpus: int) -> tuple[subprocess.Popen[bytes], Path]:
        address = self.environment["RAY_ADDRESS"]
        head = ["--head", f"--port={address.partition(':')[2]}", f"--temp-dir={self.folder / 'ray'}"]
        where = [f"--address={address}"] if self.nodes else [*head, "--include-dashboard=false", "--no-monitor"]
        log = self.folder / f"node{len(list(self.folder.glob('*.log')))}.log"
        with log.open("wb") as stream:
            node = subprocess.Popen(
                [RAY, "start", *where, f"--num-cpus={cpus}", "--num-gpus=0", "--block",
                 "--object-store-memory=80000000", "--include-log-monitor=false"],
                stdout=stream, stderr=stream, start_new_session=True,
                env={**os.environ, **self.environment, "PYTHONPATH": self._path},
            )  # fmt: skip
        return node, log

    def kill(self, node: subprocess.Popen[bytes]) -> None:
        """End a node and all of its processes at once, as when its machine dies."""
        self.nodes.remove(node)
        _end(node)

    def close(self) -> None:
        """End every node, the head last, and remove what they wrote."""
        while self.nodes:
            self.kill(self.nodes[-1])
        shutil.rmtree(self.folder, ignore_errors=True)


def _end(node: subprocess.Popen[bytes]) -> None:
    with suppress(ProcessLookupError):
        os.killpg(node.pid, signal.SIGKILL)
    node.wait()


def free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return found.getsockname()[1]
