"""Greedy answers: the same whatever is answered beside them, equal to a plain loop, and bound to the text if asked."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from sm_ops.core.errors import InputError
from sm_ops.pii import accept, parse_rows
from sm_ops.pii.extractor import marking, tiny
from sm_ops.pii.extractor.infer import extract
from sm_ops.pii.extractor.supervision import questions
from sm_ops.scoring.tokenize import separator_id

pytestmark = pytest.mark.unit

SOURCES = (
    "김가상님의 연락처는 010-1234-5678",
    "a",
    "성명\t남궁예시\r\n주민번호 900101-3123456, 계좌 000-12-345678",
    "Taylor Sample, taylor@example.com",
    "a",
    "",
)
WHOLE = SimpleNamespace(window=None, think="none")
READINGS = (WHOLE, SimpleNamespace(window=12, think="none"), SimpleNamespace(window=12, think="marked"))


@pytest.fixture(scope="module")
def tokenizer(tmp_path_factory):
    return tiny.train_tokenizer(SOURCES, 600, tmp_path_factory.mktemp("tokenizer"))


@pytest.fixture(scope="module", params=[0, 1])
def model(request, tokenizer):
    """Random, with large weights in its layers, so that answers depend on the text."""
    import torch

    shape = SimpleNamespace(layers=2, width=32, heads=2)
    model = tiny.new_model(shape, len(tokenizer), 256, separator_id(tokenizer), request.param)
    with torch.no_grad():
        for layer in model.model.layers:
            for weight in (each for each in layer.parameters() if each.ndim == 2):
                weight.mul_(12)
        marks = tokenizer.convert_tokens_to_ids([*marking.OPEN.values(), marking.CLOSE])
        model.get_input_embeddings().weight[marks] *= 30  # so that it marks now and then
    return model


def settings(**changes):
    defaults = {"context": 128, "max_new_tokens": 24, "token_budget": 100_000, "decoding": "free"}
    return SimpleNamespace(**{**defaults, **changes})


@pytest.mark.parametrize("decoding", ["free", "constrained"])
@pytest.mark.parametrize("reading", READINGS)
def test_what_is_answered_beside_does_not_matter(model, tokenizer, decoding, reading):
    def answers(sources=SOURCES, **changes):
        return extract(model, tokenizer, sources, reading, settings(decoding=decoding, **changes))

    together = answers()
    assert together == answers()
    assert together == answers(token_budget=1)
    assert together == answers(token_budget=200)
    assert together[::-1] == answers(SOURCES[::-1])
    assert together[1] == together[4]
    assert len(set(together)) > 2


def test_padding_moves_no_learned_position(tokenizer):
    import torch

    from sm_ops.training import tiny as gpt2

    model = gpt2.new_model(SimpleNamespace(layers=1, width=32, heads=2), len(tokenizer), 256, 0, 3)
    with torch.no_grad():
        model.transformer.wpe.weight.mul_(100)
    together = extract(model, tokenizer, SOURCES, WHOLE, settings())
    assert together == extract(model, tokenizer, SOURCES, WHOLE, settings(token_budget=1))


def test_a_free_answer_is_the_plain_loop_without_cache_and_padding(model, tokenizer):
    import torch

    expected = []
    for question in questions(SOURCES, tokenizer, 128):
        ids, written = question.ids.tolist(), []
        while len(written) < 24:
            with torch.inference_mode():
                chosen = int(model(torch.tensor([ids + written]), use_cache=False).logits[0, -1].argmax())
            if chosen == question.end:
                break
            written.append(chosen)
        expected.append(tokenizer.decode(written))
    assert extract(model, tokenizer, SOURCES, WHOLE, settings()) == expected


@pytest.mark.parametrize("reading", READINGS)
def test_a_constrained_answer_has_rows_of_the_text_alone(model, tokenizer, reading):
    answers = extract(model, tokenizer, SOURCES, reading, settings(decoding="constrained", max_new_tokens=60))
    rows = [parse_rows(answer) for answer in answers]
    for source, answer, own in zip(SOURCES, answers, rows, strict=True):
        assert answer == "\n".join("\t".join(row) for row in own)
        assert accept(source, answer) == own
    assert sum(map(len, rows)) > 1


def test_the_model_is_left_as_it_was(model, tokenizer):
    model.train()
    extract(model, tokenizer, SOURCES[:1], WHOLE, settings())
    assert model.training


def test_a_document_without_room_for_its_answer_is_refused_before_any_is_answered(model, tokenizer):
    longest = max(len(question.ids) for question in questions(SOURCES, tokenizer, 128))
    extract(model, tokenizer, SOURCES, WHOLE, settings(context=longest + 24))
    with pytest.raises(InputError, match="Document 2 has") as refused:
        extract(model, tokenizer, SOURCES, WHOLE, settings(context=longest + 23))
    assert "1 of 6" in refused.value.hint
    with pytest.raises(InputError, match="context-too-long"):
        extract(model, tokenizer, SOURCES, WHOLE, settings(context=257))
