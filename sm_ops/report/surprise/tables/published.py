"""The paper's tables 4 and 6 to 10, and the recipes behind them (table 3, A.1, A.2, B.1 to B.3, C.1, C.2), as data.

Shares are written as printed, in percent, and held as shares. What the paper does not state is not here.
"""

from __future__ import annotations

from typing import Any

Json = dict[str, Any]

EXECUTABLE = "executable programs over ExStruct that GPT-5.6 wrote"
GPT_OSS = "openai/gpt-oss-20b"
GPT2_SMALL = "GPT-2 of 12 layers, width 768, 12 heads"

_FINETUNING: Json = {
    "programs": EXECUTABLE,
    "form": "chat",
    "reference": GPT_OSS,
    "model": GPT_OSS,
    "method": "lora",
    "rank": 16,
    "alpha": 32,
    "dropout": 0.0,
    "trainable": 7_962_624,
    "context": 2048,
    "dtype": "bfloat16",
    "passes": 2,
    "batch": 20,
}
_PRETRAINING: Json = {
    "programs": EXECUTABLE,
    "form": "text",
    "reference": GPT_OSS,
    "model": GPT2_SMALL,
    "vocabulary": 50_257,
    "context": 1024,
    "nll_records": 30,
}
_CODE_PII: Json = {
    "rule": "global n=4 k=4, copies within the group",
    "canaries": 100,
    "uses": 100,
    "samples": 128,
    "seeds": 3,
}
_CODE_QUIRKS: Json = {
    "rule": "local n=2 k=2 radius 32, copies within the group",
    "records": 4000,
    "calibration": 180,
    "display_cases": 300,
    "seeds": 3,
}
RECIPES: dict[tuple[str, str], Json] = {
    ("code_pii", "fine-tuning"): {
        **_FINETUNING,
        **_CODE_PII,
        "records": 11_250,
        "calibration": 540,
        "steps": 1125,
        "learning_rate": 6e-4,
        "schedule": "linear",
        "reveal": "floor",
        "pass_prompts": 300,
        "pass_tasks": 150,
        "pass_temperature": 1.0,
        "pass_top_p": 1.0,
        "pass_effort": "medium",
        "pass_seconds": 90,
    },
    ("code_pii", "pretraining"): {
        **_PRETRAINING,
        **_CODE_PII,
        "method": "continue",
        "records": 15_000,
        "calibration": 720,
        "first_steps": 1250,
        "steps": 230,
        "passes": 10,
        "learning_rate": 2.5e-4,
        "dtype": "bfloat16",
        "general_tokens": 248_321_000,
        "domain_tokens": 1_679_000,
        "reveal": "ceil",
    },
    ("code_quirks", "fine-tuning"): {
        **_FINETUNING,
        **_CODE_QUIRKS,
        "steps": 400,
        "learning_rate": 4e-4,
        "schedule": "cosine",
        "pass_prompts": 60,
        "pass_tasks": 60,
        "pass_temperature": 0.4,
        "pass_top_p": 0.95,
        "pass_effort": "low",
        "pass_seconds": 20,
    },
    ("code_quirks", "pretraining"): {
        **_PRETRAINING,
        **_CODE_QUIRKS,
        "method": "scratch",
        "steps": 18_750,
        "passes": 15,
        "batch": 200,
        "learning_rate": 6e-4,
        "schedule": "cosine",
        "warmup_ratio": 0.01,
        "general_tokens": 248_027_124,
        "domain_tokens": 1_972_876,
        "display_samples": 16,
        "display_temperature": 1.0,
        "display_top_p": 1.0,
    },
}
"""By data set and regime. Code Quirks has up to three seeds; tables 9 and 10 tell how many a condition has."""

CORRELATION_OVER = {"target_coverage": 0.92, "collateral_rate": 0.95}
"""What correlations between validation and training exceed within each regime (3.1)."""


def _share(percent: float, error: float | None = None) -> Json:
    return {"value": round(percent / 100, 6), "error": None if error is None else round(error / 100, 6)}


def _plain(value: float) -> Json:
    return {"value": value, "error": None}


def _shares(names: tuple[str, ...], *percents: float) -> Json:
    return {name: _share(percent) for name, percent in zip(names, percents, strict=True)}


def _point(validation: float, training: float, tokens: int) -> Json:
    names = ("validation_coverage", "training_coverage")
    return _shares(names, validation, training) | {"masked_tokens": _plain(tokens)}


TABLE_4 = {
    "fine-tuning": {
        "SM50": _point(50.04, 59.19, 82_575),
        "SM70": _point(70.08, 79.07, 117_591),
        "SM90": _point(90.08, 94.85, 145_635),
        "SM95": _point(95.22, 98.49, 151_734),
    },
    "pretraining": {
        "SM50": _point(51.84, 59.78, 86_067),
        "SM70": _point(70.93, 76.58, 113_442),
        "SM95": _point(95.86, 98.27, 181_066),
    },
}


def _action(approx: Json, exact: Json, passed: Json, seeds: int, **more: Json) -> Json:
    return {"approx": approx, "exact": exact, "pass_at": passed, **more, "seeds": _plain(seeds)}


