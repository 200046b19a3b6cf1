"""A web server on this machine that sends the files of a folder, over TLS with a made certificate, or badly."""

from __future__ import annotations

import datetime
import ipaddress
import ssl
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import unquote

Answer = Callable[[BaseHTTPRequestHandler, bytes], None]


class Server:
    """Where it is (`url`), and what it answers for a path instead of the file (`answers`, by the path's end)."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.answers: dict[str, Answer] = {}
        self.asked: list[str] = []


@contextmanager
def serving(folder: Path, certificate: Path | None = None) -> Iterator[Server]:
    """The server, over TLS where there is a certificate (a PEM file with its key)."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            path = unquote(self.path)
            server.asked.append(path)
            file = folder / path.lstrip("/")
            data = file.read_bytes() if file.is_file() else None
            for end, answer in server.answers.items():
                if path.endswith(end):
                    answer(self, data or b"")
                    return
            plain(self, data) if data is not None else status(404)(self, b"")

        def log_message(self, *_: object) -> None:
            pass

    httpd = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    httpd.daemon_threads = True
    httpd.handle_error = lambda *_: None  # type: ignore[method-assign]
    if certificate:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificate)
        httpd.socket = context.wrap_socket(httpd.socket, server_side=True)
    server = Server(f"http{'s' if certificate else ''}://127.0.0.1:{httpd.server_port}")
    threading.Thread(target=httpd.serve_forever, daemon=True).start()
    try:
        yield server
    finally:
        httpd.shutdown()
        httpd.server_close()


def plain(handler: BaseHTTPRequestHandler, data: bytes, length: int | None = None, **headers: str) -> None:
    handler.send_response(200)
    handler.send_header("Content-Length", str(len(data) if length is None else length))
    for name, value in headers.items():
        handler.send_header(name.replace("_", "-"), value)
    handler.end_headers()
    handler.wfile.write(data)
    if length is not None:
        handler.close_connection = True


def status(code: int, **headers: str) -> Answer:
    """An answer without the file."""

    def answer(handler: BaseHTTPRequestHandler, _: bytes) -> None:
        handler.send_response(code)
        handler.send_header("Content-Length", "0")
        for name, value in headers.items():
            handler.send_header(name, value)
        handler.end_headers()

    return answer


def cut(handler: BaseHTTPRequestHandler, data: bytes) -> None:
    """Half of what was announced."""
    plain(handler, data[: len(data) // 2], len(data))


def longer(handler: BaseHTTPRequestHandler, data: bytes) -> None:
    """More than the file, announced."""
    plain(handler, data + b"more")


def endless(handler: BaseHTTPRequestHandler, data: bytes) -> None:
    """More than the file, without a length."""
    handler.send_response(200)
    handler.send_header("Connection", "close")
    handler.end_headers()
    handler.close_connection = True
    while True:  # until nobody reads any more
        handler.wfile.write(data + b" " * 10_000)


def packed(handler: BaseHTTPRequestHandler, data: bytes) -> None:
    """Under an encoding that nobody asked for."""
    plain(handler, data, Content_Encoding="gzip")


def silent(handler: BaseHTTPRequestHandler, _: bytes) -> None:
    """Nothing at all."""
    time.sleep(2)


def make_certificate(path: Path) -> Path:
    """A certificate for 127.0.0.1 with its key, both in one PEM file; it is its own authority."""
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec

    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "127.0.0.1")])
    now = datetime.datetime.now(datetime.UTC)
    builder = x509.CertificateBuilder().subject_name(name).issuer_name(name).public_key(key.public_key())
    builder = builder.serial_number(1).not_valid_before(now - datetime.timedelta(days=1))
    builder = builder.not_valid_after(now + datetime.timedelta(days=1))
    address = x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address("127.0.0.1"))])
    builder = builder.add_extension(address, critical=False)
    builder = builder.add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
    certificate = builder.sign(key, hashes.SHA256())
    private = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    path.write_bytes(private + certificate.public_bytes(serialization.Encoding.PEM))
    return path
