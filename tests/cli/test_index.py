"""The key index as a user meets it: `frazil index`, and `frazil ingest` that keeps one from run to run."""

import contextlib
import itertools
import json
import pathlib
import random
import shutil
import signal
import subprocess
import time

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from home import needed, tombstone, upsert

COLUMNS = "id bigint not null, v string"


def ingest_command(path, *options):
    return ["ingest", "--from", path, "--format", "json-kv", "--table", "t.x", "--identifier-fields", "id", "--create", "--columns",
            COLUMNS, *options]


def ingest(home, records, *options, **arguments):
    return home.run(*ingest_command(home.write_lines(records), *options), **arguments)


def rows(home):
    return sorted((row["id"], row["v"]) for row in home.sql("SELECT id, v FROM t.x"))


def status(home):
    lines = json.loads(home.run("index", "status", "t.x", "-o", "json").stdout)
    assert len(lines) == 1
    return lines[0]


def index_folder(home) -> pathlib.Path:
    return home.folder / "state" / home.metadata("t.x")["table-uuid"] / "index"


def head(home):
    return home.metadata("t.x")["current-snapshot-id"]


def verify(home):
    """The index finds every row and nothing else, and so does one that is built from nothing."""
    done = home.run("index", "verify", "t.x")
    assert "is right" in done.stderr
    return done


def change(seed, count=200, keys=60):
    seeded = random.Random(seed)
    for i in range(count):
        key = {"id": seeded.randrange(keys)}
        yield tombstone(key) if seeded.random() < 0.2 else upsert(key, v=f"{seed}-{i}")


def expected(*batches):
    last = {}
    for batch in batches:
        for event in batch:
            last[event["key"]["id"]] = event["value"]
    return sorted((key, value["v"]) for key, value in last.items() if value is not None)


def explain(home, query):
    return "".join(str(row) for row in home.sql(f"EXPLAIN {query}"))


def folder_files(home):
    return {path.name: path.read_bytes() for path in index_folder(home).iterdir() if path.name != "lock"}


