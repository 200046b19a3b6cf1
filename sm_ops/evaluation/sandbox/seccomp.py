"""The filter of system calls: sockets of every kind but UNIX, and what could reach past namespaces and limits.

A network namespace has no say over VSOCK, keyrings or io_uring; nested namespaces open more of the kernel; memory files
and System V segments are in no process's and no folder's account. Programs in Python need none of them.
"""

from __future__ import annotations

import errno
import struct

# The system calls' numbers (asm/unistd_64.h, asm-generic/unistd.h) by the name that `os.uname().machine` gives.
_CALLS = {
    "x86_64": {
        "add_key": 248, "request_key": 249, "keyctl": 250,
        "mount": 165, "umount2": 166, "pivot_root": 155, "chroot": 161, "setns": 308, "unshare": 272,
        "ptrace": 101, "process_vm_readv": 310, "process_vm_writev": 311,
        "bpf": 321, "perf_event_open": 298, "userfaultfd": 323, "name_to_handle_at": 303, "open_by_handle_at": 304,
        "memfd_create": 319, "shmget": 29, "msgget": 68, "semget": 64, "mq_open": 240,
        "clone": 56, "socket": 41,
    },
    "aarch64": {
        "add_key": 217, "request_key": 218, "keyctl": 219,
        "mount": 40, "umount2": 39, "pivot_root": 41, "chroot": 51, "setns": 268, "unshare": 97,
        "ptrace": 117, "process_vm_readv": 270, "process_vm_writev": 271,
        "bpf": 280, "perf_event_open": 241, "userfaultfd": 282, "name_to_handle_at": 264, "open_by_handle_at": 265,
        "memfd_create": 279, "shmget": 194, "msgget": 186, "semget": 190, "mq_open": 180,
        "clone": 220, "socket": 198,
    },
}  # fmt: skip
_EVERYWHERE = {
    "io_uring_setup": 425, "io_uring_enter": 426, "io_uring_register": 427,
    "open_tree": 428, "move_mount": 429, "fsopen": 430, "fsconfig": 431, "fsmount": 432, "fspick": 433,
    "pidfd_getfd": 438, "mount_setattr": 442, "memfd_secret": 447,
}  # fmt: skip
_CLONE3 = 435
_ARCHITECTURES = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}  # linux/audit.h
_X32 = 0x40000000
_NAMESPACES = 0x7E020000  # the CLONE_NEW* flags of clone
_UNIX = 1

_LOAD, _EQUAL, _AT_LEAST, _ANY_BIT, _RETURN = 0x20, 0x15, 0x35, 0x45, 0x06  # linux/bpf_common.h
_NUMBER, _ARCHITECTURE, _FIRST_ARGUMENT = 0, 4, 16  # offsets in struct seccomp_data
_KILL, _ERROR, _ALLOW = 0x80000000, 0x00050000, 0x7FFF0000

MACHINES = frozenset(_CALLS)


def program(machine: str) -> bytes:
    """The filter as an array of `struct sock_filter`, for one of `MACHINES`."""
    calls = _CALLS[machine] | _EVERYWHERE
    clone, socket = calls.pop("clone"), calls.pop("socket")
    steps = [
        (_LOAD, 0, 0, _ARCHITECTURE),
        (_EQUAL, 1, 0, _ARCHITECTURES[machine]),
        (_RETURN, 0, 0, _KILL),
        (_LOAD, 0, 0, _NUMBER),
        *_where(_AT_LEAST, _X32, _refused(errno.EPERM)),
        *_where(_EQUAL, _CLONE3, _refused(errno.ENOSYS)),  # its flags lie in memory; the C library then takes clone
        *(step for number in calls.values() for step in _where(_EQUAL, number, _refused(errno.EPERM))),
        *_where(_EQUAL, clone, *_on_argument(_ANY_BIT, _NAMESPACES, _refused(errno.EPERM), _allowed())),
        *_where(_EQUAL, socket, *_on_argument(_EQUAL, _UNIX, _allowed(), _refused(errno.EAFNOSUPPORT))),
        _allowed(),
    ]
    return b"".join(struct.pack("=HBBI", *step) for step in steps)


_Step = tuple[int, int, int, int]  # operation, steps to skip where its comparison holds and where not, operand


def _where(comparison: int, operand: int, *steps: _Step) -> tuple[_Step, ...]:
    return (comparison, 0, len(steps), operand), *steps


def _on_argument(comparison: int, operand: int, holds: _Step, fails: _Step) -> tuple[_Step, ...]:
    return (_LOAD, 0, 0, _FIRST_ARGUMENT), *_where(comparison, operand, holds), fails


def _refused(error: int) -> _Step:
    return _RETURN, 0, 0, _ERROR | error


def _allowed() -> _Step:
    return _RETURN, 0, 0, _ALLOW
