"""Texts go to the named endpoint and nowhere else; failures that may pass are waited for, others told in a sentence."""

from __future__ import annotations

import json
import os
import stat
import time

import pytest
from chat_stand_in import answering, chat

from sm_ops.core.errors import InputError
from sm_ops.core.fs import sha256
from sm_ops.core.settings import Settings
from sm_ops.rewriting.asking import Asker, Call, Usage
from sm_ops.rewriting.endpoint import Endpoint
from sm_ops.rewriting.journal import SENT, Journal

pytestmark = pytest.mark.unit

SECRET = "the lighthouse keeper owes 4711"


def endpoint(
    url: str | None, key: str | None = None, attempts: int = 3, timeout: float = 5.0, **settings
) -> Endpoint:
    calls = {"key": key, "timeout": timeout, "attempts": attempts, "pause": 0.001, "at_once": 1}
    given = {"url": url, "model": "stand-in", "temperature": 0.0, "max_tokens": 50, "limit": "max_tokens"}
    return Endpoint("rewriter", Settings({**given, **settings, "calls": calls}))


def call(text: str = SECRET) -> Call:
    return Call([{"role": "user", "content": f"edit: {text}"}], (text,))


def asker(tmp_path, found: Endpoint, at_once: int = 1) -> Asker:
    (tmp_path / "scratch").mkdir(exist_ok=True)
    return Asker(found, tmp_path / "scratch", tmp_path / "home", "a purpose", at_once)


def sent(tmp_path) -> list[dict]:
    path = tmp_path / "home" / SENT
    return [json.loads(line) for line in path.read_text().splitlines() if line] if path.exists() else []


def test_an_answer_has_its_text_and_tokens(tmp_path):
    with answering(lambda body, number: "edited") as (url, requests):
        answers = asker(tmp_path, endpoint(url)).ask([call()])
    assert answers[0].text == "edited"
    assert Usage.of([*answers, *answers]) == Usage(2, 200, 40, 20)
    _, body = requests[0]
    assert body == {
        "model": "stand-in", "messages": call().messages, "temperature": 0.0, "max_tokens": 50,
    }  # fmt: skip


def test_without_an_endpoint_nothing_can_be_sent():
    with pytest.raises(InputError, match="No endpoint is named for the rewriter, so nothing was sent"):
        endpoint(None)


@pytest.mark.parametrize("status", [429, 500, 503, 408])
def test_what_may_pass_is_tried_again(tmp_path, status):
    with answering(lambda body, number: "edited" if number else (status, {"Retry-After": "0"})) as (url, requests):
        assert asker(tmp_path, endpoint(url)).ask([call()])[0].text == "edited"
    assert len(requests) == 2
    assert [line["attempt"] for line in sent(tmp_path)] == [1, 2]


@pytest.mark.parametrize(
    ("given", "code", "said"),
    [
        (401, "endpoint-refused", "status 401; check the key"),
        (404, "endpoint-refused", "the model's name"),
        ((302, {"Location": "http://127.0.0.1:1/elsewhere"}), "endpoint-refused", "to another address (status 302)"),
        (b"x" * (9 << 20), "bad-endpoint", "more than 8 MiB"),
        (b"no json", "bad-endpoint", "is no JSON"),
        ({"choices": []}, "bad-endpoint", "choices[0].message.content"),
        (chat("half a sen", finish="length"), "answer-cut", "endpoints.rewriter.max_tokens"),
        (503, "endpoint-failed", "status 503 at 2 attempts"),
    ],
)
def test_failures_are_sentences_without_text(tmp_path, given, code, said):
    with answering(lambda body, number: given) as (url, _), pytest.raises(InputError) as caught:
        asker(tmp_path, endpoint(url, attempts=2)).ask([call()])
    assert caught.value.code == code
    assert said in caught.value.hint
    assert SECRET not in str(caught.value)
    assert "half a sen" not in str(caught.value)


def test_an_answer_that_trickles_is_given_up_in_the_time_of_a_call(tmp_path):
    def trickle():
        for _ in range(100):
            time.sleep(0.02)
            yield b" "

    with answering(lambda body, number: trickle()) as (url, requests), pytest.raises(InputError) as caught:
        asker(tmp_path, endpoint(url, attempts=1, timeout=0.2)).ask([call()])
    assert "did not answer within 0.2 s" in caught.value.hint
    assert len(requests) == 1


def test_one_that_is_not_there_is_told(tmp_path):
    with pytest.raises(InputError, match="is not to be reached"):
        asker(tmp_path, endpoint("http://127.0.0.1:9/v1", attempts=1)).ask([call()])


