"""The adapter answers the published cases through their own runner, with nothing else of the tests on the path."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest
from test_masking_cases import FOLDER, published

from sm_ops import __file__ as package


@published
@pytest.mark.xdist_group("cases")
def test_the_runner_that_comes_with_the_cases():
    root = os.path.dirname(os.path.dirname(package))
    done = subprocess.run(
        [sys.executable, str(FOLDER / "check_cases.py"), str(FOLDER / "cases.jsonl"), "masking_adapter"],
        cwd=root,
        env={**os.environ, "PYTHONPATH": "tests/cases"},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
    assert "0 failed" in done.stdout
