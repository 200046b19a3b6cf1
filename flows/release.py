"""The flows of releases by hand, with output and exit codes of the same verbs:

python -m flows.release build [NAME@VERSION] [--run RUN]     3 when a check failed
python -m flows.release publish NAME@VERSION DESTINATION [BUCKET_OWNER]
                                                             4 when not approved, 5 when revoked or tampered
python -m flows.release expire
"""

from __future__ import annotations

import argparse
import sys
from contextlib import suppress
from typing import Any

from flows._process import INSIDE, end_with_parent, in_words, run_apart
from flows._settings import configure
from sm_ops.core.errors import InputError
from sm_ops.core.home import home_folder
from sm_ops.core.orchestration import EXIT_CODES


def main(arguments: list[str]) -> int:
    """Run one flow in a process of its own, and say in a sentence what it came to."""

    def work() -> int:
        verb, parameters = _parameters([word for word in arguments if word != INSIDE])
        if INSIDE not in arguments:
            return run_apart("flows.release", arguments)
        end_with_parent()
        return _run(verb, parameters)

    return in_words(work)


def _run(verb: str, parameters: dict[str, str | None]) -> int:
    configure(home_folder())
    from flows import _releases

    state: Any = None
    with suppress(Exception):  # Prefect's own words may hold anything
        state = getattr(_releases, verb)(**parameters, return_state=True)
    code = EXIT_CODES.get(state.name) if state else None
    if code is None:
        raise InputError(
            "prefect-failed",
            "Prefect's server did not start, ended, or refused the run; run the same command again, what is done is "
            "found, or type: sm-ops release " + verb,
        )
    if state.is_completed():
        print(state.message)
    else:
        print(f"sm-ops: {state.message}", file=sys.stderr)
    return code


def _parameters(words: list[str]) -> tuple[str, dict[str, str | None]]:
    """The verb and its names, refused before Prefect may store them: they are names, never data."""
    parser = _Parser(prog="python -m flows.release")
    verbs = parser.add_subparsers(dest="verb", required=True, parser_class=_Parser)
    build = verbs.add_parser("build")
    build.add_argument("release", nargs="?")
    build.add_argument("--run")
    publish = verbs.add_parser("publish")
    publish.add_argument("release")
    publish.add_argument("destination")
    publish.add_argument("bucket_owner", nargs="?")
    verbs.add_parser("expire")
    found = vars(parser.parse_args(words))
    verb = found.pop("verb")
    if found.get("release") is not None:
        from sm_ops.release.folder import named

        found["release"] = str(named(home_folder(), found["release"]))
    if found.get("run") is not None:
        from sm_ops.core.home import find_run

        found["run"] = find_run(home_folder(), found["run"]).id
    if found.get("destination") is not None:
        from sm_ops.storage.places import open_place

        found["destination"] = open_place(found["destination"], found["bucket_owner"]).text
    return verb, found


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> Any:
        """A sentence instead of the usage and the end of the process."""
        raise InputError("usage", f"{message[:1].upper()}{message[1:]}; {' '.join(self.format_usage().split())}")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
