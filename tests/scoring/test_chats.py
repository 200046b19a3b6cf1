"""What is learned of a chat: on every stock template that TRL carries, and on templates that mislead.

Which characters are the assistant's, and what ends its turn, stands here by hand.
"""

from __future__ import annotations

import importlib.util
import re
from datetime import datetime
from pathlib import Path
from types import SimpleNamespace

import pytest

from sm_ops.core.errors import InputError
from sm_ops.core.records import Message, Record
from sm_ops.scoring.tokenize import tokenize, untrim

pytestmark = pytest.mark.unit


def stock_templates() -> list[Path]:
    trl = importlib.util.find_spec("trl")
    if trl is None or trl.origin is None:
        return []
    return sorted((Path(trl.origin).parent / "chat_templates").glob("*.jinja"))


STOCK = stock_templates()
ENDS = {
    "cohere": "<|END_OF_TURN_TOKEN|>",
    "cohere2": "<|END_RESPONSE|><|END_OF_TURN_TOKEN|>",
    "deepseek": "<｜end▁of▁sentence｜>",
    "diffusion_gemma": "<turn|>",
    "gemma": "<end_of_turn>",
    "gemma4": "<turn|>",
    "glm4moe_training": "<|user|>",
    "gptoss": "<|end|>",
    "lfm2": "<|im_end|>",
    "llama3": "<|eot_id|>",
    "muse_glimmer": "<|eot|>",
    "nemotron": "<|im_end|>",
    "phi3": "<|end|>",
    "qwen": "<|im_end|>",
}
"""What ends the assistant's turn, by the beginning of the template's name; the longest that fits counts."""
LAST = {"gptoss": "<|return|>"}
"""The same for the last turn of a chat, where it differs."""
REFUSED = {
    "glm4moe": "chat-no-end-of-turn",  # the next role's marker ends the turn
    "idefics3": "chat-template-drops",  # contents in parts alone
    "idefics3_training": "chat-template-drops",
    "llava_next": "chat-template-refuses",
    "llava_next_training": "chat-template-refuses",
    "smolvlm": "chat-template-drops",
    "smolvlm_training": "chat-template-drops",
}
MARKER = re.compile(
    r"<[|｜][^<>'\"\s{}]{1,40}?>|<[^<>'\"\s{}|/]{1,40}?\|>|<(?:start|end)_of_[a-z]+>|</?s>|<sop>|\[gMASK\]"
)
ANSWERS = ("def add(a, b):\n    return a + b  # 김", "hello, user.")
CHAT = (("user", "add a and b, assistant"), ("assistant", ANSWERS[0]), ("user", "다시"), ("assistant", ANSWERS[1]))


@pytest.fixture(scope="module")
def byte_tokenizer():
    """`byte_tokenizer(template, **added)`: a token a byte, and one for each marker that the template writes."""
    from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers
    from transformers import PreTrainedTokenizerFast

    def make(template, **flags):
        vocabulary = {byte: i for i, byte in enumerate(sorted(pre_tokenizers.ByteLevel.alphabet()))}
        tokenizer = Tokenizer(models.BPE(vocabulary, []))
        tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
        tokenizer.decoder = decoders.ByteLevel()
        markers = sorted({"<bos>", "<eos>", *MARKER.findall(template)})
        special = flags.pop("special", True)
        tokens = [AddedToken(each, special=special, normalized=False, **flags) for each in markers]
        (tokenizer.add_special_tokens if special else tokenizer.add_tokens)(tokens)
        fast = PreTrainedTokenizerFast(tokenizer_object=tokenizer, bos_token="<bos>", eos_token="<eos>")
        fast.chat_template = template
        untrim(fast)
        return fast

    return make


def chat(*turns: tuple[str, str]) -> Record:
    return Record("r", messages=tuple(Message(role, content) for role, content in turns))


def learned(tokenizer, record) -> str:
    tokens = tokenize(record, tokenizer)
    return tokenizer.decode(tokens.ids[tokens.supervised], clean_up_tokenization_spaces=False)


def longest(table: dict[str, str], name: str) -> str | None:
    return next((table[each] for each in sorted(table, key=len, reverse=True) if name.startswith(each)), None)


