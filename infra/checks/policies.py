"""Rights on buckets: who may do what, and that only the administrator may do everything."""

import json
import re
from collections.abc import Iterator
from pathlib import Path

FILES = ("infra/policies/*.json",)
VERBS = "Read|Write|List|Tagging"


def check(path: Path) -> Iterator[str]:
    """Yield what is wrong with a table from role to SeaweedFS actions."""
    try:
        roles = json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        yield f"is no JSON: {error}"
        return
    for role, actions in roles.items():
        for action in actions:
            if role == "admin":
                continue
            if not re.fullmatch(rf"({VERBS}):[a-z0-9][a-z0-9-]*(/[\w-]+)*(/\*)?", action):
                yield f"{role} has {action}, which is no right on one bucket"
