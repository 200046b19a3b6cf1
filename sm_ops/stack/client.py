"""A client of the home's stack: addresses and passwords of its servers, for Prefect, MLflow and boto3."""

from __future__ import annotations

import os
from pathlib import Path

from sm_ops.core import fs
from sm_ops.core.errors import InputError
from sm_ops.stack import state
from sm_ops.stack.plan import Folders

_DECIDES = {
    "PREFECT_": ("PREFECT_API_URL",),
    "MLFLOW_": ("MLFLOW_TRACKING_URI",),
    "AWS_": ("AWS_ENDPOINT_URL", "AWS_ACCESS_KEY_ID", "AWS_PROFILE"),
}
"""Who set one of these to something else means another server: it gets no password of the stack."""


def use(home: Path) -> bool:
    """Where the home's stack is running, set in the environment what a client needs and the user has not set.

    Returns whether it is running.
    """
    if not state.running(home):
        return False
    variables = read(home)
    for prefix, deciding in _DECIDES.items():
        if all(os.environ.get(name, variables.get(name)) == variables.get(name) for name in deciding):
            for name in variables:
                if name.startswith(prefix):
                    os.environ.setdefault(name, variables[name])
    return True


def read(home: Path) -> dict[str, str]:
    """The variables of `client.env`; `InputError` where it does not say where the running servers are."""
    place = Folders(home).client
    try:
        lines = place.read_text(encoding="utf-8").splitlines()
    except (FileNotFoundError, UnicodeDecodeError):
        lines = []
    found = dict(line.split("=", 1) for line in lines if "=" in line)
    if not {"PREFECT_API_URL", "MLFLOW_TRACKING_URI"} <= found.keys():
        hint = f"A stack is running, but {place} is missing or damaged; stop and start the stack: it is written again."
        raise InputError("client-env", hint)
    return found


def write(home: Path, variables: dict[str, str]) -> None:
    """Write `client.env`, for its owner alone."""
    text = "".join(f"{name}={value}\n" for name, value in variables.items())
    fs.write_atomic(Folders(home).client, text.encode(), mode=0o600)
