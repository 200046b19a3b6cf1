"""Runs whose server was away when they died: no automation remembers them, and a worker crashes them."""

from __future__ import annotations

import subprocess
import sys
from datetime import UTC, datetime, timedelta

import pytest
from prefect_server import prefect_server

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("prefect-server")]

LOOK = """
import sys
from datetime import UTC, datetime, timedelta
from prefect.client.orchestration import get_client
from flows._silent import crash_silent
with get_client(sync_client=True) as client:
    for run in crash_silent(client, datetime.now(UTC) + timedelta(seconds=int(sys.argv[1]))):
        print(run.id)
"""


def test_only_those_of_ours_that_nobody_computes_are_crashed(tmp_path):
    with prefect_server(tmp_path, tmp_path / "home") as server:
        flow = server.post("flows/", {"name": "surprise"})["id"]

        def made(state, *tags):
            run = server.post("flow_runs/", {"flow_id": flow, "tags": tags, "state": {"type": state}})
            return run["id"]

        dead, alive, other = made("RUNNING", "sm-ops"), made("RUNNING", "sm-ops"), made("RUNNING")
        lost, waiting = made("PENDING", "sm-ops"), made("SCHEDULED", "sm-ops")
        beat = {
            "occurred": (datetime.now(UTC) + timedelta(seconds=290)).isoformat(),
            "event": "prefect.flow-run.heartbeat",
            "resource": {"prefect.resource.id": f"prefect.flow-run.{alive}"},
            "id": "11111111-1111-4111-8111-111111111111",
        }
        server.post("events", [beat])

        def crashed(later):
            command = [sys.executable, "-P", "-c", LOOK, str(later)]
            done = subprocess.run(command, env=server.environment, capture_output=True, text=True, check=True)
            return set(done.stdout.split())

        assert crashed(0) == set(), "the server has only just come back"
        assert crashed(310) == {dead, lost}
        states = {run: server.get(f"flow_runs/{run}")["state_type"] for run in (dead, lost, alive, other, waiting)}
        assert states == {dead: "CRASHED", lost: "CRASHED", alive: "RUNNING", other: "RUNNING", waiting: "SCHEDULED"}
