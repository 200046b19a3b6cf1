"""`sm-ops attack`: an audit of any model and any labelled records; what it says, refuses, and never prints."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path
from types import SimpleNamespace

import pytest
from counting_model import CountingModel
from driving import run_cli
from typer.testing import CliRunner

from sm_ops.attacks import auditing
from sm_ops.cli import app
from sm_ops.core import registry
from sm_ops.core.errors import InputError
from sm_ops.leaks import find_leaks

NAMES = ["Ulvyra Quzzor", "Jexxan Zhakko", "Vyrgo Wumbly", "Xylthe Kronvik", "Brukka Dwelm", "Fjolla Ghimsk"]
CODES = ["8834-2217", "4471-9902", "7753-1186"]
STRANGERS = ["Okvi Plembrat", "Yndra Hoxwell", "Tarmo Jukkel", "Sibyl Crowned"]
CHARACTERS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789 .-[]"


def row(number: int, side: str, name: str, code: str) -> dict:
    text = f"Clerk {name} filed {code} on day {number}. It was late. {name} left {side}{number}."
    found = [(m.start(), m.end(), "PERSON") for m in re.finditer(name, text)]
    found += [(m.start(), m.end(), "CODE") for m in re.finditer(code, text)]
    spans = [{"start": start, "end": end, "label": label} for start, end, label in found]
    return {"id": f"{side}{number}", "text": text, "spans": spans}


MEMBERS = [row(n, "m", NAMES[n % 6], CODES[n % 3]) for n in range(8)]
OTHERS = [row(n, "o", STRANGERS[n % 4], f"{n}{n}65-90{n}1") for n in range(6)]
MODELS = {
    "leaky": CountingModel(CHARACTERS, [each["text"] for each in MEMBERS] * 20, order=6),
    "public": CountingModel(CHARACTERS, [each["text"] for each in OTHERS], order=2),
}
SMALL = [
    "extraction.tokens=600", "extraction.length=60", "extraction.batch_size=10", "extraction.points=2",
    "extractability.tokens=300", "extractability.length=60", "targets=3", "reconstruction.cases=2",
    "reconstruction.samples=4", "reconstruction.length=20", "tab.cases=2", "tab.length=20", "inference.cases=2",
    "sizes=[3,2]", "prefix_extraction.canaries=2", "prefix_extraction.samples=4", "budgets=[4]", "space=20",
    "exposure.canaries=3",
]  # fmt: skip


def write(path: Path, rows: list[dict]) -> Path:
    path.write_text("".join(json.dumps(each) + "\n" for each in rows), encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def files(tmp_path_factory) -> SimpleNamespace:
    folder = tmp_path_factory.mktemp("files")
    plain = [{key: value for key, value in each.items() if key != "spans"} for each in MEMBERS]
    return SimpleNamespace(
        folder=folder,
        members=write(folder / "members.jsonl", MEMBERS),
        others=write(folder / "others.jsonl", OTHERS),
        plain=write(folder / "plain.jsonl", plain),
        empty=write(folder / "empty.jsonl", []),
    )


@pytest.fixture
def attack(files, monkeypatch):
    """Call the command with models that need no weights: `leaky`, which knows the members by heart, and `public`."""

    class Backend:
        load = staticmethod(lambda settings: MODELS[settings.model])

    load = registry.load
    monkeypatch.setattr(registry, "load", lambda kind, name: Backend if kind == "model" else load(kind, name))

    def call(*arguments, model: str = "leaky", records: Path | None = None):
        words = ["attack", "--model", model, "--records", records or files.members, *arguments]
        done = CliRunner().invoke(app, list(map(str, words)))
        if done.exception and not isinstance(done.exception, SystemExit):
            raise done.exception
        assert done.exit_code == 0, done.stderr
        return done

    return call


def settings(*given: str) -> list[str]:
    return [word for each in given for word in ("--set", each)]


def headline(report: dict, name: str) -> dict:
    attack = report["attacks"][name]
    return next(
        each
        for each in attack["measures"]
        if "occurrences" not in each and all(each.get(key) == value for key, value in attack["headline"].items())
    )


# ---- what it says --------------------------------------------------------------------------------------


@pytest.mark.unit
def test_every_attack_says_what_it_found_and_never_a_text(attack, files, tmp_path):
    names = sorted(registry.members("attack"))
    chosen = [word for name in names for word in ("--attack", name)]
    rest = ("--others", files.others, "--baseline", "public", "--out", tmp_path / "audit.json", *settings(*SMALL))
    done = attack(*chosen, *rest)
    report = json.loads((tmp_path / "audit.json").read_text())
    assert list(report["attacks"]) == names
    assert headline(report, "membership")["value"] > 0.9, "the model leaks, so there was something to hide"
    assert headline(report, "exposure")["value"] == pytest.approx(4.39, abs=0.01)
    for name in names:
        assert re.search(f"^{name}$", done.stdout, re.MULTILINE)
    (tmp_path / "out.txt").write_text(done.stdout)
    (tmp_path / "err.txt").write_text(done.stderr)
    sentences = {part for each in MEMBERS + OTHERS for part in re.split(r"(?<=\.) ", each["text"])}
    found = find_leaks([tmp_path], {*NAMES, *CODES, *STRANGERS, *sentences})
    assert found.searched > 30
    assert found.findings == []


@pytest.mark.unit
def test_the_table_and_what_is_not_tried(attack):
    done = attack("--attack", "exposure", "--class", "person", *settings("space=5"))
    assert re.search(r"^PERSON +8 +8 +16 +6 +2\.67$", done.stdout, re.MULTILINE)
    assert re.search(r"^exposure \(paper\)\^ +PERSON +2\.585 +-", done.stdout, re.MULTILINE), "log2 of six strings"
    assert re.search(r"^exposure \(paper, occurrences 3-4\)\^ +all +\d", done.stdout, re.MULTILINE)
    assert re.search(r"^\^ the most that this many random strings can show", done.stdout, re.MULTILINE)
    assert not re.search(r"^exposure.* CODE ", done.stdout, re.MULTILINE)
    assert "ranked_first (paper, occ" not in done.stdout, "the breakdown is that of the main measure"
    untried = done.stdout.partition("not tried:")[2]
    assert "extractability, extraction, inference, membership," in untried
    for said in ("Classes left out: CODE.", "--baseline", "--others", "tagger gold", "weights"):
        assert said in untried
    assert "--shadow" not in untried, "shadow models have no part in this attack"
    assert done.stderr.splitlines()[-1].startswith("next: ")


@pytest.mark.unit
def test_json_is_the_same_report_and_nothing_else(attack, files, tmp_path):
    words = ("--attack", "membership", "--others", files.others, "--seed", 3, "--out", tmp_path / "a.json")
    report = json.loads(attack(*words, "--json").stdout)
    assert report == json.loads((tmp_path / "a.json").read_text())
    assert report["format"] == "attack/1"
    assert (report["seed"], report["shadows"], report["others"]["records"]) == (3, 0, 6)
    assert report["attacks"]["membership"]["settings"] == {"sentences": None}
    assert report["attacks"]["membership"]["baseline"] is None
    assert json.loads(attack(*words, "--json").stdout) == report


@pytest.mark.unit
def test_draws_depend_on_the_seed_alone(attack):
    def values(seed: int) -> list:
        words = ("--attack", "exposure", "--seed", seed, "--json", *settings("space=30"))
        return json.loads(attack(*words, model="public").stdout)["attacks"]["exposure"]["measures"]

    assert values(1) == values(1) != values(2)


@pytest.mark.unit
def test_the_public_model_stands_beside(attack, files):
    words = ("--attack", "membership", "--others", files.others, "--baseline", "public", "--json")
    report = json.loads(attack(*words).stdout)
    (found,) = (
        each
        for each in report["attacks"]["membership"]["measures"]
        if (each["measure"], each.get("score"), each.get("variant")) == ("auc", "ref_baseline", "all")
        and "occurrences" not in each
    )
    assert found["value"] > 0.9
    alone = json.loads(attack("--attack", "membership", "--others", files.others, "--json", model="public").stdout)
    assert report["attacks"]["membership"]["baseline"] == alone["attacks"]["membership"]["measures"]


@pytest.mark.unit
def test_shadow_models_by_what_they_saw(attack, files, tmp_path):
    seen = write(tmp_path / "seen.jsonl", MEMBERS[:4] + OTHERS[:2])
    words = ("--attack", "membership", "--others", files.others, "--json")
    report = json.loads(attack(*words, "--shadow", f"public={seen}", "--shadow", f"leaky={files.others}").stdout)
    scores = {each.get("score") for each in report["attacks"]["membership"]["measures"]}
    assert {"loss", "ref", "offline", "lira"} <= scores
    renamed = write(tmp_path / "renamed.jsonl", [{**MEMBERS[0], "id": MEMBERS[1]["id"]}])
    with pytest.raises(InputError, match="another text"):
        attack(*words, "--shadow", f"public={renamed}")


@pytest.mark.unit
def test_membership_needs_no_labels(attack, files):
    report = json.loads(
        attack("--attack", "membership", "--others", files.others, "--json", records=files.plain).stdout
    )
    assert headline(report, "membership")["value"] > 0.9
    assert report["statistics"][0]["mentions"] == 0


@pytest.mark.unit
def test_a_tagger_in_place_of_labels(attack, files):
    done = attack("--attack", "exposure", "--tagger", "gold+regex", "--json", *settings("space=5"))
    assert json.loads(done.stdout)["tagger"] == "gold+regex"
    with pytest.raises(InputError, match="The tagger regex finds no mention of any class"):
        attack(
            "--attack",
            "exposure",
            "--tagger",
            "regex",
            records=write(files.folder / "x.jsonl", [{"id": "a", "text": "no"}]),
        )


# ---- settings ------------------------------------------------------------------------------------------


@pytest.mark.unit
def test_settings_by_attack_or_by_name():
    chosen, model = auditing.settings_of(
        ["inference", "tab"], ["inference.cases=3", "sizes=[2,3]", "tab.length=4", "model.dtype=bfloat16"]
    )
    assert (chosen["inference"]["cases"], chosen["inference"]["sizes"], chosen["tab"]["length"]) == (3, [2, 3], 4)
    assert chosen["tab"]["cases"] == auditing.settings_of(["tab"], None)[0]["tab"]["cases"]
    assert model == {"dtype": "bfloat16"}


@pytest.mark.unit
@pytest.mark.parametrize(
    ("given", "words"),
    [
        (["cases=3"], "write inference.cases or tab.cases"),
        (["sizs=[2]"], "nearest is sizes"),
        (["inference.sizs=[2]"], "nearest is sizes"),
        (["extraction.tokens=9"], "add --attack extraction"),
        (["tab.cases=0"], "tab: cases is 0"),
        (["model=float32"], "write model.NAME=VALUE"),
        (["tab=3"], "write tab.NAME=VALUE"),
        (["sizes"], "not of the form KEY=VALUE"),
    ],
)
def test_a_setting_that_is_not_to_be_understood(given, words):
    with pytest.raises(InputError) as caught:
        auditing.settings_of(["inference", "tab"], given)
    assert words in caught.value.hint


# ---- what it refuses -----------------------------------------------------------------------------------


@pytest.mark.unit
@pytest.mark.parametrize(
    ("arguments", "records", "words"),
    [
        (["--attack", "inferense"], "members", "nearest is inference"),
        (["--attack", "membership"], "members", "--others"),
        (["--attack", "tab"], "plain", "no labelled span"),
        (["--attack", "tab", "--class", "EMAIL"], "members", "finds no mention of EMAIL in"),
        (["--attack", "tab", "--tagger", "spaci"], "members", "nearest is spacy"),
        (["--attack", "tab"], "empty", "no record"),
        (["--attack", "tab"], "absent", "no file"),
        (["--attack", "tab", "--shadow", "leaky"], "members", "MODEL=RECORDS"),
        (["--attack", "tab", "--out", "audit.txt"], "members", ".json"),
        (["--attack", "tab", "--out", "/proc/audit.json"], "members", "cannot be written"),
        (["--attack", "tab", "--tagger", "gold+"], "members", "The tagger is 'gold+'"),
        (["--attack", "tab", "--tagger", "gold+gold"], "members", "different ones"),
        (["--attack", "tab", "--base", "public"], "members", "none of the models is one"),
    ],
)
def test_bad_input_is_one_sentence(arguments, records, words, attack, files):
    with pytest.raises(InputError) as caught:
        attack(*arguments, records=getattr(files, records, files.folder / "absent.jsonl"))
    assert words in caught.value.hint
    assert "\n" not in caught.value.hint
    assert not any(value in caught.value.hint for value in NAMES + CODES)


# ---- real models ---------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def real(files, tmp_path_factory) -> SimpleNamespace:
    """A small GPT-2 with random weights and an adapter on it that changes nothing yet."""
    from peft import LoraConfig, get_peft_model

    from sm_ops.training import tiny

    folder = tmp_path_factory.mktemp("models")
    tokenizer = tiny.train_tokenizer([each["text"] for each in OTHERS], 300, folder / "base")
    shape = SimpleNamespace(layers=1, width=16, heads=2)
    model = tiny.new_model(shape, len(tokenizer), 128, tokenizer.bos_token_id, seed=0)
    model.save_pretrained(str(folder / "base"))
    config = LoraConfig(r=2, target_modules=["c_attn"], fan_in_fan_out=True, task_type="CAUSAL_LM")
    get_peft_model(model, config).save_pretrained(str(folder / "adapter"))
    return SimpleNamespace(base=folder / "base", adapter=folder / "adapter", home=folder / "home")


def audit(real, files, model: Path, **rest) -> auditing.Audit:
    chosen, _ = auditing.settings_of(["membership", "tab"], ["cases=2", "length=4"])
    return auditing.Audit(chosen, str(model), files.members, str(real.base), others=files.others, **rest)


@pytest.mark.parametrize(
    ("rest", "words"),
    [
        ({"model_settings": {"dtyp": "float32"}}, "nearest is dtype"),
        ({"model_settings": {"timeout": 3.0}}, "backend 'hf' has no setting 'timeout'"),
        ({"backend": "service", "model_settings": {"dtype": "float32"}}, "known are timeout"),
        ({"backend": "service", "model_settings": {"timeout": 120}}, "must begin with http"),
        ({"backend": "servise"}, "nearest is service"),
        ({"model_settings": {"revision": "main"}}, "all models are folders"),
        ({"base": "elsewhere"}, "none of the models is one"),
        ({"model": "adapter", "base": "base", "model_settings": {"dtype": "bfloat16"}}, "float32"),
    ],
)
def test_what_no_model_can_use_is_refused_before_one_is_loaded(real, files, rest, words):
    given = {**rest, "model": getattr(real, rest.get("model", "base"))}
    if rest.get("base") == "base":
        given["base"] = str(real.base)
    with pytest.raises(InputError) as caught:
        auditing.run(audit(real, files, **given))
    assert words in caught.value.hint


def test_an_adapter_of_another_model_is_noted(real, files, tmp_path):
    adapter = Path(shutil.copytree(real.adapter, tmp_path / "adapter"))
    config = json.loads((adapter / "adapter_config.json").read_text())
    (adapter / "adapter_config.json").write_text(json.dumps({**config, "base_model_name_or_path": "some/other"}))
    report = auditing.run(audit(real, files, adapter, base=str(real.base)))
    assert report["notes"] == [f"The adapter {adapter} says that it belongs to other; it was put onto {real.base}."]
    assert auditing.run(audit(real, files, real.adapter, base=str(real.base)))["notes"] == []


def test_an_adapter_on_its_base(real, files, tmp_path):
    with pytest.raises(InputError, match="--base"):
        auditing.run(audit(real, files, real.adapter))
    report = auditing.run(audit(real, files, real.adapter, base=str(real.base)))
    attack = report["attacks"]["membership"]
    own = [each for each in attack["measures"] if each.get("score") == "loss"]
    assert own == [each for each in attack["baseline"] if each.get("score") == "loss"]
    with pytest.raises(InputError, match="absent"):
        auditing.run(audit(real, files, tmp_path / "absent"))


def test_a_folder_from_the_command_line(real, files):
    words = ("attack", "--attack", "membership", "--model", str(real.base), "--records", str(files.members))
    done = run_cli(*words, "--others", str(files.others), "--json", home=real.home)
    assert done.returncode == 0, done.stderr
    assert headline(json.loads(done.stdout), "membership")["n"] > 0
    assert done.stderr.splitlines()[-1].startswith("next: ")
    assert not real.home.exists()
