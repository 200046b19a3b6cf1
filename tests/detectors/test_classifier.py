"""A token classifier fine-tuned on labelled records: it learns, reads texts of any length, and says what it lacks."""

from __future__ import annotations

import json
from types import SimpleNamespace

import pytest
from tiny_classifier import SMALL, emails, tiny_classifier

from sm_ops.core import registry
from sm_ops.core.errors import InputError
from sm_ops.core.records import Record, Span
from sm_ops.detectors.bioes import Decoder
from sm_ops.detectors.classifier import fitting
from sm_ops.detectors.classifier.fitting import fit
from sm_ops.detectors.classifier.tags import IGNORED, labels_of, tags
from sm_ops.detectors.forward import Forward

QUICK = {**SMALL, "epochs": 1}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tiny_classifier(tmp_path_factory.mktemp("classifier"))


def load(folder, **settings):
    return registry.load("detector", "classifier").load({"model": str(folder), **settings})


def values(text, detections):
    return {text[each.start : each.end] for each in detections}


def test_it_finds_what_it_learned_in_texts_that_it_never_saw(folder):
    given = [f"Dear team, {name}@example.com 님께 {n}" for n, name in enumerate(("ann", "b.kim", "sales"))]
    found = load(folder).detect(given)
    assert sum(f"{text.split()[2]}" in values(text, own) for text, own in zip(given, found, strict=True)) >= 2
    assert {each.label for own in found for each in own} == {"EMAIL"}


def test_a_long_text_is_read_in_windows_to_its_end(folder):
    text = "\n".join(record.content for record in emails(60))
    (found,) = load(folder).detect([text])
    expected = [address for record in emails(60) for address in values(record.content, record.spans)]
    hits = sorted(each.start for each in found if text[each.start : each.end] in expected)
    assert len(hits) > 50
    assert hits[-1] > len(text) - 60


def test_what_is_left_of_a_threshold_has_log_odds_and_the_soft_union_holds_both(folder):
    text = emails(3)[2].content
    (decoded,), (tokens,), (soft,) = (load(folder, output=o).detect([text]) for o in ("decoded", "log_odds", "soft"))
    assert decoded
    assert {each[:3] for each in soft} >= {each[:3] for each in [*decoded, *tokens]}
    inside = [
        each.score for each in tokens if "ann" in text[each.start : each.end] or "@" in text[each.start : each.end]
    ]
    assert min(each.score for each in tokens) < min(inside, default=0)


def test_fitting_again_gives_the_same_weights_and_another_seed_others(tmp_path):
    for name, seed in (("one", 0), ("again", 0), ("other", 1)):
        fit(emails(12), tmp_path / name, {**QUICK, "seed": seed})
    one, again, other = ((tmp_path / name / "model.safetensors").read_bytes() for name in ("one", "again", "other"))
    assert one == again
    assert one != other


def test_the_numbers_of_a_fit_count_what_was_learned(tmp_path):
    record = emails(1)[0]
    start, end = record.spans[0].start, record.spans[0].end
    left_out = Record("2", text=record.text, meta={"left_out": [[start, end]]})
    whole = fit([record, record], tmp_path / "whole", QUICK)
    part = fit([record, left_out], tmp_path / "part", QUICK)
    assert (whole["records"], whole["targets"], part["targets"]) == (2, 2, 1)
    assert 0 < whole["tokens"] - part["tokens"] < whole["tokens"] / 2
    assert whole["loss"] > 0


@pytest.mark.parametrize("kind", ["ModernBert", "DebertaV2"])
def test_any_encoder_by_its_folder(tmp_path, kind):
    """Also with a tokenizer that puts something around every text."""
    import transformers
    from tokenizers import processors
    from transformers import AutoTokenizer

    from sm_ops.training.tiny import train_tokenizer

    path = tmp_path / "encoder"
    tokenizer = train_tokenizer([record.content for record in emails(20)], 400, path)
    backend = tokenizer.backend_tokenizer
    ends = [(token, backend.token_to_id(token)) for token in ("<|user|>", "<|end|>")]
    backend.post_processor = processors.TemplateProcessing("<|user|> $A <|end|>", special_tokens=ends)
    tokenizer.save_pretrained(path)
    config = getattr(transformers, f"{kind}Config")(
        vocab_size=len(tokenizer), hidden_size=32, num_hidden_layers=1, num_attention_heads=2, intermediate_size=32,
        max_position_embeddings=66, pad_token_id=0, bos_token_id=0, eos_token_id=0, cls_token_id=0, sep_token_id=0,
    )  # fmt: skip
    getattr(transformers, f"{kind}Model")(config).save_pretrained(path)
    AutoTokenizer.from_pretrained(path)
    with pytest.raises(InputError, match="window is 65, but the encoder reads 64 tokens at once"):
        fit(emails(4), tmp_path / "none", {**QUICK, "encoder": str(path), "window": 65})
    fit(emails(4), tmp_path / "fitted", {**QUICK, "encoder": str(path)})
    text = "\n".join(record.content for record in emails(30))
    (found,) = load(tmp_path / "fitted", output="log_odds").detect([text])
    assert {place for each in found for place in range(each.start, each.end)} == set(range(len(text.strip())))


