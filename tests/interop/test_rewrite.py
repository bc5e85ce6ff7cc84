"""rewrite_data_files: after each rewrite every engine reads the rows it read before, with the lineage they had. Spark
changes and compacts the table between, before and while frazil's rewrite is under way."""

import shutil

import pytest

from engines import CHANGED, ROW_ID
from home import upsert

TABLE = "shop.stock"
COLUMNS = ["id", "name", "qty", "region"]
LINEAGE = ["id", ROW_ID, CHANGED]


class Stock:
    """A table in many small files, with deleted rows."""

    def __init__(self, home, engines, properties="", partitioned=True):
        self.home, self.engines = home, engines
        home.sql("CREATE NAMESPACE IF NOT EXISTS shop")
        home.sql(f"CREATE TABLE {TABLE} (id BIGINT NOT NULL, name STRING, qty INT, region STRING)"
                 + (" PARTITIONED BY (region)" if partitioned else "") + properties)

    def insert(self, ids):
        values = ", ".join(f"({i}, 'n{i}', {i * 10}, '{'eu' if i % 2 else 'us'}')" for i in ids)
        self.home.sql(f"INSERT INTO {TABLE} VALUES {values}")

    def rewrite(self, *options, where=None):
        arguments = [f"table => '{TABLE}'"]
        if options:
            arguments.append("options => map({})".format(", ".join(f"'{o}'" for o in options)))
        if where:
            arguments.append(f"where => '{where}'")
        return self.home.sql(f"CALL {self.home.catalog}.system.rewrite_data_files({', '.join(arguments)})")[0]

    def lineage(self):
        return self.engines.spark.rows(TABLE, LINEAGE)

    def check(self, rows, lineage=None):
        for engine in self.engines.all:
            assert engine.rows(TABLE, COLUMNS) == rows, engine.name
        if lineage is None:
            return
        for engine in self.engines.all:
            if engine.has_lineage:
                assert engine.rows(TABLE, LINEAGE) == lineage, f"lineage in {engine.name}"

    def operations(self):
        return [s["summary"]["operation"] for s in self.home.metadata(TABLE)["snapshots"]]


def test_every_engine_reads_the_same_rows_and_lineage_after_a_rewrite(home, all_engines):
    stock = Stock(home, all_engines)
    for first in range(0, 30, 5):
        stock.insert(range(first, first + 5))
    home.sql(f"DELETE FROM {TABLE} WHERE id IN (3, 4, 11)")
    home.sql(f"UPDATE {TABLE} SET qty = 7 WHERE id IN (8, 20)")
    rows, lineage = all_engines.spark.rows(TABLE, COLUMNS), stock.lineage()
    result = stock.rewrite("min-input-files", "2")
    assert result["rewritten_data_files_count"] >= 12
    assert result["added_data_files_count"] == 2
    assert result["failed_data_files_count"] == 0
    assert stock.operations()[-1] == "replace"
    stock.check(rows, lineage)

    # Spark goes on with what we wrote, and we with what it wrote.
    all_engines.spark.sql(f"DELETE FROM {{c}}.{TABLE} WHERE id = 15")
    all_engines.spark.sql(f"UPDATE {{c}}.{TABLE} SET name = 'spark' WHERE id = 16")
    rows, lineage = all_engines.spark.rows(TABLE, COLUMNS), stock.lineage()
    stock.rewrite("rewrite-all", "true")
    stock.check(rows, lineage)


def test_spark_compacts_what_we_rewrote_and_we_what_spark_compacted(home, all_engines):
    stock = Stock(home, all_engines)
    for first in range(0, 20, 4):
        stock.insert(range(first, first + 4))
    home.sql(f"DELETE FROM {TABLE} WHERE id = 2")
    rows, lineage = all_engines.spark.rows(TABLE, COLUMNS), stock.lineage()
    call = f"CALL {{c}}.system.rewrite_data_files(table => '{TABLE}', options => map('rewrite-all', 'true'))"
    for _ in range(2):
        stock.rewrite("rewrite-all", "true")
        stock.check(rows, lineage)
        all_engines.spark.sql(call)
        stock.check(rows, lineage)


def test_files_of_an_old_spec_move_to_the_partitions(home, all_engines):
    stock = Stock(home, all_engines, partitioned=False)
    for first in range(0, 25, 5):
        stock.insert(range(first, first + 5))
    home.sql(f"ALTER TABLE {TABLE} ADD PARTITION FIELD region")
    home.sql(f"DELETE FROM {TABLE} WHERE id = 7")
    rows, lineage = all_engines.spark.rows(TABLE, COLUMNS), stock.lineage()
    assert stock.rewrite()["added_data_files_count"] == 2
    stock.check(rows, lineage)
    partitions = all_engines.spark.sql(f"SELECT DISTINCT partition.region FROM {{c}}.{TABLE}.files")
    assert sorted(partitions) == [("eu",), ("us",)]


def test_schema_changes_before_a_rewrite_are_honoured(home, all_engines):
    stock = Stock(home, all_engines)
    for first in range(0, 10, 2):
        stock.insert(range(first, first + 2))
    home.sql(f"ALTER TABLE {TABLE} ALTER COLUMN qty TYPE BIGINT")
    home.sql(f"ALTER TABLE {TABLE} RENAME COLUMN name TO title")
    home.sql(f"ALTER TABLE {TABLE} ADD COLUMN stars INT DEFAULT 5")
    columns = ["id", "title", "qty", "region", "stars"]
    before = all_engines.frazil.rows(TABLE, columns)
    lineage = stock.lineage()
    stock.rewrite("rewrite-all", "true")
    for engine in all_engines.all:
        assert engine.rows(TABLE, columns) == before, engine.name
    assert stock.lineage() == lineage


