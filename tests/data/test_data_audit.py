"""The audit: every property, broken on purpose, is found, and named without a value."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

import pytest

from sm_ops.core.records import Message, Record, Span
from sm_ops.core.sensitive import Sensitive
from sm_ops.data.audit import CHECKS, Finding, audit
from sm_ops.data.dataset import Canary, Dataset
from sm_ops.data.hosts import shape
from sm_ops.data.planting import unplanted

pytestmark = pytest.mark.unit

ONE, TWO = "afarrell_x7k2m9", "AB12-CD34-EF56"
THREE = "mkowalski_p0q1r2"


def body(operator: str) -> str:
    return "def f(a):\n" + "".join(f"    x{i} = a {operator} {i}\n" for i in range(9))


def program(identity: str, operator: str, file: str, value: str = "guest", kind: str = "", group: str | None = None):
    host = body(operator)
    text = f'user = "{value}"\n{host}'
    spans = (Span(8, 8 + len(value), kind),) if kind else ()
    meta = {"host": file, "shape": shape(host), "inserted": [[0, len(text) - len(host)]]}
    return Record(identity, text=text, group=group, spans=spans, meta=meta)


def healthy() -> SimpleNamespace:
    splits = {
        "calibration": [program("c0", "+", "c.py", THREE, "username", "other-01"), program("c1", "-", "c.py")],
        "train": [
            program("t0", "*", "t.py", ONE, "username", "person-01"),
            program("t1", "/", "t.py", ONE, "username", "person-01"),
            program("t2", "%", "t2.py", TWO, "account_id", "person-01"),
            program("t3", "&", "t2.py"),
        ],
        "utility": [program("u0", "|", "u.py")],
        "reference": [program("r0", "^", "r.py")],
    }
    canaries = [
        Canary("username-01", "username", "person-01", Sensitive(ONE)),
        Canary("account_id-01", "account_id", "person-01", Sensitive(TWO)),
    ]
    return SimpleNamespace(
        splits=splits, canaries=canaries, public=[Record("p0", text=f"x = 1\n{body('**')}", meta={"host": "p.py"})]
    )


def findings(data: SimpleNamespace) -> list[Finding]:
    return audit(Dataset(data.splits, data.canaries, {}), data.public)


def change(records: list[Record], index: int, **fields: object) -> None:
    records[index] = replace(records[index], **fields)  # type: ignore[arg-type]


def remeta(records: list[Record], index: int, **fields: object) -> None:
    change(records, index, meta=records[index].meta | fields)


def append(records: list[Record], index: int, line: str) -> None:
    """Put a line behind the planting, inside the inserted interval, so that the host stays what it is."""
    record = records[index]
    end = record.meta["inserted"][-1][1]
    change(records, index, text=f"{record.text[:end]}{line}\n{record.text[end:]}",  # type: ignore[index]
           meta=record.meta | {"inserted": [[0, end + len(line) + 1]]})


def test_healthy_data_has_no_findings():
    assert findings(healthy()) == []


def duplicate_id(data):
    change(data.splits["utility"], 0, id="t0")


def duplicate_public_id(data):
    change(data.public, 0, id="c1")


def span_in_utility(data):
    change(data.splits["utility"], 0, spans=(Span(8, 13, "username"),))


def group_in_reference(data):
    change(data.splits["reference"], 0, group="person-01")


def group_in_public(data):
    change(data.public, 0, group="someone")


def span_too_short(data):
    change(data.splits["train"], 0, spans=(Span(8, 7 + len(ONE), "username"),))


def span_too_long(data):
    change(data.splits["train"], 1, spans=(Span(8, 9 + len(ONE), "username"),))


def wrong_label(data):
    change(data.splits["train"], 0, spans=(Span(8, 8 + len(ONE), "account_id"),))


def short_calibration_span(data):
    change(data.splits["calibration"], 0, spans=(Span(9, 8 + len(THREE), "username"),))


def label_removed(data):
    change(data.splits["train"], 0, spans=())


def value_twice(data):
    append(data.splits["train"], 0, f"# {ONE}")


def value_in_clean_program(data):
    append(data.splits["train"], 3, f"# {TWO}")


def canary_never_planted(data):
    data.canaries.append(Canary("recovery-01", "recovery", "person-01", Sensitive("R" * 32)))


def train_value_in_calibration(data):
    append(data.splits["calibration"], 1, f"# {ONE}")


def train_value_in_utility(data):
    append(data.splits["utility"], 0, f"# see_{TWO}x")


def calibration_value_in_train(data):
    append(data.splits["train"], 3, f"# {THREE}")


def value_in_public(data):
    change(data.public, 0, text=f"# {TWO}\n{data.public[0].text}")


def same_group(data):
    change(data.splits["calibration"], 0, group="person-01")


def same_person_by_another_group(data):
    value = f"{ONE[:8]}_zzzzzz"
    data.splits["calibration"][0] = program("c0", "+", "c.py", value, "username", "other-01")


def same_file(data):
    remeta(data.splits["utility"], 0, host="t.py")


def same_file_as_public(data):
    remeta(data.public, 0, host="r.py")


def same_tree(data):
    data.splits["utility"][0] = program("u0", "*", "u.py")


def same_tree_under_a_false_shape(data):
    data.splits["utility"][0] = program("u0", "*", "u.py")
    remeta(data.splits["utility"], 0, shape="0" * 64)


def same_tree_in_public(data):
    change(data.public, 0, text="class C:\n" + "".join(f"    {line}\n" for line in body("+").splitlines()))


def host_used_twice(data):
    data.splits["train"][1] = program("t1", "*", "t.py", ONE, "username", "person-01")


def false_shape(data):
    remeta(data.splits["train"], 2, shape="0" * 64)


def false_interval(data):
    remeta(data.splits["train"], 2, inserted=[[0, 3]])


def no_interval(data):
    record = data.splits["train"][3]
    change(data.splits["train"], 3, meta={key: record.meta[key] for key in ("host", "shape")})


def broken_program(data):
    append(data.splits["train"], 3, "def (:")


def broken_public_code(data):
    change(data.public, 0, text="return 1\n")


T, C, U, R, P = "train", "calibration", "utility", "reference", "public"
BROKEN = [
    (duplicate_id, "duplicate-id", (T, U), ("t0",)),
    (duplicate_public_id, "duplicate-id", (C, P), ("c1",)),
    (span_in_utility, "private-in-clean-split", (U,), ("u0",)),
    (group_in_reference, "private-in-clean-split", (R,), ("r0",)),
    (group_in_public, "private-in-clean-split", (P,), ("p0",)),
    (span_too_short, "inexact-span", (T,), ("t0",)),
    (span_too_long, "inexact-span", (T,), ("t1",)),
    (wrong_label, "inexact-span", (T,), ("t0",)),
    (short_calibration_span, "inexact-span", (C,), ("c0",)),
    (label_removed, "unlabelled-value", (T,), ("t0",)),
    (value_twice, "unlabelled-value", (T,), ("t0",)),
    (value_in_clean_program, "unlabelled-value", (T,), ("t3",)),
    (canary_never_planted, "unplanted-canary", (T,), ("recovery-01",)),
    (train_value_in_calibration, "foreign-value", (T, C), ("c1",)),
    (train_value_in_utility, "foreign-value", (T, U), ("u0",)),
    (calibration_value_in_train, "foreign-value", (C, T), ("t3",)),
    (value_in_public, "foreign-value", (T, P), ("p0",)),
    (same_group, "shared-identity", (C, T), ("c0", "t0", "t1", "t2")),
    (same_person_by_another_group, "shared-identity", (C, T), ("c0", "t0", "t1")),
    (same_file, "shared-host-file", (T, U), ("t0", "t1", "u0")),
    (same_file_as_public, "shared-host-file", (R, P), ("r0", "p0")),
    (same_tree, "shared-syntax-tree", (T, U), ("t0", "u0")),
    (same_tree_under_a_false_shape, "shared-syntax-tree", (T, U), ("t0", "u0")),
    (same_tree_in_public, "shared-syntax-tree", (C, P), ("c0", "p0")),
    (host_used_twice, "repeated-syntax-tree", (T,), ("t0", "t1")),
    (false_shape, "shape-not-recomputed", (T,), ("t2",)),
    (false_interval, "shape-not-recomputed", (T,), ("t2",)),
    (no_interval, "shape-not-recomputed", (T,), ("t3",)),
    (broken_program, "does-not-parse", (T,), ("t3",)),
    (broken_public_code, "does-not-parse", (P,), ("p0",)),
]


@pytest.mark.parametrize(("breaking", "check", "splits", "records"), BROKEN, ids=[item[0].__name__ for item in BROKEN])
def test_what_is_broken_is_found(breaking, check, splits, records):
    data = healthy()
    breaking(data)
    found = findings(data)
    assert Finding(check, splits, records) in found
    for finding in found:
        told = finding.sentence + repr(finding)
        assert not [value for value in (ONE, TWO, THREE) if value in told]
        assert all(record in told for record in finding.records[:5])


def test_every_check_is_broken_at_least_once():
    assert {check for _, check, _, _ in BROKEN} == set(CHECKS)


def test_chats_are_checked_in_their_own_coordinates():
    data = healthy()
    for records in data.splits.values():
        for index, record in enumerate(records):
            spans = tuple(replace(span, message=1) for span in record.spans)
            chat = (Message("user", "Write é."), Message("assistant", record.text))
            change(records, index, text=None, messages=chat, spans=spans)
    assert findings(data) == []
    leaked = (Message("user", f"Write {ONE}."), data.splits["utility"][0].messages[1])
    change(data.splits["utility"], 0, messages=leaked)
    assert findings(data) == [Finding("foreign-value", ("train", "utility"), ("u0",))]


def test_short_values_count_only_as_words():
    data = SimpleNamespace(
        splits={
            "train": [Record("t", text="Ann", spans=(Span(0, 3, "name"),))],
            "calibration": [Record("c1", text="Annual"), Record("c2", text="to Ann."), Record("c3", text="planning")],
        },
        canaries=[Canary("name-01", "name", None, Sensitive("Ann"))],
        public=[],
    )
    assert findings(data) == [Finding("foreign-value", ("train", "calibration"), ("c2",))]


def test_the_sentence_counts_all_and_names_a_few():
    finding = Finding("foreign-value", ("train", "utility"), tuple(f"u{i}" for i in range(7)))
    assert finding.sentence == (
        "A private value of the first split occurs in the second: "
        "train and utility, 7 record(s) (u0, u1, u2, u3, u4, ...)"
    )


def test_unplanted_inverts_the_planting():
    record = program("a", "+", "a.py", ONE)
    assert unplanted(record.text or "", record.meta["inserted"]) == body("+")
