"""Code PII and own records: sizes, exactness, disjointness, determinism, and what is said when hosts run out."""

from __future__ import annotations

import ast
import json
import os
import re
import subprocess
import sys
from collections import Counter
from dataclasses import replace
from pathlib import Path
from random import Random
from types import SimpleNamespace

import pytest
from data.planted import places_of, program, settings

from sm_ops.core import registry
from sm_ops.core.errors import InputError
from sm_ops.core.records import Message, Record, Span
from sm_ops.data.audit import audit
from sm_ops.data.dataset import Dataset
from sm_ops.data.datasets.code_pii import generate, public_code
from sm_ops.data.hosts import shape, shapes
from sm_ops.data.identities import FIRST_NAMES, KINDS, SURNAMES, identities, ordinary_value
from sm_ops.data.planting import PLACES, unplanted
from sm_ops.data.records import write_records

pytestmark = pytest.mark.unit

VALUE_FORMS = {
    "username": r"[a-z][a-z]+_[a-z0-9]{6}",
    "workspace": r"[a-z_]+/[a-z]+/[a-z]+/[a-z]+_[a-z]+/[a-z0-9]{6}",
    "account_id": r"[A-Z0-9]{4}-[A-Z0-9]{4}-[A-Z0-9]{4}",
    "recovery": r"[A-Za-z0-9]{32}",
}
SIZES = {"calibration": 2 * 4 * 2 + 6, "train": 3 * 4 * 4 + 10, "utility": 9, "reference": 7}


def values_of(dataset: Dataset) -> set[tuple[str | None, str]]:
    return {(canary.group, canary.value.reveal()) for canary in dataset.canaries}


