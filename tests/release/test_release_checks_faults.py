"""Faults planted by hand, for all checks but the search for values: each is noticed, and what is sound passes."""

from __future__ import annotations

import copy
import hashlib
import unicodedata

import pytest
from planted import (
    ABOUT,
    END,
    EXTRACTION,
    PLACES,
    RELEASED,
    ROWS,
    SOURCES,
    START,
    TEXT,
    VALUE,
    bundle,
    run,
    source,
    write_origin,
)

from sm_ops.core import fs
from sm_ops.release.checking import Bundle
from sm_ops.vault import Vault

pytestmark = pytest.mark.unit
WORDS = [f"word{number}" for number in range(14)]


def cover(home, rows, sources, places=None, method="redacted", **settings):
    given = None if places is None else {"train.jsonl": places}
    made = bundle(
        home, {"train.jsonl": rows}, sources={"train.jsonl": sources}, places=given or {}, method=method, evidence={}
    )
    return run("coverage", made, **settings)


def row(text, number=0):
    return {"id": f"r{number}", "text": text}


def place(*intervals, number=0):
    return {"id": f"r{number}", "intervals": [list(each) for each in intervals]}


# ---- coverage ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("removed", "covered"),
    [
        ([(START, END)], 1),
        ([(START, END - 1)], 0),  # its last character stays
        ([(START + 1, END)], 0),
        ([(START, START + 4), (START + 4, END)], 1),  # two that touch
        ([(START, START + 4), (START + 5, END)], 0),  # one character between them stays
        ([(0, len(TEXT))], 1),
        ([], 0),
    ],
)
def test_a_span_is_covered_only_if_all_of_it_is_gone(removed, covered, tmp_path):
    text, at = "", 0
    for start, end in removed:
        text, at = text + TEXT[at:start] + "[MASKED]", end
    outcome = cover(tmp_path, [row(text + TEXT[at:])], [source(0)], [place(*removed)])
    assert (outcome.measured["spans"], outcome.measured["covered"]) == (1, covered)
    assert outcome.status == ("pass" if covered else "fail")


def test_removed_places_that_the_text_does_not_bear_out_are_not_believed(tmp_path):
    outcome = cover(tmp_path, [row(TEXT)], [source(0)], [place((START, END))])
    assert outcome.status == "fail"
    assert "1 of 1 record" in outcome.sentence
    end = TEXT.replace(VALUE, VALUE[-4:])  # the end of the value as its own placeholder
    assert cover(tmp_path, [row(end)], [source(0)], [place((START, END))]).status == "fail"
    assert cover(tmp_path, [row(TEXT.replace(VALUE, ""))], [source(0)], [place((START, END))]).status == "pass"
    kept = RELEASED.replace("[MASKED]", f"[MASKED]{VALUE}")
    assert cover(tmp_path / "a", [row(kept), ROWS[1]], SOURCES, PLACES).status == "fail"
    other = [row(RELEASED), {**ROWS[1], "text": "Something to see."}]
    assert cover(tmp_path / "b", other, SOURCES, PLACES).status == "fail"


@pytest.mark.parametrize("wrong", [[(END, START)], [(5, 9), (3, 7)], [(START, END), (START, END)]])
def test_intervals_that_are_none_prove_nothing(wrong, tmp_path):
    assert cover(tmp_path, [row(RELEASED)], [source(0)], [place(*wrong)]).status == "fail"


def test_another_placeholder_is_known_by_itself_but_must_be_one(tmp_path):
    rows = [row(RELEASED.replace("[MASKED]", "<gone>")), {**row(RELEASED, 1), "text": "<gone> to see."}]
    places = [PLACES[0], place((0, 7), number=1)]
    assert cover(tmp_path / "a", rows, SOURCES, places).status == "pass"
    rows[1]["text"] = "<Nothing> to see."
    assert cover(tmp_path / "b", rows, SOURCES, places).status == "fail"


def test_left_out_records_are_covered_and_strange_ones_are_not(tmp_path):
    sources = [source(number) for number in range(4)]
    places = [place((START, END), number=number) for number in range(4)]
    outcome = cover(tmp_path / "a", [row(RELEASED, 1), row(RELEASED, 3)], sources, places)
    assert (outcome.status, outcome.measured["spans"]) == ("pass", 2)
    assert cover(tmp_path / "b", [row(RELEASED, 1), row(RELEASED, 9)], sources, places).status == "fail"
    assert cover(tmp_path / "c", [row(RELEASED, 3), row(RELEASED, 1)], sources, places).status == "fail"


