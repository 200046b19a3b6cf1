"""Every door by which a model is loaded: damaged files and settings that mean nothing are one sentence, never a bug."""

from __future__ import annotations

import json
import re
import shutil
from types import SimpleNamespace

import pytest

from sm_ops.core.errors import InputError
from sm_ops.core.records import Record
from sm_ops.core.settings import Settings

WORDS = ["The clerk filed one case on Monday and two on Friday."] * 4
SHAPE = SimpleNamespace(layers=1, width=16, heads=2)


def score(folder, settings):
    from sm_ops.scoring.backends import hf

    hf.load(settings(folder)).score([Record("a", text=WORDS[0])])


def attack(folder, settings):
    from sm_ops.scoring.models import hf

    hf.load(settings(folder))


def adapter(folder, settings):
    from sm_ops.attacks.models import Models

    lora = str(folder.with_name("adapter"))
    Models([lora], str(folder), "hf", {}).load(lora)


def train(folder, settings):
    from sm_ops.training import models

    models.load(folder)


def trained(folder, settings):
    from sm_ops.training import models

    models.load_trained(folder.with_name("adapter"), folder, device="cpu")


def extractor(folder, settings):
    from sm_ops.pii.extractor import loading

    loading.load_base(folder, Settings({"quantization": "none", "revision": None}), "float32")


def tuned(folder, settings):
    from sm_ops.pii.extractor import loading

    base = Settings({"quantization": "none", "revision": None})
    loading.load_tuned(folder.with_name("adapter"), folder, base, "float32")


def filler(folder, settings):
    from sm_ops.attacks.filling import load_filler

    load_filler(str(folder))


DOORS = [score, attack, adapter, train, trained, extractor, tuned, filler]


def cut(name, size):
    def damage(folder):
        file = folder.parent / name
        file.write_bytes(file.read_bytes()[:size])

    return damage


def without_a_tensor(folder):
    from safetensors.torch import load_file, save_file

    tensors = load_file(folder / "model.safetensors")
    tensors.pop("transformer.ln_f.weight")
    save_file(tensors, folder / "model.safetensors", {"format": "pt"})


def of_another_width(folder):
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps({**config, "n_embd": 32}))


def with_fewer_ids(folder):
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps({**config, "vocab_size": 200}))


FAULTS = {
    "weights cut": cut("base/model.safetensors", 1000),
    "no weights": lambda folder: (folder / "model.safetensors").unlink(),
    "empty weights": cut("base/model.safetensors", 0),
    "config cut": cut("base/config.json", 40),
    "a weight lacks": without_a_tensor,
    "other width": of_another_width,
    "fewer ids than the tokenizer": with_fewer_ids,
    "tokenizer cut": cut("base/tokenizer.json", 100),
    "adapter cut": cut("adapter/adapter_model.safetensors", 200),
    "adapter config cut": cut("adapter/adapter_config.json", 40),
}
READS_TOKENIZER = (score, attack, adapter, filler)
READS_ADAPTER = (adapter, trained, tuned)


@pytest.fixture(scope="module")
def sound(tmp_path_factory):
    from peft import LoraConfig, get_peft_model

    from sm_ops.training import models, tiny

    folder = tmp_path_factory.mktemp("sound")
    tokenizer = tiny.train_tokenizer(WORDS, 300, folder / "base")
    model = tiny.new_model(SHAPE, len(tokenizer), 128, tokenizer.bos_token_id, seed=0)
    models.save(model, folder / "base")
    config = LoraConfig(r=2, target_modules=["c_attn"], fan_in_fan_out=True, task_type="CAUSAL_LM")
    models.save(get_peft_model(model, config), folder / "adapter")
    return folder


def refusal(door, folder, settings):
    with pytest.raises(InputError) as caught:
        door(folder, settings)
    assert re.fullmatch(r"[^\n]*\.", caught.value.hint)
    assert not re.search(r"Error|Exception|Internal", caught.value.hint)
    assert caught.value.__cause__ is None
    return caught.value.hint


@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.parametrize("door", DOORS, ids=lambda door: door.__name__)
def test_damaged_files_are_one_sentence(door, fault, sound, tmp_path, settings):
    if fault == "tokenizer cut" and door not in READS_TOKENIZER:
        pytest.skip("it reads no tokenizer")
    if fault.startswith("adapter") and door not in READS_ADAPTER:
        pytest.skip("it reads no adapter")
    shutil.copytree(sound, tmp_path / "copy")
    FAULTS[fault](tmp_path / "copy" / "base")
    assert str(tmp_path) in refusal(door, tmp_path / "copy" / "base", settings)


@pytest.mark.parametrize("name", ["ngram.json", "counts.npz", "tokenizer.json"])
@pytest.mark.parametrize("size", [0, 30, -40])
def test_a_damaged_ngram_is_one_sentence(name, size, tmp_path, settings):
    from sm_ops.scoring.backends import ngram

    ngram.fit(WORDS, tmp_path / "folder", vocab_size=300)
    cut(f"folder/{name}", size)(tmp_path / "folder")
    assert str(tmp_path) in refusal(lambda folder, own: ngram.load(own(folder)), tmp_path / "folder", settings)


@pytest.mark.parametrize("door", [each for each in DOORS if each is not filler], ids=lambda door: door.__name__)
def test_sound_files_are_read(door, sound, settings):
    door(sound / "base", settings)


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"dtype": "float8"}, "dtype is 'float8', but must be one of float32, bfloat16, auto"),
        ({"dtype": None}, "dtype is None"),
        ({"device": "cuda"}, "torch sees no GPU"),
        ({"device": "gpu"}, "device is 'gpu', but must be one of auto, cpu, cuda"),
        ({"threads": 0}, "threads is 0, but must be a whole number of at least 1"),
        ({"threads": True}, "threads is True"),
        ({"token_budget": -1}, "token_budget is -1"),
        ({"token_budget": "many"}, "token_budget is 'many'"),
    ],
    ids=str,
)
@pytest.mark.parametrize("door", ["score", "attack", "privacy_filter"])
def test_what_a_model_cannot_compute_with_is_named_with_what_it_can(door, changed, words, sound, settings, monkeypatch):
    from sm_ops.detectors.members import privacy_filter
    from sm_ops.scoring.backends import hf as backend
    from sm_ops.scoring.models import hf as model

    monkeypatch.setattr("torch.cuda.is_available", lambda: False)
    if door == "privacy_filter" and "threads" in changed:
        pytest.skip("it has no such setting")
    doors = {
        "score": lambda folder, own: backend.load(own(folder, **changed)),
        "attack": lambda folder, own: model.load(own(folder, **changed)),
        "privacy_filter": lambda folder, own: privacy_filter.load({"model": str(folder), **changed}),
    }
    assert words in refusal(doors[door], sound / "base", settings)
