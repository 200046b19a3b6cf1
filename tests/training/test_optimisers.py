"""Muon takes the hidden matrices, AdamW all else; together they are one optimiser to a scheduler."""

from __future__ import annotations

import torch

from sm_ops.training.optimisers import MuonWithAdamW


def test_hidden_matrices_alone_go_to_muon(new_model):
    model = new_model()
    optimiser = MuonWithAdamW(model, learning_rate=1e-3, muon_rate=1e-2, weight_decay=0.0)
    names = {id(parameter): name for name, parameter in model.named_parameters()}
    by_rate = {
        group["lr"]: {names[id(parameter)] for parameter in group["params"]} for group in optimiser.param_groups
    }
    matrices = {f"transformer.h.{i}.{part}.weight" for i in range(2)
                for part in ("attn.c_attn", "attn.c_proj", "mlp.c_fc", "mlp.c_proj")}  # fmt: skip
    assert by_rate[1e-2] == matrices
    assert by_rate[1e-3] == set(names.values()) - matrices


def test_a_scheduled_rate_of_zero_stops_both(new_model):
    model = new_model()
    optimiser = MuonWithAdamW(model, learning_rate=1e-3, muon_rate=1e-2, weight_decay=0.0)
    schedule = torch.optim.lr_scheduler.LambdaLR(optimiser, lambda step: float(step == 0))
    ids = torch.arange(10)[None]

    def moved() -> set[str]:
        before = {name: parameter.clone() for name, parameter in model.named_parameters()}
        model(input_ids=ids, labels=ids).loss.backward()
        optimiser.step()
        schedule.step()
        optimiser.zero_grad()
        return {name for name, parameter in model.named_parameters() if not torch.equal(parameter, before[name])}

    assert {"transformer.wte.weight", "transformer.h.0.mlp.c_fc.weight"} <= moved()
    assert moved() == set()


def test_low_rank_adapters_alone_are_all_muons(new_model, new_rows, settings, tmp_path):
    from types import SimpleNamespace

    from sm_ops.training import lora, trainer

    model = lora.wrap(new_model(), SimpleNamespace(rank=2, alpha=4, dropout=0.0))
    before = {name: parameter.clone() for name, parameter in model.named_parameters() if parameter.requires_grad}
    trainer.fit(model, new_rows(4), 0, settings(optimizer="muon", batch_size=2), 0, tmp_path)
    state = MuonWithAdamW(model, learning_rate=1e-3, muon_rate=1e-2, weight_decay=0.0).state_dict()
    assert list(state) == ["muon"]
    now = dict(model.named_parameters())
    moved = {name for name, value in before.items() if not torch.equal(value, now[name])}
    assert any("lora_B" in name for name in moved)
