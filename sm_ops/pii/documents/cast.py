"""Who stands in a record: relation words, and people whose sex and surname go with them."""

from __future__ import annotations

from sm_ops.pii.documents.draws import Draws
from sm_ops.pii.documents.plan import Place
from sm_ops.pii.documents.templates import Template
from sm_ops.pii.documents.values.people import Person, Wish, person
from sm_ops.pii.documents.vocabularies import Vocabularies, relations, words
from sm_ops.pii.documents.vocabularies.korean_names import suits_sex

OWN_PERCENT = 40  # of the relation words of test are words that only test has
_TRIES = 30


def relation_words(template: Template, place: Place, draws: Draws) -> dict[str, str]:
    """The word of each relation slot, all different."""
    shared, own = relations(place.lang, place.partition)
    found: dict[str, str] = {}
    for name in dict.fromkeys(each.relation for each in template.slots if each.relation):
        wish = template.wish(name)
        listed = own if own and draws.percent(f"{name}.own", OWN_PERCENT) else shared
        kinds = wish.split("|") if wish else list(shared)
        choice = [word for kind in kinds for word in listed.get(kind, []) if word not in found.values()]
        found[name] = draws.pick(name, choice)
    return found


def people(
    template: Template, spoken: dict[str, str], place: Place, names: Vocabularies, draws: Draws
) -> dict[str, Person]:
    """The people of a template by slot; two of them never share a given name by chance."""
    found: dict[str, Person] = {}
    for ordinal, slot in enumerate(template.persons):
        wish = _wish(slot, template, spoken, found)
        for k in range(_TRIES):
            found[slot] = person(slot, ordinal, wish, place, names, draws.later(k))
            if all(found[slot].given != other.given for name, other in found.items() if name != slot):
                break
    return found


def _wish(slot: str, template: Template, spoken: dict[str, str], found: dict[str, Person]) -> Wish:
    """What the template wants of a person, and what the relation words ask for."""
    needs_hanja = any((each.person, each.attribute) == (slot, "hanja") for each in template.slots)
    sex, surname = template.wish(f"{slot}.sex"), None
    for relation, word in spoken.items():
        whose = template.wish(f"{relation}.of") or "p1"
        who = next((each for each in template.persons if template.wish(f"{each}.is") == relation), "")
        if slot == who:
            sex = sex or _sex(word, words.MEN, words.WOMEN)
            relative = found.get(whose)
        elif slot == whose:
            sex = sex or _sex(word, words.OF_MEN, words.OF_WOMEN)
            relative = found.get(who)
        else:
            continue
        if relative and _share_surname(word, relative):
            surname = relative.surname
    return Wish("hanja" if needs_hanja else template.wish(slot), template.wish(f"{slot}.age"), sex, surname)


def _sex(word: str, men: frozenset[str], women: frozenset[str]) -> str | None:
    return "m" if word in men else "f" if word in women else None


def _share_surname(word: str, relative: Person) -> bool:
    return word in words.SAME_SURNAME or (word in words.SURNAME_OF_FATHER and suits_sex(relative.given, "m"))
