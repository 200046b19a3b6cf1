"""`python -m sm_ops.cli` is `sm-ops`."""

from sm_ops.cli import main

main()
