"""Two Ray nodes on this machine: the bytes are those of one process, whatever is killed in the middle."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import threading
import time
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path

import pytest
from driving import run_cli
from processes import alive, children
from toy_work import EXPECTED, RECORDS, Toy, as_bytes, lines

from sm_ops.core.errors import InputError
from sm_ops.scoring.shards import score_in_shards

pytestmark = [
    pytest.mark.slow,
    pytest.mark.timeout(400),  # Ray's processes take seconds each to start, more on a busy machine
    pytest.mark.skipif(find_spec("ray") is None, reason="the extra scaleout is not installed"),
]
HERE = Path(__file__).parent
BATCHES = len(Toy().plan(RECORDS).batches)


@pytest.fixture(scope="module")
def cluster():
    from ray_cluster import Cluster

    cluster = Cluster(1, 1, path=(HERE,))
    yield cluster
    cluster.close()
    assert [pid for pid in _of(cluster) if alive(pid)] == []


def _of(cluster):
    """Processes that have the cluster's folder in their command line."""
    from processes import arguments, living

    return [pid for pid in living() if any(str(cluster.folder) in part for part in arguments(pid))]


@pytest.fixture
def here(cluster, monkeypatch):
    """This process is a client of the cluster."""
    for name, value in cluster.environment.items():
        monkeypatch.setenv(name, value)
    return cluster


@contextmanager
def when_some_are_done(folder, action):
    """Once a few more shards are there, act, in a thread."""
    wanted = len(list(folder.glob("*.npz"))) + 5

    def wait():
        while len(list(folder.glob("*.npz"))) < wanted:
            time.sleep(0.1)
        action()

    thread = threading.Thread(target=wait, daemon=True)
    thread.start()
    yield
    thread.join(timeout=60)
    assert not thread.is_alive()


def test_the_command_writes_the_same_file(here, model, tmp_path):
    records, plain, shared = tmp_path / "records.jsonl", tmp_path / "plain.jsonl", tmp_path / "shared.jsonl"
    records.write_text("".join(f'{{"id": "{i}", "text": "{"abc, " * (i % 40 + 1)}{i}"}}\n' for i in range(300)))
    score = ("score", str(records), "--model", str(model))
    for out, more in ((plain, ()), (shared, ("--set", "engine=ray", "--set", "workers=2"))):
        done = run_cli(*score, "--out", str(out), *more, home=tmp_path / out.stem)
        assert done.returncode == 0, done.stderr
        assert not {"INFO", "WARNING", "Traceback", "Ray"} & set(done.stderr.split())  # Ray's own messages
    assert shared.read_bytes() == plain.read_bytes()


def test_a_node_that_is_killed_loses_nothing(here, tmp_path):
    log, folder = tmp_path / "log", tmp_path / "s"
    extra = here.start(1)
    progress = []
    with when_some_are_done(folder, lambda: here.kill(extra)):
        scored = score_in_shards(
            Toy(log, pause=0.5), RECORDS, folder, lambda *c: progress.append(c), 3, "ray", shard_tokens=100
        )
    assert as_bytes(scored) == EXPECTED
    assert len({line.split()[0] for line in lines(log)}) >= 2
    assert BATCHES <= len(lines(log)) < 1.5 * BATCHES  # what was finished is not done again
    assert progress[-1] == (200, 200)
    assert progress == sorted(progress)


def test_a_killed_asker_leaves_the_nodes_free_and_finds_its_shards(here, tmp_path):
    log, folder, script = tmp_path / "log", tmp_path / "s", tmp_path / "asks.py"
    script.write_text(
        "import sys; from pathlib import Path; from toy_work import *\n"
        "from sm_ops.scoring.shards import score_in_shards\n"
        "if __name__ == '__main__':\n"
        "    log, folder = map(Path, sys.argv[1:])\n"
        "    score_in_shards(Toy(log, pause=0.5), RECORDS, folder, None, 2, 'ray', 100)\n"
    )
    path = os.pathsep.join([str(HERE), str(HERE.parents[1])])
    asker = subprocess.Popen(
        [sys.executable, str(script), str(log), str(folder)], env={**os.environ, "PYTHONPATH": path}
    )
    drivers = []
    with when_some_are_done(folder, lambda: (drivers.extend(children(asker.pid)), asker.kill())):
        assert asker.wait(timeout=300) == -signal.SIGKILL
    assert len(drivers) == 1
    deadline = time.monotonic() + 30
    while alive(drivers[0]) and time.monotonic() < deadline:
        time.sleep(0.1)
    assert not alive(drivers[0])
    before = len(list(folder.glob("*.npz")))
    again = Toy(tmp_path / "again")
    assert as_bytes(score_in_shards(again, RECORDS, folder, None, 2, "ray", shard_tokens=100)) == EXPECTED
    assert len(lines(again.log)) <= BATCHES - before


