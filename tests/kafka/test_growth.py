"""A topic that gets more partitions: the newest record of a key counts, for a pipeline that reads it all, for one that was
there before, for `verify` and for `resync`."""

import json

import pytest

from engines import Frazil
from running import COLUMNS, UserKv, pipeline, write_config

TABLE = "apps.user_kv"
KEYS = 200


@pytest.fixture
def topic(broker, registry):
    topic = UserKv(broker, registry, partitions=1)
    for turn in range(10):
        topic.upsert((n % 3, n, "k", f"old {turn} {n}") for n in range(KEYS))
    return topic


def grow(topic):
    """Half of the keys move to the new partition, with newer records."""
    topic.broker.add_partitions(topic.topic, 2)
    topic.partitions = 2
    topic.upsert((n % 3, n, "k", None if n % 10 == 1 else f"new {n}") for n in range(1, KEYS, 2))


def bounded(home, config):
    return home.run("run", "-c", config, "--bounded")


def verify(home, config):
    return json.loads(home.run("verify", TABLE, "-c", config, "-o", "json", check=False).stdout)


def check(home, topic, config):
    assert Frazil(home).rows(TABLE, COLUMNS) == sorted(topic.rows(), key=repr)
    report = verify(home, config)
    assert report["is_equal"] and report["moved_keys"] == KEYS // 2


def test_keys_that_move_between_old_partitions_are_told_of_and_mended(home, broker, registry):
    topic = UserKv(broker, registry, partitions=2)
    topic.upsert((n % 3, n, "k", "first") for n in range(KEYS))
    config = write_config(home, {"user-kv": pipeline(topic, registry, TABLE, commit={"max-records": 100})})
    assert "wrong order" not in bounded(home, config).stderr
    topic.upsert((n % 3, n, "k", f"old {n}") for n in range(KEYS))  # not read yet
    topic.broker.add_partitions(topic.topic, 3)
    topic.partitions = 3
    topic.upsert((n % 3, n, "k", f"new {n}") for n in range(KEYS))
    said = bounded(home, config).stderr
    assert "keys that moved between the 2 partitions of before may be read in the wrong order" in said, said
    home.run("pipeline", "resync", "user-kv", "-c", config, "-o", "json")
    assert Frazil(home).rows(TABLE, COLUMNS) == sorted(topic.rows(), key=repr)
    assert verify(home, config)["is_equal"]


@pytest.mark.parametrize("batch", [100, 100_000])
def test_a_new_pipeline_takes_the_newest_record_of_a_key(home, topic, registry, batch):
    grow(topic)
    config = write_config(home, {"user-kv": pipeline(topic, registry, TABLE, commit={"max-records": batch})})
    said = bounded(home, config).stderr
    check(home, topic, config)
    assert batch == 100 or "keys have records in several partitions" in said


def test_a_pipeline_that_was_there_before_and_a_resync_behind_it(home, topic, registry):
    config = write_config(home, {"user-kv": pipeline(topic, registry, TABLE)})
    bounded(home, config)
    grow(topic)
    assert "has 2 partitions now, 1 when the table was written last" in bounded(home, config).stderr
    check(home, topic, config)
    home.sql(f"UPDATE {TABLE} SET value = 'planted' WHERE user_id < 20")
    done = home.run("pipeline", "resync", "user-kv", "-c", config, "-o", "json")
    assert json.loads(done.stdout)["upserts"] == 18  # 1 and 11 are deleted
    check(home, topic, config)
