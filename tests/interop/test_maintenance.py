"""Maintenance beside other engines: what Spark, PyIceberg and DuckDB read after every operation of ours, what our
procedures answer where Spark's answer the same table, and clean-up by one engine of a table that another wrote."""

import os
import time

import pytest

from engines import CHANGED, ROW_ID
from home import local_path

TABLE = "shop.events"
COLUMNS = ["id", "kind", "v"]
FAR = "2100-01-01 00:00:00"


class Events:
    """A table of small files with vectors, and what it must hold."""

    def __init__(self, home, engines):
        self.home, self.engines = home, engines
        home.sql("CREATE NAMESPACE IF NOT EXISTS shop")
        home.sql(f"CREATE TABLE {TABLE} (id BIGINT NOT NULL, kind STRING, v INT) PARTITIONED BY (kind)")
        for i in range(6):
            values = ", ".join(f"({10 * i + k}, '{'ab'[k % 2]}', {k})" for k in range(10))
            home.sql(f"INSERT INTO {TABLE} VALUES {values}")
        home.sql(f"DELETE FROM {TABLE} WHERE id % 7 = 0")
        home.sql(f"UPDATE {TABLE} SET v = v + 100 WHERE id % 5 = 1")
        self.expected = home.sql(f"SELECT id, kind, v FROM {TABLE} ORDER BY id")
        self.lineage = self.ours([ROW_ID, CHANGED])

    def ours(self, columns):
        return self.engines.frazil.rows(TABLE, ["id", *columns])

    def check(self, after):
        wanted = sorted((tuple(row[c] for c in COLUMNS) for row in self.expected), key=repr)
        for engine in self.engines.all:
            assert engine.rows(TABLE, COLUMNS) == wanted, f"{engine.name} after {after}"
            if engine.has_lineage:
                assert engine.rows(TABLE, ["id", ROW_ID, CHANGED]) == self.lineage, f"lineage in {engine.name} after {after}"

    def call(self, procedure, arguments=""):
        return self.home.sql(f"CALL system.{procedure}(table => '{TABLE}'{', ' if arguments else ''}{arguments})")

    def spark_call(self, procedure, arguments=""):
        rows = self.engines.spark.sql(
            f"CALL {{c}}.system.{procedure}(table => '{TABLE}'{', ' if arguments else ''}{arguments})")
        return [tuple(row) for row in rows]


@pytest.fixture
def events(home, all_engines):
    return Events(home, all_engines)


def test_every_engine_reads_the_table_after_each_operation(events):
    events.check("the beginning")
    for procedure, arguments in [("rewrite_deletion_vectors", "rewrite_all => true"),
                                 ("rewrite_position_delete_files", ""),
                                 ("rewrite_manifests", ""),
                                 ("rewrite_data_files", "options => map('min-input-files', '2')"),
                                 ("rewrite_manifests", ""),
                                 ("expire_snapshots", f"older_than => TIMESTAMP '{FAR}', retain_last => 1"),
                                 ("remove_orphan_files", "")]:
        events.call(procedure, arguments)
        events.check(procedure)
    problems = [row for row in events.call("verify") if row["problem_count"]]
    assert not problems
    # Spark goes on writing.
    events.engines.spark.sql(f"UPDATE {{c}}.{TABLE} SET v = -1 WHERE id = 11")
    for row in events.expected:
        row["v"] = -1 if row["id"] == 11 else row["v"]
    events.lineage = events.ours([ROW_ID, CHANGED])
    events.check("an update by Spark")


def test_sparks_expiry_and_orphan_removal_leave_our_table_whole(events):
    events.call("rewrite_data_files", "options => map('min-input-files', '2')")
    events.home.sql(f"DELETE FROM {TABLE} WHERE id = 11")
    events.home.sql(f"DELETE FROM {TABLE} WHERE id = 13")
    events.expected = [row for row in events.expected if row["id"] not in (11, 13)]
    events.lineage = events.ours([ROW_ID, CHANGED])
    events.check("deletes")
    before = len(events.home.metadata(TABLE)["snapshots"])
    events.spark_call("expire_snapshots", f"older_than => TIMESTAMP '{FAR}', retain_last => 1")
    assert len(events.home.metadata(TABLE)["snapshots"]) == 1 < before
    events.check("Spark's expire_snapshots")
    aged(events, days=10)
    assert [row for row in events.spark_call("remove_orphan_files") if "/_frazil/" in row[0]] == []
    events.check("Spark's remove_orphan_files")
    assert not [row for row in events.call("verify") if row["problem_count"]]


def test_our_expiry_and_orphan_removal_leave_sparks_table_whole(home, all_engines):
    spark = all_engines.spark
    spark.sql("CREATE NAMESPACE IF NOT EXISTS {c}.shop")
    spark.sql(f"CREATE TABLE {{c}}.{TABLE} (id BIGINT, kind STRING, v INT) USING iceberg PARTITIONED BY (kind) TBLPROPERTIES "
              "('format-version'='3', 'write.delete.mode'='merge-on-read', 'write.update.mode'='merge-on-read')")
    for i in range(4):
        spark.sql(f"INSERT INTO {{c}}.{TABLE} VALUES ({2 * i}, 'a', {i}), ({2 * i + 1}, 'b', {i})")
    spark.sql(f"DELETE FROM {{c}}.{TABLE} WHERE id = 3")
    spark.sql(f"UPDATE {{c}}.{TABLE} SET v = 50 WHERE id = 4")
    spark.sql(f"CALL {{c}}.system.rewrite_data_files(table => '{TABLE}', options => map('min-input-files', '2'))")
    wanted = spark.rows(TABLE, COLUMNS)
    home.sql(f"CALL system.expire_snapshots(table => '{TABLE}', older_than => TIMESTAMP '{FAR}', retain_last => 1)")
    folder = local_path(home.metadata(TABLE)["location"])
    for path in folder.rglob("*"):
        os.utime(path, (time.time() - 10 * 24 * 3600,) * 2)
    lost = folder / "data" / "lost.parquet"
    lost.write_bytes(b"x")
    os.utime(lost, (time.time() - 10 * 24 * 3600,) * 2)
    removed = home.sql(f"CALL system.remove_orphan_files(table => '{TABLE}')")
    assert any(row["orphan_file_location"].endswith("lost.parquet") for row in removed) and not lost.exists()
    for engine in all_engines.all:
        assert engine.rows(TABLE, COLUMNS) == wanted, engine.name
    assert not [row for row in home.sql(f"CALL system.verify('{TABLE}')") if row["problem_count"]]
    spark.sql(f"INSERT INTO {{c}}.{TABLE} VALUES (100, 'a', 1)")
    assert len(spark.rows(TABLE, COLUMNS)) == len(wanted) + 1


