#!/bin/sh
# `infra/sandbox.sh`: installs bubblewrap, in which generated programs run, where apt-get is and may be used. Elsewhere it says so
# and succeeds all the same: sm-ops then makes namespaces of its own, or refuses such programs (docs/how-to/sandbox.md).
set -eu
if command -v bwrap > /dev/null; then
  exit 0
fi
patience="-o Acquire::Retries=0 -o Acquire::http::Timeout=10 -o Acquire::https::Timeout=10"
install() {
  DEBIAN_FRONTEND=noninteractive apt-get install $patience --yes --no-install-recommends bubblewrap > /dev/null 2>&1
}
if [ "$(id -u)" = 0 ] && command -v apt-get > /dev/null; then
  install || { apt-get update $patience > /dev/null 2>&1 && install; } || true
fi
if ! command -v bwrap > /dev/null; then
  echo "bubblewrap is not installed: ask whoever may for the package bubblewrap (docs/how-to/sandbox.md)." >&2
fi
