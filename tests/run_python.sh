#!/usr/bin/env bash
# The Python tests: other engines (tests/interop, one Spark session) and the command line (tests/cli, in parallel).
#     tests/run_python.sh [-k PATTERN]
# FRAZIL_TEST_PYTHON: Python of the test environment. FRAZIL_JUNIT_DIR: where the results go. `./dev test` sets them and
# what the tests themselves need: FRAZIL_BIN, FRAZIL_SPARK_JAR, FRAZIL_SQLITE_JDBC_JAR, FRAZIL_FLIGHTS_DIR.
# Exits with pytest's code; 5 when no test of that name exists in either part.

set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"
: "${FRAZIL_TEST_PYTHON:?run ./dev test}" "${FRAZIL_BIN:?run ./dev test}"
JUNIT=${FRAZIL_JUNIT_DIR:-../build/test-results}
mkdir -p "$JUNIT"

run() {  # NAME ARGS...
  local name=$1
  shift
  "$FRAZIL_TEST_PYTHON" -B -m pytest -q --junitxml "$JUNIT/python-$name.xml" "$@"
}

run cli cli -n 2 "${@}"
cli=$?
run interop interop "${@}"
interop=$?

((cli == 5 && interop == 5)) && exit 5
((cli != 0 && cli != 5)) && exit "$cli"
((interop != 0 && interop != 5)) && exit "$interop"
exit 0
