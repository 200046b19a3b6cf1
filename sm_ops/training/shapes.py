"""Models as they are before their weights: shape, size, what LoRA reaches, and a small random one of the same class.

Nothing is downloaded: a model's shape comes from its folder, from the hub's cache, or from a table of the presets'
models.
"""

from __future__ import annotations

import copy
from typing import Any

from sm_ops.core.errors import InputError
from sm_ops.core.settings import Settings

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
    "Qwen/Qwen3-4B-Instruct-2507": (
        "qwen3",
        {
            "hidden_size": 2560,
            "intermediate_size": 9728,
            "num_hidden_layers": 36,
            "num_attention_heads": 32,
            "num_key_value_heads": 8,
            "head_dim": 128,
            "vocab_size": 151936,
            "max_position_embeddings": 262144,
            "tie_word_embeddings": True,
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


def shape_of(base: Settings, train: Settings) -> Any:
    """The base model's config, or None where it cannot be had without a network."""
    from sm_ops.training import tiny

    if base.name is None:
        context = train.context if train.method == "scratch" else base.context
        return tiny.config(base, base.vocab_size, base.positions or context, end=0)
    return named_shape(base.name, base.revision)


def named_shape(name: str, revision: str | None) -> Any:
    """The config of a model by folder or hub name, or None where it cannot be had without a network."""
    from transformers import AutoConfig

    try:
        return AutoConfig.from_pretrained(name, revision=revision, local_files_only=True)
    except (OSError, ValueError):
        if name not in KNOWN:
            return None
    kind, dimensions = KNOWN[name]
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

    shape = named_shape(name, revision)
    if shape is None:
        return None
    with torch.device("meta"):
        model: Any = AutoModelForCausalLM.from_config(shape)
    with torch.no_grad():
        small(shape)(input_ids=torch.arange(8)[None])
    return {"class": type(model).__name__, "parameters": model.num_parameters()}


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
        "layers": text.num_hidden_layers,
        "width": text.hidden_size,
        "heads": text.num_attention_heads,
        "entries": text.vocab_size,
        "positions": positions,
        "weight_bytes": parameters * (2 if halved else 4),
        "training_bytes": trainable * 12,  # gradient and two moments in fp32
        "logit_bytes": train.batch_size * train.context * text.vocab_size * 4,
    }
    return facts, adapters


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


def _counts(kinds: dict[str, int]) -> str:
    return ", ".join(f"{count} {kind}" for kind, count in kinds.items()) or "nothing"


def _gigabytes(count: int) -> str:
    return f"{count / 1e9:.1f} GB" if count >= 1e8 else f"{count / 1e6:.1f} MB"
