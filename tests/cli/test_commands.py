"""The command line: exit codes, streams, help whose examples work, and what to type next."""

from __future__ import annotations

import json
import shlex
import subprocess
import sys

import pytest
import typer
from driving import ROOT, SMALLEST, command, environment, run_cli
from typer.testing import CliRunner

from sm_ops.cli import app

pytestmark = pytest.mark.unit

def _commands(group: typer.Typer, before: str = "") -> dict[str, typer.models.CommandInfo]:
    """Every command by the words that call it, those of groups too."""
    found = {before + (info.name or info.callback.__name__): info for info in group.registered_commands}
    for inner in group.registered_groups:
        found |= _commands(inner.typer_instance, f"{before}{inner.name} " if inner.name else before)
    return found


COMMANDS = _commands(app)
EXAMPLES = [
    (name, example)
    for name, info in COMMANDS.items()
    for example in (info.epilog or "").removeprefix("Examples: ").split(" | ")
]


def sm_ops(*arguments: str, home):
    return run_cli(*arguments, home=home)


@pytest.fixture
def home(tmp_path):
    return tmp_path / "home"


# ---- help ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", COMMANDS)
def test_help_ends_with_examples(name):
    shown = CliRunner().invoke(app, [*name.split(), "--help"]).output
    assert "Examples: sm-ops " in " ".join(shown.strip().splitlines()[-4:])
    assert (COMMANDS[name].callback.__doc__ or "").strip()


@pytest.mark.parametrize(("name", "example"), EXAMPLES)
def test_every_example_parses(name, example):
    words = shlex.split(example.partition("sm-ops ")[2])
    assert words[: len(name.split())] == name.split()
    command = typer.main.get_command(app)
    while hasattr(command, "resolve_command"):
        with command.make_context("sm-ops", list(words)) as context:
            _, command, words = command.resolve_command(context, words)
    assert command.make_context(name, list(words))


CHEAP = [example for name, example in EXAMPLES if name == "ls" or example == "sm-ops show"]


@pytest.mark.parametrize("example", CHEAP)
def test_cheap_examples_run(example, home):
    done = sm_ops(*shlex.split(example)[1:], home=home)
    assert done.returncode == 0, done.stderr


def test_no_command_shows_help(home):
    done = sm_ops(home=home)
    assert done.returncode == 0
    assert "Commands:" in done.stdout
    assert all(name.split()[0] in done.stdout for name in COMMANDS)


# ---- exit codes and sentences --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["rnu"], "Did you mean 'run'"),
        (["run", "--jbos", "2"], "--jobs"),
        (["run", "--jobs", "0"], "--jobs"),
        (["run", "tinny"], "nearest is tiny"),
        (["run", "--set", "train.epochz=3"], "nearest is epochs"),
        (["run", "absent.yaml"], "no file absent.yaml"),
        (["stage"], "name"),
        (["stage", "msk"], "nearest is mask"),
        (["show", "calibrte"], "nearest is calibrate"),
        (["ls", "presents"], "nearest is presets"),
        (["report"], "make one with: sm-ops run"),
        (["report", "nine"], "no finished run named 'nine'"),
    ],
)
def test_bad_usage_is_one_sentence_and_exit_code_2(arguments, words, home):
    done = sm_ops(*arguments, home=home)
    assert done.returncode == 2
    assert done.stdout == ""
    (line,) = done.stderr.splitlines()
    assert line.startswith("sm-ops: ")
    assert words in line


def test_a_stage_without_its_inputs_says_what_to_run_first(home):
    done = sm_ops("stage", "mask", "--config", str(SMALLEST), home=home)
    assert done.returncode == 2
    assert "Step mask needs synthesize" in done.stderr
    assert "sm-ops stage synthesize" in done.stderr
    assert not home.exists(), "nothing is made for a step that cannot run"


def test_commands_that_read_make_no_home(home):
    for arguments in (["ls"], ["ls", "runs"], ["show"], ["report"]):
        sm_ops(*arguments, home=home)
        assert not home.exists(), arguments


def run_program(program: str, home) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, env=environment(home), check=False
    )


