"""General text and the domain's documents in one stream of rows: every token is counted, and is where it should be."""

from __future__ import annotations

import pickle
from types import SimpleNamespace

import numpy as np
import pytest

from sm_ops.core import fs
from sm_ops.core.errors import InputError
from sm_ops.masking.labels import IGNORED
from sm_ops.training import mixture, packing, token_file
from sm_ops.training.masked import Example

pytestmark = pytest.mark.unit

SEPARATOR = 256


@pytest.fixture(scope="module")
def tokenizer():
    """A token a byte, and one more that separates."""
    from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers

    letters = sorted(pre_tokenizers.ByteLevel.alphabet())
    backend = Tokenizer(models.BPE(vocab={letter: number for number, letter in enumerate(letters)}, merges=[]))
    backend.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    backend.decoder = decoders.ByteLevel()
    backend.add_special_tokens([AddedToken("<|end|>")])
    return SimpleNamespace(backend_tokenizer=backend, bos_token_id=SEPARATOR, eos_token_id=SEPARATOR)


def examples(*lengths):
    """Documents of increasing ids from 1 on, of which every third token is masked."""
    found, start = [], 1
    for number, length in enumerate(lengths):
        ids = np.arange(start, start + length)
        mask = np.arange(length) % 3 == 2
        found.append(Example(str(number), ids, np.where(mask, IGNORED, ids), mask))
        start += length
    return found


def text_of(folder, tokenizer):
    """The ids of a folder, read in one piece without the code under test."""
    about = fs.read_json(folder / "tokens.json")
    return about, np.fromfile(folder / "tokens.bin", about["dtype"]).tolist()


def test_the_file_holds_so_many_tokens_and_no_more(tokenizer, tmp_path):
    pieces = [("abc", True), ("de", False), ("<|end|>", True), ("never read", True)]
    whole = "abcde" + "<|end|>"
    numbers = token_file.write(iter(pieces), tokenizer, 12, tmp_path)
    about, ids = text_of(tmp_path, tokenizer)
    assert about["dtype"] == "<u2"
    assert ids[0] == ids[6] == SEPARATOR
    assert SEPARATOR not in ids[1:6] + ids[7:]  # text that looks like the separator is text
    assert tokenizer.backend_tokenizer.decode(ids, skip_special_tokens=True) == whole[: 12 - 2]
    assert numbers == {"tokens": 12, "documents": 2, "characters": 12, "bytes": 24}


def test_too_little_text_is_refused_with_what_there_is(tokenizer, tmp_path):
    with pytest.raises(InputError, match="is 2,000, but the 1 documents of the general text have 1,001 tokens"):
        token_file.write([("x" * 1000, True)], tokenizer, 2000, tmp_path)


def test_a_file_that_is_cut_off_or_of_another_version_is_refused(tokenizer, tmp_path):
    token_file.write([("abcdef", True)], tokenizer, 7, tmp_path)
    (tmp_path / "tokens.bin").write_bytes((tmp_path / "tokens.bin").read_bytes()[:-2])
    with pytest.raises(InputError, match="does not hold the 7 tokens"):
        token_file.TokenFile(tmp_path)
    fs.write_json(tmp_path / "tokens.json", {"format": "tokens/0"})
    with pytest.raises(InputError, match="instead of 'tokens/1'"):
        token_file.TokenFile(tmp_path)


@pytest.mark.parametrize(("wanted", "lengths"), [(9, (5, 3, 6)), (10, (5, 3, 6)), (17, (5, 3, 6)), (40, (5, 3, 6))])
def test_domain_tokens_are_cut_or_repeated_to_their_number(wanted, lengths):
    own = examples(*lengths)
    once = [token for example in own for token in (0, *example.ids)]
    chosen, counts = mixture.budgeted(own, wanted)
    written = [token for example in chosen for token in (0, *example.ids)]
    assert written == (once * 3)[:wanted]
    assert counts["domain_tokens"] == wanted == len(written)
    assert counts["domain_tokens_there"] == 17
    assert counts["domain_tokens_left_out"] == max(0, 17 - wanted)
    assert counts["domain_tokens_repeated"] == max(0, wanted - 17)
    assert all(len(each.ids) == len(each.labels) == len(each.masked) for each in chosen)


@pytest.mark.parametrize(("general", "domain"), [(23, 17), (24, 16), (3, 41), (24, 24)])
def test_every_token_of_both_is_in_one_row(tokenizer, tmp_path, general, domain):
    token_file.write([("general text " * 9, True)], tokenizer, general, tmp_path)
    own = examples(5, 3, 6)
    rows, counts = mixture.mixed(token_file.TokenFile(tmp_path), own, domain, 8, seed=4)
    behind = packing.stream(mixture.budgeted(own, domain)[0], SEPARATOR, 4)
    ids = [*text_of(tmp_path, tokenizer)[1], *behind["input_ids"]]
    labels = [*(IGNORED if token == SEPARATOR else token for token in ids[:general]), *behind["labels"]]
    masked = [*[False] * general, *behind["masked"]]
    assert len(ids) == general + domain == counts["general_tokens"] + counts["domain_tokens"]
    assert len(rows) == -(-len(ids) // 8)
    for number, row in enumerate(rows):
        own_ids, filling = ids[8 * number : 8 * number + 8], -len(ids[8 * number : 8 * number + 8]) % 8
        assert row["input_ids"].tolist() == own_ids + [SEPARATOR] * filling
        assert row["labels"].tolist() == [IGNORED, *labels[8 * number + 1 : 8 * number + 8], *[IGNORED] * filling]
        assert row["masked"].tolist() == masked[8 * number : 8 * number + 8] + [False] * filling
    with pytest.raises(IndexError):
        rows[len(rows)]
    again = pickle.loads(pickle.dumps(rows))
    assert all((again[i]["labels"] == rows[i]["labels"]).all() for i in range(len(rows)))


def test_the_order_of_documents_is_the_seed_s_and_which_they_are_is_not(tokenizer, tmp_path):
    token_file.write([("general", True)], tokenizer, 8, tmp_path)
    general, own = token_file.TokenFile(tmp_path), examples(5, 3, 6, 4, 4, 7)
    found = []
    for seed in (0, 1, 1):
        rows, _ = mixture.mixed(general, own, 20, 4, seed)
        found.append([token for row in rows for token in row["input_ids"].tolist()])
    assert found[1] == found[2] != found[0]
    assert sorted(found[0]) == sorted(found[1])