@contextlib.contextmanager
def holder(home):
    """An ingest that waits for its input, and so holds the index."""
    process = subprocess.Popen([needed("FRAZIL_BIN"), *ingest_command("-")], env=home.environment(), cwd=home.folder, text=True,
                               stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    try:
        deadline = time.monotonic() + 60
        while True:
            assert process.poll() is None, process.stderr.read()
            with contextlib.suppress(Exception):
                if (index_folder(home) / "lock").read_text().startswith(f"process {process.pid} "):
                    break
            assert time.monotonic() < deadline
            time.sleep(0.02)
        yield process
    finally:
        process.kill()
        process.communicate()


def test_a_table_without_an_index_says_so(home):
    home.run("sql", "-e", f"CREATE NAMESPACE t; CREATE TABLE t.x ({COLUMNS}) USING iceberg")
    done = home.run("index", "status", "t.x", "-o", "json")
    assert json.loads(done.stdout)[0]["state"] == "none" and "cannot have a key index" in done.stderr
    assert not index_folder(home).exists()
    done = home.run("index", "verify", "t.x", check=False)
    assert done.returncode == 1 and "no key index" in done.stderr
    done = home.run("index", "status", "t.nowhere", check=False)
    assert done.returncode == 1 and "t.nowhere" in done.stderr


def test_a_run_leaves_the_index_of_its_last_snapshot_and_the_next_one_goes_on_from_it(home):
    first, second = list(change(1)), list(change(2))
    ingest(home, first, "--commit-every", "50")
    assert status(home) | {"snapshot_id": head(home), "state": "whole", "snapshots_behind": 0, "locked_by": None} == status(home)
    kept = set(path.name for path in index_folder(home).iterdir())
    seed = home.metadata("t.x")["properties"]["frazil.index.seed"]
    verify(home)
    done = ingest(home, second, "--commit-every", "50")
    assert "built again" not in done.stderr and "lost" not in done.stderr
    assert status(home)["snapshot_id"] == head(home)
    assert home.metadata("t.x")["properties"]["frazil.index.seed"] == seed
    assert rows(home) == expected(first, second)
    assert set(path.name for path in index_folder(home).iterdir()) != kept
    verify(home)


def test_the_index_tells_how_far_behind_it_is_and_catches_up(home):
    ingest(home, [upsert({"id": i}, v="a") for i in range(10)])
    home.run("sql", "-e", "DELETE FROM t.x WHERE id = 3; INSERT INTO t.x VALUES (10, 'b')")
    assert status(home)["snapshots_behind"] == 2
    verify(home)
    ingest(home, [upsert({"id": 10}, v="c"), upsert({"id": 3}, v="d")])
    assert status(home)["snapshots_behind"] == 0
    assert rows(home) == sorted([(i, "a") for i in range(10) if i != 3] + [(3, "d"), (10, "c")])
    verify(home)


def test_a_table_without_identifier_fields_cannot_have_an_index_and_stays_as_it_is(home):
    home.run("sql", "-e", f"CREATE NAMESPACE t; CREATE TABLE t.x ({COLUMNS}) USING iceberg")
    before = home.metadata_location("t.x")
    done = home.run("index", "rebuild", "t.x", check=False)
    assert done.returncode == 1 and "no identifier fields" in done.stderr and "SET IDENTIFIER FIELDS" in done.stderr, done.stderr
    assert home.metadata_location("t.x") == before
    assert not index_folder(home).exists()
    assert "no identifier fields" in home.run("index", "status", "t.x").stderr


def test_tables_are_named_as_in_sql(home):
    ingest(home, [upsert({"id": 1}, v="a")])
    full = f"{home.catalog}.t.x"
    assert json.loads(home.run("index", "status", full, "-o", "json").stdout) == [status(home)]
    home.run("index", "rebuild", full)
    assert "is right" in home.run("index", "verify", full).stderr
    assert home.run("index", "status", "nowhere.t.x", check=False).returncode == 1


def test_status_tells_keys_and_bytes_for_each(home):
    ingest(home, [upsert({"id": i}, v="a") for i in range(50)])
    ingest(home, [upsert({"id": i}, v="b") for i in range(20)] + [tombstone({"id": 49})])
    found = status(home)
    assert found["keys"] == 49 and found["entries"] >= 49
    assert float(found["bytes_per_key"]) == pytest.approx(found["run_bytes"] / 49, abs=0.1)


def test_the_index_of_a_running_first_pipeline_is_on_disk_with_its_first_commit(home):
    command = ingest_command("-", "--commit-every", "2")
    process = subprocess.Popen([needed("FRAZIL_BIN"), *command], env=home.environment(), cwd=home.folder, text=True, stdin=subprocess.PIPE,
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    try:
        process.stdin.write("".join(json.dumps(upsert({"id": i}, v="a")) + "\n" for i in range(5)))
        process.stdin.flush()
        deadline = time.monotonic() + 60
        while True:
            assert process.poll() is None, process.stderr.read()
            assert time.monotonic() < deadline
            with contextlib.suppress(Exception):
                if status(home)["state"] == "whole" and status(home)["keys"]:
                    break
            time.sleep(0.05)
        assert status(home)["locked_by"].startswith(f"process {process.pid} ")
        # What came since is followed in memory.
        assert "Key index lookup" in explain(home, "SELECT * FROM t.x WHERE id = 1")
        assert [row["v"] for row in home.sql("SELECT v FROM t.x WHERE id = 1")] == ["a"]
    finally:
        process.kill()
        process.communicate()


def test_readers_find_the_index_beside_a_writer_that_commits_more_than_they_would_follow(home):
    commits = 150  # of a file each; a reader follows 122
    process = subprocess.Popen([needed("FRAZIL_BIN"), *ingest_command("-", "--commit-every", "1")], env=home.environment(), cwd=home.folder,
                               text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    try:
        process.stdin.write("".join(json.dumps(upsert({"id": i}, v=f"{i}")) + "\n" for i in range(commits + 1)))
        process.stdin.flush()
        deadline = time.monotonic() + 100
        while True:
            assert process.poll() is None, process.stderr.read()
            assert time.monotonic() < deadline
            with contextlib.suppress(Exception):
                if home.sql("SELECT count(*) AS n FROM t.x")[0]["n"] >= commits:
                    break
            time.sleep(0.2)
        assert "Key index lookup" in explain(home, f"SELECT * FROM t.x WHERE id = {commits - 1}")
        assert [row["v"] for row in home.sql(f"SELECT v FROM t.x WHERE id = {commits - 1}")] == [f"{commits - 1}"]
    finally:
        process.kill()
        process.communicate()


def test_a_second_process_is_refused_by_name_while_status_and_queries_work(home):
    ingest(home, [upsert({"id": 1}, v="a")])
    with holder(home) as process:
        for command in (ingest_command(home.write_lines([upsert({"id": 2}, v="b")])), ["index", "rebuild", "t.x"], ["index", "verify", "t.x"]):
            done = home.run(*command, check=False)
            assert done.returncode == 3, done.stderr
            assert f"process {process.pid} (frazil ingest, since 20" in done.stderr
        assert status(home)["locked_by"].startswith(f"process {process.pid} (frazil ingest")
        assert rows(home) == [(1, "a")]
        process.kill()
        process.wait()
        assert status(home)["locked_by"] is None
        ingest(home, [upsert({"id": 2}, v="b")])
    assert rows(home) == [(1, "a"), (2, "b")]
    verify(home)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_stopped_in_the_middle_the_index_goes_on(home, number):
    records = [upsert({"id": i % 7}, v=f"{i}") for i in range(40)]
    lines = [json.dumps(record) + "\n" for record in records]
    command = ingest_command("-", "--commit-every", "10")
    process = subprocess.Popen([needed("FRAZIL_BIN"), *command], env=home.environment(), cwd=home.folder, text=True, stdin=subprocess.PIPE,
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    try:
        process.stdin.write("".join(lines[:25]))
        process.stdin.flush()
        deadline = time.monotonic() + 60
        while True:
            assert process.poll() is None and time.monotonic() < deadline
            with contextlib.suppress(Exception):
                if len(home.metadata("t.x").get("snapshots", [])) >= 2:
                    break
            time.sleep(0.02)
        process.send_signal(number)
        process.wait(timeout=60)
    finally:
        process.kill()
        process.communicate()
    if number == signal.SIGTERM:
        assert process.returncode == 143
        assert status(home)["snapshots_behind"] == 0
    home.run(*command, input="".join(lines))
    assert rows(home) == expected(records)
    assert status(home)["snapshots_behind"] == 0
    verify(home)


def test_killed_at_any_write_the_index_is_right_after_the_next_run(tmp_path):
    from home import Home
    records = list(change(5))
    killed = []
    for at in itertools.count(9, 17):
        home = Home(tmp_path / f"at-{at}", "crash")
        path = home.write_lines(records, "in.jsonl")
        command = ingest_command(path, "--commit-every", "40")
        done = home.run(*command, check=False, environment={"FRAZIL_KILL_AT_WRITE": str(at)})
        if done.returncode != -9:
            assert done.returncode == 0, done.stderr
            break
        killed.append(at)
        home.run(*command)
        assert rows(home) == expected(records), f"killed at write {at}"
        assert status(home)["snapshots_behind"] == 0
        verify(home)
    assert len(killed) >= 5, killed


def damage(path, how):
    data = bytearray(path.read_bytes())
    if how == "gone":
        path.unlink()
    elif how == "cut":
        path.write_bytes(data[:len(data) // 2])
    elif how == "earlier":  # the mark of version 1, where its footer began
        data[-88:-80] = b"FZILRUN1"
        path.write_bytes(data)
    else:
        data[100] ^= 0x40  # of the first page
        path.write_bytes(data)


def damage_runs(home, how):
    runs = sorted(index_folder(home).glob("run-*.run"))
    assert runs
    for run in runs:
        damage(run, how)


@pytest.mark.parametrize("how", ["gone", "cut", "page", "earlier"])
def test_a_damaged_run_is_said_and_read_from_the_table_again(home, how):
    first, second = list(change(1)), list(change(2))
    ingest(home, first)
    damage_runs(home, how)
    done = ingest(home, second)
    assert "run-" in done.stderr and "from the table again" in done.stderr, done.stderr
    assert rows(home) == expected(first, second)
    verify(home)
    damage_runs(home, how)
    done = home.run("index", "verify", "t.x", check=False)
    assert done.returncode == 1 and "error: " in done.stderr and "run-" in done.stderr, done.stderr
    home.run("index", "rebuild", "t.x")
    verify(home)


@pytest.mark.parametrize("how", ["gone", "cut", "page", "earlier"])
def test_readers_warn_of_a_damaged_index_once_and_scan(home, how):
    ingest(home, [upsert({"id": i}, v=f"{i}") for i in range(40)])
    damage_runs(home, how)
    assert status(home)["state"] == ("whole" if how == "page" else "damaged")
    if how != "page":
        assert "run-" in status(home)["reason"]
    before = folder_files(home)
    done = home.run("sql", "-q", "-o", "jsonl", "-e", "; ".join(f"SELECT v FROM t.x WHERE id = {i}" for i in (3, 3, 3)))
    assert [json.loads(line)["v"] for line in done.stdout.splitlines()] == ["3"] * 3
    assert done.stderr.count("the key index cannot be used") == 1 and "run-" in done.stderr, done.stderr
    assert "Key index lookup" not in explain(home, "SELECT * FROM t.x WHERE id = 3")
    assert home.run("get", "t.x", "--key", "id=3", "-o", "csv").stdout == "id,v\n3,3\n"
    home.run("sql", "-e", "DELETE FROM t.x WHERE id = 3; UPDATE t.x SET v = 'new' WHERE id = 4")
    assert rows(home) == sorted([(i, f"{i}") for i in range(40) if i not in (3, 4)] + [(4, "new")])
    assert folder_files(home) == before  # a reader mends nothing
    done = home.run("index", "verify", "t.x", check=False)
    assert done.returncode == 1 and ("from the table again" if how != "page" else "frazil index rebuild") in done.stderr, done.stderr
    if how == "page":
        home.run("index", "rebuild", "t.x")
    verify(home)
    assert "Key index lookup" in explain(home, "SELECT * FROM t.x WHERE id = 5")


def test_update_and_delete_by_key_go_through_the_index(home):
    ingest(home, [upsert({"id": i}, v="a") for i in range(10)])
    for statement in ("UPDATE t.x SET v = 'b' WHERE id = 3", "DELETE FROM t.x WHERE id IN (4, 5)"):
        done = home.run("--log-level", "info", "sql", "-e", statement)
        assert "t.x: using the key index" in done.stderr, done.stderr
    assert rows(home) == [(i, "b" if i == 3 else "a") for i in range(10) if i not in (4, 5)]
    verify(home)


def test_readers_follow_a_rollback_and_an_expiry(home):
    ingest(home, [upsert({"id": i}, v="a") for i in range(10)])
    first = head(home)
    ingest(home, [upsert({"id": 1}, v="b"), tombstone({"id": 2})])
    home.sql(f"CALL system.rollback_to_snapshot('t.x', {first})")
    look_up = "SELECT v FROM t.x WHERE id IN (1, 2)"
    assert "Key index lookup" in explain(home, look_up)
    assert [row["v"] for row in home.sql(look_up)] == ["a", "a"]
    home.sql("INSERT INTO t.x VALUES (20, 'c')")
    home.sql("CALL system.expire_snapshots(table => 't.x', older_than => now(), retain_last => 1)")
    assert status(home)["snapshot_id"] not in [snapshot["snapshot-id"] for snapshot in home.metadata("t.x")["snapshots"]]
    assert "Key index lookup" in explain(home, look_up)
    assert [row["v"] for row in home.sql("SELECT v FROM t.x WHERE id IN (1, 2, 20)")] == ["a", "a", "c"]


def test_a_damaged_manifest_or_one_of_another_table_is_said_and_built_again(home):
    first, second, third = list(change(1)), list(change(2)), list(change(3))
    ingest(home, first)
    manifest, = index_folder(home).glob("manifest-*.json")
    manifest.write_bytes(manifest.read_bytes()[:-10])
    assert status(home)["state"] == "damaged" and "wrong checksum" in status(home)["reason"]
    done = home.run("index", "verify", "t.x", check=False)
    assert done.returncode == 1 and "wrong checksum" in done.stderr
    done = ingest(home, second)
    assert "built again" in done.stderr and manifest.name in done.stderr
    assert rows(home) == expected(first, second)
    verify(home)
    # The table is dropped and another one takes its name; somebody copies the old folder to its place.
    old = index_folder(home)
    home.run("sql", "-e", "DROP TABLE t.x")
    home.run("sql", "-e", f"CREATE TABLE t.x ({COLUMNS}) USING iceberg TBLPROPERTIES ('format-version' = '3')")
    shutil.copytree(old, index_folder(home))
    assert status(home)["state"] == "foreign"
    done = ingest(home, third)
    assert "another table" in done.stderr
    assert rows(home) == expected(third)
    verify(home)


def test_rebuild_begins_from_nothing_and_gives_the_same_answers(home):
    first, second = list(change(1)), list(change(2))
    ingest(home, first, "--commit-every", "20")
    before = status(home)
    done = home.run("index", "rebuild", "t.x", "--progress", "json")
    assert "is built" in done.stderr
    after = status(home)
    assert after["entries"] == len(rows(home)) <= before["entries"] and after["snapshots_behind"] == 0
    verify(home)
    shutil.rmtree(index_folder(home))
    home.run("index", "rebuild", "t.x")
    assert status(home)["entries"] == after["entries"]
    ingest(home, second)
    assert rows(home) == expected(first, second)
    verify(home)


@pytest.mark.parametrize("options", [("--memory-limit", "many"), ("--threads", "none")])
def test_a_rebuild_that_cannot_begin_leaves_the_index_whole(home, options):
    ingest(home, list(change(1)))
    before = folder_files(home)
    done = home.run(*options, "index", "rebuild", "t.x", check=False)
    assert done.returncode in (1, 2) and options[1] in done.stderr, done.stderr
    assert folder_files(home) == before
    verify(home)


def test_a_lost_seed_is_taken_from_the_index(home):
    ingest(home, [upsert({"id": 1}, v="a")])
    seed = home.metadata("t.x")["properties"]["frazil.index.seed"]
    home.run("sql", "-e", "ALTER TABLE t.x UNSET TBLPROPERTIES ('frazil.index.seed')")
    assert status(home)["state"] == "whole"
    done = ingest(home, [upsert({"id": 1}, v="b")])
    assert home.metadata("t.x")["properties"]["frazil.index.seed"] == seed
    assert "built again" not in done.stderr
    home.run("sql", "-e", "ALTER TABLE t.x SET TBLPROPERTIES ('frazil.index.seed' = '77')")
    assert status(home)["state"] == "foreign"
    done = ingest(home, [upsert({"id": 1}, v="c")])
    assert "built again" in done.stderr and rows(home) == [(1, "c")]
    verify(home)


def test_a_folder_that_cannot_be_used_is_said_and_the_run_goes_on_in_memory(home):
    ingest(home, [upsert({"id": 1}, v="a")])
    folder = index_folder(home)
    shutil.rmtree(folder)
    folder.write_text("a file in its place")
    done = ingest(home, [upsert({"id": 1}, v="b"), upsert({"id": 2}, v="c")])
    assert "in memory for this run" in done.stderr and str(folder) in done.stderr
    assert rows(home) == [(1, "b"), (2, "c")]
    folder.unlink()
    ingest(home, [upsert({"id": 1}, v="d")])
    assert rows(home) == [(1, "d"), (2, "c")]
    verify(home)


def test_files_without_field_ids_have_other_keys_under_another_name_mapping(home):
    ingest(home, [upsert({"id": i}, v="a") for i in range(3)])
    home.sql("ALTER TABLE t.x ADD COLUMN other bigint")
    source = home.folder / "others"
    source.mkdir()
    pq.write_table(pa.table({"id": pa.array([10, 11]), "v": ["b", "b"], "other": pa.array([20, 21])}), source / "0.parquet")
    home.sql(f"CALL system.add_files(table => 't.x', source_table => '`parquet`.`{source}`')")
    ingest(home, [upsert({"id": 10}, v="c")])
    assert rows(home) == [(0, "a"), (1, "a"), (2, "a"), (10, "c"), (11, "b")]
    mapping = home.metadata("t.x")["properties"]["schema.name-mapping.default"]
    changed = mapping.replace('"id"', '"?"').replace('"other"', '"id"').replace('"?"', '"other"')
    # In one session too, whose index is at the snapshot already.
    look_up = "SELECT v FROM t.x WHERE id = {}"
    change_mapping = f"ALTER TABLE t.x SET TBLPROPERTIES ('schema.name-mapping.default' = '{changed}')"
    found = home.sql(f"{look_up.format(11)}; {change_mapping}; {look_up.format(11)}; {look_up.format(21)}")
    assert [row["v"] for row in found if "v" in row] == ["b", "b"]
    assert rows(home) == [(0, "a"), (1, "a"), (2, "a"), (10, "c"), (21, "b")]
    assert "Key index lookup" in "".join(str(row) for row in home.sql("EXPLAIN SELECT * FROM t.x WHERE id = 21"))
    assert [row["v"] for row in home.sql("SELECT v FROM t.x WHERE id = 21")] == ["b"]
    assert home.sql("SELECT v FROM t.x WHERE id = 11") == []
    verify(home)
    ingest(home, [upsert({"id": 21}, v="d"), upsert({"id": 11}, v="e")])
    assert rows(home) == [(0, "a"), (1, "a"), (2, "a"), (10, "c"), (11, "e"), (21, "d")]
    verify(home)


def make_duplicates(home):
    """Three keys with several rows, by a writer that knows no primary key."""
    home.run("sql", "-e", f"""CREATE NAMESPACE t; CREATE TABLE t.x ({COLUMNS}) USING iceberg TBLPROPERTIES ('format-version' = '3');
        INSERT INTO t.x VALUES (1, 'old'), (2, 'only'), (3, 'old'); INSERT INTO t.x VALUES (1, 'new'), (4, 'first'), (4, 'second');
        INSERT INTO t.x VALUES (3, 'new'), (3, 'newer')""")


def test_duplicate_keys_are_refused_at_the_first_start_by_their_values(home):
    make_duplicates(home)
    before = home.metadata_location("t.x"), rows(home)
    done = ingest(home, [upsert({"id": 2}, v="b")], check=False)
    assert done.returncode == 1, done.stderr
    assert "3 keys have several live rows" in done.stderr and "--dedupe newest" in done.stderr
    assert all(f"id={key} has {count} rows" in done.stderr for key, count in ((1, 2), (3, 3), (4, 2)))
    assert rows(home) == before[1] and "snapshots" in home.metadata("t.x")
    again = ingest(home, [upsert({"id": 2}, v="b")], check=False)
    assert again.returncode == 1 and "3 keys" in again.stderr


def test_dedupe_keeps_the_newest_row_of_each_key_in_one_commit(home):
    make_duplicates(home)
    count = len(home.metadata("t.x")["snapshots"])
    done = ingest(home, [upsert({"id": 2}, v="b")], "--dedupe", "newest")
    assert "deleted 4 rows" in done.stderr
    assert rows(home) == [(1, "new"), (2, "b"), (3, "newer"), (4, "second")]
    assert len(home.metadata("t.x")["snapshots"]) == count + 2
    verify(home)
    ingest(home, [upsert({"id": 4}, v="c"), tombstone({"id": 3})])
    assert rows(home) == [(1, "new"), (2, "b"), (4, "c")]
    verify(home)


def test_duplicates_that_others_make_later_are_replaced_together(home):
    ingest(home, [upsert({"id": 1}, v="a"), upsert({"id": 2}, v="a")])
    home.run("sql", "-e", "INSERT INTO t.x VALUES (1, 'b'), (2, 'b')")
    ingest(home, [upsert({"id": 1}, v="c"), tombstone({"id": 2})])
    assert rows(home) == [(1, "c")]
    verify(home)


def test_help_shows_an_example(home):
    for verb in ("status", "rebuild", "verify"):
        assert f"frazil index {verb} shop.customers" in home.run("index", verb, "--help").stdout
    assert "--dedupe" in home.run("ingest", "--help").stdout
