"""UPDATE, DELETE, MERGE and INSERT OVERWRITE: after each statement every engine reads the same rows, and the same lineage
where it knows of it. Spark writes in between, and frazil goes on."""

import pytest

from engines import CHANGED, ROW_ID

TABLE = "shop.stock"
COLUMNS = ["id", "name", "qty", "region"]
MODES = {
    "v3": {},
    "v3_copy_on_write": {f"write.{what}.mode": "copy-on-write" for what in ("delete", "update", "merge")},
    "v2": {"format-version": "2"},
    "v2_merge_on_read": {"format-version": "2", **{f"write.{what}.mode": "merge-on-read" for what in ("delete", "update", "merge")}},
}


class Stock:
    def __init__(self, home, engines, mode):
        self.home, self.engines, self.mode = home, engines, mode
        self.has_lineage = MODES[mode].get("format-version") != "2"
        home.sql("CREATE NAMESPACE IF NOT EXISTS shop")
        properties = ", ".join(f"'{k}' = '{v}'" for k, v in MODES[mode].items())
        home.sql(f"CREATE TABLE {TABLE} (id BIGINT NOT NULL, name STRING, qty INT, region STRING) PARTITIONED BY (region)"
                 + (f" TBLPROPERTIES ({properties})" if properties else ""))

    def check(self, expected):
        """expected: rows by id."""
        wanted = sorted(((key, *row) for key, row in expected.items()), key=repr)
        for engine in self.engines.all:
            assert engine.rows(TABLE, COLUMNS) == wanted, f"{engine.name}, {self.mode}"
        if not self.has_lineage:
            return None
        ours = self.engines.frazil.rows(TABLE, ["id", ROW_ID, CHANGED])
        for engine in self.engines.all:
            if engine.has_lineage:
                assert engine.rows(TABLE, ["id", ROW_ID, CHANGED]) == ours, f"lineage in {engine.name}, {self.mode}"
        assert len({row_id for _, row_id, _ in ours}) == len(ours), "each row has an id of its own"
        return {key: (row_id, changed) for key, row_id, changed in ours}

    def step(self, statement, expected):
        self.home.sql(statement)
        return self.check(expected)

    def last_operation(self):
        metadata = self.home.metadata(TABLE)
        head = metadata["current-snapshot-id"]
        return next(s["summary"]["operation"] for s in metadata["snapshots"] if s["snapshot-id"] == head)


@pytest.mark.parametrize("mode", MODES)
def test_all_engines_read_the_same_after_each_statement(home, all_engines, mode):
    stock = Stock(home, all_engines, mode)
    rows = {1: ("pen", 10, "eu"), 2: ("ink", 20, "eu"), 3: ("pad", 30, "us"), 4: ("map", None, None)}
    first = stock.step(f"INSERT INTO {TABLE} VALUES (1, 'pen', 10, 'eu'), (2, 'ink', 20, 'eu'), (3, 'pad', 30, 'us'), "
                       "(4, 'map', NULL, NULL)", rows)

    rows[2] = ("ink", 21, "us")
    second = stock.step(f"UPDATE {TABLE} SET qty = qty + 1, region = 'us' WHERE id = 2", rows)
    assert stock.last_operation() == "overwrite"
    if first:
        assert second[2][0] == first[2][0] and second[2][1] > first[2][1], "an update keeps the id, also across partitions"
        assert all(second[key] == first[key] for key in (1, 3, 4)), "rows that only moved keep both"

    rows[3] = ("pad", 0, "us")
    rows[5] = ("cap", 5, "eu")
    del rows[1]
    third = stock.step(f"MERGE INTO {TABLE} t USING (VALUES (1, 'x', 1), (3, 'pad', 0), (5, 'cap', 5)) s(id, name, qty) ON t.id = s.id "
                       "WHEN MATCHED AND s.name = 'x' THEN DELETE WHEN MATCHED THEN UPDATE SET qty = s.qty "
                       "WHEN NOT MATCHED THEN INSERT (id, name, qty, region) VALUES (id, name, qty, 'eu')", rows)
    assert stock.last_operation() == "overwrite"
    if first:
        assert third[3][0] == first[3][0] and third[3][1] > second[3][1]
        assert third[2] == second[2] and third[4] == first[4]

    # Spark changes the table, and we go on from there.
    all_engines.spark.sql(f"UPDATE {{c}}.{TABLE} SET qty = 50 WHERE id = 5")
    rows[5] = ("cap", 50, "eu")
    fourth = stock.check(rows)
    if first:
        assert fourth[5][0] == third[5][0], "Spark's update of our row keeps its id"
    rows[5] = ("cap", 51, "eu")
    fifth = stock.step(f"UPDATE {TABLE} SET qty = qty + 1 WHERE region = 'eu'", rows)
    if first:
        assert fifth[5][0] == third[5][0], "and so does ours of Spark's"

    del rows[4]
    stock.step(f"DELETE FROM {TABLE} WHERE region IS NULL", rows)
    assert stock.last_operation() == "delete"

    rows = {key: row for key, row in rows.items() if row[2] != "us"}
    rows[9] = ("new", 9, "us")
    stock.step(f"INSERT OVERWRITE {TABLE} PARTITION (region = 'us') VALUES (9, 'new', 9)", rows)
    assert stock.last_operation() == "overwrite"

    rows = {7: ("all", 7, "eu")}
    stock.step(f"INSERT OVERWRITE {TABLE} VALUES (7, 'all', 7, 'eu')", rows)
    stock.step(f"TRUNCATE TABLE {TABLE}", {})
    assert stock.last_operation() == "delete"


