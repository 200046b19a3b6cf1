"""A small GPT-2 and its tokenizer, trained on the spot: base model and reference of the preset `tiny`."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from sm_ops.core.errors import InputError

END = "<|endoftext|>"

CHAT_TEMPLATE = (
    "{% for message in messages %}{{ '<|' + message['role'] + '|>' + message['content'] + '<|end|>' }}"
    "{% endfor %}{% if add_generation_prompt %}{{ '<|assistant|>' }}{% endif %}"
)
CHAT_TOKENS = ["<|system|>", "<|user|>", "<|assistant|>", "<|end|>"]


def train_tokenizer(
    texts: Iterable[str], vocab_size: int, folder: Path, splitting: Any = None, whole: Sequence[str] = ()
) -> Any:
    """A byte-level BPE with a plain chat template; saved and loaded back.

    `splitting` is a pre-tokenizer (default GPT-2's rule); each text of `whole` is one token.
    """
    from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers, trainers
    from transformers import AutoTokenizer, PreTrainedTokenizerFast

    backend = Tokenizer(models.BPE())
    backend.pre_tokenizer = splitting or pre_tokenizers.ByteLevel(add_prefix_space=False)
    backend.decoder = decoders.ByteLevel()  # type: ignore[assignment]
    trainer = trainers.BpeTrainer(
        vocab_size=vocab_size - len(whole),
        special_tokens=[END, *CHAT_TOKENS],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    backend.train_from_iterator(texts, trainer)
    backend.add_tokens([AddedToken(text, normalized=False) for text in whole])
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=backend,
        bos_token=END,
        eos_token=END,
        pad_token=END,
        additional_special_tokens=CHAT_TOKENS,
        chat_template=CHAT_TEMPLATE,
    )
    tokenizer.save_pretrained(str(folder))
    return AutoTokenizer.from_pretrained(str(folder))


def write_tokenizer(settings: Any, texts: Iterable[str], folder: Path) -> None:
    """The tokenizer that `settings.tokenizer` names, or one of `settings.vocab_size` entries trained on the texts.

    Raises `InputError` where the named one has another number of entries, as the model is made for that number.
    """
    from sm_ops.scoring.tokenize import load_tokenizer

    if settings.tokenizer is None:
        train_tokenizer(texts, settings.vocab_size, folder)
        return
    tokenizer = load_tokenizer(settings.tokenizer)
    if len(tokenizer) != settings.vocab_size:
        raise InputError(
            "other-vocabulary",
            f"base.tokenizer has {len(tokenizer)} entries, but base.vocab_size is {settings.vocab_size}; set that so.",
        )
    tokenizer.save_pretrained(str(folder))


def config(settings: Any, vocab_size: int, context: int, end: int) -> Any:
    """The shape of a GPT-2 without dropout. `settings`: layers, width, heads."""
    from transformers import GPT2Config

    return GPT2Config(
        vocab_size=vocab_size,
        n_positions=context,
        n_embd=settings.width,
        n_layer=settings.layers,
        n_head=settings.heads,
        activation_function="gelu_pytorch_tanh",  # GPT-2's own function in one kernel
        bos_token_id=end,
        eos_token_id=end,
        pad_token_id=end,
        resid_pdrop=0.0,
        embd_pdrop=0.0,
        attn_pdrop=0.0,
    )


def new_model(settings: Any, vocab_size: int, context: int, end: int, seed: int) -> Any:
    """A GPT-2 with random weights drawn from `seed`; see `config`."""
    import torch
    from transformers import GPT2LMHeadModel

    torch.manual_seed(seed)
    return GPT2LMHeadModel(config(settings, vocab_size, context, end))
