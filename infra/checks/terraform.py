"""Terraform: the form of each file, and the validation of the module, at the file that names its providers."""

import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

from infra.checks import Absent, complaint, tool

FILES = ("infra/terraform/**/*.tf", "infra/terraform/**/*.tftest.hcl", "infra/terraform/**/*.tfvars")
QUIET = {"CHECKPOINT_DISABLE": "1", "TF_IN_AUTOMATION": "1"}
MIRROR = "SM_OPS_TERRAFORM_MIRROR"
"""A folder with providers, for machines that reach no registry."""


def check(path: Path) -> Iterator[str]:
    """Yield what is wrong."""
    terraform = tool("terraform")
    if complaint(terraform, "fmt", "-check", str(path), environment=QUIET):
        yield "is not in the form of `terraform fmt`, or malformed"
    if path.name == "versions.tf" and "modules" not in path.parts:
        yield from _module(terraform, path.parent)


def _module(terraform: str, module: Path) -> Iterator[str]:
    mirror = Path(os.environ.get(MIRROR, "/usr/local/share/terraform/plugins"))
    if not mirror.is_dir():
        raise Absent(f"no providers at hand; {MIRROR} names a folder with them")
    with tempfile.TemporaryDirectory() as folder:
        copy = shutil.copytree(module, Path(folder, "module"), ignore=shutil.ignore_patterns(".terraform*"))
        settings = Path(folder, "terraform.rc")
        settings.write_text(f'provider_installation {{\n  filesystem_mirror {{\n    path = "{mirror}"\n  }}\n}}\n')
        environment = {**QUIET, "TF_CLI_CONFIG_FILE": str(settings)}
        for command in (("init", "-backend=false", "-input=false"), ("validate",)):
            if refused := complaint(terraform, f"-chdir={copy}", *command, "-no-color", environment=environment):
                yield refused
                return
