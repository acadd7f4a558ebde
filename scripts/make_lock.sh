#!/usr/bin/env bash
# Resolve pyproject.toml into two lock files: requirements.lock for a run, requirements-dev.lock for
# tests and documentation too. Every file has its hash, markers cover Python 3.11 to 3.14, and no
# index address appears: the pip or uv configuration of the machine applies. Pins that still fit
# stay; UPGRADE=1 takes the newest versions.
set -euo pipefail

cd "$(dirname "$0")/.."
work="$(mktemp -d)"
trap 'rm -rf "$work"' EXIT

uv="$(command -v uv || true)"
if [[ -z "$uv" ]]; then
  python="$(scripts/find_python.sh)"
  "$python" -m venv "$work/venv"
  "$work/venv/bin/python" -m pip install --quiet --disable-pip-version-check uv
  uv="$work/venv/bin/uv"
fi

# resolve FILE [uv options]: the lock appears under its name only when it is complete.
resolve() {
  local file="$1"
  shift
  if [[ -z "${UPGRADE:-}" && -e "$file" ]]; then
    cp "$file" "$work/$file"
  fi
  "$uv" pip compile --quiet --universal --python-version 3.11 --generate-hashes \
    --no-emit-index-url --no-annotate --no-header "$@" \
    --output-file "$work/$file" pyproject.toml
  if grep -n '://' "$work/$file"; then
    echo "$file would contain an address (above); the file is unchanged" >&2
    exit 1
  fi
  mv "$work/$file" "$file"
}

resolve requirements.lock --extra all --extra build
resolve requirements-dev.lock --extra all --extra build --extra dev --constraints requirements.lock
resolve requirements-browser.lock --extra browser --constraints requirements-dev.lock
resolve requirements-fuzz.lock --extra fuzz --constraints requirements-dev.lock
