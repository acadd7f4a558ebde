#!/usr/bin/env bash
# What the browser tests need: browser_tools.sh VENV LOCK. Playwright comes from the lock, Chromium
# from the system; as root it is installed from Debian's packages.
set -euo pipefail

venv="$1" lock="$2"
if ! "$venv/bin/python" -c 'import playwright, axe_playwright_python' 2>/dev/null; then
  "$venv/bin/python" -m pip install --quiet --disable-pip-version-check --require-hashes -r "$lock"
fi
if command -v chromium >/dev/null || command -v chromium-browser >/dev/null; then
  exit 0
fi
if [[ "$(id -u)" == 0 ]] && command -v apt-get >/dev/null; then
  apt-get install --quiet --yes chromium >&2
else
  echo "no Chromium: install the package chromium" >&2
  exit 2
fi
