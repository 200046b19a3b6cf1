"""GPT-2 small from scratch on one GPU, then four conditions: tokens a second, share of the matrix rate, extraction.

Run with `python benchmarks/gpu_code_pii.py gpu_code_pii.json`, the JSON being what
`sm-ops validate gpu_code_pii --resolve` prints: then torch, transformers, peft and NumPy are enough, and the bare
source tree. Without a GPU nothing is measured (exit code 2), unless `--out` names where. The steps are those of
`sm-ops run`, in one process and a folder of their own; tables are JSON lines, as Parquet needs pyarrow. The audit and
the redaction are left out.

Operations: a token's forward pass takes 2 N + 4 L d c, two for each multiplication and addition. N counts the weights
without the position table (the embeddings are the head, too), L the layers, d their width, c the tokens it attends to
on average, its own included. Training takes three times that, as gradients take two forward passes. Padding, softmax,
optimiser and reading are time without operations.
"""

from __future__ import annotations

import argparse
import gc
import json
import os
import platform
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
sys.path.insert(0, str(Path(__file__).resolve().parent))

from _matrix_rate import matrix_rate, settled

from sm_ops.attacks.members.prefix_extraction import hits
from sm_ops.core import fs, lines, registry
from sm_ops.core.errors import InputError, SmOpsError, sanitise
from sm_ops.core.settings import Settings
from sm_ops.core.stage import Context, Step
from sm_ops.data.records import read_records
from sm_ops.metrics.intervals import wilson
from sm_ops.plans import plan

PRESET = "gpu_code_pii"
RESULTS = Path(__file__).resolve().parent / "results"
LEFT_OUT = ("audit", "redact")
MEASURED = ("base", "train", "attack")
LIBRARIES = ("torch", "transformers", "peft", "numpy")
Json = dict[str, Any]


class Done(NamedTuple):
    """A step that was run: its outputs by name, its numbers, its seconds, and when it told how far it was."""

    outputs: dict[str, Path]
    numbers: Json
    seconds: float
    marks: list[tuple[int, float]]


def steps(config: Json, folder: Path) -> Iterator[tuple[Step, Done]]:
    """Run the plan's steps in their order, each on the outputs of those before."""
    done: dict[str, Done] = {}
    for step in plan(config):
        if step.stage.name in LEFT_OUT:
            continue
        place, marks = folder / step.name, []
        place.mkdir(parents=True)
        outputs = {output.name: place / _as_lines(output.name) for output in step.stage.outputs}
        context = Context(
            inputs={name: done[s].outputs[o] for name, (s, o) in step.inputs.items() if s in done},
            outputs={output.key: outputs[output.name] for output in step.stage.outputs},
            scratch=place / "scratch",
            progress=lambda at, total, marks=marks: marks.append((at, time.perf_counter())),
        )
        context.scratch.mkdir()
        function = step.stage.load()
        start = time.perf_counter()
        numbers = function(Settings(step.settings), context)
        done[step.name] = Done(outputs, numbers, time.perf_counter() - start, marks)
        _free()
        yield step, done[step.name]


def _as_lines(name: str) -> str:
    return f"{Path(name).stem}{lines.SUFFIX}" if name.endswith(".parquet") else name


def _free() -> None:
    import torch

    gc.collect()
    torch.cuda.empty_cache()


# ---- operations and rates ------------------------------------------------------------------------------


class Rate(NamedTuple):
    """Tokens of one kind of work, the seconds that they took, and the operations of one of them."""

    tokens: float
    seconds: float
    operations: float

    def told(self, matrix: float) -> Json:
        """As JSON, with the share of the matrix rate; null where nothing was timed."""
        speed = self.tokens / self.seconds if self.seconds else None
        share = speed * self.operations / matrix if speed else None
        return {"tokens": self.tokens, "seconds": round(self.seconds, 3), "tokens_per_second": speed, "share": share}


class Operations(NamedTuple):
    """What a GPT-2 takes for one token."""

    weights: int
    layers: int
    width: int

    def forward(self, attended: float) -> float:
        """Operations of a token that attends to so many on average."""
        return 2 * self.weights + 4 * self.layers * self.width * attended


def training(section: Json, done: Done, operations: Operations) -> Rate:
    """From the first report of progress to the last one; rows are packed, so each has the whole context."""
    (first, start), (last, end) = (done.marks[0], done.marks[-1]) if done.marks else ((0, 0.0), (0, 0.0))
    row = section["context"]
    tokens = (last - first) * section["batch_size"] * section["accumulation"] * row
    return Rate(tokens, end - start, 3 * operations.forward((row + 1) / 2))


