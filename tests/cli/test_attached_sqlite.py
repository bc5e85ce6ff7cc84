"""SQLite databases as sources, through DuckDB's extension where it is installed."""

import importlib.resources
import sqlite3

import duckdb_extension_sqlite_scanner
import pytest


@pytest.fixture
def shop(home):
    with sqlite3.connect(home.folder / "shop.db") as database:
        database.execute("CREATE TABLE orders (id INTEGER PRIMARY KEY, item TEXT, price REAL, photo BLOB)")
        database.execute("INSERT INTO orders VALUES (1, 'pen', 1.5, x'00ff'), (2, NULL, NULL, NULL)")
    home.sql("CREATE NAMESPACE t; CREATE TABLE t.orders (id bigint, item string, price double, photo binary) USING iceberg")
    return home


def of_its_own(home) -> dict:
    """DuckDB looks for extensions below the user's home."""
    return {"HOME": str(home.folder)}


def test_without_the_extension_the_error_says_where_it_comes_from(shop):
    done = shop.run("sql", "-e", "ATTACH 'shop.db' AS shop (TYPE sqlite)", check=False, environment=of_its_own(shop))
    assert done.returncode == 1 and done.stderr.splitlines()[0] == (
        "error: not supported: DuckDB's extension is not part of this program: sqlite_scanner (once: INSTALL sqlite_scanner fetches it "
        "from DuckDB's server, INSTALL '.../sqlite_scanner.duckdb_extension' takes a file)"), done.stderr


def test_a_database_is_read_joined_and_loaded(shop):
    [extension] = importlib.resources.files(duckdb_extension_sqlite_scanner).glob("extensions/v1.5.5/*.duckdb_extension")
    shop.run("sql", "-e", f"INSTALL '{extension}'", environment=of_its_own(shop))
    attach = "ATTACH 'shop.db' AS shop (TYPE sqlite, READ_ONLY); "
    load = attach + "INSERT INTO t.orders SELECT * FROM shop.orders"
    shop.run("sql", "-e", load, environment=of_its_own(shop))
    assert shop.sql("SELECT id, item, price, hex(photo) AS photo FROM t.orders ORDER BY id") == [
        {"id": 1, "item": "pen", "price": 1.5, "photo": "00FF"}, {"id": 2, "item": None, "price": None, "photo": None}]
    joined = shop.run("sql", "-q", "-o", "csv", "-e", attach + "SELECT o.id FROM shop.orders o JOIN t.orders t USING (id, item)",
                      environment=of_its_own(shop))
    assert joined.stdout.split() == ["id", "1"]
    refused = shop.run("sql", "-e", attach + "INSERT INTO shop.orders VALUES (3, 'x', 1, NULL)", check=False, environment=of_its_own(shop))
    assert refused.returncode == 1, refused.stderr
