"""Licence and sources are complete: what may be done with the data, and where it comes from."""

from __future__ import annotations

from sm_ops.core.settings import Settings
from sm_ops.release.checking import Bundle, Outcome, count
from sm_ops.release.folder import CONFIG

_NO_LICENCE = ("", "none", "noassertion", "unknown", "tbd", "todo")


def run(bundle: Bundle, settings: Settings) -> Outcome:
    """The licence of the release, and name and licence of each of its sources, from what was said when it was built."""
    about = (bundle.json(CONFIG) or {}).get("about")
    if not isinstance(about, dict):
        return Outcome("unmeasured", f"{CONFIG} does not say what this data is; build it with its about file.")
    sources = [each for each in about.get("sources") or () if isinstance(each, dict)]
    missing = [] if _says(about.get("licence")) else ["the licence of the release"]
    missing += [] if sources else ["its sources"]
    for number, source in enumerate(sources, start=1):
        missing += [] if str(source.get("name") or "").strip() else [f"the name of source {number}"]
        missing += [] if _says(source.get("licence")) else [f"the licence of source {number}"]
    measured = {"sources": len(sources), "missing": len(missing)}
    if missing:
        return Outcome("fail", f"Missing: {', '.join(missing)}.", measured)
    told = f"The release has a licence, and so has {'its source' if len(sources) == 1 else 'each of its'}"
    told += "" if len(sources) == 1 else f" {count(len(sources), 'source')}"
    return Outcome("pass", f"{told}.", measured)


def _says(licence: object) -> bool:
    return isinstance(licence, str) and licence.strip().lower() not in _NO_LICENCE
