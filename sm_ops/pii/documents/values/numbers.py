"""Numbers, distinct over the whole data set by construction: each is a keyed permutation of record and person (G7)."""

from __future__ import annotations

import re
from dataclasses import dataclass

from sm_ops.pii.documents.draws import Draws, permute
from sm_ops.pii.documents.listed import listed
from sm_ops.pii.documents.plan import ENGLISH, PERSONS

_MOBILE = 2000 * 10_000  # exchanges 0000-1999, which no subscriber has
_LANDLINE = 2 * 18 * 200 * 10_000
_AREAS = listed(
    """
    02 031 032 033 041 042 043 044 051 052 053 054 055 061 062 063 064 070
    """
)
_NANP_AREAS = [
    f"{area}"
    for area in range(200, 990)
    if area % 100
    and f"{area}"[1] != "9"
    and f"{area}"[1:] != "11"
    and f"{area}"[1:] not in {"22", "33", "44", "55", "66", "77", "88"}
]
_UK = 2 * 1000
_RRN = 100_000 * 8  # serial numbers, and last digits that fail
_LONG = 10**10
_ACCOUNT = 10**8
_ACCOUNT_SHAPES = ((3, 2, 6), (3, 3, 6), (6, 2, 6), (3, 6, 5), (4, 2, 7), (3, 4, 4, 2))
_RESIDENT_WEIGHTS = (2, 3, 4, 5, 6, 7, 8, 9, 2, 3, 4, 5)


