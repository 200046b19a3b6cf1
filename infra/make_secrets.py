"""`python3 infra/make_secrets.py FOLDER`: makes what `infra/compose.yaml` reads as secrets. What is there stays.

The folder is for its owner alone (0700). The files in it are readable by any user, because an engine shows a file to a
container as it is, and servers there run under users of their own. Nothing beyond Python is needed.
"""

import base64
import json
import secrets
import sys
from pathlib import Path

ROLES = Path(__file__).parent / "policies" / "s3_roles.json"
PASSWORDS = ("postgres", "prefect_database", "mlflow_database", "mlflow_admin", "mlflow_worker", "mlflow_cookies")


def main(folder: Path) -> None:
    """Write every secret that is missing."""
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    folder.chmod(0o700)
    for name in PASSWORDS:
        _keep(folder / name, secrets.token_urlsafe(32))
    _keep(folder / "prefect_auth", f"admin:{secrets.token_urlsafe(32)}")
    _keep(folder / "vault_key", base64.b64encode(secrets.token_bytes(32)).decode())
    identities = []
    for role, actions in json.loads(ROLES.read_text()).items():
        secret_key = _keep(folder / f"s3_{role}", secrets.token_urlsafe(32))
        identities.append(
            {"name": role, "credentials": [{"accessKey": role, "secretKey": secret_key}], "actions": actions}
        )
    _write(folder / "s3_identities.json", json.dumps({"identities": identities}))
    print(f"{folder}: {len(list(folder.iterdir()))} files. Keep a copy of vault_key apart from every backup.")


def _keep(path: Path, new: str) -> str:
    """What is in the file, which is made where there is none."""
    if not path.exists():
        _write(path, new)
    return path.read_text()


def _write(path: Path, value: str) -> None:
    partial = path.with_name(f".{path.name}")
    partial.write_text(value)
    partial.chmod(0o644)
    partial.replace(path)


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("Usage: python3 infra/make_secrets.py FOLDER")
    try:
        main(Path(sys.argv[1]))
    except OSError as error:
        sys.exit(f"{error.filename}: {error.strerror}; name a folder that can be made and written.")
