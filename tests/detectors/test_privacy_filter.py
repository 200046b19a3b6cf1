"""The Privacy Filter's adapter on a small random model of the same architecture."""

from __future__ import annotations

import json

import numpy as np
import pytest
from tiny_filter import BAND, LAYERS, make_tiny_filter

from sm_ops.core.errors import InputError
from sm_ops.detectors.members.privacy_filter import load
from sm_ops.detectors.token_classifier import CERTAIN

REACH = LAYERS * BAND
TEXT = "My name is Ann. 제 이름은 김가상입니다. \U0001f600 <|endoftext|> " * 12


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return make_tiny_filter(tmp_path_factory.mktemp("filter"))


@pytest.fixture(scope="module")
def whole(folder):
    """A detector that sees every text of these tests in one piece."""
    return load({"model": str(folder)})


@pytest.fixture
def scored(whole, monkeypatch):
    """Give the tokens of a text chosen labels, one by one, in place of the model's."""

    def detect(text, *labels):
        order = [whole._forward._model.config.id2label[i] for i in range(33)]
        rows = np.full((len(labels), 33), -20.0)
        for row, label in zip(rows, labels, strict=True):
            row[order.index(label)] = 20.0
        monkeypatch.setattr(whole._forward, "logits", lambda texts: [rows])
        return whole.detect([text])[0]

    return detect


def places(detections):
    return [each[:3] for each in detections]


def test_the_labels_are_the_models_own(whole):
    labels = set(whole._forward._model.config.id2label.values())
    assert len(labels) == 33
    found = {each.label for each in whole.detect([TEXT])[0]}
    assert found <= {
        "account_number", "private_address", "private_date", "private_email",
        "private_person", "private_phone", "private_url", "secret",
    }  # fmt: skip


def test_the_label_scheme_is_the_one_of_the_published_weights(whole):
    categories = (
        "account_number", "private_address", "private_date", "private_email",
        "private_person", "private_phone", "private_url", "secret",
    )  # fmt: skip
    expected = ["O", *(f"{tag}-{category}" for category in categories for tag in "BIES")]
    assert whole._forward._model.config.id2label == dict(enumerate(expected))


def test_log_odds_are_those_of_the_models_probabilities(folder, whole):
    """Computed once more, token by token, from a softmax over the model's own scores."""
    import torch
    from transformers import AutoModelForTokenClassification, AutoTokenizer

    text = "My name is Ann. 제 이름은"
    model, tokenizer = AutoModelForTokenClassification.from_pretrained(folder), AutoTokenizer.from_pretrained(folder)
    coded = tokenizer(text, return_offsets_mapping=True, return_tensors="pt")
    places = coded.pop("offset_mapping")[0].tolist()
    with torch.no_grad():
        background = model(**coded).logits[0].double().softmax(-1)[:, 0]
    expected = {}
    for (start, end), odds in zip(places, torch.log((1 - background) / background).tolist(), strict=True):
        for place in range(start, end):
            expected[place] = max(odds, expected.get(place, odds))
    (found,) = load({"model": str(folder), "output": "log_odds"}).detect([text])
    for place, character in enumerate(text):
        if not character.isspace():
            own = max(each.score for each in found if each.start <= place < each.end)
            assert own == pytest.approx(expected[place], abs=1e-4)


def test_windows_change_no_log_odds_and_the_soft_union_holds_what_is_decoded(folder, whole):
    (decoded,) = whole.detect([TEXT])
    (tokens,) = load({"model": str(folder), "output": "log_odds"}).detect([TEXT])
    (soft,) = load({"model": str(folder), "output": "soft", "token_budget": 2 * REACH + 7}).detect([TEXT])
    assert places(each for each in soft if each.score == CERTAIN) == places(decoded)
    certain = set(places(decoded))
    assert [each.score for each in soft if each[:3] not in certain] == pytest.approx(
        [each.score for each in tokens if each[:3] not in certain], abs=1e-3
    )


@pytest.mark.parametrize("budget", [2 * REACH + 1, 2 * REACH + 7, 60])
def test_windows_give_the_scores_of_one_pass(folder, whole, budget):
    (expected,) = whole.detect([TEXT])
    cut = load({"model": str(folder), "token_budget": budget})
    (found,) = cut.detect([TEXT])
    assert len(expected) > 50
    assert places(found) == places(expected)
    assert [each.score for each in found] == pytest.approx([each.score for each in expected], abs=1e-3)


def test_with_one_neighbour_less_they_would_not(folder, whole):
    (expected,) = whole.detect([TEXT])
    cut = load({"model": str(folder), "token_budget": 2 * REACH + 7})
    cut._forward._margin = REACH - 1
    (found,) = cut.detect([TEXT])
    assert [each.score for each in found] != pytest.approx([each.score for each in expected], abs=1e-3)


