"""Run every benchmark: `python -m benchmarks`, or some: `python -m benchmarks startup scoring`."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent


def main() -> int:
    names = sys.argv[1:] or sorted(path.stem for path in HERE.glob("*.py") if not path.stem.startswith("_"))
    codes = []
    for name in names:
        print(f"== {name}", flush=True)
        codes.append(subprocess.run([sys.executable, str(HERE / f"{name}.py")], check=False).returncode)
    return max(codes, default=0)


if __name__ == "__main__":
    sys.exit(main())
