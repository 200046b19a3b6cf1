"""A stage that fails with values in every place where an exception can hold them."""

from __future__ import annotations

from pathlib import Path

from driving import copy_source

_CODE = '''

def run(settings, context):
    """Fail with values in every place where an exception can hold them, and print them on the way."""
    import sys
    values = {values!r}
    print(*values)
    print(*values, file=sys.stderr, flush=True)
    try:
        {{}}[values[0]]
    except KeyError as error:
        failure = {failure}
        failure.add_note(values[1])
        raise failure from error
'''
_FAILURES = {"value": "ValueError(*values)", "system": "FileNotFoundError(2, values[0], values[1])"}


def sabotaged(stage: str, how: str, values: list[str], folder: Path) -> Path:
    """A copy of the code in which a stage's function fails: by an exception of Python, or by one of the system."""
    source = copy_source(folder)
    module = source / "sm_ops" / "steps" / f"{stage}.py"
    module.write_text(module.read_text() + _CODE.format(values=values, failure=_FAILURES[how]))
    return source
