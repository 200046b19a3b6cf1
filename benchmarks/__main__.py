"""Run every benchmark: `python -m benchmarks`, or some: `python -m benchmarks startup scoring`.

One that can measure nothing on this machine ends with 2 (`gpu_code_pii` without a GPU), one that lacks a part of its
table, such as the column of a GPU, says so there and ends with 0. The exit code is the highest of theirs; of all
benchmarks, those that can measure nothing here are left out of it.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
NOT_MEASURED = 2


def main() -> int:
    asked = sys.argv[1:]
    names = asked or sorted(path.stem for path in HERE.glob("*.py") if not path.stem.startswith("_"))
    codes = {}
    for name in names:
        print(f"== {name}", flush=True)
        codes[name] = subprocess.run([sys.executable, str(HERE / f"{name}.py")], check=False).returncode
    if failed := [name for name, code in codes.items() if code]:
        print(f"without a result: {', '.join(failed)}", flush=True)
    return max((code for code in codes.values() if asked or code != NOT_MEASURED), default=0)


if __name__ == "__main__":
    sys.exit(main())
