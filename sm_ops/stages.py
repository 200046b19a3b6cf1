"""The list of stages: read this file first.

`STAGES` declares each stage once; `sm_ops/plans/` turns a resolved config into the steps of a run, one file a flow.
A person (`sm-ops stage NAME`), DVC (`dvc.yaml`) and Prefect (`flows/`) run these very steps.

The main job, flow `surprise`:

    synthesize -> audit -> base -> fit@REFERENCE -> score@REFERENCE -> calibrate -> mask -> redact
               -> train@CONDITION-SEED -> attack@CONDITION-SEED, evaluate@CONDITION-SEED

and, where the config asks for them or the data can: every program of the data run before anything is learnt (execute),
general text as tokens (general), detectors as conditions (detect), answers to held-out tasks, run and looked at:

    synthesize -> execute
    audit -> general -> base, train
    audit -> detect@CONDITION -> mask
    train@CONDITION-SEED -> complete@CONDITION-SEED -> assess@CONDITION-SEED

PII documents, flow `pii`:

    pii_generate -> pii_base -> pii_tune@SEED -> pii_extract@MODEL
                 -> pii_detect@DETECTOR               each of both -> pii_mask@NAME, pii_evaluate@NAME

Leakage audit, flow `audit` (a CELL is a defence, or `base`):

    audit_data -> base -> audit_prepare@DEFENCE -> audit_train@DEFENCE-SEED
                       -> audit_shadow@NUMBER
               -> audit_attack@ATTACK-CELL-SEED -> audit_measure@CELL-SEED, evaluate@CELL-SEED

Sanitization, flow `sanitize` (a FOLD is 0 where the corpus is not cut several times):

    san_corpus -> san_fit@REFERENCE-FOLD, san_tune@FILTER-FOLD -> san_levels@FILTER-FOLD -> san_measure@FOLD
               -> san_redact

Ranking of whole outputs, flow `ranking`:

    rank_pairs -> rank_fit@REFERENCE -> rank_score@REFERENCE -> rank_measure

Rewriting, flow `rewriting`; where no endpoint is named, what would be sent is selected and nothing is sent:

    rewrite_data -> rewrite_fit@REFERENCE -> rewrite_score@SELECTOR -> rewrite_select@CONDITION
                 -> rewrite_apply@CONDITION -> rewrite_judge@CONDITION
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
    members=(("data.dataset", "dataset"), ("data.own.quirk", "quirk")),
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
EXECUTE = Stage(
    name="execute",
    version=1,
    function="sm_ops.steps.execute:run",
    sections=("data",),
    places=SYNTHESIZE.places,
    members=(("data.dataset", "dataset"),),
    outputs=(Output("programs.json", "internal"),),
    key="as_expected",
    check="sm_ops.steps._beforehand:trials",
)
GENERAL = Stage(
    name="general",
    version=1,
    function="sm_ops.steps.general:run",
    sections=("base", "mixture"),
    places=("base.tokenizer", "mixture.general"),
    outputs=(Output("tokenizer", "restricted"), Output("general", "restricted")),
    numeric=True,
    key="tokens",
    check="sm_ops.steps._beforehand:general_text",
)
BASE_MODEL = Stage(
    name="base",
    version=1,
    function="sm_ops.steps.base:run",
    sections=("base",),
    places=("base.tokenizer",),
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
    places=("base.name",),
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
DETECT = Stage(
    name="detect",
    version=1,
    function="sm_ops.steps.detect:run",
    sections=("detection",),
    members=(("detectors", "detector"),),
    outputs=(Output("calibration.parquet", "restricted"), Output("train.parquet", "restricted")),
    numeric=True,
    key="spans",
    check="sm_ops.steps._beforehand:detection",
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
        Output("detectors.json", "internal"),
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
COMPLETE = Stage(
    name="complete",
    version=1,
    function="sm_ops.steps.complete:run",
    sections=("completions", "base"),
    places=("base.name",),
    outputs=(Output("completions.jsonl", "restricted"),),
    numeric=True,
    key="tokens",
    check="sm_ops.steps._beforehand:answers",
)
ASSESS = Stage(
    name="assess",
    version=1,
    function="sm_ops.steps.assess:run",
    sections=("completions", "data"),
    places=SYNTHESIZE.places,
    members=(("data.dataset", "dataset"), ("data.own.quirk", "quirk")),
    outputs=(Output("assessment.json", "internal"),),
    key="prompts",
    check="sm_ops.steps._beforehand:judgement",
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
    members=(("detectors", "detector"),),
    outputs=(Output("predictions.jsonl", "restricted"),),
    numeric=True,
    key="rows",
    check="sm_ops.steps._beforehand:finding",
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
    members=(("data.corpus", "corpus"), ("detectors", "detector")),
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
    members=(("attack", "attack"), ("detectors", "detector")),
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
SAN_CORPUS = Stage(
    name="san_corpus",
    version=1,
    function="sm_ops.steps.san_corpus:run",
    sections=("corpus",),
    places=("corpus.validation", "corpus.records"),
    members=(("readers", "corpus"),),
    outputs=(Output("corpus.json", "internal"), Output("public.jsonl", "restricted")),
    key="records",
)
SAN_FIT = Stage(
    name="san_fit",
    version=1,
    function="sm_ops.steps.san_fit:run",
    sections=("reference",),
    places=("reference.fit",),
    members=(("reference.backend", "reference"),),
    outputs=(Output("model", "restricted"),),
    numeric=True,
    key="parts",
)
SAN_TUNE = Stage(
    name="san_tune",
    version=1,
    function="sm_ops.steps.san_tune:run",
    sections=("filter",),
    members=(("detectors", "detector"),),
    outputs=(Output("model", "restricted"),),
    numeric=True,
    key="parts",
)
SAN_LEVELS = Stage(
    name="san_levels",
    version=1,
    function="sm_ops.steps.san_levels:run",
    sections=("filter", "reference"),
    members=(
        ("filter.kind", "scorer"),
        ("detectors", "detector"),
        ("reference.backend", "reference"),
        ("rules", "rule"),
        ("windows", "window"),
    ),
    outputs=(Output("validation.parquet", "restricted"), Output("records.parquet", "restricted")),
    numeric=True,
    key="intervals",
    check="sm_ops.steps._beforehand:levels",
)
SAN_MEASURE = Stage(
    name="san_measure",
    version=1,
    function="sm_ops.steps.san_measure:run",
    sections=(
        "reference",
        "combinations",
        "unit",
        "threshold_folds",
        "by",
        "regimes",
        "acceptable_collateral",
        "coverage",
        "use",
    ),
    members=(("reference.backend", "reference"),),
    outputs=(Output("measures.json", "internal"),),
    numeric=True,
    key="filters",
)
SAN_REDACT = Stage(
    name="san_redact",
    version=1,
    function="sm_ops.steps.san_redact:run",
    outputs=(
        Output("redacted.jsonl", "restricted"),  # as clean as the filter is; a release's checks let it out
        Output("redaction.json", "internal"),
        Output("places.jsonl", "restricted"),
    ),
    key="intervals",
)
RANK_PAIRS = Stage(
    name="rank_pairs",
    version=1,
    function="sm_ops.steps.rank_pairs:run",
    sections=("pairs",),
    places=("pairs.validation", "pairs.application"),
    outputs=(
        *(Output(f"{name}.jsonl", "restricted") for name in ("validation", "application", "clean")),
        Output("pairs.json", "internal"),
    ),
    key="pairs",
)
RANK_FIT = Stage(
    name="rank_fit",
    version=1,
    function="sm_ops.steps.rank_fit:run",
    sections=("reference",),
    places=("reference.fit",),
    members=(("reference.backend", "reference"),),
    outputs=(Output("model", "restricted"),),
    numeric=True,
    key="records",
)
RANK_SCORE = Stage(
    name="rank_score",
    version=1,
    function="sm_ops.steps.rank_score:run",
    sections=("reference",),
    members=(("reference.backend", "reference"),),
    outputs=(Output("validation.parquet", "restricted"), Output("application.parquet", "restricted")),
    numeric=True,
    key="tokens",
)
RANK_MEASURE = Stage(
    name="rank_measure",
    version=1,
    function="sm_ops.steps.rank_measure:run",
    sections=("scores", "acceptable_collateral", "coverage"),
    members=(("rules", "ranking"),),
    outputs=(Output("measures.json", "internal"),),
    numeric=True,
    key="auroc",
)
REWRITE_DATA = Stage(
    name="rewrite_data",
    version=1,
    function="sm_ops.steps.rewrite_data:run",
    sections=("data", "endpoints", "prices"),
    places=("data.path", "data.validation", "data.population"),
    outputs=(
        *(Output(f"{name}.jsonl", "restricted") for name in ("validation", "records", "clean")),
        Output("data.json", "internal"),
    ),
    key="documents",
)
REWRITE_FIT = Stage(
    name="rewrite_fit",
    version=1,
    function="sm_ops.steps.rewrite_fit:run",
    sections=("reference",),
    places=("reference.fit",),
    members=(("reference.backend", "reference"),),
    outputs=(Output("model", "restricted"),),
    numeric=True,
    key="records",
)
REWRITE_SCORE = Stage(
    name="rewrite_score",
    version=1,
    function="sm_ops.steps.rewrite_score:run",
    sections=("selector", "reference", "data"),
    members=(("detectors", "detector"), ("backends", "reference"), ("windows", "window")),
    outputs=(Output("scores.json", "internal"),),
    numeric=True,
    key="auroc",
    check="sm_ops.steps._beforehand:selection",
)
REWRITE_SELECT = Stage(
    name="rewrite_select",
    version=1,
    function="sm_ops.steps.rewrite_select:run",
    sections=("condition",),
    outputs=(Output("selection.json", "internal"),),
    key="chosen",
)
REWRITE_APPLY = Stage(
    name="rewrite_apply",
    version=1,
    function="sm_ops.steps.rewrite_apply:run",
    sections=("condition", "data", "endpoints"),
    members=(("patterns", "detector"),),
    outputs=(Output("rewritten.jsonl", "restricted"), Output("application.json", "internal")),
    key="calls",
)
REWRITE_JUDGE = Stage(
    name="rewrite_judge",
    version=1,
    function="sm_ops.steps.rewrite_judge:run",
    sections=("data", "endpoints"),
    places=("data.population",),
    outputs=(Output("answers.jsonl", "restricted"), Output("outcomes.json", "internal")),
    key="security",
)
SURPRISE = (SYNTHESIZE, AUDIT, BASE_MODEL, FIT, SCORE, CALIBRATE, MASK, REDACT, TRAIN, ATTACK, EVALUATE)
PII = (PII_GENERATE, PII_BASE, PII_TUNE, PII_EXTRACT, PII_DETECT, PII_MASK, PII_EVALUATE)
AUDIT_FLOW = (AUDIT_DATA, AUDIT_PREPARE, AUDIT_TRAIN, AUDIT_SHADOW, AUDIT_ATTACK, AUDIT_MEASURE)
SANITIZE = (SAN_CORPUS, SAN_FIT, SAN_TUNE, SAN_LEVELS, SAN_MEASURE, SAN_REDACT)
RANKING = (RANK_PAIRS, RANK_FIT, RANK_SCORE, RANK_MEASURE)
REWRITING = (REWRITE_DATA, REWRITE_FIT, REWRITE_SCORE, REWRITE_SELECT, REWRITE_APPLY, REWRITE_JUDGE)
ON_DEMAND = (EXECUTE, GENERAL, DETECT, COMPLETE, ASSESS)
"""Stages of the main job that its config, or its data, asks for."""
STAGES = (*SURPRISE, *ON_DEMAND, *PII, *AUDIT_FLOW, *SANITIZE, *RANKING, *REWRITING)
