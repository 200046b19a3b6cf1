"""moto as a server of its own, which stands in for AWS."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ACCOUNT, REGION = "123456789012", "eu-central-1"


@dataclass(frozen=True)
class Moto:
    """A server that stands in for AWS."""

    url: str

    @property
    def variables(self) -> dict[str, str]:
        """The environment in which boto3 and Terraform find it."""
        return {
            "AWS_ENDPOINT_URL": self.url,
            "AWS_ACCESS_KEY_ID": "testing",
            "AWS_SECRET_ACCESS_KEY": "testing",
            "AWS_DEFAULT_REGION": REGION,
            "AWS_EC2_METADATA_DISABLED": "true",
        }

    def client(self, service: str, **credentials: str) -> Any:
        import boto3

        given = credentials or {"aws_access_key_id": "testing", "aws_secret_access_key": "testing"}
        return boto3.client(service, endpoint_url=self.url, region_name=REGION, **given)

    def post(self, path: str, body: bytes = b"") -> None:
        asked = urllib.request.Request(self.url + path, data=body, headers={"Content-Type": "text/plain"})
        urllib.request.urlopen(asked, timeout=30).close()


@contextmanager
def started_moto(folder: Path) -> Iterator[Moto]:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    with (folder / "moto.log").open("wb") as log:
        process = subprocess.Popen(
            [sys.executable, "-m", "moto.server", "-H", "127.0.0.1", "-p", str(port)],
            stdout=log,
            stderr=log,
            start_new_session=True,
            env={"PATH": os.environ["PATH"], "AWS_DEFAULT_REGION": REGION},
        )
    server = Moto(f"http://127.0.0.1:{port}")
    try:
        end = time.monotonic() + 60
        while time.monotonic() < end and process.poll() is None:
            with suppress(OSError):
                urllib.request.urlopen(server.url + "/moto-api/", timeout=5).close()
                break
            time.sleep(0.1)
        yield server
    finally:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
