"""Dates of birth: days of 1960-1999, each in one partition, so that registration numbers' heads are apart too (G7)."""

from __future__ import annotations

from calendar import monthrange
from dataclasses import dataclass
from functools import cache

from sm_ops.pii.documents.draws import Draws
from sm_ops.pii.documents.listed import listed
from sm_ops.pii.documents.plan import PARTITIONS
from sm_ops.pii.documents.vocabularies import part

_AGES = {
    None: range(1960, 2000),
    "old": range(1960, 1970),
    "young": range(1986, 2000),
}  # 2060-2099 has the same leap years


@dataclass(frozen=True)
class Day:
    """A day of the calendar."""

    year: int
    month: int
    day: int

    @property
    def head(self) -> str:
        """YYMMDD, the head of the registration number."""
        return f"{self.year % 100:02d}{self.month:02d}{self.day:02d}"


@cache
def days(age: str | None = None) -> dict[str, list[Day]]:
    """The days of birth of each partition: all, those of the old, or those of the young."""
    found: dict[str, list[Day]] = {partition: [] for partition in PARTITIONS}
    for year in _AGES[age]:
        for month in range(1, 13):
            for day in range(1, monthrange(year, month)[1] + 1):
                found[part("day", f"{year:04d}-{month:02d}-{day:02d}")].append(Day(year, month, day))
    return found


_KOREAN = {
    "iso": "{y}-{m:02d}-{d:02d}",
    "dot": "{y}.{m}.{d}.",
    "spaced": "{y}. {m}. {d}.",
    "dot2": "{y}.{m:02d}.{d:02d}",
    "slash": "{y}/{m:02d}/{d:02d}",
    "korean": "{y}년 {m}월 {d}일",
    "short": "{s:02d}년 {m}월 {d}일",
    "six": "{s:02d}{m:02d}{d:02d}",
    "lunar": "음력 {y}년 {m}월 {d}일",
}
_ENGLISH = {
    "us": "{month} {d}, {y}",
    "uk": "{d} {month} {y}",
    "iso": "{y}-{m:02d}-{d:02d}",
    "abbreviated": "{abbr} {d}, {y}",
    "slash": "{m:02d}/{d:02d}/{y}",
}
_USUAL = {
    "ko": ("iso", "dot", "spaced", "dot2", "korean", "korean", "short", "six", "slash"),
    "en": ("us", "uk", "iso", "abbreviated", "slash"),
}


def spelled(day: Day, lang: str, form: str | None, draws: Draws, slot: str) -> str:
    """A day as people write it, in the form asked for or one of the usual ones. No lunar month has a 30th for sure."""
    form = form or draws.pick(f"{slot}.form", _USUAL[lang])
    if form == "lunar" and day.day > 29:
        form = "korean"
    return (_KOREAN if lang == "ko" else _ENGLISH)[form].format(
        y=day.year,
        s=day.year % 100,
        m=day.month,
        d=day.day,
        month=_MONTHS[day.month - 1],
        abbr=_MONTHS[day.month - 1][:3],
    )


_MONTHS = listed(
    """
    January February March April May June July August September October November December
    """
)
