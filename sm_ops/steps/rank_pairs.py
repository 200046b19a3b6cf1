"""rank_pairs: risky and safe outputs, dealt out to a validation and an application side by their source."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from sm_ops.core import fs
from sm_ops.core.records import Record
from sm_ops.data.records import write_records
from sm_ops.ranking import citations, generated, sides
from sm_ops.ranking.pairs import Material, Pair, outputs, read_pairs

if TYPE_CHECKING:
    from sm_ops.core.settings import Settings
    from sm_ops.core.stage import Context, Numbers


def run(settings: Settings, context: Context) -> Numbers:
    """Write the outputs of both sides, and safe texts beside them that a reference may learn; count all."""
    given = settings.pairs
    first = _read(given, given.validation)
    if given.application is None:
        validation, application = sides.split(first.pairs, given.share, given.seed)
        counts = {"both": first.counts}
    else:
        second = _read(given, given.application)
        sides.check_apart(first.pairs, second.pairs)
        validation, application = _named("validation", first.pairs), _named("application", second.pairs)
        counts = {"validation": first.counts, "application": second.counts}
    used = {text for pair in [*validation, *application] for text in (pair.safe, pair.risky)}
    clean = [Record(f"clean-{number}", text=text) for number, text in enumerate(first.clean) if text not in used]
    shared = sides.shared_outputs(validation, application)
    write_records(context.outputs["validation"], outputs(validation))
    write_records(context.outputs["application"], outputs(application))
    write_records(context.outputs["clean"], clean)
    about = {
        "source": given.source,
        "sides": {"validation": _size(validation), "application": _size(application)},
        "clean": len(clean),
        "shared_outputs": shared,
        "read": counts,
    }
    fs.write_json(context.outputs["pairs"], about)
    return {"pairs": len(validation) + len(application), "shared_outputs": shared, "clean": len(clean)}


def _read(given: Settings, path: str | None) -> Material:
    if given.source == "generated":
        return generated.generate()
    assert path is not None
    return citations.read_citations(path, given.types) if given.source == "citations" else read_pairs(path)


def _named(side: str, pairs: list[Pair]) -> list[Pair]:
    """Pairs of two files may have the same ids."""
    return [replace(pair, id=f"{side}-{pair.id}") for pair in pairs]


def _size(pairs: list[Pair]) -> dict[str, int]:
    return {"pairs": len(pairs), "outputs": 2 * len(pairs), "groups": len({pair.group for pair in pairs})}
