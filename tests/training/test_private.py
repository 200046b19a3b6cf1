"""DP-SGD against plain loops over records, statistics of its draws and noise, and bounds of epsilon made by hand."""

from __future__ import annotations

import math
import signal
from statistics import NormalDist
from types import SimpleNamespace

import numpy as np
import pytest
import torch

from sm_ops.core.config.private import Private
from sm_ops.core.errors import InputError, StageError
from sm_ops.training import lora, models, private, self_check
from sm_ops.training.packing import IGNORED

VOCABULARY = 32


def made(length: int, kept: int, seed: int):
    random = np.random.default_rng(seed)
    ids = random.integers(1, VOCABULARY, length)
    masked = np.zeros(length, bool)
    masked[random.permutation(np.arange(1, length))[kept:]] = True
    labels = np.where(masked, IGNORED, ids)
    labels[0] = IGNORED
    return {"input_ids": ids, "labels": labels, "masked": masked}


ROWS = [made(length, kept, seed) for seed, (length, kept) in enumerate(
    [(12, 11), (5, 4), (9, 1), (12, 0), (7, 3), (3, 2), (11, 6), (8, 7), (4, 1), (6, 5)]
)]  # fmt: skip


@pytest.fixture
def gpt2(new_model):
    return new_model()


def llama():
    from transformers import LlamaConfig, LlamaForCausalLM

    torch.manual_seed(0)
    shape = {"hidden_size": 16, "intermediate_size": 32, "num_hidden_layers": 1, "num_attention_heads": 2}
    return LlamaForCausalLM(LlamaConfig(vocab_size=VOCABULARY, max_position_embeddings=16, **shape))


def adapted(model):
    torch.manual_seed(1)
    wrapped = lora.wrap(model, SimpleNamespace(rank=2, alpha=4, dropout=0.0))
    with torch.no_grad():
        for name, each in wrapped.named_parameters():
            if "lora_B" in name:  # zero at first, which gives the other half no gradient
                each.normal_(0, 0.1)
    return wrapped


@pytest.fixture
def fit(settings, tmp_path, monkeypatch):
    """`fit(model, rows, groups, steps, scratch, private settings..., train={...})`: numbers, gradients, drawn units.

    Without noise and clipping, one step and every record in it, where nothing else is said. The gradient of each step
    is what the optimiser was given, as one vector. Without `passes` no gradient is taken.
    """
    step, unit_gradients = torch.optim.AdamW.step, private._unit_gradients

    def run(model, rows=ROWS, groups=None, steps=1, scratch="scratch", progress=lambda *_: None, train=None,
            passes=True, **changes):  # fmt: skip
        seen, drawn = [], []

        def watched(self, *arguments):
            grads = [each.grad for group in self.param_groups for each in group["params"]]
            seen.append(torch.cat([each.flatten() for each in grads]))
            return step(self, *arguments)

        def recorded(per_record, rows, units, size):
            drawn.append(units)
            return unit_gradients(per_record, rows, units, size) if passes else iter(())

        monkeypatch.setattr(torch.optim.AdamW, "step", watched)
        monkeypatch.setattr(private, "_unit_gradients", recorded)
        asked = {"batch_size": len(rows), "epochs": max(steps, 1), "steps": steps} | (train or {})
        values = {"noise_multiplier": 0.0, "max_grad_norm": 1e9, "physical_batch": 3} | changes
        numbers = private.fit_private(
            model, rows, groups or [None] * len(rows), 0, settings(**asked), Private(**values), 0,
            tmp_path / scratch, progress,
        )  # fmt: skip
        return SimpleNamespace(numbers=numbers, gradients=seen, drawn=drawn)

    return run


def alone(model, row):
    """The gradient of one record's loss, without any other and without padding; in the optimiser's order."""
    trained = [each for each in model.parameters() if each.requires_grad]
    ids = torch.from_numpy(row["input_ids"])[None]
    logits = torch.log_softmax(model(input_ids=ids).logits[0].float(), -1)
    kept = [place for place in range(1, len(row["labels"])) if row["labels"][place] != IGNORED]
    loss = sum((-logits[place - 1, row["labels"][place]] for place in kept), torch.zeros(())) / max(len(kept), 1)
    found = torch.autograd.grad(loss, trained, allow_unused=True) if kept else [None] * len(trained)
    both = [(each, torch.zeros_like(each) if own is None else own) for each, own in zip(trained, found, strict=True)]
    parts = [own for each, own in both if each.ndim > 1] + [own for each, own in both if each.ndim <= 1]
    return torch.cat([each.flatten() for each in parts]), float(loss.detach())


def clipped(vector, norm):
    return vector * min(1.0, norm / max(float(vector.norm()), 1e-30))