def test_the_key_comes_from_the_environment_and_is_kept_nowhere(tmp_path, monkeypatch):
    key = "-".join(["k", "e" * 20])
    monkeypatch.setenv("OUR_KEY", key)
    with answering(lambda body, number: "edited") as (url, requests):
        asker(tmp_path, endpoint(url, key="OUR_KEY")).ask([call()])
    assert requests[0][0]["Authorization"] == f"Bearer {key}"
    kept = b"".join(path.read_bytes() for path in tmp_path.rglob("*") if path.is_file())
    assert key.encode() not in kept


def test_a_missing_key_and_one_in_clear_are_refused(monkeypatch):
    with pytest.raises(InputError, match="The environment variable OUR_KEY holds no key"):
        endpoint("https://models.example/v1", key="OUR_KEY")
    for bad in ("some\nthing", "ключ"):
        monkeypatch.setenv("OUR_KEY", bad)
        with pytest.raises(InputError, match="a character that no header can") as caught:
            endpoint("https://models.example/v1", key="OUR_KEY")
        assert bad not in str(caught.value)
    monkeypatch.setenv("OUR_KEY", "something")
    with pytest.raises(InputError, match="send the key in clear"):
        endpoint("http://models.example/v1", key="OUR_KEY")
    with pytest.raises(InputError, match="no user, password"):
        endpoint("https://me:pw@models.example/v1")


def test_a_failing_endpoint_loses_nothing(tmp_path):
    texts = [f"text {number}" for number in range(5)]
    with answering(lambda body, number: 400 if number == 2 else f"edited {number}") as (url, requests):
        port = int(url.rpartition(":")[2].partition("/")[0])
        with pytest.raises(InputError, match=r"status 400; .* \(2 of 5 calls of this part are answered and kept\)"):
            asker(tmp_path, endpoint(url)).ask([call(text) for text in texts])
    assert len(requests) == 3
    with answering(lambda body, number: f"later {number}", port) as (again, resumed):
        assert again == url
        answers = asker(tmp_path, endpoint(url)).ask([call(text) for text in texts])
    assert [answer.text for answer in answers] == ["edited 0", "edited 1", "later 0", "later 1", "later 2"]
    assert len(resumed) == 3


def test_answers_keep_the_order_of_the_calls(tmp_path):
    with answering(lambda body, number: body["messages"][0]["content"].upper()) as (url, _):
        answers = asker(tmp_path, endpoint(url), at_once=4).ask([call(f"text {number}") for number in range(8)])
    assert [answer.text for answer in answers] == [f"EDIT: TEXT {number}" for number in range(8)]


def test_every_text_is_listed_by_digest_before_it_is_sent(tmp_path):
    listed = []
    with answering(lambda body, number: listed.append(sent(tmp_path)) or "edited") as (url, _):
        asker(tmp_path, endpoint(url)).ask([call()])
    (line,) = listed[0]
    assert line["texts"] == [sha256(SECRET.encode())]
    assert (line["role"], line["model"], line["to"], line["for"]) == ("rewriter", "stand-in", url, "a purpose")
    assert SECRET not in (tmp_path / "home" / SENT).read_text()
    assert stat.S_IMODE(os.stat(tmp_path / "home" / SENT).st_mode) == 0o600


def test_a_line_that_a_kill_cut_short_spoils_no_other(tmp_path):
    with answering(lambda body, number: f"edited {number}") as (url, requests):
        asker(tmp_path, endpoint(url)).ask([call("one")])
        with (tmp_path / "scratch" / "journal.jsonl").open("ab") as journal:
            journal.write(b'{"request":"abc","answ')
        answers = asker(tmp_path, endpoint(url)).ask([call("one"), call("two")])
        assert [answer.text for answer in answers] == ["edited 0", "edited 1"]
        assert [answer.text for answer in asker(tmp_path, endpoint(url)).ask([call("two")])] == ["edited 1"]
    assert len(requests) == 2
    assert Journal(tmp_path / "scratch" / "journal.jsonl").get("abc") is None


def test_tokens_that_are_not_reported_are_unknown_and_not_zero(tmp_path):
    with answering(lambda body, number: chat("edited", total_tokens=3)) as (url, _):
        answers = asker(tmp_path, endpoint(url)).ask([call()])
    assert Usage.of(answers) == Usage(1, None, None, None)


def test_half_a_character_in_an_answer_is_replaced(tmp_path):
    broken = json.dumps(chat("a")).replace('"a"', '"a\\ud83d"').encode()
    with answering(lambda body, number: broken) as (url, _):
        assert asker(tmp_path, endpoint(url)).ask([call()])[0].text == "a\ufffd"
