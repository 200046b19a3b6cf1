"""Particles after their words, by a table made by hand, and Latin spellings."""

from __future__ import annotations

import pytest

from sm_ops.pii.documents.korean import particle, romanise

pytestmark = pytest.mark.unit

TABLE = """
김가상 이:이 은:은 을:을 과:과 아:아 으로:으로 이랑:이랑 이에요:이에요
이예시 이:가 은:는 을:를 과:와 아:야 으로:로 이랑:랑 이에요:예요
박솔 이:이 은:은 을:을 과:과 아:아 으로:로 이나:이나
서울 으로:로 이:이
010-0123-4560 을:을 으로:으로
010-0123-4561 은:은 으로:로
010-0123-4562 은:는 으로:로
010-0123-4563 은:은 으로:으로
010-0123-4564 은:는
010-0123-4565 은:는
010-0123-4566 은:은 으로:으로
010-0123-4567 은:은 으로:로
010-0123-4568 은:은 으로:로
010-0123-4569 은:는
０１２３ 은:은
1985.3.12. 과:와
3월_12일 과:과 으로:로
a@example.com 으로:으로
a@mail.siheom.test 으로:로
Marshall 이:이 으로:로
Kim_Ga-sang 이:이
김_가_상 은:은
김가상(010-0123-4562) 은:은 이:이
김가상(金佳相) 은:은
이예시(배우자) 은:는
12호_(예시동) 으로:로
""".strip()


@pytest.mark.parametrize("row", TABLE.split("\n"), ids=lambda row: row.split()[0])
def test_particles_follow_the_last_sound(row):
    word, *forms = row.split(" ")
    for form in forms:
        asked, wanted = form.split(":")
        assert particle(asked, word.replace("_", " ")) == wanted, asked


def test_particles_look_past_blanks_of_spaced_names():
    assert particle("이", "김\u3000가\u3000상") == "이"
    assert particle("은", "") == "는"


@pytest.mark.parametrize(
    ("name", "latin"),
    [("가상", "gasang"), ("은혜", "eunhye"), ("준휘", "junhwi"), ("슬기", "seulgi"), ("의진", "uijin")],
)
def test_names_are_spelled_syllable_by_syllable(name, latin):
    assert romanise(name) == latin
