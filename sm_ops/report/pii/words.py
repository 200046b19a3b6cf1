"""The PII run's table as people read it, and what its numbers are not."""

from __future__ import annotations

from collections.abc import Sequence

from sm_ops.report.words import Row, rated, text_table

HEADER = ("finder", "F1", "precision", "recall", "F1, numeric", "documents leaking", "made up")
NOT = (
    "A type and a match in the source do not prove that a value is personal, that its type is right, or that "
    "everything was found.",
    "Equal tokens are equal spellings within one document; they identify nobody, and nothing across documents.",
    "Gold occurrences are inferred by string match: one that is harmless in its context counts like any other.",
    "Restoration is to the NFC form of the source, not to its bytes.",
    "Entity F1 compares distinct pairs of type and spelling in a document. It is not the F1 of spans: a prediction in "
    "another spelling can cover everything and still be counted wrong.",
    "Figures of an oracle (gold rows as prediction) check the evaluator; they are no model's figures.",
    "The synthetic documents come from templates: a score on them says nothing of real documents, in which names, "
    "forms and errors are of other kinds. Numbers are drawn from ranges that nobody holds.",
)


def cells(row: Row) -> tuple[str, ...]:
    """One row of the table, in the order of `HEADER`."""
    names = ("f1", "precision", "recall", "numeric_f1", "document_leak", "hallucination")
    return row["finder"], *(rated(row[name]) for name in names)


def table_lines(rows: Sequence[Row]) -> list[str]:
    """The table as aligned plain text."""
    return text_table(HEADER, map(cells, rows))
