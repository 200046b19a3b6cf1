"""Masking 5 MB of text with 100 to 100,000 known values, beside regex alternations and Presidio's anonymizer.

Run with `python benchmarks/pii.py` (about three minutes). Goal: the scan takes as long whatever the number of values,
within 2x. One regex is compiled from the values as they are given, longest first: it finds no spaced names and no
other separators; the other one finds those too, as ours does (R10 to R13). Presidio is given our spans and only
replaces them. What is too slow for the whole text is measured on a part of it, and rates are compared.
"""

from __future__ import annotations

import json
import logging
import os
import random
import re
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from sm_ops.pii.known import KnownValues
from sm_ops.pii.matching import NAME_GAPS, SEPARATORS, name_characters, number_digits

SIZES = (100, 1_000, 10_000, 100_000)
MEGABYTES = 5
PLANTED = 20_000
ROUNDS = 3
SECONDS = 5.0
LARGEST_WITH_VARIANTS = 1_000
"""Beyond, compiling takes minutes."""
PUBLIC = Path(__file__).resolve().parents[2] / "shared" / "data"
SURNAMES = "김이박최정강조윤장임한오서신권황안송전홍"
GIVEN = [chr(0xAC00 + 28 * number) for number in range(0, 399, 3)]


def values_of(count: int) -> list[tuple[str, str]]:
    """Distinct values, four names in ten; a larger set holds the smaller ones."""
    rng = random.Random(7)
    known: dict[tuple[str, str], None] = {}
    while len(known) < count:
        number = len(known)
        kind = number % 10
        if kind < 4:
            value = ("PERSON", rng.choice(SURNAMES) + "".join(rng.choices(GIVEN, k=2)))
        elif kind < 6:
            value = ("PHONE", f"010-{rng.randrange(2_000):04}-{rng.randrange(10_000):04}")
        elif kind < 7:
            value = ("ACCOUNT", f"000-{rng.randrange(100):02}-{rng.randrange(1_000_000):06}")
        elif kind < 8:
            value = ("EMAIL", f"{rng.choice(('kim', 'lee', 'park'))}.{number}@mail{number % 97}.example")
        elif kind < 9:
            value = ("ADDRESS", f"가상시 견본구 시험로 {number}")
        else:
            value = ("PERSON", f"Name{number} Sample")
        known[value] = None
    return list(known)


def public_words() -> tuple[str, list[str]]:
    """Real Korean and English words where the public text lies beside the repository, else made ones."""
    paths = sorted((PUBLIC / "public_text_ko").glob("*.jsonl")) + sorted((PUBLIC / "public_text_en").glob("*.jsonl"))
    words = [word for path in paths for text in texts_in(path) for word in text.split()]
    if words:
        return "public Korean and English text, its sentences in turn", words
    rng = random.Random(3)
    syllables = [chr(0xAC00 + number) for number in range(0, 11_172, 9)]
    return "made syllables", ["".join(rng.choices(syllables, k=rng.randint(1, 6))) for _ in range(200_000)]


def texts_in(path: Path) -> Iterator[str]:
    with open(path, encoding="utf-8", newline="") as lines:
        for line in lines:
            yield json.loads(line)["text"]


def text_of(words: list[str], values: list[tuple[str, str]]) -> str:
    """Five megabytes of the words, in which as many places, whatever the number of values, hold one of them."""
    rng = random.Random(11)
    pieces, size, number, step = [], 0, 0, MEGABYTES * 1_000_000 / PLANTED
    planted = 0
    while size < MEGABYTES * 1_000_000:
        if size >= planted * step:
            piece, planted = rng.choice(values)[1], planted + 1
        else:
            piece, number = words[number % len(words)], number + 1
        pieces.append(piece)
        size += len(piece.encode()) + 1
    return " ".join(pieces)


def taken(work: Callable[[], object], rounds: int = ROUNDS) -> float:
    """CPU seconds, the best of some rounds."""
    best = float("inf")
    for _ in range(rounds):
        began = time.process_time()
        work()
        best = min(best, time.process_time() - began)
    return best


