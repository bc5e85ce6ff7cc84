"""Metadata tables: columns, types and values are Spark's, for a table with partitions, vectors, evolution and branches."""

import pytest

from engines import in_order, of_arrow, plain

TABLE = "t.meta"
SCRIPT = """
CREATE NAMESPACE t;
CREATE TABLE t.meta (id BIGINT, part STRING, price DECIMAL(9,2), at TIMESTAMP, d DOUBLE, tags ARRAY<INT>, place STRUCT<shelf: INT>)
USING iceberg PARTITIONED BY (part) TBLPROPERTIES ('format-version' = '3', 'write.delete.mode' = 'merge-on-read');
INSERT INTO t.meta VALUES (1, 'a', 1.50, TIMESTAMP '2026-01-01 00:00:00', 1.0::DOUBLE, [1, 2], {'shelf': 1}), (2, 'a', NULL, NULL, 'NaN'::DOUBLE, NULL, NULL),
  (3, 'b', 2.25, TIMESTAMP '2026-02-01 00:00:00', NULL, [], {'shelf': NULL}), (4, NULL, 0, NULL, -1.5, [3], NULL);
INSERT INTO t.meta VALUES (5, 'b', 9.99, NULL, 2.0, [], NULL), (6, 'c', 1.00, NULL, 3.0, [], NULL);
DELETE FROM t.meta WHERE id IN (1, 5);
ALTER TABLE t.meta CREATE TAG v1 RETAIN 5 DAYS;
ALTER TABLE t.meta CREATE BRANCH side WITH SNAPSHOT RETENTION 2 SNAPSHOTS 3 DAYS;
ALTER TABLE t.meta ADD COLUMN extra INT DEFAULT 7;
ALTER TABLE t.meta REPLACE PARTITION FIELD part WITH bucket(4, id) AS shard;
INSERT INTO t.meta (id, part, at) VALUES (7, 'd', TIMESTAMP '2026-03-01 00:00:00'), (8, 'a', NULL);
DELETE FROM t.meta WHERE part = 'c';
DELETE FROM t.meta WHERE id = 7;
"""
# Spark gives the sizes and values of metadata JSON that it parses; nothing here is left out of the comparison.
TABLES = ["history", "metadata_log_entries", "snapshots", "entries", "files", "data_files", "delete_files", "manifests", "partitions",
          "position_deletes", "refs", "all_data_files", "all_delete_files", "all_files", "all_manifests", "all_entries"]


@pytest.fixture
def table(home, spark):
    home.run("sql", "-e", SCRIPT)
    return home, spark


def normal(value):
    """Maps come as lists of pairs from Arrow and as objects from JSON; bytes as text."""
    if isinstance(value, dict):
        return {k: normal(v) for k, v in value.items()}
    if isinstance(value, list):
        if value and all(isinstance(item, tuple) and len(item) == 2 for item in value):
            return sorted([normal(k), normal(v)] for k, v in value)
        return [normal(item) for item in value]
    return value


def test_every_table_has_sparks_columns_and_values(table, tmp_path):
    home, spark = table
    wrong = []
    for name in TABLES:
        theirs = spark.arrow(f"SELECT * FROM {{c}}.{TABLE}.{name}")
        names = theirs.column_names
        columns = ", ".join(f'"{column}"' for column in names)
        ours = read_ours(home, f"SELECT {columns} FROM {TABLE}.{name}", tmp_path / f"{name}.parquet")
        expected = sorted(repr(row) for row in rows_of(theirs))
        actual = sorted(repr(row) for row in rows_of(ours))
        if expected != actual:
            differing = [f"  Spark  {e}\n  frazil {a}" for e, a in zip(expected, actual) if e != a]
            wrong.append(f"{name}: {len(expected)} rows of Spark, {len(actual)} of ours\n" + "\n".join(differing[:2]))
    assert not wrong, "\n".join(wrong)


def test_time_travel_on_tables_of_files(table, tmp_path):
    home, spark = table
    for name in ["entries", "files", "manifests", "partitions", "data_files", "delete_files"]:
        theirs = spark.arrow(f"SELECT * FROM {{c}}.{TABLE}.{name} VERSION AS OF 'v1'")
        columns = ", ".join(f'"{column}"' for column in theirs.column_names)
        ours = read_ours(home, f"SELECT {columns} FROM {TABLE}.{name} VERSION AS OF 'v1'", tmp_path / f"{name}.parquet")
        assert sorted(map(repr, rows_of(ours))) == sorted(map(repr, rows_of(theirs))), name


def test_show_and_describe_say_what_spark_says(table):
    home, spark = table
    home.run("sql", "-e", f"ALTER TABLE {TABLE} WRITE ORDERED BY at DESC, part")
    ours = {row["key"]: row["value"] for row in home.sql(f"SHOW TBLPROPERTIES {TABLE}")}
    theirs = dict(spark.sql(f"SHOW TBLPROPERTIES {{c}}.{TABLE}"))
    for key in ("sort-order",):  # Spark describes it in words of its own
        assert bool(ours.pop(key, "")) == bool(theirs.pop(key, ""))
    assert ours == theirs
    assert [row["col_name"] for row in home.sql(f"SHOW COLUMNS IN {TABLE}")] == [row[0] for row in spark.sql(f"DESCRIBE {{c}}.{TABLE}")][:8]


@pytest.mark.parametrize("statement", ["ORDERED BY id", "LOCALLY ORDERED BY id", "UNORDERED", "DISTRIBUTED BY PARTITION",
                                       "DISTRIBUTED BY PARTITION LOCALLY ORDERED BY id DESC", "DISTRIBUTED BY PARTITION ORDERED BY id"])
def test_write_order_does_what_sparks_does(home, spark, statement):
    home.run("sql", "-e", "CREATE NAMESPACE t; CREATE TABLE t.ours (id BIGINT) TBLPROPERTIES ('format-version' = '3'); "
             "CREATE TABLE t.theirs (id BIGINT) TBLPROPERTIES ('format-version' = '3'); "
             f"ALTER TABLE t.ours WRITE ORDERED BY id NULLS LAST; ALTER TABLE t.theirs WRITE ORDERED BY id NULLS LAST; ALTER TABLE t.ours WRITE {statement}")
    spark.sql(f"ALTER TABLE {{c}}.t.theirs WRITE {statement}")
    ours, theirs = home.metadata("t.ours"), home.metadata("t.theirs")
    assert ours["properties"].get("write.distribution-mode") == theirs["properties"].get("write.distribution-mode")

    def current(metadata):
        return next(order["fields"] for order in metadata["sort-orders"] if order["order-id"] == metadata["default-sort-order-id"])

    assert current(ours) == current(theirs)


def rows_of(table) -> list:
    return [normal(plain_pairs(row)) for row in of_arrow(table)]


def plain_pairs(row):
    def deep(value):
        if isinstance(value, list) and value and all(isinstance(item, tuple) for item in value):
            return [(plain(k), plain(v)) for k, v in value]
        if isinstance(value, dict):
            return {k: deep(v) for k, v in value.items()}
        return plain(value)
    return [deep(value) for value in row]


def read_ours(home, query, path):
    """Typed rows, through a Parquet file that our program writes."""
    import pyarrow.parquet
    home.run("sql", "-q", "-e", f"COPY ({query}) TO '{path}' (FORMAT parquet)")
    return pyarrow.parquet.read_table(path)
