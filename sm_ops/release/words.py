"""A release in words and tables, for card and page alike; whoever shows them escapes them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from sm_ops.release.about import About
from sm_ops.release.facts import Facts
from sm_ops.report.page import flat
from sm_ops.report.surprise.measures import LIKELIHOODS, NLL
from sm_ops.report.words import DASH, changed, count, decimal, percent, share

Json = dict[str, Any]

_METHODS = {
    "redacted": "Redacted: private text was replaced and cannot be restored from the release.",
    "reversible": "Reversibly masked: private values were replaced by tokens of their kind. What stands for what is "
    "kept in a vault, outside of the release; only who may read the vault can restore the text.",
    "scrubbed": "Scrubbed: private values gave way to their kind, and nothing was kept that could bring them back.",
}
_INTERVALS = "Brackets are 95 % intervals."


@dataclass(frozen=True)
class Table:
    """Numbers under a title; the first column names the row."""

    title: str
    header: Sequence[str]
    rows: Sequence[Sequence[str]]
    note: str = ""


@dataclass(frozen=True)
class Finding:
    """A check's outcome: a word for it, whether that is alarming, the sentence and the numbers."""

    name: str
    word: str
    alarming: bool
    sentence: str
    numbers: str


# ---- what it is, and how it was made -------------------------------------------------------------------


def overview(facts: Facts) -> list[tuple[str, str]]:
    """What stands at the top: pairs of a name and what it is."""
    manifest, about = facts.manifest, facts.about
    pairs = [
        ("Release", manifest["release"]),
        ("Built", manifest["created"]),
        ("Records", count(facts.rows)),
        ("Method", manifest["method"]),
        ("Licence", about.licence or "not stated"),
        ("Languages", ", ".join(about.languages) or "not stated"),
        ("By", about.creator),
    ]
    return [(name, text) for name, text in pairs if text]


def how_made(facts: Facts) -> list[str]:
    """How the released records came about, in sentences."""
    return [
        _METHODS[facts.manifest["method"]],
        *(step["sentence"] for step in facts.lineage.get("steps", [])),
        *_counted(facts.evidence.get("redaction", {})),
    ]


def _counted(counted: Json) -> Iterator[str]:
    if "records" in counted and "changed" in counted:
        places = f" in {count(counted['intervals'])} places" if "intervals" in counted else ""
        yield f"{count(counted['changed'])} of {count(counted['records'])} records were changed{places}."
    if characters := counted.get("characters"):
        removed = percent(characters["removed"] / characters["all"]) if characters["all"] else DASH
        yield f"{count(characters['removed'])} of {count(characters['all'])} characters were replaced ({removed})."


# ---- evidence ------------------------------------------------------------------------------------------


def tables(facts: Facts) -> list[Table]:
    """The evidence's numbers, each with its count and its interval where it is an estimate."""
    evidence = facts.evidence
    found = (
        _coverage(evidence.get("redaction", {})),
        _restoration(evidence.get("restoration", {})),
        _extraction(evidence.get("extraction", {})),
        _utility(evidence.get("utility", {})),
        _suitability(evidence.get("suitability", {})),
    )
    return [table for table in found if table is not None]


def _coverage(counted: Json) -> Table | None:
    rows = [(label, *_rate(rate)) for label, rate in sorted(counted.get("by_label", {}).items())]
    if counted.get("spans"):
        rows.append(("all", *_rate(counted["spans"])))
    if counted.get("spans_by_point"):
        rows.append(("all, by the rule alone", *_rate(counted["spans_by_point"])))
    note = "Labelled spans of which every character was replaced. They were all counted: there is no sampling error."
    return Table("Labelled private values", ("label", "covered", "share"), rows, note) if rows else None


def _restoration(counted: Json) -> Table | None:
    """What the build compared; that records come back is what the check `round_trip` finds."""
    if "mapped" not in counted:
        return None
    rows = [("records of which the vault has the mappings, made for exactly this text", *_rate(counted["mapped"]))]
    note = "They were all counted: there is no sampling error. Whether they come back as they were: check round_trip."
    return Table("Mappings", ("", "records", "share"), rows, note)


