"""Each intervention of paper E.1 against a computation by hand: own attention, own autograd, own counts."""

from __future__ import annotations

import math
from types import SimpleNamespace

import numpy as np
import pytest
import torch

from sm_ops.core.errors import InputError
from sm_ops.training import interventions, lora, packing, recipe
from sm_ops.training.masked import Example
from sm_ops.training.packing import IGNORED

ALL = ("loss", "attention", "both", "clip", "scale", "drop")
UNEVEN = [11, 3, 1, 7, 9, 3, 11, 2]


def weights(model):
    return torch.cat([parameter.detach().flatten() for parameter in model.parameters()])


def rows_for(new_rows, intervention, kept=UNEVEN):
    return new_rows(len(kept), kept, learned="all" if intervention in ("attention", "clip", "scale") else "kept")


# ---- by hand -------------------------------------------------------------------------------------------


def gpt2_by_hand(model, ids, masked):
    """Logits of a GPT-2 of ours for one row, its attention written out; `masked` keys are seen by themselves alone."""
    body, heads = model.transformer, model.config.n_head
    hidden = body.wte.weight[ids] + body.wpe.weight[: len(ids)]
    for block in body.h:
        split = block.ln_1(hidden) @ block.attn.c_attn.weight + block.attn.c_attn.bias
        queries, keys, values = (part.unflatten(1, (heads, -1)) for part in split.chunk(3, dim=1))
        rows = []
        for i in range(len(ids)):
            seen = [j for j in range(i + 1) if j == i or not masked[j]]
            scores = torch.einsum("hd,jhd->hj", queries[i], keys[seen]) / math.sqrt(queries.shape[-1])
            rows.append(torch.einsum("hj,jhd->hd", scores.softmax(-1), values[seen]).flatten())
        hidden = hidden + torch.stack(rows) @ block.attn.c_proj.weight + block.attn.c_proj.bias
        inner = block.mlp.act(block.ln_2(hidden) @ block.mlp.c_fc.weight + block.mlp.c_fc.bias)
        hidden = hidden + inner @ block.mlp.c_proj.weight + block.mlp.c_proj.bias
    return model.lm_head(body.ln_f(hidden))


def step_by_hand(model, microbatches, intervention):
    """The gradient over all trained parameters, the reported loss and the multipliers of one optimiser step."""
    parameters = [parameter for parameter in model.parameters() if parameter.requires_grad]
    blocks, learns = intervention in ("attention", "both"), intervention in ("attention", "clip", "scale")
    parts = []
    for batch in microbatches:
        terms = {True: [], False: []}
        for row in batch:
            nothing = np.zeros(len(row["masked"]), bool)
            ids = torch.tensor(row["input_ids"])
            logprobs = gpt2_by_hand(model, ids, row["masked"] if blocks else nothing).log_softmax(-1)
            for i in range(1, len(ids)):
                terms[bool(row["masked"][i])].append(-logprobs[i - 1, ids[i]])
        parts.append(terms)
    count = sum(len(terms[False]) + learns * len(terms[True]) for terms in parts)
    total, loss, multipliers = torch.zeros(sum(p.numel() for p in parameters)), 0.0, []
    for terms in parts:
        others, selected = ((sum(terms[which]) if terms[which] else None) for which in (False, True))
        g_b, g_s = (flat(part / count, parameters) if part is not None else 0 * total for part in (others, selected))
        multiplier = 1.0 if learns else 0.0
        if intervention in ("clip", "scale"):
            multiplier = 0.25
            if intervention == "clip":
                multiplier = min(1.0, 0.25 * g_b.norm().item() / max(g_s.norm().item(), 1e-12))
            if terms[True]:
                multipliers.append(multiplier)
        total += g_b + multiplier * g_s
        loss += sum(float(part.detach()) for part in (others, selected if learns else None) if part is not None) / count
    return total, loss, multipliers


def flat(loss, parameters):
    found = torch.autograd.grad(loss, parameters, retain_graph=True, allow_unused=True)
    return torch.cat([
        torch.zeros(p.numel()) if g is None else g.flatten() for g, p in zip(found, parameters, strict=True)
    ])  # fmt: skip


