"""Sanitization as a Prefect flow: `python -m flows.sanitize RESOLVED.json [JOBS]` runs what `sm-ops run` runs.

Its output and its exit codes are those of the plain run: 2 for bad input, 3 for a failed check, 130 when interrupted.
"""

import sys

from flows._run import main

if __name__ == "__main__":
    sys.exit(main("flows.sanitize", sys.argv[1:]))
