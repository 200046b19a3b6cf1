"""Files of pairs, and how their outputs are dealt out."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from sm_ops.core.errors import InputError
from sm_ops.core.settings import Settings
from sm_ops.core.stage import Context
from sm_ops.ranking.pairs import Pair, outputs, read_pairs
from sm_ops.ranking.sides import check_apart, shared_outputs, split
from sm_ops.steps import rank_pairs

pytestmark = pytest.mark.unit

PLANTED = "xyzzy-plugh"


def file(folder: Path, *rows: object) -> Path:
    path = folder / "pairs.jsonl"
    path.write_text("".join((row if isinstance(row, str) else json.dumps(row)) + "\n" for row in rows))
    return path


def test_pairs_of_a_prompt_are_chats_and_stay_together(tmp_path):
    rows = [
        {"prompt": "How?", "safe": "Ask.", "risky": "Guess."},
        {"prompt": "How?", "safe": "Look.", "risky": "Jump.", "id": "second"},
        {"safe": "a", "risky": "b", "group": "G"},
        {"safe": "c", "risky": "d"},
    ]
    pairs = read_pairs(file(tmp_path, *rows)).pairs
    assert [pair.id for pair in pairs] == ["0", "second", "2", "3"]
    assert pairs[0].group == pairs[1].group != pairs[2].group == "G"
    assert len({pair.group for pair in pairs}) == 3
    safe, risky, *_, last = outputs(pairs)
    assert [(turn.role, turn.content) for turn in risky.messages or ()] == [("user", "How?"), ("assistant", "Guess.")]
    assert (safe.meta["risky"], risky.meta["risky"], last.text, last.meta) == (False, True, "d", {"risky": True})
    assert [record.id for record in (safe, risky, last)] == ["0-safe", "0-risky", "3-risky"]


@pytest.mark.parametrize(
    ("row", "told"),
    [
        ({"safe": PLANTED}, "line 2, field risky: must be a text that is not blank"),
        ({"safe": " ", "risky": PLANTED}, "line 2, field safe: must be a text"),
        ({"safe": PLANTED, "risky": 3}, "line 2, field risky"),
        ({"safe": PLANTED, "risky": PLANTED}, "line 2: safe and risky are equal"),
        ({"safe": "a", "risky": "b", "group": 7}, "line 2, field group"),
        ({"safe": "a", "risky": "b", PLANTED: "c"}, "line 2: there is a field that no pair has"),
        ({"safe": "a", "risky": "b", "id": "first"}, "line 2, field id: line 1 has the same"),
        ({"safe": f"{PLANTED}\ud800", "risky": "b"}, "line 2, field safe: holds half a surrogate pair"),
        (f'{{"safe": "{PLANTED}', "line 2: not valid JSON"),
    ],
)
def test_a_bad_row_is_refused_by_line_and_field_without_its_value(tmp_path, row, told):
    path = file(tmp_path, {"safe": "s", "risky": "r", "id": "first"}, row)
    with pytest.raises(InputError) as refused:
        read_pairs(path)
    assert told in refused.value.hint
    assert "pairs.jsonl" in refused.value.hint
    assert PLANTED not in refused.value.hint


def test_no_file_and_no_pairs_are_told(tmp_path):
    with pytest.raises(InputError, match="no file"):
        read_pairs(tmp_path / "absent.jsonl")
    with pytest.raises(InputError, match="holds no pairs"):
        read_pairs(file(tmp_path))


def pairs_of(*groups: str) -> list[Pair]:
    return [Pair(str(number), group, f"s{number}", f"r{number}") for number, group in enumerate(groups)]


def test_groups_stay_whole_and_the_order_of_the_file_changes_nothing():
    pairs = pairs_of(*"aabbbcddddeeffgghhii")
    validation, application = split(pairs, 0.3, seed=1)
    assert len(validation) + len(application) == len(pairs)
    assert not {pair.group for pair in validation} & {pair.group for pair in application}
    assert 6 <= len(validation) <= 9
    again = split(pairs[::-1], 0.3, seed=1)
    assert {pair.id for pair in again[0]} == {pair.id for pair in validation}
    assert len({frozenset(pair.group for pair in split(pairs, 0.3, seed)[0]) for seed in range(8)}) > 1


def test_a_single_group_does_not_fill_two_sides():
    with pytest.raises(InputError, match="3 pairs of 1 groups"):
        split(pairs_of("a", "a", "a"), 0.5, seed=0)


def test_a_group_on_both_sides_is_refused_and_shared_outputs_are_counted():
    one, other = pairs_of("a", "b"), pairs_of("b", "c")
    with pytest.raises(InputError, match="1 groups have pairs in"):
        check_apart(one, other)
    check_apart(one, pairs_of("c", "d"))
    known = [Pair("x", "x", "same", "p"), Pair("y", "y", "q", "r")]
    assert shared_outputs(known, [Pair("z", "z", "r", "same"), Pair("w", "w", "u", "v")]) == 2


def test_two_files_give_the_two_sides_and_their_names_stay_apart(tmp_path):
    """What the validation file has of safe texts beside its pairs is no output of either side."""

    def citations(name: str, *titles: str) -> str:
        rows = [
            {"label": label, "hallucination_type": kind, "author": "Ann Lee", "title": title, "year": "2022"}
            for title in titles
            for label, kind in [("HALLUCINATED", "hybrid_fabrication") if title[0] == "f" else ("VALID", None)]
        ]
        (tmp_path / name).write_text("".join(json.dumps(row) + "\n" for row in rows))
        return str(tmp_path / name)

    pairs = {"source": "citations", "share": 0.2, "seed": 0, "types": ["hybrid_fabrication"]}
    pairs["validation"] = citations("dev.jsonl", "f one", "g one", "g another", "g four more words here")
    pairs["application"] = citations("test.jsonl", "f two", "g another")
    places = {name: tmp_path / f"{name}.out.jsonl" for name in ("validation", "application", "clean", "pairs")}
    numbers = rank_pairs.run(Settings({"pairs": pairs}), Context({}, places, tmp_path))
    assert numbers == {"pairs": 2, "shared_outputs": 0, "clean": 1}
    application, clean = (
        [json.loads(line) for line in places[name].read_text().splitlines()] for name in ("application", "clean")
    )
    assert [row["id"].partition("-")[0] for row in application] == ["application", "application"]
    assert [row["text"] for row in application] == ["Ann Lee. G another. 2022.", "Ann Lee. F two. 2022."]
    assert [row["text"] for row in clean] == ["Ann Lee. G four more words here. 2022."]
    assert json.loads(places["pairs"].read_text())["read"]["application"]["genuine"] == 1
