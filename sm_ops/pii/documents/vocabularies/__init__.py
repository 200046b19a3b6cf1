"""The vocabularies, each item in one partition by its own hash, before any record is made (G5)."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache

from sm_ops.core.errors import StageError
from sm_ops.core.fs import canonical_json, sha256
from sm_ops.pii.documents.korean import romanise
from sm_ops.pii.documents.plan import PARTITIONS
from sm_ops.pii.documents.vocabularies import english_names, korean_names, organisations, places, words

# The smallest number of items in (train, validation, test).
MINIMA = {
    "given_ko": (400, 60, 150),
    "first_en": (100, 10, 25),
    "last_en": (30, 5, 10),
    "road": (100, 15, 35),
    "district": (20, 3, 6),
}


def part(kind: str, item: str) -> str:
    """The partition of an item: eight elevenths train, one validation, two test."""
    eleventh = int.from_bytes(hashlib.sha256(f"v1|{kind}|{item}".encode()).digest(), "big") % 11
    return "train" if eleventh < 8 else "validation" if eleventh == 8 else "test"


def split(kind: str, items: list[str]) -> dict[str, list[str]]:
    """Items by partition, in their own order; the build fails where a partition gets too few."""
    parts = {partition: [item for item in items if part(kind, item) == partition] for partition in PARTITIONS}
    for partition, least in zip(PARTITIONS, MINIMA.get(kind, (1, 1, 1)), strict=True):
        if len(parts[partition]) < least:
            found = len(parts[partition])
            raise StageError(
                "pii-vocabulary",
                f"The vocabulary {kind} has {found} items in {partition}, {least} are needed; add some.",
            )
    return parts


@dataclass(frozen=True, eq=False)
class Vocabularies:
    """Split vocabularies by kind and partition; surnames and relations by language and partition."""

    items: dict[str, dict[str, list[str]]]

    def of(self, kind: str, partition: str) -> list[str]:
        """The items of a kind that a partition may use."""
        return self.items[kind][partition]

    def hashes(self) -> dict[str, str]:
        """SHA-256 of each vocabulary with its split, and of the closed classes."""
        return {kind: sha256(canonical_json(parts)) for kind, parts in sorted((self.items | _closed()).items())}

    def sizes(self) -> dict[str, dict[str, int]]:
        """Items by kind and partition."""
        return {
            kind: {partition: len(found) for partition, found in parts.items()}
            for kind, parts in sorted(self.items.items())
        }


def _closed() -> dict:
    return {
        "surnames_ko": [korean_names.COMMON_SURNAMES, korean_names.RARE_SURNAMES],
        "relations": [words.RELATIONS_KO, words.RELATIONS_KO_TEST, words.RELATIONS_EN, words.RELATIONS_EN_TEST],
        "cities": [places.CITIES, places.PROVINCES, places.TOWNSHIPS],
        "banks": [organisations.BANKS, organisations.BANKS_EN],
    }


@cache
def vocabularies() -> Vocabularies:
    """All vocabularies, split."""
    return build()


def build() -> Vocabularies:
    """Split every vocabulary and check what must hold between them."""
    kinds = {
        "given_ko": _unlike(korean_names.given_names()),
        "first_en": english_names.FIRST,
        "last_en": english_names.LAST,
        "foreign": english_names.IN_HANGUL,
        "district": places.districts(),
        "road": places.roads(),
        "neighbourhood": places.neighbourhoods(),
        "building": places.buildings(),
        "company": organisations.companies(),
        "company_en": organisations.companies_en(),
        "clinic": organisations.clinics(),
        "school": organisations.schools(),
        "email_word": words.EMAIL_WORDS,
    }
    for kind, items in kinds.items():
        if len(set(items)) != len(items):
            raise StageError("pii-vocabulary", f"The vocabulary {kind} names an item twice; keep one.")
    latin = [romanise(name) for name in kinds["given_ko"]] + [
        name.lower() for name in english_names.FIRST + english_names.LAST
    ]
    if len({*latin, *words.EMAIL_WORDS}) != len(latin) + len(words.EMAIL_WORDS):
        raise StageError("pii-vocabulary", "Two names or e-mail words have one Latin spelling; drop one of them.")
    return Vocabularies({kind: split(kind, items) for kind, items in kinds.items()})


def _unlike(names: list[str]) -> list[str]:
    """Names without those that share a Latin spelling with an earlier one, so that e-mail addresses stay apart."""
    seen: dict[str, str] = {}
    for name in names:
        seen.setdefault(romanise(name), name)
    return list(seen.values())


def surname_latin(surname: str) -> str:
    """The usual Latin spelling of a surname."""
    return _surnames()[surname][0]


def surname_hanja(surname: str) -> str:
    """The Chinese character of a surname."""
    return _surnames()[surname][1]


@cache
def _surnames() -> dict[str, tuple[str, str]]:
    return korean_names.COMMON_SURNAMES | {
        surname: spellings for own in korean_names.RARE_SURNAMES.values() for surname, spellings in own.items()
    }


def is_seen_surname(surname: str) -> bool:
    """Whether the train partition may use a surname (Korean or English)."""
    if "가" <= surname[0] <= "힣":
        return surname in korean_names.COMMON_SURNAMES or surname in korean_names.RARE_SURNAMES["train"]
    return part("last_en", surname) == "train"


def relations(lang: str, partition: str) -> tuple[Mapping[str, list[str]], Mapping[str, list[str]]]:
    """Shared relation words by kind, and those that only this partition has."""
    shared, own = (
        (words.RELATIONS_KO, words.RELATIONS_KO_TEST) if lang == "ko" else (words.RELATIONS_EN, words.RELATIONS_EN_TEST)
    )
    return shared, own if partition == "test" else {}
