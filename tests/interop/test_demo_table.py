"""The demo's table of 328,521 flights, compared whole: every column of every row, and both lineage columns."""

import os
import subprocess
import sys

import pyarrow as pa
import pyarrow.csv
import pytest

import engines
from engines import CHANGED, ROW_ID
from home import ROOT, Home, needed
from row_digest import digest
from table_layout import check_layout, live_vectors

TABLE = "demo.flights"
INTS = ("year month day dep_time sched_dep_time dep_delay arr_time sched_arr_time arr_delay flight air_time distance hour "
        "minute").split()
SCHEMA = pa.schema([pa.field("date", pa.date32()), *(pa.field(name, pa.int64()) for name in INTS),
                    *(pa.field(name, pa.string()) for name in ("carrier", "tailnum", "origin", "dest", "status")),
                    pa.field("time_hour", pa.timestamp("us", "UTC"))])
WITH_LINEAGE = pa.schema([*SCHEMA, pa.field(ROW_ID, pa.int64()), pa.field(CHANGED, pa.int64())])


def ingest_flights(home, events, *options):
    demo = ROOT / "examples" / "demo"
    home.run("ingest", "--from", events, "--format", "json-kv", "--table", TABLE, "--create",
             "--columns", (demo / "columns.sql").read_text(), "--identifier-fields", "date,carrier,flight,origin",
             "--partition-by", "months(time_hour), bucket(4, carrier)", *options, timeout=280)


@pytest.fixture(scope="module")
def events(tmp_path_factory):
    needed("FRAZIL_FLIGHTS_DIR")
    path = tmp_path_factory.mktemp("events") / "flights.jsonl"
    subprocess.run([sys.executable, ROOT / "examples" / "demo" / "flights_events.py", path], check=True, stdout=subprocess.DEVNULL)
    yield path
    path.unlink()


@pytest.fixture(scope="module")
def home(tmp_path_factory, events):
    home = Home(tmp_path_factory.mktemp("demo") / "home", "demo")
    ingest_flights(home, events)
    return home


@pytest.fixture(scope="module")
def spark(home, spark_session):
    return engines.Spark(home, spark_session)


@pytest.fixture(scope="module")
def ours(home):
    names = ", ".join(f'"{name}"' for name in WITH_LINEAGE.names)
    path = home.folder / "rows.csv"
    path.write_text(home.run("sql", "-q", "-o", "csv", "-e", f"SELECT {names} FROM {TABLE}").stdout)
    return pa.csv.read_csv(path, convert_options=pa.csv.ConvertOptions(
        column_types=WITH_LINEAGE, strings_can_be_null=True, quoted_strings_can_be_null=False, null_values=[""]))


def test_it_has_the_rows_that_the_source_has(ours):
    assert ours.num_rows == 328_521
    status = ours["status"].value_counts().to_pylist()
    assert {row["values"]: row["counts"] for row in status} == {"landed": 328_063, "departed": 328_521 - 328_063}
    assert len(ours[ROW_ID].unique()) == ours.num_rows


def test_each_row_is_the_last_event_of_its_key(ours):
    """Against the source itself, without any engine: all columns of all flights that departed."""
    import io
    import zipfile
    with zipfile.ZipFile(f"{os.environ['FRAZIL_FLIGHTS_DIR']}/flights.csv.zip") as archive:
        source = pa.csv.read_csv(io.BytesIO(archive.read("flights.csv")), convert_options=pa.csv.ConvertOptions(
            column_types={"time_hour": pa.string()}, strings_can_be_null=True, null_values=["", "NA"]))
    source = source.filter(pa.compute.is_valid(source["dep_time"]))
    moments = pa.compute.strptime(source["time_hour"], "%Y-%m-%dT%H:%M:%SZ", "us").cast(pa.timestamp("us", "UTC"))
    days = [f"{y}-{m:02}-{d:02}" for y, m, d in zip(*(source[c].to_pylist() for c in ("year", "month", "day")))]
    status = pa.compute.if_else(pa.compute.is_valid(source["arr_time"]), "landed", "departed")
    source = (source.drop_columns(["time_hour"]).append_column("time_hour", moments)
              .append_column("date", pa.array(days).cast(pa.date32())).append_column("status", status))
    assert digest(ours, SCHEMA) == digest(source, SCHEMA)


