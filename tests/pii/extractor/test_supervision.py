"""What of a chat is learned, by hand, and what verification notices before a training begins."""

from __future__ import annotations

import importlib.util
import unicodedata
from pathlib import Path

import numpy as np
import pytest
from pii.extractor.conftest import PLAIN, THINKING

from sm_ops.core.errors import InputError
from sm_ops.pii.extractor.prompt import INSTRUCTION
from sm_ops.pii.extractor.supervision import examples, questions

pytestmark = pytest.mark.unit

SOURCE = "김가상님 <|end|> <|im_end|> 010-1234-5678\r\n"
ROWS = "PERSON\t김가상\nPHONE\t010-1234-5678"


def document(source: str = SOURCE, target: str = ROWS) -> dict[str, str]:
    return {"id": "a", "source_text": source, "target_tsv": target}


def texts(tokenizer, example) -> tuple[str, str, str]:
    """What stands before the learned tokens, what they are, and what follows."""
    learned = np.flatnonzero(example.labels != -100)
    first, last = learned[0], learned[-1] + 1
    assert (example.labels[first:last] == example.ids[first:last]).all()
    return tuple(tokenizer.decode(part.tolist()) for part in np.split(example.ids, [first, last]))  # type: ignore


@pytest.mark.parametrize("target", [ROWS, ""])
def test_of_the_plain_template_rows_and_end_are_learned(plain, target):
    (example,) = examples([document(target=target)], plain, 2000)
    before = f"<|system|>{INSTRUCTION}<|end|><|user|>{SOURCE}<|end|><|assistant|>"
    assert texts(plain, example) == (before, f"{target}<|end|>", "")
    assert not example.masked.any()


@pytest.mark.parametrize("target", [ROWS, ""])
def test_of_a_thinking_template_the_empty_block_is_not_learned(thinking, target):
    (example,) = examples([document(target=target)], thinking, 2000)
    before = (
        f"<|im_start|>system\n{INSTRUCTION}<|im_end|>\n<|im_start|>user\n{SOURCE}<|im_end|>\n"
        "<|im_start|>assistant\n<think>\n\n</think>\n\n"
    )
    assert texts(thinking, example) == (before, f"{target}<|im_end|>", "\n")


def test_an_end_in_the_text_is_no_end_of_turn(plain):
    (example,) = examples([document()], plain, 2000)
    ends = np.flatnonzero(example.ids == plain.convert_tokens_to_ids("<|end|>"))
    assert len(ends) == 3
    assert (example.labels[ends] != -100).tolist() == [False, False, True]


@pytest.mark.parametrize("name", ["plain", "thinking"])
def test_a_question_is_the_training_chat_up_to_its_answer(name, request):
    tokenizer = request.getfixturevalue(name)
    (question,) = questions([SOURCE], tokenizer, 2000)
    (example,) = examples([document()], tokenizer, 2000)
    first = np.flatnonzero(example.labels != -100)[0]
    assert question.ids.tolist() == example.ids[:first].tolist()
    end = {"plain": "<|end|>", "thinking": "<|im_end|>"}[name]
    assert tokenizer.convert_ids_to_tokens(question.end) == end


def test_a_decomposed_source_is_read_composed(plain):
    forms = (unicodedata.normalize(form, "가상") for form in ("NFC", "NFD"))
    composed, decomposed = (examples([document(text, "")], plain, 2000)[0] for text in forms)
    assert composed.ids.tolist() == decomposed.ids.tolist()


def test_the_longest_that_fits_and_the_first_that_does_not(plain):
    documents = [document("a", ""), document("a" * 9, ""), document("a" * 8, ""), document("a" * 10, "")]
    shortest = len(examples(documents[:1], plain, 2000)[0].ids)
    assert len(examples(documents[:3:2], plain, shortest + 7)) == 2
    with pytest.raises(InputError) as refused:
        examples(documents, plain, shortest + 7)
    assert refused.value.code == "document-too-long"
    assert f"Document 1 has {shortest + 8} tokens" in refused.value.hint
    assert "2 of 4" in refused.value.hint