@dataclass(frozen=True)
class Numbers:
    """The numbers of one data set. `owner` is record number * PERSONS + person, so nothing else needs to be known."""

    seed: int
    scale: int

    def _place(self, kind: str, size: int, owner: int) -> int:
        return permute(f"{self.seed}|{kind}", size, owner)

    def rrn(self, owner: int, head: str, foreign: bool, woman: bool, draws: Draws, slot: str) -> str:
        """A registration number: the head of somebody born in 2060-2099, and a last digit that fails both formulas."""
        serial, last = divmod(self._place("rrn", _RRN, owner), 8)
        body = f"{head}{(7 if foreign else 3) + woman}{serial:05d}"
        total = sum(weight * int(digit) for weight, digit in zip(_RESIDENT_WEIGHTS, body, strict=True))
        valid = {(11 - total % 11) % 10, (13 - total % 11) % 10}
        body += str([digit for digit in range(10) if digit not in valid][last])
        form = draws.pick(f"{slot}.form", ("-",) * 15 + ("",) * 3 + (" ",) * 2)
        return body[:6] + form + body[6:]

    def card(self, owner: int, korean: bool, draws: Draws, slot: str) -> str:
        """A card number with a real-looking head, whose last digit fails Luhn's formula."""
        middle = f"{self._place('card', _LONG, owner):010d}"
        head = draws.pick(f"{slot}.head", ("4", "5", "4", "5", "37", "9") if korean else ("4", "5", "4", "5", "37"))
        if head == "5":
            head += str(1 + draws.below(f"{slot}.head2", 5))
        groups = (4, 6, 5) if head == "37" else (4, 4, 4, 4)
        body = head + draws.digits(f"{slot}.fill", sum(groups) - 11 - len(head)) + middle
        total = sum(sum(divmod(int(digit) * (2 - at % 2), 10)) for at, digit in enumerate(reversed(body)))
        wrong = 1 + draws.below(f"{slot}.last", 9)
        body += str((10 - total % 10 + wrong) % 10)
        return draws.pick(f"{slot}.form", ("-",) * 6 + (" ",) * 3 + ("",)).join(_grouped(body, groups))

    def account(self, owner: int, draws: Draws, slot: str) -> str:
        """An account number of a fictional bank; it starts with 000, which is a shape and no proof."""
        shape = draws.pick(f"{slot}.shape", _ACCOUNT_SHAPES)
        body = (
            "000" + draws.digits(f"{slot}.fill", sum(shape) - 10)[1:] + f"{self._place('account', _ACCOUNT, owner):08d}"
        )
        return draws.pick(f"{slot}.form", ("-",) * 8 + ("", " ")).join(_grouped(body, shape))

    def mobile(self, owner: int, draws: Draws, slot: str, abroad: bool = False) -> str:
        """A Korean mobile number in an exchange that is not given to subscribers."""
        exchange, line = divmod(self._place("mobile", _MOBILE, owner), 10_000)
        form = "+82 10-{}-{}" if abroad else draws.pick(f"{slot}.form", _MOBILE_FORMS)
        return form.format(f"{exchange:04d}", f"{line:04d}")

    def landline(self, owner: int, draws: Draws, slot: str) -> str:
        """A Korean fixed line in such an exchange, of three digits or four."""
        rest, short = divmod(self._place("landline", _LANDLINE, owner), 2)
        rest, area = divmod(rest, len(_AREAS))
        exchange, line = divmod(rest, 10_000)
        local = (
            f"{exchange:03d}"
            if short and _AREAS[area] != "070"
            else f"{exchange * 10 + draws.below(f'{slot}.fill', 10):04d}"
        )
        form = draws.pick(f"{slot}.form", ("{}-{}-{}",) * 6 + ("{}){}-{}", "({}) {}-{}"))
        return form.format(_AREAS[area], local, f"{line:04d}")

    def english_phone(self, owner: int, draws: Draws, slot: str) -> str:
        """A number from the ranges kept for fiction: NANP 555-01xx, or the United Kingdom's two.

        They are few, so here `owner` counts the English records alone.
        """
        total = PERSONS * ENGLISH * self.scale
        place = self._place("english", total, owner)
        every = max(6, -(-total // _UK))
        if place % every == 0:
            return _british(self._place("british", _UK, place // every), draws, slot)
        area, line = divmod(self._place("nanp", 100 * len(_NANP_AREAS), place - place // every - 1), 100)
        form = draws.pick(f"{slot}.form", ("({}) 555-01{}", "{}-555-01{}", "+1 {}-555-01{}", "{}.555.01{}"))
        return form.format(_NANP_AREAS[area], f"{line:02d}")


_MOBILE_FORMS = ("010-{}-{}",) * 13 + ("010{}{}",) * 3 + ("010 {} {}",) * 2 + ("010.{}.{}", "+82 10-{}-{}")


def _british(index: int, draws: Draws, slot: str) -> str:
    mobile, line = divmod(index, 1000)
    forms = ("020 7946 0{}", "+44 20 7946 0{}") if mobile else ("07700 900{}", "+44 7700 900{}")
    return draws.pick(f"{slot}.form", forms).format(f"{line:03d}")


def _grouped(digits: str, sizes: tuple[int, ...]) -> list[str]:
    groups, at = [], 0
    for size in sizes:
        groups.append(digits[at : at + size])
        at += size
    return groups


def respelled(number: str, joiner: str) -> str:
    """The same number with another separator between its groups; a plain one of eleven digits or more is cut first."""
    groups = re.findall("[0-9]+", number)
    if len(groups) == 1:
        digits = groups[0]
        groups = _grouped(digits, (3, 4, 4)) if len(digits) == 11 else _grouped(digits, (6, len(digits) - 6))
    return ("+" if number.startswith("+") else "") + joiner.join(groups)


def fullwidth(number: str) -> str:
    """The same number in full-width digits."""
    return number.translate({ord("0") + digit: 0xFF10 + digit for digit in range(10)})


def wrapped(number: str) -> str:
    """The same number broken over a line end: behind its last separator, or in its middle."""
    cuts = [match.end() for match in re.finditer("[0-9][- .]", number)]
    at = cuts[-1] if cuts else len(number) // 2
    return number[:at] + "\n" + number[at:]
