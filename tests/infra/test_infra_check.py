"""`make infra-check` finds what is wrong with a file, and says what it could not ask; secrets are made once."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from driving import ROOT


def infra_check(root: Path, path: str | None = None) -> tuple[int, dict[str, str]]:
    """Exit code, and the line of each file."""
    done = subprocess.run(
        [sys.executable, "-m", "infra.check", str(root)],
        cwd=ROOT,
        env={**os.environ, **({} if path is None else {"PATH": path})},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert not done.stderr, done.stderr
    *lines, total = done.stdout.splitlines()
    assert re.fullmatch(r"\d+ files: \d+ ok, \d+ skipped, \d+ failed", total)
    return done.returncode, {line.split()[1].rstrip(":"): line for line in lines}


def without_terraform(folder: Path) -> Path:
    """A copy of what is checked. Terraform's files have tests of their own (tests/sagemaker)."""
    shutil.copytree(
        ROOT / "infra", folder / "infra", ignore=shutil.ignore_patterns("terraform", "*.whl", "__pycache__")
    )
    shutil.copytree(ROOT / ".github", folder / ".github")
    shutil.copy(ROOT / ".dockerignore", folder)
    return folder


BROKEN = {
    "infra/compose.yaml": [
        ("read_only: true", "read_only: false", "has a root file system that it may write to"),
        ("cap_drop: [ALL]", "cap_drop: [NET_RAW]", "keeps capabilities"),
        ('"no-new-privileges:true"', '"no-new-privileges:false"', "may gain privileges"),
        ('user: "999:999"', 'user: "0:0"', "service postgres runs as root"),
        ("pids_limit: 1000", "privileged: true", "sets privileged"),
        ("postgres:17.6-bookworm", "postgres:latest", "image without a version"),
        ('"127.0.0.1:${SM_OPS_PREFECT_PORT:-4200}:4200"', '"4200:4200"', "service prefect publishes port 4200 beyond"),
        ("volumes: [s3:/data]", "volumes: [/srv:/data]", "service s3 mounts /data from the host"),
        ("MLFLOW_TRACKING_USERNAME: worker", "MLFLOW_TRACKING_PASSWORD: worker", "secret in its environment"),
        ("//prefect@postgres", "//prefect:planted@postgres", "service prefect has a password in an address"),
        (
            'file: "${SM_OPS_SECRETS}/vault_key"',
            "file: /etc/vault_key",
            "secret vault_key is not a file of SM_OPS_SECRETS",
        ),
        ("restart: on-failure\n    command: [python, -m", "command: [python, -m", "service deploy has no health check"),
        ("condition: service_completed_successfully", "condition: service_started", "service worker does not wait"),
        ("${SM_OPS_SECRETS:?names the folder that infra/make_secrets.py made}", "${SM_OPS_SECRETS}", "starts without"),
    ],
    "infra/containers/server.Containerfile": [
        ("slim-bookworm\n", "\n", None),
        ("python:3.11.13", "python:latest", "no ARG BASE with a version"),
        ("USER 10001:10001\n", "", "does not end as a user of its own"),
        ("ARG PIP_NO_INDEX=\n", "ARG INDEX_TOKEN=\n", "has a secret in a layer (INDEX_TOKEN)"),
        ("COPY constraints.txt ./", "COPY . ./", "copies a whole folder tree"),
        ("WORKDIR /opt/sm-ops", "WORKDIR opt", "DL3000"),
    ],
    "infra/containers/mlflow_auth.ini": [
        ("NO_PERMISSIONS", "READ", "grants READ to every user"),
        ("admin_username = admin", "admin_password = planted", "holds admin_password"),
        ("//mlflow@", "//mlflow:planted@", "database_uri holds a password"),
    ],
    "infra/containers/databases.sql": [
        (":'mlflow_password'", "'planted'", "line 5 has a password that is not a variable")
    ],
    "infra/containers/s3.sh": [("set -eu", "if true", "s3.sh")],
    "infra/policies/s3_roles.json": [('"Read:releases", "List:releases"', '"Admin"', "reader has Admin")],
    "infra/systemd/sm-ops.service": [
        ("User=sm-ops\n", "", "runs as root"),
        ("ProtectHome=true", "ProtectHomes=true", "'ProtectHomes'"),
        ("ProtectSystem=strict", "ProtectSystem=no", None),
        (
            "Environment=DO_NOT_TRACK=true",
            "Environment=SM_OPS_VAULT_KEY=planted",
            "has a secret that every user may read",
        ),
        ("NoNewPrivileges=true\nCapabilityBoundingSet=\n", "", None),
        ("SystemCallFilter=@system-service\n", "", "is more exposed than 2.5"),
    ],
    "infra/systemd/sm-ops-backup.timer": [("*-*-* 01:00:00", "every night", "Failed to parse")],
    "infra/systemd/sm-ops.tmpfiles.conf": [("0700", "rwx", "line 2 is malformed")],
    ".github/workflows/nightly.yml": [
        (
            "permissions:\n  contents: read",
            "permissions: write-all",
            "does not begin with permissions for reading alone",
        ),
        ("workflow_dispatch:", "pull_request_target:", "pull_request_target"),
        ("@a26af69be951a213d495a4c3e4e4022e16d87065 # v5.6.0", "@v5", "uses actions/setup-python@v5, which can change"),
        ("persist-credentials: false", "persist-credentials: true", "leaves a token in the checkout"),
        ("    timeout-minutes: 30\n", "", "job audit has no timeout"),
        ('"$SM_OPS_SECRETS"', "${{ env.SM_OPS_SECRETS }}", "pastes an expression into a shell"),
        ("runs-on: ubuntu-24.04", "run-on: ubuntu-24.04", "Schema validation errors"),
    ],
    ".dockerignore": [
        ("*\n!pyproject", "!pyproject", "does not begin with *"),
        ("!configs", "!.sm-ops", "lets in .sm-ops"),
    ],
}


