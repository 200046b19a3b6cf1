"""Surprise masking on one's own records in three calls: `score`, `calibrate`, `mask`.

    scores = score("validation.jsonl", "gpt2")
    calibration = calibrate("validation.jsonl", scores)
    masked = mask("train.jsonl", score("train.jsonl", "gpt2"), calibration)
    masked.write("masked")

Records are a path (JSONL or Parquet), or `Record` objects. The command line does the same with files.
"""

from sm_ops.surprise.calibration import Calibration, calibrate
from sm_ops.surprise.masking import Masked, mask
from sm_ops.surprise.scores import Scores, score

__all__ = ["Calibration", "Masked", "Scores", "calibrate", "mask", "score"]
