"""Which detector to take for which type: precision, recall and what stays readable, on synthetic and on public data.

Run with `python benchmarks/detectors.py [FOLDER]`; it prints the tables of `results/detectors.md`. The synthetic test
set is made on the spot. FOLDER may hold public data, each as JSONL with `text` and `spans` of `start`, `end`, `type`
(no data is kept here):

* `klue_ner_dev`: KLUE-NER v1.1 development set (github.com/KLUE-benchmark/KLUE, CC BY-SA 4.0), Korean news and reviews
* `presidio_synthetic`: microsoft/presidio-research (MIT), English templates with fake values
* `kiji_synthetic`: dataiku/kiji-proxy (Apache-2.0), English templates with fake values

Gold spans are written as rows by the rule that detections are (a value over a line end is a row for each line), and
only the types that a data set annotates are judged there. Detectors are taken with their defaults.
"""

from __future__ import annotations

import os
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

os.environ |= {"OMP_NUM_THREADS": "1", "HF_HUB_OFFLINE": "1", "TOKENIZERS_PARALLELISM": "false"}
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import numpy as np

from sm_ops.core import registry
from sm_ops.core.errors import InputError
from sm_ops.data.records import jsonl_rows
from sm_ops.detectors.detector import Detection
from sm_ops.metrics.intervals import clustered_rate
from sm_ops.pii import TYPES, accept, normalise_source
from sm_ops.pii.baselines import predictions, write
from sm_ops.pii.evaluation import DocumentCounts, documents

NAMES = {"shapes": {}, "regex": {}, "presidio": {}, "presidio, threshold 0": {"threshold": 0.0}}
IGNORED = "ignored"
PUBLIC_SUFFIXES = (".com", ".net", ".org")
PUBLIC = {
    "klue_ner_dev": {"PS": "PERSON"},
    "presidio_synthetic": {
        "PERSON": "PERSON", "EMAIL_ADDRESS": "EMAIL", "PHONE_NUMBER": "PHONE", "CREDIT_CARD": "CARD",
        "IBAN_CODE": "ACCOUNT", "ADDRESS": "ADDRESS",
        "STREET_ADDRESS": "ADDRESS", "LOCATION": IGNORED, "GPE": IGNORED, "ZIP_CODE": IGNORED,
    },
    "kiji_synthetic": {
        "FIRSTNAME": "PERSON", "SURNAME": "PERSON", "EMAIL": "EMAIL", "PHONENUMBER": "PHONE",
        "CREDITCARDNUMBER": "CARD", "DATEOFBIRTH": "DOB", "IBAN": "ACCOUNT",
        "BUILDINGNUM": "ADDRESS", "STREET": "ADDRESS", "CITY": "ADDRESS",
        "STATE": "ADDRESS", "ZIP": "ADDRESS", "COUNTRY": "ADDRESS",
    },
}  # fmt: skip
"""Labels of public data: a type, or a place that is no address and that nobody is blamed for finding."""

BLANKS = {" ", ", ", ",\n", "\n"}
"""What may stand between the parts of one name or address."""


class Document(NamedTuple):
    """A text with its gold pairs, values that do not count, and what it shares with others (its template)."""

    text: str
    gold: list[tuple[str, str]]
    ignored: frozenset[str]
    cluster: str


class DataSet(NamedTuple):
    name: str
    types: tuple[str, ...]
    documents: list[Document]


def synthetic(language: str, folder: Path) -> DataSet:
    found = [
        Document(
            row["source_text"],
            [(each["type"], each["value"]) for each in row["entities"]],
            frozenset(),
            row["template_id"],
        )
        for _, row in jsonl_rows(folder / "test.jsonl")
        if row["lang"] == language
    ]
    return DataSet(f"synthetic test set, {language}", TYPES, found)


def public(name: str, folder: Path) -> DataSet:
    types = PUBLIC[name]
    found = []
    for path in sorted(folder.glob("*.jsonl")):
        for _, row in jsonl_rows(path):
            text = row["text"]
            spans = [(s["start"], s["end"], types[s["type"]]) for s in row["spans"] if s["type"] in types]
            gold = write(text, (Detection(*span, 1.0) for span in joined(text, spans) if span[2] != IGNORED))
            ignored = frozenset(text[start:end].strip() for start, end, type_ in spans if type_ == IGNORED)
            cluster = str(row.get("template_id", row["id"]))
            found.append(Document(text, accept(text, gold.prediction), ignored, cluster))
    return DataSet(name, tuple(type_ for type_ in TYPES if type_ in types.values()), found)


def joined(text: str, spans: Iterable[tuple[int, int, str]]) -> list[tuple[int, int, str]]:
    """Neighbouring parts of one type as one span: first and last name, street and town."""
    result: list[tuple[int, int, str]] = []
    for start, end, type_ in sorted(spans):
        if result and result[-1][2] == type_ and text[result[-1][1] : start] in BLANKS:
            start = result.pop()[0]
        result.append((start, end, type_))
    return result


def judged(data: DataSet, found: list[str]) -> list[DocumentCounts]:
    records, given = [], []
    for number, (document, prediction) in enumerate(zip(data.documents, found, strict=True)):
        rows = [row.split("\t", 1) for row in prediction.split("\n") if row]
        kept = [f"{t}\t{v}" for t, v in rows if t in data.types and not (t == "ADDRESS" and v in document.ignored)]
        entities = [{"type": type_, "value": value} for type_, value in document.gold]
        records.append({"id": str(number), "source_text": document.text, "entities": entities})
        given.append({"id": str(number), "prediction": "\n".join(kept), "parse_success": True})
    return list(documents(records, given))


