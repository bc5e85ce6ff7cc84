"""A catalog that loses requests and replies, or answers with what was true before: `frazil run` at each of its requests in turn.
Its own variables inject the faults (src/frazil/catalog/faults_from_environment.h)."""

import json

import pytest

from engines import DuckDB, Frazil
from running import COLUMNS, UserKv, pipeline, write_config

FAULTS = ["FRAZIL_LOSE_COMMIT_REQUEST", "FRAZIL_LOSE_COMMIT_REPLY", "FRAZIL_STALE_CATALOG"]
USERS = 300  # more than one batch: limits are looked at every 256 records
MOST_REQUESTS = 60


@pytest.fixture
def topic(broker, registry):
    topic = UserKv(broker, registry)
    topic.upsert((n % 3, n, "k", "first") for n in range(USERS))
    return topic


def change_all(topic, turn: int) -> None:
    """Each key twice; some are deleted, and come back with the next turn."""
    topic.upsert((n % 3, n, "k", f"{turn} passes") for n in range(USERS))
    topic.upsert((n % 3, n, "k", None if n % 10 == turn % 10 else f"{turn} stays {n}") for n in range(USERS))


def row_ids(home, table) -> dict:
    return {row["user_id"]: row["_row_id"] for row in home.sql(f"SELECT user_id, _row_id FROM {table}")}


def snapshots(home, table) -> set:
    return {snapshot["snapshot-id"] for snapshot in home.metadata(table)["snapshots"]}


def run(home, config, fault, at):
    """The report, and whether there was such a request."""
    done = home.run("run", "-c", config, "--bounded", "-o", "json", environment={fault: str(at)})
    struck = f"{fault}: " in done.stderr
    if struck and "COMMIT" in fault:
        assert "no answer to a commit" in done.stderr, done.stderr
    return json.loads(done.stdout.splitlines()[-1])["pipelines"][0], struck


@pytest.mark.parametrize("fault", FAULTS)
def test_nothing_is_lost_or_doubled(home, topic, registry, fault):
    table = "apps.user_kv"
    config = write_config(home, {"user-kv": pipeline(topic, registry, table, commit={"max-records": 200})})
    home.run("run", "-c", config, "--bounded", "-q")
    for at in range(1, MOST_REQUESTS):
        change_all(topic, at)
        had, ids = snapshots(home, table), row_ids(home, table)
        report, struck = run(home, config, fault, at)
        assert Frazil(home).rows(table, COLUMNS) == sorted(topic.rows(), key=repr), at
        assert len(snapshots(home, table) - had) == report["commits"] >= 2, at
        after = row_ids(home, table)
        stay = [user for user in ids if user in after]
        assert {user: after[user] for user in stay} == {user: ids[user] for user in stay}, at
        assert len(set(after.values())) == len(after)
        if not struck:
            break
    assert not struck and at > 2  # each of the run's requests had its turn
    assert DuckDB(home).rows(table, COLUMNS) == sorted(topic.rows(), key=repr)
    assert json.loads(home.run("verify", table, "-c", config, "-o", "json").stdout)["is_equal"]
    home.run("index", "verify", table)


@pytest.mark.parametrize("fault", FAULTS)
def test_a_new_pipeline_begins_once(home, topic, registry, fault):
    """The commits that a first run makes before its rows."""
    for at in range(1, MOST_REQUESTS):
        table = f"apps.t{at}"
        config = write_config(home, {"user-kv": pipeline(topic, registry, table)})
        report, struck = run(home, config, fault, at)
        assert Frazil(home).rows(table, COLUMNS) == sorted(topic.rows(), key=repr), at
        assert report["inserts"] == USERS and report["updates"] == 0, at
        if not struck:
            break
    assert not struck and at > 2
