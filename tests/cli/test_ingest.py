"""`frazil ingest` as a user runs it: creating, continuing, standard input, bad records, stopping."""

import json
import signal
import subprocess
import time

import pytest

from home import needed, tombstone, upsert

COLUMNS = "id bigint not null, v string"


def rows(home, table="t.x"):
    return [(row["id"], row["v"]) for row in home.sql(f"SELECT id, v FROM {table} ORDER BY id")]


def summary(done):
    return json.loads(done.stdout.strip().splitlines()[-1])


def test_columns_are_inferred_for_create(home):
    home.run("ingest", "--from", home.write_lines([{"id": 1, "price": 1.5, "name": "a", "ok": True},
                                                   {"id": 2, "price": 2, "name": None, "ok": False}]),
             "--table", "t.x", "--identifier-fields", "id", "--create")
    types = {row["column_name"] if "column_name" in row else row["col_name"]: row for row in home.sql("DESCRIBE t.x")}
    assert {"id", "price", "name", "ok"} <= set(types)
    assert home.sql("SELECT * FROM t.x ORDER BY id") == [{"id": 1, "price": 1.5, "name": "a", "ok": True},
                                                         {"id": 2, "price": 2.0, "name": None, "ok": False}]


def test_a_member_says_what_to_do_with_a_flat_record(home):
    path = home.write_lines([{"op": "c", "id": 1, "v": "a"}, {"op": "insert", "id": 2, "v": "b"}, {"op": "u", "id": 1, "v": "c"},
                             {"op": "d", "id": 2}, {"op": "r", "id": 3, "v": "d"}])
    home.run("ingest", "--from", path, "--table", "t.x", "--identifier-fields", "id", "--create", "--columns", COLUMNS,
             "--op-column", "op")
    assert rows(home) == [(1, "c"), (3, "d")]


def test_the_same_command_again_does_nothing_and_more_lines_go_on_where_it_stood(home):
    path = home.write_lines([upsert({"id": i}, v="a") for i in range(5)], "in.jsonl")
    command = ["ingest", "--from", path, "--format", "json-kv", "--table", "t.x", "--identifier-fields", "id", "--create",
               "--columns", COLUMNS, "-o", "json"]
    assert summary(home.run(*command))["events"] == 5
    again = home.run(*command)
    assert summary(again)["commits"] == 0 and "going on after 5 committed records" in again.stderr
    with path.open("a") as file:
        file.write(json.dumps(upsert({"id": 1}, v="b")) + "\n")
    assert summary(home.run(*command))["events"] == 1
    assert rows(home) == [(0, "a"), (1, "b"), (2, "a"), (3, "a"), (4, "a")]


def test_an_exchanged_file_is_refused(home):
    path = home.write_lines([upsert({"id": 1}, v="a")], "in.jsonl")
    command = ["ingest", "--from", path, "--format", "json-kv", "--table", "t.x", "--identifier-fields", "id", "--create",
               "--columns", COLUMNS]
    home.run(*command)
    home.write_lines([upsert({"id": 2}, v="b"), upsert({"id": 3}, v="c")], "in.jsonl")
    done = home.run(*command, check=False)
    assert done.returncode == 1 and "not the one that was ingested before" in done.stderr
    assert rows(home) == [(1, "a")]


def test_standard_input_skips_what_is_committed(home):
    lines = [json.dumps(upsert({"id": i}, v="a")) + "\n" for i in range(30)]
    command = ["ingest", "--from", "-", "--format", "json-kv", "--table", "t.x", "--identifier-fields", "id", "--create",
               "--columns", COLUMNS, "--commit-every", "10", "-o", "json"]
    assert summary(home.run(*command, input="".join(lines[:20])))["events"] == 20
    again = home.run(*command, input="".join(lines))
    assert summary(again)["events"] == 10 and "going on after 20 committed records" in again.stderr
    assert len(rows(home)) == 30
    short = home.run(*command, input="".join(lines[:3]), check=False)
    assert short.returncode != 0 and "ends at record 3" in short.stderr


BAD = ['{"key": {"id": 1}, "value": {"v": "good"}}', 'not json', '{"key": {}, "value": {"v": "no key"}}',
       '{"key": {"id": "text"}, "value": {"v": "wrong type"}}', '{"key": {"id": null}, "value": null}', '{"value": {"id": 7}}',
       '{"key": {"id": 2}, "value": {"v": "good"}}', '{"key": {"id": 2}, "value": {"id": 3, "v": "disagrees"}}', '',
       '{"key": {"id": 3}, "value": {"v": 5}}', '{"key": {"id": 4}, "value": {"v": "good", "unknown": 1}}']


