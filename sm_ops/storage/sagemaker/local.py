"""SageMaker's contract on this machine: the very same job request, its channels from S3, its results to S3.

It stands where the service does: `create_training_job` stages the channels and the checkpoints below a folder in place
of `/opt/ml`, runs the request's entry point as a process without network credentials, sends checkpoints while it runs
and `model.tar.gz` and `output.tar.gz` when it has ended, and returns then. The image is not used.
"""

from __future__ import annotations

import ctypes
import os
import shutil
import signal
import subprocess
import sys
import tarfile
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

from filelock import FileLock, Timeout

from sm_ops.core import fs, processes
from sm_ops.core.errors import InputError
from sm_ops.storage.places.s3 import S3Place
from sm_ops.storage.sagemaker.buckets import Buckets
from sm_ops.storage.sagemaker.request import outputs_of
from sm_ops.storage.sagemaker.service import Absent, Taken

GRACE = 120
"""Seconds between SIGTERM and SIGKILL, as the service has it."""
EVERY = 20
"""Seconds between two looks for new checkpoints."""
_PASSED = ("PATH", "LANG", "LC_ALL", "OMP_NUM_THREADS", "LD_LIBRARY_PATH", "CUDA_VISIBLE_DEVICES")
_DIES_WITH_PARENT = 1
"""PR_SET_PDEATHSIG of prctl(2)."""
Json = dict[str, Any]


class LocalExecutor:
    """Carries out jobs one at a time; what the service would say of each lies beside its journal."""

    def __init__(self, home: Path, owner: str) -> None:
        self._jobs = home / "sagemaker" / "jobs"
        self._scratch = home / "restricted" / "sagemaker"
        self._buckets = Buckets(owner)

    def read(self, operation: str, **arguments: Any) -> Json:
        """`describe_training_job` and `stop_training_job`."""
        name = arguments["TrainingJobName"]
        found = self._described(name)
        if operation == "stop_training_job" and found["TrainingJobStatus"] == "InProgress":
            os.kill(found["Pid"], signal.SIGTERM)
            self._write(name, found | {"TrainingJobStatus": "Stopping", "SecondaryStatus": "Stopping"})
        return found

    def change(self, operation: str, **request: Any) -> Json:
        """`create_training_job`, which returns when the job has ended. Ctrl-C and SIGTERM stop it."""
        del operation
        name = request["TrainingJobName"]
        with suppress(Absent):
            self._described(name)
            raise Taken
        arn = f"local:{name}"
        about = {"TrainingJobName": name, "TrainingJobArn": arn, "HyperParameters": request["HyperParameters"]}
        base = fs.private_folder(fs.private_folder(self._scratch.parent).joinpath("sagemaker", name))
        with FileLock(self._lock(name)):
            self._write(name, about | _state("InProgress", "Downloading") | {"Pid": os.getpid()})
            began, ended = time.monotonic(), _state("Failed", "Failed")
            try:
                ended = self._carried_out(request, base)
            except KeyboardInterrupt:
                ended = _state("Stopped", "Stopped")
                raise
            except InputError as error:
                ended = _state("Failed", "Failed") | {"FailureReason": f"ClientError: {error}"}
            finally:
                self._write(name, about | ended | {"TrainingTimeInSeconds": round(time.monotonic() - began)})
                shutil.rmtree(base)
        return {"TrainingJobArn": arn}

    def _carried_out(self, request: Json, base: Path) -> Json:
        """Stage, run, send; what the service would say of the end."""
        self._stage(request, base)
        checkpoints = _Checkpoints(base / "checkpoints", self._buckets.at(request["CheckpointConfig"]["S3Uri"]))
        checkpoints.restore()
        seconds = request["StoppingCondition"]["MaxRuntimeInSeconds"]
        process = _start(request, base)
        try:
            code = _watch(process, seconds, checkpoints)
        finally:
            _end(process)
            checkpoints.send()
            results = self._buckets.at(outputs_of(request))
            for folder, archive in ((base / "model", "model.tar.gz"), (base / "output" / "data", "output.tar.gz")):
                _send_archive(folder, base / archive, results)
        if code is None:
            return _state("Stopped", "MaxRuntimeExceeded")
        if code:
            failure = base / "output" / "failure"
            reason = failure.read_text(encoding="utf-8")[:900] if failure.is_file() else ""
            return _state("Failed", "Failed") | {"FailureReason": f"AlgorithmError: {reason}, exit code: {code}"}
        artifacts = {"S3ModelArtifacts": f"{outputs_of(request)}model.tar.gz"}
        return _state("Completed", "Completed") | {"ModelArtifacts": artifacts}

    def _stage(self, request: Json, base: Path) -> None:
        for folder in ("input/config", "input/data", "model", "output/data", "checkpoints", "tmp"):
            (base / folder).mkdir(parents=True, exist_ok=True)
        hosts = {"current_host": "localhost", "hosts": ["localhost"], "network_interface_name": "lo"}
        fs.write_json(base / "input/config/hyperparameters.json", request["HyperParameters"])
        fs.write_json(base / "input/config/resourceconfig.json", hosts)
        fs.write_json(
            base / "input/config/inputdataconfig.json",
            {channel["ChannelName"]: {"TrainingInputMode": "File"} for channel in request["InputDataConfig"]},
        )
        for channel in request["InputDataConfig"]:
            source = self._buckets.at(channel["DataSource"]["S3DataSource"]["S3Uri"])
            if not _fetch(source, base / "input" / "data" / channel["ChannelName"]):
                raise InputError("no-input", f"There is nothing at {source.text}; upload first.")

    def _described(self, name: str) -> Json:
        path = self._jobs / name / "local.json"
        if not path.is_file():
            raise Absent
        found = fs.read_json(path)
        if found["TrainingJobStatus"] in ("InProgress", "Stopping") and not self._is_held(name):
            found |= _state("Failed", "Failed") | {"FailureReason": "InternalServerError: the process was killed"}
        return found

    def _write(self, name: str, found: Json) -> None:
        fs.write_json(self._jobs / name / "local.json", found)

    def _lock(self, name: str) -> Path:
        return self._jobs / name / "local.lock"

    def _is_held(self, name: str) -> bool:
        lock = FileLock(self._lock(name))
        with suppress(Timeout):
            lock.acquire(timeout=0)
            lock.release()
            return False
        return True


