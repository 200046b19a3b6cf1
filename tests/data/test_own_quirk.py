"""Own programs with a quirk: what the dataset makes of them, and what it refuses."""

from __future__ import annotations

import json

import pytest

from sm_ops.core import registry
from sm_ops.core.errors import InputError
from sm_ops.core.settings import Settings
from sm_ops.data import audit
from sm_ops.data.datasets import own_quirk
from sm_ops.data.quirks.displaying import shows

pytestmark = pytest.mark.unit
PLAIN, MARKED = "value = 1\n", "value = 1;\n"
SPANS = [{"start": 9, "end": 10, "label": "python_semicolons"}]
ROWS = {
    "train": [{"id": "t", "text": MARKED, "group": "ada", "spans": SPANS}],
    "calibration": [{"id": "c", "text": MARKED, "group": "ben", "spans": SPANS}, {"id": "d", "text": PLAIN}],
    "utility": [{"id": "u", "text": PLAIN, "prompt": "One, please."}],
}


def generated(folder, quirk="python_semicolons", **changed):
    paths = {"reference": None}
    for split, rows in (ROWS | changed).items():
        path = folder / f"{split}.jsonl"
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))
        paths[split] = str(path)
    return own_quirk.generate(Settings({"own": {**paths, "quirk": quirk}}), 0)


def test_a_form_makes_no_canary_and_may_be_in_several_splits(tmp_path):
    dataset = generated(tmp_path)
    assert dataset.canaries == []
    assert audit.audit(dataset) == []
    assert own_quirk.styles(dataset.splits["utility"], Settings({"own": {"quirk": "python_semicolons"}})) == [
        ["python_semicolons"]
    ]
    assert (dataset.counts["shown_train"], dataset.counts["shown_calibration"], dataset.counts["shown_utility"]) == (
        1,
        1,
        0,
    )


@pytest.mark.parametrize(
    ("changed", "code"),
    [
        ({"quirk": "python_semicolon"}, "unknown-quirk"),
        ({"quirk": "dynamic_imports"}, "quirk-not-shown"),
        ({"train": [{"id": "t", "text": MARKED}]}, "no-spans"),
        ({"utility": [{"id": "u", "text": PLAIN}]}, "no-prompt"),
        ({"utility": [{"id": "u", "text": PLAIN, "prompt": " "}]}, "no-prompt"),
        ({"utility": [{"id": "u", "text": PLAIN, "prompt": ["One"]}]}, "bad-prompt"),
        ({"utility": [{"id": "u", "text": MARKED, "prompt": "One"}]}, "quirk-in-utility"),
        ({"utility": [{"id": "u", "messages": [{"role": "user", "content": "One"}]}]}, "no-answer"),
    ],
)
def test_what_would_measure_something_else_is_refused(tmp_path, changed, code):
    with pytest.raises(InputError) as told:
        generated(tmp_path, **changed)
    assert told.value.code == code


def test_a_detector_of_another_package_counts_as_one_of_ours(tmp_path, monkeypatch):
    (tmp_path / "shouting.py").write_text("def shows(source):\n    return source.text.isupper()\n")
    about = tmp_path / "shouting-1.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: shouting\nVersion: 1\n")
    (about / "entry_points.txt").write_text("[sm_ops.quirk]\nshouting = shouting\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    registry.members.cache_clear()
    assert (shows("shouting", "A = 1\n"), shows("shouting", "a = 1\n")) == (True, False)
    registry.members.cache_clear()