OUTCOMES = {
    "RuntimeError('x')": (1, "Internal error: RuntimeError"),
    "InputError('a', 'Bad input.')": (2, "Bad input. [a]"),
    "StageError('a', 'Check failed.')": (3, "Check failed. [a]"),
    "KeyboardInterrupt": (130, "interrupted; run the same command again"),
    "PermissionError(13, 'x', '/')": (2, "Permission denied at /"),
    "BrokenPipeError(32, 'x')": (2, "Broken pipe; the process or server at its other end has gone"),
}


@pytest.mark.parametrize("failure", OUTCOMES)
def test_each_kind_of_failure_has_its_exit_code(failure, home):
    code, words = OUTCOMES[failure]
    program = (
        "import sm_ops.listing as listing; from sm_ops.core.errors import *; from sm_ops import cli\n"
        f"def fail(*_): raise {failure}\n"
        "listing.listing = fail; import sys; sys.argv = ['sm-ops', 'ls']; cli.main()"
    )
    done = run_program(program, home)
    assert done.returncode == code
    (line,) = done.stderr.splitlines()
    assert words in line


def test_a_reader_that_has_gone_ends_a_command_in_silence_but_not_as_done(home):
    for arguments in (["ls", "steps", "--json"], ["--help"]):
        process = subprocess.Popen(
            command(*arguments), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment(home)
        )
        process.stdout.close()
        assert process.stderr.read() == ""
        process.stderr.close()
        assert process.wait() == 141


# ---- data for programs ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "arguments", [["ls", "--json"], ["ls", "steps", "--json"], ["ls", "rule", "--json"], ["show", "--json"]]
)
def test_json_is_all_of_standard_output(arguments, home):
    done = sm_ops(*arguments, home=home)
    assert done.returncode == 0
    assert isinstance(json.loads(done.stdout), list)
    assert done.stderr == ""


def test_show_says_what_to_type_next_on_standard_error(home):
    done = sm_ops("show", "--config", str(SMALLEST), home=home)
    assert done.stderr == f"next: sm-ops run {SMALLEST}\n"
    assert done.stdout.startswith("synthesize")
    assert "it was never run here" in done.stdout


# ---- what is imported ----------------------------------------------------------------------------------

HEAVY = ("torch", "transformers", "mlflow", "prefect", "dvc", "matplotlib", "peft", "boto3")


@pytest.mark.parametrize("arguments", [["--help"], ["run", "--help"], ["ls"], ["ls", "steps"], ["show"]])
def test_light_commands_import_nothing_heavy(arguments, home):
    assert imported_by(arguments, home) == []


def imported_by(arguments: list[str], home) -> list[str]:
    program = (
        "import atexit, sys\n"
        f"atexit.register(lambda: print([m for m in {HEAVY} if m in sys.modules], file=sys.stderr))\n"
        f"sys.argv = ['sm-ops', *{arguments}]\n"
        "from sm_ops.cli import main; main()"
    )
    done = run_program(program, home)
    assert done.returncode == 0, done.stderr
    return eval(done.stderr.splitlines()[-1])


def test_the_version_is_that_of_the_project(home):
    assert f'version = "{sm_ops("--version", home=home).stdout.split()[1]}"' in (ROOT / "pyproject.toml").read_text()


# ---- streams that are not there ------------------------------------------------------------------------


@pytest.mark.parametrize("streams", [">&-", "2>&-", ">&- 2>&-", "2>/dev/full"])
def test_a_closed_or_full_stream_ends_no_command(streams, home):
    words = f"{shlex.join(command('ls', 'presets'))} {streams}"
    done = subprocess.run(["bash", "-c", words], env=environment(home), check=False, capture_output=True, text=True)
    assert done.returncode == 0
    assert done.stderr == ""
    assert ("tiny" in done.stdout) == (">&-" not in streams.replace("2>&-", ""))


@pytest.mark.parametrize("streams", ["2>&-", "2>/dev/full"])
def test_a_failure_that_cannot_be_said_keeps_its_exit_code(streams, home):
    words = f"{shlex.join(command('ls', 'presents'))} {streams}"
    assert subprocess.run(["bash", "-c", words], env=environment(home), check=False).returncode == 2


def test_a_link_to_itself_is_a_path_that_cannot_be_read(home, tmp_path):
    loop = tmp_path / "loop.jsonl"
    loop.symlink_to(loop)
    done = sm_ops("score", str(loop), "--model", "x", "--out", str(tmp_path / "s.jsonl"), home=home)
    assert done.returncode == 2
    assert "Internal error" not in done.stderr
