"""Two facts about Korean writing: particles follow the final consonant, and names have a Latin spelling."""

from __future__ import annotations

import re

from sm_ops.pii.documents.listed import listed

_INITIALS = "g kk n d tt r m b pp s ss - j jj ch k t p h".replace("-", "").split(" ")
_VOWELS = listed("a ae ya yae eo e yeo ye o wa wae oe yo u wo we wi yu eu ui i")
_FINALS = [
    "",
    "k",
    "k",
    "k",
    "n",
    "n",
    "n",
    "t",
    "l",
    "k",
    "m",
    "p",
    "l",
    "l",
    "p",
    "l",
    "m",
    "p",
    "p",
    "t",
    "t",
    "ng",
    "t",
    "t",
    "k",
    "t",
    "p",
    "t",
]
_RIEUL = 8

# (after a consonant, after a vowel), by the form that templates write
PARTICLES = {
    "이": ("이", "가"),
    "은": ("은", "는"),
    "을": ("을", "를"),
    "과": ("과", "와"),
    "아": ("아", "야"),
    "으로": ("으로", "로"),
    "이나": ("이나", "나"),
    "이랑": ("이랑", "랑"),
    "이라": ("이라", "라"),
    "이에요": ("이에요", "예요"),
}
_SILENT = re.compile(r"(?:\s|\([^()]*\)|[)\]}>'\"”’」』.,-])+$")
_DIGITS = "영일이삼사오육칠팔구"


def final(text: str) -> str | None:
    """How the last sound of a text ends: "ㄹ", another consonant as "x", or None for a vowel.

    What stands in brackets is not read: 김가상(01012345678)은. Digits count as they are read in Sino-Korean;
    a Latin word counts as open unless it ends in l, m, n or ng.
    """
    text = _SILENT.sub("", text)
    if not text:
        return None
    last = text[-1]
    if "０" <= last <= "９":
        last = chr(ord(last) - 0xFF10 + ord("0"))
    if last in "0123456789":
        last = _DIGITS[int(last)]
    if "가" <= last <= "힣":
        kind = (ord(last) - ord("가")) % 28
        return None if kind == 0 else "ㄹ" if kind == _RIEUL else "x"
    lower = text[-2:].lower()
    if lower.endswith("l"):
        return "ㄹ"
    return "x" if lower.endswith(("m", "n", "ng")) else None


def particle(form: str, before: str) -> str:
    """The particle as it follows a text: 김가상 + 은 -> 은, 이예시 + 은 -> 는, 서울 + 으로 -> 로."""
    closed, vowel = PARTICLES[form]
    end = final(before)
    if end is None or (form == "으로" and end == "ㄹ"):
        return vowel
    return closed


def romanise(text: str) -> str:
    """Revised Romanization, one syllable at a time and without sound changes, in lower case."""
    return "".join(syllables(text))


def syllables(text: str) -> list[str]:
    """The Latin spelling of each Hangul syllable."""
    spelled = []
    for character in text:
        code = ord(character) - ord("가")
        initial, rest = divmod(code, 588)
        spelled.append(_INITIALS[initial] + _VOWELS[rest // 28] + _FINALS[rest % 28])
    return spelled