# ---- gradients -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["gpt2", "gpt2 lora", "llama", "llama lora"])
def test_a_step_is_the_mean_of_gradients_clipped_one_by_one(fit, gpt2, kind):
    model = llama() if "llama" in kind else gpt2
    model = adapted(model) if "lora" in kind else model
    singly = [alone(model, row) for row in ROWS]
    norms = sorted(float(each.norm()) for each, _ in singly)
    bound = (norms[4] + norms[5]) / 2
    expected = torch.stack([clipped(each, bound) for each, _ in singly]).mean(0)
    got = fit(model, max_grad_norm=bound)
    assert torch.allclose(got.gradients[0], expected, rtol=1e-4, atol=1e-6 * float(expected.abs().max()) + 1e-8)
    assert got.numbers["clipped_share"] == 0.5
    assert got.numbers["train_loss"] == pytest.approx(np.mean([loss for _, loss in singly]), rel=1e-5)
    assert not any(hasattr(each, "grad_sample") for each in model.parameters())


def test_a_group_is_clipped_as_one(fit, gpt2):
    groups = ["a", "b", "a", None, "a", None, "b", "a", "a", "c"]
    vectors = [alone(gpt2, row)[0] for row in ROWS]
    units = [[0, 2, 4, 7, 8], [1, 6], [3], [5], [9]]
    means = [torch.stack([vectors[row] for row in unit]).mean(0) for unit in units]
    bound = float(means[1].norm()) * 0.9
    expected = torch.stack([clipped(each, bound) for each in means]).sum(0) / 5
    state = {name: each.clone() for name, each in gpt2.state_dict().items()}
    for size in (1, 2, 3, 100):
        gpt2.load_state_dict(state)
        got = fit(gpt2, groups=groups, unit="group", max_grad_norm=bound, physical_batch=size)
        assert torch.allclose(got.gradients[0], expected, rtol=1e-4, atol=1e-7)
    wanted = {"units": 5, "unit": "group", "records": 10, "records_without_group": 2, "largest_unit": 5}
    assert wanted.items() <= got.numbers.items()


def test_a_groups_reach_does_not_grow_with_its_records(fit, new_model):
    """Every record of a group twice: the same gradient; the group left out: a change of at most the norm."""
    groups, bound, train = ["a"] * 4 + ["b"] * 3 + ["c"] * 3, 0.1, {"batch_size": 3}

    def summed(rows, groups):
        got = fit(new_model(), rows, groups, unit="group", max_grad_norm=bound, train=train)
        assert got.numbers["clipped_share"] == 1
        return got.gradients[0] * got.numbers["units"]

    whole = summed(ROWS, groups)
    assert torch.allclose(whole, summed([*ROWS, *ROWS[:4]], [*groups, *["a"] * 4]), atol=1e-6)
    difference = float((whole - summed(ROWS[4:], groups[4:])).norm())
    assert difference == pytest.approx(bound, rel=1e-4)


def test_without_noise_and_clipping_it_is_plain_training_on_poisson_batches(fit, new_model):
    train = {"batch_size": 2, "accumulation": 2, "learning_rate": 1e-2, "weight_decay": 0.1, "schedule": "linear"}
    model, plain = new_model(), new_model()
    got = fit(model, steps=6, train=train)
    assert got.numbers["sample_rate"] == 0.4
    decay = [each for each in plain.parameters() if each.ndim > 1]
    others = [each for each in plain.parameters() if each.ndim <= 1]
    parameters = [*decay, *others]
    optimiser = torch.optim.AdamW([{"params": decay, "weight_decay": 0.1}, {"params": others, "weight_decay": 0}], 1e-2)
    for number, batch in enumerate(got.drawn):
        singly = [alone(plain, ROWS[row])[0] for (row,) in batch]
        gradient = torch.stack([*singly, torch.zeros_like(weights(plain))]).sum(0) / 4
        assert torch.allclose(got.gradients[number], gradient, rtol=1e-3, atol=1e-6)
        for each, part in zip(parameters, gradient.split([each.numel() for each in parameters]), strict=True):
            each.grad = part.view_as(each)
        for group in optimiser.param_groups:
            group["lr"] = 1e-2 * (1 - number / 6)
        optimiser.step()
    assert torch.allclose(weights(model), weights(plain), atol=1e-4)


# ---- draws and noise -----------------------------------------------------------------------------------


def test_the_noise_has_the_deviation_that_is_accounted(fit, new_model):
    steps, bound, multiplier = 3, 0.5, 1.5
    options = {"steps": steps, "max_grad_norm": bound, "train": {"learning_rate": 1e-9}}
    noisy = fit(new_model(), noise_multiplier=multiplier, **options)
    clean = fit(new_model(), scratch="clean", **options)
    noise = [(a - b) * len(ROWS) for a, b in zip(noisy.gradients, clean.gradients, strict=True)]
    for each in noise:
        size, deviation = len(each), bound * multiplier
        assert abs(float(each.std()) / deviation - 1) < 5 / math.sqrt(2 * size)
        assert abs(float(each.mean())) < 5 * deviation / math.sqrt(size)
    for one, other in ((0, 1), (1, 2), (0, 2)):
        assert abs(np.corrcoef(noise[one], noise[other])[0, 1]) < 5 / math.sqrt(len(noise[0]))


