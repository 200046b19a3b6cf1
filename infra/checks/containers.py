"""Container files: hadolint, and what it does not ask."""

import re
from collections.abc import Iterator
from pathlib import Path

from infra.checks import SECRET, complaint, tool

FILES = ("infra/containers/*.Containerfile",)


def check(path: Path) -> Iterator[str]:
    """Yield what is wrong."""
    lines = re.sub(r"\\\n\s*", " ", path.read_text(encoding="utf-8")).splitlines()
    words = [line.split(maxsplit=1) for line in lines if line.strip() and not line.lstrip().startswith("#")]
    said = [(instruction.upper(), "".join(rest)) for instruction, *rest in words]
    bases = [rest[5:] for instruction, rest in said if instruction == "ARG" and rest.startswith("BASE=")]
    stages = {rest.split(" AS ")[1] for instruction, rest in said if instruction == "FROM" and " AS " in rest}
    for instruction, rest in said:
        if instruction == "FROM" and rest.split(" AS ")[0] not in {"${BASE}", *stages}:
            yield f"builds on {rest}, which BASE does not choose"
        if instruction == "ADD":
            yield "uses ADD, which fetches and unpacks; take COPY"
        if instruction == "COPY" and rest.split()[0] in {".", "./", "/"}:
            yield "copies a whole folder tree; name what is needed"
        if instruction in {"ARG", "ENV"}:
            names = re.findall(r"(\w+)=", rest)
            yield from (f"has a secret in a layer ({name})" for name in names if re.search(SECRET, name))
    if len(bases) != 1 or not re.search(r"(:\w[\w.]*\d[\w.-]*|@sha256:[0-9a-f]{64})$", bases[0]):
        yield "has no ARG BASE with a version"
    users = [rest for instruction, rest in said if instruction == "USER"]
    if not users or not re.fullmatch(r"[1-9]\d*:[1-9]\d*", users[-1]):
        yield "does not end as a user of its own, by number"
    if refused := complaint(tool("hadolint"), "--no-color", str(path)):
        yield refused