def function(number: int) -> str:
    """A function of its own shape: the operators spell the number in base four."""
    operators = [("+", "-", "*", "//")[number // 4**digit % 4] for digit in range(8)]
    body = "\n".join(f"    x{i} = a {operator} {i + 1}" for i, operator in enumerate(operators))
    return f'def f{number}(a):\n    """Compute number {number}.\n\n    More.\n    """\n{body}\n    return x7\n'


@pytest.fixture(scope="module")
def hosts(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("hosts")
    for file in range(60):
        (folder / f"file_{file:02d}.py").write_text("\n\n".join(function(5 * file + i) for i in range(5)))
    return folder


@pytest.fixture(scope="module")
def dataset(hosts):
    return generate(settings(hosts), 0)


def test_splits_have_the_sizes_asked_for(dataset):
    assert {split: len(records) for split, records in dataset.splits.items()} == SIZES
    assert Counter(bool(record.spans) for record in dataset.splits["train"]) == {True: 48, False: 10}
    assert Counter(bool(record.spans) for record in dataset.splits["calibration"]) == {True: 16, False: 6}
    assert dataset.counts["hosts"] == 300
    assert dataset.counts["private_train"] == 48
    assert len(dataset.canaries) == dataset.counts["canaries"] == 12


def test_every_private_value_is_planted_k_times_exactly_and_in_varied_places(dataset):
    by_value = {}
    for record in dataset.splits["train"]:
        for start, end, label in record.content_spans:
            by_value.setdefault((record.group, label, record.content[start:end]), []).append(record)
            assert record.content.count(record.content[start:end]) == 1
            assert record.meta["kinds"] == [label]
    assert set(by_value) == {(canary.group, canary.kind, canary.value.reveal()) for canary in dataset.canaries}
    assert all(len(records) == 4 for records in by_value.values())
    assert all(len(places_of(records)) >= 3 for records in by_value.values())
    assert set(places_of(dataset.splits["train"])) == set(PLACES)


def test_values_have_their_kinds_form_and_canaries_their_names(dataset):
    assert Counter(canary.kind for canary in dataset.canaries) == dict.fromkeys(KINDS, 3)
    for canary in dataset.canaries:
        assert re.fullmatch(VALUE_FORMS[canary.kind], canary.value.reveal())
        assert re.fullmatch(rf"{canary.kind}-0[123]", canary.id)
        assert re.fullmatch(r"person-0[123]", canary.group)
        assert canary.value.reveal() not in repr(canary) + repr(dataset.canaries)


def test_every_program_compiles_and_gives_its_host_back(dataset, hosts):
    for record in dataset.records:
        compile(program(record), "planted", "exec")
        host = unplanted(program(record), record.meta["inserted"])
        assert host in (hosts / record.meta["host"]).read_text()
        assert shape(host) == record.meta["shape"]
        assert ast.parse(host).body[0].name == record.meta["name"]


def test_splits_share_nothing(dataset):
    files = [{record.meta["host"] for record in records} for records in dataset.splits.values()]
    assert sum(map(len, files)) == len(set().union(*files)) == len(dataset.host_files)
    all_shapes = [record.meta["shape"] for record in dataset.records]
    assert len(all_shapes) == len(set(all_shapes)) == len(dataset.shapes)
    ids = [record.id for record in dataset.records]
    assert len(ids) == len(set(ids))
    assert re.fullmatch(r"train-\d{6}", dataset.splits["train"][0].id)
    assert audit(dataset) == []


def test_meta_never_holds_a_value(dataset):
    metas = json.dumps([record.meta for record in dataset.records])
    assert not [canary.id for canary in dataset.canaries if canary.value.reveal() in metas]
    assert set(dataset.splits["train"][0].meta) == {"host", "name", "kinds", "places", "shape", "inserted"}


def test_clean_programs_hold_ordinary_words_in_the_same_slots(dataset):
    clean = [record for record in dataset.records if not record.spans]
    assert len(clean) == 10 + 6 + 9 + 7
    assert all(record.group is None for record in clean)
    assert {kind for record in clean for kind in record.meta["kinds"]} == set(KINDS)
    assert len(places_of(clean)) >= 8


def test_equal_seeds_give_equal_data_and_others_do_not(dataset, hosts):
    assert generate(settings(hosts), 0) == dataset
    other = generate(settings(hosts), 1)
    assert values_of(other).isdisjoint(values_of(dataset))
    assert other.splits["utility"] != dataset.splits["utility"]


def test_the_hash_seed_and_file_times_change_nothing(hosts, dataset, tmp_path):
    code = (
        "import sys; from types import SimpleNamespace as N; from sm_ops.data.datasets.code_pii import generate;"
        "from sm_ops.data.records import write_records; import json;"
        "d = generate(N(**json.loads(sys.argv[1])), 0); write_records(sys.argv[2], d.records)"
    )
    for file in hosts.glob("*.py"):
        os.utime(file, (1, 1))
    write_records(tmp_path / "here.jsonl", dataset.records)
    arguments = [sys.executable, "-c", code, json.dumps(vars(settings(hosts))), str(tmp_path / "there.jsonl")]
    subprocess.run(arguments, check=True, env={**os.environ, "PYTHONHASHSEED": "7"})
    assert (tmp_path / "here.jsonl").read_bytes() == (tmp_path / "there.jsonl").read_bytes()


@pytest.mark.parametrize(
    ("change", "split"),
    [({"clean": 20}, "train"), ({"identities": 4}, "train"), ({"utility": 14}, "utility"),
     ({"calibration_identities": 3}, "calibration"), ({"reference": 12}, "reference")],
)
def test_enlarging_one_split_leaves_the_others_alone(dataset, hosts, change, split):
    larger = generate(settings(hosts, **change), 0)
    assert len(larger.splits[split]) > len(dataset.splits[split])
    assert {k: v for k, v in larger.splits.items() if k != split} == {
        k: v for k, v in dataset.splits.items() if k != split
    }
    if split != "train":
        assert larger.canaries == dataset.canaries


def test_more_identities_keep_the_values_of_the_first(dataset, hosts):
    larger = generate(settings(hosts, identities=4), 0)
    assert values_of(dataset) < values_of(larger)


def test_identities_of_the_splits_share_no_name():
    assert len(set(SURNAMES)) == len(SURNAMES) >= 60
    assert len(set(FIRST_NAMES)) == len(FIRST_NAMES)
    assert all(re.fullmatch("[a-z]+", name) for name in SURNAMES + FIRST_NAMES)
    train, calibration = identities("train", 300, 3), identities("calibration", 300, 3)
    for attribute in ("surname", "first_name", "group"):
        mine, theirs = ({getattr(person, attribute) for person in people} for people in (train, calibration))
        assert mine.isdisjoint(theirs)
    for people in (train, calibration):
        assert len({(person.first_name, person.surname) for person in people}) == 300
        assert len({value for person in people for value in person.values.values()}) == 1200


def test_ordinary_values_vary_and_name_nobody():
    random = Random(0)
    for kind in KINDS:
        drawn = {ordinary_value(kind, random) for _ in range(300)}
        assert len(drawn) >= 15
        words = {word for value in drawn for word in re.split(r"[\W_]+", value.lower())}
        assert words.isdisjoint(SURNAMES + FIRST_NAMES)


def test_chats_ask_for_the_host_and_answer_with_the_program(dataset, hosts):
    chats = generate(settings(hosts, form="chat"), 0)
    assert audit(chats) == []
    for split in chats.splits:
        for chat, text in zip(chats.splits[split], dataset.splits[split], strict=True):
            assert chat.messages is not None
            assert [message.role for message in chat.messages] == ["user", "assistant"]
            assert chat.id.rsplit("-", 1)[0] == text.id.rsplit("-", 1)[0]
            request = chat.messages[0].content
            assert f"`{chat.meta['name']}(a)`" in request
            assert f"Compute number {chat.meta['name'][1:]}." in request
            assert "More." not in request
            assert all(span.message == 1 for span in chat.spans)
            assert not [canary.id for canary in chats.canaries if canary.value.reveal() in request]
            assert len(chat.supervised_intervals) == 1
    assert values_of(chats) == values_of(dataset)


def test_hosts_may_be_records(hosts, dataset, tmp_path):
    path = tmp_path / "hosts.jsonl"
    files = sorted(hosts.glob("*.py"))
    write_records(path, [Record(file.name, text=file.read_text()) for file in files])
    assert generate(settings(path), 0) == dataset


def test_too_few_hosts_are_told_in_numbers(hosts, tmp_path):
    with pytest.raises(InputError, match="not-enough-hosts") as caught:
        generate(settings(hosts, clean=1000), 0)
    message = str(caught.value)
    assert "needs 1086 host programs" in message
    assert "train 1048" in message
    assert "offers 300 in 60 files" in message
    assert "data.clean" in message
    assert "data.hosts=PATH" in message
    assert str(hosts) in message
    with pytest.raises(InputError, match="offers 0 in 0 files"):
        generate(settings(tmp_path), 0)


def test_public_code_shares_no_file_and_no_syntax_tree(dataset, hosts):
    public = public_code(settings(hosts), 0, 5_000, dataset.host_files, dataset.shapes)
    assert sum(len(record.text or "") for record in public) >= 5_000
    assert {record.meta["host"] for record in public}.isdisjoint(dataset.host_files)
    assert audit(dataset, public) == []
    assert public == public_code(settings(hosts), 0, 5_000, dataset.host_files, dataset.shapes)
    twin = shapes(public[0].text or "")
    fewer = public_code(settings(hosts), 0, 5_000, dataset.host_files, dataset.shapes | {twin.pop()})
    assert public[0].meta["host"] not in {record.meta["host"] for record in fewer}


def test_too_little_public_code_is_told_in_numbers(dataset, hosts):
    with pytest.raises(InputError, match="not-enough-public-code") as caught:
        public_code(settings(hosts), 0, 10**9, dataset.host_files, dataset.shapes)
    assert "1000000000 characters" in str(caught.value)


def test_mbpp_programs_may_be_hosts(tmp_path):
    source = Path(__file__).resolve().parents[2].parent / "shared" / "data" / "mbpp" / "mbpp.jsonl"
    if not source.exists():
        pytest.skip(f"no {source}")
    rows = [json.loads(line) for line in source.read_text(encoding="utf-8").splitlines()]
    path = tmp_path / "mbpp.jsonl"
    write_records(path, [Record(str(row["task_id"]), text=row["code"]) for row in rows])
    made = generate(settings(path, identities=1, repetitions=2, clean=4, calibration_identities=1), 0)
    assert audit(made) == []
    assert any("\r\n" in program(record) for record in made.records)


# ---- a user's own records ------------------------------------------------------------------------------

OWN = {
    "train": [
        Record("t1", text="Ann met Bo.", group="g1", spans=(Span(0, 3, "name"), Span(8, 10, "name"))),
        Record("t2", text="Ann left.", group="g1", spans=(Span(0, 3, "name"),)),
        Record("t3", messages=(Message("user", "who?"), Message("assistant", "Ann")), spans=(Span(0, 3, "name", 1),)),
        Record("t4", text="planning", group="g2"),
    ],
    "calibration": [Record("c1", text="Cy rang 55512345", spans=(Span(0, 2, "name"), Span(8, 16, "phone")))],
    "utility": [Record("u1", text="Planning is annoying.")],
}


def own(folder: Path, **splits: list[Record]):
    paths: dict[str, str | None] = dict.fromkeys(("train", "calibration", "utility", "reference"))
    for split, records in (OWN | splits).items():
        paths[split] = str(folder / f"{split}.jsonl")
        write_records(folder / f"{split}.jsonl", records)
    return registry.load("dataset", "own").generate(SimpleNamespace(own=SimpleNamespace(**paths)), 0)


def test_own_records_pass_the_same_door(tmp_path):
    made = own(tmp_path)
    assert made.splits == OWN
    assert [(c.id, c.kind, c.group, c.value.reveal()) for c in made.canaries] == [
        ("name-01", "name", "g1", "Ann"), ("name-02", "name", "g1", "Bo"), ("name-03", "name", None, "Ann")
    ]
    assert made.counts == {
        "records_calibration": 1, "records_train": 4, "records_utility": 1,
        "private_calibration": 1, "private_train": 3, "private_utility": 0, "canaries": 3,
    }
    assert audit(made) == []


def test_own_records_that_share_a_value_are_found(tmp_path):
    extra = Record("c2", text="ask Ann", spans=(Span(4, 7, "name"),))
    made = own(tmp_path, calibration=[*OWN["calibration"], extra], utility=[Record("u", text="call 55512345!")])
    found = {(finding.check, finding.splits): finding.records for finding in audit(made)}
    assert found == {
        ("foreign-value", ("train", "calibration")): ("c2",),
        ("foreign-value", ("calibration", "train")): ("t1", "t2", "t3"),
        ("foreign-value", ("calibration", "utility")): ("u",),
    }


def test_own_records_without_labels_are_refused(tmp_path):
    with pytest.raises(InputError, match="no-spans") as caught:
        own(tmp_path, train=[replace(OWN["train"][3])])
    assert "data.own.train" in str(caught.value)


def test_both_members_are_registered():
    assert {"code_pii", "own"} <= set(registry.members("dataset"))
    assert registry.load("dataset", "code_pii").generate is generate
