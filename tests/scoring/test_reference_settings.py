from __future__ import annotations

from dataclasses import replace

import pytest

from sm_ops.core import fingerprint
from sm_ops.core.config import load_pipeline, resolve
from sm_ops.core.errors import InputError
from sm_ops.plans import plan

pytestmark = pytest.mark.unit


def read(tmp_path, reference):
    path = tmp_path / "own.yaml"
    path.write_text(f"references: {{tiny: {reference}}}")
    return load_pipeline(str(path))


@pytest.mark.parametrize(("reference", "words"), [
    ("{violating: keep names}", "references.tiny: violating needs prompt"),
    ("{backend: ngram, prompt: clean code}", "references.tiny: backend ngram .* no use for prompt"),
    ("{backend: ngram, violating: keep names}", "references.tiny: backend ngram .* no use for prompt"),
    ("{backend: file, model: a.parquet, prompt: clean code}", "references.tiny: backend file brings its scores"),
    ("{backend: file, violating: b.parquet}", "references.tiny: backend file needs model"),
    ("{workers: 0}", "references.tiny.workers is 0"),
])  # fmt: skip
def test_prompts_that_nothing_reads_are_refused(tmp_path, reference, words):
    with pytest.raises(InputError, match=words):
        read(tmp_path, reference)


@pytest.mark.parametrize("reference", [
    "{prompt: clean code, violating: keep names, workers: 2}", "{prompt: clean code}",
    "{backend: file, model: a.parquet, violating: b.parquet}",
])  # fmt: skip
def test_prompts_that_are_read_are_accepted(tmp_path, reference):
    read(tmp_path, reference)


def score_identity(pipeline):
    (step,) = [step for step in plan(resolve(pipeline)) if step.name == "score@tiny"]
    return fingerprint.fingerprint(fingerprint.payload(replace(step, inputs={}), {}))


def test_workers_are_no_identity_but_prompts_are(tmp_path):
    plain, workers, prompted, contrast = (
        score_identity(read(tmp_path, reference))
        for reference in ("{}", "{workers: 3}", "{prompt: a}", "{prompt: a, violating: b}")
    )
    assert plain == workers
    assert len({plain, prompted, contrast}) == 3