def test_spans_are_code_points_of_tokens_of_one_byte(scored):
    """An emoji is four tokens here, and Hangul three each."""
    text = "\U0001f600뷁b"
    assert scored(text, "S-secret", *["O"] * 7) == [(0, 1, "secret", pytest.approx(1.0))]
    assert places(
        scored(text, *["O"] * 4, "B-private_person", "I-private_person", "I-private_person", "E-private_person")
    ) == [(1, 3, "private_person")]


def test_blanks_at_the_ends_of_a_span_are_left_out(scored):
    labels = ["O", "O", "B-private_date", "I-private_date", "E-private_date", "O"]
    assert places(scored("xx 1 y", *labels)) == [(3, 4, "private_date")]
    assert places(scored("xx   y", "O", "O", "B-secret", "I-secret", "E-secret", "O")) == []


def test_an_impossible_sequence_is_read_as_a_possible_one(scored):
    found = scored("abc", "I-secret", "I-secret", "I-secret")
    assert places(found) == [(0, 3, "secret")]
    assert found[0].score == pytest.approx(1.0)


def test_a_control_token_in_a_text_is_plain_text(whole, monkeypatch):
    given = []
    monkeypatch.setattr(
        whole._forward, "logits", lambda texts: given.extend(texts) or [np.zeros((len(ids), 33)) for ids in texts]
    )
    whole.detect(["<|endoftext|>"])
    assert len(given[0]) > 1


def test_no_batch_is_larger_than_the_budget(folder, monkeypatch):
    detector, sizes = load({"model": str(folder), "token_budget": 40}), []
    run = detector._forward._run
    monkeypatch.setattr(detector._forward, "_run", lambda rows: sizes.append([len(row) for row in rows]) or run(rows))
    detector.detect([TEXT, *("name" * n for n in range(12))])
    assert all(len(rows) * max(rows) <= 40 for rows in sizes)
    assert max(map(len, sizes)) > 1


def write_points(folder, points):
    (folder / "viterbi_calibration.json").write_text(json.dumps(points))


@pytest.fixture
def calibrated(tmp_path):
    folder = make_tiny_filter(tmp_path)
    keen = {"transition_bias_background_to_start": 5.0, "transition_bias_end_to_start": 5.0}
    shy = {"transition_bias_background_stay": 1000.0}
    write_points(folder, {"operating_points": {"default": {"biases": keen}, "shy": {"biases": shy}}})
    return folder


def test_the_checkpoints_operating_points_are_used(calibrated, whole):
    plain = whole.detect([TEXT])
    assert len(load({"model": str(calibrated)}).detect([TEXT])[0]) > len(plain[0])
    shy = load({"model": str(calibrated), "operating_point": "shy"}).detect([TEXT])
    assert len(shy[0]) < len(plain[0])


def test_an_unknown_operating_point_is_refused_with_the_known_ones(calibrated, folder):
    with pytest.raises(InputError, match="no operating point 'bold'; it has default, shy"):
        load({"model": str(calibrated), "operating_point": "bold"})
    with pytest.raises(InputError, match="no operating point 'bold'; it has default"):
        load({"model": str(folder), "operating_point": "bold"})


@pytest.mark.parametrize(
    "content", ["{", "[]", "{}", '{"operating_points": {"default": {}}}', '{"operating_points": []}']
)
def test_a_damaged_calibration_is_refused(tmp_path, content):
    folder = make_tiny_filter(tmp_path)
    (folder / "viterbi_calibration.json").write_text(content)
    with pytest.raises(InputError, match="fetch the model again"):
        load({"model": str(folder)})


def test_a_budget_without_room_is_refused(folder):
    with pytest.raises(InputError, match=f"give at least {2 * REACH + 1}"):
        load({"model": str(folder), "token_budget": 2 * REACH})


def test_another_architecture_is_refused(tmp_path):
    from transformers import GPT2Config, GPT2LMHeadModel

    folder = make_tiny_filter(tmp_path)
    GPT2LMHeadModel(GPT2Config(vocab_size=320, n_embd=8, n_layer=1, n_head=1)).save_pretrained(folder)
    with pytest.raises(InputError, match="of kind 'gpt2'; name one of kind 'openai_privacy_filter'"):
        load({"model": str(folder)})


def test_other_labels_are_refused(tmp_path):
    folder = make_tiny_filter(tmp_path)
    config = json.loads((folder / "config.json").read_text())
    config["id2label"]["1"] = "LABEL_1"
    config["label2id"] = {label: int(number) for number, label in config["id2label"].items()}
    (folder / "config.json").write_text(json.dumps(config))
    with pytest.raises(InputError, match="O and B-, I-, E-, S-"):
        load({"model": str(folder)})


def test_a_model_that_is_not_there_is_one_sentence(tmp_path):
    with pytest.raises(InputError, match="neither a complete local folder nor to be had"):
        load({"model": str(tmp_path / "none")})
