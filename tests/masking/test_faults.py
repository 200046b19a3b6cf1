"""Deliberate faults in windows, rules, propagation, projection, baselines, thresholds, measures and the bound.

Each is one line of `FAULTS`; the published cases and the tests below `CHECKED` must notice it.
"""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path

import pytest
from faulty import Check, Fault, cases_of, checks_in, installed, noticed_by

CHECKED = (
    "masking/test_windows_and_votes.py",
    "masking/test_kernels.py",
    "masking/test_local_rank.py",
    "masking/test_duplicates.py",
    "masking/test_projection.py",
    "masking/test_baselines.py",
    "masking/test_combine.py",
    "masking/test_bound.py",
    "calibration/test_critical_values.py",
    "calibration/test_thresholds.py",
    "metrics/test_measures.py",
    "metrics/test_intervals.py",
    "metrics/test_statistics_and_tasks.py",
    "evaluation/test_units.py",
    "core/test_offsets.py",
    "scoring/test_decoding.py",
)
LATE = (
    "test_complete_procedure_equals_the_rules_word_by_word",
    "test_masked_exactly_when_the_critical_value_reaches_the_threshold",
)
"""What takes seconds is asked last."""
LONG = (  # large inputs, which show speed rather than results
    "test_a_long_chain_is_followed_to_its_end_in_near_linear_time",
    "test_a_million_units_and_576_pairs_take_about_a_second",
    "test_spans_are_drawn_as_often_as_said",
    "test_large_corpora_with_scattered_groups_equal_propagation_group_by_group",
    "test_long_records_and_scattered_groups",
    "test_long_corpora_agree_with_the_mask_across_block_borders",
)

