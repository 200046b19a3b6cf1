"""De-duplication against brute force over all pairs of random texts."""

from __future__ import annotations

import time
import unicodedata

import numpy as np
import pytest

from sm_ops.core.errors import InputError
from sm_ops.core.records import Message, Record, Span
from sm_ops.data.deduplicate import deduplicate

pytestmark = pytest.mark.unit


def records(*texts: str) -> list[Record]:
    return [Record(str(number), text=text) for number, text in enumerate(texts)]


def ids(found) -> list[str]:
    return [record.id for record in found.records]


def test_equal_texts_are_one_but_for_case():
    composed, decomposed = "Café  noir", unicodedata.normalize("NFD", "Café noir")
    given = records(composed, "x", decomposed, "\tCafé\nnoir ", "café noir", "x")
    found = deduplicate(given, threshold=None)
    assert ids(found) == ["0", "1", "4"]
    assert found.exact == {"2": "0", "3": "0", "5": "1"}
    assert found.counts == {"records": 6, "exact_duplicates": 3, "near_duplicates": 0, "records_kept": 3}
    assert found.records[0] is given[0]


def test_records_stay_as_they_are_and_chats_count_with_their_roles():
    chat = (Message("user", "a  b"), Message("assistant", "c"))
    given = [
        Record("a", messages=chat, spans=(Span(0, 1, "x", 0),)),
        Record("b", messages=(Message("user", "a b"), Message("assistant", " c"))),
        Record("c", messages=(Message("assistant", "a b"), Message("user", "c"))),
        Record("d", text="user a b\nassistant c"),
    ]
    found = deduplicate(given, threshold=None)
    assert found.records == [given[0], given[2], given[3]]
    assert found.exact == {"b": "a"}


def test_a_near_duplicate_by_hand():
    """Six shingles of two words each, of which four are shared: 4 / 8."""
    given = records("a b c d e f g", "a b c d e x y", "q r s t u v w")
    assert deduplicate(given, threshold=0.5, shingle=2).near == {"1": "0"}
    assert deduplicate(given, threshold=0.51, shingle=2).near == {}


def test_the_first_stays_and_what_is_near_to_a_left_out_record_alone_stays_too():
    chain = records("a b c d e f g h", "b c d e f g h i", "c d e f g h i j")  # 6/8, 6/8, and 5/9 between the ends
    found = deduplicate(chain, threshold=0.75, shingle=2)
    assert (ids(found), found.near) == (["0", "2"], {"1": "0"})
    found = deduplicate(chain[::-1], threshold=0.75, shingle=2)
    assert (ids(found), found.near) == (["2", "0"], {"1": "2"})
    again = deduplicate([*chain, Record("3", text="b c d e f  g h i")], threshold=0.75, shingle=2)
    assert again.exact == {"3": "0"}  # equal to what is near the first


def test_short_and_empty_texts():
    found = deduplicate(records("a", "a b", "", "a b c d e f", " ", "b"), threshold=0.1)
    assert (ids(found), found.exact, found.near) == (["0", "1", "2", "3", "5"], {"4": "2"}, {})


def brute_force(texts: list[str], threshold: float, size: int) -> tuple[list[int], dict[int, int]]:
    sets = []
    for text in texts:
        words = text.split()
        sets.append({tuple(words[i : i + size]) for i in range(max(len(words) - size, 0) + 1)})
    kept, near = [], {}
    for number, own in enumerate(sets):
        close = [other for other in kept if len(own & sets[other]) >= threshold * len(own | sets[other])]
        if close:
            near[number] = close[0]
        else:
            kept.append(number)
    return kept, near


@pytest.mark.parametrize(("threshold", "size"), [(0.3, 1), (0.5, 2), (0.7, 3), (0.8, 5), (1.0, 2)])
def test_random_texts_against_all_pairs(threshold, size):
    """Edited copies of a few texts, so that pairs lie at all distances."""
    rng = np.random.default_rng(int(100 * threshold))
    words = [f"w{number}" for number in range(60)]
    bases = [list(rng.choice(words, rng.integers(4, 120))) for _ in range(12)]
    texts = []
    for _ in range(150):
        text = list(bases[rng.integers(12)])
        for _ in range(rng.integers(0, 5)):
            place = int(rng.integers(len(text)))
            text[place : place + int(rng.integers(0, 2))] = [str(rng.choice(words))]
        texts.append(" ".join(text))
    texts = list(dict.fromkeys(texts))
    kept, near = brute_force(texts, threshold, size)
    found = deduplicate(records(*texts), threshold, size)
    assert len(near) > 10 or threshold == 1
    assert ids(found) == list(map(str, kept))
    assert found.near == {str(number): str(other) for number, other in near.items()}


def test_many_near_duplicates_cost_no_more_than_their_number():
    """Four times as many copies of one text, each with a word changed, take about four times as long."""
    rng = np.random.default_rng(0)
    text = rng.choice([f"w{number}" for number in range(1000)], 150)

    def seconds(number: int) -> float:
        given = []
        for copy in range(number):
            changed = text.copy()
            changed[copy % 150] = f"x{copy}"
            given.append(Record(str(copy), text=" ".join(changed)))
        start = time.process_time()
        found = deduplicate(given)
        assert len(found.records) == 1
        return time.process_time() - start

    assert seconds(800) < 8 * seconds(200)


def test_a_threshold_that_means_nothing_is_refused():
    for threshold in (0.0, 0.05, 1.01):
        with pytest.raises(InputError, match=r"choose one from 0\.1 to 1"):
            deduplicate(records("a"), threshold)
