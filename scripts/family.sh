#!/usr/bin/env bash
# Run one family of tests within its budget: family.sh NAME SECONDS [pytest options] PATH...
# VENV names the virtual environment. Missing paths are skipped. A family above its budget prints a
# message (and fails with BUDGETS=strict); above eight times its budget it is stopped. RETRY=1 is for
# tests that wait for real servers: a few failed tests run once more, in new processes.
set -euo pipefail

name="$1" budget="$2"
shift 2
options=() paths=()
while (($#)); do
  case "$1" in
    --timeout) options+=("$1" "$2"); shift ;;
    -*) options+=("$1") ;;
    *) [[ -e "$1" ]] && paths+=("$1") ;;
  esac
  shift
done
case "$name" in
  slow) options+=(-n "${JOBS:-2}" --dist worksteal) ;;
  kube | kube-slow) options+=(-n "${JOBS:-2}" --dist loadfile) ;;
esac
if ((${#paths[@]} == 0)); then
  echo "--- $name: no tests yet"
  exit 0
fi
echo "--- $name (budget ${budget} s)"
cache="$PWD/.pytest_cache/$name" most=5
run_tests() {
  timeout --foreground --kill-after=10 "$((8 * budget))" \
    "${VENV:-.venv}/bin/python" -m pytest --no-header --maxfail="$most" --tb=short \
    -o cache_dir="$cache" -m "${MARKS:-not slow and not kube}" "$@" "${paths[@]}" </dev/null
}
code=0
rm -rf "$cache"
run_tests "${options[@]}" || code=$?
if ((code == 1)) && [[ "${RETRY:-}" == 1 ]]; then
  failed="$(grep -c '::' "$cache/v/cache/lastfailed")"
  if ((failed < most)); then # else the run stopped early, and some tests did not run
    echo "--- $name: $failed failed; they run once more, and what passes now is UNSTABLE" >&2
    code=0
    run_tests --last-failed --last-failed-no-failures none -rA || code=$?
  fi
fi
case "$code" in
  5) code=0 ;; # no tests collected
  124 | 137) echo "--- $name: stopped after $((8 * budget)) s, eight times its budget" >&2 ;;
esac
if ((code == 0 && SECONDS > budget)); then
  echo "--- $name: took $SECONDS s, its budget is $budget s: make it faster or move tests to slow" >&2
  [[ "${BUDGETS:-}" == strict ]] && exit 1
fi
exit "$code"