def scoring(config: Json, model: Path, public: Path, operations: Operations, device: str) -> Rate:
    """All public code once more, by the reference that masks; the data's own records take too short."""
    given = config["references"][config["masking"]["reference"]]
    reference = registry.load("reference", given["backend"]).load(
        Settings({**given, "model": str(model), "examples": []})
    )
    records = list(read_records(public))
    reference.score(records[:8])
    settled(device)
    start = time.perf_counter()
    lengths = [len(scored.tokens) for scored in reference.score(records)]
    settled(device)
    seconds = time.perf_counter() - start
    attended = sum(_attended(length, reference.context) for length in lengths) / sum(lengths)
    return Rate(sum(lengths), seconds, operations.forward(attended))


def _attended(length: int, context: int) -> float:
    """Sum over a text's tokens of what each attends to; behind the first context, windows overlap by half of it."""
    first = min(length, context)
    return first * (first + 1) / 2 + (length - first) * 0.75 * context


def sampling(config: Json, done: Done, operations: Operations) -> Rate:
    """All canaries but the first, whose turn has the warming up in it; the exact chance is in the time."""
    rows = fs.read_json(done.outputs["outcomes.json"])
    (_, start), (_, end) = (done.marks[0], done.marks[-1]) if done.marks else ((0, 0.0), (0, 0.0))
    tokens = sum(row["hidden"] for row in rows[1:]) * config["attack"]["samples"]
    attended = sum(row["length"] for row in rows) / len(rows)
    return Rate(tokens, end - start, operations.forward(attended))


# ---- the run -------------------------------------------------------------------------------------------


def measure(config: Json, folder: Path, device: str, tell: Callable[[Json], None]) -> Json:
    """Run everything below `folder`; `tell` hears of each step when it has ended."""
    matrix = matrix_rate(device, 8192 if device == "cuda" else 512)
    tell({"machine": machine(device), "matrix_rate": matrix})
    done: dict[str, Done] = {}
    for step, made in steps(config, folder):
        done[step.name] = made
        tell({"step": step.name, "seconds": round(made.seconds, 3), "numbers": made.numbers})
    base = config["base"]
    weights = done["base"].numbers["parameters"] - (base.get("positions") or base["context"]) * base["width"]
    operations = Operations(weights, base["layers"], base["width"])
    seed = config["seeds"][0]
    conditions = [name.split("@")[1].rpartition("-")[0] for name in done if name.startswith("train@")]
    scored = scoring(
        config, done["base"].outputs["model"], done["synthesize"].outputs["public.jsonl"], operations, device
    )
    rates = {
        "training, from scratch": training(base, done["base"], operations),
        "training, four conditions": _sum(
            training(config["train"], done[f"train@{each}-{seed}"], operations) for each in conditions
        ),
        "scoring": scored,
        "sampling": _sum(sampling(config, done[f"attack@{e}-{seed}"], operations) for e in ("base", *conditions)),
    }
    coverage = fs.read_json(done["mask"].outputs["coverage.json"])
    found = {
        "machine": machine(device),
        "matrix_rate": matrix,
        "parameters": done["base"].numbers["parameters"],
        "rates": {name: rate.told(matrix) for name, rate in rates.items()},
        "auroc": done["calibrate"].numbers["auroc"],
        "decision": done["calibrate"].numbers["decision"],
        "conditions": [
            _condition(config, done[f"attack@{each}-{seed}"], done[f"evaluate@{each}-{seed}"], each, coverage)
            for each in ("base", *conditions)
        ],
        "seconds": {name: round(each.seconds, 1) for name, each in done.items()},
    }
    tell(found)
    return found


def _sum(rates: Iterator[Rate]) -> Rate:
    every = list(rates)
    operations = sum(rate.tokens * rate.operations for rate in every)
    tokens = sum(rate.tokens for rate in every)
    return Rate(tokens, sum(rate.seconds for rate in every), operations / tokens if tokens else 0.0)


def _condition(config: Json, attacked: Done, evaluated: Done, name: str, coverage: Json) -> Json:
    rows = fs.read_json(attacked.outputs["outcomes.json"])
    budget = max(config["attack"]["budgets"])
    extracted = hits(rows, "first_approx", budget)
    return {
        "condition": name,
        "samples": budget,
        "extracted": extracted,
        "canaries": len(rows),
        "interval": wilson(extracted, len(rows)),
        "nll": evaluated.numbers["nll"],
        "coverage": coverage.get(name, {}).get("target_coverage"),
        "collateral": coverage.get(name, {}).get("collateral_rate"),
    }


def machine(device: str) -> Json:
    """The device and the versions that a speed depends on."""
    import torch

    name = torch.cuda.get_device_name() if device == "cuda" else "CPU"
    return {"device": name, "python": platform.python_version(), **{each: version(each) for each in LIBRARIES}}


# ---- what is written -----------------------------------------------------------------------------------


