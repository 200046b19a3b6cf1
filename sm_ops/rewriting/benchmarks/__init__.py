"""The two benchmarks of rewriting (paper A.6), a module each with the same functions, over the same records.

`read(path, settings)` yields records of the published format, `generate(seed, settings)` makes the synthetic sets of
both sides, `goal(record)` tells a rewriter what has to go, `question(record, text)` asks the attacker or the judge
about a text, and `outcome(record, answer, ...)` turns the answer into counts. `SETTING` is the benchmark's name in
panels, `EVALUATOR` the role that is asked, `AGGREGATE` how a sentence's token scores are put together (D.5).
"""

from __future__ import annotations

from types import ModuleType

from sm_ops.rewriting.benchmarks import rat, redac

BENCHMARKS: dict[str, ModuleType] = {"rat": rat, "redac": redac}
