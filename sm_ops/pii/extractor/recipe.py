"""An extractor's recipe before it runs: its arithmetic, and one tuning and extraction on a small random model.

Nothing is downloaded: shape and tokenizer come from the model's folder, from the hub's cache, or from what is known
of the preset's model, whose tokenizer is stood in for by one of bytes with a chat template that behaves as Qwen3's.
"""

from __future__ import annotations

import copy
import tempfile
from pathlib import Path
from typing import Any

from sm_ops.core.errors import InputError
from sm_ops.core.settings import Settings
from sm_ops.training.shapes import named_shape

Facts = dict[str, Any]

RECORDS = {"train": 1600, "validation": 200, "test": 400}
"""Of the synthetic set (G1), before `documents.scale`."""

TEMPLATE = (
    "{% for message in messages %}{{ '<|im_start|>' + message.role + '\\n' }}"
    "{% if message.role == 'assistant' %}{{ '<think>\\n\\n</think>\\n\\n' }}{% endif %}"
    "{{ message.content + '<|im_end|>\\n' }}{% endfor %}"
    "{% if add_generation_prompt %}{{ '<|im_start|>assistant\\n' }}"
    "{% if enable_thinking is defined and enable_thinking is false %}{{ '<think>\\n\\n</think>\\n\\n' }}{% endif %}"
    "{% endif %}"
)
"""As Qwen3's own: an empty think block stands before an answer, and before the prompt when thinking is off."""

TRIAL = (
    {"id": "a", "source_text": "성명 김가상, 02-1234-5678", "target_tsv": "PERSON\t김가상\nPHONE\t02-1234-5678"},
    {"id": "b", "source_text": "The office opens at 9.", "target_tsv": ""},
)


def check(config: dict[str, Any]) -> Facts:
    """What a resolved config amounts to; raises `InputError` where it cannot work.

    Sections: `documents` (records by partition), `schedule` (steps), `model` (parameters, bytes), `trial` (the step
    and the extraction on the small model). What cannot be known without a network is None.
    """
    settings = Settings(config)
    facts: Facts = {"name": settings.name, "documents": _documents(settings.documents), "model": None, "trial": None}
    facts["schedule"] = _schedule(settings, facts["documents"])
    shape = _shape(settings.base)
    if shape is not None:
        facts["model"] = _model(settings, shape)
        facts["trial"] = _trial(settings, shape)
    return facts


def describe(facts: Facts) -> list[str]:
    """The facts in plain lines."""
    schedule, model, trial = facts["schedule"], facts["model"], facts["trial"]
    lines = [f"{facts['name']}: extractor, {schedule['method']}, {schedule['seeds']} seeds"]
    if facts["documents"] is not None:
        lines.append("documents: " + ", ".join(f"{split} {count:,}" for split, count in facts["documents"].items()))
    if schedule["steps"] is None:
        lines.append("steps: known once the documents are read and cut into windows")
    else:
        passes = f"{schedule['epochs']} passes, {schedule['batch']} documents a step"
        lines.append(f"steps: {schedule['steps']:,} = {passes}")
    if model is None:
        lines.append(
            "model: its class could not be looked up without a network (it is neither a folder nor in the hub's "
            "cache), so no trial was made"
        )
        return lines
    lines.append(
        f"model: {model['name']}, {model['class']}, {model['parameters']:,} parameters, of which "
        f"{model['trainable']:,} are tuned; weights {model['weight_bytes'] / 1e9:.2f} GB, gradients and optimizer "
        f"{model['training_bytes'] / 1e9:.2f} GB, logits of a batch up to {model['logit_bytes'] / 1e9:.2f} GB"
    )
    lines.append(
        f"trial: on a random two-layer {trial['class']} with {trial['tokenizer']} the template was verified, one step "
        f"over {trial['learned_tokens']} tokens went well (loss {trial['loss']:.2f}), and {trial['answers']} documents "
        f"were answered, {trial['decoding']}"
    )
    if schedule["quantization"] != "none":
        lines.append("trial: with whole weights; four bits need a GPU and bitsandbytes and were not tried")
    return lines


def _documents(documents: Settings) -> dict[str, int] | None:
    if documents.own.test is not None:
        return None
    most = {split: count * documents.scale for split, count in RECORDS.items()}
    return {split: min(count, getattr(documents, split) or count) for split, count in most.items()}


