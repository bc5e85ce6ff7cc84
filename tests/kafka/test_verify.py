"""`frazil verify`: the topic replayed and compared with the table."""

import json

import pytest

from running import UserKv, pipeline, write_config

TABLE = "apps.user_kv"


@pytest.fixture
def topic(broker, registry):
    topic = UserKv(broker, registry)
    topic.upsert((n % 3, n, "k", f"v{n}") for n in range(300))
    topic.upsert((n % 3, n, "k", None if n == 5 else f"w{n}") for n in range(0, 300, 5))
    return topic


@pytest.fixture
def config(home, topic, registry):
    config = write_config(home, {"user-kv": pipeline(topic, registry, TABLE)})
    home.run("run", "-c", config, "--bounded", "-q")
    return config


def verify(home, config, *options):
    done = home.run("verify", TABLE, "-c", config, "-o", "json", *options, check=False)
    assert done.returncode in (0, 10), done.stderr
    report = json.loads(done.stdout)
    assert done.returncode == (0 if report["is_equal"] else 10)
    return report


def test_a_right_table_is_equal(home, topic, config):
    topic.upsert([(1, 1, "k", "not in the table yet")])
    report = verify(home, config)
    assert report["is_equal"] and report["keys"] == 300 and report["rows"] == 299 and report["records"] == 360
    assert verify(home, config, "--sample", "20")["keys"] == 20


def test_one_planted_row_of_each_kind_is_found(home, config):
    home.sql(f"DELETE FROM {TABLE} WHERE user_id = 7")
    home.sql(f"UPDATE {TABLE} SET value = 'planted' WHERE user_id = 8")
    home.sql(f"INSERT INTO {TABLE} VALUES (1, 9999, 'k', 'stranger', TIMESTAMP '2024-01-01 00:00:00')")
    home.sql(f"INSERT INTO {TABLE} VALUES (2, 5, 'k', 'back', TIMESTAMP '2024-01-01 00:00:00')")
    report = verify(home, config)
    assert (report["missing"], report["different"], report["extra"]) == (1, 1, 2)
    found = {(d["kind"], d["key"]) for d in report["differences"]}
    assert found == {("missing", "app_id=1, user_id=7, key=k"), ("different", "app_id=2, user_id=8, key=k"),
                     ("extra", "app_id=1, user_id=9999, key=k"), ("extra", "app_id=2, user_id=5, key=k")}
    details = {d["key"]: d["detail"] for d in report["differences"]}
    assert "the table has 'planted', the source 'v8'" in details["app_id=2, user_id=8, key=k"]
    shown = home.run("verify", TABLE, "-c", config, "-o", "table", "--limit", "1", check=False)
    assert "NOT EQUAL" in shown.stderr and "3 differences are not listed" in shown.stderr


def test_keys_that_retention_took_are_not_judged(home, topic, broker, config):
    broker.truncate(topic.topic, {0: 100})
    report = verify(home, config)
    assert report["is_equal"] and report["rows_not_judged"] > 0


def test_a_table_without_a_pipeline_is_said(home, config):
    done = home.run("verify", "apps.other", "-c", config, check=False)
    assert done.returncode == 1 and "no configured pipeline feeds the table" in done.stderr


def test_a_topic_that_was_made_anew_is_refused_as_by_a_run(home, topic, broker, config):
    broker.delete_topic(topic.topic)
    broker.create_topic(topic.topic, partitions=2)
    topic.upsert((n % 3, n, "k", "of the new topic") for n in range(1000))
    done = home.run("verify", TABLE, "-c", config, check=False)
    assert done.returncode == 3 and "topic-id was" in done.stderr
    done = home.run("pipeline", "list", "-c", config, "-o", "json", check=False)
    (row,) = json.loads(done.stdout)["pipelines"]
    assert done.returncode == 10 and row["is_stale"] and "topic-id was" in row["reason"]