def test_units_are_drawn_alone_and_with_the_accounted_rate(fit, gpt2):
    steps = 600
    got = fit(gpt2, steps=steps, train={"batch_size": 3}, passes=False)
    drawn = np.zeros((steps, 10))
    for step, units in enumerate(got.drawn):
        drawn[step, [row for (row,) in units]] = 1
    rate = got.numbers["sample_rate"]
    assert rate == 0.3
    assert np.abs(drawn.mean(0) - rate).max() < 5 * math.sqrt(rate * (1 - rate) / steps)
    correlations = np.corrcoef(drawn.T)[np.triu_indices(10, 1)]
    assert np.abs(correlations).max() < 5 / math.sqrt(steps)
    assert abs(drawn.sum(1).var() / (10 * rate * (1 - rate)) - 1) < 5 * math.sqrt(2 / steps)


def test_empty_batches_are_steps_with_noise_alone(fit, gpt2, new_model):
    train, rows = {"batch_size": 1, "learning_rate": 1e-3}, [*ROWS[:3], *ROWS[4:]]  # each with something to learn
    quiet = fit(gpt2, rows, steps=20, train=train, max_grad_norm=1.0)
    empty = [step for step, units in enumerate(quiet.drawn) if not units]
    assert 0 < len(empty) == quiet.numbers["empty_batches"] < 20
    assert [step for step, each in enumerate(quiet.gradients) if not each.any()] == empty
    noisy = fit(new_model(), rows, steps=20, train=train, max_grad_norm=1.0, noise_multiplier=2.0, scratch="noisy")
    assert noisy.numbers["empty_batches"] == len(empty)
    assert float(noisy.gradients[empty[0]].std()) == pytest.approx(2.0, rel=0.05)


# ---- epsilon -------------------------------------------------------------------------------------------


def gaussian_delta(epsilon: float, mu: float) -> float:
    """Of one Gaussian mechanism with sensitivity / deviation mu (Balle and Wang, 2018, theorem 8)."""
    phi = NormalDist().cdf
    return phi(mu / 2 - epsilon / mu) - math.exp(epsilon) * phi(-mu / 2 - epsilon / mu)


def one_step_delta(epsilon: float, rate: float, sigma: float) -> float:
    """Of one step of the subsampled mechanism, by integrating its two outputs' densities."""
    x = np.linspace(-12 * sigma, 1 + 12 * sigma, 400_001)
    zero, one = (np.exp(-((x - at) ** 2) / 2 / sigma**2) / sigma / math.sqrt(2 * math.pi) for at in (0, 1))
    mixed = (1 - rate) * zero + rate * one
    pairs = ((mixed, zero), (zero, mixed))
    return max(float(np.maximum(a - math.exp(epsilon) * b, 0).sum() * (x[1] - x[0])) for a, b in pairs)


def renyi_epsilon(rate: float, sigma: float, steps: int, delta: float) -> float:
    """Of many steps, by the moments of whole orders (Mironov, Talwar and Zhang, 2019, equation 6)."""
    found = []
    for order in range(2, 64):
        terms = [
            math.lgamma(order + 1) - math.lgamma(k + 1) - math.lgamma(order - k + 1)
            + k * math.log(rate) + (order - k) * math.log1p(-rate) + k * (k - 1) / 2 / sigma**2
            for k in range(order + 1)
        ]  # fmt: skip
        found.append(steps * np.logaddexp.reduce(terms) / (order - 1) + math.log(1 / delta) / (order - 1))
    return min(found)


def test_epsilon_of_full_batches_is_that_of_one_gaussian():
    for sigma, steps, delta in ((2.0, 10, 1e-2), (5.0, 40, 1e-5)):
        got = private.epsilon(sigma, 1.0, steps, delta)
        mu = math.sqrt(steps) / sigma
        assert gaussian_delta(got, mu) <= delta <= gaussian_delta(got - 0.03, mu)


def test_epsilon_lies_between_what_is_known_below_and_above():
    sigma, rate, steps, delta = 0.9, 0.05, 60, 1e-3
    got = private.epsilon(sigma, rate, steps, delta)
    assert 0.5 * renyi_epsilon(rate, sigma, steps, delta) < got < renyi_epsilon(rate, sigma, steps, delta)
    one = private.epsilon(0.6, 0.2, 1, 1e-2)
    assert one_step_delta(one, 0.2, 0.6) <= 1e-2 <= one_step_delta(one - 0.03, 0.2, 0.6)