@pytest.mark.parametrize(
    ("toy", "code", "told"),
    [
        (Toy(fatal=9), "toy", "had enough"),
        (Toy(fatal=9, kill=True), "worker-died", "finished shards are kept"),
        (Toy(device="cuda"), "no-ray-node", "a GPU"),
    ],
    ids=["fails", "dies", "no-gpu"],
)
def test_what_cannot_be_done_is_one_sentence(here, tmp_path, toy, code, told):
    with pytest.raises(InputError, match=told) as caught:
        score_in_shards(toy, RECORDS, tmp_path, None, 2, "ray", shard_tokens=100)
    assert caught.value.code == code
    assert set(children(os.getpid())) <= {node.pid for node in here.nodes}


def test_another_token_is_refused(here, tmp_path, monkeypatch):
    (tmp_path / "token").write_text("0" * 64)
    monkeypatch.setenv("RAY_AUTH_TOKEN_PATH", str(tmp_path / "token"))
    with pytest.raises(InputError, match="takes no work from here"):
        score_in_shards(Toy(), RECORDS, tmp_path, engine="ray")


def test_other_code_on_a_node_is_refused(here, tmp_path):
    """The nodes import another `toy_work` than the one that asks for the work here."""
    changed = tmp_path / "source"
    changed.mkdir()
    (changed / "toy_work.py").write_text((HERE / "toy_work.py").read_text().replace("% 1000", "% 999"))
    script = tmp_path / "asks.py"
    script.write_text(
        "import sys; from pathlib import Path; from toy_work import *\n"
        "from sm_ops.core.errors import InputError\n"
        "from sm_ops.scoring.shards import score_in_shards\n"
        "if __name__ == '__main__':\n"
        "    try: score_in_shards(Toy(), RECORDS, Path(sys.argv[1]), engine='ray')\n"
        "    except InputError as error: print(error)\n"
    )
    path = os.pathsep.join([str(changed), str(HERE.parents[1])])
    asked = subprocess.run(
        [sys.executable, str(script), str(tmp_path / "s")],
        env={**os.environ, "PYTHONPATH": path}, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert re.search(r"another version of .*toy_work .*\[ray-node-differs\]", asked.stdout)


@pytest.mark.parametrize(
    ("cpus", "told"),
    [((0, 1), "no living node with 1 CPU"), ((1,), "cluster ended")],
    ids=["the-only-node-with-room", "head"],
)
def test_a_cluster_that_cannot_go_on_is_one_sentence_and_the_rest_is_found(tmp_path, monkeypatch, cpus, told):
    from ray_cluster import Cluster

    cluster, folder = Cluster(*cpus, path=(HERE,)), tmp_path / "s"
    try:
        for name, value in cluster.environment.items():
            monkeypatch.setenv(name, value)
        kill = when_some_are_done(folder, lambda: cluster.kill(cluster.nodes[-1]))
        with kill, pytest.raises(InputError, match=rf"{told}.* finished shards are kept"):
            score_in_shards(Toy(pause=0.3), RECORDS, folder, engine="ray", shard_tokens=100)
    finally:
        cluster.close()
    again = Toy(tmp_path / "again")
    assert as_bytes(score_in_shards(again, RECORDS, folder, shard_tokens=100)) == EXPECTED
    assert 0 < len(lines(again.log)) < BATCHES


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    """A small GPT-2 over letters, built on the spot."""
    import torch
    from tokenizers import Regex, Tokenizer, models, pre_tokenizers
    from transformers import GPT2Config, GPT2LMHeadModel, PreTrainedTokenizerFast

    signs = {"<|endoftext|>": 0, **{sign: i + 1 for i, sign in enumerate("abc, 0123456789")}}
    tokenizer = Tokenizer(models.WordLevel(signs, unk_token="<|endoftext|>"))
    tokenizer.pre_tokenizer = pre_tokenizers.Split(Regex("."), "isolated")
    folder = tmp_path_factory.mktemp("model")
    PreTrainedTokenizerFast(tokenizer_object=tokenizer, bos_token="<|endoftext|>").save_pretrained(folder)
    torch.manual_seed(0)
    ends = {"bos_token_id": 0, "eos_token_id": 0}
    config = GPT2Config(vocab_size=len(signs), n_embd=16, n_layer=2, n_head=2, n_positions=64, **ends)
    GPT2LMHeadModel(config).eval().save_pretrained(folder)
    return folder