class _Checkpoints:
    """A folder whose files go to S3 when they have changed, as the service does."""

    def __init__(self, folder: Path, place: S3Place) -> None:
        self._folder = folder
        self._place = place
        self._sent: dict[str, tuple[int, int]] = {}

    def restore(self) -> None:
        _fetch(self._place, self._folder)
        self._sent = dict(self._stamps())

    def send(self) -> None:
        for name, stamp in self._stamps():
            if self._sent.get(name) != stamp:
                with suppress(FileNotFoundError):  # renamed meanwhile
                    self._place.stage(name, self._folder / name)
                    self._sent[name] = stamp

    def _stamps(self) -> Iterator[tuple[str, tuple[int, int]]]:
        for name, path in fs.files_below(self._folder):
            with suppress(FileNotFoundError):
                status = path.stat()
                yield name, (status.st_size, status.st_mtime_ns)


def _state(status: str, doing: str) -> Json:
    return {"TrainingJobStatus": status, "SecondaryStatus": doing}


def _start(request: Json, base: Path) -> subprocess.Popen[bytes]:
    """The entry point, with what a container gets and nothing of this machine's credentials."""
    environment = {name: os.environ[name] for name in _PASSED if name in os.environ}
    environment["PATH"] = os.pathsep.join([str(Path(sys.executable).parent), environment.get("PATH", os.defpath)])
    environment |= {
        "HOME": str(base / "tmp"),
        "TMPDIR": str(base / "tmp"),
        "PYTHONPATH": processes.SOURCE,
        "SAGEMAKER_BASE_DIR": str(base),
        "TRAINING_JOB_NAME": request["TrainingJobName"],
        **request.get("Environment", {}),
    }
    libc = ctypes.CDLL(None)
    return subprocess.Popen(
        request["AlgorithmSpecification"]["ContainerEntrypoint"],
        cwd=base,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=sys.stderr,
        start_new_session=True,
        preexec_fn=lambda: libc.prctl(_DIES_WITH_PARENT, signal.SIGTERM),
    )


def _watch(process: subprocess.Popen[bytes], seconds: float, checkpoints: _Checkpoints) -> int | None:
    """The exit code, or None when the time is over."""
    end = time.monotonic() + seconds
    while (left := end - time.monotonic()) > 0:
        with suppress(subprocess.TimeoutExpired):
            return process.wait(min(EVERY, left))
        checkpoints.send()
    return None


def _end(process: subprocess.Popen[bytes]) -> None:
    """SIGTERM, and SIGKILL to what is left of its group after a while."""
    process.terminate()
    with suppress(subprocess.TimeoutExpired):
        process.wait(GRACE)
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def _fetch(source: S3Place, folder: Path) -> int:
    """Every object below a prefix as a file; how many."""
    keys = source.keys("")
    for key in keys:
        path = folder / key
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("wb") as stream:
            for piece in source.read(key):
                stream.write(piece)
    return len(keys)


def _send_archive(folder: Path, archive: Path, results: S3Place) -> None:
    with tarfile.open(archive, "w:gz") as tar:
        tar.add(folder, arcname=".")
    results.stage(archive.name, archive)
