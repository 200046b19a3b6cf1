"""audit_measure: what each attack amounts to on one model, beside the model before fine-tuning."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sm_ops.core import fs, registry
from sm_ops.core.settings import Settings

if TYPE_CHECKING:
    from sm_ops.core.stage import Context, Numbers


def run(settings: Settings, context: Context) -> Numbers:
    """Measures with intervals, in all variants."""
    result = {}
    for name, chosen in settings.attacks.plain().items():
        attack = registry.load("attack", name)
        baseline = context.inputs.get(f"baseline/{name}")
        rows = fs.read_json(context.inputs[f"rows/{name}"])
        measures = attack.summary(rows, None if baseline is None else fs.read_json(baseline), Settings(chosen))
        result[name] = {"knowledge": attack.KNOWLEDGE, "settings": chosen, "measures": measures}
    fs.write_json(context.outputs["measures"], result)
    return {"measures": sum(len(each["measures"]) for each in result.values())}
