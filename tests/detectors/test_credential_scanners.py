"""CredSweeper and detect-secrets: where in a text they find what, and how good they are on real contexts."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from look_alikes import assignment, private_key, token

from sm_ops.core import registry
from sm_ops.detectors.detector import Detection

DATA = Path(__file__).resolve().parents[3] / "shared" / "data"
CREDDATA = DATA / "creddata_subset" / "creddata_open.jsonl"
SAMPLES = DATA / "credsweeper_samples" / "credsweeper_samples_open.jsonl"
NAMES = ("credsweeper", "detect_secrets")


@pytest.fixture(scope="module", params=NAMES)
def scanner(request):
    return registry.load("detector", request.param).load({})


def values(text, detections):
    return [text[each.start : each.end] for each in detections]


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_every_line_of_a_text_is_searched_and_offsets_are_code_points(scanner, end):
    (one, first), (two, second) = assignment(1), assignment(2)
    text = end.join(["# 😀 가상", one, "", f"  {two}  # 😀", "print()"])
    (found,) = scanner.detect([text])
    assert values(text, found) == [first, second]
    assert {each.label for each in found} == {"secret"}


def test_a_line_of_any_length_is_searched(scanner, capfd):
    line, value = assignment(6)
    text = f"{'x = [1, 2, 3]; ' * 2000}{line}; {'y = 7; ' * 2000}"
    (found,) = scanner.detect([text])
    assert values(text, found) == [value]
    assert capfd.readouterr() == ("", "")


def test_nothing_is_said_of_what_is_found(scanner, capfd, caplog):
    with caplog.at_level(0):
        scanner.detect([f"{assignment(7)[0]}\nkey = '{token(8, 64)}'\n{private_key()}"])
    assert caplog.text == ""
    assert capfd.readouterr() == ("", "")


def test_a_private_key_is_covered_to_its_end(scanner):
    key = private_key()
    text = f"# 😀\nkey = '''{key}'''\nx = 1\n"
    (found,) = scanner.detect([text])
    start, end = text.index(key), text.index(key) + len(key)
    covered = {place for each in found for place in range(each.start, each.end)}
    assert covered >= {place for place in range(start, end) if text[place] != "\n"}
    assert covered <= set(range(start, end))
    assert {each.score for each in found} == {1.0}  # no model is asked of a key


def test_a_private_key_without_an_end_is_its_first_line():
    text = private_key().rpartition("-----END")[0]
    (found,) = registry.load("detector", "detect_secrets").load({}).detect([text])
    assert values(text, found) == ["-----BEGIN PRIVATE KEY"]
    (found,) = registry.load("detector", "detect_secrets").load({}).detect([f"{text}\n{private_key()}"])
    assert values(text, found)[0] == "-----BEGIN PRIVATE KEY"


def test_a_comment_does_not_let_a_secret_pass():
    line, value = assignment(3)
    text = f"{line}  # pragma: allowlist secret"
    (found,) = registry.load("detector", "detect_secrets").load({}).detect([text])
    assert values(text, found) == [value]


def test_the_same_value_twice_in_a_line_is_found_twice():
    value = token(4)
    text = f'password = "{value}"; again = "{value}"'
    (found,) = registry.load("detector", "detect_secrets").load({}).detect([text])
    assert values(text, found) == [value, value]


def test_credsweepers_scores_are_probabilities_and_its_threshold_is_its_own_preset():
    from credsweeper.common.constants import ThresholdPreset
    from credsweeper.ml_model.ml_validator import MlValidator

    module = registry.load("detector", "credsweeper")
    text = "\n".join(assignment(number)[0] for number in range(5)) + '\npassword = "changeme1"\ntoken = get_token(7)'
    (every,) = module.load({"threshold": 0.0}).detect([text])
    (own,) = module.load({}).detect([text])
    medium = MlValidator(ThresholdPreset.medium).threshold
    assert own == [each for each in every if each.score >= medium]
    assert len(own) < len(every)
    assert len({each.score for each in every}) > 2


def character_counts(rows, found):
    """TP, FP and FN of characters; ambiguous ones that are no target are left out."""
    tp = fp = fn = 0
    for row, detections in zip(rows, found, strict=True):
        masked = positions(detections)
        gold = positions(span for span in row["spans"] if span["label"] not in ("false", "ambiguous"))
        unclear = positions(span for span in row["spans"] if span["label"] == "ambiguous") - gold
        tp, fp, fn = tp + len(masked & gold), fp + len(masked - gold - unclear), fn + len(gold - masked)
    return tp, fp, fn


def positions(spans):
    pairs = ((s.start, s.end) if isinstance(s, Detection) else (s["start"], s["end"]) for s in spans)
    return {place for start, end in pairs for place in range(start, end)}


def precision_and_recall(name, path):
    if not path.is_file():
        pytest.skip(f"{path.name} is not here")
    rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    found = registry.load("detector", name).load({}).detect([row["text"] for row in rows])
    tp, fp, fn = character_counts(rows, found)
    return tp / (tp + fp), tp / (tp + fn)


def test_credsweeper_finds_again_what_its_own_report_says():
    precision, recall = precision_and_recall("credsweeper", SAMPLES)
    assert min(precision, recall) > 0.99


@pytest.mark.slow
def test_on_real_contexts_credsweeper_is_far_better_than_detect_secrets():
    """The order of the paper (section 5): CredSweeper before detect-secrets."""
    precise, complete = precision_and_recall("credsweeper", CREDDATA)
    assert precise > 0.97
    assert complete > 0.85
    other_precise, other_complete = precision_and_recall("detect_secrets", CREDDATA)
    assert other_precise < precise
    assert other_complete < complete
    assert min(other_precise, other_complete) > 0.4
