#!/usr/bin/env bash
# `infra/audit.sh [checkov | pip-audit]`: misconfigurations of infra/ and of the workflows, and known vulnerabilities of what
# constraints.txt names; without an argument both. Each is installed into an environment of its own below $SM_OPS_AUDIT. Needs a
# package index and, for pip-audit, its vulnerability data: what could not be looked up fails as well.
set -euo pipefail
cd "$(dirname "$0")/.."
folder=${SM_OPS_AUDIT:-build/audit}

installed() {
  if [ ! -x "$folder/$1/bin/$1" ]; then
    "${PYTHON:-python3}" -m venv "$folder/$1"
    "$folder/$1/bin/pip" install --quiet "$1"
  fi
}

# Not asked: event notifications and copies in other regions of buckets (the account's own choice); the health checks of images
# (infra/compose.yaml has them) and the version of a base that is an argument (infra/checks/containers.py reads it).
checkov() {
  installed checkov
  files=$(mktemp -d)
  trap 'rm -r "$files"' EXIT
  cp -r infra/terraform .github "$files"
  for file in infra/containers/*.Containerfile; do
    cp "$file" "$files/$(basename "$file" .Containerfile).Dockerfile"
  done
  "$folder/checkov/bin/checkov" --directory "$files" --skip-download --quiet --compact \
    --skip-check CKV2_AWS_62,CKV_AWS_144,CKV_DOCKER_2,CKV_DOCKER_7
}

pip-audit() {
  installed pip-audit
  "$folder/pip-audit/bin/pip-audit" --strict --requirement constraints.txt --no-deps --disable-pip
}

case ${1:-both} in
  checkov | pip-audit) "$1" ;;
  both)
    checkov
    pip-audit
    ;;
  *)
    echo "Usage: infra/audit.sh [checkov | pip-audit]" >&2
    exit 2
    ;;
esac
