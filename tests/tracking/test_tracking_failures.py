"""Whatever a tracking server answers, one sentence says what to do, without address, password or the server's words."""

from __future__ import annotations

import secrets
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from sm_ops.core.errors import InputError
from sm_ops.tracking.server import connected

WORDS = "the server's own words"


@pytest.fixture
def answering() -> Iterator[ThreadingHTTPServer]:
    """A server that answers everything with `status`."""

    class Answer(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.rfile.read(int(self.headers.get("Content-Length", 0)))
            self.send_response(self.server.status)  # type: ignore[attr-defined]
            self.end_headers()
            self.wfile.write(WORDS.encode())

        do_POST = do_GET

        def log_message(self, *arguments: object) -> None:
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Answer)
    threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
    yield server
    server.shutdown()
    server.server_close()


@pytest.mark.parametrize(
    ("status", "expected"),
    [(401, "MLFLOW_TRACKING_PASSWORD"), (403, "may grant EDIT"), (500, "the tracking server failed")],
)
def test_an_answer_is_told_in_words(
    answering: ThreadingHTTPServer, status: int, expected: str, tmp_path, monkeypatch: pytest.MonkeyPatch
) -> None:
    answering.status = status  # type: ignore[attr-defined]
    password = secrets.token_hex(8)
    monkeypatch.setenv("MLFLOW_TRACKING_URI", f"http://user:{password}@127.0.0.1:{answering.server_port}")
    monkeypatch.setenv("MLFLOW_HTTP_REQUEST_MAX_RETRIES", "0")
    with pytest.raises(InputError) as told, connected(tmp_path, "Run x was not tracked") as client:
        client.get_experiment_by_name("sm-ops")
    sentence = str(told.value)
    assert sentence.startswith("Run x was not tracked: ")
    assert expected in sentence
    assert not any(word in sentence for word in (password, "127.0.0.1", WORDS))


def test_no_answer_is_told_in_words(tmp_path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MLFLOW_TRACKING_URI", "http://127.0.0.1:9")
    monkeypatch.setenv("MLFLOW_HTTP_REQUEST_MAX_RETRIES", "0")
    with pytest.raises(InputError, match="does not answer"), connected(tmp_path) as client:
        client.get_experiment_by_name("sm-ops")