def rate(outcomes: Iterable[tuple[bool, str]]) -> str:
    """`share (hits/all; 95 % interval)`; the interval counts documents of one template as one cluster."""
    pairs = list(outcomes)
    if not pairs:
        return "-"
    hits = np.array([hit for hit, _ in pairs])
    low, high = clustered_rate(hits, np.array([cluster for _, cluster in pairs])) or (0.0, 1.0)
    return f"{hits.mean():.2f} ({hits.sum()}/{len(hits)}; {low:.2f}-{high:.2f})"


def table(data: DataSet, results: dict[str, list[DocumentCounts]]) -> Iterator[str]:
    """Rows by type; a detector with other settings has a row only where it differs from the one before."""
    characters = sum(len(document.text) for document in data.documents) // len(data.documents)
    clusters = len({document.cluster for document in data.documents})
    yield f"\n### {data.name}: {len(data.documents):,} texts of {characters} characters, {clusters:,} clusters\n"
    yield "| type | detector | precision | recall | covered |\n|---|---|---|---|---|"
    for title, belongs in groups(data):
        before = ""
        for name, counts in results.items():
            columns: dict[str, list[tuple[bool, str]]] = defaultdict(list)
            for document, own in zip(data.documents, counts, strict=True):
                cluster = document.cluster
                columns["p"] += [(pair in own.gold, cluster) for pair in own.predicted if belongs(pair)]
                columns["r"] += [(pair in own.predicted, cluster) for pair in own.gold if belongs(pair)]
                columns["c"] += [(pair not in own.leaking, cluster) for pair in own.gold if belongs(pair)]
            row = f"{rate(columns['p'])} | {rate(columns['r'])} | {rate(columns['c'])}"
            if "," not in name or row != before:
                yield f"| {title} | {name} | {row} |"
            before = row


def groups(data: DataSet) -> Iterator[tuple[str, Callable[[tuple[str, str]], bool]]]:
    """The types, and the e-mail addresses that Presidio can know: a reserved domain is in no public suffix list."""
    for type_ in data.types:
        yield type_, lambda pair, type_=type_: pair[0] == type_
        if type_ == "EMAIL" and data.name.startswith("synthetic"):
            yield "EMAIL, public suffix", lambda pair: pair[0] == "EMAIL" and pair[1].endswith(PUBLIC_SUFFIXES)


def speed(detectors: dict[str, Any], texts: list[str]) -> Iterator[str]:
    characters = sum(map(len, texts)) // len(texts)
    yield f"\n## Speed, one thread, {len(texts)} synthetic texts of {characters} characters\n"
    yield "| detector | documents per CPU second | CPU seconds to load |\n|---|---|---|"
    for name, (detector, loading) in detectors.items():
        if "," in name:
            continue
        before = time.process_time()
        detector.detect(texts)
        yield f"| {name} | {len(texts) / (time.process_time() - before):,.0f} | {loading:.1f} |"


def filter_speed(tokens: int = 2048) -> str:
    """The Privacy Filter's architecture at its real size with random weights: speed does not depend on them."""
    import torch
    from transformers import OpenAIPrivacyFilterConfig, OpenAIPrivacyFilterForTokenClassification

    torch.set_num_threads(1)
    model = OpenAIPrivacyFilterForTokenClassification(OpenAIPrivacyFilterConfig()).eval()
    ids = torch.randint(0, 199_000, (1, tokens), generator=torch.Generator().manual_seed(0))
    before = time.process_time()
    with torch.inference_mode():
        model(input_ids=ids)
    rate = tokens / (time.process_time() - before)
    size = sum(parameter.numel() for parameter in model.parameters()) / 1e9
    return f"\nPrivacy Filter, {size:.2f} G random parameters in float32: {rate:,.0f} tokens per CPU second."


def loaded() -> dict[str, tuple[Any, float]]:
    found = {}
    for name, settings in NAMES.items():
        before = time.process_time()
        try:
            detector = registry.load("detector", name.partition(",")[0]).load(settings)
        except InputError as error:
            print(f"{name}: {error}", file=sys.stderr)
            continue
        found[name] = (detector, time.process_time() - before)
    return found


def main() -> None:
    from sm_ops.pii.documents import generate

    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else None
    detectors = loaded()
    with tempfile.TemporaryDirectory() as made:
        generate(Path(made))
        sets = [synthetic(language, Path(made)) for language in ("ko", "en")]
    texts = [normalise_source(document.text) for data in sets for document in data.documents]
    sets += [public(name, folder / name) for name in PUBLIC if folder and (folder / name).is_dir()]
    print("## Quality\n\nA pair of type and value is right if it is exactly a gold pair of its text; covered: no")
    print("character of the value stays readable once all that was found is masked. 95 % intervals by cluster.")
    for data in sets:
        results = {
            name: judged(data, predictions(detector, [document.text for document in data.documents]))
            for name, (detector, _) in detectors.items()
        }
        print("\n".join(table(data, results)), flush=True)
    print("\n".join(speed(detectors, texts)))
    print(filter_speed())


if __name__ == "__main__":
    main()
