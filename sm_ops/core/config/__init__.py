"""The pipelines' configurations: frozen models, and messages that name the field and the nearest one.

A validated config is dumped to plain JSON (`resolve`); everything below the command line reads that JSON.
"""

from sm_ops.core.config.audit import AuditPipeline
from sm_ops.core.config.base import Lora, Section
from sm_ops.core.config.loading import built, load_pipeline, parsed, presets, resolve, validated
from sm_ops.core.config.pii import PiiPipeline
from sm_ops.core.config.surprise import Base, Masking, Pipeline, Reference, Rule, Train

__all__ = [
    "AuditPipeline",
    "Base",
    "Lora",
    "Masking",
    "PiiPipeline",
    "Pipeline",
    "Reference",
    "Rule",
    "Section",
    "Train",
    "built",
    "load_pipeline",
    "parsed",
    "presets",
    "resolve",
    "validated",
]
