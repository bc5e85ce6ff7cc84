"""The catalog's SQLite file is the one that PyIceberg's SqlCatalog and Java's JdbcCatalog read and write."""

import sqlite3

import pytest

import engines
from home import upsert


@pytest.fixture
def table(home):
    home.run("sql", "-e", "CREATE NAMESPACE shop; CREATE NAMESPACE shop.eu; "
             "CREATE TABLE shop.eu.orders (id bigint not null, v string) USING iceberg TBLPROPERTIES ('format-version' = '3', 'owner' = 'me')")
    home.ingest([upsert({"id": 1}, v="a")], "shop.eu.orders")
    return "shop.eu.orders"


def test_pyiceberg_lists_and_loads(home, table):
    catalog = engines.PyIceberg(home).catalog
    assert ("shop",) in catalog.list_namespaces()
    assert ("shop", "eu") in catalog.list_namespaces("shop")
    assert catalog.list_tables("shop.eu") == [("shop", "eu", "orders")]
    loaded = catalog.load_table(table)
    assert loaded.metadata.format_version == 3 and loaded.properties["owner"] == "me"
    assert loaded.schema().identifier_field_names() == {"id"}
    assert "frazil.markers" in loaded.current_snapshot().summary.additional_properties


def test_pyiceberg_makes_namespaces_that_frazil_sees_and_drops_what_frazil_made(home, table):
    catalog = engines.PyIceberg(home).catalog
    catalog.create_namespace("made_by_pyiceberg", {"comment": "hello"})
    assert "made_by_pyiceberg" in home.run("sql", "-o", "csv", "-e", "SHOW NAMESPACES").stdout
    catalog.drop_table(table)
    assert "orders" not in home.run("table", "list", "-o", "csv").stdout


def test_spark_lists_alters_and_renames(home, table, spark):
    assert [tuple(row)[:2] for row in spark.sql("SHOW TABLES IN {c}.shop.eu")] == [("shop.eu", "orders")]
    spark.sql("ALTER TABLE {c}.shop.eu.orders ADD COLUMN more int")
    spark.sql("ALTER TABLE {c}.shop.eu.orders RENAME TO shop.orders2")
    assert "orders2" in home.run("table", "list", "-o", "csv").stdout
    home.ingest([upsert({"id": 2}, v="b", more=7)], "shop.orders2")
    assert spark.rows("shop.orders2", ["id", "v", "more"]) == [(1, "a", None), (2, "b", 7)]


def test_a_table_that_spark_made_takes_upserts(home, spark):
    home.run("sql", "-e", "CREATE NAMESPACE s")
    spark.sql("CREATE TABLE {c}.s.made (id bigint NOT NULL, v string) USING iceberg PARTITIONED BY (bucket(2, id)) "
              "TBLPROPERTIES ('format-version'='3', 'write.parquet.compression-codec'='zstd')")
    spark.sql("INSERT INTO {c}.s.made VALUES (1, 'spark'), (2, 'spark'), (3, 'spark')")
    before = dict(spark.rows("s.made", ["id", engines.ROW_ID]))
    home.ingest([upsert({"id": 2}, v="frazil"), upsert({"id": 4}, v="frazil")], "s.made")
    want = [(1, "spark"), (2, "frazil"), (3, "spark"), (4, "frazil")]
    for engine in (engines.Frazil(home), spark, engines.PyIceberg(home), engines.DuckDB(home)):
        assert engine.rows("s.made", ["id", "v"]) == want, engine.name
    after = dict(spark.rows("s.made", ["id", engines.ROW_ID]))
    assert {key: after[key] for key in before} == before


def test_a_catalog_file_that_pyiceberg_made_is_taken_as_it_is(home):
    def columns():
        with sqlite3.connect(home.catalog_file) as database:
            return [database.execute(f"PRAGMA table_info({table})").fetchall()
                    for table in ("iceberg_tables", "iceberg_namespace_properties")]

    engines.PyIceberg(home).catalog.create_namespace("p")
    before = columns()
    home.ingest([upsert({"id": 1}, v="x")], "p.t", "--create", "--columns", "id bigint not null, v string")
    assert columns() == before
    assert engines.PyIceberg(home).rows("p.t", ["id", "v"]) == [(1, "x")]
