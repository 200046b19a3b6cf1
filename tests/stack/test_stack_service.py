"""One real service under its holder: it ends with whoever holds its standard input."""

from __future__ import annotations

import subprocess
import sys

from driving import environment, wait_for
from processes import living, variables
from running_stack import ask

from sm_ops.stack.plan import Folders, Plan, make_folders


def test_a_service_ends_when_its_supervisor_is_gone(tmp_path):
    home = tmp_path / "home"
    make_folders(Folders(home), shared=False)
    plan = Plan.make(home, postgres=False, s3=True, pools=())
    plan.save()
    holder = subprocess.Popen(
        [sys.executable, "-P", "-m", "sm_ops.stack.launch", "s3"],
        env=environment(home),
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    wait_for(lambda: refusal(plan) == 403)
    assert holder.stdin
    holder.stdin.close()
    assert holder.wait(30) == 0
    assert not [pid for pid in living() if f"SM_OPS_STACK={plan.folders.stack}" in variables(pid)]


def refusal(plan: Plan) -> int:
    try:
        return ask(f"{plan.url('s3')}/sm-ops/an-object")[0]
    except OSError:
        return 0