FAULTS = [
    # ---- windows and their scores
    Fault("windows-end-one-early", "masking.kernels", "starts + n <= np", "starts + n < np"),
    Fault("windows-bridge-records", "masking.kernels", "np.repeat(bounds[1:], np.diff(bounds))",
          "np.repeat(bounds[-1], bounds[-1])"),
    Fault("ineligible-tokens-in-windows", "masking.kernels", "eligible & np.isfinite", "np.isfinite"),
    Fault("one-missing-score-is-fine", "masking.kernels", "_sums(usable, n) == n", "_sums(usable, n) >= n - 1"),
    Fault("grid-half-up", "masking.kernels", "np.rint(known * GRID)", "np.floor(known * GRID + 0.5)"),
    Fault("grid-truncated", "masking.kernels", "np.rint(", "np.trunc("),
    Fault("grid-coarser", "masking.kernels", "GRID = 2.0**20", "GRID = 2.0**19"),
    Fault("no-grid", "masking.kernels", "np.rint(scores[position] * GRID)", "scores[position] * GRID", kernels=True),
    Fault("prefix-sums-in-float32", "masking.kernels", "dtype=np.int64)])", "dtype=np.float32)])"),
    Fault("sum-for-mean", "masking.kernels", "[starts] / n / GRID", "[starts] / GRID"),
    Fault("mean-rounded-twice", "masking.kernels", "[starts] / n / GRID", "[starts] * (1 / n) / GRID"),
    Fault("negative-surprise-clamped", "masking.kernels", "np.where(usable, scores, 0.0)",
          "np.where(usable, np.maximum(scores, 0.0), 0.0)"),
    Fault("no-range-check", "masking.kernels", "np.any(np.abs(known) > _LARGEST)", "False"),
    Fault("compiled-windows-through-holes", "masking.kernels", "total = run = 0\n                continue", "continue",
          kernels=True),
    Fault("compiled-windows-bridge-records", "masking.kernels",
          "    for record in range(len(bounds) - 1):\n        total = run = 0",
          "    total = run = 0\n    for record in range(len(bounds) - 1):", kernels=True),
    Fault("compiled-longer-windows", "masking.kernels", "if run > n:", "if run > n + 1:", kernels=True),
    Fault("compiled-no-range-check", "masking.kernels", "in_range = in_range and abs", "in_range = True or abs",
          kernels=True),
    Fault("top-of-runs-from-below", "masking.windows", "[:, -TOP:]", "[:, :TOP]"),
    Fault("top-of-runs-invalid-too", "masking.windows", "scores[valid] = self._top_sums(grid)[valid]",
          "scores[:] = self._top_sums(grid)"),
    Fault("top-two", "masking.windows", "TOP = 3", "TOP = 2"),
    Fault("top-four", "masking.windows", "TOP = 3", "TOP = 4"),
    Fault("bottom-three", "masking.windows", "np.lexsort((-values, window))", "np.lexsort((values, window))"),
    Fault("intervals-take-neighbours", "masking.windows", "np.maximum(starts, start) < np.minimum(ends, end)",
          "np.maximum(starts, start) <= np.minimum(ends, end)"),
    Fault("ineligible-tokens-in-intervals", "masking.windows", "np.flatnonzero(corpus.eligible[first:stop])",
          "np.arange(stop - first)"),
    Fault("missing-scores-in-intervals", "masking.windows", "(sizes > 0) & (_by", "(sizes > 0) | (_by"),
    Fault("interval-kth-one-late", "masking.windows", "- holding + k - 1", "- holding + k - 2"),
    Fault("surprise-has-the-wrong-sign", "core.tokens", "return -self.logprobs", "return self.logprobs"),
    Fault("contrast-turned-round", "core.tokens", "self.violating - self.logprobs", "self.logprobs - self.violating"),
    Fault("carriage-return-kept",
          "masking.intervals.line", 'piece.removesuffix("\\r") if terminated else piece', "piece"),
    Fault("carriage-return-ends-the-text", "masking.intervals.line", " if terminated else piece", ""),
    Fault("all-line-ends-count", "masking.intervals.line", 'text.split("\\n")', "text.splitlines()"),
    Fault("blank-lines-are-windows", "masking.intervals.line", "if content.strip():", "if True:"),
    Fault("terminator-inside-the-line", "masking.intervals.line", "start + len(content)))", "start + len(piece) + 1))"),
    Fault("closers-dropped", "masking.intervals.sentence", """["'”’)\\]}»」』]*""", ""),
    Fault("a-mark-ends-anywhere", "masking.intervals.sentence", "or text[end].isspace()", "or True"),
    Fault("east-asian-marks-need-a-blank", "masking.intervals.sentence", "not _ENDS_ANYWHERE.isdisjoint(marks)",
          "False"),
    Fault("newline-ends-no-sentence", "masking.intervals.sentence", "marks is None or", "marks is not None and"),
    Fault("pieces-untrimmed", "masking.intervals._pieces", "start + len(piece) - len(piece.lstrip())", "start"),
    # ---- selection and votes
    Fault("equal-to-the-threshold-is-kept", "masking.rules.global_", "scores >= tau", "scores > tau"),
    Fault("local-equality-selects", "masking.rules.local", "< r_max", "<= r_max"),
    Fault("local-threshold-is-the-rank", "masking.rules.local", "np.nextafter(np.negative(level), np.inf)",
          "np.negative(level)"),
    Fault("local-levels-rise-with-the-rank", "masking.rules.local", "return -local_rank", "return local_rank"),
    Fault("ties-do-not-protect", "masking.local_rank", "(one <= other)", "(one < other)"),
    Fault("earlier-ties-do-not-protect", "masking.local_rank", "(other <= one)", "(other < one)"),
    Fault("rank-turned-round", "masking.local_rank", "one <= other", "one >= other"),
    Fault("neighbours-31", "masking.local_rank", "reach = min(radius,", "reach = min(radius - 1,"),
    Fault("neighbours-33", "masking.local_rank", "reach = min(radius,", "reach = min(radius + 1,"),
    Fault("neighbours-of-other-records", "masking.local_rank",
          "np.repeat(reach * np.arange(1, len(lengths) + 1), lengths)",
          "reach"),
    Fault("rank-as-a-share", "masking.local_rank", "100.0 * at_least", "1.0 * at_least"),
    Fault("own-neighbour", "masking.local_rank", "before[places - reach] - 1", "before[places - reach]"),
    Fault("invalid-neighbours-count", "masking.local_rank", "np.cumsum(valid)", "np.cumsum(valid | True)"),
    Fault("votes-off-by-one", "masking.procedure", ">= rule.k", "> rule.k"),
    Fault("consensus-ignored", "masking.procedure", ">= rule.k", ">= 1"),
    Fault("votes-of-shorter-windows", "masking.consensus", "change[n:] -= selected",
          "change[n - 1 : len(selected) + n - 1] -= selected"),
    Fault("compiled-votes-of-longer-windows", "masking.consensus", "if position >= n:",
          "if position > n:", kernels=True),
    Fault("compiled-kth-one-late", "masking.consensus", "= holding[n - k]",
          "= holding[max(n - k - 1, 0)]", kernels=True),
    Fault("critical-value-by-union", "masking.consensus", "axis=0)[n - k]", "axis=0).max(axis=0)"),
    Fault("invalid-windows-count-as-0", "calibration.critical", "np.where(np.isnan(levels), -np.inf, levels)",
          "np.nan_to_num(levels)"),
    # ---- propagation
    Fault("propagation-once", "masking.duplicates",
          "source[other] = start\n                            queue[tail] = other\n"
          "                            tail += 1", "source[other] = start"),
    Fault("propagation-never", "masking.duplicates", "missing[name] = -1  # hot", "continue"),
    Fault("scope-of-groups-ignored", "masking.duplicates", "return corpus.groups", "return 0 * corpus.groups"),
    Fault("record-scope-ignored", "masking.duplicates", '(scope == "record")', '(scope == "recrod")'),
    Fault("no-group-is-one-group", "masking.corpus", "(index, None) if group", "(0, None) if group"),
    Fault("ineligible-positions-masked", "masking.duplicates", "corpus.eligible.copy()", "np.ones(len(corpus), bool)"),
    Fault("propagates-ineligible-marks", "masking.duplicates", "reached = mask & corpus.eligible",
          "reached = mask.copy()"),
    Fault("sequences-by-hash-alone", "masking.duplicates", "while same < n and ids[place + same] == ids[start + same]:",
          "while same < n:", kernels=True),
    Fault("sequences-bridge-records", "masking.duplicates", "end = bounds[order[number] + 1] - n + 1",
          "end = min(bounds[order[number] + 1], len(ids) - n + 1)", kernels=True),
    Fault("hash-of-what-left", "masking.duplicates", "ids[start] % _PRIME * leaving",
          "ids[start] % _PRIME", kernels=True),
    Fault("shorter-sequences-are-hot", "masking.duplicates", "np.full(len(corpus), n, index)",
          "np.full(len(corpus), max(n - 1, 1), index)"),
    Fault("values-from-below", "masking.duplicates", "np.argsort(-reached[seeds])", "np.argsort(reached[seeds])"),
    Fault("threshold-of-the-place-kept", "masking.duplicates", "reached[other] = value",
          "reached[other] = reached[other]"),
    # ---- projection, targets, labels
    Fault("zero-length-tokens-give", "masking.projection", "some = selected_ends > selected_starts",
          "some = selected_ends >= selected_starts"),
    Fault("zero-length-tokens-receive", "masking.projection", "> starts) & (ends > starts)", "> starts)"),
    Fault("touching-is-sharing", "masking.projection", "(reach[begun - 1] > starts)", "(reach[begun - 1] >= starts)"),
    Fault("touching-behind-is-sharing", "masking.projection", "np.searchsorted(first, ends)",
          'np.searchsorted(first, ends, "right")'),
    Fault("compiled-touching-is-sharing", "masking.projection", "first[begun] < ends[number]",
          "first[begun] <= ends[number]",
          kernels=True),
    Fault("the-last-reach-counts", "masking.projection", "np.maximum.accumulate(last)", "last"),
    Fault("unsorted-selection", "masking.projection", "np.any(first[1:] < first[:-1])", "False"),
    Fault("empty-intervals-get-values", "masking.projection", "some = ends > starts\n", "some = ends >= starts\n"),
    Fault("ineligible-downstream-masked", "masking.procedure", "touched & downstream.eligible", "touched"),
    Fault("ineligible-downstream-valued", "calibration.critical", "np.where(downstream.eligible, largest, -np.inf)",
          "largest"),
    Fault("ineligible-targets", "masking.targets", " & tokens.eligible", ""),
    Fault("masked-tokens-are-learned", "masking.labels", "supervised & ~mask", "supervised"),
    Fault("labels-are-0", "masking.labels", "IGNORED = -100", "IGNORED = 0"),
    # ---- baselines
    Fault("mixer-increment", "masking.baselines._mixer", "0x9E3779B97F4A7C15", "0x9E3779B97F4A7C16"),
    Fault("mixer-multiplier", "masking.baselines._mixer", "0x94D049BB133111EB", "0x94D049BB133111ED"),
    Fault("mixer-shift", "masking.baselines._mixer", "np.uint64(27)", "np.uint64(28)"),
    Fault("random-ties-by-order", "masking.baselines.random", "key=lambda index: records[index].id.encode()",
          "key=lambda index: index"),
    Fault("random-bytes-reversed", "masking.baselines.random", '"<u8"', '">u8"'),
    Fault("random-unseeded", "masking.baselines.random", "seeded(seed) ^", "seeded(0) ^"),
    Fault("random-without-records", "masking.baselines.random", "record_id.encode()", "b''"),
    Fault("random-largest-keys", "masking.baselines.random", "    chosen = np.zeros(len(keys)",
          "    keys = ~keys\n    chosen = np.zeros(len(keys)"),
    Fault("random-budget-off-by-one", "masking.baselines.random", "- np.count_nonzero(chosen)]",
          "- np.count_nonzero(chosen) - 1]"),
    Fault("random-over-ineligible", "masking.baselines.random", "np.flatnonzero(own.eligible)", "np.arange(len(own))"),
    Fault("random-budget-unchecked", "masking.baselines.random", "if not 0 <= budget <= len(keys):", "if False:"),
    Fault("goldfish-sees-the-token", "masking.baselines.goldfish", ": starts[position]])", ": own.ends[position]])"),
    Fault("goldfish-shorter-context", "masking.baselines.goldfish", "position - h)] :", "position - h + 1)] :"),
    Fault("goldfish-masks-the-first", "masking.baselines.goldfish", "position >= k", "position >= 0"),
    Fault("goldfish-counts-eligible-only", "masking.baselines.goldfish", "if position >= k",
          "if own.eligible[:position].sum() >= k"),
    Fault("goldfish-composes-only", "masking.baselines.goldfish", '"NFKC"', '"NFC"'),
    Fault("goldfish-keeps-soft-hyphens", "masking.baselines.goldfish", '.replace("\\u00ad", "")', ""),
    Fault("goldfish-unstripped", "masking.baselines.goldfish", '" ".join(unicodedata', '" " + " ".join(unicodedata'),
    Fault("goldfish-unseeded", "masking.baselines.goldfish", ", key=key", ""),
    Fault("goldfish-bytes-reversed", "masking.baselines.goldfish", 'int.from_bytes(digest, "little")',
          'int.from_bytes(digest, "big")'),
    Fault("goldfish-too-seldom", "masking.baselines.goldfish", "2**64 // k", "2**64 // (k + 1)"),
    Fault("goldfish-ids-unshifted", "masking.baselines.goldfish", "+ np.uint64(1)", "+ np.uint64(0)"),
    Fault("goldfish-newest-id-first", "masking.baselines.goldfish", "range(min(h, len(own) - 1), 0, -1)",
          "range(1, min(h, len(own) - 1) + 1)"),
    Fault("budget-of-another-point", "masking.baselines", "surprise_at(target)", "surprise_at(0.5)"),
    # ---- thresholds
    Fault("recall-must-exceed", "calibration.thresholds", "steps.coverage >= target", "steps.coverage > target"),
    Fault("recall-smallest-threshold", "calibration.thresholds", "steps.tau[reached[0]]", "steps.tau[reached[-1]]"),
    Fault("f1-ties-to-the-smallest", "calibration.thresholds", "int(np.argmax(f1))",
          "len(f1) - 1 - int(np.argmax(f1[::-1]))"),
    Fault("f1-without-misses", "calibration.thresholds", "steps.predicted + steps.targets, 1",
          "2 * steps.predicted, 1"),
    Fault("never-is-a-threshold", "calibration.thresholds", "critical > -np.inf", "critical >= -np.inf"),
    Fault("other-categories-are-negatives", "calibration.thresholds", "own | ~gold", "own | True"),
    Fault("absent-category-unmasked", "calibration.thresholds", "tau=pooled.tau", "tau=None"),
    Fault("collateral-of-all-tokens", "calibration.thresholds", "/ ((steps.total - steps.targets) or np.nan)",
          "/ (steps.total or np.nan)"),
    # ---- measures
    Fault("auroc-ties-are-wins", "metrics.ranking", "2 * np.cumsum(counts) - counts", "2 * np.cumsum(counts)"),
    Fault("auroc-turned-round", "metrics.ranking", "np.unique(scores", "np.unique(-scores"),
    Fault("auroc-of-one-class-is-0", "metrics.ranking", "return None", "return 0.0"),
    Fault("true-negatives-off", "metrics.counts", "tn=total - masked - targets + tp", "tn=total - masked + tp"),
    Fault("undefined-rates-are-0", "metrics.counts", "if denominator else None", "if denominator else 0.0"),
    Fault("f1-is-precision", "metrics.counts", "2 * self.tp + self.fp + self.fn", "2 * self.tp + 2 * self.fp"),
    Fault("collateral-of-everything", "metrics.counts", "self.fp + self.tn", "self.fp + self.tn + self.tp + self.fn"),
    Fault("overlapping-categories-left-out", "metrics.counts", "view = own | ~other", "view = ~other"),
    Fault("family-view-of-all-documents", "metrics.counts", "if documents is None", "if True"),
    Fault("interval-one-sided", "metrics.intervals", "tail = (1 - confidence) / 2", "tail = 1 - confidence"),
    Fault("bound-two-sided", "metrics.intervals", "_quantile(1 - confidence, k, n)",
          "_quantile((1 - confidence) / 2, k, n)"),
    Fault("tail-of-one-more-trial", "metrics.intervals", "n - k + 1", "n - k + 2"),
    Fault("hits-needed-must-exceed", "metrics.intervals", "(lower_bound(middle, n, confidence) or 0.0) >= rate",
          "(lower_bound(middle - 1, n, confidence) or 0.0) >= rate"),
    Fault("wilson-without-correction", "metrics.intervals", "z * z / (4 * n * n)", "0.0"),
    Fault("population-standard-error", "metrics.intervals", "ddof=1", "ddof=0"),
    Fault("clusters-ignored", "metrics.intervals", "np.unique(np.asarray(clusters), return_inverse=True)",
          "(None, np.arange(n))"),
    Fault("correlation-of-a-constant-is-0", "metrics.statistics", "        return None", "        return 0.0"),
    Fault("correlation-uncentred", "metrics.statistics", "values - values.mean()", "values - 0.0"),
    Fault("sample-deviation", "metrics.statistics", "known.std()", "known.std(ddof=1)"),
    Fault("features-summed", "metrics.statistics", "np.mean(rows", "np.sum(rows"),
    Fault("pass-needs-all", "metrics.tasks", "sum(map(any", "sum(map(all"),
    Fault("empty-quirks-skipped", "metrics.tasks", "if empty:", "if False:"),
    Fault("completions-pooled", "metrics.tasks", "float(np.mean(means)) if means",
          "-sum(logprob_sums) / sum(tokens) if means"),
    Fault("cached-input-paid-twice", "metrics.tasks", "(input_tokens - cached_tokens)", "input_tokens"),
    Fault("dollars-per-thousand", "metrics.tasks", "1e6 *", "1e3 *"),
    Fault("lines-by-touching", "evaluation.units", "overlap(*lines.T, *masked.T)",
          "overlap(lines[:, 0], lines[:, 1] + 1, *masked.T)"),
    Fault("bytes-cut-characters", "core.offsets", 'side="right") - 1', 'side="left")'),
    Fault("three-byte-characters", "core.offsets", "(points >= 0x800)", "(points >= 0x900) * 0"),
    # ---- combinations and the bound
    Fault("union-is-either-or", "masking.combine", "return surprise | other", "return surprise ^ other"),
    Fault("residual-of-the-other", "masking.combine", "return surprise & ~other", "return other & ~surprise"),
    Fault("jaccard-of-nothing-is-0", "masking.combine", "/ either if either else None", "/ max(either, 1)"),
    Fault("joint-ties-to-the-smallest", "masking.combine", "int(f1.size - 1 - np.argmax(f1.ravel()[::-1]))",
          "int(np.argmax(f1))"),
    Fault("joint-above-the-threshold", "masking.combine", 'np.searchsorted(surprise_grid, surprise, "right")',
          'np.searchsorted(surprise_grid, surprise, "left")'),
    Fault("joint-intersection-is-union", "masking.combine", 'if combination == "union" else', "if True else"),
    Fault("bound-rounds-down", "masking.bound", "-(-m // n)", "(m // n)"),
    Fault("bound-of-short-spans", "masking.bound", "if m < n:", "if False:"),
    Fault("bound-of-one-token", "masking.bound", "reach = n * tau *", "reach = tau *"),
    Fault("bound-for-consensus", "masking.bound", "elif rule.k > 1:", "elif rule.k > 99:"),
    Fault("bound-beside-truncation", "masking.bound", "or top_k > 0 or top_p < 1", ""),
    Fault("bound-where-a-window-is-selected", "masking.bound", ">= n * threshold for", "> n * threshold for"),
    Fault("bound-of-masked-targets", "masking.bound", "if mask[own].any():", "if mask[own].all():"),
    Fault("top-k-drops-ties", "scoring.decoding", "levels >= last", "levels > last"),
    Fault("nucleus-one-short", "scoring.decoding", "mass >= last", "mass > last"),
    Fault("temperature-multiplied", "scoring.decoding", "levels / temperature", "levels * temperature"),
    Fault("one-maximum-takes-all", "scoring.decoding", "np.where(levels == 0, 0.0, -np.inf)",
          "np.where(np.arange(size) == levels.argmax(axis=1)[:, None], 0.0, -np.inf)"),
]  # fmt: skip


