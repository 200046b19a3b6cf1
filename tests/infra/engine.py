"""Podman and Buildah where they are installed, with what this machine lacks beside them: a base image, wheels, timers.

A base and wheels are made once and kept in the user's cache. `SM_OPS_TEST_BASE` names a base image instead, where a
registry is within reach.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from driving import ROOT

CACHE = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "sm-ops-tests"
SETTINGS = """
[containers]
default_ulimits = ["nofile=1024:1024", "nproc=4096:4096"]
[engine]
cgroup_manager = "cgroupfs"
events_logger = "file"
runtime = "{runtime}"
[network]
network_backend = "netavark"
"""


class Engine:
    """A rootful Podman. Whatever a test starts bears the name of its project."""

    def __init__(self, folder: Path) -> None:
        for name in ("podman", "buildah", "netavark", "catatonit", "iptables"):
            if not shutil.which(name, path=f"{os.environ['PATH']}:/usr/lib/podman:/usr/libexec/podman"):
                pytest.skip(f"{name} is not installed")
        if os.geteuid() != 0:
            pytest.skip("networks of containers need root here")
        runtime = "runc" if shutil.which("runc") else "crun"
        (folder / "containers.conf").write_text(SETTINGS.format(runtime=runtime))
        self._folder = folder
        self.environment = {**os.environ, "CONTAINERS_CONF": str(folder / "containers.conf")}

    def run(self, *command: str, stdin: str | None = None, **variables: str) -> str:
        """What a command prints; it must succeed."""
        done = subprocess.run(
            command,
            env={**self.environment, **variables},
            input=stdin,
            capture_output=True,
            text=True,
            timeout=900,
            check=False,
        )
        assert done.returncode == 0, f"{' '.join(command)}\n{done.stdout[-3000:]}\n{done.stderr[-3000:]}"
        return done.stdout

    def base(self) -> str:
        """An image with Python, of which this machine may have none."""
        if named := os.environ.get("SM_OPS_TEST_BASE"):
            return named
        name, archive = "localhost/sm-ops/base:test", CACHE / "base.tar"
        if not archive.is_file():
            if not shutil.which("debootstrap"):
                pytest.skip("debootstrap is not installed, and SM_OPS_TEST_BASE names no base image")
            CACHE.mkdir(parents=True, exist_ok=True)
            root = self._folder / "root"
            packages = "ca-certificates,git,openssl,python3-minimal,python3-venv,postgresql"
            self.run("debootstrap", "--variant=minbase", f"--include={packages}", "bookworm", str(root))
            self.run("tar", "--create", f"--directory={root}", f"--file={archive}.new", ".")
            archive.with_name("base.tar.new").replace(archive)
        if subprocess.run(["podman", "image", "exists", name], env=self.environment, check=False).returncode:
            self.run("podman", "import", str(archive), name)
        return name

    def build(self, file: str, tag: str, *arguments: str, target: str = "") -> str:
        """Build a container file of ours over a copy of what git would keep, with wheels and without an index."""
        context = self._folder / "context"
        if not context.is_dir():
            skipped = shutil.ignore_patterns("__pycache__", "*.whl", ".terraform*")
            for name in ("sm_ops", "flows", "configs", "infra"):
                shutil.copytree(ROOT / name, context / name, ignore=skipped)
            for name in ("pyproject.toml", "constraints.txt", "README.md", "LICENSE", ".dockerignore"):
                shutil.copy(ROOT / name, context)
            shutil.copytree(wheels(), context / "infra" / "wheels", dirs_exist_ok=True)
        chosen = [
            word
            for argument in ("PIP_NO_INDEX=1", f"BASE={self.base()}", *arguments)
            for word in ("--build-arg", argument)
        ]
        where = [
            "--isolation=chroot",
            "--network=host",
            "--layers",
            "--file",
            str(context / "infra" / "containers" / file),
        ]
        self.run("buildah", "bud", *where, *chosen, f"--target={target}", "--tag", tag, str(context))
        return tag


def wheels() -> Path:
    """The wheels of both images, from this machine's index."""
    folder = CACHE / "wheels"
    listed = (ROOT / "constraints.txt").read_text()
    if (folder / "constraints.txt").is_file() and (folder / "constraints.txt").read_text() == listed:
        return folder
    wanted = CACHE / "wanted.txt"
    CACHE.mkdir(parents=True, exist_ok=True)
    python = [sys.executable, "-m"]
    server = CACHE / "server.in"
    server.write_text("asyncpg\nboto3\nmlflow[auth]\npsycopg2-binary\nseaweedfs-bin\n")
    environment = {**os.environ, "UV_FIND_LINKS": os.environ.get("PIP_FIND_LINKS", "")}
    resolve = [*python, "uv", "pip", "compile", "--quiet", "--no-header", "--no-annotate", "--python", sys.executable]
    resolve += ["--constraint", str(ROOT / "constraints.txt"), str(ROOT / "pyproject.toml"), str(server)]
    subprocess.run([*resolve, "--output-file", str(wanted)], env=environment, check=True, timeout=300)
    fetch = [*python, "pip", "wheel", "--quiet", "--no-deps", "--wheel-dir", str(folder), "--requirement", str(wanted)]
    extra = [line for line in listed.splitlines() if line.startswith(("setuptools==", "async-timeout=="))]
    subprocess.run([*fetch, "uv", *extra], check=True, timeout=900)
    (folder / "constraints.txt").write_text(listed)
    return folder


@contextmanager
def compose(engine: Engine, folder: Path, project: str, *files: Path, **variables: str) -> Iterator[list[str]]:
    """The command that drives Compose over Podman's socket. At the end nothing of the project is left."""
    socket = folder / "podman.sock"
    service = subprocess.Popen(
        ["podman", "system", "service", "--time=0", f"unix://{socket}"],
        env=engine.environment,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    engine.environment |= {"DOCKER_HOST": f"unix://{socket}", **variables}
    command = [str(Path(sys.executable).with_name("docker-compose")), "--project-name", project]
    for file in files:
        command += ["--file", str(file)]
    ended = threading.Event()
    thread = threading.Thread(target=_examine, args=(engine, project, ended))
    thread.start()
    try:
        yield command
    finally:
        engine.run(*command, "down", "--volumes", "--timeout", "10")
        ended.set()
        thread.join()
        service.terminate()
        service.wait()


def _examine(engine: Engine, project: str, ended: threading.Event) -> None:
    """Podman leaves health checks to systemd's timers, and here is no systemd."""
    mine = ["podman", "ps", "--quiet", "--filter", f"label=com.docker.compose.project={project}"]
    while not ended.wait(2):
        for container in engine.run(*mine).split():
            check = ["podman", "healthcheck", "run", container]
            subprocess.run(check, env=engine.environment, capture_output=True, check=False)
