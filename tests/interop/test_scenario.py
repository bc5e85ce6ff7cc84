"""Issue by issue of a table's life: after each step every engine reads the same rows, and the files hold together."""

from engines import CHANGED, ROW_ID
from home import tombstone, upsert
from table_layout import check_layout

COLUMNS = ["id", "name", "amount"]
TABLE = "shop.orders"


def order(number: int, name: str, amount: float) -> dict:
    return upsert({"id": number}, name=name, amount=amount)


def gone(number: int) -> dict:
    return tombstone({"id": number})


class Expected:
    """Last value per key, and which row it is: updates keep the row, a key that comes back after a delete is a new one."""

    def __init__(self):
        self.rows = {}

    def apply(self, events):
        for event in events:
            key = event["key"]["id"]
            if event["value"] is None:
                self.rows.pop(key, None)
            else:
                self.rows[key] = (key, event["value"]["name"], event["value"]["amount"])

    def in_order(self):
        return sorted(self.rows.values(), key=repr)


def check_everywhere(engines, expected: Expected, puffins_are_whole=True) -> dict:
    """Compares all engines; returns key -> (row id, last updated)."""
    for engine in engines.all:
        assert engine.rows(TABLE, COLUMNS) == expected.in_order(), engine.name
    ours = engines.frazil.rows(TABLE, ["id", ROW_ID, CHANGED])
    assert engines.spark.rows(TABLE, ["id", ROW_ID, CHANGED]) == ours, "lineage in Spark"
    assert engines.duckdb.rows(TABLE, ["id", ROW_ID, CHANGED]) == ours, "lineage in DuckDB"
    row_ids = [row_id for _, row_id, _ in ours]
    assert None not in row_ids and len(set(row_ids)) == len(row_ids), "each row has an id of its own"
    check_layout(engines.pyiceberg.load(TABLE), puffins_are_whole)
    return {key: (row_id, changed) for key, row_id, changed in ours}


def test_all_engines_read_the_same_rows_after_each_step_and_frazil_goes_on_after_spark(home, all_engines):
    expected = Expected()

    def step(events, *options, puffins_are_whole=True):
        expected.apply(events)
        home.ingest(events, TABLE, *options)
        return check_everywhere(all_engines, expected, puffins_are_whole)

    def vectors():
        return check_layout(all_engines.pyiceberg.load(TABLE))

    # Create.
    first = step([order(i, f"name {i}", i / 4) for i in range(10)], "--create", "--columns",
                 "id bigint not null, name string, amount double")
    assert vectors() == {}

    # Upsert batch: two updates, one of them twice in the batch, and new rows.
    second = step([order(3, "three", 3.5), order(7, "first", 0), order(7, "seven", 7.5), order(100, "new", 1.0)])
    assert second[3][0] == first[3][0] and second[7][0] == first[7][0], "an update keeps the row's id"
    assert second[3][1] > first[3][1], "and says when it was changed"
    assert second[4] == first[4], "rows that were not touched keep both"
    assert [v.record_count for v in vectors().values()] == [2]

    # Delete: two rows of the first file again, one of the second, one that never was.
    third = step([gone(0), gone(1), gone(100), gone(4711)])
    assert sorted(v.record_count for v in vectors().values()) == [1, 4]

    # Update again: a row that lies in the second file, one of the first, one that was deleted comes back.
    fourth = step([order(3, "three again", 33.0), order(5, "five", 5.5), order(0, "back", 0.5)])
    assert fourth[3][0] == first[3][0], "a second update keeps it as well"
    assert fourth[0][0] != first[0][0], "a key that comes back after its delete is a new row"
    assert fourth[7] == third[7]

    # Third delete on the same (first) file.
    step([gone(9), gone(8)])
    assert max(v.record_count for v in vectors().values()) == 7

    # Delete of a whole file: what is left of the first one.
    files_before = {path for path in vectors()}
    step([gone(2), gone(4), gone(6)])
    live = {row["file_path"] for row in home.sql(f"SELECT file_path FROM {TABLE}.files WHERE content = 0")}
    assert len(files_before - live) >= 1, "a file without live rows goes, and its vector with it"

    # Another engine works on the table.
    def by_spark(statement, events, writes_vectors=True):
        all_engines.spark.sql(statement)
        expected.apply(events)
        check_everywhere(all_engines, expected, puffins_are_whole=False)

    all_engines.spark.sql(f"ALTER TABLE {{c}}.{TABLE} SET TBLPROPERTIES ('write.delete.mode'='merge-on-read', "
                          "'write.update.mode'='merge-on-read', 'write.merge.mode'='merge-on-read')")
    by_spark(f"INSERT INTO {{c}}.{TABLE} VALUES (200, 'spark', 2.0), (201, 'spark', 2.1), (202, 'spark', 2.2)",
             [order(200, "spark", 2.0), order(201, "spark", 2.1), order(202, "spark", 2.2)])
    by_spark(f"DELETE FROM {{c}}.{TABLE} WHERE id = 201", [gone(201)])
    before = check_everywhere(all_engines, expected, puffins_are_whole=False)
    by_spark(f"UPDATE {{c}}.{TABLE} SET name = 'by spark' WHERE id IN (7, 202)",
             [order(7, "by spark", 7.5), order(202, "by spark", 2.2)])

    # And frazil goes on: keys that Spark wrote, updated and deleted.
    after = step([order(7, "frazil again", 70.0), order(200, "frazil", 20.0), gone(202), order(201, "once more", 21.0)],
                 puffins_are_whole=False)
    assert after[7][0] == before[7][0] and after[200][0] == before[200][0], "row ids survive two engines"
    assert after[201][0] not in {row_id for row_id, _ in before.values()}

    # A delete of Spark on files that have vectors of ours, then everything goes.
    by_spark(f"DELETE FROM {{c}}.{TABLE} WHERE id < 6", [gone(i) for i in range(6)])
    step([gone(i) for i in list(expected.rows)])
    assert home.sql(f"SELECT count(*) AS n FROM {TABLE}") == [{"n": 0}]
    rows_in_files = {row["file_path"]: row["record_count"] for row in home.sql(f"SELECT * FROM {TABLE}.files WHERE content = 0")}
    # Only files of which Spark deleted the last row are left: frazil takes files away when it empties them itself.
    assert {path: vector.record_count for path, vector in vectors().items()} == rows_in_files
