"""A recipe before it runs: its arithmetic, and one real step on a small random model of the same class.

Nothing is downloaded: a model's shape comes from its folder, from the hub's cache, or from a table of the presets'
models.
"""

from __future__ import annotations

import copy
import math
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from sm_ops.core.errors import InputError
from sm_ops.core.settings import Settings
from sm_ops.masking.conditions import trainings

Facts = dict[str, Any]

KNOWN: dict[str, tuple[str, dict[str, Any]]] = {
    "gpt2": ("gpt2", {}),
    "gpt2-medium": ("gpt2", {"n_embd": 1024, "n_layer": 24, "n_head": 16}),
    "gpt2-large": ("gpt2", {"n_embd": 1280, "n_layer": 36, "n_head": 20}),
    "openai/gpt-oss-20b": ("gpt_oss", {"num_hidden_layers": 24, "num_local_experts": 32}),
    "codellama/CodeLlama-7b-Instruct-hf": (
        "llama",
        {
            "hidden_size": 4096,
            "intermediate_size": 11008,
            "num_hidden_layers": 32,
            "num_attention_heads": 32,
            "num_key_value_heads": 32,
            "vocab_size": 32016,
            "max_position_embeddings": 16384,
        },
    ),
    "HuggingFaceTB/SmolLM2-135M-Instruct": (
        "llama",
        {
            "hidden_size": 576,
            "intermediate_size": 1536,
            "num_hidden_layers": 30,
            "num_attention_heads": 9,
            "num_key_value_heads": 3,
            "vocab_size": 49152,
            "max_position_embeddings": 8192,
            "tie_word_embeddings": True,
        },
    ),
}
"""Type and dimensions of the presets' models, where they differ from the type's defaults in transformers."""

SMALL = {
    "num_hidden_layers": 2,
    "hidden_size": 32,
    "intermediate_size": 64,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "head_dim": 8,
    "vocab_size": 128,
    "num_local_experts": 4,
    "num_experts_per_tok": 2,
    "pad_token_id": None,
    "bos_token_id": 0,
    "eos_token_id": 0,
}
"""Dimensions of the two-layer model of the trial step."""

ONCE = {
    "epochs": 1,
    "batch_size": 2,
    "accumulation": 1,
    "warmup_steps": 0,
    "device": "cpu",
    "threads": 1,
    "processes": 1,
}
"""Settings of the trial step, on two rows."""

CHARS_PER_TOKEN = 3
"""Of code under a byte-level BPE, roughly: what is known before anything has been tokenized."""

STDLIB_HOSTS = 1_740
"""Programs of 250 to 900 characters that Python 3.11's standard library offers as hosts (3,320 up to 6,000)."""


def check(config: dict[str, Any]) -> Facts:
    """What a resolved config amounts to; raises `InputError` where it cannot work.

    Sections: `data` (records), `schedule` (rows, steps, passes), `model` (class, parameters, positions, bytes),
    `lora` (layers with and without adapter), `trial` (the step on the small model). What cannot be known yet is None.
    """
    settings = Settings(config)
    shape = shape_of(settings.base, settings.train)
    facts: Facts = {"name": settings.name, "data": _data(settings.data)}
    facts["schedule"] = _schedule(settings, facts["data"])
    facts["model"], facts["lora"], facts["trial"] = {"name": settings.base.name, "class": None}, None, None
    if shape is not None:
        facts["model"], facts["lora"] = model_facts(settings, shape)
        facts["trial"] = _trial(settings.train, shape)
    return facts


def describe(facts: Facts) -> list[str]:
    """The facts in plain lines."""
    data, schedule, model, lora, trial = (facts[k] for k in ("data", "schedule", "model", "lora", "trial"))
    lines = [f"{facts['name']}: {schedule['method']}, {schedule['conditions']} conditions x {schedule['seeds']} seeds"]
    if data["records"] is not None:
        lines.append("records: " + ", ".join(f"{split} {count:,}" for split, count in data["records"].items()))
    if data["hosts_needed"] is not None:
        lines.append(_hosts_sentence(data))
    if schedule["rows"] is None:
        lines.append("steps: known once the data is read")
    else:
        about = "" if schedule["exact"] else "about "
        lines.append(
            f"steps: {about}{schedule['steps']:,} = {schedule['epochs']} passes x {about}"
            f"{schedule['steps_per_epoch']:,} ({about}{schedule['rows']:,} rows of up to {schedule['context']:,} "
            f"tokens, {schedule['batch']} a step), warm-up {schedule['warmup_steps']}"
        )
    lines += model_lines(model, lora)
    if trial is None:
        return lines
    lines.append(
        f"trial: one step on a random two-layer {trial['class']} with intervention {trial['intervention']} and a loss "
        f"over {trial['kept']} of {trial['supervised']} tokens went well (loss {trial['loss']:.2f})"
    )
    return lines