def test_places_of_another_file_are_noticed(tmp_path):
    places = [place((START, END), number=1), place(number=0)]
    assert cover(tmp_path, ROWS, SOURCES, places).status == "fail"


def test_parts_of_a_large_shard_are_found_in_its_source(tmp_path):
    made = bundle(tmp_path, {"train-00001.jsonl": [ROWS[0]], "train-00002.jsonl": [ROWS[1]]})
    names = ["train-00001.jsonl", "train-00002.jsonl"]
    write_origin(made.release, "redacted", dict.fromkeys(names, SOURCES), dict.fromkeys(names, PLACES))
    assert run("coverage", Bundle.of(made.release)).measured["spans"] == 1


def test_chats_are_cut_at_the_ends_of_messages(tmp_path):
    turns = [("user", f"I am {VALUE}"), ("assistant", "ab")]
    spans = [{"start": 5, "end": 5 + len(VALUE), "label": "PERSON", "message": 0}]
    spans.append({"start": 0, "end": 1, "label": "x", "message": 1})
    chat = {"id": "r0", "messages": [{"role": role, "content": text} for role, text in turns], "spans": spans}
    edge = 5 + len(VALUE)
    masked = [{"role": "user", "content": "I am [MASKED]"}, {"role": "assistant", "content": "[MASKED]b"}]
    outcome = cover(tmp_path, [{"id": "r0", "messages": masked}], [chat], [place((5, edge + 2))])
    assert outcome.status == "pass", outcome.sentence
    masked[1]["content"] = "ab"
    assert cover(tmp_path, [{"id": "r0", "messages": masked}], [chat], [place((5, edge))]).measured["covered"] == 1


@pytest.mark.parametrize("method", ["reversible", "scrubbed"])
def test_without_places_text_and_source_are_aligned(method, tmp_path):
    mark = "[PERSON_1]" if method == "reversible" else "[PERSON]"
    good = TEXT.replace(VALUE, mark)
    assert cover(tmp_path / "a", [row(good)], [source(0)], method=method).status == "pass"
    part = TEXT.replace(VALUE[:-4], mark)
    assert cover(tmp_path / "b", [row(part)], [source(0)], method=method).status == "fail"
    assert cover(tmp_path / "c", [row(TEXT)], [source(0)], method=method).status == "fail"
    assert cover(tmp_path / "d", [row(f"{good} More.")], [source(0)], method=method).status == "fail"


def test_where_two_alignments_are_possible_both_must_cover(tmp_path):
    text = "a Kim b Kim c"
    released = [row("a [P] b Kim c")]
    first, second = [source(0, text, [(2, 5)])], [source(0, text, [(8, 11)])]
    assert cover(tmp_path / "a", released, first, method="scrubbed").status == "pass"
    assert cover(tmp_path / "b", released, second, method="scrubbed").status == "fail"
    between = [row("[P] Kim [P]")]  # which Kim stayed is not known
    text = "x Kim y Kim z"
    assert cover(tmp_path / "c", between, [source(0, text, [(2, 5)])], method="scrubbed").status == "fail"
    assert cover(tmp_path / "d", between, [source(0, text, [(8, 11)])], method="scrubbed").status == "fail"


def test_a_placeholder_stands_for_something(tmp_path):
    sources = [source(0, "ab Kim", [(3, 6)])]
    assert cover(tmp_path / "a", [row("a[P]b [P]")], sources, method="scrubbed").status == "fail"
    assert cover(tmp_path / "b", [row("ab [P]")], sources, method="scrubbed").status == "pass"
    assert cover(tmp_path / "c", [row("[P][P][P]")], sources, method="scrubbed").status == "pass"


def test_masking_gives_the_nfc_form(tmp_path):
    text = unicodedata.normalize("NFD", f"né à {VALUE} près")
    value = unicodedata.normalize("NFD", VALUE)
    start = text.index(value)
    sources = [source(0, text, [(start, start + len(value))])]
    assert cover(tmp_path / "a", [row("né à [PERSON_1] près")], sources, method="reversible").status == "pass"
    left = f"né à [PERSON_1]{VALUE[-2:]} près"
    assert cover(tmp_path / "b", [row(left)], sources, method="reversible").status == "fail"


