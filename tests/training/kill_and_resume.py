"""Train, kill (or ask to leave), train again: prints JSON with what a resumed run shares with the uninterrupted one.

A clean process of one thread, which forks every run. `kill_and_resume.py FOLDER`.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import traceback
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import torch
from transformers import Trainer
from transformers import trainer as transformers_trainer

from sm_ops.core import fs
from sm_ops.training import lora, mixture, models, rounds, tiny
from sm_ops.training.masked import Example
from sm_ops.training.token_file import TokenFile

STEPS, EVERY = 30, 8
SHAPE = SimpleNamespace(layers=1, width=16, heads=2)
LORA = SimpleNamespace(rank=2, alpha=4, dropout=0.1)
SETTINGS = SimpleNamespace(
    epochs=5, batch_size=2, accumulation=2, learning_rate=1e-2, schedule="cosine",
    warmup_steps=3, warmup_ratio=None, steps=None, weight_decay=0.1,
    dtype="float32", device="cpu", threads=1, checkpoint_steps=EVERY, optimizer="adamw", muon_learning_rate=1e-2,
    processes=1, parallel="ddp",
)  # fmt: skip


def die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def between(done: int, total: int) -> None:
    """At step 20, four steps after the checkpoint of step 16; at 25 where that is the tenth of the second round."""
    if done in (20, 25):
        die()


def asked(done: int, total: int) -> None:
    """At step 10, two steps after the checkpoint of step 8."""
    if done == 10:
        os.kill(os.getpid(), signal.SIGTERM)


def at_step_16(method: Callable) -> Callable:
    """While the checkpoint of step 16 is being written, before its state file."""

    def killing(self: Trainer, folder: str) -> None:
        die() if self.state.global_step == 2 * EVERY else method(self, folder)

    return killing


def after_step_16(rotate: Callable) -> Callable:
    """When the checkpoint of step 16 is whole and the one of step 8 is still there."""

    def killing(*args: object, **kwargs: object) -> None:
        newest = sorted(Path(str(kwargs["output_dir"])).glob("checkpoint-*"))
        die() if any(folder.name == f"checkpoint-{2 * EVERY}" for folder in newest) else rotate(*args, **kwargs)

    return killing


def run(method: str, folder: Path, kill: str | None = None) -> None:
    if kill == "writing":
        Trainer._save_rng_state = at_step_16(Trainer._save_rng_state)
    if kill == "written":
        transformers_trainer.rotate_checkpoints = after_step_16(transformers_trainer.rotate_checkpoints)
    torch.manual_seed(0)
    model = tiny.new_model(SHAPE, 32, 12, end=0, seed=0)
    intervention = method if method in ("clip", "both") else "loss"
    if method != "scratch":
        model = models.load(folder.parent / "base")
    for module in model.modules():
        if isinstance(module, torch.nn.Dropout):
            module.p = 0.1  # so that a random state that is not restored shows
    torch.manual_seed(1)
    if method == "lora":
        model = lora.wrap(model, LORA)
    random = np.random.default_rng(0)
    ids = random.integers(1, 32, (24, 12))
    masked = random.random((24, 12)) >= 0.6
    labels = ids.copy() if intervention == "clip" else np.where(masked, -100, ids)
    labels[:, 0] = -100
    names = ("input_ids", "labels", "masked")
    rows = [dict(zip(names, row, strict=True)) for row in zip(ids, labels, masked, strict=True)]
    progress = {"between": between, "asked": asked}.get(kill or "", lambda done, total: None)
    own = {"scratch": {"optimizer": "muon"}, "rounds": {"epochs": 3, "steps": 15}, "cut": {"steps": 27}}
    settings = SimpleNamespace(**{**vars(SETTINGS), **own.get(method, {})})
    (folder / "scratch").mkdir(parents=True, exist_ok=True)
    if method == "mixed":
        general, separate = TokenFile(folder.parent / "general"), Example("a", ids[0], labels[0], masked[0])
        rows = mixture.mixed(general, [separate] * 5, 61, 12, 0)[0]
        assert len(rows) == 24
    number_of_rounds = 2 if method == "rounds" else 1
    numbers = rounds.fit(number_of_rounds, model, rows, 0, settings, 5, folder / "scratch", progress, intervention)
    if kill == "finished":
        die()
    models.save(model, folder / "model")
    (folder / "numbers.json").write_text(json.dumps(numbers))


def in_child(*arguments: object) -> int:
    """The child's wait status."""
    child = os.fork()
    if child == 0:
        try:
            run(*arguments)  # type: ignore[arg-type]
            os._exit(0)
        except BaseException:
            traceback.print_exc()
            os._exit(1)
    return os.waitpid(child, 0)[1]


def result(folder: Path) -> dict:
    numbers = json.loads((folder / "numbers.json").read_text())
    return {"numbers": numbers, "hash": fs.content_hash(folder / "model")}


def main(root: Path) -> None:
    models.save(tiny.new_model(SHAPE, 32, 12, end=0, seed=3), root / "base")
    general = np.random.default_rng(7).integers(0, 32, 12 * 19 - 5).astype("<u2")  # a row holds both sources
    fs.write_json(root / "general" / "tokens.json", {
        "format": "tokens/1", "dtype": "<u2", "tokens": len(general), "documents": 1, "separator": 0,
    })  # fmt: skip
    general.tofile(root / "general" / "tokens.bin")
    found = {}
    for method, kills in (
        ("continue", ("between", "writing", "written", "asked")),
        ("scratch", ("between",)),
        ("lora", ("between", "writing", "asked")),
        ("clip", ("between",)),
        ("both", ("between",)),
        ("rounds", ("between", "finished")),
        ("cut", ("finished",)),
        ("mixed", ("between",)),
    ):
        assert in_child(method, root / method) == 0
        found[method] = result(root / method) | {"kills": {}}
        for kill in kills:
            folder = root / f"{method}-{kill}"
            killed = os.WTERMSIG(in_child(method, folder, kill))
            left = sorted(path.name for path in (folder / "scratch").rglob("checkpoint-*"))
            assert in_child(method, folder) == 0
            found[method]["kills"][kill] = result(folder) | {"signal": killed, "left": left}
    print(json.dumps(found))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
