"""Inputs, checkpoints and results of jobs in a real S3 bucket, and the contract of a container as a process has it."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
import tarfile
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import count
from typing import Any

import pytest
import seaweed
from aws_stand_in import ACCOUNT
from driving import environment, wait_for
from processes import alive

from sm_ops.core.errors import InputError
from sm_ops.storage.places import calls
from sm_ops.storage.sagemaker import jobs, local
from sm_ops.storage.sagemaker.export import export
from sm_ops.storage.sagemaker.inputs import Channel, channels_of
from sm_ops.storage.sagemaker.journal import Entry, Journal
from sm_ops.storage.sagemaker.local import LocalExecutor
from sm_ops.storage.sagemaker.request import training_job
from sm_ops.storage.sagemaker.teardown import remove, to_remove
from sm_ops.storage.sagemaker.upload import Sent, upload

BUCKET = "jobs"
_numbers = count()


@dataclass(frozen=True)
class Store:
    """A prefix of a bucket, as an operator sees it."""

    client: Any
    prefix: str

    def keys(self, below: str = "") -> list[str]:
        found = self.client.list_objects_v2(Bucket=BUCKET, Prefix=f"{self.prefix}/{below}")
        return sorted(each["Key"].removeprefix(f"{self.prefix}/") for each in found.get("Contents", []))

    def get(self, key: str) -> bytes:
        return self.client.get_object(Bucket=BUCKET, Key=f"{self.prefix}/{key}")["Body"].read()

    def put(self, key: str, data: bytes) -> None:
        self.client.put_object(Bucket=BUCKET, Key=f"{self.prefix}/{key}", Body=data)

    def archive(self, key: str) -> dict[str, bytes]:
        """The files of an archive."""
        with tarfile.open(fileobj=io.BytesIO(self.get(key))) as tar:
            return {m.name: tar.extractfile(m).read() for m in tar if m.isreg()}  # type: ignore[union-attr]


@pytest.fixture(scope="module")
def server(tmp_path_factory) -> Iterator[seaweed.Server]:
    with seaweed.started(tmp_path_factory.mktemp("weed")) as running:
        running.make_bucket(BUCKET)
        yield running


@pytest.fixture(scope="module")
def client(server) -> Any:
    return server.client()


@pytest.fixture
def store(server, client, inventory, monkeypatch) -> Store:
    """A prefix of the test's own, which is the inventory's."""
    for name, value in server.variables(seaweed.OPERATOR).items():
        monkeypatch.setenv(name, value)
    inventory |= {"bucket": BUCKET, "prefix": f"test-{next(_numbers)}"}
    return Store(client, inventory["prefix"])


@pytest.fixture
def channels(tmp_path) -> list[Channel]:
    own = tmp_path / "own.jsonl"
    own.write_text('{"id": "1", "text": "a"}\n')
    (tmp_path / "config").mkdir()
    config = {"flow": "surprise", "name": "own", "data": {"own": {"train": str(own)}}}
    return channels_of(config, [str(own)], [], tmp_path / "config")


@pytest.mark.slow
def test_exactly_the_declared_files_are_sent(channels, store, inventory):
    assert upload(channels, inventory) == Sent(sent=3, found=0)
    assert upload(channels, inventory) == Sent(sent=0, found=3)
    config, own = (channel.key for channel in channels)
    assert store.keys() == [f"{config}/config.json", f"{config}/inputs.json", f"{own}/own.jsonl"]


@pytest.mark.slow
def test_an_object_that_nobody_declared_stops_the_upload(channels, store, inventory):
    store.put(f"{channels[1].key}/more.jsonl", b"-")
    with pytest.raises(InputError, match="undeclared-inputs"):
        upload(channels, inventory)


@pytest.mark.slow
def test_a_damaged_object_is_sent_again(channels, store, inventory):
    upload(channels, inventory)
    key = f"{channels[1].key}/own.jsonl"
    store.put(key, b"-")
    assert upload(channels, inventory) == Sent(sent=1, found=2)
    assert store.get(key) == channels[1].files["own.jsonl"].read_bytes()


@pytest.mark.slow
def test_a_file_that_changes_meanwhile_is_noticed(channels, store, inventory):
    channels[1].files["own.jsonl"].write_text("{}\n")
    with pytest.raises(InputError, match="input-changed"):
        upload(channels, inventory)


@pytest.mark.slow
def test_a_bucket_that_is_not_there(channels, store, inventory):
    with pytest.raises(InputError, match="no-bucket"):
        upload(channels, {**inventory, "bucket": "another"})


# ---- the local executor --------------------------------------------------------------------------------

CONTAINER = """
import json, os, sys
from pathlib import Path
base = Path(os.environ["SAGEMAKER_BASE_DIR"])
count = base / "checkpoints" / "count"
number = int(count.read_text()) + 1 if count.exists() else 1
count.write_text(str(number))
(base / "model" / "weights").write_text("w")
files = sorted(str(path.relative_to(base)) for path in base.rglob("*") if path.is_file())
seen = {"files": files, "variables": sorted(os.environ)}
(base / "output" / "data" / "results.json").write_text(json.dumps(seen))
(base / "output" / "data" / "rows.jsonl").write_text("text of the data")
if number == 1: (base / "output" / "failure").write_text("first"); sys.exit(7)
"""


def planned(journal: Journal, number: int, machine, inventory, channels, code: str = CONTAINER) -> Entry:
    """A job whose entry point is a few lines of Python."""
    job = training_job("own-0123456789ab-local", number, machine, inventory, channels)
    job["AlgorithmSpecification"]["ContainerEntrypoint"] = [sys.executable, "-c", code]
    return journal.plan(job, inventory, True)


@pytest.fixture
def executed(channels, store, machine, inventory, tmp_path) -> tuple[list[Entry], LocalExecutor]:
    """Two attempts at one piece of work, of which the first fails."""
    upload(channels, inventory)
    journal, executor = Journal(tmp_path / "home"), LocalExecutor(tmp_path / "home", ACCOUNT)
    entries = [planned(journal, number, machine, inventory, channels) for number in (1, 2)]
    for entry in entries:
        jobs.submit(entry, executor)
    return entries, executor


def test_the_contract_of_a_container(executed, store, tmp_path):
    (first, second), executor = executed
    failed, done = (jobs.status(entry, executor) for entry in (first, second))
    assert (failed["status"], failed["failure"]) == ("Failed", "AlgorithmError: first, exit code: 7")
    assert (done["status"], done["failure"]) == ("Completed", None)
    results = f"outputs/{second.name}/output"
    assert store.keys(results) == [f"{results}/model.tar.gz", f"{results}/output.tar.gz"]
    assert store.archive(f"{results}/model.tar.gz") == {"./weights": b"w"}
    seen = json.loads(store.archive(f"{results}/output.tar.gz")["./results.json"])
    inputs = [name for name in seen["files"] if name.startswith("input/")]
    own = next(each["ChannelName"] for each in second.request["InputDataConfig"] if each["ChannelName"] != "config")
    assert inputs == [
        "input/config/hyperparameters.json",
        "input/config/inputdataconfig.json",
        "input/config/resourceconfig.json",
        "input/data/config/config.json",
        "input/data/config/inputs.json",
        f"input/data/{own}/own.jsonl",
    ]
    assert not [name for name in seen["variables"] if name.startswith(("AWS_", "SM_OPS_"))]
    count = store.get("checkpoints/own-0123456789ab-local/count")
    assert count == b"2", "the second attempt did not begin with the first one's checkpoints"
    assert not list((tmp_path / "home" / "restricted" / "sagemaker").iterdir()), "inputs were left on the disk"


@pytest.mark.slow
def test_only_aggregates_come_out(executed, tmp_path):
    (_, entry), _ = executed
    assert export(entry.request, ACCOUNT, tmp_path / "out") == (["results.json"], 1)
    assert os.listdir(tmp_path / "out") == ["results.json"]
    with pytest.raises(InputError, match="output-exists"):
        export(entry.request, ACCOUNT, tmp_path / "out")


@pytest.mark.slow
def test_teardown_removes_what_no_other_job_needs(executed, store):
    (first, second), executor = executed
    for entry in (first, second):
        jobs.status(entry, executor)
    things = to_remove([first], [first, second])
    assert [thing.uri for thing in things] == [f"s3://{BUCKET}/{store.prefix}/outputs/{first.name}/"]
    assert [thing.state for thing in remove(things)] == ["removed"]
    things = remove(to_remove([first, second], [first, second]))
    assert {thing.state for thing in things} == {"absent", "removed"}
    assert len(things) == 5
    assert store.keys() == []


@pytest.mark.slow
def test_a_job_that_may_run_is_not_torn_down(executed):
    (first, second), _ = executed
    with pytest.raises(InputError, match="job-runs"):
        to_remove([first], [first, second])


@pytest.mark.slow
def test_the_time_of_a_job_is_limited(channels, store, machine, inventory, tmp_path, monkeypatch):
    monkeypatch.setattr(local, "GRACE", 0.2)
    upload(channels, inventory)
    stubborn = "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); time.sleep(60)"
    entry = planned(Journal(tmp_path / "home"), 1, machine, inventory, channels, stubborn)
    entry.request["StoppingCondition"]["MaxRuntimeInSeconds"] = 1
    executor = LocalExecutor(tmp_path / "home", ACCOUNT)
    jobs.submit(entry, executor)
    assert jobs.status(entry, executor)["doing"] == "MaxRuntimeExceeded"


CARRIED_OUT = """
import json, sys; from pathlib import Path
from sm_ops.storage.sagemaker.local import LocalExecutor
LocalExecutor(Path(sys.argv[1]), sys.argv[2]).change("create_training_job", **json.load(sys.stdin))
"""


@pytest.mark.slow
def test_a_job_dies_with_the_process_that_carries_it_out(channels, store, machine, inventory, tmp_path):
    upload(channels, inventory)
    home = tmp_path / "home"
    told = (
        "import os, time; open(os.environ['SAGEMAKER_BASE_DIR'] + '/pid', 'w').write(str(os.getpid())); time.sleep(60)"
    )
    journal = Journal(home)
    entry = planned(journal, 1, machine, inventory, channels, told)
    entry.enter("submitting")
    words = [sys.executable, "-c", CARRIED_OUT, str(home), ACCOUNT]
    process = subprocess.Popen(words, env=environment(home), stdin=subprocess.PIPE, text=True)
    assert process.stdin is not None
    json.dump(entry.request, process.stdin)
    process.stdin.close()
    pid = home / "restricted" / "sagemaker" / entry.name / "pid"
    wait_for(lambda: pid.exists() and pid.read_text())
    process.kill()
    process.wait()
    wait_for(lambda: not alive(int(pid.read_text())))
    executor = LocalExecutor(home, ACCOUNT)
    assert jobs.next_attempt(journal, entry.series, executor) == 2
    assert jobs.status(journal.find(None), executor)["failure"] == "InternalServerError: the process was killed"


@pytest.mark.slow
def test_without_inputs_a_job_fails_in_words(channels, store, machine, inventory, tmp_path):
    entry = planned(Journal(tmp_path / "home"), 1, machine, inventory, channels)
    executor = LocalExecutor(tmp_path / "home", ACCOUNT)
    jobs.submit(entry, executor)
    assert "There is nothing at s3://" in jobs.status(entry, executor)["failure"]


# ---- what may come out ---------------------------------------------------------------------------------


def put_archive(store: Store, entry: Entry, members: dict[str, bytes], **special: Any) -> None:
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode="w:gz") as tar:
        for name, data in members.items():
            info = tarfile.TarInfo(name)
            info.size = len(data)
            tar.addfile(info, io.BytesIO(data))
        for name, target in special.items():
            info = tarfile.TarInfo(f"{name}.csv")
            info.type, info.linkname = tarfile.SYMTYPE, target
            tar.addfile(info)
    key = f"outputs/{entry.name}/output/output.tar.gz"
    store.put(key, stream.getvalue())


@pytest.fixture
def entry(channels, store, machine, inventory, tmp_path) -> Entry:
    return planned(Journal(tmp_path / "home"), 1, machine, inventory, channels)


@pytest.mark.slow
def test_an_archive_writes_nowhere_else(entry, store, tmp_path):
    members = {
        "./rows.csv": b"a",
        "../up.csv": b"b",
        "/tmp/abs.csv": b"c",
        "sub/x.csv": b"d",
        "model.safetensors": b"e",
    }
    put_archive(store, entry, members, link="/etc/passwd")
    assert export(entry.request, ACCOUNT, tmp_path / "out") == (["rows.csv"], 5)
    assert {path.name for path in tmp_path.rglob("*.csv")} == {"rows.csv"}


@pytest.mark.slow
@pytest.mark.parametrize("content", [b"not an archive", b""])
def test_a_damaged_archive_leaves_nothing(content, entry, store, tmp_path):
    key = f"outputs/{entry.name}/output/output.tar.gz"
    store.put(key, content)
    before = sorted(tmp_path.iterdir())
    with pytest.raises(InputError, match="results-damaged"):
        export(entry.request, ACCOUNT, tmp_path / "out")
    assert sorted(tmp_path.iterdir()) == before


@pytest.mark.slow
def test_a_job_without_results(entry, tmp_path):
    with pytest.raises(InputError, match="no-results"):
        export(entry.request, ACCOUNT, tmp_path / "out")


@pytest.mark.slow
def test_a_bucket_that_may_not_be_looked_at_is_not_empty(entry, server, monkeypatch):
    monkeypatch.setattr(calls, "PAUSE", 0.0)
    for name, value in server.variables(seaweed.READER).items():
        monkeypatch.setenv(name, value)
    things = to_remove([entry], [entry])
    assert {thing.state for thing in things} == {"unknown"}
    assert all("was refused to these credentials" in thing.detail for thing in things)
    assert {thing.state for thing in remove(things)} == {"unknown"}
