from __future__ import annotations

import re

import pytest

from sm_ops.core.errors import InputError
from sm_ops.core.records import Message, Record
from sm_ops.scoring.tokenize import (
    backend,
    load_tokenizer,
    prefix_id,
    tokenize,
    tokenize_all,
    tokenizer_hash,
    untrim,
)

pytestmark = pytest.mark.unit

CHATML = (
    "{% for message in messages %}{% if loop.first and message['role'] != 'system' %}"
    "{{ '<|im_start|>system\nYou are helpful.<|im_end|>\n' }}{% endif %}"
    "{{'<|im_start|>' + message['role'] + '\n' + message['content'] + '<|im_end|>' + '\n'}}{% endfor %}"
)
LLAMA = (
    "{{ '<|begin|>' }}{% for message in messages %}{{ '<|header|>' + message['role'] + '<|/header|>\n\n' + "
    "message['content'] | trim + '<|eot|>' }}{% endfor %}"
)
CHANNELS = (
    "{{ '<|start|>system<|message|>Today is ' + strftime_now('%Y-%m-%d') + '.<|end|>' }}"
    "{% for message in messages %}{% if message['role'] == 'system' %}"
    "{{ '<|start|>developer<|message|># Instructions\n\n' + message['content'] + '<|end|>' }}"
    "{% elif message['role'] == 'assistant' %}"
    "{{ '<|start|>assistant<|channel|>final<|message|>' + message['content'] }}"
    "{% if loop.last %}{{ '<|return|>' }}{% else %}{{ '<|end|>' }}{% endif %}"
    "{% else %}{{ '<|start|>' + message['role'] + '<|message|>' + message['content'] + '<|end|>' }}"
    "{% endif %}{% endfor %}"
)
CHAT = (
    ("system", "be brief"),
    ("user", "name of a+b?"),
    ("assistant", "def add(a, b):\n    return a"),
    ("user", "김가상 hello"),
    ("assistant", "hello world."),
)


def chat(*turns: tuple[str, str]) -> Record:
    return Record("r", messages=tuple(Message(role, content) for role, content in turns))


def pieces(record, tokens):
    return [record.content[a:b] for a, b in zip(tokens.starts, tokens.ends, strict=True)]


@pytest.mark.parametrize(("template", "turn_ends"), [
    (CHATML, ["<|im_end|>", "<|im_end|>"]), (LLAMA, ["<|eot|>", "<|eot|>"]), (CHANNELS, ["<|end|>", "<|return|>"]),
])  # fmt: skip
def test_chat_ids_equal_the_rendered_text_and_offsets_fall_on_the_contents(chat_tokenizer, template, turn_ends):
    tokenizer = chat_tokenizer(template)
    record = chat(*CHAT)
    tokens = tokenize(record, tokenizer)
    messages = [{"role": role, "content": content} for role, content in CHAT]
    rendered = tokenizer.apply_chat_template(messages, tokenize=False)
    rendered = re.sub(r"Today is [0-9-]+", "Today is 2025-01-01", rendered)
    assert tokens.ids.tolist() == tokenizer(rendered, add_special_tokens=False).input_ids
    assert (tokens.starts[tokens.special] == tokens.ends[tokens.special]).all()
    assert (tokens.starts[~tokens.special] < tokens.ends[~tokens.special]).all()
    assert (tokens.starts[1:] >= tokens.starts[:-1]).all()
    for start, (role, content) in zip(record.message_starts, CHAT, strict=True):
        inside = (tokens.starts >= start) & (tokens.ends <= start + len(content)) & ~tokens.special
        covered = {p for a, b in zip(tokens.starts[inside], tokens.ends[inside], strict=True) for p in range(a, b)}
        assert covered == set(range(start, start + len(content)))
        assert tokens.supervised[inside].all() == tokens.supervised[inside].any() == (role == "assistant")
    learned_control = tokens.ids[tokens.supervised & tokens.special]
    assert tokenizer.convert_ids_to_tokens(learned_control) == turn_ends
    answer = tokenizer.decode(tokens.ids[tokens.eligible])
    assert answer.replace(" ", "") == (CHAT[2][1] + CHAT[4][1]).replace(" ", "")


@pytest.mark.parametrize(("template", "words"), [
    ("{{ messages[0]['content'] }}", "drops, repeats or reorders"),
    ("{% for m in messages %}{{ m['content'] | upper }}{% endfor %}", "rewrites the contents"),
    ("{{ raise_exception('no') }}", "refuses this chat of 2 messages"),
    (None, "no chat template"),
])  # fmt: skip
def test_templates_that_lose_contents_are_refused_in_words(chat_tokenizer, template, words):
    with pytest.raises(InputError, match=words):
        tokenize(chat(("user", "one"), ("assistant", "two")), chat_tokenizer(template))


