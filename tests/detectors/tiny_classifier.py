"""A classifier fitted on the spot to find e-mail addresses, once for all tests of a process."""

from __future__ import annotations

from pathlib import Path

from sm_ops.core.records import Record, Span

SMALL = {"vocab_size": 400, "width": 32, "layers": 2, "heads": 2, "window": 64, "batch_tokens": 256}
_NAMES = ("ann", "ga.sang", "b.kim", "info", "x.y", "sales", "jo", "lee-2")
_FRAMES = ("Please write to {} or call before Friday.", "😀 Mail: {}\n", "e\u0301 from {}, thanks", "{} 님께", "to {}.")
_made: list[Path] = []


def emails(count: int) -> list[Record]:
    """Short texts with an address each."""
    found = []
    for number in range(count):
        address = f"{_NAMES[number % len(_NAMES)]}@example.{('com', 'org')[number % 2]}"
        text = _FRAMES[number % len(_FRAMES)].format(address)
        start = text.index(address)
        span = Span(start, start + len(address), "EMAIL")
        found.append(Record(str(number), text=text, group=str(number % 7), spans=(span,)))
    return found


def tiny_classifier(folder: Path) -> Path:
    """A folder with the fitted classifier: the given one on the first call, that one ever after."""
    from sm_ops.detectors.classifier.fitting import fit

    if not _made:
        fit(emails(80), folder, {**SMALL, "epochs": 8})
        _made.append(folder)
    return _made[0]
