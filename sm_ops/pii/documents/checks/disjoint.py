"""What train, validation and test must not have in common (G11), judged from the records and the templates."""

from __future__ import annotations

import re
import unicodedata
from collections import defaultdict
from itertools import combinations
from typing import Any

from sm_ops.core.errors import StageError
from sm_ops.pii.documents.checks.wellformed import Document
from sm_ops.pii.documents.plan import LANGUAGES, PARTITIONS
from sm_ops.pii.documents.surface import additions
from sm_ops.pii.documents.templates import SLOT, Template, all_templates
from sm_ops.pii.documents.vocabularies import relations

LARGEST_OVERLAP = 0.30
LONG_LINE = 12
LEAST_TEMPLATES = {
    ("train", "ko"): 40,
    ("train", "en"): 16,
    ("validation", "ko"): 10,
    ("validation", "en"): 5,
    ("test", "ko"): 20,
    ("test", "en"): 10,
}
LEAST_NEGATIVE_TEMPLATES = 8
LEAST_TEST_GENRES = 3
_NUMBERS = ("RRN", "CARD", "PHONE", "ACCOUNT")


def judged(documents: list[Document]) -> dict[str, Any]:
    """Counts of what was compared; a `StageError` for anything in common."""
    own = {partition: [each for each in documents if each.record["partition"] == partition] for partition in PARTITIONS}
    sets: dict[str, dict[str, set[str]]] = {partition: _contents(own[partition]) for partition in PARTITIONS}
    templates = all_templates()
    for template in templates:
        no_relation_words(template)
    for partition in PARTITIONS:
        sets[partition]["text line"] = _lines([each for each in templates if each.partition == partition], partition)
    for kind in sets["train"]:
        for one, other in combinations(PARTITIONS, 2):
            if sets[one][kind] & sets[other][kind]:
                raise StageError("pii-disjoint", f"{one} and {other} have a {kind} in common.")
    distinct_numbers(documents)
    return {
        "compared": {
            kind: {partition: len(sets[partition][kind]) for partition in PARTITIONS} for kind in sorted(sets["train"])
        },
        "templates": _enough(templates),
        "test_genres": _own_genres(templates),
    } | _largest_overlap(templates)


def _contents(documents: list[Document]) -> dict[str, set[str]]:
    found: dict[str, set[str]] = {
        kind: set()
        for kind in (
            "template",
            "given name",
            "full name",
            "road",
            "district",
            "company",
            "local part",
            "number",
            "day of birth",
        )
    }
    for document in documents:
        found["template"].add(document.record["template_id"])
        found["company"].update(document.companies)
        for each in document.planted:
            value = document.record["source_text"][each.start : each.end]
            if each.type == "PERSON" and each.owner:
                found["given name"].add(each.owner.given)
                found["full name"].add(f"{each.owner.surname} {each.owner.given}")
            elif each.type == "EMAIL":
                found["local part"].add(value.partition("@")[0])
            elif each.type == "ADDRESS":
                found["road"].update(
                    re.findall(r"(?<![0-9가-힣])[가-힣]+(?:로|길)(?=[ 0-9])|[A-Z][a-z]+-(?:ro|daero|gil)", value)
                )
                found["district"].update(re.findall(r"(?<= )\S+[구군](?= )|[A-Z][a-z]+-(?:gu|gun)(?=,)", value))
            elif each.type in _NUMBERS:
                found["number"].add(digits(value))
            elif each.type == "DOB" and each.owner:
                found["day of birth"].add(each.owner.day)
    return found


def digits(number: str) -> str:
    """The digits of a number, full-width ones as plain."""
    return "".join(character for character in unicodedata.normalize("NFKC", number) if character.isdecimal())


def distinct_numbers(documents: list[Document]) -> None:
    """No number stands in two records, or for two people (G7)."""
    owners: dict[tuple[str, str], tuple[str, str]] = {}
    for document in documents:
        for each in document.planted:
            if each.type in _NUMBERS and each.owner:
                number = digits(document.record["source_text"][each.start : each.end])
                owner = (document.record["id"], each.owner.slot)
                if owners.setdefault((each.type, number), owner) != owner:
                    raise StageError(
                        "pii-disjoint", f"A {each.type} number of record {owner[0]} is somebody else's too."
                    )


def _lines(templates: list[Template], partition: str) -> set[str]:
    """Lines of 12 or more characters, without their slots."""
    texts = [each.bare for each in templates]
    texts += [
        SLOT.sub("", line).replace("@", "").replace("#", "")
        for (where, _), lines in additions().items()
        if where == partition
        for line in lines
    ]
    return {line.strip() for text in texts for line in text.split("\n") if len(line.strip()) >= LONG_LINE}


def no_relation_words(template: Template) -> None:
    """A positive template has no relation word outside its slots: such a word would be PII without a gold pair."""
    if template.negative:
        return
    text = template.bare.lower()
    for part in relations(template.lang, "test"):
        for word in (each for kind in part.values() for each in kind):
            if re.search(rf"\b{word}\b" if template.lang == "en" else word, text):
                raise StageError(
                    "pii-template", f"The template {template.id} writes {word} itself; make it a slot or leave it out."
                )


def _enough(templates: list[Template]) -> dict[str, list[int]]:
    """Positive and negative templates by cell."""
    found = {}
    for (partition, lang), least in LEAST_TEMPLATES.items():
        own = [each for each in templates if (each.partition, each.lang) == (partition, lang)]
        positive, negative = sum(not each.negative for each in own), sum(each.negative for each in own)
        if positive < least or negative < LEAST_NEGATIVE_TEMPLATES:
            raise StageError(
                "pii-disjoint",
                f"{partition} {lang} has {positive} positive and {negative} negative templates, {least} and "
                f"{LEAST_NEGATIVE_TEMPLATES} are needed.",
            )
        found[f"{partition} {lang}"] = [positive, negative]
    return found


def _own_genres(templates: list[Template]) -> list[str]:
    """Genres that only test has."""
    genres: dict[str, set[str]] = defaultdict(set)
    for each in templates:
        genres[each.partition].add(each.genre)
    own = sorted(genres["test"] - genres["train"] - genres["validation"])
    if len(own) < LEAST_TEST_GENRES:
        raise StageError("pii-disjoint", f"Test has {len(own)} genres of its own, {LEAST_TEST_GENRES} are needed.")
    return own


def grams(text: str) -> frozenset[str]:
    """The character 5-grams of a text."""
    return frozenset(text[at : at + 5] for at in range(len(text) - 4))


def overlap(one: frozenset[str], other: frozenset[str]) -> float:
    """Jaccard's index of two sets."""
    return len(one & other) / len(one | other) if one or other else 0.0


def _largest_overlap(templates: list[Template]) -> dict[str, Any]:
    """The largest overlap of a test template with a train template of its language."""
    largest = (0.0, "", "")
    for lang in LANGUAGES:
        train = [(each.id, grams(each.bare)) for each in templates if (each.partition, each.lang) == ("train", lang)]
        for test in [each for each in templates if (each.partition, each.lang) == ("test", lang)]:
            own = grams(test.bare)
            largest = max(largest, *((overlap(own, other), test.id, name) for name, other in train))
    if largest[0] > LARGEST_OVERLAP:
        raise StageError(
            "pii-disjoint",
            f"Template {largest[1]} overlaps {largest[2]} by {largest[0]:.2f}, {LARGEST_OVERLAP} is the most; "
            "rewrite one.",
        )
    return {"largest_5gram_overlap": round(largest[0], 4), "largest_5gram_overlap_of": [largest[1], largest[2]]}
