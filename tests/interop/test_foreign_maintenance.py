"""Spark maintains a table that frazil goes on writing to, and frazil one that Spark writes to: in turns, at once, and with
one side's work begun before the other's commit. What it may end in: the right rows, or a clear conflict on one side."""

import os
import shutil
import threading
import time

import pytest

from engines import CHANGED, ROW_ID
from home import local_path, tombstone, upsert

TABLE = "shop.kv"
COLUMNS = ["id", "v"]
FAR = "2100-01-01 00:00:00"
SPARKS_PASS = [f"CALL {{c}}.system.rewrite_data_files(table => '{TABLE}', options => map('min-input-files', '2'))",
               f"CALL {{c}}.system.rewrite_position_delete_files(table => '{TABLE}', options => map('rewrite-all', 'true'))",
               f"CALL {{c}}.system.rewrite_manifests('{TABLE}')",
               f"CALL {{c}}.system.expire_snapshots(table => '{TABLE}', older_than => TIMESTAMP '{FAR}', retain_last => 1)",
               f"CALL {{c}}.system.remove_orphan_files(table => '{TABLE}')"]
OUR_PASS = [f"CALL system.rewrite_data_files(table => '{TABLE}', options => map('min-input-files', '2'))",
            f"CALL system.rewrite_deletion_vectors(table => '{TABLE}')",
            f"CALL system.rewrite_manifests('{TABLE}')",
            f"CALL system.expire_snapshots(table => '{TABLE}', older_than => TIMESTAMP '{FAR}', retain_last => 1)",
            f"CALL system.remove_orphan_files(table => '{TABLE}')"]


class Stream:
    """Batches of upserts and tombstones, and the rows that the table must have after them."""

    def __init__(self, home):
        self.home, self.rows, self.batches = home, {}, 0

    def next(self):
        n, records = self.batches, []
        for i in range(12):
            key = (n * 5 + i * 7) % 40
            records.append(upsert({"id": key}, v=f"{n}-{i}"))
            self.rows[key] = f"{n}-{i}"
        gone = (n * 11) % 40
        records.append(tombstone({"id": gone}))
        self.rows.pop(gone, None)
        self.home.ingest(records, TABLE, *(["--create", "--columns", "id bigint not null, v string"] if n == 0 else []))
        self.batches += 1

    def check(self, engines, when):
        wanted = sorted(self.rows.items(), key=repr)
        for engine in engines.all:
            assert engine.rows(TABLE, COLUMNS) == wanted, f"{engine.name} {when}"


@pytest.fixture
def stream(home):
    home.sql("CREATE NAMESPACE shop")
    stream = Stream(home)
    for _ in range(4):
        stream.next()
    return stream


def age(home, days=10):
    """Whatever is there now is old enough for every orphan removal."""
    for path in local_path(home.metadata(TABLE)["location"]).rglob("*"):
        os.utime(path, (time.time() - days * 24 * 3600,) * 2)


def all_is_well(home):
    assert not [row for row in home.sql(f"CALL system.verify('{TABLE}')") if row["problem_count"]]
    home.run("index", "verify", TABLE)


def test_spark_compacts_expires_and_cleans_a_table_that_we_keep_upserting(home, all_engines, stream):
    for _ in range(2):
        for call in SPARKS_PASS:
            age(home)
            all_engines.spark.sql(call)
            stream.check(all_engines, f"after {call}")
            stream.next()
            stream.check(all_engines, f"upserts after {call}")
        assert len(home.metadata(TABLE)["snapshots"]) <= 5
    all_is_well(home)


def test_we_compact_expire_and_clean_a_table_that_spark_keeps_changing(home, all_engines, stream):
    spark = all_engines.spark
    home.sql(f"ALTER TABLE {TABLE} SET TBLPROPERTIES ('write.delete.mode' = 'merge-on-read', 'write.update.mode' = 'merge-on-read', "
             "'write.merge.mode' = 'merge-on-read')")
    for n, call in enumerate(OUR_PASS * 2):
        spark.sql(f"UPDATE {{c}}.{TABLE} SET v = 'spark {n}' WHERE id % 5 = {n % 5}")
        spark.sql(f"DELETE FROM {{c}}.{TABLE} WHERE id = {n}")
        spark.sql(f"INSERT INTO {{c}}.{TABLE} VALUES ({100 + n}, 'new {n}')")
        stream.rows = {k: (f"spark {n}" if k % 5 == n % 5 else v) for k, v in stream.rows.items() if k != n}
        stream.rows[100 + n] = f"new {n}"
        age(home)
        lineage = spark.rows(TABLE, ["id", ROW_ID, CHANGED])
        home.sql(call)
        stream.check(all_engines, f"after {call}")
        assert spark.rows(TABLE, ["id", ROW_ID, CHANGED]) == lineage, call
    all_is_well(home)


