"""Process 1 of a sandbox: starts the program, watches it, and takes everything along when it ends.

A program of its own that imports little and quickly, since the project lies outside the room and Python starts anew for
each program. It reads one request from its standard input, after its own code, and writes one answer to its standard
output, both by `marshal`; the program gets neither. When process 1 of a process namespace ends, the kernel kills all
that is left there, whatever it did to hide.
"""

from __future__ import annotations

import ctypes
import marshal
import os
import resource
import select
import signal
import sys
import time

TYPE_CHECKING = False  # as in typing, which takes longer to import than all the rest
if TYPE_CHECKING:
    from typing import Any, NoReturn

HOME = "/tmp"
WORK = "/tmp/program"
MAX_FILES = 10_000
TICK = 0.05

_UNSHARED = 0x7E020000 & ~0x10000000  # CLONE_NEW{CGROUP,IPC,NET,NS,PID,UTS}
_NEW_USER = 0x10000000
_READ_ONLY, _NO_SETUID, _BIND, _RECURSIVE, _PRIVATE, _DETACH = 1, 2, 4096, 16384, 1 << 18, 2
_PIVOT_ROOT = {"x86_64": 155, "aarch64": 41}
_MOUNT_SETATTR, _AT_FDCWD, _AT_RECURSIVE = 442, -100, 0x8000
_DIES_WITH_PARENT, _DUMPABLE, _AMBIENT, _NO_NEW_PRIVILEGES, _SECCOMP = 1, 4, 47, 38, 22
_libc = ctypes.CDLL(None, use_errno=True)


def main() -> NoReturn:
    """Answer one request: `{"reason", "seconds"}`, or `{"broken"}` where the program could not be started."""
    request = marshal.load(sys.stdin.buffer)
    try:
        _dies_with_parent()
        if request["places"] is not None:
            _leave(request["places"], request["limits"]["files_bytes"])
        answer = _guard(request)
    except OSError as error:
        answer = {"broken": _told(error)}
    sys.stdout.buffer.write(marshal.dumps(answer))
    sys.stdout.buffer.flush()
    os._exit(0)


# The room, where bubblewrap has not built it


def _leave(places: list[tuple[str, str, str]], files_bytes: int) -> None:
    """Go on as process 1 of new namespaces, in a root that holds these places only."""
    user, group = os.geteuid(), os.getegid()
    _checked("unshare", _libc.unshare(_UNSHARED | (_NEW_USER if user else 0)))
    if user:
        for name, text in (("setgroups", "deny"), ("uid_map", f"{user} {user} 1"), ("gid_map", f"{group} {group} 1")):
            with open(f"/proc/self/{name}", "w") as stream:
                stream.write(text)
    inner = os.fork()
    if inner:
        os.close(1)
        os.waitpid(inner, 0)
        os._exit(0)
    _dies_with_parent()
    _mount("none", "/", _PRIVATE | _RECURSIVE)
    _mount("tmpfs", "/tmp", _NO_SETUID, "tmpfs", "mode=755")
    os.chdir("/tmp")
    os.mkdir("old")
    _checked("pivot_root", _libc.syscall(_PIVOT_ROOT[os.uname().machine], b".", b"old"))
    os.chdir("/")
    for kind, source, target in places:
        os.makedirs(os.path.dirname(target), exist_ok=True)
        _PLACES[kind](source, target, files_bytes)
    _umount("/old")
    os.rmdir("/old")
    _set("/", _AT_RECURSIVE, on=_READ_ONLY | _NO_SETUID)
    _set(HOME, off=_READ_ONLY)
    _set("/proc", off=_READ_ONLY)


def _private(source: str, target: str, files_bytes: int) -> None:
    os.makedirs(target, exist_ok=True)
    _mount("tmpfs", target, _NO_SETUID, "tmpfs", f"mode=1777,size={files_bytes}")


def _processes(source: str, target: str, files_bytes: int) -> None:
    os.makedirs(target, exist_ok=True)
    _mount("proc", target, _NO_SETUID, "proc")


def _bound(source: str, target: str, files_bytes: int) -> None:
    source = f"/old{source}"
    if os.path.isdir(source):
        os.makedirs(target, exist_ok=True)
    else:
        os.close(os.open(target, os.O_CREAT | os.O_WRONLY, 0o644))
    _mount(source, target, _BIND | _RECURSIVE)


