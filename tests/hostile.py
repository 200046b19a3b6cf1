"""Programs that try to break out of the sandbox, or to break it.

Those of `PROBES` end with 0 only if every way out was closed; those of `BOMBS` are to be ended for a reason. `FACTS`
stands for a dictionary of what lies outside: paths, ports, process ids.
"""

from __future__ import annotations

from typing import Any

PROBES = {
    "innocent": """
import concurrent.futures, json, multiprocessing, socket, subprocess, sys, tempfile
import helper.deep
assert helper.deep.VALUE == 7 and open("data.bin", "rb").read() == bytes(range(256))
with tempfile.TemporaryDirectory() as folder:
    open(folder + "/x", "w").write("x")
with concurrent.futures.ThreadPoolExecutor(4) as pool:
    assert list(pool.map(abs, [-1, 2])) == [1, 2]
with multiprocessing.get_context("fork").Pool(2) as pool:
    assert pool.map(abs, [-1, 2]) == [1, 2]
assert subprocess.run([sys.executable, "-c", "print(1)"], capture_output=True, check=True).stdout == b"1\\n"
one, other = socket.socketpair()
one.send(b"x")
assert other.recv(1) == b"x"
""",
    "home_vault_environment": """
import glob, os
for path in FACTS["secrets"]:
    assert not os.path.exists(path), path
    for process in glob.glob("/proc/[0-9]*"):
        for way in ("root", "cwd"):
            assert not os.path.exists(f"{process}/{way}{path}")
        for descriptor in glob.glob(f"{process}/fd/*"):
            assert os.path.basename(path) not in os.path.realpath(descriptor)
assert FACTS["marker"] not in str(os.environ)
for environ in glob.glob("/proc/[0-9]*/environ"):
    try:
        assert FACTS["marker"].encode() not in open(environ, "rb").read()
    except PermissionError:
        pass
seen = os.listdir(FACTS["home"]) if os.path.isdir(FACTS["home"]) else []
assert {os.path.join(FACTS["home"], name) for name in seen} <= set(FACTS["python_ways"]), seen
assert os.environ["HOME"] == "/tmp" and not os.path.exists("/etc/passwd") and not os.path.exists("/sys")
assert all(name == "program" or f"/tmp/{name}" in FACTS["python_ways"] for name in os.listdir("/tmp"))
""",
    "write_outside": """
import os
for folder in ("/", "/etc", "/usr", "/usr/lib", "/dev", "/proc", "/proc/sys/kernel", "/run", "/home", *FACTS["python"]):
    for act in (lambda p: open(p, "w"), os.mkdir, lambda p: os.symlink("/tmp", p), lambda p: os.mkfifo(p)):
        try:
            act(folder + "/written")
        except OSError:
            continue
        raise AssertionError(folder)
for file in ("/usr/bin/env", "/proc/sys/kernel/hostname", "/proc/sysrq-trigger", FACTS["library"]):
    for act in (lambda p: open(p, "a"), os.unlink, lambda p: os.chmod(p, 0o777), lambda p: os.rename(p, "/tmp/x")):
        try:
            act(file)
        except OSError:
            continue
        raise AssertionError(file)
""",
    "sockets": """
import socket
for family in (socket.AF_INET, socket.AF_INET6, socket.AF_NETLINK, socket.AF_PACKET, 40, 31, 16, 38):
    for kind in (socket.SOCK_STREAM, socket.SOCK_DGRAM, socket.SOCK_RAW):
        try:
            socket.socket(family, kind)
        except OSError:
            continue
        raise AssertionError(family)
try:
    socket.create_connection(("127.0.0.1", FACTS["port"]), timeout=2)
    raise AssertionError("loopback")
except OSError:
    pass
for name in (FACTS["abstract"], FACTS["socket"]):
    try:
        socket.socket(socket.AF_UNIX).connect(name)
    except OSError:
        continue
    raise AssertionError(name)
""",
    "signals": """
import os, signal
for number in (signal.SIGKILL, signal.SIGSTOP, signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGQUIT):
    for process in (1, os.getppid(), *FACTS["processes"]):
        if process != os.getpid():
            try:
                os.kill(process, number)
            except (PermissionError, ProcessLookupError):
                pass
child = os.fork()
if child == 0:
    os.killpg(os.getpgid(os.getppid()), signal.SIGCONT)
    os.setpgid(0, 0)
    os.killpg(0, signal.SIGKILL)
os.waitpid(child, 0)
signal.signal(signal.SIGTERM, signal.SIG_IGN)
os.killpg(0, signal.SIGTERM)
try:
    os.kill(-1, signal.SIGKILL)
except (PermissionError, ProcessLookupError):
    pass
assert len([name for name in os.listdir("/proc") if name.isdigit()]) == 2
""",
    "symlinks": """
import os, shutil
for path in FACTS["secrets"]:
    os.symlink(path, "link")
    try:
        os.open("link", os.O_WRONLY)
        raise AssertionError(path)
    except OSError:
        os.unlink("link")
os.symlink("/", "root")
try:
    open("root/usr/written", "w")
    raise AssertionError("written")
except OSError:
    pass
os.symlink("../" * 20 + FACTS["secrets"][0].lstrip("/"), "up")
assert not os.path.exists("up")
os.chdir("/tmp")
shutil.rmtree("program")
os.symlink(os.path.dirname(FACTS["secrets"][0]), "program")
""",
    "privileges": """
import ctypes, os, resource
status = dict(line.split(":", 1) for line in open("/proc/self/status"))
assert os.getuid() != 0 and os.getgid() != 0 and os.getgroups() in ([], [os.getgid()], [65534])
assert int(status["CapEff"], 16) == int(status["CapPrm"], 16) == int(status["CapAmb"], 16) == 0
assert status["NoNewPrivs"].strip() == "1" and status["Seccomp"].strip() == "2"
assert open("/proc/self/oom_score_adj").read().strip() == "1000"
libc = ctypes.CDLL(None, use_errno=True)
for flag in (0x10000000, 0x00020000, 0x40000000, 0x20000000):
    assert libc.unshare(flag) == -1
assert libc.mount(b"none", b"/tmp", b"tmpfs", 0, None) == -1
assert libc.umount2(b"/tmp", 2) == -1
assert libc.ptrace(16, 1, 0, 0) == -1
assert libc.memfd_create(b"x", 0) == -1
assert libc.shmget(0, 4096, 0o1600) == -1
for number in FACTS["calls"]:
    assert libc.syscall(number, 0, 0, 0, 0, 0) == -1 and ctypes.get_errno() in (1, 38), number
for change in (lambda: os.setuid(0), lambda: os.setgid(0), lambda: os.chroot("/tmp"), lambda: os.nice(-5)):
    try:
        change()
    except OSError:
        continue
    raise AssertionError("raised")
assert resource.getrlimit(resource.RLIMIT_NPROC)[1] < 100
for kind in (resource.RLIMIT_AS, resource.RLIMIT_NPROC, resource.RLIMIT_CPU, resource.RLIMIT_NOFILE):
    try:
        resource.setrlimit(kind, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    except (OSError, ValueError):
        continue
    raise AssertionError("a limit was raised")
""",
    "warden": """
import glob, os
for path in ("/proc/1/mem", "/proc/1/environ", "/proc/1/fd/0", "/proc/1/fd/1", "/proc/1/root/x", "/proc/1/cwd/x"):
    for mode in ("rb", "r+b"):
        try:
            open(path, mode)
        except OSError:
            continue
        raise AssertionError(path)
for descriptor in range(3, 256):
    try:
        os.write(descriptor, b"x")
    except OSError:
        continue
    raise AssertionError(descriptor)
""",
    "daemon": """
import os, sys, time
for _ in range(5):
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            os.execvp("python", ["python", "-c", "import time; time.sleep(600)", FACTS["marker"]])
        os._exit(0)
time.sleep(0.3)
""",
    "zombies": """
import os
for _ in range(20):
    if os.fork() == 0:
        os._exit(0)
""",
}