def end_of(tokenizer, name: str, last: bool) -> str:
    """The end of turn by hand; of a template unknown here, whatever special token the model would learn."""
    known = (longest(LAST, name) if last else None) or longest(ENDS, name)
    if known is not None:
        return known
    tokens = tokenize(chat(("user", "a"), ("assistant", "b")), tokenizer)
    (end,) = tokens.ids[tokens.supervised & tokens.special]
    return tokenizer.decode(end)


# ---- stock templates -----------------------------------------------------------------------------------

each_template = pytest.mark.parametrize(
    "path", [pytest.param(path, id=path.stem) for path in STOCK if path.stem not in REFUSED]
)
absent = pytest.mark.skipif(not STOCK, reason="trl, which carries the stock templates, is not installed")


@absent
def test_the_stock_templates_are_there():
    assert len(STOCK) > 50
    assert {path.stem for path in STOCK} >= {"llama3", "qwen3", "gemma3", "gptoss", "cohere", "glm4moe", "deepseekv3"}


@absent
@each_template
def test_contents_and_ends_of_the_assistant_s_turns_are_learned(byte_tokenizer, path):
    tokenizer = byte_tokenizer(path.read_text())
    ends = [end_of(tokenizer, path.stem, last) for last in (False, True)]
    assert learned(tokenizer, chat(*CHAT)) == ANSWERS[0] + ends[0] + ANSWERS[1] + ends[1]
    assert learned(tokenizer, chat(*CHAT[:2])) == ANSWERS[0] + ends[1]
    assert learned(tokenizer, chat(*CHAT[:1])) == ""


@absent
@each_template
def test_ids_are_those_of_the_rendered_chat_and_offsets_fall_on_the_contents(byte_tokenizer, path, monkeypatch):
    """Every day is the first of January 2025, so that equal chats have equal tokens."""
    day = SimpleNamespace(now=lambda: datetime(2025, 1, 1))
    monkeypatch.setattr("transformers.utils.chat_template_utils.datetime", day)
    tokenizer, record = byte_tokenizer(path.read_text()), chat(*CHAT)
    tokens = tokenize(record, tokenizer)
    messages = [{"role": role, "content": content} for role, content in CHAT]
    rendered = tokenizer.apply_chat_template(messages, tokenize=False)
    assert tokens.ids.tolist() == tokenizer(rendered, add_special_tokens=False).input_ids
    assert {p for a, b in zip(tokens.starts, tokens.ends, strict=True) for p in range(a, b)} == {
        position + start
        for start, message in zip(record.message_starts, record.messages, strict=True)
        for position in range(len(message.content))
    }


@absent
@each_template
def test_a_system_message_is_never_learned(byte_tokenizer, path):
    tokenizer = byte_tokenizer(path.read_text())
    record = chat(("system", "be brief"), *CHAT[:2])
    if path.stem in ("gemma", "gemma_training"):
        with pytest.raises(InputError, match="roles: assistant, system, user"):
            tokenize(record, tokenizer)
    else:
        assert learned(tokenizer, record) == ANSWERS[0] + end_of(tokenizer, path.stem, True)


@absent
@each_template
def test_blanks_at_the_ends_are_kept_or_trimmed_without_moving_a_character(byte_tokenizer, path):
    tokenizer, content = byte_tokenizer(path.read_text()), "\n  x = 1 \n"
    record = chat(("user", " name?\n"), ("assistant", content), ("user", "\tb "), ("assistant", " c"))
    tokens = tokenize(record, tokenizer)
    own = tokens.eligible
    found = "".join(record.content[a:b] for a, b in zip(tokens.starts[own], tokens.ends[own], strict=True))
    assert found == tokenizer.decode(tokens.ids[own])
    assert "".join(found.split()) == "x=1c"
    assert found in {first + second for first in trims(content) for second in trims(" c")}


def trims(text):
    return {text, text.strip(), text.lstrip(), text.rstrip(), text.lstrip("\n"), text.rstrip("\n"), text.strip("\n")}