def _linked(source: str, target: str, files_bytes: int) -> None:
    os.symlink(source, target)


_PLACES = {"private": _private, "processes": _processes, "read": _bound, "device": _bound, "link": _linked}


# The program


def _guard(request: dict[str, Any]) -> dict[str, Any]:
    """Start the program and watch it until it ends or breaks a limit."""
    limits = request["limits"]
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # which the kernel then keeps from process 1
    _libc.prctl(_DUMPABLE, 0, 0, 0, 0)  # the program may be of the same user: no look into this process
    output, written = os.pipe()
    trouble, told = os.pipe()  # both ends are closed by the program's execve
    started = time.monotonic()
    child = os.fork()
    if child == 0:
        _become(request, written, told)
    os.close(written)
    os.close(told)
    words = os.read(trouble, 4096)
    if words:
        return {"broken": words.decode()}
    reason = _watch(child, output, limits, started)
    return {"reason": reason, "seconds": time.monotonic() - started}


def _become(request: dict[str, Any], output: int, told: int) -> NoReturn:
    """Turn this process into the program: no privileges, limits set, files written by its own user."""
    try:
        os.setsid()
        _libc.prctl(_DUMPABLE, 1, 0, 0, 0)
        _write("/proc/self/oom_score_adj", b"1000")
        if request["user"] is not None:
            os.setgroups([])
            os.setresgid(request["user"], request["user"], request["user"])
            os.setresuid(request["user"], request["user"], request["user"])
        _libc.prctl(_AMBIENT, 4, 0, 0, 0)  # clear all
        os.umask(0o022)
        os.mkdir(WORK)
        os.chdir(WORK)
        for name, content in request["files"].items():
            os.makedirs(os.path.dirname(name) or ".", exist_ok=True)
            _write(name, content)
        nothing = os.open("/dev/null", os.O_RDONLY)
        for source, target in ((nothing, 0), (output, 1), (output, 2)):
            os.dup2(source, target)
        _limit(request["limits"])
        _libc.prctl(_NO_NEW_PRIVILEGES, 1, 0, 0, 0)
        _filter_calls(request["filter"])
        os.execvpe(request["command"][0], request["command"], request["environment"])
    except OSError as error:
        os.write(told, _told(error).encode())
    except BaseException as error:  # as of a name that is no text for the system
        os.write(told, type(error).__name__.encode())
    os._exit(1)


def _limit(limits: dict[str, Any]) -> None:
    cpu, memory, files = limits["cpu_seconds"], limits["memory_bytes"], limits["files_bytes"]
    processes = limits["processes"] + 3  # one too many is seen; and up to two of ours count where the user is the same
    for kind, soft, hard in (
        (resource.RLIMIT_AS, memory, memory),
        (resource.RLIMIT_CPU, cpu, cpu + 1),
        (resource.RLIMIT_FSIZE, files, files),
        (resource.RLIMIT_NPROC, processes, processes),
        (resource.RLIMIT_NOFILE, 256, 256),
        (resource.RLIMIT_CORE, 1, 1),  # 0 would still call a handler of the host (core(5))
    ):
        most = resource.getrlimit(kind)[1]
        if most != resource.RLIM_INFINITY:
            soft, hard = min(soft, most), min(hard, most)
        resource.setrlimit(kind, (soft, hard))


