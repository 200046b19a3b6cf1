"""Personal data in Korean and English text: what extractors name is masked reversibly, and judged.

The rules R1 to R31 are said in the modules that keep them: `text` and `types` (what is compared), `rows` (what an
extractor wrote), `matching` (where values stand), `replacement` (masking and restoring), `evaluation`. `known`
masks with up to 1e5 values at once, with the same result.
"""

from sm_ops.core.errors import InputError
from sm_ops.pii.evaluation import evaluate
from sm_ops.pii.replacement import Masked, mask, restore
from sm_ops.pii.rows import accept, parse_flag, parse_rows
from sm_ops.pii.text import normalise_source
from sm_ops.pii.types import TYPES

__all__ = [
    "TYPES",
    "InputError",
    "Masked",
    "accept",
    "evaluate",
    "mask",
    "normalise_source",
    "parse_flag",
    "parse_rows",
    "restore",
]
