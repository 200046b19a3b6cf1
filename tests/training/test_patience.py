"""Training until the validation perplexity stops improving: when it ends, what it keeps, and how it goes on."""

from __future__ import annotations

import math

import pytest
import torch

from sm_ops.core.errors import InputError, StageError
from sm_ops.training import trainer


@pytest.fixture
def fit(settings, tmp_path, new_rows):
    def run(model, scratch="scratch", progress=lambda *_: None, steps=None, validation=None, patience=2, **changes):
        values = {"epochs": 12, "batch_size": 2, "learning_rate": 3e-2} | changes
        held_out = new_rows(12)[8:] if validation is None else validation
        return trainer.fit(
            model, new_rows(8), 0, settings(**values), 0, tmp_path / scratch, progress, steps=steps,
            validation=held_out, patience=patience,
        )  # fmt: skip

    return run


@pytest.fixture
def losses(monkeypatch):
    """Let the validation losses be these, and put the weights at each measurement into the list that is returned."""

    def given(values):
        found, rest = [], iter(values)

        def measure(model, *_):
            found.append(weights(model))
            return next(rest)

        monkeypatch.setattr(trainer, "validation_loss", measure)
        return found

    return given


def weights(model):
    return torch.cat([each.detach().flatten() for each in model.parameters()])


def by_hand(model, rows):
    """exp of the mean negative log likelihood of the rows' labels, one row at a time."""
    total, count = 0.0, 0
    with torch.no_grad():
        for row in rows:
            logits = torch.log_softmax(model(input_ids=torch.from_numpy(row["input_ids"])[None]).logits[0], -1)
            for place, label in enumerate(row["labels"].tolist()):
                if label != -100:
                    total, count = total - float(logits[place - 1, label]), count + 1
    return math.exp(total / count)


def test_it_ends_when_nothing_improves_and_keeps_the_best(fit, losses, new_model):
    seen = losses([3.0, 2.0, 2.5, 2.0, 9.0])
    model = new_model()
    numbers = fit(model)
    assert (numbers["epochs"], numbers["best_epoch"], numbers["steps"]) == (4, 2, 16)
    assert numbers["validation_perplexity"] == pytest.approx(math.exp(2))
    assert torch.equal(weights(model), seen[1])
    assert not torch.equal(weights(model), seen[3])


def test_an_improvement_gives_new_time_and_the_last_pass_may_be_the_best(fit, losses, new_model):
    losses([3, 4, 2, 3, 1, 2, 2])
    numbers = fit(new_model(), "one")
    assert (numbers["epochs"], numbers["best_epoch"]) == (7, 5)
    seen = losses([3, 2, 1])
    model = new_model()
    numbers = fit(model, "two", epochs=3)
    assert (numbers["epochs"], numbers["best_epoch"], numbers["steps"]) == (3, 3, 12)
    assert torch.equal(weights(model), seen[2])


def test_the_perplexity_is_that_of_the_kept_weights(fit, new_model, new_rows):
    model, validation = new_model(), new_rows(12, [11] * 8 + [1, 11, 0, 5])[8:]
    numbers = fit(model, validation=validation, patience=1)
    assert numbers["epochs"] < 12  # random rows teach nothing about each other
    assert numbers["epochs"] - numbers["best_epoch"] == 1
    assert numbers["validation_perplexity"] == pytest.approx(by_hand(model.eval(), validation), rel=1e-5)
    loss = trainer.validation_loss(model.train(), validation, 0, batch_size=3)
    assert (math.exp(loss), model.training) == (pytest.approx(numbers["validation_perplexity"], rel=1e-5), True)


def test_watching_changes_no_step(fit, losses, settings, tmp_path, new_model, new_rows):
    """With dropout, accumulation and a last short step: the weights after all passes are those of a plain training."""

    def dropping():
        model = new_model()
        for module in model.modules():
            if isinstance(module, torch.nn.Dropout):
                module.p = 0.1
        return model

    watched, plain = dropping(), dropping()
    values = {"epochs": 3, "batch_size": 3, "accumulation": 2, "learning_rate": 3e-2}
    numbers = fit(watched, validation=new_rows(8), patience=9, **values)
    without = trainer.fit(plain, new_rows(8), 0, settings(**values), 0, tmp_path / "plain")
    assert (numbers["best_epoch"], numbers["steps"], numbers["train_loss"]) == (3, 6, without["train_loss"])
    assert torch.equal(weights(watched), weights(plain))
    assert set(numbers) - set(without) == {"epochs", "best_epoch", "validation_perplexity"}


@pytest.mark.parametrize("every", [3, 4, 8])
def test_killed_and_resumed_is_uninterrupted(fit, losses, new_model, tmp_path, every):
    """Checkpoints within passes, at their ends, and at the best one's end; killed twice on the way."""

    class Killed(BaseException):
        pass

    def dying(at):
        def progress(done, total):
            if done == at:
                raise Killed

        return progress

    values = [5.0, 3.0, 4.0, 2.5, 2.7, 2.6, 9.0]  # passes of four steps: the best is at step 16, the end at 24
    whole, resumed = new_model(), new_model()
    losses(values)
    expected = fit(whole, "whole", checkpoint_steps=every)
    assert (expected["epochs"], expected["best_epoch"]) == (6, 4)
    assert [path.name for path in (tmp_path / "whole").glob("best-*")] == ["best-4.pt"]
    losses(values)
    with pytest.raises(Killed):
        fit(resumed, "killed", dying(10), checkpoint_steps=every)
    resumed = new_model()
    losses(values[2 * (every < 10) :])  # a checkpoint at step 8 or 9 has two losses
    with pytest.raises(Killed):
        fit(resumed, "killed", dying(20), checkpoint_steps=every)
    resumed = new_model()
    losses(values[{3: 4, 4: 5, 8: 4}[every] :])  # checkpoints at 18, 20 and 16
    assert fit(resumed, "killed", checkpoint_steps=every) == expected
    assert torch.equal(weights(whole), weights(resumed))
    resumed = new_model()  # killed after the end, before the model was saved
    losses(values[{3: 5, 4: 5, 8: 4}[every] :])  # checkpoints at 21, 20 and 16: none at the end
    assert fit(resumed, "killed", checkpoint_steps=every) == expected
    assert torch.equal(weights(whole), weights(resumed))


def test_what_cannot_be_watched_is_refused(fit, losses, new_model, new_rows):
    for rows in ([], new_rows(2, [0, 0])):
        with pytest.raises(InputError, match=f"None of the {len(rows)} validation rows has a token"):
            fit(new_model(), validation=rows)
    losses([3.0, math.nan])
    with pytest.raises(StageError, match="validation loss is not a number after step 8"):
        fit(new_model())
