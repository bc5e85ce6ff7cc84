"""Spark 3.5 with Iceberg 1.10, the version of the managed services, beside ours: a smaller set of the scenarios, in both directions,
and each engine goes on with what the other made."""

import types

import pytest

import engines
import scenarios
from home import needed
from test_scenarios import OURS, THEIRS, check, run_by_frazil, run_by_spark


@pytest.fixture(scope="module")
def worker(tmp_path_factory):
    needed("FRAZIL_SPARK35_DIR")
    needed("FRAZIL_SPARK35_JAR")
    worker = engines.spark35(tmp_path_factory.mktemp("spark35"))
    yield worker
    worker.stdin.close()
    worker.wait(60)


@pytest.fixture
def both(home, worker):
    frazil, spark = engines.Frazil(home), engines.Spark35(home, worker)
    return types.SimpleNamespace(frazil=frazil, spark=spark, all=[frazil, spark])


@pytest.mark.parametrize("name", scenarios.SPARK35)
def test_it_reads_what_we_made_and_we_what_it_made(home, both, name):
    run_by_frazil(home, name, OURS)
    run_by_spark(both.spark, name, THEIRS)
    assert check(home, both, OURS, name) == check(home, both, THEIRS, name)


def test_each_goes_on_with_the_others_table(home, both):
    name = "deletes_of_one_file_again_and_again"
    run_by_frazil(home, name, OURS)
    run_by_spark(both.spark, name, THEIRS)
    for table in (OURS, THEIRS):
        before = lineage(both, table)
        both.spark.sql(f"UPDATE {{c}}.{table} SET x = -1 WHERE id = 5")
        home.sql(f"DELETE FROM {table} WHERE id = 0")
        both.spark.sql(f"DELETE FROM {{c}}.{table} WHERE id = 2")
        home.sql(f"UPDATE {table} SET name = 'both' WHERE id IN (5, 7)")
        both.spark.sql(f"MERGE INTO {{c}}.{table} t USING (SELECT 4 AS id UNION ALL SELECT 40) s ON t.id = s.id "
                       "WHEN MATCHED THEN DELETE WHEN NOT MATCHED THEN INSERT (id, name, x) VALUES (s.id, 'new', 0)")
        home.run("sql", "-e", f"CALL system.rewrite_data_files(table => '{table}', options => map('rewrite-all', 'true'))")
        after = lineage(both, table)
        assert set(after) == {5, 6, 7, 40}
        assert all(after[key] == before[key] for key in (5, 6, 7)), "row ids survive both engines"
    assert check(home, both, OURS, name) == check(home, both, THEIRS, name)


def lineage(both, table):
    """Row id by id; both engines agree."""
    ours = both.frazil.rows(table, ["id", engines.ROW_ID])
    assert both.spark.rows(table, ["id", engines.ROW_ID]) == ours
    return dict(ours)
