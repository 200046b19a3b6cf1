"""From the labels of every detector to entity classes: what a leakage audit counts, scrubs and reports by.

The classes are those of the Text Anonymization Benchmark (Pilan et al. 2022: PERSON, CODE, LOC, ORG, DEM, DATETIME,
QUANTITY, MISC), and beside them EMAIL, PHONE, URL, LAW and REL, which taggers tell apart. OntoNotes has eighteen
types; a nationality and a language say who somebody is (DEM), a building and a state are places (LOC), and what
counts or measures is a QUANTITY. Identifiers of a person or of a thing are codes, whatever country issued them.
"""

from __future__ import annotations

_LABELS = {
    "PERSON": "PER PRIVATE_PERSON",
    "ORG": "ORGANIZATION ORGANISATION",
    "LOC": "LOCATION ADDRESS PRIVATE_ADDRESS GPE FAC",
    "DATETIME": "DATE TIME DATE_TIME DOB PRIVATE_DATE",
    "CODE": "RRN CARD ACCOUNT ACCOUNT_NUMBER SECRET CREDIT_CARD CRYPTO IBAN_CODE ID IP_ADDRESS MAC_ADDRESS UUID "
    "KR_BRN KR_DRIVER_LICENSE KR_FRN KR_PASSPORT KR_RRN MEDICAL_LICENSE UK_NHS "
    "US_BANK_NUMBER US_DRIVER_LICENSE US_ITIN US_PASSPORT US_SSN",
    "QUANTITY": "CARDINAL ORDINAL MONEY PERCENT",
    "DEM": "NORP NRP LANGUAGE AGE",
    "MISC": "EVENT PRODUCT WORK_OF_ART",
    "EMAIL": "EMAIL_ADDRESS PRIVATE_EMAIL",
    "PHONE": "PHONE_NUMBER PRIVATE_PHONE",
    "URL": "PRIVATE_URL",
}
_CLASSES = {label: name for name, labels in _LABELS.items() for label in labels.split()}


def class_of(label: str) -> str:
    """The entity class that a label stands for; a label without a line here is a class of its own, in upper case."""
    name = label.upper()
    return _CLASSES.get(name, name)