def rate_on_a_part(text: str, work: Callable[[str], object]) -> tuple[float, float]:
    """Megabytes in a CPU second, and the megabytes that were tried: twice as many while a try is short."""
    length = 2_000
    while True:
        part = text[:length]
        seconds = taken(lambda part=part: work(part), rounds=1)
        if seconds > SECONDS / 2 or length >= len(text):
            size = len(part.encode()) / 1e6
            return size / seconds, size
        length *= 2


def literals(values: list[tuple[str, str]]) -> re.Pattern[str]:
    """The values as they are, longest first."""
    return re.compile("|".join(re.escape(value) for _, value in sorted(values, key=lambda each: -len(each[1]))))


def with_variants(values: list[tuple[str, str]]) -> re.Pattern[str]:
    """The values and all that ours finds for them: one gap throughout a name, up to three separators in a number."""
    separators = f"[{re.escape(''.join(sorted(SEPARATORS)))}]{{0,3}}"
    spellings = {}
    for type_, value in sorted(values, key=lambda each: -len(each[1])):
        spellings[re.escape(value)] = None
        if characters := name_characters(type_, value):
            spellings |= {re.escape(gap.join(characters)): None for gap in NAME_GAPS}
        if digits := number_digits(type_, value):
            spellings[rf"(?<!\d){separators.join(digits)}(?!\d)"] = None
    return re.compile("|".join(spellings))


def presidio() -> Callable[[str, list[tuple[int, int, str]]], object]:
    """Its anonymizer, which is told where the values are."""
    logging.disable(logging.WARNING)
    from presidio_anonymizer import AnonymizerEngine
    from presidio_anonymizer.entities import OperatorConfig, RecognizerResult

    engine = AnonymizerEngine()
    operators = {"DEFAULT": OperatorConfig("replace")}

    def anonymize(text: str, spans: list[tuple[int, int, str]]) -> object:
        given = [RecognizerResult(token[1:].split("_")[0], start, end, 1.0) for start, end, token in spans]
        return engine.anonymize(text, given, operators=operators)  # pyright: ignore[reportArgumentType]

    return anonymize


def resident() -> float:
    """Megabytes of memory that this process holds now."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 1e6


def main() -> None:
    kind, words = public_words()
    print(f"text: {kind}; {PLANTED:,} places with a value; CPU seconds of one thread")
    anonymize = presidio()
    scans: dict[int, float] = {}
    for count in SIZES:
        values = values_of(count)
        text = text_of(words, values)
        before, began = resident(), time.process_time()
        known = KnownValues(values)
        built, memory = time.process_time() - began, resident() - before
        got = known.mask(text)
        scans[count] = taken(lambda known=known, text=text: known.mask(text))
        ours = len(text.encode()) / 1e6 / scans[count]

        print(
            f"{count:,} values: built in {built:.2f} s, {memory:.0f} MB; scan {scans[count]:.2f} s, "
            f"{scans[count] / scans[SIZES[0]]:.2f} of the first; {ours:.1f} MB/s; {len(got.spans):,} spans",
            flush=True,
        )

        def anonymized(part: str, spans: list[tuple[int, int, str]] = got.spans) -> object:
            return anonymize(part, [span for span in spans if span[1] <= len(part)])

        compare("Presidio, given the spans", ours, text, anonymized)
        for name, patterns in (("regex", literals), ("regex with variants", with_variants)):
            if patterns is literals or count <= LARGEST_WITH_VARIANTS:
                began = time.process_time()
                pattern = patterns(values)
                name += f", compiled in {time.process_time() - began:.1f} s"
                compare(name, ours, text, lambda part, pattern=pattern: pattern.sub("x", part))


def compare(name: str, ours: float, text: str, work: Callable[[str], object]) -> None:
    rate, size = rate_on_a_part(text, work)
    print(f"    {name}: {rate:.3g} MB/s on {size:.2g} MB; ours / theirs {ours / rate:.3g}", flush=True)


if __name__ == "__main__":
    main()
