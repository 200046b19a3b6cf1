"""Templates: texts with slots, each in one partition (G6). The texts are in the modules beside this one.

A block begins with `=== name genre [slot=wish ...]`. In its text,

* `{p1}` is a person's name, `{p1.given}` another spelling of it, `{p1.rrn}`, `{p1.dob.korean}` what belongs to the
  person; `k1` is a Korean in Latin letters, `f1` a foreigner in Hangul, `e1` somebody with an English name;
* `{r1}` is a relation word, `{co}`, `{clinic}`, `{school}`, `{bank}`, `{building}` an organisation (no PII);
* `{d.amount}` is a distractor, drawn anew at each place, `{d1.date}` one that stays the same in the record;
* `{~p1}` is the same spelling where it is no PII: a hard case;
* `{은}` is a particle in the form that the word before it asks for;
* `<a|b>` is one of its variants.

A wish narrows a draw: `p1=noun` (see `values.people.Wish`), `p1.age=old`, `p1.sex=f`, `r1=parent|child` (kinds of
relation), `clinic=내과의원` (endings). `p2.is=r1` says that the word r1 is what p2 is of p1, so that names fit it, and
`r1.of=p3` of p3 instead. Values never come from the text itself.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache, cached_property
from importlib import import_module

from sm_ops.core.errors import StageError
from sm_ops.core.fs import canonical_json, sha256
from sm_ops.pii.documents.korean import PARTICLES
from sm_ops.pii.documents.plan import LANGUAGES, MOST_PAIRS, MOST_SENTENCES, PARTITIONS, PERSONS
from sm_ops.pii.documents.values.distractors import DISTRACTORS

VARIANTS = re.compile(r"<([^<>]*\|[^<>]*)>")
SLOT = re.compile(r"\{([^{}]*)\}")
_SHAPE = re.compile(
    r"(~?)(?:([pkfe]\d)(?:\.([a-z]+))?(?:\.([a-z0-9]+))?|(r\d)|(co|clinic|school|bank|building)(\d?)|d(\d?)\.([a-z_]+)|([가-힣]+))"
)

NAME_FORMS = ("", "given", "first", "spaced", "gap", "hanja", "roman", "caps")
PLAIN_FORMS = ("last", "surname", "masked", "circles")  # of names, and no PII by policy
ATTRIBUTES = {
    "rrn": "RRN", "dob": "DOB", "phone": "PHONE", "mobile": "PHONE", "tel": "PHONE",
    "email": "EMAIL", "account": "ACCOUNT", "card": "CARD", "address": "ADDRESS",
}  # fmt: skip
NUMBER_TYPES = ("RRN", "PHONE", "ACCOUNT", "CARD")


_WISHES = {"age": ("old", "young"), "sex": ("m", "f")}


@dataclass(frozen=True)
class Slot:
    """One slot of a text: exactly one of person, relation, context, distractor and particle is set."""

    hard: bool = False
    person: str = ""
    attribute: str = ""
    form: str = ""
    relation: str = ""
    context: str = ""
    distractor: str = ""
    fixed: str = ""
    particle: str = ""

    @property
    def type(self) -> str | None:
        """The type of the value, or None where it is no PII."""
        if self.relation:
            return "REL"
        if not self.person or self.attribute in PLAIN_FORMS:
            return None
        return ATTRIBUTES.get(self.attribute, "PERSON")


@cache
def slot(text: str) -> Slot:
    """Read the inside of braces; a `StageError` says which one is not understood."""
    match = _SHAPE.fullmatch(text)
    if match:
        hard, person, attribute, form, relation, context, number, fixed, distractor, particle = (
            part or "" for part in match.groups()
        )
        known = (
            attribute in (*NAME_FORMS, *PLAIN_FORMS, *ATTRIBUTES)
            and (not distractor or distractor in DISTRACTORS)
            and (not particle or particle in PARTICLES)
        )
        if known:
            return Slot(bool(hard), person, attribute, form, relation, context + number, distractor, fixed, particle)
    raise StageError(
        "pii-template", f"The slot {{{text}}} is not known; see sm_ops/pii/documents/templates/__init__.py."
    )


@dataclass(frozen=True)
class Template:
    """One text with slots, for positive or negative records of one partition and language."""

    id: str
    lang: str
    partition: str
    negative: bool
    genre: str
    text: str
    wishes: tuple[tuple[str, str], ...] = ()

    @cached_property
    def slots(self) -> list[Slot]:
        """All slots, those of every variant too, in their order."""
        return [slot(found) for found in SLOT.findall(self.text)]

    @cached_property
    def sure(self) -> list[Slot]:
        """The slots that stand in every variant."""
        return [slot(found) for found in SLOT.findall(VARIANTS.sub("", self.text))]

    @cached_property
    def persons(self) -> list[str]:
        """The persons, in the order in which they first stand."""
        return list(dict.fromkeys(each.person for each in self.slots if each.person))

    @cached_property
    def pairs(self) -> int:
        """At most so many gold pairs come from the text."""
        return len(
            {
                (each.person, each.attribute, each.form, each.relation)
                for each in self.slots
                if each.type and not each.hard
            }
        )

    @cached_property
    def sentences(self) -> int:
        """Lines that are not blank, and the sentences within them."""
        lines = [line for line in SLOT.sub("x", self.text).split("\n") if line.strip()]
        return sum(max(1, len(re.findall(r"[.?!](?=\s|$)", line))) for line in lines)

    @cached_property
    def bare(self) -> str:
        """The text without its slots; of variants all stay."""
        return SLOT.sub("", self.text).replace("<", "").replace(">", "").replace("|", "")

    def wish(self, name: str) -> str | None:
        """What narrows a slot's draw."""
        return dict(self.wishes).get(name)


