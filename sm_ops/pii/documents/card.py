"""The data card beside the data (spec section 2.7): what it is, what is proven, and what its numbers are not."""

from __future__ import annotations

from typing import Any

from sm_ops.pii.documents.plan import LANGUAGES, PARTITIONS, SURFACE_PERCENT
from sm_ops.pii.types import TYPES


def written(manifest: dict[str, Any]) -> str:
    """The card as Markdown, from the manifest alone."""
    overlap = manifest["checks"]["G11"]["largest_5gram_overlap"]
    return _CARD.format(
        records=manifest["records"],
        seed=manifest["seed"],
        scale=manifest["scale"],
        version=manifest["generator_version"],
        sizes=_table(manifest),
        types=_types(manifest),
        surfaces=", ".join(f"{form} {percent} %" for form, percent in SURFACE_PERCENT.items()),
        overlap=f"{overlap:.2f}",
        genres=", ".join(manifest["checks"]["G11"]["test_genres"]),
        templates=", ".join(
            f"{cell} {positive} and {negative}"
            for cell, (positive, negative) in manifest["checks"]["G11"]["templates"].items()
        ),
        hard=manifest["checks"]["G9"]["hard_cases"],
        reuse=_REUSE if manifest["scale"] > 1 else "",
    )


def _table(manifest: dict[str, Any]) -> str:
    rows = ["| partition | language | records | negative | gold pairs |", "| --- | --- | ---: | ---: | ---: |"]
    for partition in PARTITIONS:
        for lang in LANGUAGES:
            cell = manifest["partitions"][partition][lang]
            rows.append(f"| {partition} | {lang} | {cell['records']} | {cell['negative']} | {cell['pairs']} |")
    return "\n".join(rows)


def _types(manifest: dict[str, Any]) -> str:
    cells = [(partition, lang) for partition in PARTITIONS for lang in LANGUAGES]
    rows = [
        "| type | " + " | ".join(f"{partition} {lang}" for partition, lang in cells) + " |",
        "| --- |" + " ---: |" * len(cells),
    ]
    for type_ in TYPES:
        rows.append(
            f"| {type_} | "
            + " | ".join(str(manifest["partitions"][partition][lang]["types"][type_]) for partition, lang in cells)
            + " |"
        )
    return "\n".join(rows)


_REUSE = """
This set was made larger than usual: names, places and templates are used more often than in the set of 2,200
records, numbers are still distinct. More records of the same templates are not more variety.
"""

_CARD = """# Synthetic Korean and English documents with personal data

{records} documents, seed {seed}, scale {scale}, generator {version}. Every document is made from a template; every \
value is made up,
and nothing in it comes from a real document. The same seed gives the same bytes. Hashes and the results of all checks
are in `manifest.json`.
{reuse}
## What is in it

{sizes}

Templates by partition and language, positive and negative: {templates}. Of negative ones each partition and language
has at least eight, so a small cell uses each once.

Distinct (type, spelling) pairs by type, counted once per document:

{types}

`PARTITION.jsonl` has one record per line: `id`, `lang`, `partition`, `template_id`, `negative`, `source_text`, \
`entities`
(distinct pairs in order of first place), `target_tsv` (the rows that an extractor should write), and in 3 % of the \
positive
Korean records `raw_text`, the same text in NFD. `PARTITION.spans.jsonl` has the places: `spans`, half-open \
intervals of code points of
`source_text` with their type, and `hard`, places where a gold spelling is no personal data ({hard} in all: a \
station called
like a person, a class called 하늘). Masking by string match covers those too.

Positive Korean records that repeat a value in another form: {surfaces}. A number that is broken over a line end is a
planted place but no gold pair, because a row cannot hold a line end.

## What the numbers are not

* They are no measure of how a system does on real documents. All texts come from a few templates by one author, so
  nothing generalises from here to real mail, forms or chats: use reviewed, real, separately held annotations for \
that.
* Oracle figures in the manifest (F1 = 1 for gold as prediction) check data and evaluator. They are no model's \
figures.
* Test is apart from train in templates, given names, full names, roads, districts, companies, e-mail local parts, \
numbers and
  days of birth. It has genres of its own ({genres}). The largest overlap of character 5-grams of a test template \
with a train
  template is {overlap} (at most 0.30 is allowed). Test is still by the same author.
* RRN and PHONE values come only from ranges that nobody has. A detector trained on them may have learnt the range: \
test
  it on values of real ranges with shape-only probes that are made, looked at and never stored.
* Common surnames, cities, banks, particles, titles and most relation words are shared by the partitions. In test,
  `seen_surname` and `seen_rel` say whether train may have the surname or the relation word.

## What is proven of the values, and what is only a shape

| type | rule | strength |
| --- | --- | --- |
| RRN | month and day exist; the century digit says born 2060 to 2099; the last digit fails the formulas of \
residents and of foreigners | proven by date. A failing last digit alone would prove nothing: since October 2020 the \
last six are random |
| CARD | real-looking head; Luhn's formula fails | proven: every card number has a Luhn digit |
| PHONE | Korean exchanges 0000-1999 or 000-199; NANP 555-0100 to 0199; UK 07700 900xxx and 020 7946 0xxx | ranges \
that are unused or kept for fiction |
| EMAIL | example.com, .net, .org and names below .example, .test, .invalid | kept by RFC 2606 and RFC 6761 |
| ACCOUNT | starts with 000, beside a bank that does not exist | shape only: there is no public register and no \
common check digit |
| DOB | a day of 1960 to 1999, equal to the head of the same person's RRN | harmless: it identifies nobody |
| ADDRESS | city, district, road or neighbourhood with a marked part (가상, 견본, 허구, 예시, 모형, 시험); postcodes \
64000-99999 | not in use as far as known; no official list of roads was at hand |
| PERSON | common names, combined | by isolation: no name can be made unassignable, but nothing else in a record is \
real |
| REL | a word | identifies nobody |

Organisations do not exist. Switchboard numbers (1577-, 1588- ...), parcel and policy numbers are shapes without \
check and may
belong to an organisation; business numbers fail their check digit.

## What is annotated

* PERSON: full names, given names alone, Latin spellings, Chinese characters in brackets, foreign names in Hangul, \
spaced
  spellings. Particles (김가상은), honorifics (씨, 님, 군) and titles (과장님) are outside. A surname with a title \
alone (김 과장,
  Mr. Sample), a masked name (홍*동, 김OO), an example name (홍길동 in instructions) and a name inside another word
  (이수역) are not annotated.
* RRN: with hyphen, blank or none, foreigners' too. Masked ones (991332-3******) are not annotated. In English \
documents it is called
  resident or alien registration number.
* DOB: the date itself, with 음력 where it stands before. Dates of documents, versions and validities are not \
annotated.
* PHONE: numbers of persons. Switchboards are not annotated, nor numbers spelled out (공일공 ...).
* ADDRESS: all of it as one value, with a postcode that stands at its side. A city alone is not annotated.
* ACCOUNT: the number without the bank. CARD: the number without its validity date. EMAIL: every address.
* REL: words of family and relationship in a record of persons. Words of one syllable (모, 부, 처, 딸) are left out, \
and 형제 기업,
  자매결연, 모회사 are no relations.
* Every distinct spelling without a line end is a pair of its own. Two persons never share a spelling within a \
record by chance.
"""
