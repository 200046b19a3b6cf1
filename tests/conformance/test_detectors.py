"""Every detector through the same cases; a new one adds what it needs to be loaded to `SETTINGS`, or nothing."""

from __future__ import annotations

import random
import socket
import unicodedata

import pytest
from detectors.look_alikes import assignment
from detectors.tiny_classifier import tiny_classifier
from detectors.tiny_filter import make_tiny_filter

from sm_ops.core import registry
from sm_ops.core.errors import InputError
from sm_ops.core.records import Record, Span
from sm_ops.detectors.labels import LABELS

EMAIL, PHONE = "ga.sang@example.com", "010-0000-1234"
SENTENCE = f"Please write to {EMAIL} or call {PHONE} before Friday."
KNOWN = Record("known", text=SENTENCE, spans=(Span(16, 35, "EMAIL"), Span(44, 57, "PHONE")))
SETTINGS = {
    "privacy_filter": lambda folder: {"model": str(make_tiny_filter(folder)), "token_budget": 64},
    "classifier": lambda folder: {"model": str(tiny_classifier(folder))},
    "gold": lambda folder: {"records": [KNOWN]},
}
"""A small random model finds much, at random places: what holds for every detector holds for it."""
ABSENT = ("missing-package", "missing-program", "no-spacy-model")
"""What a detector says that this machine does not have."""
SCANNERS = ("credsweeper", "detect_secrets", "gitleaks")
LINE, CREDENTIAL = assignment(0)
NO_ADDRESSES = ("spacy", "flair", *SCANNERS)
"""Entity recognisers, to which an e-mail address is no entity, and scanners for credentials."""
PIECES = [
    "김가상", " ", "님", "\r\n", "\t", EMAIL, PHONE, "991231-3000001", "1985년 3월 12일", "Name: Ann Lee", "어머니",
    "\U0001f600", "\U0001f469\U0001f3fd\u200d\U0001f4bb", "é", "e\u0301", "\u200b", "\u200f", "\u05d0\u05d1", "\x00",
    "<|endoftext|>", "[PERSON_1]", "가상시 견본구",
]  # fmt: skip
RNG = random.Random(0)
TEXTS = [
    "", " ", "\n\r\n", "a", "😀", SENTENCE, SENTENCE * 20, LINE, f"😀\r\n{LINE}\r{LINE}",
    unicodedata.normalize("NFD", f"담당 김가상, {EMAIL}"),
    *("".join(RNG.choices(PIECES, k=RNG.randint(1, 25))) for _ in range(20)),
]  # fmt: skip


@pytest.fixture(scope="module", params=sorted(registry.members("detector")))
def name(request):
    return request.param


@pytest.fixture(scope="module")
def connections():
    """What asked for the network while the detectors of this module were loaded and used."""
    asked = []

    def refuse(*where, **_):
        asked.append(where)
        raise OSError("no network in this test")

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(socket, "getaddrinfo", refuse)
        patch.setattr(socket.socket, "connect", refuse)
        yield asked


@pytest.fixture(scope="module")
def detector(name, connections, tmp_path_factory):
    settings = SETTINGS.get(name, lambda folder: {})(tmp_path_factory.mktemp(name))
    try:
        return registry.load("detector", name).load(settings)
    except InputError as error:
        if error.code not in ABSENT:
            raise
        pytest.skip(str(error))


@pytest.fixture(scope="module")
def found(detector):
    return detector.detect(TEXTS)


def places(detections):
    return [each[:3] for each in detections]


def test_each_text_has_its_own_detections(found):
    assert len(found) == len(TEXTS)
    assert found[0] == []
    assert any(found)


def test_spans_are_half_open_within_the_text_and_sorted(found):
    for text, detections in zip(TEXTS, found, strict=True):
        assert places(detections) == sorted(set(places(detections)))
        for start, end, _, score in detections:
            assert 0 <= start < end <= len(text)
            assert 0 <= score <= 1
            assert type(start) is type(end) is int
            assert type(score) is float


def test_every_label_has_a_line(found):
    assert {each.label for detections in found for each in detections} <= LABELS.keys()


def test_a_batch_finds_what_each_text_alone_gives(detector, found):
    for text, expected in zip(TEXTS, found, strict=True):
        (alone,) = detector.detect([text])
        assert places(alone) == places(expected)
        assert [each.score for each in alone] == pytest.approx([each.score for each in expected], abs=1e-4)


def test_the_order_of_texts_changes_nothing(detector, found):
    assert [places(each) for each in detector.detect(TEXTS[::-1])][::-1] == [places(each) for each in found]


@pytest.mark.parametrize("front", ["", "😀😀 ", "e\u0301 \u1100\u1161\u11a8 ", "👩🏽‍💻\n"])
def test_offsets_are_code_points_of_the_text_as_given(name, detector, front):
    """An e-mail address in an English sentence is the one thing that all trained or written detectors find."""
    text = front + SENTENCE
    (detections,) = detector.detect([text])
    if name == "privacy_filter":  # random weights: only that it is there, and where its tokens are, can be said
        assert max(each.end for each in detections) <= len(text)
        assert not any(text[each.start].isspace() or text[each.end - 1].isspace() for each in detections)
    elif name in SCANNERS:
        (detections,) = detector.detect([front + LINE])
        assert CREDENTIAL in [(front + LINE)[each.start : each.end] for each in detections]
    elif name not in NO_ADDRESSES:
        assert EMAIL in [text[each.start : each.end] for each in detections if LABELS[each.label] == "EMAIL"]


def test_no_text_no_answer(detector):
    assert detector.detect([]) == []


@pytest.mark.parametrize("bad", [f"{EMAIL} \ud800", None, 7, b"ga"])
def test_what_is_no_text_is_refused_by_its_index_and_not_by_its_content(detector, bad):
    with pytest.raises(InputError, match=r"^Text 1 ") as caught:
        detector.detect(["fine", bad])
    assert EMAIL not in repr(caught.value)
    assert caught.value.__cause__ is None


def test_a_threshold_leaves_out_what_is_less_sure(name, detector, found, tmp_path):
    settings = SETTINGS.get(name, lambda folder: {})(tmp_path)
    sure = registry.load("detector", name).load({**settings, "threshold": 0.8}).detect(TEXTS[:10])
    expected = [[each[:3] for each in own if each.score >= 0.8] for own in found[:10]]
    assert [places(each) for each in sure] == expected


def test_nothing_asked_for_the_network(found, connections):
    assert connections == []


def test_every_setting_names_a_member():
    assert SETTINGS.keys() <= registry.members("detector").keys()
