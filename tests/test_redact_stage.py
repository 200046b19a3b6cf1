"""The stage `redact`: masked and annotated characters are gone, all others are there, and nothing else is released."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from sm_ops.core.config import Pipeline, load_pipeline, resolve
from sm_ops.core.errors import InputError
from sm_ops.core.settings import Settings
from sm_ops.core.stage import Context
from sm_ops.masking import mask_files
from sm_ops.masking.mask_files import MaskRow
from sm_ops.plans import plan
from sm_ops.stages import REDACT
from sm_ops.steps import redact

pytestmark = pytest.mark.unit

RECORDS = [
    {
        "id": "a",
        "group": "person-1",
        "text": "call Mia Lund at 0301 or Mia",
        "spans": [{"start": 5, "end": 13, "label": "name"}, {"start": 17, "end": 21, "label": "phone"}],
        "meta": {"host": "secret.py"},
    },
    {
        "id": "b",
        "messages": [{"role": "user", "content": "I am Mia"}, {"role": "assistant", "content": "Hello Mia, bye"}],
        "spans": [
            {"start": 5, "end": 8, "label": "name", "message": 0},
            {"start": 6, "end": 9, "label": "name", "message": 1},
        ],
    },
    {"id": "c", "text": "nothing at all"},
]
# canonical coordinates; of the chat, the second message begins at 9
MASKED = {"a": [(9, 16), (22, 24)], "b": [(15, 19)], "c": []}


def made(folder: Path, point: str = "SM95") -> dict[str, Path]:
    inputs = {"train": folder / "train.jsonl", "masks": folder / "masks.parquet"}
    inputs["train"].write_text("".join(json.dumps(row) + "\n" for row in RECORDS))
    rows = [MaskRow(id_, point, [s for s, _ in own], [e for _, e in own], [], None) for id_, own in MASKED.items()]
    rows += [MaskRow(id_, "oracle", [0], [3], [], None) for id_ in MASKED]
    mask_files.write(inputs["masks"], rows, {})
    outputs = {output.key: folder / output.name for output in REDACT.outputs}
    redact.run(Settings({"redact": {"point": point}}), Context(inputs, outputs, folder))
    return outputs


def rows(path: Path) -> list[dict]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def test_masks_and_spans_are_united_and_only_ids_and_texts_are_left(tmp_path):
    assert rows(made(tmp_path)["redacted"]) == [
        {"id": "a", "text": "call [MASKED] [MASKED] [MASKED] Mia"},
        {
            "id": "b",
            "messages": [
                {"role": "user", "content": "I am [MASKED]"},
                {"role": "assistant", "content": "Hello [MASKED] bye"},
            ],
        },
        {"id": "c", "text": "nothing at all"},
    ]


def test_places_tell_what_was_removed_of_every_record(tmp_path):
    assert rows(made(tmp_path)["places"]) == [
        {"id": "a", "intervals": [[5, 16], [17, 21], [22, 24]]},
        {"id": "b", "intervals": [[5, 8], [15, 19]]},
        {"id": "c", "intervals": []},
    ]


def test_counts_by_label_and_of_what_the_point_alone_covers(tmp_path):
    def rate(k: int, n: int) -> dict:
        return {"k": k, "n": n, "low": None, "high": None}

    assert json.loads(made(tmp_path)["redaction"].read_text()) == {
        "placeholder": "[MASKED]",
        "point": "SM95",
        "records": 3,
        "changed": 2,
        "intervals": 5,
        "characters": {"removed": 24, "all": 65},
        "spans": rate(4, 4),
        "by_label": {"name": rate(3, 3), "phone": rate(1, 1)},
        "spans_by_point": rate(1, 4),
    }


def test_the_text_is_public_and_the_places_are_restricted():
    assert {output.name: output.cls for output in REDACT.outputs} == {
        "redacted.jsonl": "public",
        "redaction.json": "internal",
        "places.jsonl": "restricted",
    }


@pytest.mark.parametrize(("settings", "point"), [({}, "SM95"), ({"redact": {"target": 0.7}}, "SM70")])
def test_the_highest_operating_point_redacts_unless_another_is_named(settings, point):
    (step,) = [step for step in plan(resolve(Pipeline(**settings))) if step.stage.name == "redact"]
    assert step.settings == {"redact": {"point": point}}
    assert step.inputs == {"train": ("synthesize", "train.jsonl"), "masks": ("mask", "masks.parquet")}


def test_a_point_that_is_not_calibrated_is_refused():
    with pytest.raises(InputError, match=r"redact\.target 0\.6 is not among masking.targets"):
        load_pipeline("tiny", ["redact.target=0.6"])


def test_what_is_released_and_how_it_is_told_is_no_identity_of_a_step():
    plain, building = (plan(resolve(load_pipeline("tiny", [f"release.build={build}"]))) for build in ("false", "true"))
    assert plain == building


def test_a_release_that_is_to_be_built_has_to_be_described():
    with pytest.raises(InputError, match="build needs about"):
        load_pipeline("tiny", ["release.build=true", "release.about=null"])
