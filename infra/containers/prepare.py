"""What a new stack needs once: the buckets, and an MLflow user for the workers. Running it again changes nothing.

The administrators' credentials come from the environment; workers never have them.
"""

import base64
import json
import os
from pathlib import Path
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import boto3

BUCKETS = ("mlflow", "dvc", "dvc-restricted", "releases")


def make_buckets() -> None:
    """Create the buckets that are missing."""
    s3 = boto3.client("s3")
    present = {bucket["Name"] for bucket in s3.list_buckets()["Buckets"]}
    for name in BUCKETS:
        if name not in present:
            s3.create_bucket(Bucket=name)
            print(f"bucket {name}: made")


def make_user(name: str, password: str) -> None:
    """Create an MLflow user, who sees only what it made itself (the server's default permission)."""
    basic = base64.b64encode(f"admin:{os.environ['MLFLOW_AUTH_ADMIN_PASSWORD']}".encode()).decode()
    request = Request(
        f"{os.environ['MLFLOW_TRACKING_URI']}/api/2.0/mlflow/users/create",
        data=json.dumps({"username": name, "password": password}).encode(),
        headers={"Authorization": f"Basic {basic}", "Content-Type": "application/json"},
    )
    try:
        urlopen(request, timeout=30)
    except HTTPError as error:
        if json.load(error).get("error_code") != "RESOURCE_ALREADY_EXISTS":
            raise
    else:
        print(f"MLflow user {name}: made")


make_buckets()
make_user("worker", Path("/run/secrets/mlflow_worker").read_text())
