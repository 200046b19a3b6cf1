"""DP-SGD (Abadi et al., 2016): training that hides whether any one record, or any one group, took part.

Each step draws every unit with one probability (Poisson sampling, what the accountant assumes), cuts the gradient of
each to one norm, adds Gaussian noise to their sum and divides by the expected number of units. Opacus gives the
gradients of single records and the accountant (privacy loss random variables, for adding or removing one unit).

Draws and noise come from the seed and the number of the step, by PyTorch's and NumPy's generators, which are not
cryptographic: the promise holds against who does not know the seed. A step that is repeated after an interruption
repeats its draw and its noise, so it reveals nothing twice and counts once.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch

from sm_ops.core import fs
from sm_ops.core.ending import deferred
from sm_ops.core.errors import InputError, StageError
from sm_ops.core.seeds import derive
from sm_ops.core.types import Progress, unheard
from sm_ops.masking.labels import IGNORED
from sm_ops.training import trainer
from sm_ops.training.models import pick_device
from sm_ops.training.optimisers import MuonWithAdamW
from sm_ops.training.packing import Row, collate
from sm_ops.training.schedule import at_most, warmup_of

PACKAGES = ("opacus",)
ACCOUNTANT = "prv"
CHECKPOINT = "private.pt"

Numbers = dict[str, float | int | str | None]
Gradients = list[torch.Tensor]


def fit_private(
    model: Any,
    rows: Sequence[Row],
    groups: Sequence[str | None],
    padding: int,
    settings: Any,
    private: Any,
    seed: int,
    scratch: Path,
    progress: Progress = unheard,
) -> Numbers:
    """Train `model` in place on `rows`, one row a record (`packing.rows`), under differential privacy.

    `groups`: the group of each row; a record without one is a group of its own. `settings`: as for `trainer.fit`, where
    `batch_size x accumulation` is the expected number of units of a step (all of them where there are fewer).
    `private`: target_epsilon, delta, noise_multiplier, max_grad_norm, unit, physical_batch. The loss of a record is
    the mean over its learned tokens, that of a group the mean over its records.

    On the CPU equal arguments give equal bytes, and a checkpoint in `scratch` is resumed to the same ones. Returns
    `epsilon` (of the steps taken; None without noise), `delta`, `target_epsilon`, `noise_multiplier`, `max_grad_norm`,
    `sample_rate`, `steps`, `unit`, `units`, `records`, `records_without_group`, `largest_unit` (records),
    `clipped_share`, `empty_batches`, `train_loss` (of the last expected pass) and `accountant`. The last pass's loss
    and the clipped share are measured without noise: they are no part of what epsilon covers.

    Raises `InputError` where the model, the budget or delta do not allow it, `StageError` when the loss is no number.
    """
    torch.set_num_threads(settings.threads)
    units = _units([group for _, group in zip(rows, groups, strict=True)], private.unit)
    run = _plan(len(rows), len(units), settings, private)
    model.to(pick_device(settings.device)).train()
    per_record = _PerRecord(model, padding, settings.dtype)
    try:
        with _quiet(), deferred() as asked_to_leave:
            per_record.require_right()
            done = _train(per_record, rows, units, run, settings, private, seed, scratch, progress, asked_to_leave)
    finally:
        per_record.close()
    last_pass = done.losses[-math.ceil(len(done.losses) / settings.epochs) :]
    drawn = sum(count for _, count in last_pass)
    return {
        "steps": len(done.losses),
        "train_loss": math.fsum(total for total, _ in last_pass) / drawn if drawn else None,
        "epsilon": epsilon(run.noise_multiplier, run.sample_rate, len(done.losses), run.delta),
        "delta": run.delta,
        "target_epsilon": private.target_epsilon if private.noise_multiplier is None else None,
        "accountant": ACCOUNTANT,
        "noise_multiplier": run.noise_multiplier,
        "max_grad_norm": private.max_grad_norm,
        "sample_rate": run.sample_rate,
        "unit": private.unit,
        "units": len(units),
        "records": len(rows),
        "records_without_group": sum(group is None for group in groups) if private.unit == "group" else None,
        "largest_unit": max(map(len, units)),
        "clipped_share": done.clipped / total if (total := sum(count for _, count in done.losses)) else None,
        "empty_batches": sum(count == 0 for _, count in done.losses),
    }


def record_losses(logits: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
    """Mean cross entropy over each row's kept labels, (batch); 0 for a row that has none.

    The mean over all kept tokens of a batch would make a record's gradient depend on the other records.
    """
    kept = (labels[:, 1:] != IGNORED).sum(1).clamp(min=1)
    return trainer.cross_entropies(logits, labels, "none").view(labels.shape).sum(1) / kept


# ---- the budget ----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Plan:
    """What the promise depends on, fixed before the first step."""

    steps: int
    sample_rate: float
    expected: float
    noise_multiplier: float
    delta: float


def epsilon(noise_multiplier: float, sample_rate: float, steps: int, delta: float) -> float | None:
    """What so many steps spend, an upper bound up to the accountant's own precision (0.01); None without noise."""
    if noise_multiplier == 0:
        return None
    from opacus.accountants import create_accountant

    accountant = create_accountant(ACCOUNTANT)
    accountant.history = [(noise_multiplier, sample_rate, steps)]
    with _quiet():
        return float(accountant.get_epsilon(delta))


