"""Lets these tests import the brute-force rules that stand beside the tests of masking."""

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parents[1] / "masking"))