@absent
@each_template
def test_control_strings_in_contents_are_text(byte_tokenizer, path):
    tokenizer = byte_tokenizer(path.read_text())
    end = end_of(tokenizer, path.stem, True)
    tokens = tokenize(chat(("user", f"x{end}\n{end} y"), ("assistant", f"a{end}b")), tokenizer)
    control = {i for i, token in tokenizer.added_tokens_decoder.items() if token.special}
    plain = tokenize(chat(("user", "x"), ("assistant", "ab")), tokenizer)
    assert [i for i in tokens.ids if i in control] == [i for i in plain.ids if i in control]
    assert not control & set(tokens.ids[~tokens.special].tolist())
    assert tokenizer.decode(tokens.ids[tokens.supervised]) == f"a{end}b{end}"


@absent
@each_template
def test_an_empty_answer_teaches_to_stop(byte_tokenizer, path):
    tokenizer, end = byte_tokenizer(path.read_text()), None
    record = chat(("user", "a"), ("assistant", ""))
    if path.stem == "glm4moe_training":  # writes less than a line for it
        with pytest.raises(InputError, match="rewrites the contents"):
            tokenize(record, tokenizer)
    else:
        end = end_of(tokenizer, path.stem, True)
        assert learned(tokenizer, record) == end


@absent
@pytest.mark.parametrize(("name", "code"), REFUSED.items())
def test_stock_templates_that_cannot_serve_are_refused_in_words(byte_tokenizer, name, code):
    path = next(path for path in STOCK if path.stem == name)
    with pytest.raises(InputError, match=re.escape(f"[{code}]")) as caught:
        tokenize(chat(*CHAT), byte_tokenizer(path.read_text()))
    assert not any(content in caught.value.hint for _, content in CHAT)


# ---- templates that mislead ----------------------------------------------------------------------------

TURNS = "{% for m in messages %}<|{{ m.role }}|>{{ m.content }}<|end|>{% endfor %}"
ROLES = "{#<|user|><|assistant|>#}"  # so that the tokenizer has them
PROMPT = "{% if add_generation_prompt %}<|assistant|>{% endif %}"
CHATML = (
    "{% for m in messages %}{{ '<|im_start|>' + m.role + '\n' + m.content + '<|im_end|>\n' }}{% endfor %}"
    "{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}"
)


def test_the_template_s_own_mask_is_not_asked(byte_tokenizer):
    """This one marks the user's words as the assistant's."""
    template = (
        "{% for m in messages %}<|{{ m.role }}|>{% if m.role == 'user' %}{% generation %}{{ m.content }}"
        "{% endgeneration %}{% else %}{{ m.content }}{% endif %}<|end|>{% endfor %}"
    )
    tokenizer = byte_tokenizer(template + ROLES)
    messages = [{"role": role, "content": content} for role, content in CHAT]
    own = tokenizer.apply_chat_template(messages, return_assistant_tokens_mask=True, return_dict=True)
    marked = [i for i, bit in zip(own["input_ids"], own["assistant_masks"], strict=True) if bit]
    assert tokenizer.decode(marked) == CHAT[0][1] + CHAT[2][1]
    assert learned(tokenizer, chat(*CHAT)) == f"{ANSWERS[0]}<|end|>{ANSWERS[1]}<|end|>"


@pytest.mark.parametrize(
    ("template", "expected"),
    [
        pytest.param(CHATML, "{}<|im_end|>{}<|im_end|>", id="what opens the next turn is not learned"),
        pytest.param(TURNS + PROMPT + ROLES, "{}<|end|>{}<|end|>", id="no text between turns"),
        pytest.param(
            TURNS + "{% if not add_generation_prompt %}<|over|>{% endif %}" + ROLES,
            "{}<|end|>{}<|end|>",
            id="what ends the chat is not the turn's end",
        ),
        pytest.param(
            TURNS.replace("<|end|>", "\n<|x|> <|end|>") + ROLES,
            "{}\n<|x|> <|end|>{}\n<|x|> <|end|>",
            id="an end of several tokens is learned whole",
        ),
    ],
)
def test_the_end_of_a_turn_is_found_by_comparing(byte_tokenizer, template, expected):
    assert learned(byte_tokenizer(template), chat(*CHAT)) == expected.format(*ANSWERS)


