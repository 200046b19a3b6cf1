"""rewrite_select: which units of the application side a condition masks or sends; nothing is sent yet."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sm_ops.core import fs
from sm_ops.rewriting.selection import by_itself, chosen, together

if TYPE_CHECKING:
    from sm_ops.core.settings import Settings
    from sm_ops.core.stage import Context, Numbers


def run(settings: Settings, context: Context) -> Numbers:
    """Write the threshold, the shares that it chooses on both sides, and the chosen places."""
    condition = settings.condition
    unit = "sentence" if condition.kind == "route" else condition.unit
    tables = [fs.read_json(context.inputs[f"scores/{name}"]) for name in settings.selectors]
    if condition.budget is None:
        selection = by_itself(tables[0]["records"])
    else:
        sides = [(table["validation"][unit], table["records"][unit]) for table in tables]
        validation, application = sides[0] if len(sides) == 1 else together(sides)
        selection = chosen(validation, application, condition.budget, condition.quantiles == "retrospective")
    fs.write_json(context.outputs["selection"], selection)
    return {"chosen": selection["chosen"], "units": selection["units"]}
