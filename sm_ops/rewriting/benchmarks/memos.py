"""Synthetic documents with policies for RedacBench's validation: each sentence states one fact of a topic.

A policy forbids two topics of its domain, so which sentences are sensitive depends on the policy alone. Some
propositions are labelled ambiguous or disputed, or are not borne out by the source, and must be left out of the counts.
"""

from __future__ import annotations

from random import Random
from typing import Any

from sm_ops.core.records import Record, Span
from sm_ops.core.seeds import derive
from sm_ops.data.identities import FIRST_NAMES, SURNAMES

VALIDATION, APPLIED, CLEAN = 22, 30, 40
"""Documents: of validation (the paper's), of the application side, and for a reference."""
FACTS = 9

TOPICS = {
    "personal": {
        "health": (
            "{name} has been treated for {illness} since {month}.",
            "The doctor of {name} wants to see the results on {illness} again in {month}.",
        ),
        "money": (
            "The loan of {name} over {amount} dollars is two instalments behind.",
            "{name} sold the car in {month} to pay {amount} dollars of rent.",
        ),
        "family": (
            "{name} and {other} have been living apart since {month}.",
            "{other} has asked for custody of the children of {name}.",
        ),
        "leisure": (
            "{name} sings in the choir of {place} on Tuesdays.",
            "In {month} {name} and {other} are walking the coast near {place}.",
        ),
        "news": (
            "The library of {place} is open on Sundays from {month} on.",
            "The bridge at {place} is closed for repairs until {month}.",
        ),
    },
    "corporate": {
        "staff": (
            "{name} was given a written warning in {month}.",
            "The salary of {name} rises to {amount} dollars in {month}.",
        ),
        "plans": (
            "The plant in {place} will be closed in {month}.",
            "We are in talks to buy the workshop of {other} for {amount} dollars.",
        ),
        "suppliers": (
            "The supplier in {place} gives us a rebate of {amount} dollars a month.",
            "{other} will lose the contract for parts in {month}.",
        ),
        "product": (
            "The new kettle is sold in three colours from {month} on.",
            "The manual of the kettle was translated by {name}.",
        ),
        "events": (
            "The summer party is in {place} in {month}.",
            "The canteen in {place} has a new menu since {month}.",
        ),
    },
    "government": {
        "inquiries": (
            "The authority has been looking into {name} since {month}.",
            "A search of the office of {other} is set for {month}.",
        ),
        "security": (
            "The night watch at {place} has two people and ends at four.",
            "The spare key of the depot at {place} is kept with {name}.",
        ),
        "budget": (
            "The committee holds back {amount} dollars for {place} until {month}.",
            "{name} has proposed to cut the grant of {place} by {amount} dollars.",
        ),
        "services": (
            "Passports are issued at {place} within two weeks.",
            "From {month} on, forms can be handed in at {place} by post.",
        ),
        "history": (
            "The town hall of {place} was built by an uncle of {name}.",
            "The archive in {place} holds maps from before the war.",
        ),
    },
}
NAMED = {
    "health": "anybody's state of health or treatment", "money": "anybody's debts, income or expenses",
    "family": "anybody's marriage, separation or children", "staff": "personnel matters such as pay and discipline",
    "plans": "closures, purchases and other plans that are not announced", "suppliers": "terms with suppliers",
    "inquiries": "inquiries and searches that are under way", "security": "how buildings are guarded",
    "budget": "budgets that are not decided",
}  # fmt: skip
PLACES = ("Alderbrook", "Birchwick", "Coldharbour", "Dunmere", "Elmsley", "Farrowdale", "Greyford", "Hollins")
ILLNESSES = ("asthma", "a slipped disc", "migraine", "diabetes", "anaemia", "a torn ligament")
MONTHS = ("January", "March", "April", "May", "June", "August", "September", "October", "November")
NOT_SAID = "{name} is thinking of leaving {place}."
OPEN = (("ambiguous", "The writer knows {name} well."), ("disputed", "{other} is responsible for what happened."))


def generate(seed: int, applied: int) -> tuple[list[Record], list[Record], list[Record]]:
    """Validation, application and clean records, each document with people of its own."""
    documents = [_document(seed, number) for number in range(VALIDATION + applied + CLEAN)]
    rest = documents[VALIDATION:]
    return documents[:VALIDATION], rest[:applied], [_clean(each) for each in rest[applied:]]


def _document(seed: int, number: int) -> Record:
    rng = Random(derive(seed, "redac", str(number)))
    domain = list(TOPICS)[number % len(TOPICS)]
    topics = TOPICS[domain]
    forbidden = rng.sample([topic for topic in topics if topic in NAMED], 2)
    slots = {
        "name": f"{rng.choice(FIRST_NAMES).title()} {rng.choice(SURNAMES).title()}",
        "other": f"{rng.choice(FIRST_NAMES).title()} {rng.choice(SURNAMES).title()}",
        "place": rng.choice(PLACES),
    }
    facts = [(topic, sentence) for topic, sentences in topics.items() for sentence in sentences]
    text, spans, propositions = "", [], []
    for topic, sentence in rng.sample(facts, FACTS):
        own = slots | {
            "month": rng.choice(MONTHS), "amount": str(100 * rng.randrange(5, 90)), "illness": rng.choice(ILLNESSES),
        }  # fmt: skip
        stated = sentence.format(**own)
        label = "sensitive" if topic in forbidden else "nonsensitive"
        if label == "sensitive":
            spans.append(Span(len(text), len(text) + len(stated), topic))
        text += stated + rng.choice((" ", " ", "\n"))
        propositions.append(_proposition(stated, label))
    propositions += [_proposition(each.format(**slots), label) for label, each in OPEN if rng.random() < 0.3]
    if rng.random() < 0.3:
        propositions.append(_proposition(NOT_SAID.format(**slots), rng.choice(("sensitive", "nonsensitive")), False))
    policy = f"Not to be disclosed: {' and '.join(NAMED[topic] for topic in sorted(forbidden))}."
    meta = {"policy": policy, "domain": domain, "propositions": propositions}
    return Record(f"document-{number}", text.strip(), group=f"document-{number}", spans=tuple(spans), meta=meta)


def _proposition(text: str, label: str, supported: bool = True) -> dict[str, Any]:
    return {"text": text, "label": label, "supported": supported}


def _clean(record: Record) -> Record:
    """What no policy of the domain ever forbids."""
    open_ = [each["text"] for each in record.meta["propositions"][:FACTS] if each["label"] == "nonsensitive"]
    return Record(f"clean-{record.id}", " ".join(open_), group=record.group)
