"""Stages for tests of the core: small, and bad on demand."""

from __future__ import annotations

import os
import signal
import sys
import time
from pathlib import Path

from sm_ops.core.stage import Output, Stage, Step

HERE = Path(__file__).parent
VALUE = "zq7-canary-value"


def write(settings, context):
    for key, path in context.outputs.items():
        path.write_text(f"{key} {settings.toy.text}")
    (context.scratch / "part").write_text("done")
    return {"characters": len(settings.toy.text)}


def folder(settings, context):
    (context.outputs["model"] / "inner").mkdir(parents=True)
    (context.outputs["model"] / "inner" / "weights").write_bytes(b"\x01" * 100)
    (context.outputs["model"] / "config").write_text(settings.toy.text)
    return {}


def refuse(settings, context):
    raise ValueError(f"the value is {VALUE}") from KeyError(VALUE)


def chatter(settings, context):
    print(f"stdout {VALUE}")
    print(f"stderr {VALUE}", file=sys.stderr)
    os.system(f"echo child {VALUE}")
    context.progress(1, 2)
    return write(settings, context)


def die(settings, context):
    os.kill(os.getpid(), signal.SIGKILL)


def hang(settings, context):
    (context.scratch / "child").write_text(str(os.spawnlp(os.P_NOWAIT, "sleep", "sleep", "100")))
    time.sleep(100)


def forget(settings, context):
    return {}


BOTH = (("open.txt", "internal"), ("secret.txt", "restricted"))


def step(function: str = "write", text: str = "hello", outputs=BOTH, **stage):
    """One step of a toy stage."""
    declared = tuple(Output(name, cls) for name, cls in outputs)
    toy = Stage("toy", 1, f"toy_stages:{function}", declared, sections=("toy",), **stage)
    return Step("toy", toy, {"toy": {"text": text}})
