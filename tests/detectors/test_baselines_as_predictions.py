"""What detectors find, written for the evaluator."""

from __future__ import annotations

import unicodedata

import pytest

from sm_ops.core.errors import InputError
from sm_ops.detectors.detector import Detection
from sm_ops.pii import evaluate, mask, parse_rows
from sm_ops.pii.baselines import predictions, write

pytestmark = pytest.mark.unit


class Finds:
    """A detector that finds given words of a text."""

    def __init__(self, **labels: str) -> None:
        self.labels = labels

    def detect(self, texts):
        return [
            sorted(
                Detection(t.index(word), t.index(word) + len(word), label, 1.0) for label, word in self.labels.items()
            )
            for t in texts
        ]


def test_labels_become_types_in_source_order_and_what_is_none_of_ours_is_left_out():
    detector = Finds(private_person="김가상", KR_RRN="991231-3000001", URL="example.com", EMAIL="a@example.com")
    assert predictions(detector, ["a@example.com, 991231-3000001, 김가상"]) == [
        "EMAIL\ta@example.com\nRRN\t991231-3000001\nPERSON\t김가상"
    ]


def test_a_value_is_trimmed_and_written_once():
    source = " 김가상 와 김가상"
    found = [Detection(0, 5, "PERSON", 0.9), Detection(7, 10, "private_person", 0.5), Detection(0, 1, "PERSON", 0.1)]
    assert write(source, found) == ("PERSON\t김가상", 0)


def test_a_name_over_a_line_end_is_a_row_for_each_line_and_is_counted():
    source = "Ann Lee\r\nKim, 1 Test Road\n"
    found = [Detection(0, 12, "PERSON", 0.9), Detection(14, 26, "LOCATION", 0.9)]
    assert write(source, found) == ("PERSON\tAnn Lee\nPERSON\tKim\nADDRESS\t1 Test Road", 1)


def test_a_number_over_a_line_end_is_one_row_that_matches_again():
    source = "번호 991231-\n3000001 입니다"
    prediction = write(source, [Detection(3, 18, "RRN", 0.9)])
    assert prediction == ("RRN\t991231- 3000001", 1)
    assert mask(source, parse_rows(prediction.prediction)).text == "번호 [RRN_1] 입니다"


def test_offsets_count_in_the_nfc_text():
    decomposed = unicodedata.normalize("NFD", "담당 김가상 님")
    assert predictions(Finds(PERSON="김가상"), [decomposed]) == ["PERSON\t김가상"]


def test_the_evaluator_judges_them():
    texts = ["김가상 a@example.com", "nothing here"]
    records = [
        {"id": "0", "source_text": texts[0],
         "entities": [{"type": "PERSON", "value": "김가상"}, {"type": "EMAIL", "value": "a@example.com"}]},
        {"id": "1", "source_text": texts[1], "entities": []},
    ]  # fmt: skip

    class Mail:
        def detect(self, texts):
            return [[Detection(4, 17, "EMAIL_ADDRESS", 1.0)], []]

    rows = predictions(Mail(), texts)
    result = evaluate(records, [{"id": str(i), "prediction": r, "parse_success": True} for i, r in enumerate(rows)])
    assert result["per_type"]["EMAIL"]["recall"] == 1
    assert result["per_type"]["PERSON"]["recall"] == 0
    assert result["entities"]["leaked"] == 1


def test_a_label_without_a_line_is_refused_and_named():
    with pytest.raises(InputError, match="'aadhaar'") as caught:
        write("김가상", [Detection(0, 3, "aadhaar", 1.0)])
    assert "김가상" not in str(caught.value)


@pytest.mark.parametrize("text", [None, "김가상 \ud800"])
def test_what_is_no_text_is_refused_by_its_index(text):
    with pytest.raises(InputError, match="at text 1") as caught:
        predictions(Finds(), ["", text])
    assert "김가상" not in str(caught.value)
