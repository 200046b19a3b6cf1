"""Surface forms: lines added to a Korean record that repeat a name or a number in another spelling (G8)."""

from __future__ import annotations

from functools import cache

from sm_ops.core.errors import StageError
from sm_ops.core.fs import canonical_json, sha256
from sm_ops.pii.documents.draws import Draws
from sm_ops.pii.documents.plan import MOST_PAIRS, MOST_SENTENCES, PARTITIONS
from sm_ops.pii.documents.templates import NUMBER_TYPES, Slot, Template, blocks
from sm_ops.pii.documents.templates.ko_additions import TEXT
from sm_ops.pii.documents.values.numbers import fullwidth, respelled, wrapped

NAMES = ("spaced", "gap")
NUMBERS = ("separators", "fullwidth", "wrapped")
ADDED = (*NAMES, *NUMBERS, "marker")
_JOINERS = ("-", " ", ".", "", "ㅡ", "–", " - ")
_MARKERS = ("[PERSON_1]", "[PERSON_2]", "[PHONE_1]", "[RRN_1]", "[ADDRESS_1]", "[ACCOUNT_1]")


@cache
def additions() -> dict[tuple[str, str], list[str]]:
    """The lines by (partition, form)."""
    found = {}
    for head, body in blocks(TEXT):
        partition, form = head.split()
        found[partition, form] = body.split("\n")
    missing = [
        f"{form} in {partition}" for partition in PARTITIONS for form in ADDED if not found.get((partition, form))
    ]
    if missing:
        raise StageError("pii-template", f"There are no added lines for {missing[0]}; write some into ko_additions.py.")
    return found


def digest() -> str:
    """SHA-256 of all added lines."""
    return sha256(canonical_json([[*key, lines] for key, lines in sorted(additions().items())]))


def suits(template: Template, forms: tuple[str, ...]) -> bool:
    """Whether a template can show all these forms and stays within 8 pairs and 12 sentences."""
    added = [form for form in forms if form in ADDED]
    new_pairs = sum(form in (*NAMES, "separators", "fullwidth") for form in added)
    return (
        (not set(forms) & set(NAMES) or any(_is_full_name(slot) for slot in template.sure))
        and (
            not set(forms) & set(NUMBERS) or any(slot.type in NUMBER_TYPES and not slot.hard for slot in template.sure)
        )
        and ("crlf" not in forms or bool(added) or "\n" in template.text)
        and template.pairs + new_pairs <= MOST_PAIRS
        and template.sentences + len(added) <= MOST_SENTENCES
    )


def _is_full_name(slot: Slot) -> bool:
    return slot.person.startswith("p") and slot.attribute == "" and not slot.hard


def respell(number: str, form: str, draws: Draws) -> str:
    """A number in another spelling."""
    if form == "fullwidth":
        return fullwidth(number)
    if form == "wrapped":
        return wrapped(number)
    spellings = [spelling for joiner in _JOINERS if (spelling := respelled(number, joiner)) != number]
    return draws.pick("separators.joiner", spellings)


def marker(draws: Draws) -> str:
    """A marker of an earlier masking that already stands in the text."""
    return draws.pick("marker", _MARKERS)