@cache
def templates(partition: str, lang: str, negative: bool) -> tuple[Template, ...]:
    """The templates of a cell, in the order of their modules."""
    return tuple(_cell(partition, lang, negative))


def all_templates() -> list[Template]:
    """Every template, cell by cell."""
    return [
        template
        for partition in PARTITIONS
        for lang in LANGUAGES
        for negative in (False, True)
        for template in templates(partition, lang, negative)
    ]


def digest() -> str:
    """SHA-256 of all templates."""
    return sha256(canonical_json([[each.id, each.genre, each.text, each.wishes] for each in all_templates()]))


def _cell(partition: str, lang: str, negative: bool) -> Iterator[Template]:
    module = import_module(f"{__name__}.{lang}_{partition}")
    text = module.NEGATIVE if negative else module.POSITIVE
    for head, body in blocks(text):
        name, genre, *wishes = head.split()
        number = f"{lang}-{partition}-{'n' if negative else 'p'}-{name}"
        pairs = tuple((slot_name, wish) for slot_name, _, wish in (each.partition("=") for each in wishes))
        template = Template(number, lang, partition, negative, genre, body, pairs)
        _check(template)
        yield template


def _check(template: Template) -> None:
    if template.pairs > MOST_PAIRS or template.sentences > MOST_SENTENCES or len(template.persons) > PERSONS:
        raise StageError(
            "pii-template",
            f"The template {template.id} has more than {MOST_PAIRS} pairs, {MOST_SENTENCES} sentences or {PERSONS} "
            "persons; make it two.",
        )
    names = {name for each in template.slots for name in (each.person, each.relation, each.context) if name}
    for whole, wish in template.wishes:
        name, dot, key = whole.partition(".")
        known = _WISHES.get(key) or (*names, "none")
        if name not in names or (dot and wish not in known):
            raise StageError(
                "pii-template", f"The template {template.id} wishes {whole}={wish}, which says nothing of its slots."
            )


def blocks(text: str) -> list[tuple[str, str]]:
    """Heads and bodies of a module's text."""
    parts = re.split(r"^=== ?(.*)\n", text, flags=re.MULTILINE)[1:]
    return [(head, body.strip("\n")) for head, body in zip(parts[::2], parts[1::2], strict=True)]
