"""The check after training: a fault of each kind is found."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
import torch

from sm_ops.core.errors import StageError
from sm_ops.training import lora, models, self_check


@pytest.fixture(params=["whole", "adapter"])
def trained(request, new_model, tmp_path):
    """A model trained by hand and saved: it, its weights before, the folder, and its base's folder."""
    models.save(new_model(), tmp_path / "base")
    model = new_model()
    for module in model.modules():
        if isinstance(module, torch.nn.Dropout):
            module.p = 0.5
    if request.param == "adapter":
        model = lora.wrap(model, SimpleNamespace(rank=2, alpha=4, dropout=0.5))
    before = self_check.weights(model)
    with torch.no_grad():
        for name, each in model.named_parameters():
            if each.requires_grad and "bias" not in name:
                each += 0.1 * torch.randn(each.shape, generator=torch.Generator().manual_seed(len(name)))
    models.save(model, tmp_path / "model")
    return model.train(), before, tmp_path / "model", tmp_path / "base"


def test_what_was_trained_and_saved_passes(trained):
    numbers = self_check.check(*trained)
    changed = sum("bias" not in name for name in trained[1])
    assert (numbers["trained_parameters"], numbers["changed_parameters"]) == (len(trained[1]), changed)
    assert 0 <= numbers["reload_max_difference"] < 1e-5


def test_a_training_that_changed_nothing(trained):
    model, _, folder, base = trained
    with pytest.raises(StageError, match=f"changed none of {len(trained[1])} trained tensors"):
        self_check.check(model, self_check.weights(model), folder, base)


def test_another_model_than_the_saved_one(trained):
    model, before, folder, base = trained
    with torch.no_grad():
        next(each for each in model.parameters() if each.requires_grad)[0, 0] += 1
    with pytest.raises(StageError, match="saved model's logits differ by"):
        self_check.check(model, before, folder, base)


def test_an_adapter_on_another_base(trained, new_model):
    model, before, folder, base = trained
    other = new_model()
    with torch.no_grad():
        other.transformer.h[0].mlp.c_fc.weight[0] += 0.1
    models.save(other, base)
    if (folder / "adapter_config.json").is_file():
        with pytest.raises(StageError, match="saved model's logits differ by"):
            self_check.check(model, before, folder, base)
    else:
        self_check.check(model, before, folder, base)  # it needs no base


def test_a_file_that_cannot_be_read(trained):
    model, before, folder, base = trained
    (weights,) = folder.glob("*.safetensors")
    weights.write_bytes(weights.read_bytes()[:-100])
    with pytest.raises(StageError, match="cannot be read back"):
        self_check.check(model, before, folder, base)
    weights.unlink()
    with pytest.raises(StageError, match="cannot be read back"):
        self_check.check(model, before, folder, base)
