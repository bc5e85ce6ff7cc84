"""Faults that users reported of other writers, as a second engine would see them in a table of ours."""

import pytest

import engines
from home import tombstone, upsert
from table_layout import check_layout, live_vectors

COLUMNS = "id bigint not null, v string"


@pytest.fixture
def readers(home):
    return [engines.Frazil(home), engines.PyIceberg(home), engines.DuckDB(home)]


def row(number, value):
    return upsert({"id": number}, v=value)


def test_two_batches_that_one_commit_carries_leave_one_row(home, readers):
    """iceberg#11008: batch A and batch B write the same key, A's commit fails, one commit carries both."""
    path = home.write_lines([row(1, "A"), row(1, "B")], "both.jsonl")
    command = ["ingest", "--from", path, "--format", "json-kv", "--table", "t.x", "--identifier-fields", "id", "--create", "--columns",
               COLUMNS, "--threads", "1"]
    killed = 0
    for at in range(1, 30):  # dies somewhere before the first commit ends
        done = home.run(*command, "--commit-every", "1", check=False, environment={"FRAZIL_KILL_AT_WRITE": str(at)})
        killed += done.returncode == -9
        if done.returncode == 0:
            break
        if at > 3 and home.sql("SHOW TABLES IN t") and home.sql("SELECT count(*) AS n FROM t.x") == [{"n": 1}]:
            break
    assert killed > 3
    home.run(*command, "--commit-every", "1000")
    for engine in readers:
        assert engine.rows("t.x", ["id", "v"]) == [(1, "B")], engine.name
    check_layout(readers[1].load("t.x"))


def test_insert_updates_delete_and_insert_of_a_key_in_one_commit_leave_one_row_even_when_files_roll(home, readers, spark):
    """olake#1189."""
    filler = [row(1000 + i, f"filler {i} " + "x" * 200) for i in range(4000)]
    events = [row(1, "a"), *filler[:1000], row(1, "b"), row(1, "c"), *filler[1000:2000], row(1, "d"), *filler[2000:3000],
              tombstone({"id": 1}), tombstone({"id": 1}), *filler[3000:], row(1, "last"), row(2, "x"), tombstone({"id": 2})]
    home.ingest(events, "t.x", "--create", "--columns", COLUMNS, "--property", "write.target-file-size-bytes=16384",
                "--property", "write.parquet.row-group-size-bytes=8192")
    files = home.sql("SELECT record_count FROM t.x.files WHERE content = 0")
    assert sum(file["record_count"] for file in files) == 4001, "no row is written that the same commit deletes"
    for engine in [*readers, spark]:
        found = engine.rows("t.x", ["id", "v"])
        assert [r for r in found if r[0] < 1000] == [(1, "last")], engine.name
        assert len(found) == 4001, engine.name
    # Positions across rolled files are right: delete every second row by key, and see who is left.
    home.ingest([tombstone({"id": 1000 + i}) for i in range(0, 4000, 2)], "t.x")
    for engine in [*readers, spark]:
        assert engine.rows("t.x", ["id"]) == sorted([(1,), *((1000 + i,) for i in range(1, 4000, 2))], key=repr), engine.name


def test_deletes_of_one_file_in_three_commits_have_one_growing_vector(home, readers, spark):
    """iceberg-go#1372, #1868."""
    home.ingest([row(i, str(i)) for i in range(5)], "t.x", "--create", "--columns", COLUMNS)
    table = engines.PyIceberg(home)
    for deleted in (1, 2, 3):
        home.ingest([tombstone({"id": deleted})], "t.x")
        assert [v.record_count for v in live_vectors(table.load("t.x")).values()] == [deleted]
        check_layout(table.load("t.x"))
        want = [(i, str(i)) for i in range(5) if i == 0 or i > deleted]
        for engine in [*readers, spark]:
            assert engine.rows("t.x", ["id", "v"]) == want, engine.name
        assert len(spark.sql("SELECT * FROM {c}.t.x.delete_files")) == 1


def test_an_update_that_changes_the_partition_leaves_one_row(home, readers, spark):
    """iceberg#11573."""
    home.ingest([row(1, "new"), row(2, "new")], "t.x", "--create", "--columns", COLUMNS, "--partition-by", "v")
    home.ingest([row(1, "paid")], "t.x")
    for engine in [*readers, spark]:
        assert engine.rows("t.x", ["id", "v"]) == [(1, "paid"), (2, "new")], engine.name
    vectors = check_layout(readers[1].load("t.x"))
    assert ["v=new" in path for path in vectors] == [True], "the vector lies on the file of the old partition"


def test_a_delete_that_knows_only_the_key_finds_the_row_in_its_partition(home, readers, spark):
    """databricks/iceberg-kafka-connect#318."""
    home.ingest([upsert({"id": 1}, at="2026-01-01T00:00:00Z"), upsert({"id": 2}, at="2026-01-02T00:00:00Z")], "t.x", "--create",
                "--columns", "id bigint not null, at timestamp", "--partition-by", "days(at)")
    home.ingest([tombstone({"id": 1}), tombstone({"id": 99}), tombstone({"id": 3}), upsert({"id": 3}, at="2026-01-03T00:00:00Z")], "t.x")
    for engine in [*readers, spark]:
        assert engine.rows("t.x", ["id"]) == [(2,), (3,)], engine.name