def test_a_question_without_room_for_its_end_is_refused(plain):
    length = len(questions(["abc"], plain, 2000)[0].ids)
    assert len(questions(["abc"], plain, length + 1)) == 1
    with pytest.raises(InputError, match="document-too-long"):
        questions(["abc"], plain, length)


BROKEN = {
    "prompt with another beginning": (PLAIN.replace("{{ '<|assistant|>' }}", "{{ '<|user|>' }}"), "own prompt"),
    "prompt that begins to think": (THINKING.replace("is false", "is true"), None),
    "prompt that opens another block": (
        THINKING.replace("is false %}{{ '<think>", "is false %}{{ '<plan>"),
        "own prompt",
    ),
    "answers in capitals": (PLAIN.replace("message['content']", "message['content']|upper"), ""),
    "no end of turn": (PLAIN.replace(" + '<|end|>'", ""), ""),
    "a note for empty answers": (
        PLAIN.replace("+ message['content'] +", "+ (message['content'] or 'none') +"),
        "",
    ),
    "answers cut short": (PLAIN.replace("message['content']", "message['content'][:9]"), ""),
    "answers told twice": (PLAIN.replace("+ '<|end|>'", "+ message['content'] + '<|end|>'"), ""),
    "no system message": (PLAIN.replace("in messages", "in messages[1:]"), ""),
    "other order": (PLAIN.replace("in messages", "in messages|reverse"), ""),
    "another question before an answer": (
        PLAIN.replace("{{ '<|' + message['role']", "{{ (messages|length)|string + '<|' + message['role']"),
        "",
    ),
    "refusing the system": ("{{ raise_exception('no') if messages[0].role == 'system' }}" + PLAIN, ""),
    "none": ("", ""),
}


@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_template_is_refused_in_a_sentence(name, tokenizer_of):
    template, sentence = BROKEN[name]
    tokenizer = tokenizer_of(template or PLAIN)
    if not template:
        tokenizer.chat_template = None
    if sentence is None:  # the prompt of inference is shorter than what training shows: no harm
        examples([document()], tokenizer, 2000)
        return
    with pytest.raises(InputError) as refused:
        examples([document("clean", ""), document()], tokenizer, 2000)
    assert sentence in refused.value.hint
    assert refused.value.hint.startswith("Document ")
    assert "김" not in refused.value.hint
    assert "1234" not in refused.value.hint


def test_a_tokenizer_that_changes_letters_is_refused(tokenizer_of):
    from tokenizers import normalizers

    tokenizer = tokenizer_of(PLAIN)
    tokenizer.backend_tokenizer.normalizer = normalizers.Lowercase()
    with pytest.raises(InputError, match="decode to something else"):
        examples([document("name", "PERSON\tname")], tokenizer, 2000)


def stock(name: str):
    trl = importlib.util.find_spec("trl")
    path = Path(trl.origin).parent / "chat_templates" / name if trl and trl.origin else None
    return path.read_text() if path and path.is_file() else None


@pytest.mark.parametrize("name", ["qwen3.jinja", "qwen3_instruct_2507.jinja", "qwen2_5.jinja"])
@pytest.mark.parametrize("target", [ROWS, ""])
def test_the_stock_templates_of_qwen(name, target, tokenizer_of):
    template = stock(name)
    if template is None:
        pytest.skip("trl, which carries the stock templates, is not installed")
    tokenizer = tokenizer_of(template)
    (example,) = examples([document(target=target)], tokenizer, 3000)
    before, learned, after = texts(tokenizer, example)
    assert learned == f"{target}<|im_end|>"
    assert after == "\n"
    block = "<think>\n\n</think>\n\n" if name == "qwen3.jinja" else ""
    assert before.endswith(f"{SOURCE}<|im_end|>\n<|im_start|>assistant\n{block}")
