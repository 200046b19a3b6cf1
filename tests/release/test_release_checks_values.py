"""A known value is found wherever it is planted: in every kind of file, in every form, from every source of values."""

from __future__ import annotations

import base64
import gzip
import io
import json
import zipfile
from dataclasses import replace
from urllib.parse import quote

import pytest
from planted import PLACES, ROWS, SHORT, SOURCES, VALUE, bundle, lines, run, source, write_origin

from sm_ops.release.checking import Bundle
from sm_ops.vault import Vault

FORMS = {
    "plain": VALUE.encode(),
    "upper case": VALUE.upper().encode(),
    "JSON": json.dumps(VALUE).encode(),
    "JSON in JSON": json.dumps(json.dumps({"a": VALUE})).encode(),
    "URL": quote(VALUE, safe="").encode(),
    "HTML": VALUE.replace("é", "&#233;").replace("/", "&#x2F;").encode(),
    "base64": base64.b64encode(b"ab" + VALUE.encode() + b"c"),
    "hex": VALUE.encode().hex().encode(),
    "UTF-16": VALUE.encode("utf-16-le"),
    "reversed": VALUE[::-1].encode(),
    "broken over lines": VALUE.replace("z2", "z2\n  ").encode(),
    "other separators": VALUE.replace("/", "_").replace(" ", ".").encode(),
}
LATE = ("decision.dsse.json", "rejection.dsse.json", "waivers/schema.dsse.json", "log.jsonl", "manifest.dsse.json")
BUILT = ("config.json", "lineage.json", "packages.cdx.json", "croissant.json", "frontier.svg", "evidence/utility.json")
RENDERED = ("README.md", "report.html")


def found(given: Bundle, place: str) -> None:
    outcome = run("known_values", given)
    assert outcome.status == "fail", outcome.sentence
    assert place in outcome.sentence
    assert VALUE not in outcome.sentence
    assert outcome.measured["occurrences"] >= 1


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("place", [*BUILT, "policy.yaml", "notes.txt"])
def test_in_every_form_in_what_was_built(place, form, tmp_path):
    made = bundle(tmp_path)
    with (made.folder / place).open("ab") as file:
        file.write(b"\n# " + FORMS[form] + b"\n")
    found(made, place)


@pytest.mark.parametrize("place", LATE)
def test_in_what_other_verbs_wrote(place, tmp_path):
    made = bundle(tmp_path)
    path = made.folder / place
    path.parent.mkdir(exist_ok=True)
    path.write_text(json.dumps({"payload": base64.b64encode(f"because of {VALUE}".encode()).decode()}))
    found(made, place)


@pytest.mark.parametrize("place", RENDERED)
def test_in_what_is_about_to_be_written_and_not_in_what_it_replaces(place, tmp_path):
    made = bundle(tmp_path)
    (made.folder / place).write_text(VALUE)
    assert run("known_values", made).status == "pass"
    found(replace(made, rendered={place: f"<p>{VALUE}</p>".encode()}), place)


def test_in_the_name_of_a_file(tmp_path):
    made = bundle(tmp_path, extra={"evidence/qx7k-édvz2-wjhp-tmbr.json": b"{}"})
    outcome = run("known_values", made)
    assert outcome.status == "fail"
    assert "qx7k" not in outcome.sentence


@pytest.mark.parametrize("key", ["id", "text", "extra"])
def test_in_every_column_of_a_parquet_shard(key, tmp_path):
    import pyarrow as pa
    import pyarrow.parquet as pq

    stream = io.BytesIO()
    rows = [{"id": "a", "text": "b", "extra": "c"}, {"id": "d", "text": "e", "extra": "f", key: f"g {VALUE}"}]
    pq.write_table(pa.Table.from_pylist(rows), stream, compression="zstd")
    found(bundle(tmp_path, extra={"data/test.parquet": stream.getvalue()}), "data/test.parquet")


def test_in_archives_and_in_a_second_shard(tmp_path):
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("inner.txt", VALUE)
    extra = {"evidence/a.zip": packed.getvalue(), "evidence/b.gz": gzip.compress(VALUE.encode())}
    outcome = run("known_values", bundle(tmp_path / "a", extra=extra))
    assert outcome.status == "fail"
    assert "evidence/a.zip, evidence/b.gz" in outcome.sentence
    rows = {"train.jsonl": ROWS, "test.jsonl": [{"id": "t", "text": VALUE}]}
    found(bundle(tmp_path / "b", rows), "data/test.jsonl")


def test_what_cannot_be_looked_into_was_not_measured(tmp_path):
    made = bundle(tmp_path, extra={"evidence/a.xz": b"\xfd7zXZ\0" + bytes(40)})
    outcome = run("known_values", made)
    assert outcome.status == "unmeasured"
    assert "evidence/a.xz" in outcome.sentence


# ---- token shards --------------------------------------------------------------------------------------


def tokenizer(folder):
    from tokenizers import Tokenizer, decoders, models

    tokens = [*sorted({*VALUE, *"Please ask"}), "<eos>"]
    made = Tokenizer(models.BPE({token: number for number, token in enumerate(tokens)}, []))
    made.decoder = decoders.Fuse()
    folder.mkdir(parents=True, exist_ok=True)
    made.save(str(folder / "tokenizer.json"))
    return {token: number for number, token in enumerate(tokens)}


