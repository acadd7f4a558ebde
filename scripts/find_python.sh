#!/usr/bin/env bash
# Print a Python that can make the environment: 3.11 or newer, with venv.
# Versions of the lock are preferred; PYTHON=... selects another.
set -euo pipefail

fit() {
  "$1" -c 'import ensurepip, sys, venv; sys.exit(not sys.version_info >= (3, 11))' >/dev/null 2>&1
}

locked() {
  "$1" -c 'import sys; sys.exit(not (3, 11) <= sys.version_info[:2] <= (3, 14))' >/dev/null 2>&1
}

if [[ -n "${PYTHON:-}" ]]; then
  fit "$PYTHON" && { echo "$PYTHON"; exit 0; }
  echo "PYTHON=$PYTHON is not Python >= 3.11 with venv; set another, or unset PYTHON" >&2
  exit 1
fi
fallback=""
for name in python3 python3.14 python3.13 python3.12 python3.11 python; do
  fit "$name" || continue
  locked "$name" && { echo "$name"; exit 0; }
  fallback="${fallback:-$name}"
done
if [[ -n "$fallback" ]]; then
  echo "note: $("$fallback" --version) is newer than the versions of the lock (3.11 to 3.14)" >&2
  echo "$fallback"
  exit 0
fi
cat >&2 <<'TEXT'
No Python >= 3.11 with venv was found on the PATH.
Install one (Debian, Ubuntu: apt-get install python3 python3-venv; Fedora: dnf install python3),
or point to one: make run PYTHON=/path/to/python3.12
TEXT
exit 1
