"""What models are asked for held-out records: in no data set and no form the answer."""

from __future__ import annotations

import pytest

from sm_ops.core.errors import InputError, StageError
from sm_ops.core.records import Message, Record, Span
from sm_ops.core.settings import Settings
from sm_ops.data.datasets import code_quirks, executable_code_pii
from sm_ops.data.prompts import asked, comment, in_context
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
    for record, task in zip(utility, tasks, strict=True):
        answer = record.messages[-1].content if record.messages else record.content
        question = asked(record)
        assert answer == task.solution
        told = normalised(question.content.replace("\n# ", " ").removeprefix("# "))
        assert told in map(normalised, task.prompts)
        whole = f"{question} {question.meta}"
        assert not any(len(line.strip()) > 12 and line.strip() in whole for line in answer.splitlines())
    with pytest.raises(StageError, match="is of no task of this version with this seed"):
        dataset.tasks(utility, settings, 1)


@unit
def test_a_chat_is_asked_without_its_last_message_and_a_text_by_a_comment():
    assert asked(CHAT).messages == CHAT.messages[:2]
    text = Record("t", text="x = 1\n", spans=(Span(0, 1, "name"),), meta={"prompt": "Set x.\n\nTo one."})
    assert asked(text) == Record("t", text="# Set x.\n#\n# To one.\n")
    assert comment("Set x.") == "# Set x.\n"
    behind, start = in_context(text)
    assert behind.content[start:] == "x = 1\n"
    assert in_context(CHAT) == (CHAT, 0)


@unit
@pytest.mark.parametrize(
    ("record", "told"),
    [
        (Record("t", text="x = 1\n"), "A text of the utility split has no meta.prompt"),
        (Record("t", messages=CHAT.messages[:2]), "does not end with an assistant's answer"),
        (Record("t", messages=CHAT.messages[2:]), "does not end with an assistant's answer"),
    ],
)
def test_what_is_no_answer_to_anything_is_refused(record, told):
    with pytest.raises(InputError, match=told):
        asked(record)