@pytest.fixture(scope="module")
def told(tmp_path_factory) -> dict[str, str]:
    """What is said of a copy in which every rule is broken once, by file."""
    root = without_terraform(tmp_path_factory.mktemp("broken"))
    for name, changes in BROKEN.items():
        text = (root / name).read_text(encoding="utf-8")
        for old, new, _ in changes:
            assert old in text, f"{name} no longer has {old}"
            text = text.replace(old, new)
        (root / name).write_text(text, encoding="utf-8")
    (root / "infra" / "new.tpl").touch()
    code, lines = infra_check(root)
    assert code == 1
    return lines


FAULTS = [(name, words) for name, changes in BROKEN.items() for *_, words in changes if words]


@pytest.mark.parametrize(("name", "words"), FAULTS)
def test_a_broken_rule_is_told(told, name, words):
    if told[name].startswith("skip"):
        pytest.skip(told[name])
    assert told[name].startswith(f"FAIL {name}: ")
    assert words in told[name]


def test_a_kind_of_file_that_no_checker_knows_fails(told):
    assert told["infra/new.tpl"] == "FAIL infra/new.tpl: no checker in infra/checks/ knows this kind of file"


def test_no_password_is_repeated(told):
    assert not [line for line in told.values() if "planted" in line]


def test_what_is_there_passes_and_an_absent_validator_is_named(tmp_path):
    root = without_terraform(tmp_path)
    shutil.rmtree(root / ".github")  # asked about in the other runs, and slow
    code, lines = infra_check(root, path="/nonexistent")
    assert (
        lines["infra/systemd/sm-ops.service"] == "skip infra/systemd/sm-ops.service: systemd-analyze is not installed"
    )
    assert lines["infra/compose.yaml"] == "ok   infra/compose.yaml"
    assert not [line for line in lines.values() if line.startswith("FAIL")]
    assert code == 0


def test_the_images_bear_the_version_of_the_package():
    version = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]
    assert set(re.findall(r"SM_OPS_VERSION:-([^}]*)", (ROOT / "infra/compose.yaml").read_text())) == {version}


def test_secrets_are_made_once_for_the_owner_alone_and_not_printed(tmp_path):
    folder = tmp_path / "secrets"
    command = [sys.executable, str(ROOT / "infra" / "make_secrets.py"), str(folder)]
    first = subprocess.run(command, capture_output=True, text=True, check=True)
    made = {path.name: path.read_text() for path in folder.iterdir()}
    (folder / "s3_reader").unlink()
    subprocess.run(command, capture_output=True, text=True, check=True)
    now = {path.name: path.read_text() for path in folder.iterdir()}

    assert folder.stat().st_mode & 0o777 == 0o700
    assert {name for name in made if made[name] != now[name]} == {"s3_reader", "s3_identities.json"}
    assert len(set(made.values())) == len(made)
    assert all(len(value) >= 43 for value in made.values())
    assert not [value for value in made.values() if value in first.stdout + first.stderr]
    identities = {row["name"]: row for row in json.loads(now["s3_identities.json"])["identities"]}
    assert identities["reader"]["credentials"] == [{"accessKey": "reader", "secretKey": now["s3_reader"]}]
    assert identities["mlflow"]["actions"] == ["Read:mlflow", "Write:mlflow", "List:mlflow"]
    mounted = re.findall(r"SM_OPS_SECRETS[^}]*}/([\w.]+)", (ROOT / "infra/compose.yaml").read_text())
    assert set(mounted) <= set(made)


def test_secrets_that_cannot_be_kept_are_told_in_one_sentence(tmp_path):
    (tmp_path / "file").write_text("")
    command = [sys.executable, str(ROOT / "infra" / "make_secrets.py"), str(tmp_path / "file")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert done.stderr == f"{tmp_path / 'file'}: File exists; name a folder that can be made and written.\n"
