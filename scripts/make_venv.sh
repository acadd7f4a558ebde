#!/usr/bin/env bash
# Make or refresh a virtual environment: make_venv.sh VENV LOCK. Every file of the lock is checked by
# its hash; the package and its laboratory are installed in editable form. uv is used if it is on the
# path, else pip, with progress on stderr.
set -euo pipefail

venv="$1" lock="$2"
if ! "$venv/bin/python" -c '' 2>/dev/null; then
  python="$("$(dirname "$0")/find_python.sh")"
  echo "making $venv with $("$python" --version)" >&2
  "$python" -m venv --clear "$venv"
fi
echo "installing $lock (once)" >&2
if command -v uv >/dev/null; then
  install=(uv pip install --python "$venv/bin/python")
else
  install=("$venv/bin/python" -m pip install --disable-pip-version-check --progress-bar on)
fi
"${install[@]}" --require-hashes -r "$lock" >&2
"${install[@]}" --quiet --no-deps --no-build-isolation --editable . --editable ./lab >&2
