"""Units for a single host: systemd's own validation and security review, and rules of ours."""

import re
import tempfile
from collections.abc import Iterator
from pathlib import Path

from infra.checks import SECRET, complaint, tool

FILES = ("infra/systemd/*.service", "infra/systemd/*.timer", "infra/systemd/*.conf")
EXPOSURE = 25
"""The most that `systemd-analyze security` may find, in tenths: 100 is a service without any protection."""


def check(path: Path) -> Iterator[str]:
    """Yield what is wrong."""
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".conf":
        yield from _conf(path, text)
        return
    if path.suffix == ".service":
        yield from _service(text)
    analyze = tool("systemd-analyze")
    with tempfile.TemporaryDirectory() as folder:
        unit = _stand_in(path.parent, Path(folder)) / path.name
        if said := complaint(
            analyze, "verify", "--man=no", str(unit), lenient=True
        ):  # accepts keys that it does not know
            yield said.replace(f"{folder}/", "")
        review = (analyze, "security", "--offline=true", f"--threshold={EXPOSURE}", str(unit))
        if path.suffix == ".service" and complaint(*review):
            yield f"is more exposed than {EXPOSURE / 10}: systemd-analyze security --offline=true {path.name}"


def _stand_in(units: Path, folder: Path) -> Path:
    """Copies of the units in which every program of ours is one that exists here."""
    for unit in units.glob("*.[st]*"):
        text = re.sub(r"/opt/sm-ops/\.venv/bin/\S+", "/bin/true", unit.read_text(encoding="utf-8"))
        (folder / unit.name).write_text(text, encoding="utf-8")
    return folder


def _service(text: str) -> Iterator[str]:
    settings = dict(line.split("=", 1) for line in text.splitlines() if "=" in line and not line.startswith("#"))
    if settings.get("User", "root") == "root":
        yield "runs as root"
    for number, line in enumerate(text.splitlines(), 1):
        if line.startswith("Environment=") and re.search(SECRET, line.split("=")[1]):
            yield f"line {number} has a secret that every user may read; take EnvironmentFile or LoadCredential"


def _conf(path: Path, text: str) -> Iterator[str]:
    """Lines of sysusers.d and tmpfiles.d, as far as ours go."""
    form = r'u \S+ (-|\d+) "[^"]*" /\S+' if "sysusers" in path.name else r"d /\S+ +0[0-7]{3} +\S+ +\S+ +(-|\d+d)"
    for number, line in enumerate(text.splitlines(), 1):
        if line and not line.startswith("#") and not re.fullmatch(form, line):
            yield f"line {number} is malformed"
