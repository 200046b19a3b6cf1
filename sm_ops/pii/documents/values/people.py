"""The people of one record: their names in every spelling, and whatever else belongs to them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

from sm_ops.pii.documents.draws import Draws
from sm_ops.pii.documents.korean import romanise, syllables
from sm_ops.pii.documents.listed import listed
from sm_ops.pii.documents.plan import PERSONS, Place
from sm_ops.pii.documents.values import dates, places
from sm_ops.pii.documents.values.numbers import Numbers, respelled
from sm_ops.pii.documents.vocabularies import Vocabularies, is_seen_surname, part, surname_hanja, surname_latin
from sm_ops.pii.documents.vocabularies.english_names import FIRST, MEN, WOMEN
from sm_ops.pii.documents.vocabularies.korean_names import (
    COMMON_SURNAMES,
    HANJA,
    NOUNS,
    RARE_SURNAMES,
    SINGLE,
    STATIONS,
    suits_sex,
)

RARE_PERCENT = {"train": 15, "validation": 20, "test": 30}
MAIL_DOMAINS = listed(
    """
    example.com example.net example.org mail.example.com post.example.net gasang.example gyeonbon.example
    mohyeong.test mail.siheom.test yesi.example heogu.invalid
    """
)
# Blanks between the letters of a spaced name; names in forms are often justified with an ideographic one.
GAPS = (" ",) * 6 + ("  ", "\u3000", "\u00a0")


@dataclass(frozen=True)
class Person:
    """One person of a record.

    `kind`: p native to the language, k Korean in Latin letters, f foreign in Hangul, e English.
    """

    slot: str
    kind: str
    ordinal: int
    surname: str
    given: str
    day: dates.Day
    sex: str | None = None

    @property
    def latin(self) -> tuple[str, str]:
        """Given name and surname in lower-case Latin letters, for e-mail addresses."""
        if self.is_korean:
            return romanise(self.given), surname_latin(self.surname).lower()
        return self.given.lower(), self.surname.lower()

    @property
    def is_korean(self) -> bool:
        """Whether the name is a Korean one."""
        return self.kind in "pk" and "가" <= self.given[0] <= "힣"

    @property
    def seen_surname(self) -> bool | None:
        """Whether train may use the surname; None for a foreign name, which has none of the lists' surnames."""
        return None if self.kind == "f" else is_seen_surname(self.surname)


@dataclass(frozen=True)
class Wish:
    """What narrows the draw of a person.

    `name`: noun, station, single, hanja (has Chinese characters) or plain (two syllables are given); `age`: old or
    young; `sex`: m or f; `surname`: that of a relative.
    """

    name: str | None = None
    age: str | None = None
    sex: str | None = None
    surname: str | None = None


def person(slot: str, ordinal: int, wish: Wish, place: Place, names: Vocabularies, draws: Draws) -> Person:
    """Draw a person."""
    kind, day = slot[0], draws.pick(f"{slot}.day", dates.days(wish.age)[place.partition])
    if kind == "f":
        return Person(slot, kind, ordinal, "", draws.pick(f"{slot}.name", names.of("foreign", place.partition)), day)
    if kind == "e" or (kind == "p" and place.lang == "en"):
        of_sex = {"m": MEN, "f": WOMEN, None: FIRST}[wish.sex]
        first = draws.pick(f"{slot}.first", [each for each in names.of("first_en", place.partition) if each in of_sex])
        last = wish.surname or draws.pick(f"{slot}.last", names.of("last_en", place.partition))
        return Person(slot, kind, ordinal, last, first, day, "f" if first in WOMEN else "m")
    if wish.name == "station":
        station = draws.pick(
            f"{slot}.name", [each for each in STATIONS if part("given_ko", each[1]) == place.partition]
        )
        return Person(slot, kind, ordinal, station[0], station[1], day)
    given = _given(names, place.partition, wish.name, wish.sex)
    rare = (
        RARE_SURNAMES[place.partition]
        if draws.percent(f"{slot}.rare", RARE_PERCENT[place.partition])
        else COMMON_SURNAMES
    )
    surname = wish.surname or draws.pick(f"{slot}.surname", list(rare))
    name = draws.pick(f"{slot}.name", given)
    sex = wish.sex or next((sex for sex, other in (("m", "f"), ("f", "m")) if not suits_sex(name, other)), None)
    return Person(slot, kind, ordinal, surname, name, day, sex)


@cache
def _given(names: Vocabularies, partition: str, wish: str | None, sex: str | None) -> list[str]:
    """The given names that suit; a narrow wish goes before the sex."""
    given = [each for each in names.of("given_ko", partition) if _suits(each, wish)]
    return [each for each in given if suits_sex(each, sex)] or given


