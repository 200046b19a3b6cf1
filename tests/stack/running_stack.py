"""Drive a stack as a user would, and ask its servers as anybody could."""

from __future__ import annotations

import base64
import json
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.error import HTTPError
from urllib.request import ProxyHandler, Request, build_opener

from driving import run_cli, start_cli, wait_for
from processes import arguments, living, variables

READY = 240


@contextmanager
def open_home() -> Iterator[Path]:
    """A home that any user may pass through, as PostgreSQL asks of one of root's; nothing of its stack outlives it."""
    folder = Path(tempfile.mkdtemp(prefix="sm-ops-test-"))
    folder.chmod(0o755)
    try:
        yield folder / "home"
    finally:
        for pid in processes_of(folder):
            os.kill(pid, 9)
        shutil.rmtree(folder, ignore_errors=True)


def start(home: Path, *options: str) -> subprocess.Popen[str]:
    """`sm-ops serve` in the foreground, when it has said that it is ready."""
    process = start_cli("serve", *options, home=home)
    lines = []
    assert process.stderr
    for line in process.stderr:
        lines.append(line)
        if line.startswith("ready"):
            return process
    raise AssertionError("".join(lines) + logs(home))


def end(process: subprocess.Popen[str], seconds: float = 120) -> int:
    """Ctrl-C, and the exit code."""
    process.terminate()
    process.communicate(timeout=seconds)
    return process.returncode


def status(home: Path) -> dict[str, dict[str, Any]]:
    """`sm-ops serve status` by service."""
    return {row["name"]: row for row in json.loads(run_cli("serve", "status", "--json", home=home).stdout)}


def runs_again(home: Path, name: str, but: int) -> None:
    """Wait until a service answers as another process."""
    wait_for(lambda: (row := status(home)[name])["state"] == "RUNNING" and row["pid"] != but, READY)


def client(home: Path) -> dict[str, str]:
    """The variables of client.env."""
    lines = (home / "stack" / "client.env").read_text().splitlines()
    return dict(line.split("=", 1) for line in lines)


def secrets_of(home: Path) -> dict[str, str]:
    """Every secret of a stack by its file's name, without the files that are made of others."""
    files = (home / "stack" / "secrets").iterdir()
    return {path.name: path.read_text().strip() for path in files if not path.suffix}


def processes_of(folder: Path) -> list[int]:
    """Whatever has to do with a folder, by its command line or its environment."""
    return [pid for pid in living() if any(str(folder) in text for text in (*arguments(pid), *variables(pid)))]


def logs(home: Path) -> str:
    """All that the services said."""
    return "\n".join(path.read_text(errors="replace") for path in (home / "stack" / "logs").iterdir())


def ask(url: str, auth: str | None = None, body: Any = None) -> tuple[int, str]:
    """Status and text of an answer; `auth` is USER:PASSWORD."""
    headers = {"Authorization": f"Basic {base64.b64encode(auth.encode()).decode()}"} if auth else {}
    data = None if body is None else json.dumps(body).encode()
    request = Request(url, data, headers | {"Content-Type": "application/json"})
    try:
        with build_opener(ProxyHandler({})).open(request, timeout=60) as answer:
            return answer.status, answer.read().decode()
    except HTTPError as error:
        return error.code, error.read().decode()


class Servers:
    """Prefect and MLflow of a stack, asked with the passwords of its client."""

    def __init__(self, home: Path) -> None:
        known = client(home)
        self.prefect_url, self.prefect_auth = known["PREFECT_API_URL"], known["PREFECT_API_AUTH_STRING"]
        self.mlflow_url = known["MLFLOW_TRACKING_URI"] + "/api/2.0/mlflow"
        self.mlflow_auth = f"{known['MLFLOW_TRACKING_USERNAME']}:{known['MLFLOW_TRACKING_PASSWORD']}"

    def prefect(self, path: str, body: Any = None) -> Any:
        """What Prefect answers, or a failed assertion."""
        code, text = ask(f"{self.prefect_url}/{path}", self.prefect_auth, body)
        assert code in (200, 201), (path, code)
        return json.loads(text)

    def mlflow(self, path: str, body: Any = None) -> Any:
        """What MLflow answers, or a failed assertion."""
        code, text = ask(f"{self.mlflow_url}/{path}", self.mlflow_auth, body)
        assert code == 200, (path, code)
        return json.loads(text)

    def everything(self) -> str:
        """What their interfaces tell of themselves."""
        told = [
            self.prefect(f"{kind}/filter", {})
            for kind in (
                "deployments",
                "work_pools",
                "flow_runs",
                "variables",
                "logs",
                "automations",
                "block_documents",
            )
        ]
        told += [self.prefect(path) for path in ("admin/settings", "admin/version")]
        told.append(self.mlflow("experiments/search?max_results=1000"))
        told.append(self.mlflow("users/get?username=admin"))
        return json.dumps(told)


def leave_something(servers: Servers, name: str) -> None:
    """A variable of Prefect and an experiment of MLflow, to be found again."""
    servers.prefect("variables/", {"name": name, "value": 1})
    servers.mlflow("experiments/create", {"name": name})


def is_there(servers: Servers, name: str) -> bool:
    """Whether both are found again."""
    found = servers.mlflow(f"experiments/get-by-name?experiment_name={name}")["experiment"]
    return (servers.prefect(f"variables/name/{name}")["value"], found["name"]) == (1, name)


def assert_secrets_stay(home: Path) -> None:
    """No process list, interface, log, or settings file holds a secret of the stack."""
    secrets = secrets_of(home)
    assert len(secrets) >= 3
    places = {
        "process list": "\n".join(" ".join(arguments(pid)) for pid in living()),
        "interfaces": Servers(home).everything(),
        "logs": logs(home),
        "settings": "".join(p.read_text() for p in (home / "stack").iterdir() if p.suffix in (".conf", ".json")),
    }
    found = [(name, place) for name, value in secrets.items() for place, text in places.items() if value in text]
    assert found == [], found
    private = [home / "stack" / "client.env", home / "stack" / "supervisord.conf", *(home / "stack/secrets").iterdir()]
    assert {path.name: oct(path.stat().st_mode & 0o077) for path in private} == {p.name: "0o0" for p in private}
