"""FSDP2: every process holds a part of each weight, of its gradient and of the optimiser's moments."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch
from torch.distributed.checkpoint import state_dict_loader, state_dict_saver
from torch.distributed.checkpoint.state_dict import StateDictOptions, get_state_dict, set_state_dict
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard
from torch.distributed.tensor import DTensor

FOLDER = "sharded"

_TRAINED = StateDictOptions(ignore_frozen_params=True, strict=False)


def shard(model: Any, device: torch.device) -> None:
    """Share the weights of `model` out, in place, block by block; embeddings, head and what else there is as one."""
    mesh = init_device_mesh(device.type, (torch.distributed.get_world_size(),))
    blocks = set(model._no_split_modules or ())
    for module in model.modules():
        if type(module).__name__ in blocks:
            fully_shard(module, mesh=mesh)
    fully_shard(model, mesh=mesh)


def whole(parameter: torch.Tensor) -> torch.Tensor:
    """A copy of all of a weight on the CPU, sharded or not; every process has to ask for it."""
    full = parameter.full_tensor() if isinstance(parameter, DTensor) else parameter
    return full.detach().cpu().clone()


def save(model: Any, optimiser: torch.optim.Optimizer, folder: Path) -> None:
    """Write the trained weights and the optimiser's state into a checkpoint, each process its part."""
    state_dict_saver.save(_state(model, optimiser), checkpoint_id=folder / FOLDER)


def load(model: Any, optimiser: torch.optim.Optimizer, folder: Path) -> None:
    """Read back what `save` wrote, by as many processes."""
    state = _state(model, optimiser)
    state_dict_loader.load(state, checkpoint_id=folder / FOLDER)
    weights, moments = state["weights"], state["optimiser"]
    set_state_dict(model, optimiser, model_state_dict=weights, optim_state_dict=moments, options=_TRAINED)


def _state(model: Any, optimiser: torch.optim.Optimizer) -> dict[str, Any]:
    weights, moments = get_state_dict(model, optimiser, options=_TRAINED)
    return {"weights": weights, "optimiser": moments}