def test_spark_maintains_while_we_upsert(home, all_engines, stream):
    """At once: who is slower fails clearly or tries again, and no row is lost, doubled or revived."""
    failures = []

    def ingest():
        try:
            for _ in range(6):
                stream.next()
        except AssertionError as error:
            failures.append(error)

    writer = threading.Thread(target=ingest)
    writer.start()
    conflicts = []
    while writer.is_alive():
        for call in SPARKS_PASS[:4]:
            try:
                all_engines.spark.sql(call)
            except AssertionError as error:
                conflicts.append(str(error))
    writer.join()
    assert not failures
    for text in conflicts:
        assert any(word in text for word in ("conflict", "Conflict", "ValidationException", "CommitFailed", "stale", "has changed",
                                             "Cannot commit", "database is locked", "SQLITE_BUSY", "new deletes")), text
    stream.check(all_engines, "after both")
    all_is_well(home)


def each(iterable):
    """The elements of a Java Iterable."""
    iterator = iterable.iterator()
    while iterator.hasNext():
        yield iterator.next()


class Begun:
    """An operation of Iceberg's Java library on the table as it is now, committed when we say so."""

    def __init__(self, home, spark):
        self.iceberg = spark.session._jvm.org.apache.iceberg
        self.jvm = spark.session._jvm
        self.table = self.iceberg.spark.Spark3Util.loadIcebergTable(spark.session._jsparkSession, f"{home.catalog}.{TABLE}")
        self.snapshot = self.table.currentSnapshot().snapshotId()
        tasks = self.table.newScan().planFiles()
        self.files = [task.file() for task in each(tasks)]
        tasks.close()

    def compaction(self):
        """Every file by a copy of itself: no row changes."""
        gone, new = self.jvm.java.util.HashSet(), self.jvm.java.util.HashSet()
        for file in self.files:
            old = str(file.location())
            path = old.replace(".parquet", "-copy.parquet")
            shutil.copy(local_path(old), local_path(path))
            gone.add(file)
            new.add(self.iceberg.DataFiles.builder(self.table.spec()).copy(file).withPath(path).build())
        return self.table.newRewrite().validateFromSnapshot(self.snapshot).rewriteFiles(gone, new)

    def delete_of_first_rows(self):
        """The first row of each file, by a vector, as Spark's merge-on-read DELETE commits it."""
        files = self.iceberg.io.OutputFileFactory.builderFor(self.table, 1, 1).format(self.iceberg.FileFormat.PUFFIN).build()
        no_previous = self.jvm.com.google.common.base.Functions.constant(None)
        writer = self.iceberg.deletes.BaseDVFileWriter(files, no_previous)
        delta = self.table.newRowDelta().validateFromSnapshot(self.snapshot).validateDeletedFiles()
        paths = self.jvm.java.util.ArrayList()
        for file in self.files:
            writer.delete(str(file.location()), 0, self.table.spec(), None)
            paths.add(str(file.location()))
        writer.close()
        for vector in writer.result().deleteFiles():
            delta.addDeletes(vector)
        return delta.validateDataFilesExist(paths).validateNoConflictingDeleteFiles()


def commit(operation):
    """None, or the text of the refusal."""
    from py4j.protocol import Py4JJavaError
    try:
        operation.commit()
    except Py4JJavaError as error:
        return str(error.java_exception)
    return None


@pytest.fixture
def plain(home, stream):
    """Files without vectors, so that a copy of a file has its rows."""
    home.sql(f"CALL system.rewrite_data_files(table => '{TABLE}', options => map('rewrite-all', 'true'))")
    home.sql(f"INSERT INTO {TABLE} VALUES (200, 'x'), (201, 'y')")
    stream.rows.update({200: "x", 201: "y"})
    return stream


@pytest.mark.parametrize("ours", ["upserts", "compaction"])
def test_a_spark_compaction_begun_before_ours_ends_in_a_conflict(home, all_engines, plain, ours):
    theirs = Begun(home, all_engines.spark).compaction()
    if ours == "upserts":
        plain.next()
    else:
        home.sql(f"CALL system.rewrite_data_files(table => '{TABLE}', options => map('rewrite-all', 'true'))")
    refusal = commit(theirs)
    assert refusal is not None and ("Cannot commit" in refusal or "Missing required files" in refusal), refusal
    plain.check(all_engines, "after the refusal")
    all_is_well(home)


