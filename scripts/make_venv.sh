#!/usr/bin/env bash
# Make or refresh the virtual environment from the lock file, every file checked by its hash.
set -euo pipefail

venv="$1"
if ! "$venv/bin/python" -m pip --version >/dev/null 2>&1; then
  python="$("$(dirname "$0")/find_python.sh")"
  echo "making $venv with $("$python" --version)" >&2
  "$python" -m venv --clear "$venv"
fi
echo "installing what requirements.lock names (a minute or two, once)" >&2
"$venv/bin/python" -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements.lock