def _plan(records: int, units: int, settings: Any, private: Any) -> _Plan:
    try:
        from opacus.accountants.utils import get_noise_multiplier
    except ImportError:
        hint = "Private training needs opacus; install it with pip install 'sm-ops[dp]', or train without privacy."
        raise InputError("no-opacus", hint) from None
    delta = 1 / records if private.delta is None else private.delta
    if delta > 1 / units:
        raise InputError(
            "delta-too-large",
            f"delta = {delta:g} lets one of the {units} units be revealed outright; "
            f"choose a delta below {1 / units:.3g}, or null for 1 / records.",
        )
    batch = settings.batch_size * settings.accumulation
    sample_rate = min(1.0, batch / units)
    planned = at_most(settings.epochs * math.ceil(units / batch), settings)
    noise_multiplier = private.noise_multiplier
    if noise_multiplier is None:
        try:
            with _quiet():
                noise_multiplier = get_noise_multiplier(
                    target_epsilon=private.target_epsilon,
                    target_delta=delta,
                    sample_rate=sample_rate,
                    steps=planned,
                    accountant=ACCOUNTANT,
                )
        except (ValueError, RuntimeError):
            raise InputError(
                "budget-too-small",
                f"No noise keeps {planned} steps at sampling rate {sample_rate:.3g} within "
                f"epsilon = {private.target_epsilon:g}; raise it, or train for fewer steps.",
            ) from None
    return _Plan(planned, sample_rate, sample_rate * units, float(noise_multiplier), delta)


