"""The services of a plan, one description each, in the order in which they start."""

from __future__ import annotations

import os
from pathlib import Path

from sm_ops.core import fs, orchestration
from sm_ops.core.processes import command
from sm_ops.stack import postgres, s3
from sm_ops.stack.plan import HOST, Plan
from sm_ops.stack.secrets import secret
from sm_ops.stack.service import Service, http_answers, shared_environment

ADMIN = "admin"
"""MLflow's first user."""


def services(plan: Plan) -> list[Service]:
    """Every service of the plan."""
    return [
        *([postgres.service(plan)] if plan.postgres else []),
        *([s3.service(plan)] if plan.s3 else []),
        prefect_server(plan),
        mlflow(plan),
        *(prefect_worker(plan, pool) for pool in plan.pools),
    ]


def prefect_server(plan: Plan) -> Service:
    """Prefect's server; a sole password guards it."""
    environment = {
        **shared_environment(),
        "PREFECT_HOME": str(plan.folders.data / "prefect"),
        "PREFECT_API_DATABASE_CONNECTION_URL": database_url(plan, "prefect"),
        "PREFECT_SERVER_API_AUTH_STRING": _prefect_password(plan),
        "PREFECT_SERVER_ANALYTICS_ENABLED": "false",
    }
    return Service(
        name="prefect-server",
        command=command("prefect", "server", "start", "--host", HOST, "--port", str(plan.ports["prefect"])),
        environment=environment,
        folder=plan.folders.data,
        answers=http_answers(plan.url("prefect") + "/api/health"),
        url=plan.url("prefect"),
        needs=("postgres",) if plan.postgres else (),
        prepare=lambda: _folder(plan, "prefect"),
    )


def prefect_worker(plan: Plan, pool: str) -> Service:
    """Runs flows of a pool, each in a process with what the user's environment holds, the stack's clients beside it."""
    own = {k: v for k, v in os.environ.items() if not k.startswith(("PREFECT_", "MLFLOW_"))}
    environment = {
        **own,
        **shared_environment(),
        **client_variables(plan),
        "SM_OPS_HOME": str(plan.home),
        "PREFECT_HOME": str(plan.home / "prefect"),
        **orchestration.SETTINGS,
    }
    return Service(
        name=f"prefect-worker-{pool}",
        command=command("flows.worker", "--pool", pool, "--name", f"sm-ops-{pool}"),
        environment=environment,
        folder=Path.cwd(),
        answers=lambda: True,
        needs=("prefect-server",),
        prepare=lambda: (plan.home / "prefect").mkdir(parents=True, exist_ok=True),
        umask=-1,  # results get the rights that they have without Prefect
        patience=90,  # a run writes a checkpoint before it ends
    )


def mlflow(plan: Plan) -> Service:
    """MLflow's server, where a user may do nothing unless it is granted."""
    rights = plan.folders.secrets / "mlflow-auth.ini"
    artifacts = f"s3://{s3.ARTIFACTS}" if plan.s3 else str(artifacts_folder(plan))
    environment = {
        **shared_environment(),
        **_s3_client(plan),
        "MLFLOW_BACKEND_STORE_URI": database_url(plan, "mlflow"),
        "MLFLOW_ARTIFACTS_DESTINATION": artifacts,
        "MLFLOW_AUTH_CONFIG_PATH": str(rights),
        "MLFLOW_AUTH_ADMIN_USERNAME": ADMIN,
        "MLFLOW_AUTH_ADMIN_PASSWORD": secret(plan.folders, "mlflow-admin").reveal(),
        "MLFLOW_FLASK_SERVER_SECRET_KEY": secret(plan.folders, "mlflow-sessions").reveal(),
        "MLFLOW_SERVER_ENABLE_JOB_EXECUTION": "false",  # eight processes that nothing here uses
        "MLFLOW_DISABLE_TELEMETRY": "true",
    }

    def prepare() -> None:
        text = f"[mlflow]\ndefault_permission = NO_PERMISSIONS\ndatabase_uri = {database_url(plan, 'mlflow_auth')}\n"
        fs.write_atomic(rights, text.encode(), mode=0o600)
        _set_admin_password(plan)
        if plan.s3:
            s3.make_buckets()

    words = [
        "server",
        "--host",
        HOST,
        "--port",
        str(plan.ports["mlflow"]),
        "--workers",
        "1",
        "--app-name",
        "basic-auth",
    ]
    return Service(
        name="mlflow",
        command=command("mlflow", *words),
        environment=environment,
        folder=plan.folders.data,
        answers=http_answers(plan.url("mlflow") + "/health"),
        url=plan.url("mlflow"),
        needs=(*(("postgres",) if plan.postgres else ()), *(("s3",) if plan.s3 else ())),
        prepare=prepare,
    )


def client_variables(plan: Plan) -> dict[str, str]:
    """What a client of the stack needs, by the names that Prefect, MLflow and boto3 know."""
    return {
        "PREFECT_API_URL": plan.url("prefect") + "/api",
        "PREFECT_API_AUTH_STRING": _prefect_password(plan),
        "MLFLOW_TRACKING_URI": plan.url("mlflow"),
        "MLFLOW_TRACKING_USERNAME": ADMIN,
        "MLFLOW_TRACKING_PASSWORD": secret(plan.folders, "mlflow-admin").reveal(),
        **_s3_client(plan),
    }


def database_url(plan: Plan, database: str) -> str:
    """Where Prefect or MLflow keeps a database; with PostgreSQL it holds the password."""
    if plan.postgres:
        return postgres.url(plan, database, "postgresql+asyncpg" if database == "prefect" else "postgresql+psycopg2")
    scheme = "sqlite+aiosqlite" if database == "prefect" else "sqlite"
    return f"{scheme}:///{sqlite_file(plan, database)}"


def sqlite_file(plan: Plan, database: str) -> Path:
    """The file of a database without PostgreSQL."""
    return plan.folders.data / f"{database}.db"


def artifacts_folder(plan: Plan) -> Path:
    """Where MLflow keeps artifacts without S3."""
    return plan.folders.data / "mlartifacts"


def _prefect_password(plan: Plan) -> str:
    return f"{ADMIN}:{secret(plan.folders, 'prefect').reveal()}"


def _s3_client(plan: Plan) -> dict[str, str]:
    if not plan.s3:
        return {}
    return s3.keys(plan) | {"AWS_ENDPOINT_URL": plan.url("s3"), "AWS_DEFAULT_REGION": "us-east-1"}


def _folder(plan: Plan, name: str) -> None:
    fs.private_folder(plan.folders.data / name)


def _set_admin_password(plan: Plan) -> None:
    """MLflow takes the password at its very first start alone; from then on the database is told what the secret is."""
    from sqlalchemy import create_engine, inspect, text
    from werkzeug.security import check_password_hash, generate_password_hash

    password = secret(plan.folders, "mlflow-admin").reveal()
    engine = create_engine(database_url(plan, "mlflow_auth"))
    try:
        with engine.begin() as connection:
            if not inspect(connection).has_table("users"):
                return
            found = connection.execute(text("SELECT password_hash FROM users WHERE username = :name"), {"name": ADMIN})
            known = found.scalar()
            if known is not None and not check_password_hash(known, password):
                values = {"hash": generate_password_hash(password), "name": ADMIN}
                connection.execute(text("UPDATE users SET password_hash = :hash WHERE username = :name"), values)
    finally:
        engine.dispose()
