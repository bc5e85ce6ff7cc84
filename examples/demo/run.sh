#!/usr/bin/env bash
# The demo: real change events become an Iceberg v3 table. Called by `./dev demo`, which builds the program and fetches the
# data first. Everything lies under build/demo; a second run starts afresh.
# FRAZIL_DEMO_COMMIT_EVERY: events a commit (default 100000).

set -euo pipefail
HERE=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
ROOT=$(cd "$HERE/../.." && pwd)
: "${FRAZIL_BIN:?run ./dev demo}" "${FRAZIL_FLIGHTS_DIR:?run ./dev demo}"
PYTHON=${PYTHON:-python3}
COMMIT_EVERY=${FRAZIL_DEMO_COMMIT_EVERY:-100000}
DEMO=$ROOT/build/demo
STARTED=$SECONDS

BOLD='' DIM='' GREEN='' RED='' PLAIN=''
if [[ -t 1 && -z ${NO_COLOR:-} && ${TERM:-dumb} != dumb ]]; then
  BOLD=$'\e[1m' DIM=$'\e[2m' GREEN=$'\e[32m' RED=$'\e[31m' PLAIN=$'\e[0m'
fi

title() { printf '\n%s%s%s\n' "$BOLD" "$*" "$PLAIN"; }
text() { printf '%s\n' "$*"; }
# A command as the reader could type it; further arguments are its further lines.
command_line() {
  printf '%s$ %s' "$DIM" "$1"
  (($# == 1)) || printf '\n      %s' "${@:2}"
  printf '%s\n' "$PLAIN"
}
fail() {
  printf '%sThe demo failed: %s%s\n' "$RED" "$*" "$PLAIN" >&2
  exit 1
}

frazil() { "$FRAZIL_BIN" "$@"; }
# A query's rows as comma-separated values without the header.
values() { frazil sql -q -o csv -e "$1" | tail -n +2; }
grouped() { sed -E ':again; s/^([0-9]+)([0-9]{3})/\1,\2/; t again' <<<"$1"; }

rm -rf "$DEMO"
mkdir -p "$DEMO"
export FRAZIL_HOME=$DEMO
cat >"$DEMO/frazil.yaml" <<END
# Written by the demo. \`./dev run\` uses this catalog as long as the folder is there.
default-catalog: demo
catalogs:
  demo:
    type: sql
    uri: sqlite:///$DEMO/catalog.db
    warehouse: file://$DEMO/warehouse
END

title "1. A stream of changes: the flights that left New York in 2013"
text "Each flight is upserted when the timetable is published, when it departs and when it lands; a cancelled one is deleted."
"$PYTHON" "$HERE/flights_events.py" "$DEMO/flights.jsonl"

title "2. Upserts by key (date, carrier, flight, origin), $(grouped "$COMMIT_EVERY") events a commit"
command_line "frazil ingest --from build/demo/flights.jsonl --format json-kv --table demo.flights \\" \
  "--identifier-fields date,carrier,flight,origin --commit-every $COMMIT_EVERY --create \\" \
  "--partition-by 'months(time_hour), bucket(4, carrier)' --columns \"\$(cat examples/demo/columns.sql)\""
frazil ingest --from "$DEMO/flights.jsonl" --format json-kv --table demo.flights \
  --identifier-fields date,carrier,flight,origin --commit-every "$COMMIT_EVERY" --create \
  --partition-by 'months(time_hour), bucket(4, carrier)' --columns "$(<"$HERE/columns.sql")"

title "3. The commits: rows of earlier commits go through deletion vectors, or with their file when it has none left"
command_line "frazil table snapshots demo.flights"
frazil table snapshots demo.flights -q -o table

title "4. SQL: late departures by carrier"
command_line "frazil sql -f examples/demo/late_departures.sql"
frazil sql -q -o table -f "$HERE/late_departures.sql"

# A flight that one of the middle commits knew as scheduled only, of these the one that left latest.
mapfile -t SNAPSHOTS < <(values "SELECT snapshot_id FROM demo.flights.snapshots ORDER BY committed_at")
EARLIER=${SNAPSHOTS[$((${#SNAPSHOTS[@]} / 2 - (${#SNAPSHOTS[@]} > 1)))]}
IFS=, read -r DATE CARRIER FLIGHT ORIGIN < <(values "
  SELECT now.date, now.carrier, now.flight, now.origin
  FROM demo.flights now JOIN demo.flights VERSION AS OF $EARLIER earlier USING (date, carrier, flight, origin)
  WHERE earlier.status = 'scheduled' AND now.status = 'landed' ORDER BY now.dep_delay DESC, date, carrier, flight LIMIT 1") || true
WHERE="date = DATE '${DATE:-2013-07-04}' AND carrier = '${CARRIER:-UA}' AND flight = ${FLIGHT:-15} AND origin = '${ORIGIN:-EWR}'"
COLUMNS_SHOWN="_row_id, _last_updated_sequence_number AS changed_by, status, dest, sched_dep_time, dep_time, dep_delay, arr_time, tailnum"

title "5. SQL: one flight by its key, with its row id"
command_line "frazil sql -e \"SELECT $COLUMNS_SHOWN" "FROM demo.flights WHERE $WHERE\""
frazil sql -q -o table -e "SELECT $COLUMNS_SHOWN FROM demo.flights WHERE $WHERE"
if [[ -n ${DATE:-} ]]; then
  title "6. SQL: the same flight as an earlier commit had it; it is the same row"
  command_line "frazil sql -e \"SELECT $COLUMNS_SHOWN" "FROM demo.flights VERSION AS OF $EARLIER WHERE $WHERE\""
  frazil sql -q -o table -e "SELECT $COLUMNS_SHOWN FROM demo.flights VERSION AS OF $EARLIER WHERE $WHERE"
else
  text "(With commits this large no earlier commit shows a flight that has changed since.)"
fi

# ---- what must be true

ROWS=$(values "SELECT count(*) FROM demo.flights")
[[ $ROWS == 328521 ]] || fail "demo.flights has $ROWS rows, expected 328521"
DELETED=$(frazil table snapshots demo.flights -q -o csv |
  awk -F, 'NR == 1 { for (i = 1; i <= NF; i++) if ($i == "rows_deleted") column = i } NR > 1 { sum += $column } END { print sum }')
((DELETED > 200000 || COMMIT_EVERY > 100000)) || fail "only $DELETED rows of earlier commits were deleted, expected more than 200000"
EQUALITY_DELETES=$(values "SELECT count(*) FROM demo.flights.files WHERE content = 2")
[[ $EQUALITY_DELETES == 0 ]] || fail "the table has $EQUALITY_DELETES equality delete files, expected none"
if [[ -n ${DATE:-} ]]; then
  IDS=$(values "SELECT _row_id FROM demo.flights WHERE $WHERE UNION
                SELECT _row_id FROM demo.flights VERSION AS OF $EARLIER WHERE $WHERE" | wc -l)
  [[ $IDS == 1 ]] || fail "the flight's row id changed with its update"
fi

title "Done in $((SECONDS - STARTED)) s"
text "${GREEN}✓${PLAIN} $(grouped "$ROWS") rows, as the data says: one for each flight that departed"
text "${GREEN}✓${PLAIN} $(grouped "$DELETED") rows of earlier commits deleted, each update kept its row id"
text
text "The table:    build/demo/warehouse ($(du -sh "$DEMO/warehouse" | cut -f1)), an Iceberg v3 table for any engine"
text "The catalog:  build/demo/catalog.db, SQLite as PyIceberg and Java's JdbcCatalog know it, named 'demo'"
text "Go on with:   ./dev run sql                              a prompt"
text "              ./dev run table files demo.flights         data files and their vectors"
text "              ./dev run sql -e \"SELECT * FROM demo.flights LIMIT 5\" -o json"