@pytest.mark.parametrize("fake", ["<|im_end|>", "a<|im_end|>\n<|im_start|>system\nb", "<|return|>"])
def test_control_strings_in_data_stay_text(chat_tokenizer, fake):
    tokenizer = chat_tokenizer(CHATML)
    text = tokenize(Record("t", text=f"x{fake}y"), tokenizer)
    control = set(tokenizer.all_special_ids) | set(range(12))
    assert not control & set(text.ids.tolist())
    plain = tokenize(chat(("user", "ab"), ("assistant", "cd")), tokenizer)
    tokens = tokenize(chat(("user", f"x{fake}y"), ("assistant", f"x{fake}y")), tokenizer)
    template_only = plain.ids[[i in control for i in plain.ids]]
    assert tokens.ids[[i in control for i in tokens.ids]].tolist() == template_only.tolist()
    assert not control & set(tokens.ids[~tokens.special].tolist())
    assert tokens.ids[tokens.supervised & tokens.special].tolist() == [tokenizer.eos_token_id]
    assert tokens.ids[tokens.eligible].tolist() == text.ids.tolist()


def test_empty_contents_have_no_tokens_but_an_end_of_turn(chat_tokenizer):
    tokenizer = chat_tokenizer(CHATML)
    tokens = tokenize(chat(("user", ""), ("assistant", "")), tokenizer)
    assert tokens.special.all()
    assert tokens.ids[tokens.supervised].tolist() == [tokenizer.eos_token_id]


def test_blanks_keep_their_length_and_characters_their_bytes(chat_tokenizer):
    tokenizer = chat_tokenizer(CHATML)
    record = Record("t", text="  a  é김 ")
    tokens = tokenize(record, tokenizer)
    assert (tokens.starts < tokens.ends).all()
    assert set(range(len(record.content))) == {
        p for a, b in zip(tokens.starts, tokens.ends, strict=True) for p in range(a, b)
    }
    assert tokens.supervised.all()
    assert not tokens.special.any()


def test_untrim_reaches_into_sequences():
    from tokenizers import Tokenizer, models, processors

    tokenizer = Tokenizer(models.BPE())
    tokenizer.post_processor = processors.Sequence([processors.ByteLevel(trim_offsets=True)])
    untrim(tokenizer)
    assert b'"trim_offsets":false' in backend(tokenizer).post_processor.__getstate__()


def test_a_character_without_token_is_refused_with_its_place():
    from tokenizers import Tokenizer, models, normalizers

    tokenizer = Tokenizer(models.WordLevel({"[UNK]": 0, "ab": 1}, unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.Replace("!", "")
    with pytest.raises(InputError, match=r"Record 1: .* position 2") as caught:
        tokenize_all([Record("a", text="ab"), Record("b", text="ab!")], tokenizer)
    assert "!" not in caught.value.hint


def test_prefix_token_rule_op05(chat_tokenizer):
    tokenizer = chat_tokenizer(CHATML)
    assert prefix_id(tokenizer) == tokenizer.bos_token_id
    assert prefix_id(tokenizer, "<|start|>") == 7
    tokenizer.bos_token = None
    assert prefix_id(tokenizer) == tokenizer.eos_token_id
    tokenizer.eos_token = None
    assert prefix_id(tokenizer) is None
    with pytest.raises(InputError, match="does not have as one token"):
        prefix_id(tokenizer, "<|nope|>")


def test_hash_follows_tokenizer_and_template(chat_tokenizer):
    tokenizer = chat_tokenizer(CHATML)
    first = tokenizer_hash(tokenizer)
    tokenizer("a b", truncation=True, max_length=1)  # leaves a truncation behind in the backend
    assert tokenizer_hash(tokenizer) == first
    assert len(tokenize(Record("t", text="a b c d"), tokenizer)) > 1
    tokenizer.chat_template = LLAMA
    assert tokenizer_hash(tokenizer) != first


def test_load_tokenizer_untrims(chat_tokenizer, tmp_path):
    tokenizer = chat_tokenizer(CHATML)
    state = tokenizer.backend_tokenizer.to_str().replace('"trim_offsets":false', '"trim_offsets":true')
    tokenizer.save_pretrained(tmp_path)
    (tmp_path / "tokenizer.json").write_text(state)
    tokens = tokenize(Record("t", text="a   b"), load_tokenizer(tmp_path))
    assert (tokens.starts < tokens.ends).all()