def _extraction(found: Json) -> Table | None:
    if "approx" not in found and "exact" not in found:
        return None
    named = {found.get("condition", "released condition"): found, "trained without masks": found.get("unmasked", {})}
    rows = [
        (name, *(_estimate(rates[score]) if score in rates else DASH for score in ("approx", "exact")))
        for name, rates in named.items()
        if rates
    ]
    details = [
        f"{found.get('attack', 'an attack').replace('_', ' ')} on models that were trained on the records of the run",
        f"{count(found['budget'])} samples a canary" if "budget" in found else "",
        f"{found['seeds']} training seeds" if "seeds" in found else "",
        f"{found['clusters']} canaries, each one cluster" if "clusters" in found else "",
    ]
    note = f"By {', '.join(each for each in details if each)}. {_INTERVALS}"
    return Table("Private values extracted", ("condition", "approximately", "exactly"), rows, note)


def _utility(found: Json) -> Table | None:
    likelihood = LIKELIHOODS[found.get("likelihood", NLL.name)]
    value, error, change, change_error = (
        found.get(likelihood.name + end) for end in ("", "_se", "_change", "_change_se")
    )
    if value is None:
        return None
    row = (found.get("condition", "released condition"), decimal(value, error), changed(change, change_error))
    note = f"{likelihood.note} ± is one standard error over {found.get('seeds', 'the')} seeds."
    header = ("condition", likelihood.short, "against unmasked training")
    return Table("Utility on held-out records", header, [row], note)


def _suitability(found: Json) -> Table | None:
    if "decision" not in found:
        return None
    rows = [("AUROC of private against other tokens", decimal(found.get("auroc")))]
    rows += [
        (name, count(found[key]))
        for name, key in (
            ("private tokens", "target_tokens"),
            ("other tokens", "other_tokens"),
            ("independent identities or documents", "independent_units"),
        )
        if found.get(key) is not None
    ]
    note = f"Verdict: {found['decision']}. {found.get('reason', '')}".strip()
    return Table("Whether the masking rule suits the data", ("", "value"), rows, note)


def _rate(rate: Json) -> tuple[str, str]:
    """Count and share, with the interval where the rate is an estimate."""
    told = percent(share(rate))
    if rate.get("low") is not None:
        told += f" [{100 * rate['low']:.1f}, {100 * rate['high']:.1f}]"
    return f"{count(rate['k'])} of {count(rate['n'])}", told


def _estimate(rate: Json) -> str:
    counted, told = _rate(rate)
    return f"{told} ({counted})"


# ---- checks --------------------------------------------------------------------------------------------


def findings(facts: Facts) -> list[Finding]:
    """What the checks found, what is alarming first."""
    found = [_finding(check) for check in (facts.checks or {}).get("checks", [])]
    order = ("FAILS", "NOT MEASURED", "WAIVED", "warns", "not measured", "passes", "does not apply")
    return sorted(found, key=lambda each: order.index(each.word))


def verdict(facts: Facts) -> str:
    """All checks in a sentence."""
    if facts.checks is None:
        return "The checks have not run."
    words = [finding.word for finding in findings(facts)]
    failing, waived = words.count("FAILS") + words.count("NOT MEASURED"), words.count("WAIVED")
    stops = "stops" if failing == 1 else "stop"
    waivers = f" {_checks(waived)} failed and {'was' if waived == 1 else 'were'} waived." if waived else ""
    if failing:
        return f"This release may not be published: {_checks(failing)} {stops} it.{waivers}"
    return f"Every check that could stop this release passes{' or was waived' if waived else ''}.{waivers}"


def _checks(number: int) -> str:
    return f"{number} check{'' if number == 1 else 's'}"


