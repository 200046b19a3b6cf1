"""A pipeline's steps as DVC stages of the same names, so that `dvc repro` runs what `sm-ops run` runs.

Steps of one stage become a `matrix`, or a `foreach` where their cells read different things. Internal outputs are
kept in DVC's cache; restricted ones are `cache: false` and lie below `out/restricted`.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from pathlib import Path
from typing import Any

import yaml

from sm_ops.core import fs
from sm_ops.core.settings import Settings
from sm_ops.core.stage import Output, Step

PARAMS = "params.yaml"
METRICS = "metrics.json"
"""File of an exported step that holds its numbers."""
DIGEST = ".sha256"
"""Ending of the file that stands for a restricted output of an exported step."""
MEASURED = ("calibrate", "attack", "evaluate", "pii_evaluate", "san_measure")
"""Stages whose numbers `dvc metrics show` lists."""
AXES = {
    "fit": ("reference",),
    "score": ("reference",),
    "detect": ("detection",),
    "train": ("condition", "seed"),
    "attack": ("condition", "seed"),
    "evaluate": ("condition", "seed"),
    "complete": ("condition", "seed"),
    "assess": ("condition", "seed"),
    "pii_detect": ("detector",),
    "pii_tune": ("seed",),
    "pii_extract": ("model",),
    "pii_mask": ("finder",),
    "pii_evaluate": ("finder",),
    "audit_prepare": ("defence",),
    "audit_train": ("defence", "seed"),
    "audit_shadow": ("number",),
    "audit_attack": ("attack", "cell", "seed"),
    "audit_measure": ("cell", "seed"),
    "san_fit": ("reference", "fold"),
    "san_tune": ("filter", "fold"),
    "san_levels": ("filter", "fold"),
    "san_measure": ("fold",),
    "rank_fit": ("reference",),
    "rank_score": ("reference",),
    "rewrite_fit": ("reference",),
    "rewrite_score": ("selector",),
    "rewrite_select": ("condition",),
    "rewrite_apply": ("condition",),
    "rewrite_judge": ("condition",),
}
"""What the items of a step's cell are, by stage."""
TABLES = {
    "reference": "references",
    "detection": "masking.detectors",
    "filter": "filters",
    "selector": "selectors",
    "condition": "conditions",
}
"""Where the config has the section of one cell."""
HEADER = """\
# Written by `sm-ops init`. Other seeds, references or conditions in params.yaml are other stages: write this again
# with `sm-ops init params.yaml`.
"""

Entry = dict[str, Any]


def write_files(folder: Path, config: dict[str, Any], steps: Sequence[Step]) -> list[Path]:
    """Write dvc.yaml and params.yaml (the resolved config); code that lies in the folder becomes a dependency."""
    code = ["sm_ops"] if (folder / "sm_ops").is_dir() else []
    files = {folder / "dvc.yaml": HEADER + _dump({"stages": dvc_stages(steps, code)}), folder / PARAMS: _dump(config)}
    for path, text in files.items():
        fs.write_atomic(path, text.encode())
    return list(files)


def dvc_stages(steps: Sequence[Step], code: Sequence[str] = ()) -> dict[str, Entry]:
    """The `stages` of dvc.yaml; the last one, `report`, reads the results that no step reads."""
    outputs = {(step.name, output.name): output for step in steps for output in step.stage.outputs}
    order = list(dict.fromkeys(step.stage.name for step in steps))
    grouped = groupby(sorted(steps, key=lambda step: order.index(step.stage.name)), key=lambda step: step.stage.name)
    stages = {name: _stage([*group], outputs, [*code]) for name, group in grouped}
    read = {source for step in steps for source in step.inputs.values()}
    ends = [_path(*each, outputs) for each in outputs if each not in read and outputs[each].cls != "restricted"]
    return stages | {"report": {"cmd": f"sm-ops run {PARAMS}", "deps": [*code, *ends]}}


