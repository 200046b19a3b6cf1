"""What models are asked for held-out records: in no data set and no form the answer."""

from __future__ import annotations

import pytest

from sm_ops.core.errors import InputError, StageError
from sm_ops.core.records import Message, Record, Span
from sm_ops.core.settings import Settings
from sm_ops.data.datasets import code_quirks, executable_code_pii
from sm_ops.data.prompts import are_answers, asked, comment, in_context
from sm_ops.data.tasks import normalised

unit = pytest.mark.unit

SETTINGS = {
    "hosts": None, "scale": None, "identities": 1, "repetitions": 4, "clean": 0, "calibration_identities": 0,
    "calibration_repetitions": 4, "calibration_clean": 0, "utility": 4, "reference": 0, "families": [],
    "solution_chars": None, "implementations": 0,
}  # fmt: skip
CHAT = Record(
    "c", messages=(Message("system", "Be brief."), Message("user", "Add."), Message("assistant", "return a + b"))
)


@pytest.mark.parametrize("dataset", [code_quirks, executable_code_pii])
@pytest.mark.parametrize("form", ["chat", "text"])
def test_prompts_hold_no_answer_and_ask_for_the_task(dataset, form):
    settings = Settings({**SETTINGS, "form": form})
    utility = dataset.generate(settings, 0).splits["utility"]
    tasks = dataset.tasks(utility, settings, 0)
    assert len(utility) == (8 if (form, dataset) == ("chat", executable_code_pii) else 4)
    for record, task, question in zip(utility, tasks, asked(utility), strict=True):
        answer = record.messages[-1].content if record.messages else record.content
        assert answer == task.solution
        told = normalised(question.content.replace("\n# ", " ").removeprefix("# "))
        assert told in map(normalised, task.prompts)
        whole = f"{question} {question.meta}"
        assert not any(len(line.strip()) > 12 and line.strip() in whole for line in answer.splitlines())
    with pytest.raises(StageError, match="is of no task of this version with this seed"):
        dataset.tasks(utility, settings, 1)


@unit
def test_a_chat_is_asked_without_its_last_message_and_a_text_by_a_comment():
    text = Record("t", text="x = 1\n", spans=(Span(0, 1, "name"),), meta={"prompt": "Set x.\n\nTo one."})
    chat, commented = asked([CHAT, text])
    assert chat.messages == CHAT.messages[:2]
    assert commented == Record("t", text="# Set x.\n#\n# To one.\n")
    assert comment("Set x.") == "# Set x.\n"
    (behind, start), unchanged = in_context([text, CHAT])
    assert behind.content[start:] == "x = 1\n"
    assert unchanged == (CHAT, 0)
    assert are_answers([text, CHAT])


@unit
@pytest.mark.parametrize("meta", [{}, {"prompt": None}, {"prompt": ""}, {"prompt": " \n"}])
def test_an_empty_prompt_is_none(meta):
    text = Record("t", text="x = 1\n", meta=meta)
    assert in_context([text]) == [(text, 0)]
    assert not are_answers([CHAT, text])
    with pytest.raises(InputError, match="Record 1 of the split utility asks nothing"):
        asked([CHAT, text])


@unit
@pytest.mark.parametrize("prompt", [7, 0, False, ["Jane Doe"], {"Jane": "Doe"}])
@pytest.mark.parametrize("use", [asked, in_context, are_answers])
def test_a_prompt_that_is_no_string_is_refused_by_its_place_and_not_named(use, prompt):
    records = [CHAT, Record("t", text="x = 1\n", meta={"prompt": prompt})]
    with pytest.raises(InputError) as told:
        use(records)
    assert told.value.hint == (
        "Record 1 of the split utility, field prompt: must be a string; correct it, or give the field another name "
        "where it is no prompt."
    )
    chat = Record("c", messages=CHAT.messages, meta={"prompt": prompt})  # which is asked by its messages
    assert in_context([chat]) == [(chat, 0)]


@unit
@pytest.mark.parametrize(
    "messages", [pytest.param(CHAT.messages[:2], id="no answer"), pytest.param(CHAT.messages[2:], id="to nothing")]
)
def test_a_chat_that_is_no_answer_to_anything_is_refused(messages):
    with pytest.raises(InputError, match="Record 1 of the split utility is a chat that does not end with an assistant"):
        asked([CHAT, Record("t", messages=messages)])