@pytest.mark.parametrize("accumulation", [1, 2])
@pytest.mark.parametrize("intervention", ["loss", "attention", "both", "clip", "scale"])
def test_loss_gradient_and_multiplier_are_those_of_a_computation_by_hand(
    new_model, new_rows, train, intervention, accumulation
):
    """The rows come in an order of the trainer's, so all are in one microbatch, or equal in each."""
    rows = rows_for(new_rows, intervention, [11, 3, 1, 7]) if accumulation == 1 else None
    if rows is None:
        rows = rows_for(new_rows, intervention, [4]) * 2
    batch = len(rows) // accumulation
    microbatches = [rows[i : i + batch] for i in range(0, len(rows), batch)]
    gradient, loss, multipliers = step_by_hand(new_model(), microbatches, intervention)
    found = train(new_model(), rows, intervention, batch_size=batch, accumulation=accumulation)
    assert found.losses == pytest.approx([loss], rel=1e-5)
    assert found.norms == pytest.approx([gradient.norm().item()], rel=1e-4)
    if intervention in ("clip", "scale"):
        assert found.numbers["mean_multiplier"] == pytest.approx(np.mean(multipliers), rel=1e-4)
        assert found.numbers["weakened_microbatches"] == len(multipliers) == accumulation


@pytest.mark.parametrize("intervention", ["loss", "attention", "both", "clip", "scale"])
def test_the_weights_after_a_step_follow_the_gradient_by_hand(new_model, new_rows, train, intervention):
    """AdamW's first step is the gradient's sign wherever it is not near zero."""
    rows, model = rows_for(new_rows, intervention, [5, 2]), new_model()
    gradient, _, _ = step_by_hand(new_model(), [rows], intervention)
    train(model, rows, intervention, batch_size=2, learning_rate=1e-3)
    moved = weights(model) - weights(new_model())
    clear = gradient.abs() > 1e-4
    assert clear.sum() > 500
    torch.testing.assert_close(moved[clear], -1e-3 * gradient[clear].sign(), atol=2e-5, rtol=0)


def test_interventions_differ_from_one_another(new_model, new_rows, train):
    ends = [train(new_model(), rows_for(new_rows, kind), kind).norms[0] for kind in ALL[:5]]
    ends.append(train(new_model(), new_rows()).norms[0])
    assert len({round(norm, 4) for norm in ends}) == 6


@pytest.mark.parametrize(
    ("others", "selected", "intervention", "multiplier"),
    [
        ([3.0, 4.0], [0.0, 10.0], "clip", 0.125),  # 0.25 * 5 / 10
        ([3.0, 4.0], [0.6, 0.8], "clip", 1.0),  # small enough: left as it is
        ([3.0, 4.0], [0.0, 0.0], "clip", 1.0),
        ([0.0, 0.0], [1.0, 0.0], "clip", 0.0),
        ([3.0, 4.0], [0.6, 0.8], "scale", 0.25),
    ],
)
def test_the_weakened_gradient_of_two_vectors(others, selected, intervention, multiplier):
    """Losses that are linear in two parameters, so that the vectors are their gradients."""
    parameters = [torch.nn.Parameter(torch.tensor(1.0)) for _ in range(2)]
    parts = [
        sum(factor * each for factor, each in zip(vector, parameters, strict=True)) for vector in (others, selected)
    ]
    loss, found = interventions.weakened(*parts, parameters, intervention)
    loss.backward()
    assert (loss.item(), found.item()) == pytest.approx((sum(others) + sum(selected), multiplier))
    expected = [b + multiplier * s for b, s in zip(others, selected, strict=True)]
    assert [each.grad.item() for each in parameters] == pytest.approx(expected)


# ---- invariants ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("intervention", ALL)
def test_an_empty_mask_is_plain_training(new_model, new_rows, train, intervention):
    model, plain, rows = new_model(), new_model(), new_rows()
    examples = [Example(str(i), row["input_ids"], row["labels"], row["masked"]) for i, row in enumerate(rows)]
    prepared = packing.rows(interventions.prepare(examples, intervention), 12)
    found, expected = train(model, prepared, intervention, epochs=4), train(plain, rows, epochs=4)
    assert found.losses == pytest.approx(expected.losses, rel=1e-5)
    assert found.norms == pytest.approx(expected.norms, rel=1e-4)
    torch.testing.assert_close(weights(model), weights(plain), atol=2e-5, rtol=0)
    assert found.numbers.get("mean_multiplier") is None


@pytest.mark.parametrize("intervention", ["loss", "attention", "both", "scale"])
def test_eight_microbatches_of_one_are_one_batch_of_eight(new_model, new_rows, train, intervention):
    """Clipping is exempt: its multiplier belongs to the microbatch (E.1)."""
    rows, one, eight = rows_for(new_rows, intervention), new_model(), new_model()
    whole = train(one, rows, intervention, epochs=3)
    parts = train(eight, rows, intervention, epochs=3, batch_size=1, accumulation=8)
    assert parts.losses == pytest.approx(whole.losses, rel=1e-5)
    assert parts.norms == pytest.approx(whole.norms, rel=1e-4)
    torch.testing.assert_close(weights(one), weights(eight), atol=2e-5, rtol=0)