@pytest.mark.parametrize(
    ("settings", "what"),
    [
        ({"epochs": 0}, "epochs is 0"),
        ({"learning_rate": -1}, "learning_rate is -1"),
        ({"heads": 3}, "width must be a multiple of twice the heads"),
        ({"encoder": "/nowhere/at/all"}, "neither a complete local folder"),
        ({"epoch": 3}, "no setting 'epoch'; the nearest is epochs"),
        ({"device": "tpu"}, "device is 'tpu'"),
    ],
)
def test_settings_that_do_not_fit_are_refused(tmp_path, settings, what):
    with pytest.raises(InputError, match=what):
        fit(emails(2), tmp_path, {**QUICK, **settings})


def test_records_without_targets_teach_nothing(tmp_path):
    with pytest.raises(InputError, match="No record has a span"):
        fit([Record("1", text="plain")], tmp_path, QUICK)


@pytest.mark.parametrize("content", ["{", "[]", "{}", '{"format": "classifier/0"}', '{"format": "classifier/1"}'])
def test_a_folder_of_another_format_is_refused(tmp_path, content):
    (tmp_path / "classifier.json").write_text(content)
    with pytest.raises(InputError, match="is not of format 'classifier/1'; fit the classifier again"):
        load(tmp_path)


def test_no_fitted_model_is_one_sentence(tmp_path):
    with pytest.raises(InputError, match="needs the folder of a fitted model, and `model` is not set"):
        registry.load("detector", "classifier").load({})
    with pytest.raises(InputError, match="needs the folder of a fitted model, and `model` is "):
        load(tmp_path)


@pytest.mark.unit
def test_the_tags_of_spans_that_overlap_and_of_what_is_left_out():
    labels = labels_of(["A", "B"])
    Decoder(labels)  # they are a scheme that can be decoded
    record = Record("1", text="abcdefgh", spans=(Span(1, 3, "A"), Span(2, 7, "B"), Span(7, 8, "A")))
    offsets = [(0, 1), (1, 3), (3, 4), (4, 6), (6, 7), (7, 8)]
    found = tags(record, [(0, 1), (3, 4)], offsets, labels)
    assert [labels[n] if n != IGNORED else None for n in found] == [None, "B-B", "I-B", "I-B", "E-B", "S-A"]


@pytest.mark.unit
@pytest.mark.parametrize("length", [0, 1, 8, 9, 23])
def test_every_token_is_learned_in_one_window(length):
    cut = list(fitting.windows(0, length, 8, 2))
    assert [place for window in cut for place in range(window.first, window.last)] == list(range(length))
    assert all(window.start <= window.first < window.last <= window.end <= window.start + 8 for window in cut)
    for window in cut:
        assert window.first - window.start >= min(2, window.first)
        assert window.end - window.last >= min(2, length - window.last)


def test_scores_stand_at_their_own_tokens_whatever_is_put_around_a_window():
    """A stand-in for a model scores each position with its token's id."""
    import torch

    sizes = []

    class Echo:
        config = SimpleNamespace(num_labels=1, pad_token_id=0)
        device = torch.device("cpu")

        def __call__(self, input_ids, attention_mask):
            sizes.append(tuple(input_ids.shape))
            assert (attention_mask.sum(1) == (input_ids > 0).sum(1)).all()
            assert (input_ids[:, :2] == torch.tensor([901, 902])).all()
            return SimpleNamespace(logits=input_ids.unsqueeze(-1).float())

    texts = [list(range(1, 24)), [], [77], list(range(100, 109))]
    forward = Forward(Echo(), 8, 2, 22, ([901, 902], [903]))
    assert [scores[:, 0].tolist() for scores in forward.logits(texts)] == texts
    assert max(rows for rows, _ in sizes) == 2
    assert all(rows * longest <= 22 for rows, longest in sizes)


def test_the_folder_says_what_it_is(folder):
    about = json.loads((folder / "classifier.json").read_text())
    assert about == {"format": "classifier/1", "window": 64, "categories": ["EMAIL"], "encoder": None}
