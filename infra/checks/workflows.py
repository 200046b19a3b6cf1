"""Workflow files: the schema, and what keeps a foreign change from more than it should have."""

import re
from collections.abc import Iterator
from pathlib import Path

import yaml

from infra.checks import complaint, tool

FILES = (".github/workflows/*.y*ml",)


def check(path: Path) -> Iterator[str]:
    """Yield what is wrong."""
    content = yaml.load(path.read_text(encoding="utf-8"), yaml.BaseLoader)
    if not isinstance(content, dict):
        yield "is no mapping"
        return
    if content.get("permissions") != {"contents": "read"}:
        yield "does not begin with permissions for reading alone"
    if "pull_request_target" in content.get("on", {}):
        yield "runs foreign code with our rights (pull_request_target)"
    for name, job in content.get("jobs", {}).items():
        if "timeout-minutes" not in job:
            yield f"job {name} has no timeout"
        for step in job.get("steps", ()):
            uses, run = step.get("uses", ""), step.get("run", "")
            if uses and not re.fullmatch(r"\./.*|[\w./-]+@[0-9a-f]{40}", uses):
                yield f"job {name} uses {uses}, which can change: pin the commit"
            if uses.startswith("actions/checkout@") and step.get("with", {}).get("persist-credentials") != "false":
                yield f"job {name} leaves a token in the checkout"
            if "${{" in run:
                yield f"job {name} pastes an expression into a shell; hand it over as a variable of the environment"
    if refused := complaint(tool("check-jsonschema"), "--builtin-schema", "vendor.github-workflows", str(path)):
        yield refused