BOMBS: dict[str, tuple[str, set[str], dict[str, Any]]] = {
    "fork_bomb": ("import os\nwhile True:\n    try:\n        os.fork()\n    except OSError: pass", {"processes"}, {}),
    "thread_bomb": (
        "import threading, time\nwhile True:\n    try: threading.Thread(target=time.sleep, args=(99,)).start()\n"
        "    except RuntimeError: pass",
        {"processes"},
        {"processes": 16},
    ),
    "memory_bomb": ("x = []\nwhile True: x.append(b'x' * (1 << 20))", {"memory"}, {"memory_bytes": 256 << 20}),
    "one_allocation": ("x = b'x' * (1 << 40)", {"memory"}, {}),
    "memory_of_many": (
        "import os, time\nfor _ in range(7): os.fork() or (b'', time.sleep(0))\nx = b'x' * (20 << 20)\ntime.sleep(60)",
        {"memory", "processes"},
        {"memory_bytes": 256 << 20, "processes": 200},
    ),
    "shared_memory": (
        "import mmap, time\nm = [mmap.mmap(-1, 40 << 20) for _ in range(4)]\nfor x in m: x.write(b'x' * (40 << 20))\n"
        "import os\nfor _ in range(3): os.fork()\nn = [mmap.mmap(-1, 20 << 20) for _ in range(3)]\n"
        "for x in n: x.write(b'x' * (20 << 20))\ntime.sleep(60)",
        {"memory"},
        {"memory_bytes": 300 << 20},
    ),
    "endless_loop": ("while True: pass", {"timeout"}, {"seconds": 0.5}),
    "endless_sleep": (
        "import signal, time\nfor n in range(1, 32):\n    try: signal.signal(n, signal.SIG_IGN)\n"
        "    except OSError: pass\nwhile True: time.sleep(1)",
        {"timeout"},
        {"seconds": 0.5},
    ),
    "cpu": (
        "import signal\nsignal.signal(signal.SIGXCPU, signal.SIG_IGN)\nwhile True: pass",
        {"cpu"},
        {"cpu_seconds": 1},
    ),
    "endless_output": ("while True: print('x' * 10000)", {"output"}, {}),
    "output_of_a_child": (
        "import os\nif os.fork():\n    import time; time.sleep(60)\nwhile True: os.write(2, b'x' * 4096)",
        {"output"},
        {},
    ),
    "large_file": ("f = open('/tmp/x', 'wb')\nwhile True: f.write(b'x' * (1 << 20))", {"files"}, {}),
    "large_files": (
        "n = 0\nwhile True:\n    n += 1\n    open(f'/dev/shm/{n}', 'wb').write(b'x' * (1 << 20))",
        {"files"},
        {},
    ),
    "many_files": ("n = 0\nwhile True:\n    n += 1\n    open(f'/tmp/{n}', 'wb').close()", {"files"}, {}),
    "failing": ("raise SystemExit(3)", {"failed"}, {}),
    "raising": ("1 / 0", {"failed"}, {}),
    "syntax": ("def", {"failed"}, {}),
    "aborting": ("import os; os.abort()", {"crashed"}, {}),
    "killing_itself": ("import os; os.kill(os.getpid(), 9)", {"killed"}, {}),
}
