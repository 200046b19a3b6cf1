"""A model behind HTTP answers as the model itself; what goes wrong is told in a sentence that repeats no data."""

from __future__ import annotations

import json
import re
import threading
import time
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import SimpleNamespace
from unittest.mock import Mock
from urllib.error import URLError

import numpy as np
import pytest

from sm_ops.core.errors import InputError
from sm_ops.core.registry import load
from sm_ops.scoring.candidates import rank
from sm_ops.scoring.language_model import LanguageModel
from sm_ops.scoring.models import service
from sm_ops.scoring.models.hf import HFModel

pytestmark = pytest.mark.unit


@contextmanager
def serving(answer):
    """A local service: `answer(path, question)` gives what is sent as JSON, or bytes, or a status."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self):
            self.send(answer("", None))

        def do_POST(self):
            body = self.rfile.read(int(self.headers["Content-Length"]))
            self.send(answer(self.path.strip("/"), json.loads(body)))

        def send(self, answered):
            self.send_response(answered if isinstance(answered, int) else 200)
            self.end_headers()
            if not isinstance(answered, int):
                with suppress(BrokenPipeError):  # nobody waits for it any more
                    self.wfile.write(answered if isinstance(answered, bytes) else json.dumps(answered).encode())

        def log_message(self, *_):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def wrapped(model):
    """The protocol over a model in this process."""

    def answer(path, question):
        if path == "":
            return {"context": model.context, "prefix": list(model.prefix), "end": model.end, "vocabulary": 64}
        if path == "encode":
            encoded = [model.encode(text) for text in question["texts"]]
            return {"ids": [ids for ids, _ in encoded], "offsets": [offsets for _, offsets in encoded]}
        if path == "decode":
            return {"texts": [model.decode(ids) for ids in question["ids"]]}
        rows = model.next_logprobs(question["contexts"]).tolist()
        return {"logprobs": [[None if value == -np.inf else value for value in row] for row in rows]}

    return answer


@pytest.fixture
def direct(reference, monkeypatch):
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    char = reference("char")
    return HFModel(char._model, char.tokenizer)


def test_a_service_gives_the_answers_of_its_model(direct, monkeypatch):
    monkeypatch.setattr(service, "NUMBERS", 3 * 64)  # several requests
    with serving(wrapped(direct)) as url:
        remote = load("model", "service").load(SimpleNamespace(model=url + "/"))
        assert (remote.context, remote.prefix, remote.end) == (128, (0,), 0)
        assert remote.encode("김 ab") == direct.encode("김 ab")
        assert remote.decode([4, 5]) == direct.decode([4, 5])
        np.testing.assert_allclose(remote.next_logprobs([[0]] * 7), direct.next_logprobs([[0]] * 7), rtol=0, atol=4e-6)
        chances = np.random.default_rng(0).random((3, 4))
        assert remote.sample([0], chances, top_k=9) == LanguageModel.sample(direct, [0], chances, top_k=9)
        assert remote.greedy([0, 9], 3) == [10, 11, 12]
        found = rank(remote, "ab", ["c", "q", "9"], "de")
        assert (found.best, found.perplexity["c"]) == ("c", pytest.approx(3.4822022531844965, rel=1e-5))


def test_a_probability_of_zero_is_null(direct):
    def answer(path, question):
        answered = wrapped(direct)(path, question)
        return {"logprobs": [[0.0] + [None] * 63]} if path == "next" else answered

    with serving(answer) as url:
        assert service.ServiceModel(url).next_logprobs([[5]]).tolist() == [[0.0] + [-np.inf] * 63]


SECRET = "zyx"
ENCODE, NEXT = (lambda model: model.encode(SECRET)), (lambda model: model.next_logprobs([[29, 28, 27]]))
FAULTS = {
    "status": (NEXT, "next", 500, "status 500"),
    "no JSON": (NEXT, "next", f"{SECRET} failed".encode(), "no JSON"),
    "no object": (NEXT, "next", [SECRET], "no JSON object"),
    "no rows": (NEXT, "next", {}, "64 numbers for each context"),
    "too few rows": (NEXT, "next", {"logprobs": []}, "64 numbers for each context"),
    "too few numbers": (NEXT, "next", {"logprobs": [[0.0]]}, "64 numbers for each context"),
    "words": (NEXT, "next", {"logprobs": [[SECRET] * 64]}, "64 numbers for each context"),
    "NaN": (NEXT, "next", {"logprobs": [[float("nan")] * 64]}, "sum to 1"),
    "infinite": (NEXT, "next", {"logprobs": [[float("inf")] * 64]}, "sum to 1"),
    "probabilities": (NEXT, "next", {"logprobs": [[1 / 64] * 64]}, "sum to 1"),
    "truncated": (NEXT, "next", {"logprobs": [[-1.0] + [None] * 63]}, "sum to 1"),
    "no ids": (ENCODE, "encode", {"ids": [SECRET], "offsets": [[]]}, "ids from 0 to 63"),
    "two texts": (ENCODE, "encode", {"ids": [[1], [2]], "offsets": [[[0, 1]]]}, "one entry"),
    "foreign ids": (ENCODE, "encode", {"ids": [[64]], "offsets": [[[0, 1]]]}, "ids from 0 to 63"),
    "few offsets": (ENCODE, "encode", {"ids": [[1, 2]], "offsets": [[[0, 1]]]}, "each id"),
    "bytes": (ENCODE, "encode", {"ids": [[1]], "offsets": [[[0, 9]]]}, "code points"),
    "no text": (lambda model: model.decode([1]), "decode", {"texts": [1]}, "one text"),
    "context": (NEXT, "", {"context": 0, "vocabulary": 64, "prefix": []}, "positive integer"),
    "truth": (NEXT, "", {"context": True, "vocabulary": 64, "prefix": []}, "positive integer"),
    "prefix": (NEXT, "", {"context": 9, "vocabulary": 64, "prefix": [70]}, "ids from 0 to 63"),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_what_a_service_answers_wrongly_is_told_without_data(fault, direct):
    ask, place, wrong, told = FAULTS[fault]
    right = wrapped(direct)
    with (
        serving(lambda path, question: wrong if path == place else right(path, question)) as url,
        pytest.raises(InputError, match=told) as error,
    ):
        ask(service.ServiceModel(url))
    assert SECRET not in str(error.value)
    assert error.value.__cause__ is None


def test_a_silent_and_an_absent_service(direct, monkeypatch):
    right = wrapped(direct)

    def slow(path, question):
        time.sleep(0.3 if path else 0)
        return right(path, question)

    with serving(slow) as url, pytest.raises(InputError, match=r"did not answer /next within 0.05 s"):
        service.ServiceModel(url, timeout=0.05).next_logprobs([[1]])
    with pytest.raises(InputError, match="not to be reached"):
        service.ServiceModel(url)
    for address in ("file:///etc/hostname", "localhost:80"):
        with pytest.raises(InputError, match="must begin with http"):
            service.ServiceModel(address)
    with pytest.raises(InputError, match="positive number of seconds"):
        load("model", "service").load(SimpleNamespace(model=url, timeout="soon"))
    monkeypatch.setattr(service, "urlopen", Mock(side_effect=URLError(TimeoutError())))  # no connection in time
    with pytest.raises(InputError, match="did not answer / within 60 s"):
        service.ServiceModel(url)


def test_the_example_of_a_member_of_one_s_own_works(direct):
    page = (Path(__file__).resolve().parents[2] / "docs" / "how-to" / "black-box.md").read_text(encoding="utf-8")
    (example,) = re.findall(r"^```python\n(.*?)^```", page, re.DOTALL | re.MULTILINE)
    space = {}
    exec(example, space)
    runtime = SimpleNamespace(
        ids=lambda text: direct.encode(text)[0],
        intervals=lambda text: direct.encode(text)[1],
        text=direct.decode,
        logprobs=lambda context: direct.next_logprobs([context])[0],
    )
    own = space["Ours"](runtime)
    assert own.greedy([0, *own.encode("ab")[0]], 3) == [6, 7, 8]
    assert rank(own, "ab", ["c", "q"], "de").best == "c"
