"""The flows of releases over a real Prefect server: what a person sees there, and what starts them."""

from __future__ import annotations

import json
import sqlite3
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from doors import ROOT, call
from jinja2.sandbox import SandboxedEnvironment

pytestmark = pytest.mark.xdist_group("doors")

PLANTED = "svc-qzx-81f7@planted.example"
SCRIPT = """
import json, sys
from pathlib import Path
sys.path[:0] = [str(Path(sys.argv[2]) / "tests" / "release"), sys.argv[2]]
from made_release import POLICY, make_approvers, signer
from flows import release as door
from sm_ops.core import fs
from sm_ops.core.home import Run
from sm_ops.release import policy
from sm_ops.release.about import read_about
from sm_ops.release.folder import Release
from sm_ops.release.sources import from_files, run as source
from sm_ops.release.verbs.approve import approve, read
from sm_ops.release.verbs.request import request
from sm_ops.release.verbs.revoke import revoke

folder = Path(sys.argv[1])
home, planted = folder / "home", "svc-qzx-81f7@planted.example"
make_approvers(home)
(folder / "notes.jsonl").write_text(json.dumps({"id": "r1", "text": f"call [NAME], not {planted}"}))
fs.write_json(home / "runs" / "tiny-0a1b" / "run.json",
    {"format": "run/1", "name": "tiny", "config": {}, "steps": {}, "finished": "2026-01-01T00:00:00"})
about = read_about({"title": "Notes", "description": "Notes of calls.", "languages": ["en"]})
source.material_of = lambda home, run: from_files([folder / "notes.jsonl"], about, "redacted")
fs.write_json(folder / "policy.yaml", POLICY | {"checks": {"schema": {}}})
whole, small, codes = policy.DEFAULT, folder / "policy.yaml", []
door.end_with_parent = lambda: None

def flow(*words):
    codes.append(door.main(["--inside", *words]))

policy.DEFAULT = small
flow("build", "notes@1", "--run", "tiny")
policy.DEFAULT = whole
flow("build", "strict@1")
notes = Release(home, "notes", "1")
request(notes, signer("ada"), "wanted outside")
flow("publish", "notes@1", str(folder / "place"))
for name in ("ben", "cleo"):
    approve(notes, signer(name), read(notes).digest)
flow("publish", "notes@1", str(folder / "place"))
flow("expire")
revoke(notes, signer("ben"), "a name was found")
flow("publish", "notes@1", str(folder / "place"))

from flows._releases import deployments
for each in deployments(str(folder / "place")):
    each.apply()
Path(sys.argv[1], "codes.json").write_text(json.dumps(codes))
"""


@pytest.fixture(scope="module")
def flows(tmp_path_factory: pytest.TempPathFactory) -> SimpleNamespace:
    """One life of a release through the flows, and all that one server has kept of it."""
    folder = tmp_path_factory.mktemp("release-flows")
    done = call([sys.executable, "-c", SCRIPT, str(folder), str(ROOT)], folder, folder / "home")
    assert done.returncode == 0, done.stderr
    codes = json.loads((folder / "codes.json").read_text())
    return SimpleNamespace(folder=folder, done=done, codes=codes, database=folder / "home" / "prefect" / "prefect.db")


def rows(flows: SimpleNamespace, query: str) -> list[tuple[Any, ...]]:
    with sqlite3.connect(flows.database) as connection:
        return connection.execute(query).fetchall()


def states(flows: SimpleNamespace) -> list[tuple[str, str, str, str]]:
    """Flow, type, name and message of each flow run's last state, in their order."""
    return rows(
        flows,
        "SELECT f.name, r.state_type, r.state_name, s.message FROM flow_run r JOIN flow f ON f.id = r.flow_id "
        "JOIN flow_run_state s ON s.id = r.state_id ORDER BY r.start_time",
    )


