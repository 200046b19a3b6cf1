"""A vault under AWS KMS, which moto stands in for: the same behaviour, and each refusal in words."""

from __future__ import annotations

import json

import boto3
import pytest
from botocore.exceptions import ClientError
from moto import mock_aws
from vault_samples import RECORDS, VALUES, fill, new_key

from sm_ops.core.errors import InputError
from sm_ops.storage import kms as kms_module
from sm_ops.storage.kms import Kms
from sm_ops.vault import Vault


@pytest.fixture
def aws(monkeypatch):
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, "testing")
    monkeypatch.setenv("AWS_DEFAULT_REGION", "eu-central-1")
    with mock_aws():
        yield boto3.client("kms")


def new_kms_key(aws) -> str:
    return aws.create_key()["KeyMetadata"]["KeyId"]


@pytest.fixture
def vault(aws, tmp_path) -> Vault:
    made = Vault(tmp_path / "vault")
    made.init(f"kms:{new_kms_key(aws)}")
    fill(made)
    made.add_values("notes", VALUES)
    return made


def test_a_vault_under_kms_reads_and_verifies(vault):
    assert dict(vault.mappings("notes").items()) == RECORDS
    assert list(vault.values("notes"))[:2] == VALUES
    found = vault.status(verify=True)
    assert found["key"].startswith("kms:")
    assert found["key_problem"] is None
    assert found["datasets"][0]["state"] == "verified"
    assert not vault.key_file.exists()


def test_an_alias_names_a_key(aws, tmp_path):
    aws.create_alias(AliasName="alias/sm-ops", TargetKeyId=new_kms_key(aws))
    made = Vault(tmp_path / "aliased")
    made.init("kms:alias/sm-ops")
    fill(made)
    assert dict(made.mappings("notes").items()) == RECORDS


def test_the_context_names_the_dataset_and_is_bound_to_the_data_key(vault, aws):
    (path,) = (vault.folder / "datasets" / "notes").glob("key-*")
    key_file = json.loads(path.read_bytes())
    wrapped = bytes.fromhex(key_file["sealed"])
    context = {"application": "sm-ops vault", "vault": key_file["vault"], "dataset": "notes", "key": key_file["id"]}
    assert len(aws.decrypt(CiphertextBlob=wrapped, EncryptionContext=context)["Plaintext"]) == 32
    with pytest.raises(ClientError):
        aws.decrypt(CiphertextBlob=wrapped, EncryptionContext=context | {"dataset": "other"})


def test_flipped_bytes_and_other_datasets_are_refused(vault, aws):
    fill(vault, "other")
    ours, theirs = (next((vault.folder / "datasets" / name).glob("key-*")) for name in ("notes", "other"))
    sound = ours.read_bytes()
    for place in range(0, len(sound), 11):
        ours.write_bytes(sound[:place] + bytes([sound[place] ^ 1]) + sound[place + 1 :])
        with pytest.raises(InputError) as refused:
            vault.mappings("notes")
        assert refused.value.code in ("vault-damaged", "vault-format", "kms-ciphertext", "kms-refused", "no-key")
    ours.write_bytes(theirs.read_bytes())
    with pytest.raises(InputError, match="is damaged"):
        vault.mappings("notes")


def test_rotation_between_kms_keys_and_files(vault, aws, tmp_path, monkeypatch):
    second = f"kms:{new_kms_key(aws)}"
    assert vault.rotate(second) == ["notes"]
    assert vault.rotate(second) == []
    assert (
        vault.status(verify=True)["datasets"][0] | {"state": "verified", "key": second}
        == (vault.status(verify=True)["datasets"][0])
    )
    assert vault.rotate(data_keys=True) == ["notes"]
    assert vault.rotate(f"file:{tmp_path}/local.key") == ["notes"]
    monkeypatch.setattr(Kms, "_call", lambda *_, **__: pytest.fail("KMS is needed no more"))
    assert dict(vault.mappings("notes").items()) == RECORDS


def test_shredding_asks_kms_for_nothing(vault, monkeypatch):
    monkeypatch.setattr(Kms, "_call", lambda *_, **__: pytest.fail("KMS was asked"))
    assert vault.shred("notes")["records"] == 5
    with pytest.raises(InputError, match="was shredded"):
        vault.mappings("notes")


def test_an_unknown_key_is_refused_before_a_vault_is_made(aws, tmp_path):
    new = Vault(tmp_path / "new")
    with pytest.raises(InputError, match="refused the key absent with NotFoundException; check the key's id"):
        new.init("kms:absent")
    assert not new.exists()


def test_without_credentials_or_network_it_says_so(aws, tmp_path, monkeypatch):
    key = new_kms_key(aws)
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_DEFAULT_REGION"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    monkeypatch.setenv("AWS_CONFIG_FILE", str(tmp_path / "none"))
    with pytest.raises(InputError, match=r"could not be asked \(NoRegionError\)"):
        Vault(tmp_path / "new").init(f"kms:{key}")


@pytest.mark.parametrize(
    ("code", "words"),
    [
        ("AccessDeniedException", "need kms:GenerateDataKey"),
        ("DisabledException", "enable the key"),
        ("KMSInvalidStateException", "disabled or about to be deleted"),
        ("IncorrectKeyException", "another key, or damaged"),
        ("LimitExceeded", "refused the key k with LimitExceeded"),
    ],
)
def test_refusals_hold_the_code_and_no_text_of_the_service(monkeypatch, code, words):
    class Client:
        def decrypt(self, **_):
            raise ClientError({"Error": {"Code": code, "Message": "secret-detail"}}, "Decrypt")

    kms = Kms("k")
    kms._client = Client()
    with pytest.raises(InputError, match=words) as refused:
        kms.decrypt(b"", {})
    assert "secret-detail" not in str(refused.value)
    assert refused.value.__cause__ is None


def test_a_status_without_kms_says_what_it_could_not_check(vault, monkeypatch):
    def unreachable(*_, **__):
        raise InputError("kms-unreachable", "AWS KMS could not be asked (EndpointConnectionError).")

    monkeypatch.setattr(kms_module.Kms, "_call", unreachable)
    (state,) = vault.status(verify=True)["datasets"]
    assert (state["state"], state["records"]) == ("sealed", 5)


def test_no_key_of_ours_is_sent_to_kms_in_place_of_a_data_key(vault, monkeypatch):
    monkeypatch.setenv("SM_OPS_VAULT_KEY", new_key())
    assert dict(vault.mappings("notes").items()) == RECORDS, "a local key in the environment does not matter here"