def test_a_share_of_the_spans_by_value_or_by_the_lower_end(tmp_path):
    sources = [source(number) for number in range(50)]
    rows = [row(RELEASED, number) for number in range(49)] + [row(TEXT, 49)]
    places = [place((START, END), number=number) for number in range(49)] + [place(number=49)]

    def status(**settings):
        return cover(tmp_path, rows, sources, places, **settings).status

    # 49 of 50 is 98 %; Wilson's 95 % interval of it begins at 89.5 %
    assert status() == "fail"
    assert status(minimum=0.98) == "pass"
    assert status(minimum=0.9, by="lower") == "fail"
    assert status(minimum=0.89, by="lower") == "pass"


def test_no_annotated_spans_measure_nothing(tmp_path):
    assert cover(tmp_path, [ROWS[1]], [{**SOURCES[1], "id": "r1"}], [place(number=1)]).status == "unmeasured"


def test_token_ids_and_unknown_sources_measure_nothing(tmp_path):
    assert run("coverage", bundle(tmp_path / "a", {"train.jsonl": [{"id": "r0", "input_ids": [1]}]})).status == (
        "unmeasured"
    )
    made = bundle(tmp_path / "b", {"train.jsonl": ROWS, "test.jsonl": ROWS})
    assert run("coverage", made).status == "unmeasured"


# ---- the others ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("approx", "status"),
    [
        ({"k": 0, "n": 72, "low": 0.0, "high": 0.138}, "pass"),
        ({"k": 0, "n": 72, "low": 0.0, "high": 0.15}, "pass"),
        ({"k": 0, "n": 72, "low": 0.0, "high": 0.151}, "fail"),
        ({"k": 30, "n": 72, "low": 0.0, "high": 0.55}, "fail"),
        ({"k": 0, "n": 72, "low": 0.0, "high": 0.01}, "fail"),  # 72 observations give no such interval
        ({"k": 1, "n": 0, "low": 0.0, "high": 0.01}, "unmeasured"),
        ({"k": 73, "n": 72, "low": 0.0, "high": 1.0}, "unmeasured"),
        ({"k": 0, "n": 72, "low": None, "high": None}, "unmeasured"),
        (None, "unmeasured"),
    ],
)
def test_the_upper_limit_of_extraction_decides(approx, status, tmp_path):
    made = bundle(tmp_path, evidence={"extraction": {**EXTRACTION, "approx": approx}})
    assert run("canaries", made).status == status


def test_canaries_that_come_out_nearly_as_they_are_count(tmp_path):
    """A value that an attacker gets but for a letter is not safe because no letter-perfect copy came out."""
    none, many = {"k": 0, "n": 72, "low": 0.0, "high": 0.138}, {"k": 30, "n": 72, "low": 0.0, "high": 0.55}
    made = bundle(tmp_path, evidence={"extraction": {**EXTRACTION, "exact": none, "approx": many}})
    outcome = run("canaries", made)
    assert (outcome.status, outcome.measured["k"]) == ("fail", 30)


@pytest.mark.parametrize("decision", ["undefined", "inverted", "unreachable", "costly", "made up", None])
def test_a_verdict_that_is_not_suitable_never_passes(decision, tmp_path):
    made = bundle(tmp_path, evidence={"suitability": {"decision": decision, "auroc": None}})
    assert run("suitability", made).status == ("unmeasured" if decision in ("made up", None) else "fail")