def _finding(check: Json) -> Finding:
    status, blocks, waived = check["status"], check["severity"] == "block", check.get("waived")
    sentence = check["sentence"]
    if waived and status in ("fail", "unmeasured"):
        word, sentence = "WAIVED", f"{sentence} Waived by {waived['by']}: {waived['reason']}"
    elif status in ("fail", "unmeasured"):
        words = {"fail": ("warns", "FAILS"), "unmeasured": ("not measured", "NOT MEASURED")}
        word = words[status][blocks]
    else:
        word = {"pass": "passes", "not applicable": "does not apply"}[status]
    numbers = ", ".join(f"{name.replace('_', ' ')} {_number(value)}" for name, value in flat(check["measured"]).items())
    return Finding(check["name"], word, word.isupper(), sentence, numbers)


def _number(value: Any) -> str:
    if isinstance(value, bool) or value is None:
        return {True: "yes", False: "no", None: DASH}[value]
    return count(value) if isinstance(value, int) else f"{value:.4g}" if isinstance(value, float) else str(value)


# ---- what people say, sources and files ----------------------------------------------------------------


def said(facts: Facts) -> list[tuple[str, list[str]]]:
    """What people say of the release beyond numbers: pairs of a heading and sentences; then what they left unsaid."""
    about = facts.about
    parts = [
        ("Intended use", list(about.intended_use)),
        ("Not for", list(about.not_for)),
        ("Known limits", list(about.limits)),
        ("Biases", list(about.biases)),
        ("Private information in the sources", list(about.personal)),
        ("Collection", [about.collection] if about.collection else []),
        ("Labels", labels(about)),
        ("Maintenance", maintenance(about)),
    ]
    unsaid = [name.lower() for name, told in parts if not told]
    told = [(name, sentences) for name, sentences in parts if sentences]
    return [*told, ("Not stated", [f"{', '.join(unsaid)}."])] if unsaid else told


def labels(about: About) -> list[str]:
    """How private values were labelled, and by whom."""
    annotators = f"Labels are by: {', '.join(about.annotators)}." if about.annotators else None
    return [each for each in (about.annotation, annotators) if each]


def maintenance(about: About) -> list[str]:
    """How errors are corrected, by whom, and where to tell of them."""
    maintainers = f"Maintained by: {', '.join(about.maintainers)}." if about.maintainers else None
    contact = f"Contact: {about.contact}" if about.contact else None
    return [each for each in (about.maintenance, maintainers, contact) if each]


def source_rows(facts: Facts) -> list[tuple[str, str, str]]:
    """Name, licence and address of every source."""
    return [(source.name, source.licence or "not stated", source.url or DASH) for source in facts.about.sources]


def file_rows(facts: Facts) -> list[tuple[str, str, str, str]]:
    """Path, records, bytes and SHA-256 of every shard."""
    return [(shard["path"], count(shard["rows"]), count(shard["size"]), shard["sha256"]) for shard in facts.shards]


def builder(facts: Facts) -> str:
    """The key that signed the manifest."""
    return f"The builder's public key (Ed25519): {facts.manifest['builder']['public']}"


def conditions_of_publication(facts: Facts) -> str:
    """Who has to approve, and how long that holds, as the policy has it."""
    approvals = facts.policy.approvals
    roles = f", among them the roles {', '.join(approvals.roles)}" if approvals.roles else ""
    return (
        f"The policy asks for {count(approvals.count)} approvals beside the requester's{roles}. A published release "
        f"expires after {count(facts.policy.release_days)} days. Approvals are signatures on exactly this card, "
        "report, data, checks and policy."
    )


VERIFY = ("sm-ops release verify . --approvers approvers.yaml", "sha256sum data/*")
VERIFY_NOTE = (
    "Run in the folder of the release. The first command checks every file's digest, the builder's signature, the log "
    "and the approvals, and says first whether the release was revoked. Take approvers.yaml (public keys and roles) "
    "from the publisher by another way, never from the release itself. The second prints digests to compare with these:"
)