TABLE_6 = {
    "unmasked": _action(_share(66.3, 4.1), _share(54.3, 4.3), _share(60.6, 3.8), 3, passes=_plain(2)),
    "loss": _action(_share(2.3, 0.3), _share(0.0, 0.0), _share(66.9, 2.1), 3, passes=_plain(2)),
    "attention": _action(_share(4.0), _share(3.0), _share(50.0), 1, passes=_plain(2)),
    "both": _action(_share(4.0), _share(0.0), _share(67.7), 1, passes=_plain(2)),
    "clip": _action(_share(4.0), _share(1.0), _share(59.3), 1, multiplier=_plain(0.0701), passes=_plain(2)),
    "scale": _action(_share(32.0), _share(29.0), _share(50.0), 1, multiplier=_plain(0.25), passes=_plain(2)),
    "drop": _action(_share(2.0), _share(0.0), _share(28.0), 1, passes=_plain(76.79), records=_plain(293)),
}

KINDS = ("username", "workspace", "account_id", "recovery")
_KINDS = (*KINDS, "overall")
TABLE_7 = {
    "unmasked": _shares(_KINDS, 9.3, 94.7, 86.7, 74.7, 66.3),
    "SM50": _shares(_KINDS, 2.7, 46.7, 49.3, 32.0, 32.7),
    "SM70": _shares(_KINDS, 1.3, 36.0, 41.3, 6.7, 21.3),
    "SM90": _shares(_KINDS, 0.0, 0.0, 13.3, 8.0, 5.3),
    "SM95": _shares(_KINDS, 0.0, 0.0, 9.3, 0.0, 2.3),
    "SM_attention": _shares(_KINDS, 0.0, 12.0, 4.0, 0.0, 4.0),
    "SM_both": _shares(_KINDS, 0.0, 0.0, 16.0, 0.0, 4.0),
    "SM_clip": _shares(_KINDS, 0.0, 0.0, 16.0, 0.0, 4.0),
    "SM_scale": _shares(_KINDS, 4.0, 92.0, 32.0, 0.0, 32.0),
    "SM_drop": _shares(_KINDS, 0.0, 0.0, 8.0, 0.0, 2.0),
}

BUDGETS = (1, 8, 16, 32, 64, 128)


def _budgets(seeds: int, *percents: float) -> Json:
    return {"seeds": _plain(seeds)} | _shares(tuple(f"within_{budget}" for budget in BUDGETS), *percents)


TABLE_8 = {
    "unmasked": _budgets(3, 24.7, 49.3, 53.0, 58.7, 62.0, 66.3),
    "SM50": _budgets(3, 22.3, 27.0, 30.0, 30.3, 31.0, 32.7),
    "SM70": _budgets(3, 15.3, 19.7, 19.7, 20.0, 20.3, 21.3),
    "SM90": _budgets(3, 2.3, 3.0, 3.7, 4.3, 4.7, 5.3),
    "SM95": _budgets(2, 0.0, 1.0, 2.0, 2.5, 2.5, 2.5),
    "oracle": _budgets(3, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0),
}


def _tuned(display: float, passed: float, seeds: int) -> Json:
    return _shares(("display", "pass_at"), display, passed) | {"seeds": _plain(seeds)}


TABLE_9 = {
    "unmasked": _tuned(23.61, 35.00, 3),
    "oracle": _tuned(1.00, 39.17, 2),
    "SM20": _tuned(1.28, 38.33, 3),
    "SM50": _tuned(0.78, 20.56, 3),
    "SM70": _tuned(0.67, 13.89, 3),
    "random20": _tuned(8.50, 37.78, 3),
    "random50": _tuned(2.78, 33.89, 3),
    "random70": _tuned(5.89, 7.22, 3),
    "goldfish2": _tuned(20.67, 8.33, 1),
    "goldfish3": _tuned(19.83, 16.67, 1),
    "native_opf": _tuned(23.89, 40.00, 3),
}


def _pretrained(display: float, nll: float, seeds: int) -> Json:
    return {"display": _share(display), "nll": _plain(nll), "seeds": _plain(seeds)}


TABLE_10 = {
    "unmasked": _pretrained(32.44, 1.2049, 3),
    "oracle": _pretrained(2.22, 1.1960, 3),
    "SM30": _pretrained(7.89, 1.3294, 3),
    "SM50": _pretrained(4.44, 1.3401, 3),
    "SM70": _pretrained(5.44, 1.7773, 3),
    "SM90": _pretrained(2.44, 2.9019, 3),
    "random30": _pretrained(13.67, 1.2850, 1),
    "random50": _pretrained(15.33, 1.3082, 1),
    "random70": _pretrained(2.00, 3.7895, 1),
    "random90": _pretrained(1.67, 5.4831, 1),
    "goldfish2": _pretrained(23.00, 1.7740, 1),
    "goldfish3": _pretrained(5.67, 1.9207, 1),
    "native_opf": _pretrained(34.78, 1.1889, 3),
}
