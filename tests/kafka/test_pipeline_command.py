"""`frazil pipeline`: against a running process, and against table and broker when none runs."""

import json
import re

import pytest

from engines import Frazil
from running import COLUMNS, Running, UserKv, pipeline, write_config
from server import wait_until

TABLE = "apps.user_kv"


@pytest.fixture
def topic(broker, registry):
    topic = UserKv(broker, registry)
    topic.upsert((n % 3, n, "k", f"v{n}") for n in range(60))
    return topic


@pytest.fixture
def config(home, topic, registry):
    return write_config(home, {"user-kv": pipeline(topic, registry, TABLE)})


def bounded(home, config, check=True):
    return home.run("run", "-c", config, "--bounded", "-q", check=check)


def listed(home, config, check=True):
    done = home.run("pipeline", "list", "-c", config, "-o", "json", check=check)
    return done, json.loads(done.stdout)["pipelines"]


def test_commands_reach_the_running_process(home, topic, config):
    with Running(home, config) as running:
        running.commit_all(topic)
        _, (row,) = listed(home, config)
        assert (row["id"], row["state"], row["is_stale"], row["lag_records"]) == ("user-kv", "running", False, 0)
        assert row["last_commit_ms"] > 1.7e12
        home.run("pipeline", "pause", "user-kv", "-c", config)
        running.wait_for(lambda status: status["state"] == "paused", "the pause")
        assert "paused" in home.run("pipeline", "show", "user-kv", "-c", config, "-o", "table").stdout
        shown = home.run("pipeline", "show", "user-kv", "-c", config, "-o", "vertical").stdout
        assert "\nstate         | paused\n" in shown and " ago)\n" in shown, shown
        topic.upsert([(2, 2, "k", "waits")])
        running.wait_for(lambda status: status["lag_records"] == 1, "the lag of a paused pipeline")
        assert re.search(r"^frazil_source_lag_records\{.*\} 1$", running.ask("/metrics")[1], re.M)
        home.run("pipeline", "resume", "user-kv", "-c", config)
        running.wait_for(lambda status: status["state"] == "running", "the resumption")
        topic.upsert([(1, 1, "k", "newer")])
        end = {str(p): last for p, last in topic.end().items()}
        running.wait_for(lambda status: status["read"] == end, "the record to be read")
        home.run("pipeline", "drain", "user-kv", "-c", config)
        running.wait_for(lambda status: status["committed"] == end, "the drain")
        missing = home.run("pipeline", "pause", "other", "-c", config, check=False)
        assert missing.returncode == 1 and "there are: user-kv" in missing.stderr
        refused = home.run("pipeline", "reset-offsets", "user-kv", "--to", "earliest", "-c", config, check=False)
        assert refused.returncode == 3 and "is running" in refused.stderr
    assert home.run("pipeline", "pause", "user-kv", "-c", config, check=False).returncode == 3
    # The next process knows from the table when the last commit was.
    with Running(home, config) as running:
        status = running.wait_for(lambda status: status["state"] == "running", "the start")
        assert status["commits"] == 0 and status["last_commit_ms"] >= row["last_commit_ms"]


def test_list_reads_table_and_broker_when_nothing_runs(home, topic, config):
    done, (row,) = listed(home, config, check=False)
    assert done.returncode == 10  # never committed, and there is something to commit
    assert row["state"] == "down" and row["is_stale"]
    bounded(home, config)
    done, (row,) = listed(home, config)
    assert done.returncode == 0
    assert row["committed"] == {str(p): end for p, end in topic.end().items()}
    assert row["lag_records"] == 0
    topic.upsert([(1, 1, "k", "late"), (1, 2, "k", "later")])
    done, (row,) = listed(home, config)
    assert done.returncode == 0 and row["lag_records"] == 2  # behind, but not for 12 intervals


def test_list_says_what_it_cannot_ask(home, topic, registry, config):
    bounded(home, config)
    away = write_config(home, {"user-kv": pipeline(topic, registry, TABLE,
                                                   source={"properties.bootstrap.servers": "127.0.0.1:1"})})
    done, (row,) = listed(home, away, check=False)
    assert row["lag_records"] is None and row["reason"]
    assert row["committed"] == {str(p): end for p, end in topic.end().items()}
    assert done.returncode == 0  # committed seconds ago