@pytest.mark.parametrize("intervention", ["loss", "both", "clip"])
def test_an_all_masked_microbatch_has_no_gradient_and_no_nan(new_model, new_rows, train, intervention):
    model = new_model()
    found = train(model, rows_for(new_rows, intervention, [0] * 4), intervention, epochs=2, batch_size=2)
    assert found.norms == [0.0] * 4
    assert torch.equal(weights(model), weights(new_model()))
    if intervention == "clip":
        assert found.numbers["mean_multiplier"] == 0
        assert found.losses[0] == pytest.approx(math.log(32), rel=0.02)  # forward loss of an untrained model
    else:
        assert found.losses == [0.0] * 4


def test_attention_with_everything_blocked_still_learns_from_the_token_before(new_model, new_rows, train):
    """A row of the blocked matrix is never empty, so nothing is NaN (OP-31)."""
    rows = rows_for(new_rows, "attention", [0] * 4)
    gradient, loss, _ = step_by_hand(new_model(), [rows], "attention")
    found = train(new_model(), rows, "attention", batch_size=4)
    assert (found.losses[0], found.norms[0]) == pytest.approx((loss, gradient.norm().item()), rel=1e-4)


def test_who_sees_whom():
    """Four tokens, the second masked, the first padding."""
    masked, present = torch.tensor([[False, True, False, False]]), torch.tensor([[False, True, True, True]])
    assert interventions.allowed(masked, present)[0].int().tolist() == [
        [1, 0, 0, 0], [0, 1, 0, 0], [0, 0, 1, 0], [0, 0, 1, 1],
    ]  # fmt: skip


@pytest.mark.parametrize("intervention", ["attention", "both"])
def test_padding_is_not_seen_under_a_blocked_mask(new_model, new_rows, train, intervention):
    long, short = rows_for(new_rows, intervention, [4, 5])
    short = {name: column[:7] for name, column in short.items()}
    gradient, loss, _ = step_by_hand(new_model(), [[long, short]], intervention)
    found = train(new_model(), [long, short], intervention, batch_size=2)
    assert (found.losses[0], found.norms[0]) == pytest.approx((loss, gradient.norm().item()), rel=1e-4)


@pytest.mark.parametrize("intervention", ["loss", "attention", "both", "clip", "scale"])
def test_bf16_autocast_is_near_float32(new_model, new_rows, train, intervention):
    rows = rows_for(new_rows, intervention)
    half = train(new_model(), rows, intervention, epochs=2, dtype="bfloat16")
    whole = train(new_model(), rows, intervention, epochs=2)
    assert half.losses != whole.losses
    assert half.losses == pytest.approx(whole.losses, rel=0.02)
    assert half.norms == pytest.approx(whole.norms, rel=0.1)


@pytest.mark.parametrize("intervention", ["loss", "attention", "both", "clip", "scale"])
@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_lora_trains_adapters_under_every_intervention(new_model, new_rows, train, intervention, dtype):
    torch.manual_seed(0)
    base = new_model().to(getattr(torch, dtype))
    model = lora.wrap(base, SimpleNamespace(rank=2, alpha=4, dropout=0.0))
    frozen = model.base_model.model.transformer.wte.weight.clone()
    found = train(model, rows_for(new_rows, intervention), intervention, epochs=6, learning_rate=3e-2, dtype=dtype)
    assert found.losses[-1] < found.losses[0]
    assert torch.equal(model.base_model.model.transformer.wte.weight, frozen)


def test_the_norms_of_lora_run_over_the_adapters_alone(new_model, new_rows, train):
    def wrapped():
        torch.manual_seed(0)
        model = lora.wrap(new_model(), SimpleNamespace(rank=2, alpha=4, dropout=0.0))
        for name, parameter in model.named_parameters():
            if "lora_B" in name:
                torch.nn.init.normal_(parameter, std=0.1)
        return model

    rows, model = rows_for(new_rows, "clip", [7, 3]), wrapped()
    parameters = [parameter for parameter in model.parameters() if parameter.requires_grad]
    ids = torch.tensor(np.stack([row["input_ids"] for row in rows]))
    logprobs = model(input_ids=ids).logits.log_softmax(-1)
    terms = -logprobs[:, :-1].gather(2, ids[:, 1:, None])[..., 0] / (2 * 11)
    masked = torch.tensor(np.stack([row["masked"][1:] for row in rows]))
    g_b, g_s = flat(terms[~masked].sum(), parameters), flat(terms[masked].sum(), parameters)
    expected = min(1.0, 0.25 * g_b.norm().item() / g_s.norm().item())
    found = train(wrapped(), rows, "clip", batch_size=2)
    assert found.numbers["mean_multiplier"] == pytest.approx(expected, rel=1e-4)
    assert found.norms[0] == pytest.approx((g_b + expected * g_s).norm().item(), rel=1e-4)


