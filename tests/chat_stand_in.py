"""A chat endpoint of this machine that answers by a script, in the form of OpenAI's chat completions."""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

Script = Callable[[dict, int], object]
"""From a request's body and its number: a text, a whole answer, bytes, a status, a status and headers, or an iterator
of bytes, each sent as it comes."""


@contextmanager
def answering(script: Script, port: int = 0):
    """The address, and every request as `(headers, body)` in the order they came."""
    requests: list[tuple[dict, dict]] = []
    lock = threading.Lock()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self):
            assert self.path == "/v1/chat/completions"
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            with lock:
                number = len(requests)
                requests.append((dict(self.headers), body))
            self._send(script(body, number))

        def _send(self, given):
            status, headers, content = 200, {}, b""
            if isinstance(given, int):
                status = given
            elif isinstance(given, tuple):
                status, headers = given
            elif isinstance(given, bytes):
                content = given
            elif not isinstance(given, Iterator):
                content = json.dumps(given if isinstance(given, dict) else chat(str(given))).encode()
            self.send_response(status)
            for name, value in headers.items():
                self.send_header(name, value)
            self.end_headers()
            with suppress(BrokenPipeError, ConnectionResetError):
                for piece in given if isinstance(given, Iterator) else [content]:
                    self.wfile.write(piece)

        def log_message(self, *_):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", port), Handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/v1", requests
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def chat(text: str, finish: str = "stop", **usage) -> dict:
    """A whole answer; by default 100 tokens were read, 20 of them from a cache, and 10 written."""
    usage = usage or {
        "prompt_tokens": 100, "completion_tokens": 10, "prompt_tokens_details": {"cached_tokens": 20},
    }  # fmt: skip
    return {"choices": [{"message": {"role": "assistant", "content": text}, "finish_reason": finish}], "usage": usage}


def inside(tag: str, body: dict) -> str | None:
    """What stands between tags in the last message."""
    found = re.search(rf"<{tag}>\n(.*?)\n</{tag}>", body["messages"][-1]["content"], re.DOTALL)
    return found and found[1]
