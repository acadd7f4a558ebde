#!/usr/bin/env bash
# Run the unit, property and scenario families on every other supported Python that is installed:
# test_pythons.sh VENV VERSION... Each version gets a virtual environment of its own (VENV-3.13). An
# interpreter is searched on the path, in pyenv's folder and by uv; nothing is downloaded.
set -euo pipefail

base="$1"
shift
cd "$(dirname "$0")/.."
made_with="$("$base/bin/python" -c 'import sys; print("%d.%d" % sys.version_info[:2])')"

# find VERSION: the path of a working interpreter of that version, with venv and ensurepip.
find_version() {
  local candidate
  local -a candidates=("python$1")
  candidates+=("${PYENV_ROOT:-$HOME/.pyenv}/versions/$1".*/bin/python)
  if command -v uv >/dev/null; then
    candidates+=("$(uv python find --no-python-downloads "$1" 2>/dev/null || true)")
  fi
  for candidate in "${candidates[@]}"; do
    if [[ -n "$candidate" ]] && "$candidate" -c "
import ensurepip, sys, venv
sys.exit('%d.%d' % sys.version_info[:2] != '$1')" >/dev/null 2>&1; then
      echo "$candidate"
      return
    fi
  done
}

versions=()
for version in "$@"; do
  [[ "$version" == "$made_with" ]] && continue
  python="$(find_version "$version")"
  if [[ -z "$python" ]]; then
    echo "=== Python $version: SKIPPED: no interpreter for $version ==="
    continue
  fi
  echo "--- Python $version: $base-$version"
  PYTHON="$python" scripts/make_venv.sh "$base-$version" requirements-dev.lock
  # Compiling the kernels takes minutes for each version, so these run on the NumPy tier.
  "$base-$version/bin/python" -m pip uninstall --quiet --yes numba llvmlite
  # For make the environment is complete.
  touch "$base-$version/.run" "$base-$version/.dev"
  versions+=("$version")
done

for version in ${versions[@]+"${versions[@]}"}; do
  echo "--- Python $version"
  make --no-print-directory test-python VENV="$base-$version"
done
if ((${#versions[@]} == 0)); then
  echo "=== Other Pythons: SKIPPED: only $made_with is installed ==="
fi
