"""What flows, stack and doctor agree on about Prefect, in plain words: settings of runs, names of their last states."""

from __future__ import annotations

from sm_ops.core.errors import EXIT_BUG, EXIT_CHECK, EXIT_INPUT, EXIT_NOT_APPROVED, EXIT_TAMPERED

HEARTBEAT = 30
"""Seconds between the heartbeats of a run, Prefect's smallest number: without them a host that has gone is not seen."""

SETTINGS = {
    "PREFECT_FLOWS_HEARTBEAT_FREQUENCY": str(HEARTBEAT),
    "PREFECT_LOGGING_TO_API_ENABLED": "false",
    "PREFECT_RESULTS_PERSIST_BY_DEFAULT": "false",
    "DO_NOT_TRACK": "true",
}
"""Of every process that runs or starts a flow: nothing sent, nothing kept of results, no logs in the database."""
SILENT = {"PREFECT_LOGGING_LEVEL": "CRITICAL"}
"""Of the processes of runs beside it: states say in one sentence what failed."""

EXIT_CODES = {
    "Completed": 0,
    "Internal error": EXIT_BUG,
    "Failed": EXIT_INPUT,
    "Checks failed": EXIT_CHECK,
    "Not approved": EXIT_NOT_APPROVED,
    "Revoked or tampered": EXIT_TAMPERED,
}
"""The names of last states; each stands for an exit code."""
SUPERSEDED = "Superseded"
"""The name of the last state of a scheduled run that left its work to a newer one."""
BAD_ENDS = frozenset({"Crashed", "TimedOut", *(name for name, code in EXIT_CODES.items() if code)})
"""Last states of a run that a person has to look at."""
