"""Invariants of training under a mask, through the one door `trainer.fit` (OP-29).

AdamW and clipping both hide a wrong scale of the loss, so the logged loss and gradient norm of every step are
compared beside the weights.
"""

from __future__ import annotations

import numpy as np
import pytest
import torch

from sm_ops.core.errors import InputError, StageError
from sm_ops.training.packing import IGNORED
from sm_ops.training.trainer import last_checkpoint, masked_loss

UNEVEN = [11, 0, 1, 7, 0, 3, 11, 2]


def weights(model):
    return torch.cat([parameter.detach().flatten() for parameter in model.parameters()])


def tensors(rows):
    return (torch.tensor(np.stack([row[key] for row in rows])) for key in ("input_ids", "labels"))


def bare_loop(model, rows, steps, learning_rate=1e-3):
    """The same training by hand, all rows a step: log-softmax, mean over the kept tokens, clip, AdamW."""
    ids, labels = tensors(rows)
    optimizer = torch.optim.AdamW(model.parameters(), lr=learning_rate, weight_decay=0.0)
    losses, norms = [], []
    for _ in range(steps):
        logprobs = model(input_ids=ids).logits.log_softmax(-1)
        taken = [
            -logprobs[row, position - 1, ids[row, position]]
            for row in range(ids.shape[0])
            for position in range(1, ids.shape[1])
            if labels[row, position] != IGNORED
        ]
        loss = torch.stack(taken).mean()
        optimizer.zero_grad()
        loss.backward()
        norms.append(float(torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)))
        optimizer.step()
        losses.append(loss.item())
    return losses, norms


def test_an_empty_mask_is_the_plain_loss(new_model, new_rows, train):
    rows, model, by_hand = new_rows(), new_model(), new_model()
    trained = train(model, rows, epochs=6)
    losses, norms = bare_loop(by_hand, rows, steps=6)
    assert trained.losses == pytest.approx(losses, rel=1e-5)
    assert trained.norms == pytest.approx(norms, rel=1e-4)
    torch.testing.assert_close(weights(model), weights(by_hand), atol=2e-5, rtol=0)
    ids, labels = tensors(rows)
    assert trained.losses[0] == pytest.approx(new_model()(input_ids=ids, labels=labels).loss.item(), rel=1e-6)


def test_a_mask_trains_on_the_complement_alone(new_model, new_rows, train):
    rows, model, by_hand = new_rows(kept=UNEVEN), new_model(), new_model()
    trained = train(model, rows, epochs=6)
    losses, norms = bare_loop(by_hand, rows, steps=6)
    assert trained.losses == pytest.approx(losses, rel=1e-5)
    assert trained.norms == pytest.approx(norms, rel=1e-4)
    torch.testing.assert_close(weights(model), weights(by_hand), atol=2e-5, rtol=0)


def test_eight_microbatches_of_one_are_one_batch_of_eight(new_model, new_rows, train):
    rows, one, eight = new_rows(kept=UNEVEN), new_model(), new_model()
    whole = train(one, rows, epochs=4)
    parts = train(eight, rows, epochs=4, batch_size=1, accumulation=8)
    assert parts.losses == pytest.approx(whole.losses, rel=1e-5)
    assert parts.norms == pytest.approx(whole.norms, rel=1e-4)
    torch.testing.assert_close(weights(one), weights(eight), atol=2e-5, rtol=0)


def test_a_last_step_of_few_rows_is_their_own_mean(new_model, new_rows, train):
    rows = new_rows(3, kept=[11, 2, 5])
    apart = train(new_model(), rows, batch_size=1, accumulation=2, learning_rate=1e-12)
    order = [sum(row["labels"] != IGNORED) for row in rows]
    alone = [train(new_model(), [row], learning_rate=1e-12).losses[0] for row in rows]
    single = next(i for i in range(3) if apart.losses[1] == pytest.approx(alone[i], rel=1e-5))
    others = [i for i in range(3) if i != single]
    mean = sum(order[i] * alone[i] for i in others) / sum(order[i] for i in others)
    assert apart.losses[0] == pytest.approx(mean, rel=1e-5)


def test_nothing_left_to_learn_moves_nothing(new_model, new_rows, train):
    model, start = new_model(), weights(new_model())
    trained = train(model, new_rows(kept=[0] * 8), epochs=3, batch_size=4, accumulation=2)
    assert trained.losses == [0.0] * 3
    assert trained.norms == [0.0] * 3
    assert trained.numbers == {"steps": 3, "train_loss": 0.0, "steps_without_loss": 3}
    assert torch.equal(weights(model), start)