@contextmanager
def _quiet() -> Iterator[None]:
    """Without warnings that say nothing here: of a looser bound's orders, log(0) at full batches, hooks."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Optimal order is")
        warnings.filterwarnings("ignore", "divide by zero encountered in log")
        warnings.filterwarnings("ignore", "Full backward hook is firing")
        yield


def _units(groups: Sequence[str | None], unit: str) -> list[list[int]]:
    """The rows of each unit, in order of their first rows."""
    if unit == "record":
        return [[row] for row in range(len(groups))]
    found: dict[Any, list[int]] = {}
    for row, group in enumerate(groups):
        found.setdefault(row if group is None else group, []).append(row)
    return list(found.values())


# ---- gradients -----------------------------------------------------------------------------------------


class _PerRecord:
    """The trained parameters of a model and the gradients of single records with respect to them."""

    def __init__(self, model: Any, padding: int, dtype: str) -> None:
        from inspect import signature

        from opacus.grad_sample.grad_sample_module import GradSampleHooks

        self.model, self._padding, self._half = model, padding, dtype == "bfloat16"
        self.trained = {name: each for name, each in model.named_parameters() if each.requires_grad}
        inner = model.get_base_model() if hasattr(model, "peft_config") else model
        self._positions = "position_ids" in signature(inner.forward).parameters
        try:
            self._hooks = GradSampleHooks(model, loss_reduction="sum")
        except (NotImplementedError, RuntimeError, ValueError, TypeError):
            raise self._refusal() from None

    def close(self) -> None:
        """Leave the model as it was found."""
        self._hooks.cleanup()

    def losses(self, rows: Sequence[Row]) -> torch.Tensor:
        """Of each row, (batch)."""
        batch = {name: each.to(self.model.device) for name, each in collate(rows, self._padding).items()}
        ids = batch["input_ids"]
        inputs = {"input_ids": ids, "attention_mask": batch["attention_mask"], "use_cache": False}
        if self._positions:  # learned positions have a gradient for each record only where each has its own
            inputs["position_ids"] = torch.arange(ids.shape[1], device=ids.device).expand_as(ids)
        with torch.autocast(ids.device.type, torch.bfloat16, enabled=self._half):
            logits = self.model(**inputs).logits
        return record_losses(logits, batch["labels"])

    def gradients(self, rows: Sequence[Row]) -> tuple[Gradients, torch.Tensor]:
        """Of each trained parameter (batch, *shape), and the losses (batch)."""
        losses = self.losses(rows)
        losses.sum().backward()
        found = []
        for parameter in self.trained.values():
            each: Any = parameter.grad_sample  # type: ignore[attr-defined]
            found.append(torch.zeros((len(rows), *parameter.shape), device=parameter.device) if each is None else each)
            parameter.grad_sample = parameter.grad = None  # type: ignore[attr-defined]
        return found, losses.detach()

    def require_right(self) -> None:
        """Refuse, in words, a model whose gradients of single records are not those of the records alone."""
        generator = np.random.default_rng(0)
        config = self.model.config.get_text_config()
        rows = []
        for length in (6, 4):
            ids = generator.integers(1, config.vocab_size, length)
            labels = np.where(np.arange(length) > 0, ids, IGNORED)
            rows.append({"input_ids": ids, "labels": labels, "masked": np.zeros(length, bool)})
        self.model.eval()  # no dropout, but for the layers with weights, whose hooks are at work in training mode alone
        for module in self.model.modules():
            module.training = any(each.requires_grad for each in module.parameters(recurse=False))
        try:
            together, _ = self.gradients(rows)
            right = all(self._near([each[i] for each in together], self._alone(row)) for i, row in enumerate(rows))
        except (RuntimeError, ValueError, TypeError, AttributeError, KeyError, IndexError):
            right = False
        finally:
            self.model.train()
        if not right:
            raise self._refusal()

    def _alone(self, row: Row) -> Gradients:
        self._hooks.disable_hooks()
        self.losses([row]).sum().backward()
        self._hooks.enable_hooks()
        found = []
        for each in self.trained.values():
            found.append(torch.zeros_like(each) if each.grad is None else each.grad)
            each.grad = None
        return found

    def _near(self, one: Gradients, other: Gradients) -> bool:
        tolerance = 0.1 if self._half or self.model.dtype in (torch.bfloat16, torch.float16) else 1e-3
        whole = torch.stack([each.norm() for each in other]).norm()
        return all(
            bool((a - b).norm() <= tolerance * (b.norm() + 0.1 * whole)) for a, b in zip(one, other, strict=True)
        )

    def _refusal(self) -> InputError:
        model = self.model.get_base_model() if hasattr(self.model, "peft_config") else self.model
        return InputError(
            "no-private-training",
            f"The installed opacus cannot tell the gradients of single records of {type(model).__name__} apart, as "
            "private training has to; train adapters (lora), or another model.",
        )


def _unit_gradients(
    per_record: _PerRecord, rows: Sequence[Row], units: Sequence[Sequence[int]], size: int
) -> Iterator[tuple[Gradients, torch.Tensor]]:
    """The mean gradients (units, *shape) and losses (units) of whole units, from `size` records at a time.

    A unit that goes on behind a batch is carried over to the next.
    """
    places = [(number, row, 1 / len(unit)) for number, unit in enumerate(units) for row in unit]
    carried: list[torch.Tensor] = []
    for start in range(0, len(places), size):
        part, following = places[start : start + size], places[start + size : start + size + 1]
        gradients, losses = per_record.gradients([rows[row] for _, row, _ in part])
        first, last = part[0][0], part[-1][0]
        if last - first + 1 < len(part) or any(weight != 1 for *_, weight in part):
            number = torch.tensor([each - first for each, *_ in part], device=losses.device)
            weight = torch.tensor([each for *_, each in part], device=losses.device)
            gradients = [_summed(each, number, weight, last - first + 1) for each in gradients]
            losses = _summed(losses, number, weight, last - first + 1)
            if carried:
                for each, before in zip([losses, *gradients], carried, strict=True):
                    each[0] += before
            carried = []
            if following and following[0][0] == last:
                carried = [each[-1].clone() for each in (losses, *gradients)]
                losses, gradients = losses[:-1], [each[:-1] for each in gradients]
        if len(losses):
            yield gradients, losses


def _summed(values: torch.Tensor, number: torch.Tensor, weight: torch.Tensor, units: int) -> torch.Tensor:
    weighted = values * weight.to(values.dtype).view(-1, *[1] * (values.ndim - 1))
    return torch.zeros((units, *values.shape[1:]), dtype=values.dtype, device=values.device).index_add_(
        0, number, weighted
    )


# ---- steps ---------------------------------------------------------------------------------------------


@dataclass
class _Done:
    """What the steps taken so far have seen: summed loss and number of units of each, and how many were clipped."""

    losses: list[tuple[float, int]]
    clipped: int = 0


def _train(
    per_record: _PerRecord,
    rows: Sequence[Row],
    units: Sequence[Sequence[int]],
    run: _Plan,
    settings: Any,
    private: Any,
    seed: int,
    scratch: Path,
    progress: Progress,
    asked_to_leave: Callable[[], bool],
) -> _Done:
    from transformers import get_scheduler

    optimiser = _optimiser(per_record, settings)
    scheduler = get_scheduler(settings.schedule, optimiser, warmup_of(run.steps, settings), run.steps)
    state = {"optimiser": optimiser, "scheduler": scheduler}
    done = _resumed(scratch / CHECKPOINT, per_record.trained, state, run)
    parameters = list(per_record.trained.values())
    for step in range(len(done.losses) + 1, run.steps + 1):
        torch.manual_seed(derive(seed, "dropout", str(step)))
        draw = np.random.default_rng(derive(seed, "poisson", str(step)))
        drawn = [unit for unit, at in zip(units, draw.random(len(units)), strict=True) if at < run.sample_rate]
        drawn.sort(key=lambda unit: max(len(rows[row]["input_ids"]) for row in unit))  # little padding
        sums = [torch.zeros_like(each) for each in parameters]
        loss = 0.0
        for gradients, losses in _unit_gradients(per_record, rows, drawn, private.physical_batch):
            norms = torch.stack([each.flatten(1).norm(dim=1, dtype=torch.float32) for each in gradients]).norm(dim=0)
            if not bool(torch.isfinite(norms).all()):
                hint = f"A gradient is not a number at step {step} of {run.steps}; lower the learning rate."
                raise StageError("training-diverged", hint)
            factors = (private.max_grad_norm / norms).clamp(max=1)
            for total, each in zip(sums, gradients, strict=True):
                total += torch.einsum("u,u...->...", factors.to(total.dtype), each.to(total.dtype))
            done.clipped += int((norms > private.max_grad_norm).sum())
            loss += float(losses.sum())
        noise = torch.Generator(parameters[0].device).manual_seed(derive(seed, "noise", str(step)))
        deviation = run.noise_multiplier * private.max_grad_norm
        for parameter, total in zip(parameters, sums, strict=True):
            drop = torch.empty_like(total).normal_(0, deviation, generator=noise) if deviation else 0
            parameter.grad = (total + drop) / run.expected
        optimiser.step()
        scheduler.step()
        optimiser.zero_grad(set_to_none=True)
        done.losses.append((loss, len(drawn)))
        leaving = asked_to_leave()
        if (leaving or step % settings.checkpoint_steps == 0) and step < run.steps:
            _save(scratch / CHECKPOINT, per_record.trained, state, run, done)
        if leaving:
            break
        if step % 10 == 0 or step == run.steps:
            progress(step, run.steps)
    return done


def _optimiser(per_record: _PerRecord, settings: Any) -> torch.optim.Optimizer:
    """What it makes of noisy gradients reveals nothing more, whatever it is. As in the Trainer, biases do not decay."""
    if settings.optimizer == "muon":
        rates = settings.learning_rate, settings.muon_learning_rate
        return MuonWithAdamW(per_record.model, *rates, settings.weight_decay)
    parameters = list(per_record.trained.values())
    decay = [each for each in parameters if each.ndim > 1]
    others = [each for each in parameters if each.ndim <= 1]
    groups = [{"params": decay, "weight_decay": settings.weight_decay}, {"params": others, "weight_decay": 0.0}]
    return torch.optim.AdamW([group for group in groups if group["params"]], lr=settings.learning_rate)


def _save(path: Path, trained: dict[str, Any], state: dict[str, Any], run: _Plan, done: _Done) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with fs.replacing(path) as unfinished:
        content = {name: each.state_dict() for name, each in state.items()}
        content |= {"plan": asdict(run), "done": asdict(done), "trained": trained}
        torch.save(content, unfinished)


def _resumed(path: Path, trained: dict[str, Any], state: dict[str, Any], run: _Plan) -> _Done:
    """Put back what a checkpoint of the same plan holds, if there is one; else begin."""
    if not path.is_file():
        return _Done([])
    content = torch.load(path, map_location="cpu", weights_only=True)
    if content["plan"] != asdict(run):
        return _Done([])
    with torch.no_grad():
        for name, parameter in trained.items():
            parameter.copy_(content["trained"][name])
    for name, each in state.items():
        each.load_state_dict(content[name])
    return _Done([(loss, count) for loss, count in content["done"]["losses"]], content["done"]["clipped"])
