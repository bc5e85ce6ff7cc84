"""Spark 3.5 with Iceberg 1.10, the version of the managed services, beside ours: a smaller set of the scenarios, in both directions,
and each engine goes on with what the other made."""

import sqlite3
import types

import pytest

import engines
import scenarios
from home import Home, needed
from scenarios import OURS, THEIRS, check, run_by_frazil, run_by_spark


@pytest.fixture(scope="module")
def worker(tmp_path_factory):
    needed("FRAZIL_SPARK35_DIR")
    needed("FRAZIL_SPARK35_JAR")
    worker = engines.spark35(tmp_path_factory.mktemp("spark35"))
    yield worker
    worker.stdin.close()
    worker.wait(60)


def readers(home, worker):
    frazil, spark = engines.Frazil(home), engines.Spark35(home, worker)
    return types.SimpleNamespace(frazil=frazil, spark=spark, all=[frazil, spark])


@pytest.fixture
def both(home, worker):
    return readers(home, worker)


@pytest.mark.parametrize("name", scenarios.SPARK35)
def test_it_reads_what_we_made_and_we_what_it_made(home, both, name):
    run_by_frazil(home, name, OURS)
    run_by_spark(both.spark, name, THEIRS)
    assert check(home, both, OURS, name) == check(home, both, THEIRS, name)


def test_each_goes_on_with_the_others_table(home, both, worker):
    name = "deletes_of_one_file_again_and_again"
    run_by_frazil(home, name, OURS)
    run_by_spark(both.spark, name, THEIRS)
    before = {}
    for table in (OURS, THEIRS):
        before[table] = lineage(both, table)
        both.spark.sql(f"UPDATE {{c}}.{table} SET x = -1 WHERE id = 5")
        both.spark.sql(f"DELETE FROM {{c}}.{table} WHERE id = 2")
    both = let_go(home, worker)
    for table in (OURS, THEIRS):
        both.frazil.home.sql(f"DELETE FROM {table} WHERE id = 0")
        both.frazil.home.sql(f"UPDATE {table} SET name = 'both' WHERE id IN (5, 7)")
    for table in (OURS, THEIRS):
        both.spark.sql(f"MERGE INTO {{c}}.{table} t USING (SELECT 4 AS id UNION ALL SELECT 40) s ON t.id = s.id "
                       "WHEN MATCHED THEN DELETE WHEN NOT MATCHED THEN INSERT (id, name, x) VALUES (s.id, 'new', 0)")
    both = let_go(both.frazil.home, worker)
    for table in (OURS, THEIRS):
        both.frazil.home.run("sql", "-e", f"CALL system.rewrite_data_files(table => '{table}', options => map('rewrite-all', 'true'))")
    for table in (OURS, THEIRS):
        after = lineage(both, table)
        assert set(after) == {5, 6, 7, 40}
        assert all(after[key] == before[table][key] for key in (5, 6, 7)), "row ids survive both engines"
    assert check(both.frazil.home, both, OURS, name) == check(both.frazil.home, both, THEIRS, name)


def let_go(home, worker):
    """The JdbcCatalog of Iceberg 1.10 never ends the first read of a SQLite file, so nobody but that process could commit any
    more: the same catalog goes on as another file, under another name."""
    copy = home.catalog_file.with_suffix(".copy")
    copy.write_bytes(home.catalog_file.read_bytes())
    copy.replace(home.catalog_file)
    other = f"{home.catalog}_on"
    with sqlite3.connect(home.catalog_file) as database:
        for table in ("iceberg_tables", "iceberg_namespace_properties"):
            database.execute(f"UPDATE {table} SET catalog_name = ?", [other])
    return readers(Home(home.folder, other), worker)


def lineage(both, table):
    """Row id by id; both engines agree."""
    ours = both.frazil.rows(table, ["id", engines.ROW_ID])
    assert both.spark.rows(table, ["id", engines.ROW_ID]) == ours
    return dict(ours)