def test_states_say_what_the_flows_came_to_and_exit_codes_agree(flows: SimpleNamespace) -> None:
    assert flows.codes == [0, 3, 4, 0, 0, 5]
    found = states(flows)
    assert [row[:3] for row in found] == [
        ("release-build", "COMPLETED", "Completed"),
        ("release-build", "COMPLETED", "Checks failed"),
        ("release-publish", "FAILED", "Not approved"),
        ("release-publish", "COMPLETED", "Completed"),
        ("release-expire", "COMPLETED", "Completed"),
        ("release-publish", "FAILED", "Revoked or tampered"),
    ]
    messages = [row[3] for row in found]
    assert messages[0] == (
        "notes@1 is built and passes its checks; next: sm-ops release request notes@1 --key FILE --reason TEXT"
    )
    assert messages[1].startswith("strict@1 does not pass ")
    assert "notes@1" in messages[2]
    assert "sm-ops release approve notes@1" in messages[2]
    assert "REVOKED" in messages[5]
    for message in messages:
        assert message in flows.done.stdout + flows.done.stderr


def test_artifacts_show_state_checks_and_the_command_to_type(flows: SimpleNamespace) -> None:
    pages = [page for (page,) in rows(flows, "SELECT json_extract(data, '$') FROM artifact ORDER BY created")]
    assert len(pages) == 6
    built, failed, waiting, published, all_releases, revoked = pages
    assert built.startswith("# notes@1: checked")
    assert "```\nsm-ops release request notes@1 --key FILE --reason TEXT\n```" in built
    assert "| schema | block | pass |" in built
    assert "unmeasured" in failed
    assert "```\nsm-ops release check strict@1\n```" in failed
    assert "```\nsm-ops release approve notes@1 --key FILE\n```" in waiting
    assert published.startswith("# notes@1: published")
    assert "Approved by ben, cleo." in published
    assert "| notes@1 | published |" in all_releases
    assert revoked.startswith("# notes@1: revoked")
    keys = rows(flows, "SELECT key, description FROM artifact")
    assert ("release-notes", "notes@1") in keys


def test_prefect_keeps_names_alone_and_no_results(flows: SimpleNamespace) -> None:
    parameters = {name for (text,) in rows(flows, "SELECT parameters FROM flow_run") for name in json.loads(text)}
    assert parameters == {"release", "run", "destination", "bucket_owner"}
    with sqlite3.connect(flows.database) as connection:
        tables = [name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        kept = "\n".join(repr(row) for table in tables for row in connection.execute(f'SELECT * FROM "{table}"'))
    assert "notes@1" in kept
    for seen in (kept, flows.done.stdout, flows.done.stderr):
        assert PLANTED not in seen
        assert "Traceback" not in seen
    assert not list((flows.folder / "home" / "prefect").rglob("storage/*"))


def test_the_server_takes_the_deployments_with_schedule_and_events(flows: SimpleNamespace) -> None:
    found = dict(rows(flows, "SELECT f.name, d.entrypoint FROM deployment d JOIN flow f ON f.id = d.flow_id"))
    assert found == {
        "release-build": "flows._releases.build",
        "release-publish": "flows._releases.publish",
        "release-expire": "flows._releases.expire",
    }
    (schedule,) = rows(flows, "SELECT json_extract(schedule, '$.cron') FROM deployment_schedule")
    assert schedule == ("0 2 * * *",)
    automations = [(json.loads(trigger), json.loads(actions)) for trigger, actions in rows(
        flows, "SELECT trigger, actions FROM automation")]  # fmt: skip
    by_event = {trigger["expect"][0]: (trigger, actions) for trigger, actions in automations}
    assert by_event.keys() == {"prefect.flow-run.Completed", "sm-ops.release.approved"}
    trigger, (action,) = by_event["sm-ops.release.approved"]
    assert trigger["match"] == {"prefect.resource.id": "sm-ops.release.*"}
    assert action["type"] == "run-deployment"
    template = action["parameters"]["release"]
    assert template["__prefect_kind"] == "jinja"
    event = SimpleNamespace(resource=SimpleNamespace(id="sm-ops.release.notes@1.0"))
    assert SandboxedEnvironment().from_string(template["template"]).render(event=event) == "notes@1.0"


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["publish", "Notes", "place"], "'Notes' is not of the form NAME@VERSION"),
        (["publish", "notes@1", "gopher://x"], "is no place to publish at"),
        (["build", "--run", "none"], "There is no finished run named 'none'"),
        (["approve", "notes@1"], "invalid choice"),
        ([], "required: verb"),
    ],
)
def test_wrong_words_never_reach_prefect(
    words: list[str], sentence: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    from flows.release import main

    assert main(words) == 2
    assert sentence in capsys.readouterr().err
    assert not (tmp_path / "home" / "prefect").exists()
