"""Compose files: Compose's own validation, and rules that each service keeps."""

import json
import re
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from infra.checks import PASSWORD_IN_URL, SECRET, complaint, tool

FILES = ("infra/*compose*.yaml",)


def check(path: Path) -> Iterator[str]:
    """Yield what is wrong. The folder of secrets need not be there."""
    compose = tool("docker-compose")
    command = (compose, "--file", str(path), "--profile", "*", "config")
    if not complaint(*command, "--quiet"):
        yield "starts without SM_OPS_SECRETS: a stack without secrets of its own"
    with tempfile.TemporaryDirectory() as secrets:
        if refused := complaint(*command, "--quiet", environment={"SM_OPS_SECRETS": secrets}):
            yield refused
            return
        done = subprocess.run(
            [*command, "--format", "json"],
            env={"SM_OPS_SECRETS": secrets},
            capture_output=True,
            text=True,
            check=True,
        )
        content = json.loads(done.stdout)
        for name, secret in content.get("secrets", {}).items():
            if not secret.get("file", "").startswith(f"{secrets}/"):
                yield f"secret {name} is not a file of SM_OPS_SECRETS"
    for name, service in content["services"].items():
        yield from (f"service {name} {problem}" for problem in _service(service))


def _service(service: dict[str, Any]) -> Iterator[str]:
    """What is wrong with a service, of which Compose has filled in all that is inherited."""
    yield from _image(service.get("image", ""))
    yield from _rights(service)
    yield from _environment(service.get("environment") or {})
    for port in service.get("ports", ()):
        if port.get("host_ip") not in {"127.0.0.1", "::1"}:
            yield f"publishes port {port.get('target')} beyond loopback"
    for volume in service.get("volumes", ()):
        if volume["type"] != "volume" or not volume.get("source"):
            yield f"mounts {volume['target']} from the host or from no named volume"
    long = service.get("restart") != "on-failure"
    if long and not (service.get("healthcheck") or {}).get("test"):
        yield "has no health check"
    if service.get("restart") not in {"unless-stopped", "on-failure"}:
        yield "is not restarted"
    for other, how in service.get("depends_on", {}).items():
        if how["condition"] == "service_started":
            yield f"does not wait until {other} is healthy"


def _image(image: str) -> Iterator[str]:
    name, _, digest = image.partition("@")
    tag = name.rpartition("/")[2].partition(":")[2]
    if not digest and tag in {"", "latest"}:
        yield f"has an image without a version ({image or 'none'})"


def _rights(service: dict[str, Any]) -> Iterator[str]:
    if not service.get("read_only"):
        yield "has a root file system that it may write to"
    if service.get("cap_drop") != ["ALL"] or service.get("cap_add"):
        yield "keeps capabilities"
    if "no-new-privileges:true" not in service.get("security_opt", ()):
        yield "may gain privileges"
    if service.get("user", "root").split(":")[0] in {"root", "0"}:
        yield "runs as root"
    for setting in ("privileged", "network_mode", "pid", "ipc", "userns_mode", "devices"):
        if service.get(setting):
            yield f"sets {setting}"
    if not service.get("pids_limit"):
        yield "has no limit of processes"


def _environment(environment: dict[str, str | None]) -> Iterator[str]:
    for name, value in environment.items():
        if re.search(SECRET, name) and value:
            yield f"has a secret in its environment ({name}); take a file of secrets"
        if re.search(PASSWORD_IN_URL, value or ""):
            yield f"has a password in an address ({name})"
