"""After each run: no labelled value stands outside the restricted root and the vault."""

from __future__ import annotations

import sys
from typing import Any

from sm_ops.core.errors import StageError
from sm_ops.leaks import find_leaks
from sm_ops.leaks.stores import own_stores
from sm_ops.vault import Vault


def search(results: dict[str, Any]) -> None:
    """Search all stores for the run's labelled values, as `sm-ops doctor --leaks` does, and say what was searched.

    Raises `StageError` with a place and a form, never a value. Relation words stand in any text and are left out.
    """
    dataset = results["known_values"]
    stores = own_stores()
    values = [value for type_, value in Vault().values(dataset) if type_ != "REL"]
    found = find_leaks(stores.paths, values, stores.without)
    command = f"sm-ops doctor --leaks --dataset {dataset}"
    if found:
        first = found.findings[0]
        hint = f"A labelled value stands in {first.place} ({first.part}, as {first.form}); see all with: {command}"
        raise StageError("leak", hint)
    short = f", {found.not_searchable} are too short to be told from chance" if found.not_searchable else ""
    unread = f", {len(found.unread)} places could not be read" if found.unread else ""
    print(f"leaks: none of {found.searched} values in {found.files} files{short}{unread} ({command})", file=sys.stderr)
