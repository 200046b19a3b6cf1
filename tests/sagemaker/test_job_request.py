"""A job is a pure function of config, machine and inventory, and what the service would refuse is found before."""

from __future__ import annotations

import json
import re

import pytest
from aws_stand_in import ACCOUNT

from sm_ops.core.config.loading import validated
from sm_ops.core.config.sagemaker import Inventory, Machine
from sm_ops.core.errors import InputError
from sm_ops.storage.sagemaker.inputs import Channel, channels_of, received
from sm_ops.storage.sagemaker.request import outputs_of, problems, series_of, training_job

pytestmark = pytest.mark.unit

CHANNELS = [Channel("config", {}, {"config.json": "a" * 64}), Channel("in-1", {}, {"": "b" * 64})]


@pytest.fixture
def job(machine, inventory):
    return training_job("tiny-0123456789ab", 2, machine, inventory, CHANNELS)


def test_the_whole_request(job, inventory, machine):
    assert re.fullmatch("[0-9a-f]{64}", job.pop("HyperParameters")["request"])
    sources = {each["ChannelName"]: each["DataSource"]["S3DataSource"]["S3Uri"] for each in job.pop("InputDataConfig")}
    assert sources["in-1"] == f"s3://jobs/sm-ops/inputs/in-1/{'b' * 32}/"
    assert set(sources) == {"config", "in-1"}
    assert job == {
        "TrainingJobName": "tiny-0123456789ab-2",
        "AlgorithmSpecification": {
            "TrainingImage": machine["image"],
            "TrainingInputMode": "File",
            "ContainerEntrypoint": ["python", "-m", "sm_ops.storage.sagemaker.container"],
        },
        "RoleArn": f"arn:aws:iam::{ACCOUNT}:role/sm-ops-job",
        "OutputDataConfig": {"S3OutputPath": "s3://jobs/sm-ops/outputs/", "KmsKeyId": inventory["kms_key"]},
        "ResourceConfig": {"InstanceType": "ml.g5.xlarge", "InstanceCount": 1, "VolumeSizeInGB": 50},
        "StoppingCondition": {"MaxRuntimeInSeconds": 86_400, "MaxWaitTimeInSeconds": 172_800},
        "EnableNetworkIsolation": True,
        "EnableInterContainerTrafficEncryption": True,
        "EnableManagedSpotTraining": True,
        "CheckpointConfig": {
            "S3Uri": "s3://jobs/sm-ops/checkpoints/tiny-0123456789ab/",
            "LocalPath": "/opt/ml/checkpoints",
        },
        "Tags": [{"Key": "project", "Value": "sm-ops"}, {"Key": "series", "Value": "tiny-0123456789ab"}],
    }


def test_where_results_come_to_lie(job):
    assert outputs_of(job) == "s3://jobs/sm-ops/outputs/tiny-0123456789ab-2/output/"


def test_a_machine_without_disks_of_its_own_encrypts_its_volume(machine, inventory):
    made = training_job("a", 1, {**machine, "instance": "ml.c5.xlarge"}, inventory, CHANNELS)
    assert made["ResourceConfig"]["VolumeKmsKeyId"] == inventory["kms_key"]


def test_without_spot_nothing_waits(machine, inventory):
    made = training_job("a", 1, {**machine, "spot": False}, inventory, CHANNELS)
    assert made["StoppingCondition"] == {"MaxRuntimeInSeconds": 86_400}
    assert not made["EnableManagedSpotTraining"]


def test_a_network(machine, inventory):
    inside = {**inventory, "subnets": ["subnet-1"], "security_groups": ["sg-1"]}
    made = training_job("a", 1, machine, inside, CHANNELS)
    assert made["VpcConfig"] == {"Subnets": ["subnet-1"], "SecurityGroupIds": ["sg-1"]}


def test_a_series_is_named_by_what_it_does(machine, inventory):
    series = series_of({"name": "my run, 2"}, machine, inventory, CHANNELS, local=False)
    assert re.fullmatch("my-run-2-[0-9a-f]{12}", series)
    other = [CHANNELS[0], Channel("in-1", {}, {"": "c" * 64})]
    assert series_of({"name": "my run, 2"}, machine, inventory, other, local=False) != series
    assert series_of({"name": "my run, 2"}, machine, inventory, CHANNELS, local=True) == f"{series}-local"


@pytest.mark.parametrize(
    ("path", "value", "said"),
    [
        (("TrainingJobName",), "has spaces", "TrainingJobName is 'has spaces', which is not of the form"),
        (("TrainingJobName",), "a" * 64, "TrainingJobName is over the most of 63"),
        (("ResourceConfig", "InstanceType"), "ml.q9.xlarge", "which this version of boto3 does not know"),
        (("StoppingCondition", "MaxRuntimeInSeconds"), 0, "MaxRuntimeInSeconds is under the least of 1"),
        (("StoppingCondition", "MaxWaitTimeInSeconds"), 1, "MaxWaitTimeInSeconds is less than MaxRuntimeInSeconds"),
        (("AlgorithmSpecification", "TrainingImage"), "sm-ops:latest", "TrainingImage names no digest"),
        (("RoleArn",), "admin-of-the-whole-account", "RoleArn is 'admin-of-the-whole-account', which is not"),
        (("Typo",), 1, "there is no Typo"),
    ],
)
def test_what_the_service_would_refuse(path, value, said, job):
    *way, last = path
    place = job
    for name in way:
        place = place[name]
    place[last] = value
    assert said in "; ".join(problems(job))