def _suits(given: str, wish: str | None) -> bool:
    if wish == "noun":
        return given in NOUNS
    if wish == "hanja":
        return len(given) == 2 and all(letter in HANJA for letter in given)
    if wish == "single":
        return given in SINGLE
    return wish is None or len(given) == 2


def name_of(who: Person, form: str, lang: str, draws: Draws) -> str:
    """A name in a spelling: "" (usual), given, spaced, gap, hanja, roman, caps, first, last, masked or circles."""
    slot = f"{who.slot}.{form}"
    if form == "given" or form == "first":
        return who.given
    if form == "last":
        return who.surname
    if who.kind == "f":
        return who.given
    if not who.is_korean:
        return f"{who.given} {who.surname}".upper() if form == "caps" else f"{who.given} {who.surname}"
    full = who.surname + who.given
    if form in ("roman", "caps") or (form == "" and who.kind == "k"):
        return _roman(who, form, draws, slot)
    if form == "spaced":
        return draws.pick(slot, GAPS).join(full)
    if form == "gap":
        return f"{who.surname} {who.given}"
    if form == "hanja":
        return surname_hanja(who.surname) + "".join(HANJA[letter] for letter in who.given)
    if form == "masked":
        return full[0] + "*" + full[2:] if len(full) > 2 else full[0] + "*"
    if form == "circles":
        return full[0] + "OO"
    return full


def _roman(who: Person, form: str, draws: Draws, slot: str) -> str:
    surname, parts = surname_latin(who.surname), syllables(who.given)
    if form == "caps":
        return f"{surname} {''.join(parts)}".upper()
    joined, hyphened = "".join(parts).capitalize(), "-".join(parts).capitalize()
    return draws.pick(
        f"{who.slot}.roman",
        (f"{surname} {hyphened}", f"{hyphened} {surname}", f"{surname} {joined}", f"{joined} {surname}"),
    )


@dataclass(frozen=True)
class Belongings:
    """Makes what belongs to the people of one record."""

    place: Place
    names: Vocabularies
    numbers: Numbers
    draws: Draws

    def value(self, who: Person, attribute: str, form: str | None) -> str:
        """One attribute (see `templates.ATTRIBUTES`); a number with form "plain" has no signs."""
        if form == "plain":
            return respelled(self.value(who, attribute, None), "")
        slot, owner = f"{who.slot}.{attribute}", self.place.number * PERSONS + who.ordinal
        english = self.place.lang == "en"
        if attribute == "rrn":
            foreign = form == "foreign" or who.kind in "fe" or (english and who.kind == "p")
            woman = who.sex == "f" or (who.sex is None and self.draws.percent(f"{slot}.woman", 50))
            return self.numbers.rrn(owner, who.day.head, foreign, woman, self.draws, slot)
        if attribute == "dob":
            return dates.spelled(who.day, self.place.lang, form, self.draws, slot)
        if attribute == "card":
            return self.numbers.card(owner, not english, self.draws, slot)
        if attribute == "account":
            return self.numbers.account(owner, self.draws, slot)
        if attribute == "email":
            return self._email(who, slot)
        if attribute == "address":
            if english:
                return places.english_address(self.place.partition, self.names, self.draws, slot)
            return places.korean_address(self.place.partition, form, self.names, self.draws, slot)
        if english and who.kind != "k":
            return self.numbers.english_phone(self.place.english * PERSONS + who.ordinal, self.draws, slot)
        if attribute == "tel" or (attribute == "phone" and not english and self.draws.percent(f"{slot}.fixed", 20)):
            return self.numbers.landline(owner, self.draws, slot)
        return self.numbers.mobile(owner, self.draws, slot, abroad=english or form == "abroad")

    def _email(self, who: Person, slot: str) -> str:
        """Name and surname are always kept apart by a sign, so that two partitions' names never make one local part."""
        draws, word = self.draws, self.draws.pick(f"{slot}.word", self.names.of("email_word", self.place.partition))
        number = str(1 + draws.below(f"{slot}.number", 9998))
        if who.kind == "f":
            local = word + number
        else:
            given, surname = who.latin
            local = draws.pick(
                f"{slot}.local",
                (
                    f"{given}.{surname}",
                    f"{surname}.{given}",
                    f"{given}_{surname}",
                    f"{given}{number}",
                    f"{word}{number}",
                    f"{given}.{word}",
                    f"{surname}-{given}{number[:2]}",
                ),
            )
        return f"{local}@{draws.pick(f'{slot}.domain', MAIL_DOMAINS)}"