def test_weight_decay_is_no_gradient_and_still_shrinks(new_model, new_rows, train):
    """Decay is decoupled from the loss: it acts at every step of the schedule, also where nothing is learned."""
    model = new_model()
    train(model, new_rows(kept=[0] * 8), epochs=3, learning_rate=1e-2, weight_decay=0.5)
    torch.testing.assert_close(
        model.transformer.wte.weight, new_model().transformer.wte.weight * (1 - 1e-2 * 0.5) ** 3
    )


def test_an_empty_step_among_others_has_no_gradient(new_model, new_rows, train):
    """Only AdamW's own momentum may move the weights there; the step's gradient is exactly zero."""
    trained = train(new_model(), new_rows(4, kept=[5, 0, 11, 3]), epochs=2, batch_size=1)
    empty = [step for step, loss in enumerate(trained.losses) if loss == 0]
    assert len(empty) == trained.numbers["steps_without_loss"] == 2
    assert [step for step, norm in enumerate(trained.norms) if norm == 0] == empty
    assert np.isfinite(trained.losses).all()


def test_masked_tokens_stay_in_the_context(new_model, new_rows, train):
    """Another id at a masked position changes the loss of later tokens; its own and earlier ones stay."""
    masked, kept = 5, {"before": range(1, 5), "after": range(6, 12), "both": [*range(1, 5), *range(6, 12)]}

    def loss(keep, other):
        (row,) = new_rows(1)
        row["labels"][[position for position in range(12) if position not in keep]] = IGNORED
        row["input_ids"][masked] = (row["input_ids"][masked] + other) % 31 + 1
        return len(keep) * train(new_model(), [row]).losses[0]

    change = {name: loss(keep, 7) - loss(keep, 0) for name, keep in kept.items()}
    assert change["before"] == 0
    assert abs(change["after"]) > 1e-3
    assert change["both"] == pytest.approx(change["after"], abs=1e-4)


def test_masked_loss_on_no_kept_position_is_zero_with_zero_gradient():
    logits = torch.randn(2, 3, 5, requires_grad=True)
    loss = masked_loss(logits, torch.full((2, 3), IGNORED), 0)
    loss.backward()
    assert loss.item() == 0
    assert logits.grad is not None
    assert not logits.grad.any()


def test_steps_and_the_loss_of_the_last_epoch(new_model, new_rows, train):
    trained = train(new_model(), new_rows(10), epochs=3, batch_size=3, accumulation=2)
    assert trained.numbers["steps"] == 3 * 2  # 10 rows are 4 microbatches are 2 steps
    assert trained.numbers["train_loss"] == pytest.approx(sum(trained.losses[-2:]) / 2)
    assert len(trained.losses) == 6


def test_precision_and_threads_do_not_outlive_a_fit(new_model, new_rows, train):
    losses = []
    for dtype, threads in (("float32", 1), ("bfloat16", 2), ("float32", 1)):
        losses.append(train(new_model(), new_rows(), epochs=2, dtype=dtype, threads=threads).losses)
        assert torch.get_num_threads() == threads
    assert losses[0] == losses[2]
    assert losses[0] != losses[1]
    assert losses[0] == pytest.approx(losses[1], rel=0.02)


@pytest.mark.skipif(torch.cuda.is_available(), reason="this machine has a GPU")
def test_a_gpu_that_is_not_there_is_refused(new_model, new_rows, train):
    with pytest.raises(InputError, match="no-gpu"):
        train(new_model(), new_rows(), device="cuda")


def test_a_loss_that_is_no_number_stops_the_run(new_model, new_rows, train):
    with pytest.raises(StageError, match="after step 2 of 3"):
        train(new_model(), new_rows(), epochs=3, learning_rate=float("inf"))


def test_a_half_written_checkpoint_is_not_resumed(tmp_path):
    assert last_checkpoint(tmp_path / "absent") is None
    for step, state in ((20, '{"global_step": 20}'), (9, '{"global_step": 9}'), (100, '{"global_st')):
        (tmp_path / f"checkpoint-{step}").mkdir()
        (tmp_path / f"checkpoint-{step}" / "trainer_state.json").write_text(state)
    (tmp_path / "checkpoint-200").mkdir()
    assert last_checkpoint(tmp_path) == str(tmp_path / "checkpoint-20")
    assert {folder.name for folder in tmp_path.iterdir()} == {"checkpoint-9", "checkpoint-20"}
