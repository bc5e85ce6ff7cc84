"""kill -9 of the very binary that users run, at writes spread over a run of five commits; then the same command again.

tests/fault does this at every single write inside one process; here it is whole processes and a spread.
"""

import os
import random

from engines import PyIceberg
from home import Home, local_path, tombstone, upsert
from table_layout import check_layout

STEP = 7


def events():
    """Updates, deletes and keys that come back, within and across the five commits of 40 events."""
    seeded = random.Random(3)
    for i in range(200):
        key = {"id": seeded.randrange(60)}
        yield tombstone(key) if seeded.random() < 0.2 else upsert(key, v=f"event {i}")


def expected():
    last = {}
    for event in events():
        last[event["key"]["id"]] = event["value"]
    return sorted((key, value["v"]) for key, value in last.items() if value is not None)


def test_killed_anywhere_the_same_command_gives_exactly_the_rows(tmp_path):
    killed, at = [], 1
    while True:
        home = Home(tmp_path / f"at-{at}", "crash")
        command = ["ingest", "--from", home.write_lines(events(), "in.jsonl"), "--format", "json-kv", "--table", "t.x",
                   "--identifier-fields", "id", "--create", "--columns", "id bigint not null, v string",
                   "--partition-by", "bucket(2, id)", "--commit-every", "40"]
        done = home.run(*command, check=False, environment={"FRAZIL_KILL_AT_WRITE": str(at)})
        if done.returncode != -9:
            assert done.returncode == 0, done.stderr
            break
        again = home.run(*command)
        rows = sorted((row["id"], row["v"]) for row in home.sql("SELECT id, v FROM t.x"))
        assert rows == expected(), f"killed at write {at}; then: {again.stderr}"
        table = PyIceberg(home)
        check_layout(table.load("t.x"))
        assert table.rows("t.x", ["id", "v"]) == sorted(expected(), key=repr), f"killed at write {at}, read by PyIceberg"
        killed.append(at)
        at += STEP
    assert len(killed) >= 12, f"a run of five commits has too few writes to be killed at: {killed}"


def test_killed_again_and_again_it_still_arrives(home):
    """Each run dies at its third write more than the last one; the table must end right all the same."""
    command = ["ingest", "--from", home.write_lines(events(), "in.jsonl"), "--format", "json-kv", "--table", "t.x",
               "--identifier-fields", "id", "--create", "--columns", "id bigint not null, v string", "--commit-every", "40"]
    for at in range(1, 200, 3):
        done = home.run(*command, check=False, environment={"FRAZIL_KILL_AT_WRITE": str(at)})
        if done.returncode == 0:
            break
        assert done.returncode == -9, done.stderr
    assert done.returncode == 0
    assert sorted((row["id"], row["v"]) for row in home.sql("SELECT id, v FROM t.x")) == expected()
    check_layout(PyIceberg(home).load("t.x"))


def test_a_compaction_killed_anywhere_loses_nothing_and_leaves_nothing(tmp_path):
    """Then the same command again; after three days orphan removal takes what is left over, and the ingest goes on."""
    query = "SELECT id, v, _row_id, _last_updated_sequence_number FROM t.x ORDER BY id"
    compact = ["compact", "t.x", "--option", "rewrite-all=true", "--option", "max-file-group-input-files=2"]
    killed, at = [], 1
    while True:
        home = Home(tmp_path / f"compact-{at}", "crash")
        ingest = ["ingest", "--from", home.write_lines(events(), "in.jsonl"), "--format", "json-kv", "--table", "t.x",
                  "--identifier-fields", "id", "--create", "--columns", "id bigint not null, v string",
                  "--partition-by", "bucket(2, id)", "--commit-every", "40"]
        home.run(*ingest)
        before = home.sql(query)
        done = home.run(*compact, check=False, environment={"FRAZIL_KILL_AT_WRITE": str(at)})
        if done.returncode != -9:
            assert done.returncode == 0, done.stderr
            break
        assert home.sql(query) == before, f"killed at write {at}"
        home.run(*compact)
        assert home.sql(query) == before, f"killed at write {at}, and run again"
        assert not [path for path in home.folder.glob("state/*/journal/*") if path.name != "lock"]
        location = local_path(home.metadata("t.x")["location"])
        for path in location.rglob("*"):
            if path.is_file():
                os.utime(path, (1.7e9, 1.7e9))
        home.run("clean-orphans", "t.x", "--yes", "-q")
        left = [str(path) for path in location.rglob("*") if path.is_file()]
        assert not [path for path in left if "/.frazil-" in path or "/_frazil/leases/" in path or "/_frazil/orphans/" in path]
        assert home.sql(query) == before
        home.ingest([upsert({"id": 1}, v="later")], "t.x")
        home.run("index", "verify", "t.x")
        table = PyIceberg(home)
        check_layout(table.load("t.x"))
        killed.append(at)
        at += 19
    assert len(killed) >= 4, f"a compaction has too few writes to be killed at: {killed}"