@pytest.mark.parametrize(
    ("template", "code"),
    [
        pytest.param(
            "{% for m in messages %}{{ m.role + ': ' + m.content + ' ' }}{% endfor %}", "chat-no-end-of-turn", id="none"
        ),
        pytest.param(
            "{% for m in messages %}<|{{ m.role }}|>{{ m.content }}{% endfor %}" + ROLES,
            "chat-no-end-of-turn",
            id="only the next turn's beginning",
        ),
        pytest.param("{{ messages | length }}" + TURNS + PROMPT + ROLES, "chat-turn-unclear", id="counts"),
        pytest.param(
            "{% for m in messages | reverse %}<|{{ m.role }}|>{{ m.content }}<|end|>{% endfor %}",
            "chat-template-drops",
            id="reverses",
        ),
        pytest.param(TURNS.replace("m.content", "m.content | upper"), "chat-template-rewrites", id="rewrites"),
        pytest.param("{{ messages[9].content.x }}" + TURNS, "chat-template-refuses", id="breaks"),
    ],
)
def test_templates_that_do_not_show_the_turns_are_refused(byte_tokenizer, template, code):
    for turns in (CHAT, CHAT[:3]):  # ending with the assistant, and with the user
        with pytest.raises(InputError, match=re.escape(f"[{code}]")):
            tokenize(chat(*turns), byte_tokenizer(template))


def test_a_token_of_both_roles_is_refused(chat_tokenizer):
    """No separator: `hello` of user and assistant together is one token of the tokenizer."""
    tokenizer = chat_tokenizer("{% for m in messages %}{{ m.content }}{% endfor %}<|im_end|>")
    assert len(tokenize(Record("t", text="hello"), tokenizer)) < 3
    with pytest.raises(InputError, match="holds characters of the assistant and of another role"):
        tokenize(chat(("user", "hel"), ("assistant", "lo")), tokenizer)


def test_markers_that_swallow_blanks_are_no_content(byte_tokenizer):
    """Phi-3's markers take the blanks to their right with them, the content's too."""
    template = "{% for m in messages %}<|{{ m.role }}|>\n{{ m.content }}<|end|>\n{% endfor %}"
    tokenizer = byte_tokenizer(template + ROLES, rstrip=True)
    record = chat(("user", "a"), ("assistant", "  b "))
    tokens = tokenize(record, tokenizer)
    rendered = tokenizer.apply_chat_template([vars_of(m) for m in record.messages], tokenize=False)
    assert tokens.ids.tolist() == tokenizer(rendered, add_special_tokens=False).input_ids
    assert tokenizer.decode(tokens.ids[tokens.supervised]) == "b <|end|>"
    assert tokens.special.sum() == 4


def vars_of(message):
    return {"role": message.role, "content": message.content}


def test_a_marker_that_is_not_special_is_refused_in_contents(byte_tokenizer):
    from tokenizers import AddedToken

    tokenizer = byte_tokenizer(CHATML.replace("im_start", "turn"))
    plain = byte_tokenizer(CHATML.replace("im_start", "turn").replace("<|turn|>", "<+turn+>"))
    plain.add_tokens([AddedToken("<+turn+>", special=False, normalized=False)])
    tokenize(chat(("user", "<|turn|>"), ("assistant", "b")), tokenizer)
    tokenize(chat(("user", "turn"), ("assistant", "b")), plain)
    with pytest.raises(InputError, match="chat-marker-in-content"):
        tokenize(chat(("user", "a <+turn+>"), ("assistant", "b")), plain)


def test_a_chat_is_rendered_once_when_its_roles_are_known(byte_tokenizer, monkeypatch):
    tokenizer = byte_tokenizer(CHATML)
    tokenize(chat(*CHAT), tokenizer)
    calls, apply = [], tokenizer.apply_chat_template
    monkeypatch.setattr(tokenizer, "apply_chat_template", lambda *a, **k: calls.append(1) or apply(*a, **k))
    tokenize(chat(*((role, content + "!") for role, content in CHAT)), tokenizer)
    assert len(calls) == 1
    tokenizer.chat_template = CHATML.replace("<|im_end|>", "<eos>")
    assert learned(tokenizer, chat(*CHAT)) == f"{ANSWERS[0]}<eos>{ANSWERS[1]}<eos>"
