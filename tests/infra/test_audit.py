"""What `infra/audit.sh` asks others about: misconfigurations, and known vulnerabilities of what is installed."""

from __future__ import annotations

import os
import subprocess

import pytest
from driving import ROOT
from engine import CACHE

pytestmark = pytest.mark.slow


def audit(name: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "SM_OPS_AUDIT": str(CACHE / "audit")}
    command = [str(ROOT / "infra" / "audit.sh"), name]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=500, check=False)
    if done.returncode == 1 and not (CACHE / "audit" / name / "bin" / name).exists():
        pytest.skip(f"{name} cannot be installed here")
    return done


def test_nothing_is_misconfigured():
    done = audit("checkov")
    assert done.returncode == 0, done.stdout


def test_nothing_that_is_installed_has_a_known_vulnerability():
    done = audit("pip-audit")
    if any(words in done.stderr for words in ("could not be audited", "ConnectionError", "Max retries exceeded")):
        pytest.skip("the vulnerability data cannot be reached from here")
    assert done.returncode == 0, done.stdout


def test_another_word_is_refused():
    assert audit("nmap").returncode == 2