# ---- records -------------------------------------------------------------------------------------------


def example(id_, masked_positions):
    ids, mask = np.arange(1, 7), np.zeros(6, bool)
    mask[masked_positions] = True
    supervised = np.arange(6) > 0
    return Example(id_, ids, np.where(supervised & ~mask, ids, IGNORED), mask)


EXAMPLES = [example("a", [2]), example("b", []), example("c", [3, 4]), example("d", [])]


@pytest.mark.parametrize(("intervention", "learned"), [("loss", 17), ("both", 17), ("attention", 20), ("clip", 20),
                                                       ("scale", 20)])  # fmt: skip
def test_what_is_learned_of_masked_tokens(intervention, learned):
    prepared = interventions.prepare(EXAMPLES, intervention)
    assert sum(int((each.labels != IGNORED).sum()) for each in prepared) == learned
    assert all(each.labels[0] == IGNORED for each in prepared)  # never what is not supervised
    assert [each.masked.tolist() for each in prepared] == [each.masked.tolist() for each in EXAMPLES]


def test_dropping_leaves_out_whole_records_and_refuses_to_leave_out_all():
    assert [each.id for each in interventions.prepare(EXAMPLES, "drop")] == ["b", "d"]
    with pytest.raises(InputError, match="Each of the 2 records has a masked token"):
        interventions.prepare([EXAMPLES[0], EXAMPLES[2]], "drop")


def test_effective_passes_of_the_paper():
    assert interventions.effective_passes(1125, 20, 293) == pytest.approx(76.79, abs=0.005)
    assert interventions.effective_passes(1125, 20, 11_250) == 2


# ---- models that cannot block --------------------------------------------------------------------------


def small(kind, **changes):
    from transformers import AutoConfig

    return recipe.small(AutoConfig.for_model(kind, **changes))


@pytest.mark.parametrize(
    ("kind", "changes"),
    [("gpt2", {}), ("llama", {}), ("qwen3", {}), ("gpt_oss", {"sliding_window": 4}), ("mistral", {"sliding_window": 4}),
     ("gemma3_text", {"sliding_window": 4})],
)  # fmt: skip
def test_models_that_can_block_pass_the_check_also_with_windows(kind, changes):
    interventions.require_blocking(small(kind, **changes), 32)


@pytest.mark.parametrize(
    ("kind", "words"),
    [("bloom", "no attention mask with a row for each query"), ("llama4_text", "layers of kind chunked_attention")],
)
def test_models_that_cannot_block_are_refused_in_words(kind, words):
    with pytest.raises(InputError, match=f"cannot be blocked in .*{words}.*intervention=loss"):
        interventions.require_blocking(small(kind), 32)


def test_a_model_that_ignores_the_mask_or_reads_too_much_into_it_is_refused(new_model, monkeypatch):
    model = new_model()
    forward = model.forward
    monkeypatch.setattr(model, "forward", lambda input_ids, attention_mask=None: forward(input_ids=input_ids))
    with pytest.raises(InputError, match="a blocked token still reaches later ones"):
        interventions.require_blocking(model, 12)

    def only_themselves(input_ids, attention_mask=None):
        """As if a mask were read as one that hides every other token."""
        alone = (1 - torch.eye(input_ids.shape[1])) * torch.finfo(torch.float32).min
        return forward(input_ids=input_ids, attention_mask=alone[None, None] if attention_mask is not None else None)

    monkeypatch.setattr(model, "forward", only_themselves)
    with pytest.raises(InputError, match="sees other tokens under such a mask than without one"):
        interventions.require_blocking(model, 12)


def test_an_attention_that_takes_no_such_mask_is_refused(new_model, monkeypatch):
    model = new_model()
    monkeypatch.setattr(model.config, "_attn_implementation_internal", "flash_attention_2")
    with pytest.raises(InputError, match="its attention is flash_attention_2"):
        interventions.require_blocking(model, 12)


def test_a_sliding_window_stays_one_under_a_blocked_mask():
    model = small("mistral", sliding_window=3)
    nothing, present = torch.zeros(1, 6, dtype=torch.bool), torch.ones(1, 6, dtype=torch.bool)
    seen = interventions.blocked_attention(model, nothing, present)[0, 0] == 0
    assert seen.int().tolist() == [[int(i - 3 < j <= i) for j in range(6)] for i in range(6)]