@pytest.mark.parametrize("broken", ["text", "mapping", "source", "absent", "order", "digest"])
def test_a_broken_restore_is_noticed(broken, tmp_path):
    rows = [row(TEXT.replace(VALUE, "[PERSON_1]")), row("With [PERSON_1] and [PERSON_2].", 1)]
    sources = [source(0), source(1, "With Ann and Bob.", ())]
    mappings = {"r0": {"[PERSON_1]": VALUE}, "r1": {"[PERSON_1]": "Ann", "[PERSON_2]": "Bob"}}
    vault = Vault(tmp_path / "vault")
    vault.init()

    def status(rows, sources, mappings):
        with vault.writer("notes") as write:
            for name, mapping in mappings.items():
                write.add(name, mapping, "0" * 32 if (broken, name) == ("digest", wrong) else "")
        made = bundle(
            tmp_path, {"train.jsonl": rows}, sources={"train.jsonl": sources}, method="reversible", vault="notes"
        )
        outcome = run("round_trip", made)
        return outcome.status, outcome.measured.get("not_restored")

    wrong = None
    assert status(rows, sources, mappings) == ("pass", 0)
    wrong = "r1"
    rows, sources, mappings = copy.deepcopy((rows, sources, mappings))
    if broken == "text":
        rows[1]["text"] = "With [PERSON_2] and [PERSON_1]."
    elif broken == "mapping":
        mappings["r1"]["[PERSON_2]"] = "Bobby"
    elif broken == "source":
        sources[1]["text"] = "With Ann and  Bob."
    elif broken == "absent":
        del mappings["r1"]
    elif broken == "order":
        mappings["r0"], mappings["r1"] = mappings["r1"], mappings["r0"]
    assert status(rows, sources, mappings) == ("fail", 2 if broken == "order" else 1)


def test_each_split_is_restored_by_its_own_mappings(tmp_path):
    vault = Vault(tmp_path / "vault")
    vault.init()
    shards = ["train.jsonl", "test.jsonl"]
    for shard, name in zip(shards, ("Ann", "Bob"), strict=True):
        with vault.writer(shard.removesuffix(".jsonl")) as write:
            write.add("r0", {"[PERSON_1]": name})
    sources = {shard: [source(0, f"With {name}.", ())] for shard, name in zip(shards, ("Ann", "Bob"), strict=True)}
    rows = {shard: [row("With [PERSON_1].")] for shard in shards}
    for vaults, status in (
        ({"train.jsonl": "train", "test.jsonl": "test"}, "pass"),
        ({"train.jsonl": "train", "test.jsonl": "train"}, "fail"),
        ("train", "fail"),
        ({"train.jsonl": "train"}, "unmeasured"),
    ):
        made = bundle(tmp_path, rows, sources=sources, method="reversible", vault=vaults)
        assert run("round_trip", made).status == status


@pytest.mark.parametrize(
    "rows",
    [
        [{"id": "a"}],
        [{"text": "no id"}],
        [{"id": "a", "text": 5}],
        [{"id": "a", "text": "x", "messages": [{"role": "user", "content": "y"}]}],
        [{"id": "a", "messages": []}],
        [{"id": "a", "messages": [{"role": "nobody", "content": "y"}]}],
        [{"id": "a", "input_ids": [1, "2"]}],
        [],
    ],
)
def test_rows_that_are_no_records_are_noticed(rows, tmp_path):
    assert run("schema", bundle(tmp_path, {"train.jsonl": rows})).status == "fail"


def test_counts_ids_and_syntax_are_noticed(tmp_path):
    made = bundle(tmp_path / "a", {"train.jsonl": ROWS, "test.jsonl": [{**ROWS[0], "id": "r1"}]})
    outcome = run("schema", made)
    assert outcome.status == "fail"
    assert "row 3" in outcome.sentence
    made = bundle(tmp_path / "b")
    with (made.folder / "data" / "train.jsonl").open("a") as file:
        file.write('{"id": "r9", "text": "one more"}\n')
    assert "3 rows, but the manifest says 2" in run("schema", made).sentence
    with (made.folder / "data" / "train.jsonl").open("a") as file:
        file.write('{"id": "r10"\n')
    assert "data/train.jsonl, line 4" in run("schema", made).sentence
    assert run("schema", bundle(tmp_path / "c", {})).status == "fail"
    tokens = [{"id": "a", "input_ids": [1, 2]}, {"id": "b", "input_ids": [3]}]
    assert run("schema", bundle(tmp_path / "d", {"t.jsonl": tokens})).status == "pass"


