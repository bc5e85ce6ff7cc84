#!/usr/bin/env bash
# The Python tests: the command line (tests/cli, in parallel), Kafka (tests/kafka, in two parts with a broker and a schema
# registry each) and other engines (tests/interop, one Spark session).
#     tests/run_python.sh [-k PATTERN]
# FRAZIL_TEST_PYTHON: Python of the test environment. FRAZIL_JUNIT_DIR: where the results go. `./dev test` sets them and
# what the tests themselves need: FRAZIL_BIN, FRAZIL_SPARK_JAR, FRAZIL_SQLITE_JDBC_JAR, FRAZIL_FLIGHTS_DIR, FRAZIL_JRE_DIR,
# FRAZIL_KAFKA_DIR, FRAZIL_SCHEMA_REGISTRY_DIR.
# Exits with pytest's code; 5 when no test of that name exists in any part.

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

# A part that found no test of that name counts as none.
found=5
failed=0
note() {  # CODE
  (($1 == 5)) && return
  found=0
  (($1 != 0 && failed == 0)) && failed=$1
}

run cli cli -n 2 "$@"
note $?
# Servers are idle much of the time, and tests wait for what does not answer: all of these run meanwhile.
kafka_log=$(mktemp)
run kafka kafka -n 2 "$@" >"$kafka_log" 2>&1 &
kafka=$!
trap 'kill "$kafka" 2>/dev/null; rm -f "$kafka_log"' EXIT
run interop interop "$@"
note $?
wait "$kafka"
note $?
cat "$kafka_log"

((failed != 0)) && exit "$failed"
exit "$found"
