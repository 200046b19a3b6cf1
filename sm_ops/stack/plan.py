"""What the stack of one home consists of and where it lies; `HOME/stack/stack.json` remembers it."""

from __future__ import annotations

import os
import socket
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from pathlib import Path

from sm_ops.core import fs
from sm_ops.core.errors import InputError
from sm_ops.stack import leftovers

FORMAT = "stack/1"
HOST = "127.0.0.1"
"""The only interface that anything of the stack listens on."""
PORTS = {"prefect": 4200, "mlflow": 5000}
POSTGRES_PORTS = {"postgres": 5432}
S3_PORTS = {"s3": 8333} | dict.fromkeys(
    ("s3-grpc", "master", "master-grpc", "filer", "filer-grpc", "volume", "volume-grpc"), 0
)
DATABASES = {"prefect": "prefect", "mlflow": "mlflow", "mlflow_auth": "mlflow"}
"""Databases, and the role that owns each: Prefect's password opens nothing of MLflow's."""


@dataclass(frozen=True)
class Folders:
    """The places of a home's stack."""

    home: Path

    @property
    def stack(self) -> Path:
        """All of it (mode 0700)."""
        return self.home / "stack"

    @property
    def secrets(self) -> Path:
        """A file a secret (mode 0600)."""
        return self.stack / "secrets"

    @property
    def logs(self) -> Path:
        """A file a service."""
        return self.stack / "logs"

    @property
    def data(self) -> Path:
        """Databases, artifacts and objects."""
        return self.stack / "data"

    @property
    def client(self) -> Path:
        """KEY=VALUE lines that a client of the stack needs."""
        return self.stack / "client.env"

    @property
    def settings(self) -> Path:
        """What `Plan` remembers."""
        return self.stack / "stack.json"


@dataclass(frozen=True)
class Plan:
    """The database behind Prefect and MLflow, whether S3 holds artifacts, ports by name, and the work pools."""

    home: Path
    postgres: bool
    s3: bool
    ports: dict[str, int]
    pools: tuple[str, ...]

    @property
    def folders(self) -> Folders:
        """Where it lies."""
        return Folders(self.home)

    def url(self, port: str) -> str:
        """Address of a port by its name."""
        return f"http://{HOST}:{self.ports[port]}"

    @classmethod
    def make(cls, home: Path, postgres: bool, s3: bool, pools: tuple[str, ...]) -> Plan:
        """A plan over free ports: those of the last time or the customary ones, and others where they are taken."""
        last = cls.load(home).ports if Folders(home).settings.is_file() else {}
        wanted = PORTS | (POSTGRES_PORTS if postgres else {}) | (S3_PORTS if s3 else {})
        wanted |= {name: last[name] for name in wanted if name in last}
        others = {port for other in leftovers.homes() - {home} for port in _ports_of(other)}
        return cls(home, postgres, s3, _free_ports(wanted, others), pools)

    def save(self) -> None:
        """Remember it."""
        content = asdict(self) | {"format": FORMAT, "pools": list(self.pools)}
        del content["home"]
        fs.write_json(self.folders.settings, content)

    @classmethod
    def load(cls, home: Path) -> Plan:
        """What `save` remembered, or an `InputError` in words."""
        path = Folders(home).settings
        try:
            value = fs.read_json(path)
            if value.pop("format") == FORMAT:
                return cls(home, **value | {"pools": tuple(value["pools"])})
        except FileNotFoundError:
            raise InputError("no-stack", f"There is no stack in {home}; start one with: sm-ops serve --dev") from None
        except (ValueError, TypeError, KeyError, AttributeError):
            pass
        raise InputError("stack-format", f"{path} is damaged or of another version; remove it and start again.")


def _ports_of(home: Path) -> set[int]:
    """Ports of another stack, which may not listen yet."""
    try:
        return set(Plan.load(home).ports.values())
    except InputError:
        return set()


def _free_ports(wanted: dict[str, int], others: set[int]) -> dict[str, int]:
    """Each wanted port, or another free one in its place; all are held until the last is found, so none comes twice."""
    with ExitStack() as held:
        return {name: held.enter_context(_listen(port, others)).getsockname()[1] for name, port in wanted.items()}


def _listen(port: int, others: set[int]) -> socket.socket:
    try:
        return socket.create_server((HOST, 0 if port in others else port))
    except OSError:
        return socket.create_server((HOST, 0))


def make_folders(folders: Folders, shared: bool) -> None:
    """Make them, private; `shared` lets another user pass through, but not look: PostgreSQL refuses to run as root."""
    for path in (folders.stack, folders.secrets, folders.logs, folders.data):
        fs.private_folder(path)
    if shared:
        for path in (folders.stack, folders.data):
            os.chmod(path, 0o711)
