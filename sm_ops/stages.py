"""The list of stages: read this file first.

`STAGES` declares each stage once; `sm_ops/plans/` turns a resolved config into the steps of a run, one file a flow.
A person (`sm-ops stage NAME`), DVC (`dvc.yaml`) and Prefect (`flows/`) run these very steps.

    synthesize -> audit -> base -> fit@REFERENCE -> score@REFERENCE -> calibrate -> mask
               -> train@CONDITION-SEED -> attack@CONDITION-SEED, evaluate@CONDITION-SEED
"""

from __future__ import annotations

from sm_ops.core.stage import Output, Stage

SYNTHESIZE = Stage(
    name="synthesize",
    version=1,
    function="sm_ops.steps.synthesize:run",
    sections=("data",),
    places=(
        "data.hosts",
        "data.own.train",
        "data.own.calibration",
        "data.own.utility",
        "data.own.reference",
    ),
    members=(("data.dataset", "dataset"),),
    outputs=tuple(
        Output(f"{name}.jsonl", "restricted")
        for name in ("calibration", "train", "utility", "reference", "public", "canaries")
    ),
    key="records_train",
)
AUDIT = Stage(
    name="audit",
    version=1,
    function="sm_ops.steps.audit:run",
    outputs=(Output("findings.json", "internal"),),
    key="findings",
)
BASE_MODEL = Stage(
    name="base",
    version=1,
    function="sm_ops.steps.base:run",
    sections=("base",),
    outputs=(Output("model", "restricted"),),
    numeric=True,
    key="train_loss",
)
FIT = Stage(
    name="fit",
    version=1,
    function="sm_ops.steps.fit:run",
    sections=("reference", "base"),
    places=("reference.fit", "reference.model", "base.name"),
    members=(("reference.backend", "reference"),),
    outputs=(Output("model", "restricted"),),
    numeric=True,
    key="records",
)
SCORE = Stage(
    name="score",
    version=1,
    function="sm_ops.steps.score:run",
    sections=("reference", "base"),
    places=("reference.model", "base.name"),
    members=(("reference.backend", "reference"),),
    outputs=(Output("calibration.parquet", "restricted"), Output("train.parquet", "restricted")),
    numeric=True,
    key="tokens",
)
CALIBRATE = Stage(
    name="calibrate",
    version=1,
    function="sm_ops.steps.calibrate:run",
    sections=("masking", "base"),
    places=("base.name",),
    members=(("masking.select", "rule"), ("masking.windows", "window")),
    outputs=(Output("calibration.json", "internal"),),
    numeric=True,
    key="auroc",
)
MASK = Stage(
    name="mask",
    version=1,
    function="sm_ops.steps.mask:run",
    sections=("masking", "base"),
    places=("base.name",),
    members=(("masking.select", "rule"), ("masking.windows", "window"), ("masking.baselines", "baseline")),
    outputs=(
        Output("masks.parquet", "internal"),
        Output("coverage.json", "internal"),
        Output("application.json", "internal"),
        Output("bound.json", "internal"),
        Output("strip.json", "internal"),
    ),
    numeric=True,
    key="conditions",
)
TRAIN = Stage(
    name="train",
    version=1,
    function="sm_ops.steps.train:run",
    sections=("train", "base"),
    places=("base.name",),
    outputs=(Output("model", "restricted"),),
    numeric=True,
    key="train_loss",
)
ATTACK = Stage(
    name="attack",
    version=1,
    function="sm_ops.steps.attack:run",
    sections=("attack", "base"),
    places=("base.name",),
    members=(("attack.name", "attack"),),
    outputs=(Output("outcomes.json", "internal"),),
    numeric=True,
    key="extracted",
)
EVALUATE = Stage(
    name="evaluate",
    version=1,
    function="sm_ops.steps.evaluate:run",
    sections=("evaluate", "base"),
    places=("base.name",),
    outputs=(Output("utility.json", "internal"),),
    numeric=True,
    key="nll",
)
STAGES = (SYNTHESIZE, AUDIT, BASE_MODEL, FIT, SCORE, CALIBRATE, MASK, TRAIN, ATTACK, EVALUATE)
