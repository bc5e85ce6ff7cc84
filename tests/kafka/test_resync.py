"""`frazil pipeline resync`: the table made equal to its topic, whatever was missed."""

import json
import re

import pytest

from engines import DuckDB, Frazil, PyIceberg
from running import COLUMNS, UserKv, pipeline, write_config
from server import wait_until

TABLE = "apps.user_kv"


def resync(home, config, check=True):
    done = home.run("pipeline", "resync", "user-kv", "-c", config, "-o", "json", check=check)
    return json.loads(done.stdout.splitlines()[-1]) if done.returncode == 0 else done


def verify(home, config):
    return json.loads(home.run("verify", TABLE, "-c", config, "-o", "json", check=False).stdout)


def row_ids(home):
    return {row["user_id"]: row["_row_id"] for row in home.sql(f"SELECT user_id, _row_id FROM {TABLE}")}


@pytest.fixture
def topic(broker, registry):
    topic = UserKv(broker, registry)
    topic.upsert((n % 3, n, "k", f"v{n}") for n in range(200))
    return topic


@pytest.fixture
def config(home, topic, registry):
    config = write_config(home, {"user-kv": pipeline(topic, registry, TABLE)})
    home.run("run", "-c", config, "--bounded", "-q")
    return config


def test_rows_that_differ_are_repaired_and_the_others_stay(home, topic, config):
    before = row_ids(home)
    home.sql(f"DELETE FROM {TABLE} WHERE user_id = 7")
    home.sql(f"UPDATE {TABLE} SET value = 'planted' WHERE user_id = 8")
    home.sql(f"INSERT INTO {TABLE} VALUES (1, 9999, 'k', 'stranger', TIMESTAMP '2024-01-01 00:00:00')")
    topic.upsert([(0, 3, "k", "behind the table"), (0, 6, "k", None), (5, 5000, "k", "new")])
    snapshots = len(home.metadata(TABLE)["snapshots"])
    report = resync(home, config)
    assert (report["upserts"], report["deletes"]) == (4, 2)  # 7, 8, 3, 5000; 9999, 6
    for reader in (Frazil, PyIceberg, DuckDB):
        assert reader(home).rows(TABLE, COLUMNS) == sorted(topic.rows(), key=repr), reader.name
    after = row_ids(home)
    assert {user: after[user] for user in before if user in after and user != 7} == \
        {user: before[user] for user in before if user not in (6, 7)}
    assert len(home.metadata(TABLE)["snapshots"]) == snapshots + 1
    assert verify(home, config)["is_equal"]
    # It stands at the topic's end now, and there is nothing more to do.
    again = json.loads(home.run("run", "-c", config, "--bounded", "-o", "json").stdout.splitlines()[-1])["pipelines"][0]
    assert again["records"] == 0
    report = resync(home, config)
    assert (report["upserts"], report["deletes"]) == (0, 0)


def test_keys_whose_tombstones_are_gone_are_deleted(home, broker, registry):
    """A compacted topic: the value and its tombstone were removed while nobody read. Tombstones are kept for a moment only
    while they are to go: a run that starts slowly would be refused for less."""
    topic = UserKv(broker, registry, partitions=1, cleanup_policy="compact", segment_bytes=1048576, segment_ms=1000,
                   min_cleanable_dirty_ratio=0.01, max_compaction_lag_ms=1000)
    topic.upsert((0, n, "k", f"v{n}") for n in range(50))
    config = write_config(home, {"user-kv": pipeline(topic, registry, TABLE)})
    home.run("run", "-c", config, "--bounded", "-q")
    broker.alter_topic(topic.topic, delete_retention_ms=1000)
    topic.upsert((0, n, "k", None) for n in range(0, 50, 2))

    def are_gone():
        topic.upsert([(9, 9, "roll", "x")])  # rolls the active segment
        return not any(message.value() is None for message in broker.read(topic.topic))
    wait_until(are_gone, 120, "the tombstones to go", pause=1)
    # The next start sees that they may be gone, and says what helps.
    done = home.run("run", "-c", config, "--bounded", check=False)
    assert done.returncode == 3 and "pipeline resync" in done.stderr, done.stderr
    assert re.search(r"last commit of pipeline user-kv is \d+ (s|min) old.* keeps tombstones for 1 s", done.stderr), done.stderr
    broker.alter_topic(topic.topic, delete_retention_ms=24 * 3600 * 1000)
    report = resync(home, config)
    assert report["deletes"] == 25
    assert Frazil(home).rows(TABLE, COLUMNS) == sorted(topic.rows(), key=repr)
    home.run("run", "-c", config, "--bounded", "-q")


def test_a_topic_without_its_beginning_is_refused(home, topic, broker, config):
    broker.truncate(topic.topic, {0: 10})
    before = Frazil(home).rows(TABLE, COLUMNS)
    done = resync(home, config, check=False)
    assert done.returncode == 3 and "retention" in done.stderr and "reset-offsets" in done.stderr, done.stderr
    assert Frazil(home).rows(TABLE, COLUMNS) == before


def test_a_table_that_knows_nothing_of_the_pipeline_is_refused(home, topic, registry, config):
    other = write_config(home, {"other": pipeline(topic, registry, TABLE)})
    done = home.run("pipeline", "resync", "other", "-c", other, check=False)
    assert done.returncode == 1 and "it knows: user-kv" in done.stderr, done.stderr
