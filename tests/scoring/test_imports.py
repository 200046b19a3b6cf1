from __future__ import annotations

import subprocess
import sys

import pytest

pytestmark = pytest.mark.unit
HEAVY = ("torch", "transformers", "tokenizers", "pyarrow", "pydantic", "jinja2", "huggingface_hub")


def test_scoring_and_attacks_import_with_numpy_alone():
    code = (
        "import sys, pkgutil, importlib, sm_ops.scoring as s, sm_ops.attacks as a\n"
        "for p in (s, a):\n"
        "    for m in pkgutil.walk_packages(p.__path__, p.__name__ + '.'): importlib.import_module(m.name)\n"
        f"print([m for m in {HEAVY} if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
