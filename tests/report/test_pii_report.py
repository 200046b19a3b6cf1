"""The PII report: its numbers, claims that can fail, and a page that shows no value and says what it is not."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import fake_runs
import pytest

from sm_ops.core.errors import InputError
from sm_ops.pii.breakdown import breakdown
from sm_ops.pii.evaluation import documents as counted
from sm_ops.report.finish import results_of
from sm_ops.report.pii.html import write_report
from sm_ops.report.pii.results import load_results, print_table

pytestmark = pytest.mark.unit

CONFIG = {"flow": "pii", "name": "pii_fake", "seeds": [0, 1], "detectors": ["regex"]}
DOCUMENTS = [
    {
        "id": f"d{number}",
        "lang": ("ko", "en")[number % 2],
        "source_text": f"Planted{number}X calls 010-0000-{number:04}",
        "entities": [
            {"type": "PERSON", "value": f"Planted{number}X", "seen_surname": number % 3 > 0},
            {"type": "PHONE", "value": f"010-0000-{number:04}"},
        ],
    }
    for number in range(12)
]


def evaluation(person: int, phone: int, wrong: int = 0) -> dict:
    """Of twelve documents, so many names and numbers found and so many rows made up."""
    predictions = []
    for number, document in enumerate(DOCUMENTS):
        rows = [f"PERSON\t{document['entities'][0]['value']}"] * (number < person)
        rows += [f"PHONE\t{document['entities'][1]['value']}"] * (number < phone)
        rows += ["EMAIL\tnobody@example.com"] * (number < wrong)
        predictions.append({"id": document["id"], "prediction": "\n".join(rows), "parse_success": True})
    return breakdown(DOCUMENTS, list(counted(DOCUMENTS, predictions)))


def make(home: Path, found: dict[str, dict], **config) -> tuple:
    fake = fake_runs.FakeRun(home)
    fake.add(
        "pii_generate",
        {"manifest.json": {"known_values": "pii-values-0"}},
        train_documents=30,
        test_documents=12,
        records=42,
    )
    for finder, own in found.items():
        fake.add(f"pii_evaluate@{finder}", {"evaluation.json": own}, seconds=2.0)
        kept = {"dataset": f"pii-{finder}", "documents": 12, "spans": 20, "tokens": 20, "restored": 12}
        if finder != "base":
            fake.add(f"pii_mask@{finder}", {"vault.json": kept})
    return fake.finish({**CONFIG, **config}), home


@pytest.fixture
def run(tmp_path):
    found = {
        "regex": evaluation(0, 8), "base": evaluation(0, 0, wrong=5),
        "tuned_0": evaluation(6, 12), "tuned_1": evaluation(6, 9, wrong=2),
    }  # fmt: skip
    return make(tmp_path / "home", found)


def test_rows_and_seeds(run):
    results = load_results(*run)
    rows = {row["finder"]: row for row in results["rows"]}
    assert list(rows) == ["regex", "base", "tuned_0", "tuned_1"]
    assert rows["regex"]["f1"]["value"] == pytest.approx(2 * 8 / (2 * 8 + 16))
    assert rows["tuned_0"]["numeric_f1"]["value"] == 1
    assert rows["tuned_1"]["hallucination"]["value"] == pytest.approx(2 / 17)
    assert rows["base"]["document_leak"]["value"] == 1
    tuned = results["tuned"]["numeric_f1"]
    one, two = 1.0, 2 * 9 / (2 * 9 + 3)
    assert tuned["mean"] == pytest.approx((one + two) / 2)
    assert tuned["se"] == pytest.approx((one - two) / 2)
    assert results["documents"]["records"] == 12
    assert {each["slice"] for each in results["by_language"]} == {"en", "ko"}
    json.dumps(results, allow_nan=False)


def test_claims_hold_with_their_numbers(run, capsys):
    results = load_results(*run)
    assert [claim["passed"] for claim in results["claims"]] == [True, True, True, True, False]
    better = results["claims"][2]["detail"]
    assert "100.0 % against 80.0 %" in better
    assert "difference [+" in better
    print_table(results)
    shown = capsys.readouterr().out
    assert "fails  The tuned extractor leaves nothing readable" in shown
    assert "do not prove that a value is personal" in shown


def test_claims_can_fail(tmp_path):
    broken = evaluation(12, 4)
    broken["rates"]["all"]["round_trip"]["value"] = 0.9
    found = {"regex": evaluation(0, 12), "base": evaluation(0, 11), "tuned_0": broken}
    claims = load_results(*make(tmp_path / "home", found, seeds=[0]))["claims"]
    assert [claim["passed"] for claim in claims] == [True, False, False, False, False]
    found["tuned_0"] = evaluation(0, 0)
    claims = load_results(*make(tmp_path / "other", found, seeds=[0]))["claims"]
    assert [claim["passed"] for claim in claims][:3] == [False, False, False]


def test_a_difference_within_its_error_is_not_claimed(tmp_path):
    found = {"regex": evaluation(0, 8), "base": evaluation(0, 0), "tuned_0": evaluation(0, 9, wrong=1)}
    found["tuned_0"]["per_document"] = found["tuned_0"]["per_document"][::-1]  # finds other documents' numbers
    claims = load_results(*make(tmp_path / "home", found, seeds=[0]))["claims"]
    assert claims[2]["passed"] is None
    assert "difference [-" in claims[2]["detail"]


def test_without_a_detector_nothing_is_compared_with_it(tmp_path):
    found = {"base": evaluation(0, 5), "tuned_0": evaluation(12, 12)}
    results = load_results(*make(tmp_path / "home", found, seeds=[0], detectors=[]))
    assert all("patterns" not in claim["sentence"] for claim in results["claims"])
    assert all(claim["passed"] for claim in results["claims"])
    assert results["tuned"]["f1"]["se"] is None


def test_the_page_has_no_script_and_no_value(run):
    page = write_report(*run).read_text(encoding="utf-8")
    assert "<script" not in page
    assert all(entity["value"] not in page for document in DOCUMENTS for entity in document["entities"])
    for words in ("What these numbers are not", "NFC form", "tuned_1", "pii-tuned_0", "names, surname not seen"):
        assert words in page
    with (run[0].folder / "by_type.csv").open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert any(row["finder"] == "tuned_0" and row["types"] == "PHONE" and row["tp"] == "12" for row in rows)
    assert results_of(run[0]).__name__ == "sm_ops.report.pii.results"


def test_a_removed_result_is_told(run):
    record = next((run[1] / "store" / "pii_evaluate").rglob("evaluation.json"))
    record.unlink()
    with pytest.raises(InputError, match=r"evaluation\.json of step pii_evaluate@"):
        load_results(*run)
