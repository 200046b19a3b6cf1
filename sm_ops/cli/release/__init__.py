"""Releases: a dataset leaves the house with evidence, two people's signatures, and a way back."""

from __future__ import annotations

import typer

from sm_ops.cli.release import deciding, making, publishing, reading

app = typer.Typer(no_args_is_help=True, help="Let a dataset out: evidence, approvals, publication, revocation.")
for group in (making, deciding, publishing, reading):
    app.add_typer(group.app)
