"""One record from its place: template, people and surface forms are drawn, the text is written, places are noted."""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass, field, replace
from typing import Any

from sm_ops.core.errors import StageError
from sm_ops.pii.documents import cast, korean, surface
from sm_ops.pii.documents.checks.wellformed import Document, Planted, faults
from sm_ops.pii.documents.draws import Draws
from sm_ops.pii.documents.plan import Place
from sm_ops.pii.documents.templates import NUMBER_TYPES, SLOT, VARIANTS, Slot, Template, slot, templates
from sm_ops.pii.documents.values.distractors import DISTRACTORS
from sm_ops.pii.documents.values.numbers import Numbers
from sm_ops.pii.documents.values.people import Belongings, Person, name_of
from sm_ops.pii.documents.vocabularies import Vocabularies, relations
from sm_ops.pii.documents.vocabularies.organisations import BANKS, BANKS_EN

ATTEMPTS = 30
_LABELS = {"RRN": "주민등록번호", "PHONE": "연락처", "ACCOUNT": "계좌번호", "CARD": "카드번호"}


def build(place: Place, names: Vocabularies, numbers: Numbers) -> tuple[Document, int]:
    """The record of a place, and how many drafts were thrown away because a name happened to stand elsewhere in them.

    A draft touches no other record (G3): numbers are the same in every one, only draws are repeated under another k.
    """
    fault = ""
    for attempt in range(ATTEMPTS):
        draft = _Draft(
            place, names, numbers, Draws(numbers.seed, place.partition, place.lang, place.index, attempt * ATTEMPTS)
        )
        document = draft.document()
        fault = next(iter(faults(document)), "")
        if not fault:
            return document, attempt
    template = document.record["template_id"]
    raise StageError(
        "pii-well-formed", f"The template {template} makes no well-formed record: {fault}; change its words."
    )


