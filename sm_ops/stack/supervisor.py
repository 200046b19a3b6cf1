"""The supervisor: `supervisord` of the package supervisor, in a process of ours that ends with whoever started it.

`python -m sm_ops.stack.supervisor` runs it over the home of `SM_OPS_HOME`; `processes` asks it over its socket.
"""

from __future__ import annotations

import shlex
import signal
import sys
import tempfile
from configparser import ConfigParser
from contextlib import suppress
from pathlib import Path
from typing import Any

from sm_ops.core import fs
from sm_ops.core.errors import InputError
from sm_ops.core.home import home_folder
from sm_ops.core.processes import command, end_with_parent
from sm_ops.stack import leftovers
from sm_ops.stack.plan import Folders
from sm_ops.stack.service import Service

ATTACHED = "--attached"
"""Ends when standard input does."""
_SETTINGS = """\
[unix_http_server]
file={socket}
chmod=0700

[rpcinterface:supervisor]
supervisor.rpcinterface_factory=supervisor.rpcinterface:make_main_rpcinterface

[supervisord]
nodaemon=true
silent=true
logfile=%(here)s/logs/supervisor.log
logfile_maxbytes=1MB
logfile_backups=1
pidfile=%(here)s/supervisord.pid
childlogdir=%(here)s/logs
"""
_PROGRAM = """
[program:{name}]
command={command}
priority={priority}
startsecs=3
startretries=1000
stopwaitsecs={stopwaitsecs}
redirect_stderr=true
stdout_logfile=%(here)s/logs/{name}.log
stdout_logfile_maxbytes=5MB
stdout_logfile_backups=2
"""


def settings_file(folders: Folders) -> Path:
    """What `supervisord` reads; no secret is in it."""
    return folders.stack / "supervisord.conf"


def write_settings(folders: Folders, services: list[Service]) -> None:
    """Write it: each service by its holder, started in this order and stopped in the reverse one.

    The socket lies in a new folder of our own: the name of a Unix socket has 107 bytes at most.
    """
    socket = Path(tempfile.mkdtemp(prefix="sm-ops-")) / "supervisor.sock"
    parts = [_SETTINGS.format(socket=_escaped(str(socket)))]
    for number, service in enumerate(services, start=1):
        words = _escaped(shlex.join(command("sm_ops.stack.launch", service.name)))
        parts.append(
            _PROGRAM.format(name=service.name, command=words, priority=number, stopwaitsecs=service.patience + 15)
        )
    fs.write_atomic(settings_file(folders), "".join(parts).encode(), mode=0o600)


def _escaped(text: str) -> str:
    return text.replace("%", "%%")


def processes(folders: Folders) -> dict[str, dict[str, Any]]:
    """What the supervisor knows of each service by name: `statename`, `pid` of its holder, `start` in seconds."""
    from xmlrpc.client import Error, ServerProxy

    from supervisor.xmlrpc import SupervisorTransport

    try:
        transport = SupervisorTransport(None, None, f"unix://{_socket(folders)}")
        proxy: Any = ServerProxy("http://127.0.0.1", transport)  # the address is not used
        return {row["name"]: row for row in proxy.supervisor.getAllProcessInfo()}
    except (OSError, Error):
        hint = f"The supervisor of the stack does not answer; see {folders.logs}/supervisor.log"
        raise InputError("supervisor", hint) from None


def remove_socket(folders: Folders) -> None:
    """Remove the socket of a supervisor that has ended, and its folder."""
    if settings_file(folders).is_file():
        with suppress(OSError):
            _socket(folders).unlink(missing_ok=True)
            _socket(folders).parent.rmdir()


def _socket(folders: Folders) -> Path:
    parser = ConfigParser(interpolation=None)
    parser.read(settings_file(folders))
    return Path(parser.get("unix_http_server", "file").replace("%%", "%"))


def main() -> None:
    """Supervise until a signal, and leave nothing."""
    from supervisor import supervisord

    folders = Folders(home_folder())
    if ATTACHED in sys.argv[1:]:
        end_with_parent(signal.SIGTERM)
    try:
        supervisord.main(["-c", str(settings_file(folders))])
    finally:
        leftovers.end(folders.stack)
        remove_socket(folders)


if __name__ == "__main__":
    main()