def _schedule(settings: Settings, documents: dict[str, int] | None) -> Facts:
    from sm_ops.training.schedule import steps_of

    tune = settings.tune
    whole = documents is not None and settings.base.window is None
    return {
        "method": tune.method,
        "quantization": settings.base.quantization,
        "seeds": len(settings.seeds),
        "epochs": tune.epochs,
        "batch": tune.batch_size * tune.accumulation,
        "steps": steps_of(documents["train"] * (1 + tune.variations), tune) if documents and whole else None,
    }


def _shape(base: Settings) -> Any:
    """The model's config, or None where it cannot be had without a network."""
    from sm_ops.pii.extractor import tiny

    if base.name is None:
        return tiny.shape(base, base.vocab_size, base.context, end=0)
    return named_shape(base.name, base.revision)


def _model(settings: Settings, shape: Any) -> Facts:
    """The full model without weights."""
    import torch
    from transformers import AutoModelForCausalLM

    from sm_ops.training import lora

    base, tune = settings.base, settings.tune
    text = shape.get_text_config()
    name = base.name or "a Llama made on the spot"
    for section in ("tune", "extract"):
        context = getattr(settings, section).context
        if context > text.max_position_embeddings:
            hint = f"{section}.context is {context}, but {name} has {text.max_position_embeddings} positions; lower it."
            raise InputError("context-too-long", hint)
    if base.quantization != "none" and tune.method == "full":
        hint = "base.quantization 4bit keeps the weights as they are; tune with method lora, or set it to none."
        raise InputError("quantized-weights-fixed", hint)
    with torch.device("meta"):
        model: Any = AutoModelForCausalLM.from_config(shape)
        kind, parameters = type(model).__name__, model.num_parameters()
        trainable = parameters
        if tune.method == "lora":
            trainable = lora.coverage(lora.wrap(model, tune.lora))["trainable_parameters"]
    size = 0.55 if base.quantization == "4bit" else 2 if tune.dtype == "bfloat16" and tune.method == "lora" else 4
    return {
        "name": name,
        "class": kind,
        "parameters": parameters,
        "trainable": trainable,
        "weight_bytes": int(parameters * size),
        "training_bytes": trainable * 12,  # gradient and two moments in fp32
        "logit_bytes": tune.batch_size * tune.context * text.vocab_size * 4,
    }


def _trial(settings: Settings, shape: Any) -> Facts:
    """Verify, tune for a step and extract, on the CPU."""
    from sm_ops.pii.extractor.infer import extract
    from sm_ops.pii.extractor.tune import tune
    from sm_ops.training.recipe import ONCE
    from sm_ops.training.shapes import small

    with tempfile.TemporaryDirectory() as scratch:
        tokenizer, words = _tokenizer(settings.base, Path(scratch))
        model = small(copy.deepcopy(shape))
        model.resize_token_embeddings(len(tokenizer), mean_resizing=False)
        kind = type(model).__name__
        chosen = Settings(settings.tune.plain() | ONCE)
        model, numbers = tune(model, tokenizer, TRIAL, settings.base, chosen, 0, Path(scratch) / "trainer")
        short = Settings(settings.extract.plain() | {"max_new_tokens": 8})
        answers = extract(model, tokenizer, [document["source_text"] for document in TRIAL], settings.base, short)
    return {
        "class": kind,
        "tokenizer": words,
        "learned_tokens": numbers["learned_tokens"],
        "loss": numbers["train_loss"],
        "answers": len(answers),
        "decoding": settings.extract.decoding,
    }


def _tokenizer(base: Settings, folder: Path) -> tuple[Any, str]:
    """The model's own tokenizer where it lies here, and what to call it."""
    from transformers import AutoTokenizer

    from sm_ops.pii.extractor import tiny
    from sm_ops.scoring.tokenize import untrim

    if base.name is not None:
        try:
            own = AutoTokenizer.from_pretrained(base.name, revision=base.revision, local_files_only=True)
        except (OSError, ValueError):
            pass
        else:
            untrim(own)
            return own, "its own tokenizer"
    tokenizer = tiny.train_tokenizer([document["source_text"] for document in TRIAL], 512, folder / "tokenizer")
    if base.name is None:
        return tokenizer, "a tokenizer of the same kind"
    tokenizer.add_special_tokens({"additional_special_tokens": ["<|im_start|>", "<|im_end|>"]})
    tokenizer.chat_template = TEMPLATE
    return tokenizer, "a stand-in for its tokenizer and a template like Qwen3's"