@pytest.mark.timeout(600)
def test_spark_reads_all_columns_of_all_rows_and_both_lineage_columns_alike(spark, ours):
    names = ", ".join(f"`{name}`" for name in WITH_LINEAGE.names)
    theirs = spark.session.sql(f"SELECT {names} FROM demo.{TABLE}").toArrow()
    assert digest(theirs, WITH_LINEAGE) == digest(ours, WITH_LINEAGE)


def test_pyiceberg_reads_all_columns_of_all_rows_alike(home, ours):
    assert digest(engines.PyIceberg(home).load(TABLE).scan().to_arrow(), SCHEMA) == digest(ours, SCHEMA)


def test_duckdbs_extension_reads_all_columns_of_all_rows_and_both_lineage_columns_alike(home, ours):
    names = ", ".join(f'"{name}"' for name in WITH_LINEAGE.names)
    theirs = engines.duckdb_with_iceberg().execute(
        f"SELECT {names} FROM iceberg_scan('{home.metadata_location(TABLE)}')").to_arrow_table()
    assert digest(theirs, WITH_LINEAGE) == digest(ours, WITH_LINEAGE)


def deleted_rows(home) -> tuple:
    """How many rows of earlier commits were deleted through vectors, and how many with a file that had nothing left."""
    table = engines.PyIceberg(home).load(TABLE)
    check_layout(table)
    through_vectors, with_files, before = 0, 0, {}
    for snapshot in table.metadata.snapshots:
        vectors = {path: vector.record_count for path, vector in live_vectors(table, snapshot).items()}
        through_vectors += sum(count - before.get(path, 0) for path, count in vectors.items())
        gone = sum(count for path, count in before.items() if path not in vectors)
        with_files += int(snapshot.summary.additional_properties.get("deleted-records", 0)) - gone
        before = vectors
    return through_vectors, with_files


def test_updates_and_deletes_reach_rows_of_earlier_commits(home):
    through_vectors, with_files = deleted_rows(home)
    assert through_vectors > 100_000 and through_vectors + with_files > 200_000


def test_more_than_200_000_rows_are_deleted_through_vectors_when_commits_cut_the_months_unevenly(tmp_path, events, ours):
    home = Home(tmp_path / "home", "demo")
    ingest_flights(home, events, "--commit-every", "70000")
    through_vectors, _ = deleted_rows(home)
    assert through_vectors > 200_000
    # Where batches are cut changes nothing of the rows.
    assert digest(engines.PyIceberg(home).load(TABLE).scan().to_arrow(), SCHEMA) == digest(ours, SCHEMA)


def test_time_travel_shows_the_same_in_spark(home, spark):
    """The fifth commit, by hash: what a reader sees of the past must not depend on who asks."""
    snapshot = home.sql(f"SELECT snapshot_id FROM {TABLE}.snapshots ORDER BY committed_at")[4]["snapshot_id"]
    names = ["date", "carrier", "flight", "origin", "status", "dep_delay", "tailnum", ROW_ID, CHANGED]
    schema = pa.schema([WITH_LINEAGE.field(name) for name in names])
    path = home.folder / "past.csv"
    path.write_text(home.run("sql", "-q", "-o", "csv", "-e",
                             f"SELECT {', '.join(names)} FROM {TABLE} VERSION AS OF {snapshot}").stdout)
    past = pa.csv.read_csv(path, convert_options=pa.csv.ConvertOptions(
        column_types=schema, strings_can_be_null=True, quoted_strings_can_be_null=False, null_values=[""]))
    theirs = spark.session.sql(f"SELECT {', '.join(names)} FROM demo.{TABLE} VERSION AS OF {snapshot}").toArrow()
    assert past.num_rows > 0 and digest(theirs, schema) == digest(past, schema)
