"""What the extractor is asked and what it answers: system and user message, and TYPE<TAB>VALUE rows."""

from __future__ import annotations

from sm_ops.core.records import Message, Record

INSTRUCTION = (
    "List the private values of the document as rows TYPE<TAB>VALUE, in the order in which they first appear, each "
    "spelling once and exactly as it stands. Types: PERSON (a person's name, without titles and particles), RRN "
    "(resident registration number), DOB (date of birth), REL (family relationship), ADDRESS, PHONE, EMAIL, ACCOUNT "
    "(bank account number), CARD (payment card number). Write nothing else; if there are none, answer with nothing."
)


def chat(id: str, source_text: str, target_tsv: str = "") -> Record:
    """The chat of one document (its text in NFC) and the rows that answer it; no rows are an empty answer."""
    turns = (("system", INSTRUCTION), ("user", source_text), ("assistant", target_tsv))
    return Record(id, messages=tuple(Message(role, content) for role, content in turns))
