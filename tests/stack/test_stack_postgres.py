"""The stack over PostgreSQL and S3 with real servers: closed to strangers and to each other, repaired, saved."""

from __future__ import annotations

import os
import signal
import socket
import subprocess

import pytest
from driving import run_cli
from running_stack import (
    Servers,
    ask,
    assert_secrets_stay,
    client,
    end,
    is_there,
    leave_something,
    open_home,
    processes_of,
    runs_again,
    secrets_of,
    start,
    status,
)

from sm_ops.core.errors import InputError
from sm_ops.stack.plan import Plan
from sm_ops.stack.postgres import program

psycopg2 = pytest.importorskip("psycopg2")
pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def stack():
    try:
        program("initdb")
    except InputError as error:
        pytest.skip(error.hint)
    with open_home() as home:
        process = start(home, "--postgres", "--s3")
        yield home, process
        process.kill()


def connect(home, user, password, database):
    port = Plan.load(home).ports["postgres"]
    psycopg2.connect(host="127.0.0.1", port=port, user=user, password=password, dbname=database).close()


def test_every_service_answers(stack):
    states = {name: row["state"] for name, row in status(stack[0]).items()}
    names = ("postgres", "s3", "prefect-server", "mlflow", "prefect-worker-default")
    assert states == dict.fromkeys(names, "RUNNING")


def test_a_password_opens_the_databases_of_its_role_alone(stack):
    home, _ = stack
    secrets = secrets_of(home)
    connect(home, "prefect", secrets["postgres-prefect"], "prefect")
    connect(home, "mlflow", secrets["postgres-mlflow"], "mlflow_auth")
    for user, password, database in (
        ("prefect", "wrong", "prefect"),
        ("prefect", "", "prefect"),
        ("prefect", secrets["postgres-prefect"], "mlflow"),
        ("mlflow", secrets["postgres-mlflow"], "prefect"),
        ("sm_ops", secrets["postgres-prefect"], "prefect"),
        ("sm_ops", "", "template1"),
    ):
        with pytest.raises(psycopg2.OperationalError):
            connect(home, user, password, database)


def test_objects_are_closed_to_strangers_at_every_port(stack):
    home, _ = stack
    known, ports = client(home), Plan.load(home).ports
    s3 = s3_client(known)
    s3.put_object(Bucket="releases", Key="a/object", Body=b"content")
    assert s3.get_object(Bucket="releases", Key="a/object")["Body"].read() == b"content"
    assert ask(f"{known['AWS_ENDPOINT_URL']}/sm-ops/a/object")[0] == 403
    with pytest.raises(Exception, match="SignatureDoesNotMatch"):
        s3_client(known | {"AWS_SECRET_ACCESS_KEY": "wrong"}).list_buckets()
    assert ask(f"http://127.0.0.1:{ports['filer']}/buckets/sm-ops/a/object")[0] == 401
    for name in (name for name in ports if name.endswith("-grpc")):
        assert not speaks_plainly(ports[name]), name


def s3_client(known):
    import boto3

    return boto3.client(
        "s3",
        endpoint_url=known["AWS_ENDPOINT_URL"],
        aws_access_key_id=known["AWS_ACCESS_KEY_ID"],
        aws_secret_access_key=known["AWS_SECRET_ACCESS_KEY"],
        region_name=known["AWS_DEFAULT_REGION"],
    )


def speaks_plainly(port: int) -> bool:
    """Whether HTTP/2, which gRPC is, is spoken without TLS: the server answers the preface with its settings."""
    with socket.create_connection(("127.0.0.1", port), timeout=5) as connection:
        connection.sendall(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + bytes([0, 0, 0, 4, 0, 0, 0, 0, 0]))
        try:
            return connection.recv(9)[3:4] == b"\x04"
        except OSError:
            return False


def test_artifacts_of_mlflow_are_objects(stack):
    home, _ = stack
    servers = Servers(home)
    experiment = servers.mlflow("experiments/create", {"name": "with files"})["experiment_id"]
    run = servers.mlflow("runs/create", {"experiment_id": experiment})["run"]["info"]["run_id"]
    base = client(home)["MLFLOW_TRACKING_URI"] + "/api/2.0/mlflow-artifacts/artifacts"
    place = f"{base}/{experiment}/{run}/artifacts/note.json"
    assert put(place, servers.mlflow_auth, b'{"a": 1}') == 200
    assert ask(place, servers.mlflow_auth) == (200, '{"a": 1}')
    found = s3_client(client(home)).list_objects_v2(Bucket="mlflow")["Contents"]
    assert [row["Key"].rpartition("/")[2] for row in found] == ["note.json"]


def put(url: str, auth: str, data: bytes) -> int:
    import base64
    from urllib.request import Request, urlopen

    headers = {"Authorization": f"Basic {base64.b64encode(auth.encode()).decode()}"}
    with urlopen(Request(url, data, headers, method="PUT"), timeout=60) as answer:
        return answer.status


def test_secrets_stay_where_they_are(stack):
    assert_secrets_stay(stack[0])


def test_postgres_killed_is_started_again_and_nothing_is_lost(stack):
    home, _ = stack
    leave_something(Servers(home), "before")
    postmaster = status(home)["postgres"]["pid"]
    os.kill(postmaster, signal.SIGKILL)
    runs_again(home, "postgres", postmaster)
    for name in ("prefect-server", "mlflow"):
        runs_again(home, name, 0)
    assert is_there(Servers(home), "before")


def test_a_backup_of_the_running_stack_holds_what_was_there(stack, tmp_path):
    home, _ = stack
    leave_something(Servers(home), "kept")
    assert run_cli("serve", "backup", str(tmp_path / "saved"), home=home).returncode == 0
    dumps = sorted(path.name for path in (tmp_path / "saved" / "databases").iterdir())
    assert dumps == ["mlflow.dump", "mlflow_auth.dump", "prefect.dump"]
    assert "\tkept\t" in restored(tmp_path / "saved" / "databases" / "mlflow.dump")
    assert "\tkept\t" in restored(tmp_path / "saved" / "databases" / "prefect.dump")


def restored(dump) -> str:
    words = [program("pg_restore"), "--data-only", "--file=-", str(dump)]
    return subprocess.run(words, capture_output=True, text=True, check=True).stdout


def test_a_backup_of_the_ended_stack_is_restored_and_served_elsewhere(stack, tmp_path):
    home, process = stack
    leave_something(Servers(home), "last")
    assert end(process) == 0
    assert processes_of(home) == []
    assert run_cli("serve", "backup", str(tmp_path / "saved"), home=home).returncode == 0
    assert processes_of(home) == []
    with open_home() as other:
        done = run_cli("serve", "restore", str(tmp_path / "saved"), home=other)
        assert done.returncode == 0, done.stderr
        assert processes_of(other) == []
        again = start(other)
        assert is_there(Servers(other), "last")
        assert end(again) == 0