@pytest.fixture
def bad_command(home):
    (home.folder / "bad.jsonl").write_text("\n".join(BAD) + "\n")
    return ["ingest", "--from", "bad.jsonl", "--format", "json-kv", "--table", "t.x", "--identifier-fields", "id", "--create",
            "--columns", COLUMNS]


def test_a_bad_record_stops_the_run_after_what_came_before_it_is_committed(home, bad_command):
    done = home.run(*bad_command, check=False)
    assert done.returncode == 1 and "line 2" in done.stderr and "bad.jsonl" in done.stderr
    assert rows(home) == [(1, "good")]
    mended = [line for line in BAD if "good" in line or not line]
    # The first bytes changed: a mended file is another file.
    (home.folder / "mended.jsonl").write_text("\n".join(mended) + "\n")
    home.run(*[argument if argument != "bad.jsonl" else "mended.jsonl" for argument in bad_command])
    assert rows(home) == [(1, "good"), (2, "good"), (4, "good")]


def test_bad_records_are_skipped_counted_and_the_first_is_named(home, bad_command):
    done = home.run(*bad_command, "--on-error", "skip")
    assert rows(home) == [(1, "good"), (2, "good"), (4, "good")]
    assert "warning: 7 records were skipped" in done.stderr and "record 1" in done.stderr
    assert "'unknown' is no column" in done.stderr


def test_a_missing_table_or_identifier_is_said(home):
    path = home.write_lines([upsert({"id": 1}, v="a")])
    done = home.run("ingest", "--from", path, "--format", "json-kv", "--table", "t.x", "--identifier-fields", "id", check=False)
    assert done.returncode == 1 and "t.x" in done.stderr and "--create" in done.stderr
    done = home.run("ingest", "--from", path, "--format", "json-kv", "--table", "t.x", "--create", "--columns", COLUMNS, check=False)
    assert done.returncode == 1 and "--identifier-fields" in done.stderr
    done = home.run("ingest", "--from", "nowhere.jsonl", "--table", "t.x", "--identifier-fields", "id", check=False)
    assert done.returncode == 1 and "nowhere.jsonl" in done.stderr


def test_a_table_of_version_2_is_refused(home):
    home.run("sql", "-e", f"CREATE NAMESPACE t; CREATE TABLE t.x ({COLUMNS}) USING iceberg TBLPROPERTIES ('format-version' = '2')")
    done = home.run("ingest", "--from", home.write_lines([upsert({"id": 1}, v="a")]), "--format", "json-kv", "--table", "t.x",
                    "--identifier-fields", "id", check=False)
    assert done.returncode == 1 and "version 2" in done.stderr and "version 3" in done.stderr
    assert rows(home) == []


def wait_for_commits(home, count):
    """Until the catalog shows so many snapshots of t.x; the process under test is running meanwhile."""
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        try:
            if len(home.metadata("t.x").get("snapshots", [])) >= count:
                return
        except (AssertionError, FileNotFoundError, Exception):  # no table yet
            pass
        time.sleep(0.02)
    raise AssertionError(f"no {count} commits within a minute")


@pytest.mark.parametrize("number, code", [(signal.SIGTERM, 143), (signal.SIGINT, 130)])
def test_a_signal_stops_it_with_what_is_committed_and_the_same_command_goes_on(home, number, code):
    lines = [json.dumps(upsert({"id": i}, v="a")) + "\n" for i in range(300)]
    command = ["ingest", "--from", "-", "--format", "json-kv", "--table", "t.x", "--identifier-fields", "id", "--create",
               "--columns", COLUMNS, "--commit-every", "100", "-o", "json"]
    with subprocess.Popen([needed("FRAZIL_BIN"), *command], env=home.environment(), cwd=home.folder, text=True,
                          stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        process.stdin.write("".join(lines[:250]))
        process.stdin.flush()  # and stays open: the program waits for more
        wait_for_commits(home, 2)
        process.send_signal(number)
        assert process.wait(timeout=20) == code
        assert "200 records are committed" in process.stderr.read()
        process.stdin.close()
    assert len(rows(home)) == 200
    assert summary(home.run(*command, input="".join(lines)))["events"] == 100
    assert len(rows(home)) == 300


def test_progress_for_machines_is_json_lines_on_standard_error(home):
    done = home.run("ingest", "--from", home.write_lines([upsert({"id": i}, v="a") for i in range(10)]), "--format", "json-kv",
                    "--table", "t.x", "--identifier-fields", "id", "--create", "--columns", COLUMNS, "--progress", "json",
                    "--commit-every", "5")
    found = [json.loads(line) for line in done.stderr.splitlines() if line.startswith("{")]
    assert found and found[-1]["events"] == 10