def _stage(steps: list[Step], outputs: dict[tuple[str, str], Output], code: list[str]) -> Entry:
    """All steps of one stage: what they read in common, and what each cell reads of its own."""
    first = steps[0]
    if "@" not in first.name:
        return _body(first, first.name, "", [*code, *_reads(first, outputs)])
    axes = [f"${{item.{axis}}}" for axis in AXES[first.stage.name]]
    reads = {_cell(step): _reads(step, outputs) for step in steps}
    templates = {cell: [_template(path, cell, axes) for path in paths] for cell, paths in reads.items()}
    common = [path for path in templates[_cell(first)] if all(path in each for each in templates.values())]
    if all(len(each) == len(common) for each in templates.values()):
        cell = "-".join(axes)
        items = zip(*(_items(step) for step in steps), strict=True)
        matrix = {axis: list(dict.fromkeys(values)) for axis, values in zip(AXES[first.stage.name], items, strict=True)}
        return {"matrix": matrix, **_body(first, f"{first.stage.name}@{cell}", cell, [*code, *common])}

    cell = "${key}"
    own = {
        name: [path for path, template in zip(reads[name], templates[name], strict=True) if template not in common]
        for name in reads
    }
    most = max(map(len, own.values()))
    places = [f"${{item.reads[{place}]}}" for place in range(most)]
    body = _body(first, f"{first.stage.name}@{cell}", cell, [*code, *(_keyed(p, axes) for p in common), *places])
    # DVC wants one number of dependencies in every cell: one that reads less names a common one again
    filled = {name: {"reads": paths + reads[name][:1] * (most - len(paths))} for name, paths in own.items()}
    return {"foreach": filled, "do": body}


def _body(step: Step, name: str, cell: str, reads: list[str]) -> Entry:
    stage = step.stage
    own = AXES.get(stage.name)  # a cell of several items has no name for one of them in a `foreach`
    sections = [
        f"{TABLES[section]}.{cell}" if own == (section,) else TABLES.get(section, section) for section in stage.sections
    ]
    entry: Entry = {"cmd": f"sm-ops stage {name} --config {PARAMS} --out out"}
    if sections:
        entry["params"] = sections
    if reads:
        entry["deps"] = reads
    entry["outs"] = [
        {f"out/{name}/{output.name}{DIGEST}": {"cache": False}}
        if output.cls == "restricted"
        else f"out/{name}/{output.name}"
        for output in stage.outputs
    ]
    if stage.name in MEASURED:
        entry["metrics"] = [{f"out/{name}/{METRICS}": {"cache": False}}]
    return entry


def _reads(step: Step, outputs: dict[tuple[str, str], Output]) -> list[str]:
    """The user's own files and folders that the step's settings name, and the exported outputs that it reads."""
    settings = Settings(step.settings)
    named = [place for dotted in step.stage.places if isinstance(place := settings.at(dotted), str)]
    exported = [_path(source, output, outputs) for source, output in step.inputs.values()]
    return [*(place for place in named if Path(place).exists()), *dict.fromkeys(exported)]


def _path(step: str, output: str, outputs: dict[tuple[str, str], Output]) -> str:
    return f"out/{step}/{output}" + (DIGEST if outputs[step, output].cls == "restricted" else "")


def _cell(step: Step) -> str:
    return step.name.partition("@")[2]


def _items(step: Step) -> list[str | int]:
    """A cell's items; only the last of several, the seed, is a number. A condition's name may hold a hyphen itself."""
    axes = len(AXES[step.stage.name])
    if axes == 1:
        return [_cell(step)]
    names, _, seed = _cell(step).rpartition("-")
    return [*names.split("-", axes - 2), int(seed)]


def _template(path: str, cell: str, axes: list[str]) -> str:
    """A path with its cell, or its condition as a file's name, replaced by the axes' variables."""
    path = path.replace(f"@{cell}/", f"@{'-'.join(axes)}/")
    if len(axes) == 1:
        return path
    return path.replace(f"/{cell.rpartition('-')[0]}.", f"/{axes[0]}.")


def _keyed(path: str, axes: list[str]) -> str:
    return path.replace("-".join(axes), "${key}")


def _dump(value: Any) -> str:
    return yaml.safe_dump(value, sort_keys=False, default_flow_style=None, width=120, allow_unicode=True)