@dataclass
class _Draft:
    place: Place
    names: Vocabularies
    numbers: Numbers
    draws: Draws
    template: Template = field(init=False)
    text: str = ""
    planted: list[Planted] = field(default_factory=list)
    hard: list[Planted] = field(default_factory=list)
    people: dict[str, Person] = field(default_factory=dict)
    relations: dict[str, str] = field(default_factory=dict)
    companies: list[str] = field(default_factory=list)
    places_of_distractors: int = 0

    def document(self) -> Document:
        self.template = template = self._template()
        self.relations = cast.relation_words(template, self.place, self.draws)
        self.people = cast.people(template, self.relations, self.place, self.names, self.draws)
        self._write(self._variant(template.text))
        self._additions()
        if "crlf" in self.place.surfaces:
            self._end_lines_with_crlf()
        return self._finish(template)

    def _template(self) -> Template:
        """The cell's templates in turn, so all are used equally often; another where one cannot show the forms."""
        cell = templates(self.place.partition, self.place.lang, self.place.negative)
        turn = cell[self.place.rank % len(cell)]
        if surface.suits(turn, self.place.surfaces):
            return turn
        fitting = [each for each in cell if surface.suits(each, self.place.surfaces)]
        if not fitting:
            forms = ", ".join(self.place.surfaces)
            raise StageError("pii-template", f"No {self.place.partition} template can show {forms} together; add one.")
        return self.draws.pick("template", fitting)

    def _variant(self, text: str) -> str:
        count = 0

        def pick(match: re.Match[str]) -> str:
            nonlocal count
            count += 1
            return self.draws.pick(f"variant{count}", match[1].split("|"))

        return VARIANTS.sub(pick, text)

    def _write(self, text: str) -> None:
        at = 0
        for match in SLOT.finditer(text):
            self.text += text[at : match.start()]
            self._fill(slot(match[1]))
            at = match.end()
        self.text += text[at:]

    def _fill(self, each: Slot) -> None:
        if each.particle:
            self.text += korean.particle(each.particle, self.text)
        else:
            self._put(self._value(each), each.type, self.people.get(each.person), each.attribute, each.hard)

    def _put(self, value: str, type_: str | None, owner: Person | None, attribute: str, hard: bool = False) -> None:
        if type_:
            place = Planted(len(self.text), len(self.text) + len(value), type_, owner, attribute)
            (self.hard if hard else self.planted).append(place)
        self.text += value

    def _value(self, each: Slot) -> str:
        if each.person:
            owner = self.people[each.person]
            if each.type in (None, "PERSON"):
                return name_of(owner, each.attribute, self.place.lang, self.draws)
            return Belongings(self.place, self.names, self.numbers, self.draws).value(
                owner, each.attribute, each.form or None
            )
        if each.relation:
            return self.relations[each.relation]
        if each.context:
            return self._context(each.context)
        self.places_of_distractors += 1
        name = f"d{each.fixed}" if each.fixed else f"d.{self.places_of_distractors}"
        return DISTRACTORS[each.distractor](self.draws, f"{name}.{each.distractor}")

    def _context(self, name: str) -> str:
        """An organisation; a wish names the endings that it may have."""
        kind, english = name.rstrip("0123456789"), self.place.lang == "en"
        if kind == "bank":
            return self.draws.pick(name, BANKS_EN if english else BANKS)
        kind = {"co": "company_en" if english else "company"}.get(kind, kind)
        endings = tuple((self.template.wish(name) or "").split("|"))
        choice = [item for item in self.names.of(kind, self.place.partition) if item.endswith(endings)]
        self.companies.append(self.draws.pick(name, choice))
        return self.companies[-1]

    def _additions(self) -> None:
        full_names = [
            each
            for each in self.planted
            if each.type == "PERSON" and each.attribute == "" and each.owner and each.owner.kind == "p"
        ]
        numbers = [(each, self.text[each.start : each.end]) for each in self.planted if each.type in NUMBER_TYPES]
        for form in self.place.surfaces:
            if form not in surface.ADDED:
                continue
            line = self.draws.pick(f"{form}.line", surface.additions()[self.place.partition, form])
            before, _, after = line.partition("@")
            if form in surface.NUMBERS:
                old, number = self.draws.pick(f"{form}.number", numbers)
                self._write("\n" + before.replace("#", _LABELS[old.type]))
                self._put(surface.respell(number, form, self.draws), old.type, old.owner, old.attribute)
            else:
                self._write("\n" + before)
                if form == "marker":
                    self.text += surface.marker(self.draws)
                else:
                    owner = self.draws.pick(f"{form}.person", full_names).owner
                    assert owner
                    self._put(name_of(owner, form, self.place.lang, self.draws), "PERSON", owner, form)
            self._write(after)

    def _end_lines_with_crlf(self) -> None:
        def moved(place: Planted) -> Planted:
            return replace(
                place,
                start=place.start + self.text.count("\n", 0, place.start),
                end=place.end + self.text.count("\n", 0, place.end),
            )

        self.planted, self.hard = [moved(each) for each in self.planted], [moved(each) for each in self.hard]
        self.text = self.text.replace("\n", "\r\n")

    def _finish(self, template: Template) -> Document:
        entities: dict[tuple[str, str], dict[str, Any]] = {}
        for each in sorted(self.planted, key=lambda place: (place.start, -place.end)):
            value = self.text[each.start : each.end]
            if "\n" not in value and (each.type, value) not in entities:
                entities[each.type, value] = {"type": each.type, "value": value} | self._seen(each, value)
        record = {
            "id": self.place.id,
            "lang": self.place.lang,
            "partition": self.place.partition,
            "template_id": template.id,
            "negative": self.place.negative,
            "source_text": self.text,
            "entities": list(entities.values()),
            "target_tsv": "\n".join(f"{type_}\t{value}" for type_, value in entities),
        }
        if "nfd" in self.place.surfaces:
            record["raw_text"] = unicodedata.normalize("NFD", self.text)
        return Document(record, tuple(self.planted), tuple(self.hard), tuple(self.companies))

    def _seen(self, each: Planted, value: str) -> dict[str, bool]:
        """Whether train may use a surname or a relation word, noted in test only (G5)."""
        if self.place.partition != "test":
            return {}
        if each.type == "REL":
            shared, _ = relations(self.place.lang, self.place.partition)
            return {"seen_rel": any(value in words for words in shared.values())}
        if (
            each.type != "PERSON"
            or each.attribute in ("given", "first")
            or each.owner is None
            or each.owner.seen_surname is None
        ):
            return {}
        return {"seen_surname": each.owner.seen_surname}