def test_where_picks_files_and_never_rows(home, all_engines):
    stock = Stock(home, all_engines)
    for first in range(0, 24, 4):
        stock.insert(range(first, first + 4))
    rows, lineage = all_engines.spark.rows(TABLE, COLUMNS), stock.lineage()
    result = stock.rewrite("rewrite-all", "true", where="id < 8")
    assert result["rewritten_data_files_count"] == 4
    stock.check(rows, lineage)
    assert stock.rewrite("rewrite-all", "true", where="id > 1000")["rewritten_data_files_count"] == 0
    stock.check(rows, lineage)


def test_equality_deletes_of_other_engines_are_gone_for_good(home, all_engines):
    """The fixture's table has equality deletes; a rewrite evaluates them."""
    stock = Stock(home, all_engines, properties=" TBLPROPERTIES ('format-version' = '2')")
    for first in range(0, 12, 3):
        stock.insert(range(first, first + 3))
    home.sql(f"DELETE FROM {TABLE} WHERE id IN (1, 2)")
    rows = all_engines.spark.rows(TABLE, COLUMNS)
    stock.rewrite("rewrite-all", "true", "remove-dangling-deletes", "true")
    stock.check(rows)
    files = all_engines.spark.sql(f"SELECT content FROM {{c}}.{TABLE}.files")
    assert {content for content, in files} == {0}


def test_an_upgraded_table_gets_its_ids_before_rows_move(home, all_engines):
    stock = Stock(home, all_engines, properties=" TBLPROPERTIES ('format-version' = '2')")
    for first in range(0, 10, 2):
        stock.insert(range(first, first + 2))
    home.sql(f"ALTER TABLE {TABLE} SET TBLPROPERTIES ('format-version' = '3')")
    rows = all_engines.spark.rows(TABLE, COLUMNS)
    stock.rewrite("rewrite-all", "true")
    stock.check(rows)
    lineage = stock.lineage()
    assert len({row_id for _, row_id, _ in lineage}) == 10 and None not in {row_id for _, row_id, _ in lineage}
    sequence = {key: changed for key, _, changed in lineage}
    assert [sequence[key] for key in (0, 2, 4)] == sorted({sequence[0], sequence[2], sequence[4]}), \
        "rows keep the sequence numbers of the commits that wrote them"
    stock.rewrite("rewrite-all", "true")
    assert stock.lineage() == lineage


@pytest.mark.parametrize("dml", ["DELETE FROM {c}.shop.stock WHERE id = 9", "UPDATE {c}.shop.stock SET qty = -1 WHERE id = 9",
                                 "CALL {c}.system.rewrite_data_files(table => 'shop.stock', options => map('rewrite-all', 'true'))"])
def test_spark_gets_between_a_finished_group_and_its_commit(home, all_engines, dml):
    """The run dies before it commits; Spark changes the table; the next run commits what was finished, or drops it."""
    stock = Stock(home, all_engines)
    for first in range(0, 20, 4):
        stock.insert(range(first, first + 4))
    before = home.metadata(TABLE)["current-snapshot-id"]
    call = f"CALL {home.catalog}.system.rewrite_data_files(table => '{TABLE}', options => map('rewrite-all', 'true'))"
    killed = None
    for write in range(1, 200):
        done = home.run("sql", "-q", "-e", call, check=False, environment={"FRAZIL_KILL_AT_WRITE": str(write)})
        if done.returncode == 0:
            break
        journal = list(home.folder.glob("state/*/journal/*.entry"))
        if len(journal) == 2:
            killed = write
            break
        for folder in home.folder.glob("state/*/journal"):
            shutil.rmtree(folder)
    assert killed, "no run died with both groups finished"
    assert home.metadata(TABLE)["current-snapshot-id"] == before
    all_engines.spark.sql(dml)
    rows, lineage = all_engines.spark.rows(TABLE, COLUMNS), stock.lineage()
    stock.rewrite()
    stock.check(rows, lineage)
    assert not list(home.folder.glob("state/*/journal/*.entry"))


def test_ingest_follows_a_rewrite_through_its_row_map(home, all_engines):
    home.sql("CREATE NAMESPACE shop")
    for batch in range(6):
        home.ingest([upsert({"id": i}, name=f"b{batch}", qty=batch) for i in range(batch, batch + 5)], "shop.kv",
                    *(["--create"] if batch == 0 else []))
    rows = all_engines.spark.rows("shop.kv", ["id", "name", "qty"])
    home.sql(f"CALL {home.catalog}.system.rewrite_data_files(table => 'shop.kv', options => map('rewrite-all', 'true'))")
    assert all_engines.spark.rows("shop.kv", ["id", "name", "qty"]) == rows
    home.ingest([upsert({"id": i}, name="last", qty=99) for i in range(0, 4)], "shop.kv")
    expected = sorted([row for row in rows if row[0] > 3] + [(i, "last", 99) for i in range(4)], key=repr)
    for engine in all_engines.all:
        assert engine.rows("shop.kv", ["id", "name", "qty"]) == expected, engine.name
    home.run("index", "verify", "shop.kv")
