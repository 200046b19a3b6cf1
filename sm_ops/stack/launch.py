"""Holds one service: `python -m sm_ops.stack.launch NAME` over the home of `SM_OPS_HOME`.

It waits for what the service needs, prepares it, starts it with its secrets in its environment, and ends when it
ends. It ends the service when it is told to, and when its own standard input ends, which the supervisor holds: nothing
of a service outlives it.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from contextlib import suppress

from sm_ops.core.errors import SmOpsError
from sm_ops.core.home import home_folder
from sm_ops.core.processes import end_with_parent
from sm_ops.stack import leftovers
from sm_ops.stack.plan import Plan
from sm_ops.stack.service import Service
from sm_ops.stack.services import services

_PAUSE = 0.3
"""Seconds between two looks: whether a needed service answers, whether this one has ended or has to."""


def hold(plan: Plan, name: str) -> int:
    """Run the service to its end; its exit code, or 0 when it was told to end."""
    known = {service.name: service for service in services(plan)}
    service, stack = known[name], plan.folders.stack
    leftovers.end(stack, name)  # of a holder that was killed itself
    environment = service.environment | leftovers.mark(stack, name)
    os.environ.clear()
    os.environ.update(environment)  # what prepares it has what it has, and no more
    for need in service.needs:
        while not known[need].answers():
            time.sleep(_PAUSE)
    service.prepare()
    try:
        return _run(service, environment)
    finally:
        leftovers.end(stack, name)


def _run(service: Service, environment: dict[str, str]) -> int:
    told = threading.Event()
    signal.signal(signal.SIGTERM, lambda *_: told.set())
    another = {"user": service.user, "group": service.user, "extra_groups": []} if service.user else {}
    child = subprocess.Popen(
        service.command,
        env=environment,
        cwd=service.folder,
        stdin=subprocess.DEVNULL,
        start_new_session=True,
        umask=service.umask,
        **another,
    )
    while child.poll() is None and not told.is_set():
        time.sleep(_PAUSE)
    if child.poll() is None:
        child.send_signal(service.ends_by)
        with suppress(subprocess.TimeoutExpired):
            child.wait(service.patience)
    return 0 if told.is_set() else child.returncode


def main() -> None:
    """The service's exit code, or a sentence in its log."""
    end_with_parent(signal.SIGTERM)
    try:
        sys.exit(hold(Plan.load(home_folder()), sys.argv[1]))
    except SmOpsError as error:
        print(f"sm-ops: {error}", file=sys.stderr)
        sys.exit(error.exit_code)


if __name__ == "__main__":
    main()
