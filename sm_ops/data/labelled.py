"""A labelled corpus as sanitization needs it: sides to choose thresholds on and to clean, and what is known of it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from sm_ops.core import registry
from sm_ops.core.errors import InputError
from sm_ops.core.records import Record
from sm_ops.core.settings import Settings
from sm_ops.data import folds
from sm_ops.data.corpora._recognise import AUTO, recognise
from sm_ops.data.families import FamilyOf, known, load

GENERATED = "code_pii"
"""What `auto` stands for where no file is named."""
PUBLIC_CHARS = 400_000


class Again:
    """Records that can be gone through again and again, read anew each time."""

    def __init__(self, read: Callable[[], Iterable[Record]]) -> None:
        self._read = read

    def __iter__(self) -> Iterator[Record]:
        return iter(self._read())


@dataclass(frozen=True, slots=True)
class Sides:
    """Where thresholds are chosen, and what is cleaned with them."""

    validation: list[Record]
    application: Iterable[Record]


@dataclass(frozen=True, slots=True)
class LabelledCorpus:
    """A corpus whose sides can be read, fold by fold.

    `rule` names the paper's rule for it (`masking.published.RULES`; None: it has none), `setting` is the paper's
    setting or else the corpus itself, `regimes` names its parts for the transfer of thresholds, `family_of` gives a
    category's family (None: there are no families). `public` is text of its kind for fitted references, which shares no
    file with generated programs; prose has none.
    """

    name: str
    setting: str
    rule: str | None
    regimes: tuple[str, ...]
    family_of: FamilyOf | None
    folds: list[Sides]
    public: Iterable[Record]

    def families(self, categories: Iterable[str]) -> dict[str, str] | None:
        """The family of each category; None where there are no families."""
        if self.family_of is None:
            return None
        return {name: family for name in sorted(set(categories)) if (family := self.family_of(name)) is not None}


def open_corpus(
    name: str,
    validation: str | None = None,
    records: str | None = None,
    settings: Mapping[str, Any] = {},
    families: str | None = None,
    divisions: int | None = None,
    seed: int = 0,
    public_chars: int | None = None,
) -> LabelledCorpus:
    """Open a corpus by name (`auto`: recognised file by file) with two files, one file in folds, or generated sides.

    `divisions` says how many folds one labelled file is cut into (by `seed`); `settings` are the reader's; `families`
    is a map file or a shipped map's name (None: that of the corpus, if it has one); `public_chars` is the size of the
    public text (None: 400,000 where the corpus is code). Validation is read at once, the application side anew each
    time that one goes through it.

    Raises `InputError` for files that no reader takes, a validation side without a target, a corpus that needs files
    but has none, and, while one goes through a side, for a bad record and for a label without a family.
    """
    wanted = name if name != AUTO else GENERATED if validation is None else recognise(validation)
    module = registry.load("corpus", wanted)
    map_of = families or getattr(module, "FAMILIES", None)
    family_of = None if map_of is None else load(map_of)

    def read(corpus: str, file: str | None, own: Mapping[str, Any]) -> Iterator[Record]:
        found = iter(registry.load("corpus", corpus).read(file, own))
        return found if family_of is None else known(found, family_of)

    if validation is None:
        generated = _generated(module, wanted)
        first = list(read(wanted, None, {**generated["validation"], **settings}))
        sides = [Sides(first, Again(lambda: read(wanted, None, {**generated["records"], **settings})))]
        public = Again(lambda: registry.load("corpus", wanted).read(None, {**generated["reference"], **settings}))
    else:
        first = list(read(wanted, validation, settings))
        if divisions is not None:
            sides = [Sides(each.validation, each.application) for each in folds.folds(first, divisions, seed)]
        else:
            sides = [Sides(first, _other_side(records, name, wanted, settings, read))]
        chars = PUBLIC_CHARS * getattr(module, "CODE", False) if public_chars is None else public_chars
        public = Again(lambda: _public(chars, seed))
    if not any(record.spans for record in first):
        what = f"The corpus {wanted!r}" if validation is None else f"{validation}, read as {wanted!r},"
        raise InputError("no-targets", f"{what} labels no target, so no threshold can be chosen on it; label some.")
    return LabelledCorpus(
        wanted,
        getattr(module, "SETTING", wanted),
        getattr(module, "RULE", None),
        getattr(module, "REGIMES", ()),
        family_of,
        sides,
        public,
    )


class Tally:
    """Counts of the records of a side while they pass."""

    def __init__(self) -> None:
        self._counts: Counter[str] = Counter()
        self._groups: set[str] = set()
        self.categories: Counter[str] = Counter()
        self._anchors: dict[str, Counter[str]] = {}

    def through(self, records: Iterable[Record]) -> Iterator[Record]:
        """The records as they are."""
        for record in records:
            unclear = len(record.meta.get("left_out", []))
            own = {"records": 1, "characters": len(record.content), "targets": len(record.spans), "left_out": unclear}
            self._counts.update(own)
            self._groups.add(f"record {record.id}" if record.group is None else f"group {record.group}")
            self.categories.update(span.label for span in record.spans)
            for category, anchors in record.meta.get("anchors", {}).items():
                self._anchors.setdefault(category, Counter()).update(anchors)
            yield record

    @property
    def told(self) -> dict[str, Any]:
        """`records`, `groups`, `characters`, `targets`, `left_out`, targets by category, and the anchors of CredData.

        `anchors` (None for other corpora) counts true, false and ambiguous strings of each category.
        """
        names = ("records", "characters", "targets", "left_out")
        return {name: self._counts[name] for name in names} | {
            "groups": len(self._groups),
            "categories": dict(sorted(self.categories.items())),
            "anchors": {name: dict(own) for name, own in sorted(self._anchors.items())} or None,
        }


def _generated(module: Any, name: str) -> dict[str, dict[str, Any]]:
    if not hasattr(module, "SIDES"):
        raise InputError("no-path", f"The corpus {name!r} reads files; name a labelled one as validation.")
    return module.SIDES


def _other_side(
    file: str | None, given: str, first: str, settings: Mapping[str, Any], read: Callable[..., Iterator[Record]]
) -> Again:
    """The application side: with `auto` it may have another layout, as when it has no labels."""
    if file is None:
        raise InputError("no-path", "Validation alone is cut into folds; say how many, or name records to clean.")
    own = given if given != AUTO else recognise(file)
    return Again(lambda: read(own, file, settings if own == first else {}))


def _public(characters: int, seed: int) -> list[Record]:
    """Modules of this Python's standard library."""
    from sm_ops.data.datasets.code_pii import public_code

    return public_code(Settings({"hosts": None}), seed, characters, set(), set()) if characters else []