def test_duplicates_across_splits_are_counted_exact_and_near(tmp_path):
    long = " ".join(WORDS * 3)
    near = " ".join([*WORDS * 3, "more"])  # 14 distinct shingles of 5 words in both, and one of the other: 14/15
    train = [row(long), row("A third text that is unlike the others.", 1), row(long.upper(), 2)]

    def found(test, **settings):
        shards = {"train.jsonl": train, "test.jsonl": test}
        outcome = run("duplicates", bundle(tmp_path, shards), **settings)
        return outcome.status, outcome.measured["exact"], outcome.measured["near"]

    assert found([row("Unlike anything at all.", 7)]) == ("pass", 0, 0)
    assert found([row(f"  {long}\n", 7)]) == ("fail", 1, 0)
    assert found([row(long, 7)], exact=1) == ("pass", 1, 0)
    assert found([row(near, 7)]) == ("fail", 0, 1)
    assert found([row(near, 7)], near=0.25) == ("pass", 0, 1)
    assert found([row(near, 7)], threshold=0.95) == ("pass", 0, 0)
    assert found([row("Unlike anything at all.", 7), row("Unlike anything at all.", 8)]) == ("pass", 0, 0)


def test_a_duplicate_of_a_record_that_has_a_twin_in_its_own_split_is_counted(tmp_path):
    long = " ".join(WORDS * 3)
    twins = [row(f"{long} more", 1), row(f"{long} more and more", 2)]
    shards = {"dev.jsonl": twins, "test.jsonl": [row(long, 3)], "train.jsonl": [row("Unlike them. " * 40, 4)]}
    assert run("duplicates", bundle(tmp_path, shards)).measured["near"] == 1 + 1  # both twins are near the test record


def test_parts_of_one_split_are_one_split_and_chats_count_with_their_roles(tmp_path):
    parts = {"train-00001.jsonl": [ROWS[0]], "train-00002.jsonl": [{**ROWS[0], "id": "x"}]}
    assert run("duplicates", bundle(tmp_path / "a", parts)).status == "not applicable"
    one, other = ({"id": who, "messages": [{"role": who, "content": "Say it."}]} for who in ("user", "assistant"))
    assert run("duplicates", bundle(tmp_path / "b", {"a.jsonl": [one], "b.jsonl": [other]})).measured["exact"] == 0
    again = {"a.jsonl": [one], "b.jsonl": [{**one, "id": "z"}]}
    assert run("duplicates", bundle(tmp_path / "c", again)).measured["exact"] == 1


def test_k_counts_records_over_all_shards(tmp_path):
    people = [{"id": f"p{n}", "text": "a", "town": "Bern"} for n in range(3)]
    shards = {"a.jsonl": people[:2], "b.jsonl": people[2:]}
    assert run("k_anonymity", bundle(tmp_path / "a", shards), columns=["town"], k=3).status == "pass"
    shards["b.jsonl"] = [*people[2:], {"id": "q", "text": "a"}]  # without a town: alone
    outcome = run("k_anonymity", bundle(tmp_path / "b", shards), columns=["town"], k=3)
    assert (outcome.status, outcome.measured["smallest"], outcome.measured["records_below"]) == ("fail", 1, 1)
    assert "Bern" not in outcome.sentence


@pytest.mark.parametrize(
    ("about", "missing"),
    [
        ({**ABOUT, "licence": " "}, "the licence of the release"),
        ({**ABOUT, "licence": "NOASSERTION"}, "the licence of the release"),
        ({**ABOUT, "sources": []}, "its sources"),
        ({**ABOUT, "sources": [{"name": "a"}]}, "the licence of source 1"),
        ({**ABOUT, "sources": [*ABOUT["sources"], {"licence": "MIT"}]}, "the name of source 2"),
    ],
)
def test_a_missing_licence_or_source_is_named(about, missing, tmp_path):
    outcome = run("provenance", bundle(tmp_path, about=about))
    assert outcome.status == "fail"
    assert missing in outcome.sentence


def test_a_remote_of_dvc_holds_the_shards_by_md5(tmp_path):
    made = bundle(tmp_path)
    remote = {"place": str(tmp_path / "dvc"), "layout": "dvc"}
    assert run("remote", made, **remote).status == "fail"
    data = (made.folder / "data" / "train.jsonl").read_bytes()
    digest = hashlib.md5(data).hexdigest()
    path = tmp_path / "dvc" / "files" / "md5" / digest[:2] / digest[2:]
    fs.write_atomic(path, data)
    assert run("remote", made, **remote).status == "pass"
    path.write_bytes(data.replace(b"Nothing", b"nothing"))
    assert run("remote", made, **remote).status == "fail"


def test_a_remote_that_cannot_be_asked_was_not_measured(tmp_path):
    outcome = run("remote", bundle(tmp_path), place="ftp://somewhere")
    assert outcome.status == "unmeasured"