def aged(events, days):
    folder = local_path(events.home.metadata(TABLE)["location"])
    for path in folder.rglob("*"):
        os.utime(path, (time.time() - days * 24 * 3600,) * 2)


def columns_of(events, procedure, arguments=""):
    """Names and types of the frame that Spark's procedure answers with."""
    frame = events.engines.spark.session.sql(
        f"CALL {events.engines.spark.catalog}.system.{procedure}(table => '{TABLE}'{', ' if arguments else ''}{arguments})")
    return [(field.name, field.dataType.simpleString()) for field in frame.schema.fields], [tuple(row) for row in frame.collect()]


def test_ancestors_are_sparks(events):
    _, theirs = columns_of(events, "ancestors_of")
    ours = events.call("ancestors_of")
    assert [tuple(row.values()) for row in ours] == theirs
    assert list(ours[0]) == ["snapshot_id", "timestamp"]


# rewrite_manifests is not among them: Spark also counts, and writes anew, what a manifest without live files stands beside.
@pytest.mark.parametrize("procedure, arguments", [
    ("expire_snapshots", f"older_than => TIMESTAMP '{FAR}', retain_last => 1"),
    ("rewrite_data_files", "options => map('min-input-files', '2')"),
])
def test_the_answer_is_sparks(home, all_engines, procedure, arguments):
    """Both run on tables of the same history: the first by us, the other by Spark."""
    ours = Events(home, all_engines)
    answer = ours.call(procedure, arguments)
    home.sql(f"DROP TABLE {TABLE}")
    theirs = Events(home, all_engines)
    columns, rows = columns_of(theirs, procedure, arguments)
    assert list(answer[0]) == [name for name, _ in columns]
    bytes_columns = [i for i, (name, _) in enumerate(columns) if "bytes" in name]
    shown = lambda row: tuple(None if i in bytes_columns else value for i, value in enumerate(row))  # noqa: E731
    assert [shown(tuple(row.values())) for row in answer] == [shown(row) for row in rows]


def test_rollbacks_and_branches_are_seen_by_spark(events):
    before = events.home.metadata(TABLE)["current-snapshot-id"]
    events.home.sql(f"ALTER TABLE {TABLE} CREATE BRANCH audit")
    events.home.sql(f"INSERT INTO {TABLE}.branch_audit VALUES (1000, 'a', 1)")
    [moved] = events.call("fast_forward", "branch => 'main', to => 'audit'")
    assert moved["previous_ref"] == before
    assert len(events.engines.spark.rows(TABLE, COLUMNS)) == len(events.expected) + 1
    [back] = events.call("rollback_to_snapshot", f"snapshot_id => {before}")
    assert back == {"previous_snapshot_id": moved["updated_ref"], "current_snapshot_id": before}
    events.check("a rollback")
    [picked] = events.spark_call("cherrypick_snapshot", f"snapshot_id => {moved['updated_ref']}")
    assert picked[0] == moved["updated_ref"]
    assert len(events.engines.frazil.rows(TABLE, COLUMNS)) == len(events.expected) + 1


def test_position_deletes_of_spark_become_vectors(home, all_engines):
    """A v2 table with position delete files, upgraded: one vector a data file, nothing comes back."""
    spark = all_engines.spark
    spark.sql("CREATE NAMESPACE IF NOT EXISTS {c}.shop")
    spark.sql(f"CREATE TABLE {{c}}.{TABLE} (id BIGINT, kind STRING, v INT) USING iceberg TBLPROPERTIES ('format-version'='2', "
              "'write.delete.mode'='merge-on-read', 'write.delete.granularity'='partition')")
    spark.sql(f"INSERT INTO {{c}}.{TABLE} VALUES (1, 'a', 1), (2, 'a', 2), (3, 'a', 3)")
    spark.sql(f"INSERT INTO {{c}}.{TABLE} VALUES (4, 'a', 4), (5, 'a', 5), (6, 'a', 6)")
    spark.sql(f"DELETE FROM {{c}}.{TABLE} WHERE id IN (2, 5)")
    spark.sql(f"DELETE FROM {{c}}.{TABLE} WHERE id = 3")
    wanted = spark.rows(TABLE, COLUMNS)
    home.sql(f"ALTER TABLE {TABLE} SET TBLPROPERTIES ('format-version' = '3')")
    [answer] = home.sql(f"CALL system.rewrite_position_delete_files(table => '{TABLE}')")
    assert answer["rewritten_delete_files_count"] >= 2 and answer["added_delete_files_count"] == 1
    formats = home.sql(f"SELECT DISTINCT file_format FROM {TABLE}.delete_files")
    assert formats == [{"file_format": "PUFFIN"}]
    for engine in all_engines.all:
        assert engine.rows(TABLE, COLUMNS) == wanted, engine.name