def model_lines(model: Facts, lora: Facts | None) -> list[str]:
    """The model's size and what LoRA reaches in it, or that its class is unknown here."""
    if model["class"] is None:
        return [
            f"model: the class of {model['name']} could not be looked up without a network (it is neither a folder "
            "nor in the hub's cache), so no trial step was made"
        ]
    lines = [
        f"model: {model['name']}, {model['class']}, {model['parameters']:,} parameters, "
        f"{model['positions']:,} positions; weights {_gigabytes(model['weight_bytes'])}, gradients and optimizer "
        f"{_gigabytes(model['training_bytes'])}, logits of a batch {_gigabytes(model['logit_bytes'])}"
    ]
    if lora is None:
        return lines
    lines.append(
        f"LoRA: {lora['trainable_parameters']:,} trainable parameters in {_counts(lora['layers'])}; "
        f"without adapter: {_counts(lora['left_out'])}"
    )
    if any(kind.startswith("experts.") for kind in lora["left_out"]):
        lines.append(
            "LoRA: the experts and their router are no linear layers of this class, so 'all linear' means "
            "attention alone; the experts stay as they are"
        )
    return lines


# ---- arithmetic ----------------------------------------------------------------------------------------


def _data(data: Settings) -> Facts:
    """Records by split and their characters, from the settings (`code_pii`) or from the user's files (`own`)."""
    if data.dataset == "own":
        return {**_own(data.own), "hosts_needed": None, "hosts_named": None}
    if data.dataset != "code_pii":
        return {"records": None, "train_chars": None, "hosts_needed": None, "hosts_named": None}
    programs = math.ceil(4 / data.values_per_program)  # of a person, for the four kinds of value
    records = {
        "train": data.identities * programs * data.repetitions + data.clean,
        "calibration": data.calibration_identities * programs * data.calibration_repetitions + data.calibration_clean,
        "utility": data.utility,
        "reference": data.reference,
    }
    return {
        "records": records,
        "train_chars": records["train"] * (data.min_chars + data.max_chars) // 2,
        "hosts_needed": sum(records.values()),
        "hosts_named": data.hosts,
    }


def _own(files: Settings) -> Facts:
    from sm_ops.data.records import read_records

    records, train_chars = {}, 0
    for split, path in files.plain().items():
        if path is not None:
            contents = [record.content for record in read_records(Path(path))]
            records[split] = len(contents)
            if split == "train":
                train_chars = sum(map(len, contents))
    return {"records": records, "train_chars": train_chars}


def _schedule(settings: Settings, data: Facts) -> Facts:
    """Rows, optimiser steps and passes. Packed rows are an estimate; with LoRA a record is a row."""
    train = settings.train
    exact = train.method == "lora"
    conditions = trainings(settings.masking, train)
    facts = {
        "method": train.method,
        "conditions": len(conditions),
        "seeds": len(settings.seeds),
        "epochs": train.epochs,
        "batch": train.batch_size * train.accumulation,
        "context": train.context,
        "warmup_steps": train.warmup_steps,
        "exact": exact,
        "rows": None,
        "steps_per_epoch": None,
        "steps": None,
        "passes": None,
    }
    if data["records"] is None:
        return facts
    records = data["records"]["train"]
    if exact:
        rows = records
    else:
        rows = max(1, round((data["train_chars"] / CHARS_PER_TOKEN + records) / train.context))
    steps_per_epoch = math.ceil(math.ceil(rows / train.batch_size) / train.accumulation)
    steps = steps_per_epoch * train.epochs
    if exact and train.warmup_steps >= steps:
        hint = f"train.warmup_steps is {train.warmup_steps}, but the training has {steps} steps; lower it."
        raise InputError("warmup-too-long", hint)
    passes = steps * facts["batch"] / rows
    return facts | {"rows": rows, "steps_per_epoch": steps_per_epoch, "steps": steps, "passes": passes}


def model_facts(settings: Settings, shape: Any) -> tuple[Facts, Facts | None]:
    """The full model without weights: parameters, memory, and what LoRA reaches in it."""
    import torch
    from transformers import AutoModelForCausalLM

    from sm_ops.training import lora

    train, name = settings.train, settings.base.name or "GPT-2 trained on the spot"
    text = shape.get_text_config()
    positions = text.max_position_embeddings
    if train.context > positions:
        hint = f"train.context is {train.context}, but {name} has {positions} positions; lower it."
        raise InputError("context-too-long", hint)
    with torch.device("meta"):
        model: Any = AutoModelForCausalLM.from_config(shape)
        name_of_class, parameters = type(model).__name__, model.num_parameters()
        trainable = parameters
        adapters = None
        if train.method == "lora":
            layers = lora.coverage(lora_model := lora.wrap(model, train.lora))
            trainable = layers.pop("trainable_parameters")
            adapters = {"layers": layers, "left_out": lora.left_out(lora_model), "trainable_parameters": trainable}
    halved = train.dtype == "bfloat16" and train.method == "lora"
    facts = {
        "name": name,
        "class": name_of_class,
        "parameters": parameters,
        "positions": positions,
        "weight_bytes": parameters * (2 if halved else 4),
        "training_bytes": trainable * 12,  # gradient and two moments in fp32
        "logit_bytes": train.batch_size * train.context * text.vocab_size * 4,
    }
    return facts, adapters


