"""What the evidence of a release does not show, in sentences that follow from what is absent in it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from sm_ops.core.registry import members
from sm_ops.release.about import About

Json = dict[str, Any]


def not_measured(
    method: str, about: About, evidence: Mapping[str, Json], asked: Iterable[str], checks: Sequence[Json]
) -> list[str]:
    """Sentences on what nobody measured.

    `asked` names the checks of the policy, `checks` are the entries of checks.json, none before they ran.
    """
    return [
        *_attacks(evidence),
        *_coverage(method, evidence, checks),
        *_utility(evidence),
        *_language(about),
        "Whether a person can be recognised by what the text still says (style, rare events, facts that are harmless "
        "one by one) was not measured.",
        *_checks(checks),
        *_unlisted(asked),
    ]


def _attacks(evidence: Mapping[str, Json]) -> Iterator[str]:
    extraction = evidence.get("extraction")
    if extraction is None:
        yield "No model was trained and attacked: what a model learns from this data and gives away is not known."
        return
    yield (
        "No model was trained on the released text itself and attacked: the extraction rates are those of models "
        "trained on the masked training set of the same run."
    )
    yield (
        "Other models, attacks and ways of decoding than those of the run were not tried; larger models, and more "
        "passes over the data, memorise more."
    )
    if extraction.get("device") == "cpu":
        yield "Trainings and attacks ran on a CPU; whether a GPU gives the same numbers was not compared."


def _coverage(method: str, evidence: Mapping[str, Json], checks: Sequence[Json]) -> Iterator[str]:
    spans = [check["measured"].get("spans") for check in checks if check["name"] == "coverage"]
    if 0 in spans or evidence.get("redaction", {}).get("spans", {}) is None:
        yield "Nobody labelled private values in these records: how many of them are still in the text is not known."
    else:
        yield (
            "Private values that nobody labelled: coverage is counted over labelled spans, and the scan of shards "
            "finds only values that are known."
        )
    if method == "redacted" and "suitability" not in evidence:
        yield "Whether the masking rule separates private from other text in this data was not judged."


def _utility(evidence: Mapping[str, Json]) -> Iterator[str]:
    utility = evidence.get("utility")
    if utility is None:
        yield "What the treatment costs a model that learns from this data was not measured."
    elif utility.get("tasks"):
        yield "Utility was measured by likelihood and by the tasks of the run's held-out records, not by others."
    else:
        yield "Utility was measured by likelihood on held-out records of the run, not by tasks."


def _language(about: About) -> Iterator[str]:
    if about.languages:
        yield f"Nothing was measured in other languages than {', '.join(about.languages)}."
    else:
        yield "The languages of the text are not stated, and no number is broken down by language."


def _checks(checks: Sequence[Json]) -> Iterator[str]:
    for check in checks:
        if check["status"] in ("unmeasured", "not applicable"):
            yield f"Check {check['name']}, {check['status']}: {check['sentence']}"


def _unlisted(asked: Iterable[str]) -> Iterator[str]:
    if left_out := sorted(members("check").keys() - set(asked)):
        yield f"The policy does not ask for these checks: {', '.join(left_out)}."