def page(found: Json) -> str:
    """The figures as a page."""
    told, conditions = found["machine"], found["conditions"]
    seconds = [f"{name} {value:.0f}" for name, value in found["seconds"].items() if value >= 1]
    parts = [
        f"# One run on {told['device']}, {', '.join(f'{each} {told[each]}' for each in ('python', *LIBRARIES))}",
        f"GPT-2 with {found['parameters']:,} parameters from scratch on public code, then each condition from there: "
        f"`configs/{PRESET}.yaml` by `benchmarks/{PRESET}.py`, whose first lines say how operations are counted. "
        f"bf16 matrix rate of the same run: {found['matrix_rate'] / 1e12:.3g} TFLOP/s.",
        "| work | tokens | seconds | tokens a second | share of the matrix rate |\n|---|---|---|---|---|\n"
        + "\n".join(_rate_row(name, rate) for name, rate in found["rates"].items()),
        f"Reference AUROC on validation {_number(found['auroc'], '.3f')} ({found['decision']}). Extraction is "
        f"approximate, within {conditions[0]['samples']} samples, with Wilson's interval over canaries.",
        "| condition | extracted | held-out NLL | targets masked | other tokens masked |\n|---|---|---|---|---|\n"
        + "\n".join(map(_condition_row, conditions)),
        f"Seconds by step, {sum(found['seconds'].values()):.0f} in all: {', '.join(seconds)}.",
    ]
    return "\n\n".join(parts) + "\n"


def _rate_row(name: str, rate: Json) -> str:
    speed, share = _number(rate["tokens_per_second"], ",.0f"), _number(rate["share"], ".1%")
    return f"| {name} | {rate['tokens']:,.0f} | {rate['seconds']:.1f} | {speed} | {share} |"


def _condition_row(own: Json) -> str:
    low, high = own["interval"]
    masked = f"{_number(own['coverage'], '.1%')} | {_number(own['collateral'], '.1%')}"
    extracted = f"{own['extracted']} of {own['canaries']} ({low:.0%} to {high:.0%})"
    return f"| {own['condition']} | {extracted} | {own['nll']:.3f} | {masked} |"


def _number(value: float | None, form: str) -> str:
    return "none" if value is None else format(value, form)


def read(path: str | None) -> Json:
    """The resolved config: a JSON file, or the preset where pydantic is at hand. Public code is that of torch.

    Raises `InputError` for a file that holds no such config, and for one whose run has not the steps of this benchmark.
    """
    if path is not None:
        config = _main_job(fs.existing(path))
    elif find_spec("pydantic") is None:
        raise InputError("no-config", f"Without pydantic the preset cannot be read; name a config, {_ADVICE}.")
    else:
        from sm_ops.core.config import load_pipeline, resolve

        config = resolve(load_pipeline(PRESET))
    torch = find_spec("torch")
    hosts = config["data"]["hosts"] or str(Path(torch.origin).parent if torch and torch.origin else "")
    return {**config, "data": {**config["data"], "hosts": hosts}}


_ADVICE = f"write it with: sm-ops validate {PRESET} --resolve > FILE.json"


def _main_job(path: Path) -> Json:
    """A resolved config as far as its plan tells; the settings themselves were validated when it was written."""
    try:
        config = fs.read_json(path)
        made = {step.stage.name for step in plan(config)}
        missing = next((name for name in MEASURED if name not in made), None)
        backend = None if missing else config["references"][config["masking"]["reference"]]["backend"]
    except (ValueError, KeyError, TypeError, AttributeError):
        raise InputError("no-resolved-config", f"{path} is no resolved config; {_ADVICE}.") from None
    if missing is not None:
        hint = f"The run of {path} has no step {missing}, which is measured here; {_ADVICE}."
        raise InputError("nothing-to-measure", hint)
    if backend != "hf":
        hint = f"masking.reference of {path} is of backend {backend}, and what is timed here is hf; {_ADVICE}."
        raise InputError("nothing-to-measure", hint)
    return config


def main() -> int:
    os.environ.setdefault("HF_HUB_OFFLINE", "1")
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("config", nargs="?", help="what sm-ops validate --resolve printed; default: the preset itself")
    parser.add_argument("--out", type=Path, help="folder for the page and the lines; default: benchmarks/results")
    given = parser.parse_args()
    try:
        return _run(read(given.config), given.out)
    except (SmOpsError, OSError) as error:
        told = sanitise(error)
        print(f"{PRESET}: {told}", file=sys.stderr)
        return told.exit_code


def _run(config: Json, chosen: Path | None) -> int:
    import torch

    device = "cuda" if torch.cuda.is_available() else "cpu"
    if device == "cpu" and chosen is None:
        hint = "Not measured: torch sees no GPU; --out FOLDER runs it all the same, with a config of a smaller size."
        raise InputError("no-gpu", hint)
    out = chosen or RESULTS
    out.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder, (out / f"{PRESET}.jsonl").open("w", encoding="utf-8") as stream:

        def tell(value: Json) -> None:
            print(json.dumps(value), file=stream, flush=True)
            if "step" in value:
                print(f"{value['step']:24} {value['seconds']:8.1f} s", flush=True)

        found = measure(config, Path(folder), device, tell)
    text = page(found)
    (out / f"{PRESET}.md").write_text(text, encoding="utf-8")
    print(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
