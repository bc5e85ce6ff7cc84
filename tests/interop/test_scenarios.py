"""The scenarios of tests/support/scenarios.py, each run by frazil on one table and by Spark on another: every engine reads both
tables alike, and both hold the same rows."""

import pytest

import engines
import scenarios
from engines import CHANGED, ROW_ID
from table_layout import check_layout

OURS, THEIRS = "s.ours", "s.theirs"
# What another engine cannot read of a table, ours and Spark's alike.
DIFFERENCES = {}


def columns_of(home, table):
    columns = [row["col_name"] for row in home.sql(f"SHOW COLUMNS IN {table}")]
    metadata = home.metadata(table)
    has_lineage = metadata["format-version"] > 2 and metadata.get("current-snapshot-id") not in (None, -1)
    return columns, [ROW_ID, CHANGED] if has_lineage else []


def run_by_frazil(home, name, table):
    home.run("sql", "-f", "-", input=";\n".join(scenarios.filled(s, table) for s in ["CREATE NAMESPACE IF NOT EXISTS s", *scenarios.script(name)]) + ";")


def run_by_spark(spark, name, table):
    spark.sql("CREATE NAMESPACE IF NOT EXISTS {c}.s")
    for statement in scenarios.script(name):
        spark.sql(engines.in_sparks_words(scenarios.filled(statement, table, f"{spark.catalog}.")))


def rows(engine, table, columns, lineage):
    """Rows by value, in one form for all engines: frazil prints moments, bytes and floats its own way."""
    if isinstance(engine, engines.Frazil):
        return engine.typed_rows(table, [*columns, *lineage])
    return engine.rows(table, [*columns, *(lineage if engine.has_lineage else [])])


def check(home, readers, table, name):
    columns, lineage = columns_of(home, table)
    ours = rows(readers.frazil, table, columns, lineage)
    without = engines.in_order(row[:len(columns)] for row in ours)
    for engine in readers.all[1:]:
        if (engine.name, name) in DIFFERENCES:
            continue
        expected = ours if engine.has_lineage else without
        assert normal(rows(engine, table, columns, lineage)) == normal(expected), f"{engine.name} on {table}"
    if lineage:
        ids = [row[len(columns)] for row in ours]
        assert None not in ids and len(set(ids)) == len(ids), "each row has an id of its own"
    return normal(without)


def normal(found):
    """Maps are lists of pairs in Arrow's Python form."""
    def one(value):
        if isinstance(value, dict):
            return {k: one(v) for k, v in value.items()}
        if isinstance(value, (list, tuple)):
            if value and all(isinstance(v, (list, tuple)) and len(v) == 2 and isinstance(v[0], str) for v in value):
                return {k: one(v) for k, v in value}
            return [one(v) for v in value] or {}
        return value
    return sorted((tuple(one(v) for v in row) for row in found), key=repr)


@pytest.mark.parametrize("name", scenarios.ALL)
def test_every_engine_reads_what_frazil_and_spark_made_of_it(home, all_engines, name):
    run_by_frazil(home, name, OURS)
    run_by_spark(all_engines.spark, name, THEIRS)
    ours = check(home, all_engines, OURS, name)
    assert ours == check(home, all_engines, THEIRS, name)
    if "format-version" in home.metadata(OURS) and home.metadata(OURS)["format-version"] > 2 and "upgraded" not in name:
        check_layout(all_engines.pyiceberg.load(OURS))
