"""Muon for the hidden matrices and AdamW for the rest, as one optimiser.

On small models trained for a minute, equal steps bring Muon much further (`python benchmarks/optimisers.py`), which is
what lets the preset `tiny` use real programs.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch


class MuonWithAdamW(torch.optim.Optimizer):
    """Steps a Muon and an AdamW together; schedulers, clipping and checkpoints see one optimiser.

    Muon takes the two-dimensional weights that are neither an embedding nor the output head.
    """

    def __init__(self, model: torch.nn.Module, learning_rate: float, muon_rate: float, weight_decay: float) -> None:
        apart = {
            id(parameter)
            for module in (*model.modules(), model.get_output_embeddings())  # type: ignore[operator]
            if isinstance(module, torch.nn.Embedding) or module is model.get_output_embeddings()  # type: ignore[operator]
            for parameter in module.parameters()
        }
        trained = [parameter for parameter in model.parameters() if parameter.requires_grad]
        hidden = [p for p in trained if p.ndim == 2 and id(p) not in apart]
        others = [p for p in trained if p.ndim != 2 or id(p) in apart]
        self._parts: dict[str, torch.optim.Optimizer] = {}
        if hidden:
            self._parts["muon"] = torch.optim.Muon(hidden, lr=muon_rate, weight_decay=weight_decay)
        if others:  # low-rank adapters alone have none
            self._parts["adamw"] = torch.optim.AdamW(
                others, lr=learning_rate, weight_decay=weight_decay, betas=(0.9, 0.95)
            )
        super().__init__([group for part in self._parts.values() for group in part.param_groups], {})
        self._share_groups()

    def step(self, closure: Callable[[], float] | None = None) -> float | None:  # type: ignore[override]
        """One step of each."""
        loss = closure() if closure is not None else None
        for part in self._parts.values():
            part.step()
        return loss

    def state_dict(self) -> dict[str, Any]:
        """Both states, for a checkpoint."""
        return {name: part.state_dict() for name, part in self._parts.items()}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Restore both states."""
        for name, part in self._parts.items():
            part.load_state_dict(state_dict[name])
        self._share_groups()

    def _share_groups(self) -> None:
        """Let a scheduler's new rate reach the group that its optimiser reads."""
        self.param_groups = [group for part in self._parts.values() for group in part.param_groups]
