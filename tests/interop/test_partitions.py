"""Every partition transform: rows land where the spec says, filters prune without losing rows, other engines agree."""

import datetime

import pytest

import engines
from engines import in_order, plain
from home import tombstone, upsert
from table_layout import DATA, check_layout, entries_of

COLUMNS = "id bigint not null, name string, n int, amount decimal(9,2), day date, ts timestamp"
NAMES = ["id", "name", "n", "amount", "day", "ts"]
TRANSFORMS = {
    "identity of text": "name", "identity of a number": "n", "identity of a date": "day",
    "bucket of a long": "bucket(4, id)", "bucket of text": "bucket(3, name)", "bucket of a decimal": "bucket(5, amount)",
    "truncated text": "truncate(1, name)", "truncated number": "truncate(10, n)", "truncated decimal": "truncate(100, amount)",
    "years": "years(ts)", "months": "months(ts)", "months of a date": "months(day)", "days": "days(ts)", "hours": "hours(ts)",
    "two fields": "months(ts), bucket(4, name)",
}
CONDITIONS = ["id = 17", "id IN (3, 50, 4711)", "name = 'blue'", "name >= 'g'", "name LIKE 're%'", "name IS NULL", "name IS NOT NULL",
              "n < 0", "n = -7", "n BETWEEN 5 AND 14", "amount > 12.34", "amount = -3.75", "day = DATE '1970-01-01'",
              "day < DATE '1970-01-01'", "ts >= TIMESTAMP '2026-03-01 00:00:00'",
              "ts < TIMESTAMP '1970-01-01 00:00:00'", "NOT (n > 3)", "name = 'red' OR n = 2", "name = 'red' AND id > 20"]


def rows():
    """Before and after the epoch, negative numbers, nulls: where transforms round, and where they do not."""
    names = ["red", "green", "blue", "", "ål", None]
    start = datetime.datetime(1969, 12, 28, 22, 30)
    for i in range(60):
        at = start + datetime.timedelta(hours=37 * i) if i < 30 else datetime.datetime(2026, 2, 20) + datetime.timedelta(hours=11 * i)
        yield upsert({"id": i}, name=names[i % 6], n=None if i % 13 == 5 else i % 40 - 20,
                     amount=None if i % 17 == 3 else f"{(i - 30) * 1.25:.2f}", day=at.date().isoformat(),
                     ts=None if i % 19 == 7 else at.isoformat() + "Z")


@pytest.mark.parametrize("transform", TRANSFORMS.values(), ids=TRANSFORMS.keys())
def test_filters_prune_without_losing_rows_and_engines_agree(home, all_engines, transform):
    events = list(rows())
    home.ingest(events, "t.parts", "--create", "--columns", COLUMNS, "--partition-by", transform, "--commit-every", "25")
    # Updates that move rows to other partitions, and deletes that know the key only.
    moved = [upsert({"id": i}, **{**events[(i * 7 + 1) % 60]["value"]}) for i in range(0, 60, 9)]
    home.ingest(moved + [tombstone({"id": i}) for i in range(4, 60, 11)], "t.parts")

    ours = all_engines.frazil.rows("t.parts", ["id", "name", "n"])
    assert len(ours) == 60 - 6
    for engine in all_engines.all[1:]:
        assert engine.rows("t.parts", ["id", "name", "n"]) == ours, engine.name
    check_layout(all_engines.pyiceberg.load("t.parts"))

    # The same rows without partitions: what no file can be pruned of.
    home.run("sql", "-e", f"CREATE TABLE t.plain ({COLUMNS}) USING iceberg TBLPROPERTIES ('format-version' = '3'); "
             "INSERT INTO t.plain SELECT * FROM t.parts")
    query = " UNION ALL ".join(f"SELECT {i} AS k, id FROM {{}} WHERE {condition}" for i, condition in enumerate(CONDITIONS))

    def by_condition(rows):
        return {condition: sorted(key for k, key in rows if k == i) for i, condition in enumerate(CONDITIONS)}

    pruned = by_condition((row["k"], row["id"]) for row in home.sql(query.replace("{}", "t.parts")))
    full = by_condition((row["k"], row["id"]) for row in home.sql(query.replace("{}", "t.plain")))
    assert pruned == full
    assert by_condition(tuple(row) for row in all_engines.spark.sql(query.replace("{}", "{c}.t.parts"))) == full


def test_each_row_lies_in_the_partition_that_spark_would_choose(home, spark):
    """The same rows written by Spark into a table of the same spec: equal partition tuples with equal counts."""
    for number, transform in enumerate(TRANSFORMS.values()):
        home.ingest(list(rows()), f"t.ours{number}", "--create", "--columns", COLUMNS, "--partition-by", transform)
        spark.sql(f"CREATE TABLE {{c}}.t.theirs{number} (id bigint not null, name string, n int, amount decimal(9,2), day date, "
                  f"ts timestamp) USING iceberg PARTITIONED BY ({transform}) TBLPROPERTIES ('format-version'='3')")
        spark.sql(f"INSERT INTO {{c}}.t.theirs{number} SELECT * FROM {{c}}.t.ours{number}")
        pyiceberg = engines.PyIceberg(home)

        def partitions(name):
            table = pyiceberg.load(name)
            return in_order((str([plain(file.partition[i]) for i in range(len(file.partition))]), file.record_count)
                            for file in entries_of(table, table.current_snapshot()) if file.content == DATA)

        assert partitions(f"t.ours{number}") == partitions(f"t.theirs{number}"), transform


def test_spark_loads_a_table_whose_columns_moved_around_names_of_partition_fields(home, spark):
    """Java binds every spec of a table to its current schema by name: what we allow must load, now and after its own changes."""
    home.run("sql", "-e", "CREATE NAMESPACE IF NOT EXISTS t; CREATE TABLE t.p (id int, ts timestamp, b string) PARTITIONED BY (days(ts), b, bucket(4, id)); "
             "INSERT INTO t.p VALUES (1, TIMESTAMP '2026-03-01 10:00:00', 'x'); "
             "ALTER TABLE t.p RENAME COLUMN b TO c; ALTER TABLE t.p DROP PARTITION FIELD b; ALTER TABLE t.p DROP PARTITION FIELD ts_day; "
             "ALTER TABLE t.p ADD COLUMN day date; INSERT INTO t.p VALUES (2, TIMESTAMP '2026-03-02 10:00:00', 'y', DATE '2026-03-02'); "
             "ALTER TABLE t.p RENAME COLUMN c TO b")
    for taken in ("ADD COLUMN ts_day date", "RENAME COLUMN day TO ts_day", "RENAME COLUMN day TO id_bucket"):
        refused = home.run("sql", "-e", f"ALTER TABLE t.p {taken}", check=False)
        assert refused.returncode == 1 and "a partition field has the name of the column" in refused.stderr
    query = "SELECT id, b, day FROM {} ORDER BY id"
    assert [tuple(row) for row in spark.sql(query.replace("{}", "{c}.t.p"))] == [(1, "x", None), (2, "y", datetime.date(2026, 3, 2))]
    spark.sql("ALTER TABLE {c}.t.p ADD COLUMN n int")
    spark.sql("INSERT INTO {c}.t.p VALUES (3, TIMESTAMP '2026-03-03 10:00:00', 'z', DATE '2026-03-03', 7)")
    assert [row["n"] for row in home.sql("SELECT n FROM t.p ORDER BY id")] == [None, None, 7]
