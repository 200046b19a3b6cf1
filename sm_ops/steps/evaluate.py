"""evaluate: utility of one trained model as its mean negative log likelihood on held-out clean records."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import torch

from sm_ops.core import fs
from sm_ops.core.errors import InputError
from sm_ops.data.prompts import are_answers, in_context
from sm_ops.scoring.backends.hf import HFReference, fixed_head
from sm_ops.steps._base import base_tokenizer
from sm_ops.steps._models import measured_model
from sm_ops.steps._splits import read_split

if TYPE_CHECKING:
    from sm_ops.core.settings import Settings
    from sm_ops.core.stage import Context, Numbers


def run(settings: Settings, context: Context) -> Numbers:
    """Summed log probability and count of the eligible tokens of every held-out record (B.2; OP-60).

    A text with a prompt (`meta.prompt`) is scored behind it, as a chat's answer is; the prompt's tokens do not count.
    Raises `InputError` for a prompt that is no string, and where no token is left to score.
    """
    evaluate = settings.evaluate
    torch.set_num_threads(evaluate.threads)
    model = measured_model(settings, context, evaluate.device)
    tokenizer = base_tokenizer(settings, context)
    scorer = HFReference(model, tokenizer, fixed_head(tokenizer), evaluate.token_budget)
    records = read_split(context.inputs["utility"])
    read, starts = zip(*in_context(records), strict=True) if records else ((), ())
    sums, counts = [], []
    for scored, start in zip(scorer.score(list(read), progress=context.progress), starts, strict=True):
        counted = scored.tokens.eligible & (scored.tokens.starts >= start) & ~np.isnan(scored.logprobs)
        sums.append(float(scored.logprobs[counted].sum()))
        counts.append(int(counted.sum()))
    found = {"logprob_sums": sums, "tokens": counts, "answers": are_answers(records)}
    fs.write_json(context.outputs["utility"], found)
    if not any(counts):
        raise InputError("nothing-to-measure", "The utility split has no token to score; give it records with text.")
    nll = -sum(sums) / sum(counts)
    return {"nll": nll, "perplexity": float(np.exp(nll)), "tokens": sum(counts), "records": len(counts)}
