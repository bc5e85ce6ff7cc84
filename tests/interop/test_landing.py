"""Landing files: rows of a partitioned table in one file of a spec without fields. Every engine reads them, with a filter and
without, and Spark changes and rewrites them."""

import pytest

from home import tombstone, upsert
from table_layout import check_layout

COLUMNS = "id bigint not null, name string, n int"
NAMES = ["id", "name", "n"]


def landed(home) -> list:
    """Rows of each live data file in a spec without fields."""
    empty = {spec["spec-id"] for spec in home.metadata("t.land")["partition-specs"] if not spec["fields"]}
    files = home.sql("SELECT spec_id, record_count FROM t.land.data_files")
    return [file["record_count"] for file in files if file["spec_id"] in empty]


def expect_equal(all_engines, expected):
    ours = all_engines.frazil.rows("t.land", NAMES)
    assert ours == sorted(expected, key=repr)
    for engine in all_engines.all[1:]:
        assert engine.rows("t.land", NAMES) == ours, engine.name
    for key in (3, 17, 151, 999):
        wanted = [row for row in ours if row[0] == key]
        assert [(row["id"], row["name"], row["n"]) for row in
                all_engines.frazil.home.sql(f"SELECT id, name, n FROM t.land WHERE id = {key}")] == wanted
        assert all_engines.spark.sql(f"SELECT id, name, n FROM {{c}}.t.land WHERE id = {key}") == wanted


def test_engines_read_change_and_rewrite_landing_files(home, all_engines):
    rows = {i: (i, f"name {i % 7}", i * 3) for i in range(200)}
    home.ingest([upsert({"id": i}, name=f"name {i}", n=i) for i in range(20)], "t.land", "--create", "--columns", COLUMNS,
                "--partition-by", "bucket(4, id)")
    assert not landed(home)
    home.sql("ALTER TABLE t.land SET TBLPROPERTIES ('frazil.write.landing' = 'always')")
    home.ingest([upsert({"id": i}, name=name, n=n) for i, name, n in rows.values()], "t.land")

    assert landed(home) == [200]
    table = all_engines.pyiceberg.load("t.land")
    assert len(table.spec().fields) == 1, "the default spec stays"
    check_layout(table)
    expect_equal(all_engines, rows.values())

    # Ours again, over landing rows; then Spark deletes from them with a vector.
    home.ingest([upsert({"id": 3}, name="again", n=1), tombstone({"id": 4})], "t.land")
    rows[3] = (3, "again", 1)
    del rows[4]
    expect_equal(all_engines, rows.values())
    all_engines.spark.sql("ALTER TABLE {c}.t.land SET TBLPROPERTIES ('write.delete.mode' = 'merge-on-read')")
    all_engines.spark.sql("DELETE FROM {c}.t.land WHERE id IN (17, 151)")
    rows = {key: row for key, row in rows.items() if key not in (17, 151)}
    expect_equal(all_engines, rows.values())

    # Spark's rewrite moves the rows into their buckets and keeps their identity.
    lineage = "SELECT id, _row_id, _last_updated_sequence_number FROM {c}.t.land ORDER BY id"
    before = all_engines.spark.sql(lineage)
    all_engines.spark.sql("CALL {c}.system.rewrite_data_files(table => 't.land', options => map('rewrite-all', 'true'))")
    assert all_engines.spark.sql(lineage) == before
    assert not landed(home)
    expect_equal(all_engines, rows.values())
    home.ingest([upsert({"id": 3}, name="after", n=2), upsert({"id": 500}, name="new", n=5)], "t.land")
    rows[3], rows[500] = (3, "after", 2), (500, "new", 5)
    expect_equal(all_engines, rows.values())


def test_partitions_that_spark_overwrites_take_their_landing_rows_along(home, all_engines):
    """A dynamic overwrite does not reach landing files: our next commit does it. A static one fails until they are drained."""
    rows = {i: (i, f"name {i}", i % 4) for i in range(20)}
    home.ingest([upsert({"id": 999}, name="first", n=9)], "t.land", "--create", "--columns", COLUMNS, "--partition-by", "n")
    rows[999] = (999, "first", 9)
    home.sql("ALTER TABLE t.land SET TBLPROPERTIES ('frazil.write.landing' = 'always', "
             "'frazil.landing.on-replace-partitions' = 'apply')")
    home.ingest([upsert({"id": i}, name=name, n=n) for i, name, n in rows.values() if i < 999], "t.land")
    assert landed(home) == [20]
    spark = all_engines.spark
    spark.sql("SET spark.sql.sources.partitionOverwriteMode = dynamic")
    try:
        spark.sql("INSERT OVERWRITE {c}.t.land VALUES (100, 'theirs', 1)")
    finally:
        spark.sql("SET spark.sql.sources.partitionOverwriteMode = static")
    rows[100] = (100, "theirs", 1)
    expect_equal(all_engines, rows.values())  # nothing is gone yet
    home.ingest([upsert({"id": 50}, name="after", n=1)], "t.land")
    rows = {key: row for key, row in rows.items() if row[2] != 1 or key == 100}
    rows[50] = (50, "after", 1)
    expect_equal(all_engines, rows.values())

    overwrite = "INSERT OVERWRITE {c}.t.land PARTITION (n = 2) SELECT 200L, 'static'"
    with pytest.raises(Exception, match="some, but not all, rows match"):
        spark.sql(overwrite)
    expect_equal(all_engines, rows.values())
    home.sql("CALL system.drain_landing('t.land')")
    assert not landed(home)
    expect_equal(all_engines, rows.values())
    spark.sql(overwrite)
    rows = {key: row for key, row in rows.items() if row[2] != 2}
    rows[200] = (200, "static", 2)
    expect_equal(all_engines, rows.values())