@pytest.fixture(scope="module")
def checks(shared: Path) -> list[Check]:
    """All that must notice faults: the published cases, then the tests."""
    tests = [check for path in CHECKED for check in checks_in(path, without=LONG)]
    return cases_of(shared / "cases" / "masking", "sm.") + sorted(tests, key=lambda check: check[0].endswith(LATE))


@pytest.mark.unit
def test_there_are_enough_faults_with_different_names():
    assert len({fault.name for fault in FAULTS}) == len(FAULTS) >= 60


@pytest.mark.slow
def test_code_that_is_replaced_by_itself_is_not_noticed(checks):
    with ExitStack() as stack:
        for module in sorted({fault.module for fault in FAULTS}):
            stack.enter_context(installed(Fault("none", module, "import", "import")))
        assert noticed_by(checks) is None


@pytest.mark.slow
@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.name)
def test_fault_is_noticed(fault, checks):
    with installed(fault):
        assert noticed_by(checks, fault.module) is not None


@pytest.mark.unit
def test_every_fault_still_changes_the_code():
    for fault in FAULTS:
        with installed(fault):
            pass


@pytest.mark.unit
@pytest.mark.parametrize("fault", FAULTS[::20], ids=lambda fault: fault.name)
def test_fault_of_a_sample_is_noticed(fault, checks):
    with installed(fault):
        assert noticed_by(checks, fault.module) is not None