def _filter_calls(program: bytes) -> None:
    class Filter(ctypes.Structure):
        _fields_ = [("length", ctypes.c_ushort), ("steps", ctypes.c_char_p)]

    handed = Filter(len(program) // 8, program)
    _checked("seccomp", _libc.prctl(_SECCOMP, 2, ctypes.byref(handed), 0, 0))


def _watch(child: int, output: int, limits: dict[str, Any], started: float) -> str:
    """Why the program ended: its own end, or the first limit that it broke."""
    os.set_blocking(output, False)
    poll = select.poll()
    poll.register(output, select.POLLIN)
    poll.register(os.pidfd_open(child), select.POLLIN)
    size, tail, looked, open_ended = 0, b"", started, True
    while True:
        poll.poll(TICK * 1000)
        ended = _reaped(child)
        while open_ended and size <= limits["output_bytes"] and (read := _read(output)) is not None:
            size, tail = size + len(read), (tail + read)[-256:]
            if not read:  # nobody holds the other end any more
                poll.unregister(output)
                open_ended = False
        if size > limits["output_bytes"]:
            return "output"
        if ended:
            return _judged(*ended, tail, limits)
        now = time.monotonic()
        if now - started > limits["seconds"]:
            return "timeout"
        if now - looked >= TICK:
            looked = now
            if broken := _broken(limits):
                return broken


def _reaped(child: int) -> tuple[int, float] | None:
    """Reap all that has ended here, also what lost its parent; the program's own status and CPU seconds if it has."""
    found = None
    try:
        while (ended := os.wait4(-1, os.WNOHANG))[0]:
            if ended[0] == child:
                found = ended[1], ended[2].ru_utime + ended[2].ru_stime
    except ChildProcessError:
        pass
    return found


def _read(descriptor: int) -> bytes | None:
    try:
        return os.read(descriptor, 1 << 16)
    except BlockingIOError:
        return None


def _judged(status: int, cpu_seconds: float, tail: bytes, limits: dict[str, Any]) -> str:
    if status == 0:
        return "passed"
    number = os.WTERMSIG(status) if os.WIFSIGNALED(status) else 0
    if number == signal.SIGXCPU or (number == signal.SIGKILL and cpu_seconds >= limits["cpu_seconds"]):
        return "cpu"
    if number == signal.SIGXFSZ or _full():
        return "files"
    if number:
        return "killed" if number == signal.SIGKILL else "crashed"
    last = tail.rstrip().rpartition(b"\n")[2]
    return "memory" if last.startswith(b"MemoryError") else "failed"  # how Python meets the limit of address space


def _broken(limits: dict[str, Any]) -> str | None:
    """The limit that all processes together break now."""
    memory = processes = 0
    for name in os.listdir("/proc"):
        if name.isdigit() and name != "1":
            used, threads = _use(name)
            memory, processes = memory + used, processes + threads
    if processes > limits["processes"]:
        return "processes"
    if memory > limits["memory_bytes"]:
        return "memory"
    return "files" if _full() else None


def _use(process: str) -> tuple[int, int]:
    """Bytes in memory that are no file's, and threads; a page that processes share counts for each."""
    memory = threads = 0
    try:
        with open(f"/proc/{process}/status", "rb") as stream:
            for line in stream:
                if line.startswith((b"RssAnon", b"RssShmem")):
                    memory += int(line.split()[1]) << 10
                elif line.startswith(b"Threads"):
                    threads = int(line.split()[1])
    except (FileNotFoundError, ProcessLookupError):  # it has ended
        pass
    return memory, threads


def _full() -> bool:
    room = os.statvfs(HOME)
    return room.f_bfree == 0 or room.f_files - room.f_ffree > MAX_FILES


def _told(error: OSError) -> str:
    return f"{error.strerror} ({error.filename})" if error.filename else str(error.strerror)


def _dies_with_parent() -> None:
    _libc.prctl(_DIES_WITH_PARENT, signal.SIGKILL, 0, 0, 0)


def _write(name: str, content: bytes) -> None:
    with open(name, "wb") as stream:
        stream.write(content)


def _mount(source: str, target: str, flags: int, kind: str = "", options: str = "") -> None:
    texts = [text.encode() or None for text in (source, target, kind, options)]
    _checked(f"mount {target}", _libc.mount(*texts[:3], ctypes.c_ulong(flags), texts[3]))


def _set(path: str, flags: int = 0, on: int = 0, off: int = 0) -> None:
    attributes = (ctypes.c_uint64 * 4)(on, off, 0, 0)  # struct mount_attr
    size = ctypes.c_size_t(ctypes.sizeof(attributes))
    _checked(f"mount_setattr {path}", _libc.syscall(_MOUNT_SETATTR, _AT_FDCWD, path.encode(), flags, attributes, size))


def _umount(target: str) -> None:
    _checked("umount", _libc.umount2(target.encode(), _DETACH))


def _checked(what: str, result: int) -> None:
    if result != 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number), what)


if __name__ == "__main__":
    main()
