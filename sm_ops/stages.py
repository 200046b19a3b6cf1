"""The list of stages: read this file first.

`STAGES` declares each stage once; `sm_ops/plans/` turns a resolved config into the steps of a run, one file a flow.
A person (`sm-ops stage NAME`), DVC (`dvc.yaml`) and Prefect (`flows/`) run these very steps.

The main job, flow `surprise`:

    synthesize -> audit -> base -> fit@REFERENCE -> score@REFERENCE -> calibrate -> mask -> redact
               -> train@CONDITION-SEED -> attack@CONDITION-SEED, evaluate@CONDITION-SEED

PII documents, flow `pii`:

    pii_generate -> pii_base -> pii_tune@SEED -> pii_extract@MODEL
                 -> pii_detect@DETECTOR               each of both -> pii_mask@NAME, pii_evaluate@NAME

Leakage audit, flow `audit` (a CELL is a defence, or `base`):

    audit_data -> base -> audit_prepare@DEFENCE -> audit_train@DEFENCE-SEED
                       -> audit_shadow@NUMBER
               -> audit_attack@ATTACK-CELL-SEED -> audit_measure@CELL-SEED, evaluate@CELL-SEED
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
    outputs=(Output("model", "restricted"), Output("history.json", "internal")),
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
REDACT = Stage(
    name="redact",
    version=1,
    function="sm_ops.steps.redact:run",
    sections=("redact",),
    outputs=(
        Output("redacted.jsonl", "public"),
        Output("redaction.json", "internal"),
        Output("places.jsonl", "restricted"),
    ),
    key="intervals",
)
TRAIN = Stage(
    name="train",
    version=1,
    function="sm_ops.steps.train:run",
    sections=("train", "base"),
    places=("base.name",),
    outputs=(Output("model", "restricted"), Output("history.json", "internal")),
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

SPLITS = ("train", "validation", "test")
PII_GENERATE = Stage(
    name="pii_generate",
    version=1,
    function="sm_ops.steps.pii_generate:run",
    sections=("documents",),
    places=("documents.own.train", "documents.own.validation", "documents.own.test"),
    outputs=(
        *(Output(f"{split}.jsonl", "restricted") for split in SPLITS),
        Output("manifest.json", "internal"),
    ),
    key="records",
)
PII_BASE = Stage(
    name="pii_base",
    version=1,
    function="sm_ops.steps.pii_base:run",
    sections=("base",),
    outputs=(Output("model", "restricted"),),
    numeric=True,
    key="train_loss",
)
PII_TUNE = Stage(
    name="pii_tune",
    version=1,
    function="sm_ops.steps.pii_tune:run",
    sections=("base", "tune"),
    places=("base.name",),
    outputs=(Output("model", "restricted"), Output("history.json", "internal")),
    numeric=True,
    key="train_loss",
)
PII_EXTRACT = Stage(
    name="pii_extract",
    version=1,
    function="sm_ops.steps.pii_extract:run",
    sections=("base", "extract"),
    places=("base.name",),
    outputs=(Output("predictions.jsonl", "restricted"),),
    numeric=True,
    key="parsed",
)
PII_DETECT = Stage(
    name="pii_detect",
    version=1,
    function="sm_ops.steps.pii_detect:run",
    members=(("detector", "detector"),),
    outputs=(Output("predictions.jsonl", "restricted"),),
    numeric=True,
    key="rows",
)
PII_MASK = Stage(
    name="pii_mask",
    version=1,
    function="sm_ops.steps.pii_mask:run",
    outputs=(Output("masked.jsonl", "restricted"), Output("vault.json", "internal")),
    key="tokens",
)
PII_EVALUATE = Stage(
    name="pii_evaluate",
    version=1,
    function="sm_ops.steps.pii_evaluate:run",
    outputs=(Output("evaluation.json", "internal"),),
    numeric=True,
    key="f1",
)
AUDIT_DATA = Stage(
    name="audit_data",
    version=1,
    function="sm_ops.steps.audit_data:run",
    sections=("data",),
    places=("data.path", "data.public"),
    members=(("data.corpus", "corpus"), ("tagger", "detector")),
    outputs=(
        *(Output(f"{split}.jsonl", "restricted") for split in ("train", "others", "validation", "public", "reference")),
        Output("statistics.json", "internal"),
    ),
    numeric=True,
    key="records_train",
)
AUDIT_PREPARE = Stage(
    name="audit_prepare",
    version=1,
    function="sm_ops.steps.audit_prepare:run",
    sections=("deduplicate", "masking", "base", "probe", "classes"),
    places=("base.name",),
    members=(("masking.select", "rule"), ("masking.windows", "window"), ("defence.mask", "baseline")),
    outputs=(
        Output("training.parquet", "restricted"),
        Output("validation.parquet", "restricted"),
        Output("groups.json", "restricted"),
        Output("prepared.json", "internal"),
    ),
    numeric=True,
    key="records",
)
AUDIT_TRAIN = Stage(
    name="audit_train",
    version=1,
    function="sm_ops.steps.audit_train:run",
    sections=("train", "private", "base"),
    places=("base.name",),
    outputs=(
        Output("model", "restricted"),
        Output("training.json", "internal"),
        Output("history.json", "internal"),
    ),
    numeric=True,
    key="train_loss",
)
AUDIT_SHADOW = Stage(
    name="audit_shadow",
    version=1,
    function="sm_ops.steps.audit_shadow:run",
    sections=("train", "base"),
    places=("base.name",),
    outputs=(Output("model", "restricted"), Output("seen.json", "restricted")),
    numeric=True,
    key="records",
)
AUDIT_ATTACK = Stage(
    name="audit_attack",
    version=1,
    function="sm_ops.steps.audit_attack:run",
    sections=("probe", "base", "classes"),
    places=("base.name", "filling.model"),
    members=(("attack", "attack"), ("tagger", "detector")),
    outputs=(Output("rows.json", "internal"),),
    numeric=True,
    key="rows",
)
AUDIT_MEASURE = Stage(
    name="audit_measure",
    version=1,
    function="sm_ops.steps.audit_measure:run",
    members=(("attacks", "attack"),),
    outputs=(Output("measures.json", "internal"),),
    numeric=True,
    key="measures",
)
SURPRISE = (SYNTHESIZE, AUDIT, BASE_MODEL, FIT, SCORE, CALIBRATE, MASK, REDACT, TRAIN, ATTACK, EVALUATE)
PII = (PII_GENERATE, PII_BASE, PII_TUNE, PII_EXTRACT, PII_DETECT, PII_MASK, PII_EVALUATE)
AUDIT_FLOW = (AUDIT_DATA, AUDIT_PREPARE, AUDIT_TRAIN, AUDIT_SHADOW, AUDIT_ATTACK, AUDIT_MEASURE)
STAGES = (*SURPRISE, *PII, *AUDIT_FLOW)
