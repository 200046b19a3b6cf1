"""Stands between boto3 and the S3 server and goes wrong as networks and services do.

    with faulty.standing_before(server.url) as proxy:
        proxy.faults.append(Fault("500", "PUT", "data/train.jsonl", times=2))
        ... monkeypatch AWS_ENDPOINT_URL to proxy.url ...

A fault applies to the next `times` requests of its method whose path contains its text. Every request is kept.
"""

from __future__ import annotations

import http.client
import socket
import struct
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Literal
from urllib.parse import urlsplit

Kind = Literal[
    "500",  # refused before anything happened
    "503",
    "reset",  # the connection breaks while the body is sent
    "lost",  # done, but the answer never arrives
    "cut",  # the answer's body breaks off in the middle
    "slow",  # done, but the answer comes too late
    "flip",  # one byte of the body arrives as another
]


@dataclass
class Fault:
    kind: Kind
    method: str
    path: str
    times: int = 1


@dataclass(frozen=True)
class Request:
    method: str
    path: str
    headers: Mapping[str, str]


@dataclass
class Proxy:
    """What goes wrong next, what came by, and which account the buckets belong to (None: nobody asks)."""

    url: str = ""
    faults: list[Fault] = field(default_factory=list)
    requests: list[Request] = field(default_factory=list)
    owner: str | None = None
    delay: float = 3.0
    lock: threading.Lock = field(default_factory=threading.Lock)

    def next_fault(self, request: Request) -> Kind | None:
        with self.lock:
            self.requests.append(request)
            for fault in self.faults:
                if fault.times and fault.method == request.method and fault.path in request.path:
                    fault.times -= 1
                    return fault.kind
        return None

    def refuses(self, request: Request) -> bool:
        """What AWS does, and no server here: the owner that a request expects must be the bucket's."""
        return self.owner is not None and request.headers.get("x-amz-expected-bucket-owner", self.owner) != self.owner


@contextmanager
def standing_before(url: str) -> Iterator[Proxy]:
    """A proxy on a free port of loopback."""
    proxy, behind = Proxy(), urlsplit(url)

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def _handle(self) -> None:
            headers = {name.lower(): value for name, value in self.headers.items()}
            request = Request(self.command, self.path, headers)
            kind, length = proxy.next_fault(request), int(headers.get("content-length", 0))
            if kind == "reset":
                self.rfile.read(length // 2)
                return self._break()
            body = self.rfile.read(length)
            if kind in ("500", "503"):
                return self._refuse(int(kind), "InternalError" if kind == "500" else "SlowDown")
            if proxy.refuses(request):
                return self._refuse(403, "AccessDenied")
            if kind == "flip" and body:
                body = bytes([body[0] ^ 1]) + body[1:]
            connection = http.client.HTTPConnection(behind.hostname or "", behind.port, timeout=60)
            connection.putrequest(self.command, self.path, skip_host=True, skip_accept_encoding=True)
            for name, value in self.headers.items():
                if name.lower() != "expect":
                    connection.putheader(name, value)
            connection.endheaders(body)
            answer = connection.getresponse()
            content = answer.read()
            connection.close()
            if kind == "lost":
                return self._break()
            if kind == "slow":
                time.sleep(proxy.delay)
            with suppress(OSError):
                self.send_response_only(answer.status, answer.reason)
                for name, value in answer.getheaders():
                    if name.lower() not in ("transfer-encoding", "connection", "content-length"):
                        self.send_header(name, value)
                length = len(content) if self.command != "HEAD" else answer.getheader("Content-Length") or 0
                self.send_header("Content-Length", str(length))
                self.end_headers()
                self.wfile.write(content[: len(content) // 2] if kind == "cut" else content)
                if kind == "cut":
                    self.wfile.flush()
                    time.sleep(0.05)
                    self._break()
            return None

        do_GET = do_PUT = do_POST = do_HEAD = do_DELETE = _handle

        def _refuse(self, status: int, code: str) -> None:
            body = f"<?xml version='1.0'?><Error><Code>{code}</Code><Message>faulty</Message></Error>".encode()
            self.send_response_only(status)
            self.send_header("Content-Type", "application/xml")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            if self.command != "HEAD":
                self.wfile.write(body)

        def _break(self) -> None:
            """Close with a reset, as a crashed machine's network does."""
            self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            self.close_connection = True
            with suppress(OSError):
                self.wfile.flush()
            self.connection.close()

        def log_message(self, *_: object) -> None:
            pass

        def handle(self) -> None:
            with suppress(OSError, ValueError):
                super().handle()

    class Server(ThreadingHTTPServer):
        def handle_error(self, *_: object) -> None:
            """A client that went away, or a connection that we broke."""

    server = Server(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    proxy.url = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield proxy
    finally:
        server.shutdown()
        server.server_close()