@pytest.mark.parametrize("key", ["input_ids", "token_ids", "labels"])
def test_in_the_text_of_token_shards(key, tmp_path):
    ids = tokenizer(tmp_path)
    row = {"id": "t", "input_ids": [0], key: [-100] * (key == "labels") + [ids[each] for each in VALUE]}
    given = {"train.jsonl": ROWS, "tokens.jsonl": [row]}
    made = bundle(tmp_path / "home", given)
    outcome = run("known_values", made, tokenizer=str(tmp_path / "tokenizer.json"))
    assert outcome.status == "fail"
    assert "data/tokens.jsonl (decoded)" in outcome.sentence
    clean = bundle(tmp_path / "clean", {"tokens.jsonl": [{"id": "t", "input_ids": [ids["P"], ids["<eos>"]]}]})
    assert run("known_values", clean, tokenizer=str(tmp_path)).status == "pass"
    assert not [*(tmp_path / "home" / "restricted").glob(".check*")]


@pytest.mark.parametrize("named", [None, "absent.json"])
def test_token_shards_without_a_tokenizer_are_not_measured(named, tmp_path):
    made = bundle(tmp_path, {"tokens.jsonl": [{"id": "t", "input_ids": [1, 2]}]})
    outcome = run("known_values", made, tokenizer=named)
    assert outcome.status == "unmeasured"
    assert "tokenizer" in outcome.sentence


# ---- where values come from ----------------------------------------------------------------------------


OTHER = "vvz9-kqrs-74hd"
"""A value that no source annotates."""


def planted(home, **given):
    return bundle(home, {"train.jsonl": [*ROWS, {"id": "r2", "text": OTHER}]}, **given)


def test_values_of_canaries_lists_and_records(tmp_path):
    assert run("known_values", planted(tmp_path / "none")).status == "pass"
    canary = json.dumps({"id": "c", "kind": "k", "value": OTHER})
    record = lines([source(7, OTHER, [(0, len(OTHER))])]).decode()
    chat = [{"role": "user", "content": "hello"}, {"role": "assistant", "content": f"so: {OTHER}"}]
    span = {"start": 4, "end": 4 + len(OTHER), "label": "x", "message": 1}
    talk = lines([{"id": "t", "messages": chat, "spans": [span]}]).decode()
    for number, (name, content) in enumerate(
        {"canaries.jsonl": canary, "records.jsonl": record, "chats.jsonl": talk}.items()
    ):
        found(planted(tmp_path / str(number), values={name: content}), "data/train.jsonl")
    found(planted(tmp_path / "tab", values={"listed.tsv": f"PERSON\tMax\nPERSON\t{OTHER}\n"}), "data/train.jsonl")
    found(planted(tmp_path / "text", values={"listed.txt": f"Max\n{OTHER}\n"}), "data/train.jsonl")


def test_values_of_the_whole_vault_or_of_the_release_alone(tmp_path):
    vault = Vault(tmp_path / "vault")
    vault.init()
    vault.add_values("others", [("PERSON", OTHER)])
    vault.add_values("own", [("PERSON", "an-own-one-8812")])
    found(planted(tmp_path, vault="own"), "data/train.jsonl")
    assert run("known_values", planted(tmp_path, vault="own"), vault="origin").status == "pass"
    assert run("known_values", planted(tmp_path, vault="others"), vault="origin").status == "fail"


def test_a_vault_that_cannot_be_read_was_not_searched(tmp_path):
    vault = Vault(tmp_path / "vault")
    vault.init()
    vault.add_values("own", [("PERSON", OTHER)])
    (tmp_path / "vault.key").unlink()
    outcome = run("known_values", planted(tmp_path, vault="own"))
    assert outcome.status == "unmeasured"
    assert str(tmp_path) not in outcome.sentence


def test_short_values_are_counted_and_said_and_words_have_edges(tmp_path):
    people = [source(0), source(1, f"{SHORT} and Marlow", [(0, 3), (8, 14)])]
    rows = [ROWS[0], {"id": "r1", "text": f"{SHORT}, Marlowe and Kimono"}]
    outcome = run("known_values", bundle(tmp_path / "a", {"train.jsonl": rows}, sources={"train.jsonl": people}))
    assert outcome.status == "pass"
    assert "1 too short to be told from chance" in outcome.sentence
    assert "(1 of them as whole words alone)" in outcome.sentence
    assert outcome.measured["values"] == 3
    rows = [ROWS[0], {"id": "r1", "text": "ask Marlow."}]
    found_word = bundle(tmp_path / "b", {"train.jsonl": rows}, sources={"train.jsonl": people})
    assert run("known_values", found_word).status == "fail"


def test_values_that_are_all_too_short_are_no_pass(tmp_path):
    short = [source(number, f"{SHORT} called", [(0, 3)]) for number in range(2)]
    rows = [{"id": f"r{number}", "text": "[MASKED] called"} for number in range(2)]
    outcome = run("known_values", bundle(tmp_path, {"train.jsonl": rows}, sources={"train.jsonl": short}))
    assert outcome.status == "unmeasured"
    assert "1 too short to be told from chance, so not searched" in outcome.sentence
    assert (outcome.measured["searched"], outcome.measured["too_short"]) == (0, 1)


def test_no_values_at_all_is_no_pass(tmp_path):
    plain = [{"id": "r0", "text": "Nothing."}, SOURCES[1]]
    outcome = run("known_values", bundle(tmp_path, sources={"train.jsonl": plain}))
    assert outcome.status == "unmeasured"


def test_a_lost_file_of_values_is_no_pass(tmp_path):
    made = bundle(tmp_path, values={"canaries.jsonl": "{}"})
    write_origin(made.release, "redacted", {"train.jsonl": SOURCES}, {"train.jsonl": PLACES}, values={"c.jsonl": "{}"})
    (tmp_path / "restricted" / "values" / "c.jsonl").unlink()
    outcome = run("known_values", Bundle.of(made.release))
    assert outcome.status == "unmeasured"
    assert str(tmp_path) not in outcome.sentence
