#!/usr/bin/env bash
# Resolve pyproject.toml into requirements.lock: hashes for every file, markers for every
# Python from 3.11 on, and no address of an index: the reader's own pip configuration applies.
set -euo pipefail

cd "$(dirname "$0")/.."
work="$(mktemp -d)"
trap 'rm -rf "$work"' EXIT
python="$(scripts/find_python.sh)"
"$python" -m venv "$work/venv"
"$work/venv/bin/python" -m pip install --quiet --disable-pip-version-check uv
"$work/venv/bin/uv" pip compile --quiet --universal --python-version 3.11 --generate-hashes \
  --no-emit-index-url --no-annotate --no-header \
  --extra all --extra dev pyproject.toml --output-file "$work/requirements.lock"
if grep -n '://' "$work/requirements.lock"; then
  echo "the lock names an address (above); leave requirements.lock as it was" >&2
  exit 1
fi
mv "$work/requirements.lock" requirements.lock