def test_a_replaced_table_reads_the_same_everywhere(home, all_engines):
    stock = Stock(home, all_engines, "v3")
    home.sql(f"INSERT INTO {TABLE} VALUES (1, 'pen', 10, 'eu')")
    home.sql(f"CREATE OR REPLACE TABLE {TABLE} PARTITIONED BY (name) AS SELECT id, name, qty * 2 AS qty, region, true AS fresh FROM {TABLE}")
    stock.check({1: ("pen", 20, "eu")})
    assert all_engines.spark.rows(TABLE, ["fresh"]) == [(True,)]
    home.sql(f"UPDATE {TABLE} SET fresh = false")
    assert all_engines.spark.rows(TABLE, ["fresh"]) == [(False,)]


def test_large_and_small_vectors_of_one_puffin_are_each_read_for_their_own_file(home, all_engines):
    """Sizes in both orders of the files' names: DuckDB took a large vector for the small ones behind it."""
    home.sql("CREATE NAMESPACE IF NOT EXISTS shop")
    home.sql("CREATE TABLE shop.mixed (file INT, i INT)")
    rows_of_file = [500, 20_000, 400, 20_000, 300, 12_000]
    for file, rows in enumerate(rows_of_file):
        home.sql(f"INSERT INTO shop.mixed SELECT {file}, i FROM range({rows}) t(i)")
    home.sql("DELETE FROM shop.mixed WHERE (i * 7919) % 10 < 3 AND (file <> 5 OR i % 3 = 0)")
    vectors = home.sql("SELECT count(*) AS vectors, count(DISTINCT file_path) AS puffins FROM shop.mixed.delete_files")
    assert vectors == [{"vectors": 6, "puffins": 1}]
    expected = sorted(((file, i) for file, rows in enumerate(rows_of_file) for i in range(rows)
                       if not ((i * 7919) % 10 < 3 and (file != 5 or i % 3 == 0))), key=repr)
    for engine in all_engines.all:
        assert engine.rows("shop.mixed", ["file", "i"]) == expected, engine.name


def test_null_structs_with_required_members_read_the_same_everywhere(home, all_engines, spark):
    """A struct column that is added, with a NOT NULL member, is null in rows that are there: they can be rewritten."""
    home.run("sql", "-e", "CREATE NAMESPACE IF NOT EXISTS t; CREATE TABLE t.nulls (id int, n int); INSERT INTO t.nulls VALUES (1, 1), (2, 2); "
             "ALTER TABLE t.nulls ADD COLUMN addr struct<zip: int NOT NULL, city: string>; "
             "ALTER TABLE t.nulls ADD COLUMN points array<struct<a: int NOT NULL>>; "
             "UPDATE t.nulls SET n = 10 WHERE id = 1; "
             "INSERT INTO t.nulls VALUES (3, 3, {'zip': 7, 'city': 'x'}, [{'a': 1}, NULL]), (4, 4, NULL, NULL); "
             "CALL system.rewrite_data_files(table => 't.nulls', options => map('rewrite-all', 'true'))")
    ours = all_engines.frazil.rows("t.nulls", ["id", "n", "addr", "points"])
    assert len(ours) == 4
    for engine in all_engines.all[1:]:
        if engine.name == "PyIceberg":  # it makes an empty list of a null one when the elements are structs
            assert engine.rows("t.nulls", ["id", "n", "addr"]) == [row[:3] for row in ours]
        elif engine.name != "Spark":  # its frames reach Python by Arrow, which refuses such structs; it reads them
            assert engine.rows("t.nulls", ["id", "n", "addr", "points"]) == ours, engine.name
    query = "SELECT id, addr IS NULL, addr.zip, addr.city, points IS NULL, points[0].a, points[1].a FROM {c}.t.nulls ORDER BY id"
    assert [tuple(row) for row in spark.sql(query)] == [(1, True, None, None, True, None, None), (2, True, None, None, True, None, None),
                                                        (3, False, 7, "x", False, 1, None), (4, True, None, None, True, None, None)]