@pytest.mark.parametrize("to, expected", [("earliest", {0: 0, 1: 0}), ("latest", {0: 30, 1: 30}), ("7", {0: 7, 1: 7}),
                                          ("1:3", {0: 30, 1: 3})])
def test_reset_offsets_is_a_commit_that_the_next_start_follows(home, topic, config, to, expected):
    bounded(home, config)
    snapshots = len(home.metadata(TABLE)["snapshots"])
    home.run("pipeline", "reset-offsets", "user-kv", "--to", to, "-c", config)
    assert len(home.metadata(TABLE)["snapshots"]) == snapshots + 1
    _, (row,) = listed(home, config)
    assert row["committed"] == {str(p): offset for p, offset in expected.items()}
    done = home.run("run", "-c", config, "--bounded", "-o", "json", "-q")
    assert json.loads(done.stdout)["pipelines"][0]["records"] == 60 - sum(expected.values())
    assert Frazil(home).rows(TABLE, COLUMNS) == sorted(topic.rows(), key=repr)


def test_reset_offsets_refuses_what_cannot_be(home, topic, config):
    bounded(home, config)
    for to, said, code in [("1000", "outside its log", 1), ("5:0", "no partition 5", 1), ("soon", "partition:offset", 2)]:
        done = home.run("pipeline", "reset-offsets", "user-kv", "--to", to, "-c", config, check=False)
        assert done.returncode == code and said in done.stderr, to
    unknown = home.run("pipeline", "reset-offsets", "user", "--to", "earliest", "-c", config, check=False)
    assert unknown.returncode == 1 and "there are: user-kv" in unknown.stderr


def test_reset_offsets_mends_a_topic_that_was_made_anew(home, topic, broker, config):
    bounded(home, config)
    broker.delete_topic(topic.topic)
    broker.create_topic(topic.topic, partitions=2)
    topic.upsert([(1, 2, "k", "of the new topic")])
    assert bounded(home, config, check=False).returncode == 3
    home.run("pipeline", "reset-offsets", "user-kv", "--to", "earliest", "-c", config)
    bounded(home, config)
    assert (1, 2, "k", "of the new topic") in Frazil(home).rows(TABLE, COLUMNS)


def test_reset_offsets_says_that_it_brings_no_tombstones_back(home, broker, registry):
    topic = UserKv(broker, registry, partitions=1, cleanup_policy="compact")
    topic.upsert((1, n, "k", "x") for n in range(10))
    config = write_config(home, {"user-kv": pipeline(topic, registry, TABLE)})
    bounded(home, config)
    reset = ["pipeline", "reset-offsets", "user-kv", "--to", "earliest", "-c", config]
    topic.upsert([(1, 2, "k", None)])
    assert "tombstones" not in home.run(*reset).stderr  # they are kept for a day
    broker.alter_topic(topic.topic, delete_retention_ms=1)

    def said():
        return next((line for line in home.run(*reset).stderr.splitlines() if "tombstones" in line), None)
    line = wait_until(said, 30, "the broker to show the topic's new setting")
    assert "the compacted topic keeps tombstones for 1 ms: rows whose tombstones are gone stay" in line
    assert line.endswith("frazil pipeline resync user-kv deletes them")


def test_adopt_goes_on_where_another_name_stood(home, topic, registry, config):
    bounded(home, config)
    renamed = write_config(home, {"new-name": pipeline(topic, registry, TABLE)})
    topic.upsert([(1, 1, "k", "after the renaming")])
    refused = bounded(home, renamed, check=False)
    assert refused.returncode == 3 and "adopt" in refused.stderr
    nothing = home.run("pipeline", "adopt", "new-name", "--from", "nobody", "-c", renamed, check=False)
    assert nothing.returncode == 1 and "it knows: user-kv" in nothing.stderr
    home.run("pipeline", "adopt", "new-name", "--from", "user-kv", "-c", renamed)
    done = home.run("run", "-c", renamed, "--bounded", "-o", "json", "-q")
    assert json.loads(done.stdout)["pipelines"][0]["records"] == 1
    assert Frazil(home).rows(TABLE, COLUMNS) == sorted(topic.rows(), key=repr)