# ---- the model's shape, and a step on a small one ------------------------------------------------------


def shape_of(base: Settings, train: Settings) -> Any:
    """The base model's config, or None where it cannot be had without a network."""
    from transformers import AutoConfig

    from sm_ops.training import tiny

    if base.name is None:
        context = train.context if train.method == "scratch" else base.context
        return tiny.config(base, base.vocab_size, context, end=0)
    try:
        return AutoConfig.from_pretrained(base.name, revision=base.revision, local_files_only=True)
    except (OSError, ValueError):
        if base.name not in KNOWN:
            return None
    kind, dimensions = KNOWN[base.name]
    return AutoConfig.for_model(kind, **dimensions)


def small(shape: Any) -> Any:
    """A random two-layer model of the class that `shape` belongs to."""
    import torch
    from transformers import AutoModelForCausalLM

    shape = copy.deepcopy(shape)
    config = shape.get_text_config()
    for name, value in SMALL.items():
        if hasattr(config, name):
            setattr(config, name, value)
    if getattr(config, "layer_types", None):
        config.layer_types = config.layer_types[: SMALL["num_hidden_layers"]]
    torch.manual_seed(0)
    return AutoModelForCausalLM.from_config(shape)


def looked_at(name: str, revision: str | None) -> Facts | None:
    """Class and parameters of a named causal model, after a random small one of its class has read a few tokens.

    None where its shape cannot be had without a network.
    """
    import torch
    from transformers import AutoModelForCausalLM

    shape = shape_of(Settings({"name": name, "revision": revision}), Settings({}))
    if shape is None:
        return None
    with torch.device("meta"):
        model: Any = AutoModelForCausalLM.from_config(shape)
    with torch.no_grad():
        small(shape)(input_ids=torch.arange(8)[None])
    return {"class": type(model).__name__, "parameters": model.num_parameters()}


def _trial(train: Settings, shape: Any) -> Facts:
    """One optimiser step of the recipe with its intervention, on the CPU; some of the tokens are masked."""
    import torch

    from sm_ops.training import interventions, lora, packing, trainer
    from sm_ops.training.masked import Example

    model = small(shape)
    name = type(model).__name__
    if train.method == "lora":
        model = lora.wrap(model, train.lora)
    length = min(train.context, 16)
    ids = np.random.default_rng(0).integers(1, SMALL["vocab_size"], (2, length))
    masks = (np.arange(length) % 4 == 3) & (np.array([[True], [train.intervention != "drop"]]))
    examples = [
        Example(str(number), own, np.where(mask, packing.IGNORED, own), mask)
        for number, (own, mask) in enumerate(zip(ids, masks, strict=True))
    ]
    rows = packing.rows(interventions.prepare(examples, train.intervention), length)
    before = [parameter.detach().clone() for parameter in model.parameters()]
    with tempfile.TemporaryDirectory() as scratch:
        settings = Settings(train.plain() | ONCE)
        result = trainer.fit(model, rows, 0, settings, 0, Path(scratch), intervention=train.intervention)
    if all(torch.equal(old, new) for old, new in zip(before, model.parameters(), strict=True)):
        raise InputError("recipe-does-not-train", f"One step of this recipe changes no weight of a small {name}.")
    return {
        "class": name,
        "intervention": train.intervention,
        "loss": result["train_loss"],
        "kept": packing.learned_tokens(rows),
        "supervised": 2 * (length - 1),
    }


# ---- words ---------------------------------------------------------------------------------------------


def _hosts_sentence(data: Facts) -> str:
    sentence = f"hosts: {data['hosts_needed']:,} programs are needed"
    if data["hosts_named"] is None and data["hosts_needed"] > STDLIB_HOSTS:
        return f"{sentence}, more than the standard library offers; name a folder of code with data.hosts=PATH"
    return sentence


def _counts(kinds: dict[str, int]) -> str:
    return ", ".join(f"{count} {kind}" for kind, count in kinds.items()) or "nothing"


def _gigabytes(count: int) -> str:
    return f"{count / 1e9:.1f} GB" if count >= 1e8 else f"{count / 1e6:.1f} MB"