def test_the_noise_for_a_target_is_found_and_epsilon_is_of_the_run(fit, gpt2):
    got = fit(gpt2, steps=4, noise_multiplier=None, max_grad_norm=1.0).numbers
    assert (got["target_epsilon"], got["delta"], got["sample_rate"], got["steps"]) == (8.0, 0.1, 1.0, 4)
    mu = math.sqrt(4) / got["noise_multiplier"]
    assert gaussian_delta(8.0, mu) <= 0.1
    assert 7.9 < got["epsilon"] <= 8.0
    assert fit(gpt2, scratch="b").numbers["epsilon"] is None  # without noise


def test_what_breaks_the_promise_is_refused(fit, gpt2):
    with pytest.raises(InputError, match=r"delta = 0.2 .* one of the 10 units"):
        fit(gpt2, delta=0.2)
    with pytest.raises(InputError, match="No noise keeps"):
        fit(gpt2, noise_multiplier=None, target_epsilon=1e-9, delta=1e-9)


def test_a_model_whose_records_meet_is_refused(fit, gpt2):
    gpt2.transformer.wte.register_forward_hook(lambda module, inputs, output: output - 0.5 * output.mean(0))
    with pytest.raises(InputError, match=r"gradients of single records of GPT2LMHeadModel"):
        fit(gpt2)
    assert not any(hasattr(each, "grad_sample") for each in gpt2.parameters())


def test_a_diverging_run_is_stopped(fit, gpt2):
    with pytest.raises(StageError, match=r"not a number at step [2-9]"):
        fit(gpt2, steps=9, train={"learning_rate": 1e25})


# ---- equal bytes ---------------------------------------------------------------------------------------


def weights(model):
    return torch.cat([each.detach().flatten() for each in model.parameters()])


def test_killed_and_resumed_is_uninterrupted_and_counts_each_step_once(fit, new_model):
    """Dropout, momentum, schedule and draws go on as they would have."""

    class Killed(BaseException):
        pass

    def dying(done, total):
        if done == 10:
            raise Killed

    def dropping():
        model = new_model()
        for module in model.modules():
            if isinstance(module, torch.nn.Dropout):
                module.p = 0.1
        return model

    train = {"batch_size": 3, "checkpoint_steps": 4, "learning_rate": 1e-2, "schedule": "cosine", "warmup_steps": 3}
    options = {"steps": 15, "noise_multiplier": 1.0, "max_grad_norm": 1.0, "train": train}
    models_ = [dropping() for _ in range(4)]
    whole = fit(models_[0], **options)
    again = fit(models_[1], scratch="again", **options)
    with pytest.raises(Killed):
        fit(models_[2], scratch="killed", progress=dying, **options)
    resumed = fit(models_[3], scratch="killed", **options)
    assert len(resumed.gradients) == 7  # from step 9 on
    assert torch.equal(weights(models_[0]), weights(models_[1]))
    assert torch.equal(weights(models_[0]), weights(models_[3]))
    assert whole.numbers == again.numbers == resumed.numbers
    assert resumed.numbers["steps"] == 15
    other = fit(dropping(), scratch="killed", **(options | {"noise_multiplier": 2.0}))
    assert len(other.gradients) == 15  # the checkpoint of another plan is none
    assert other.numbers["epsilon"] < resumed.numbers["epsilon"]


def test_asked_to_leave_it_saves_its_step_and_goes_on_from_there(fit, new_model):
    def asking(done, total):
        if done == 10:
            signal.raise_signal(signal.SIGTERM)

    options = {"steps": 15, "noise_multiplier": 1.0, "max_grad_norm": 1.0, "train": {"checkpoint_steps": 100}}
    models_ = [new_model() for _ in range(3)]
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        with pytest.raises(KeyboardInterrupt):
            fit(models_[0], scratch="left", progress=asking, **options)
    finally:
        signal.signal(signal.SIGTERM, before)
    resumed, whole = fit(models_[1], scratch="left", **options), fit(models_[2], **options)
    assert len(resumed.gradients) == 4  # the signal was noticed after step 11
    assert torch.equal(weights(models_[1]), weights(models_[2]))
    assert resumed.numbers == whole.numbers


def test_adapters_are_saved_as_they_are_trained(fit, gpt2, tmp_path):
    models.save(gpt2, tmp_path / "base")
    model = adapted(gpt2)
    before = self_check.weights(model)
    train = {"dtype": "bfloat16", "optimizer": "muon"}
    fit(model, noise_multiplier=0.5, max_grad_norm=1.0, steps=2, train=train)
    models.save(model, tmp_path / "adapter")
    numbers = self_check.check(model, before, tmp_path / "adapter", tmp_path / "base")
    assert numbers["changed_parameters"] == numbers["trained_parameters"] > 0