def test_a_missing_part_is_named(job):
    del job["OutputDataConfig"]
    assert list(problems(job)) == ["OutputDataConfig is missing"]


@pytest.mark.parametrize(
    ("section", "change", "said"),
    [
        (Inventory, {"account": "12"}, "an account is 12 digits"),
        (Inventory, {"bucket": "Not_A_Bucket"}, "a bucket's name is"),
        (Inventory, {"account": "210987654321"}, "role is not account 210987654321's"),
        (Inventory, {"region": "us-east-1"}, "kms_key is not in the region us-east-1"),
        (Inventory, {"subnets": ["subnet-1"]}, "subnets and security_groups go together"),
        (Inventory, {"rolle": "x"}, "there is no setting rolle; the nearest is role"),
        (Machine, {"image": "sm-ops:latest"}, "an image is named by its digest"),
        (Machine, {"instance": "g5.xlarge"}, "reads like ml.g5.xlarge"),
        (Machine, {"hours": 50}, "wait_hours is 48, but it counts the 50 hours of running too"),
    ],
)
def test_settings_that_cannot_be(section, change, said, inventory, machine):
    given = {**(inventory if section is Inventory else machine), **change}
    with pytest.raises(InputError) as error:
        validated(section, given, "file")
    assert said in error.value.hint


# ---- channels ------------------------------------------------------------------------------------------


def config_with(place) -> dict:
    return {"flow": "surprise", "name": "own", "release": {"build": True}, "data": {"own": {"train": str(place)}}}


def in_the_job(channels, base):
    """The channels as a container finds them."""
    for channel in channels:
        for name, path in channel.files.items():
            target = base / "input" / "data" / channel.name / name
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(path.read_bytes())
    return base


@pytest.fixture
def sent(tmp_path):
    """Channels for a config that names one file, and the folder of a container that got them."""
    (tmp_path / "own").mkdir()
    file = tmp_path / "own" / "records.jsonl"
    file.write_text("{}\n")
    (tmp_path / "own" / "beside.txt").write_text("not declared")
    channels = channels_of(config_with(file), [str(file)], [], tmp_path)
    return channels, in_the_job(channels, tmp_path / "ml")


def test_a_job_gets_exactly_what_was_declared(sent):
    channels, base = sent
    config, own = channels
    assert set(config.files) == {"config.json", "inputs.json"}
    assert set(own.files) == {"records.jsonl"}
    assert "own" not in (base / "input/data/config/config.json").read_text().replace('"own"', "")


def test_settings_name_the_channels_own_paths_in_the_job(sent):
    channels, base = sent
    found = received(base)
    assert found["data"]["own"]["train"] == str(base / "input" / "data" / channels[1].name / "records.jsonl")
    assert found["release"]["build"] is False


@pytest.mark.parametrize("harm", ["changed", "more", "gone"])
def test_a_job_does_not_begin_with_other_inputs(harm, sent):
    channels, base = sent
    folder = base / "input" / "data" / channels[1].name
    if harm == "changed":
        (folder / "records.jsonl").write_text("{ }\n")
    elif harm == "more":
        (folder / "more.jsonl").write_text("{}\n")
    else:
        (folder / "records.jsonl").unlink()
    with pytest.raises(InputError, match="inputs-differ"):
        received(base)


def test_equal_inputs_are_sent_once(tmp_path):
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "x.txt").write_text("x")
    config = {"flow": "audit", "name": "x", "data": {"path": str(tmp_path / "a"), "public": str(tmp_path / "b")}}
    channels = channels_of(config, [str(tmp_path / "a"), str(tmp_path / "b")], [], tmp_path)
    assert len(channels) == 2
    written = json.loads(channels[0].files["config.json"].read_text())
    assert written["data"]["path"] == written["data"]["public"]


@pytest.mark.parametrize("where", ["vault", "vault/datasets", "."])
def test_mappings_and_keys_never_leave(where, tmp_path):
    (tmp_path / "home" / "vault" / "datasets").mkdir(parents=True)
    (tmp_path / "home" / "vault" / "datasets" / "d").write_text("-")
    place = tmp_path / "home" / where
    with pytest.raises(InputError, match="secret-input"):
        channels_of(config_with(place), [str(place)], [tmp_path / "home" / "vault"], tmp_path)


def test_the_pipeline_that_writes_mappings_stays_at_home(tmp_path):
    with pytest.raises(InputError, match="vault"):
        channels_of({"flow": "pii", "name": "x"}, [], [], tmp_path)