def test_a_spark_compaction_begun_before_our_insert_is_committed_and_we_follow(home, all_engines, plain):
    theirs = Begun(home, all_engines.spark).compaction()
    home.sql(f"INSERT INTO {TABLE} VALUES (300, 'z')")
    plain.rows[300] = "z"
    assert commit(theirs) is None
    plain.check(all_engines, "after the compaction")
    plain.next()
    plain.check(all_engines, "upserts after it")
    all_is_well(home)


def test_a_spark_delete_begun_before_our_compaction_ends_in_a_conflict(home, all_engines, plain):
    theirs = Begun(home, all_engines.spark).delete_of_first_rows()
    home.sql(f"CALL system.rewrite_data_files(table => '{TABLE}', options => map('rewrite-all', 'true'))")
    refusal = commit(theirs)
    assert refusal is not None and ("Cannot commit" in refusal or "Missing" in refusal), refusal
    plain.check(all_engines, "after the refusal")
    all_is_well(home)


def test_statistics_of_ours_are_read_by_spark(home, all_engines, stream):
    spark = all_engines.spark
    [answer] = home.sql(f"CALL system.compute_table_stats('{TABLE}')")
    jvm = spark.session._jvm
    iceberg = jvm.org.apache.iceberg
    table = iceberg.spark.Spark3Util.loadIcebergTable(spark.session._jsparkSession, f"{home.catalog}.{TABLE}")
    [ours] = list(table.statisticsFiles())
    assert ours.path() == answer["statistics_file"] and ours.snapshotId() == table.currentSnapshot().snapshotId()
    reader = iceberg.puffin.Puffin.read(table.io().newInputFile(ours.path())).withFileSize(ours.fileSizeInBytes()).withFooterSize(
        ours.fileFooterSizeInBytes()).build()
    blobs = list(reader.fileMetadata().blobs())
    assert [blob.type() for blob in blobs] == ["apache-datasketches-theta-v1"] * 2
    reader.close()
    wanted = {1: len(stream.rows), 2: len(set(stream.rows.values()))}
    assert {list(blob.inputFields())[0]: int(blob.properties()["ndv"]) for blob in blobs} == wanted
    # Spark's own sketches of the same rows are the same bytes, but for a sampling rate that nobody reads.
    spark.sql(f"CALL {{c}}.system.compute_table_stats('{TABLE}')")
    table.refresh()
    [theirs] = list(table.statisticsFiles())
    assert theirs.path() != ours.path()
    assert sketches(jvm, table, theirs) == sketches(jvm, table, ours)
    stream.check(all_engines, "with statistics")


def sketches(jvm, table, file):
    """The blobs by field, uncompressed."""
    reader = jvm.org.apache.iceberg.puffin.Puffin.read(table.io().newInputFile(file.path())).build()
    found = {}
    for pair in each(reader.readAll(reader.fileMetadata().blobs())):
        buffer = pair.second()
        sketch = bytes(buffer.get(i) & 0xFF for i in range(buffer.limit()))
        found[list(pair.first().inputFields())[0]] = sketch[:12] + sketch[16:]
    reader.close()
    return found


def test_files_that_we_added_are_read_by_all(home, all_engines):
    import pyarrow as pa
    import pyarrow.parquet as pq
    source = home.folder / "hive"
    for region in ("eu", "us east"):
        folder = source / f"region={region.replace(' ', '%20')}"
        folder.mkdir(parents=True)
        pq.write_table(pa.table({"id": pa.array([1, 2], pa.int32()), "name": ["a", None]}), folder / "0.parquet")
    home.sql("CREATE NAMESPACE shop")
    home.sql("CREATE TABLE shop.hive (id BIGINT, name STRING, region STRING) PARTITIONED BY (region)")
    [answer] = home.sql(f"CALL system.add_files(table => 'shop.hive', source_table => '`parquet`.`{source}`')")
    assert answer == {"added_files_count": 2, "changed_partition_count": 2}
    home.sql("DELETE FROM shop.hive WHERE id = 2 AND region = 'eu'")
    for engine in all_engines.all:
        assert engine.rows("shop.hive", ["id", "name", "region"]) == [(1, "a", "eu"), (1, "a", "us east"), (2, None, "us east")], engine.name
