"""Deployments from code:

python -m flows.deploy apply [FILE] [--json]     register on the Prefect server what a deployments file says
python -m flows.deploy status [--json]           each schedule, whether it is paused, its last runs, and late ones
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from flows._process import in_words
from flows._settings import configure
from sm_ops.core import fs
from sm_ops.core.config.deployments import Deployments, chosen_file, load_deployments, remembered, resolved
from sm_ops.core.errors import InputError
from sm_ops.core.home import home_folder


def main(arguments: list[str]) -> int:
    """Do one verb; every failure is one sentence."""
    parser = argparse.ArgumentParser(prog="python -m flows.deploy")
    verbs = parser.add_subparsers(dest="verb", required=True)
    verbs.add_parser("apply").add_argument("file", nargs="?")
    verbs.add_parser("status")
    for verb in verbs.choices.values():
        verb.add_argument("--json", action="store_true", dest="as_json")
    given = parser.parse_args(arguments)
    return in_words(lambda: _apply(given.file, given.as_json) if given.verb == "apply" else _status(given.as_json))


def _apply(path: str | None, as_json: bool) -> None:
    """Register a named file, which the home then remembers; without a name the remembered one, or the package's."""
    home = home_folder()
    source = Path(path) if path else chosen_file(home)
    file = _checked(load_deployments(source))
    with _server() as client:
        from flows._apply import apply
        from flows._status import without_worker

        changes = []
        for change in apply(file, client, may_remove=path is not None or source == remembered(home)):
            changes.append(change.to_json())
            if not as_json:
                told = "  (paused)" if change.paused else ""
                told += "  (a run of it is going; deploy again later to remove it)" if change.done == "stopped" else ""
                print(f"{change.done:<10} {change.kind:<11} {change.name}{told}", flush=True)
        if path:
            fs.write_atomic(remembered(home), source.read_bytes())
        for pool in without_worker(file.pools, client):
            told = f"start one with: python -m flows.worker --pool {pool}, or stop and start: sm-ops serve"
            print(f"pool {pool} has no worker; {told}", file=sys.stderr)
    if as_json:
        print(json.dumps(changes, indent=1))
    print("next: sm-ops deploy --status", file=sys.stderr)


def _checked(file: Deployments) -> Deployments:
    """Refuse, before the server hears of it, a schedule whose run would be refused."""
    for slug, each in file.schedules.items():
        resolved(each.flow, each.config, each.seeds, each.overrides, home_folder(), f"schedules.{slug}")
    if file.releases and file.releases.destination:
        from sm_ops.storage.places import open_place

        open_place(file.releases.destination, file.releases.bucket_owner)
    return file


def _status(as_json: bool) -> None:
    with _server() as client:
        from flows._status import status

        found = status(client)
    if as_json:
        print(json.dumps(found, indent=1))
        return
    for pool in found["pools"]:
        told = "paused" if pool["paused"] else f"workers online: {pool['workers_online']}"
        print(f"pool {pool['name']}: {pool['concurrency']} at a time, {told}")
    for run in found["under_way"]:
        told = ", not heard of for long" if run["silent"] else ""
        print(f"under way: {run['run']}, {run['state']} since {run['since']}{told}")
    for each in found["schedules"]:
        state = "paused" if each["paused"] else f"next {each['next'] or 'not planned'}"
        late = f", {each['late']} late" if each["late"] else ""
        print(f"{each['deployment']}: {each['cron']} {each['timezone']}, {state}{late}")
        for run in each["runs"]:
            print(f"    {run['expected']}  {run['state']}  {run['message'] or ''}".rstrip())


@contextmanager
def _server() -> Iterator[Any]:
    """A client of the server, whose failures are sentences."""
    url = os.environ.get("PREFECT_API_URL")
    if not url:
        hint = "There is no Prefect server to deploy to; start one with: sm-ops serve, or name yours in PREFECT_API_URL"
        raise InputError("no-server", hint)
    configure(home_folder())
    from httpx import HTTPStatusError, TransportError
    from prefect.client.orchestration import get_client

    place = url.rpartition("@")[2]
    try:
        with get_client(sync_client=True) as client:
            yield client
        return
    except TransportError:
        failure = "no-server", f"No Prefect server answers at {place}; start it, or correct PREFECT_API_URL."
    except HTTPStatusError as error:
        code = error.response.status_code
        told = "correct PREFECT_API_AUTH_STRING" if code in (401, 403) else "its log says why"
        failure = "server-refused", f"The Prefect server at {place} refused (HTTP {code}); {told}."
    raise InputError(*failure)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
