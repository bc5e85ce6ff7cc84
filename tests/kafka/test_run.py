"""`frazil run` from a real broker and a real registry into tables that other engines read."""

import base64
import json
import random
import re
import signal
import socket
import sqlite3
import threading
import time

import pytest
from confluent_kafka import KafkaException
from confluent_kafka.admin import AclOperation

from engines import DuckDB, Frazil, PyIceberg
from home import ROOT, local_path
from registry import FakeGuard, framed
from running import COLUMNS, KEY_SCHEMA, VALUE_SCHEMA, Running, UserKv, pipeline, write_config
from server import wait_until

TABLE = "apps.user_kv"


@pytest.fixture
def topic(broker, registry):
    return UserKv(broker, registry)


def changes(seed: int, count: int, keys: int = 200):
    """Random upserts and tombstones over some keys; the seed is the test's."""
    print(f"seed {seed}")
    chance = random.Random(seed)
    for number in range(count):
        user = chance.randrange(keys)
        yield user % 7, user, f"k{user % 5}", None if chance.random() < 0.1 else f"v{number}"


def table_rows(home, table=TABLE):
    return Frazil(home).rows(table, COLUMNS)


def expect_equal(home, topic, table=TABLE, readers=(Frazil,)):
    for reader in readers:
        assert reader(home).rows(table, COLUMNS) == sorted(topic.rows(), key=repr), reader.name


def run_bounded(home, config, *options, check=True):
    return home.run("run", "-c", config, "--bounded", "-o", "json", *options, check=check, timeout=180)


def test_bounded_run_leaves_the_last_value_of_each_key(home, topic, registry):
    topic.upsert(changes(1, 3000))
    config = write_config(home, {"user-kv": pipeline(topic, registry, TABLE)})
    done = run_bounded(home, config)
    report = json.loads(done.stdout.splitlines()[-1])["pipelines"][0]
    assert report["state"] == "stopped"
    assert report["records"] == 3000
    assert report["committed"] == {str(p): end for p, end in topic.end().items()}
    assert report["replay"] == {}
    assert "committed up to" in done.stderr
    expect_equal(home, topic, readers=(Frazil, PyIceberg, DuckDB))
    described = {row["col_name"]: row["data_type"] for row in home.sql(f"DESCRIBE {TABLE}")}
    assert {name: described[name] for name in [*COLUMNS, "updated_at"]} == {
        "app_id": "bigint", "user_id": "bigint", "key": "string", "value": "string", "updated_at": "timestamp"}
    assert home.metadata(TABLE)["format-version"] == 3
    # The second run finds nothing to do, and the third what came in between.
    again = json.loads(run_bounded(home, config).stdout.splitlines()[-1])["pipelines"][0]
    assert again["records"] == 0
    topic.upsert(changes(2, 100))
    run_bounded(home, config)
    expect_equal(home, topic)
    assert topic.broker.committed(f"frazil-{topic.topic}", topic.topic) == topic.end()


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGTERM])
def test_stop_in_mid_stream_loses_and_doubles_nothing(home, topic, registry, how):
    config = write_config(home, {"user-kv": pipeline(topic, registry, TABLE, commit={"max-records": 500})})
    enough = threading.Event()

    def produce():
        for part in range(12):
            topic.upsert(changes(100 + part, 400))
            if part == 2:
                enough.set()

    producer = threading.Thread(target=produce)
    producer.start()
    enough.wait(60)
    with Running(home, config) as running:
        running.wait_for(lambda status: status["commits"] >= 1, "a commit")
        code, report, said = running.stop(how)
    producer.join()
    if how == signal.SIGTERM:
        assert code == 143, said
        stopped = report["pipelines"][0]
        assert stopped["state"] == "stopped"
        assert stopped["replay"] == {}  # drained: everything read is committed
        assert "user-kv: stopped" in said
    run_bounded(home, config)
    expect_equal(home, topic, readers=(Frazil, PyIceberg))
    assert home.sql(f"SELECT count(*) AS n FROM {TABLE}")[0]["n"] == len(topic.last)


def test_broker_that_goes_away_is_waited_for(home, topic, registry, broker):
    topic.upsert(changes(3, 300))
    config = write_config(home, {"user-kv": pipeline(topic, registry, TABLE)})
    with Running(home, config) as running:
        running.commit_all(topic)
        broker.kill()
        broker.start()
        topic.upsert(changes(4, 300))
        running.commit_all(topic, timeout=120)
        assert running.stop()[0] == 143
    expect_equal(home, topic)


def test_what_was_read_is_committed_while_the_broker_is_away(home, topic, registry, broker):
    topic.upsert(changes(41, 300))
    end = {str(partition): last for partition, last in topic.end().items()}
    config = write_config(home, {"user-kv": pipeline(topic, registry, TABLE)})
    with Running(home, config) as running:
        running.wait_for(lambda status: status["read"] == end, "the records to be read")
        broker.kill()
        try:
            running.wait_for(lambda status: status["state"] == "waiting" and topic.topic in status["reason"], "the reason")
            status, text = running.ask("/readyz")
            assert status == 503 and "user-kv: waiting" in text, text
            running.wait_for(lambda status: status["committed"] == end, "the commit")
            code, report, said = running.stop()
            assert code == 143 and report["pipelines"][0]["replay"] == {}, said
        finally:
            broker.start()
    expect_equal(home, topic)


def test_a_catalog_that_another_process_holds_is_a_reason_to_wait(home, topic, registry):
    topic.upsert(changes(42, 100))
    config = write_config(home, {"user-kv": pipeline(topic, registry, TABLE)})
    with Running(home, config, "--drain-timeout", "2s") as running:
        running.commit_all(topic)
        holder = sqlite3.connect(home.folder / "catalog.db", isolation_level=None)
        holder.execute("BEGIN EXCLUSIVE")
        try:
            topic.upsert(changes(43, 100))
            end = {str(partition): last for partition, last in topic.end().items()}
            running.wait_for(lambda status: status["read"] == end, "the records to be read")
            assert running.ask("/v1/pipelines/user-kv/drain", "POST")[0] == 202
            running.wait_for(lambda status: status["state"] == "waiting" and "holds the catalog" in status["reason"],
                             "the reason")
            code, report, said = running.stop()
            # What was read is not in the table: the time to drain was over.
            assert code == 5 and report["pipelines"][0]["replay"], said
        finally:
            holder.execute("ROLLBACK")
            holder.close()
    run_bounded(home, config)
    expect_equal(home, topic)


def test_a_catalog_that_is_moved_away_is_waited_for(home, topic, registry):
    topic.upsert(changes(44, 100))
    config = write_config(home, {"user-kv": pipeline(topic, registry, TABLE)})
    catalog, away = home.folder / "catalog.db", home.folder / "away.db"
    with Running(home, config) as running:
        running.commit_all(topic)
        catalog.rename(away)
        try:
            topic.upsert(changes(45, 100))
            end = {str(partition): last for partition, last in topic.end().items()}
            running.wait_for(lambda status: status["read"] == end, "the records to be read")
            assert running.ask("/v1/pipelines/user-kv/drain", "POST")[0] == 202
            running.wait_for(lambda status: status["state"] == "waiting" and "catalog's file is gone" in status["reason"],
                             "the reason")
        finally:
            away.rename(catalog)
        running.commit_all(topic, timeout=120)
        assert running.stop()[0] == 143
    expect_equal(home, topic)


@pytest.mark.parametrize("part, said", [("", "the table's metadata file is not in its store"),
                                        ("data", "a file stands where a folder is needed")], ids=["all", "data"])
def test_a_store_that_goes_away_is_waited_for(home, topic, registry, part, said):
    """A file takes the place of the folder, as a user who may everything cannot be locked out of one."""
    topic.upsert(changes(31, 300))
    config = write_config(home, {"user-kv": pipeline(topic, registry, TABLE)})
    with Running(home, config) as running:
        running.commit_all(topic)
        folder = local_path(home.metadata(TABLE)["location"]) / part
        away = home.folder / "away"
        folder.rename(away)
        folder.write_text("no folder")
        try:
            topic.upsert(changes(32, 300))
            end = {str(partition): last for partition, last in topic.end().items()}
            running.wait_for(lambda status: status["read"] == end, "the records to be read")
            assert running.ask("/v1/pipelines/user-kv/drain", "POST")[0] == 202
            running.wait_for(lambda status: status["state"] == "waiting" and said in status["reason"], "the reason")
            assert running.ask("/livez")[0] == 200 and running.ask("/readyz")[0] == 503
        finally:
            folder.unlink()
            away.rename(folder)
        running.commit_all(topic, timeout=120)
        code, report, told = running.stop()
        assert code == 143 and report["pipelines"][0]["replay"] == {}, told
        assert said in told
    expect_equal(home, topic, readers=(Frazil, PyIceberg))
    home.run("index", "verify", TABLE)


def test_a_bounded_run_waits_for_a_store_that_people_have_to_mend(home, topic, registry):
    topic.upsert(changes(33, 100))
    config = write_config(home, {"user-kv": pipeline(topic, registry, TABLE)})
    run_bounded(home, config)
    folder = local_path(home.metadata(TABLE)["location"]) / "data"
    away = home.folder / "away"
    said = "a file stands where a folder is needed"
    topic.upsert(changes(34, 100))
    folder.rename(away)
    folder.write_text("no folder")
    try:
        with Running(home, config, "--bounded", "--drain-timeout", "1s") as running:
            running.wait_for(lambda status: status["state"] == "waiting" and said in status["reason"], "the reason")
            code, report, told = running.stop()
            assert code == 5 and report["pipelines"][0]["replay"], told  # what was read is not in the table
        with Running(home, config, "--bounded") as running:
            running.wait_for(lambda status: status["state"] == "waiting" and said in status["reason"], "the reason")
            folder.unlink()
            away.rename(folder)
            code, report, told = running.ended(120)
            assert code == 0 and report["pipelines"][0]["replay"] == {} and said in told, told
    finally:
        if away.exists():
            folder.unlink()
            away.rename(folder)
    expect_equal(home, topic)


def test_a_bounded_run_does_not_begin_without_its_store(home, topic, registry):
    topic.upsert(changes(35, 100))
    config = write_config(home, {"user-kv": pipeline(topic, registry, TABLE)})
    run_bounded(home, config)
    folder = local_path(home.metadata(TABLE)["location"])
    away = home.folder / "away"
    folder.rename(away)  # nothing is left where the table was: it is not made anew
    done = run_bounded(home, config, check=False)
    assert done.returncode == 3 and "metadata file is not in its store" in done.stderr, done.stderr
    assert not folder.exists()
    # It may just be mounted.
    with Running(home, config, "--bounded") as running:
        running.wait_for(lambda status: status["state"] == "waiting" and "not in its store" in status["reason"], "the reason")
        away.rename(folder)
        code, _, told = running.ended(60)
        assert code == 0, told
    expect_equal(home, topic)


def test_registry_that_is_down_is_waited_for(home, topic, registry):
    other = UserKv(topic.broker, registry)
    config = write_config(home, {"user-kv": pipeline(other, registry, TABLE)})
    other.upsert(changes(5, 100))
    with Running(home, config) as running:
        running.commit_all(other)
        registry.freeze()
        try:
            wider = {**VALUE_SCHEMA, "fields": [*VALUE_SCHEMA["fields"], {"name": "note", "type": ["null", "string"], "default": None}]}
            # An id that nobody has asked for yet: the registry has to be asked, and does not answer.
            registry.thaw()
            new_id = registry.register(f"{other.topic}-value", wider)
            registry.freeze()
            record = {"insight_id": 1, "user_id": 1, "key": "k", "value": "x", "note": "n"}
            other.broker.produce(other.topic, [{"key": other.record(1, 1, "k", "x")["key"],
                                                "value": framed(new_id, wider, record), "partition": 1}])
            other.expect(1, 1, "k", "x")
            running.wait_for(lambda status: status["state"] == "waiting" and status["reason"], "the reason", timeout=120)
        finally:
            registry.thaw()
        running.commit_all(other, timeout=120)
    expect_equal(home, other)


def test_schema_change_in_mid_stream_adds_the_column(home, topic, registry):
    wider = {**VALUE_SCHEMA, "fields": [*VALUE_SCHEMA["fields"], {"name": "note", "type": ["null", "string"], "default": None}]}
    topic.upsert([(1, 1, "old", "before")])
    new_id = registry.register(f"{topic.topic}-value", wider)
    value = {"insight_id": 1, "user_id": 2, "key": "new", "value": "after", "note": "hello"}
    topic.broker.produce(topic.topic, [{"key": topic.record(1, 2, "new", "x")["key"], "value": framed(new_id, wider, value),
                                        "partition": 0}])
    topic.upsert([(1, 3, "old again", "between")])
    config = write_config(home, {"user-kv": pipeline(topic, registry, TABLE, sink={
        "schema": "app_id bigint, user_id bigint, key string, value string, updated_at timestamp"})})
    run_bounded(home, config)
    rows = {row["user_id"]: row["note"] for row in home.sql(f"SELECT user_id, note FROM {TABLE}")}
    assert rows == {1: None, 2: "hello", 3: None}
    assert PyIceberg(home).rows(TABLE, ["user_id", "note"]) == sorted([(1, None), (2, "hello"), (3, None)], key=repr)


class TestPoison:
    def poisoned(self, topic):
        topic.upsert([(1, 2, "a", "good")])
        topic.broker.produce(topic.topic, [{"key": b"key", "value": b"no frame", "partition": 0, "headers": [("h", b"x")]}])
        topic.upsert([(1, 4, "b", "good too")])

    def test_fail_stops_and_names_the_record(self, home, topic, registry):
        self.poisoned(topic)
        config = write_config(home, {"user-kv": pipeline(topic, registry, TABLE)})
        done = run_bounded(home, config, check=False)
        assert done.returncode == 1, done.stderr
        assert "offset 1" in done.stderr and "partition 0" in done.stderr
        assert table_rows(home) == [(1, 2, "a", "good")]  # what came before is committed

    def test_skip_counts_and_goes_on(self, home, topic, registry):
        self.poisoned(topic)
        config = write_config(home, {"user-kv": pipeline(topic, registry, TABLE, on_error={"decode": "skip"})})
        report = json.loads(run_bounded(home, config).stdout.splitlines()[-1])["pipelines"][0]
        assert report["poison"] == 1
        expect_equal(home, topic)

    def test_dead_letter_topic_gets_the_record(self, home, topic, registry):
        self.poisoned(topic)
        letters = topic.broker.create_topic()
        config = write_config(home, {"user-kv": pipeline(topic, registry, TABLE,
                                                         on_error={"decode": "dlq", "dlq-topic": letters})})
        report = json.loads(run_bounded(home, config).stdout.splitlines()[-1])["pipelines"][0]
        assert report["dead_letters"] == 1
        expect_equal(home, topic)
        found = topic.broker.read(letters)
        assert [(m.key(), m.value()) for m in found] == [(b"key", b"no frame")]

    def test_dead_letter_table_gets_the_record_once(self, home, topic, registry):
        self.poisoned(topic)
        config = write_config(home, {"user-kv": pipeline(topic, registry, TABLE, on_error={
            "decode": "dlq", "dlq-table": "quarantine.letters"})})
        report = json.loads(run_bounded(home, config).stdout.splitlines()[-1])["pipelines"][0]
        assert report["poison"] == 1 and report["dead_letters"] == 1
        expect_equal(home, topic)
        names = ["pipeline", "topic", "partition", "offset", "reason"]
        letters = Frazil(home).rows("quarantine.letters", names)
        assert PyIceberg(home).rows("quarantine.letters", names) == letters
        assert [letter[:4] for letter in letters] == [("user-kv", topic.topic, 0, 1)]
        assert letters[0][4].startswith("not framed for a schema registry")
        assert PyIceberg(home).rows("quarantine.letters", ["key", "value"]) == [(b"key".hex(), b"no frame".hex())]
        headers = home.sql("SELECT headers FROM quarantine.letters")[0]["headers"]
        assert "h" in json.dumps(headers), headers
        # The record is passed: the next run finds it no more, and adds nothing.
        topic.upsert([(1, 6, "c", "after")])
        again = json.loads(run_bounded(home, config).stdout.splitlines()[-1])["pipelines"][0]
        assert again["dead_letters"] == 0 and again["records"] == 1
        assert home.sql("SELECT count(*) AS n FROM quarantine.letters")[0]["n"] == 1

    def test_dead_letters_are_durable_before_the_commit_that_passes_them(self, home, topic, registry):
        """Killed at every file or commit it writes until one run gets through: the letter is there, rows are right."""
        self.poisoned(topic)
        config = write_config(home, {"user-kv": pipeline(topic, registry, TABLE, on_error={
            "decode": "dlq", "dlq-table": "quarantine.letters"})})
        for at in range(1, 200):
            done = home.run("run", "-c", config, "--bounded", check=False, timeout=180,
                            environment={"FRAZIL_KILL_AT_WRITE": str(at)})
            if done.returncode == 0:
                break
            assert done.returncode == -signal.SIGKILL, done.stderr
        assert done.returncode == 0
        expect_equal(home, topic)
        assert home.sql('SELECT count(*) AS n FROM quarantine.letters WHERE "offset" = 1')[0]["n"] >= 1

    @pytest.mark.parametrize("letters", ["skip", "dlq-topic", "dlq-table"])
    def test_too_many_a_minute_stop_the_pipeline(self, home, topic, registry, letters):
        topic.upsert([(1, 2, "a", "good")])
        topic.broker.produce(topic.topic, [{"key": b"key", "value": b"no frame %d" % i, "partition": 0} for i in range(9)])
        place = {"skip": {}, "dlq-topic": {"dlq-topic": topic.broker.create_topic()},
                 "dlq-table": {"dlq-table": "quarantine.letters"}}[letters]
        config = write_config(home, {"user-kv": pipeline(topic, registry, TABLE, on_error={
            "decode": "skip" if letters == "skip" else "dlq", "max-per-minute": 4, **place})})
        done = run_bounded(home, config, check=False)
        # Later where a minute ended meanwhile.
        first_left = int(re.search(r"partition 0 offset (\d+) of", done.stderr.split("error:")[-1]).group(1))
        assert done.returncode == 1 and first_left in (5, 6, 7, 8, 9), done.stderr
        report = json.loads(done.stdout.splitlines()[-1])["pipelines"][0]
        assert report["poison"] == first_left - 1 and report["dead_letters"] == (0 if letters == "skip" else first_left - 1)
        assert report["committed"]["0"] == first_left  # what was decided about is passed, the others come again
        assert table_rows(home) == [(1, 2, "a", "good")]

    def test_a_tombstone_without_a_whole_key_is_poison(self, home, topic, registry):
        topic.upsert([(1, 2, "a", "good")])
        partial = {"type": "record", "name": "Part", "fields": KEY_SCHEMA["fields"][:2]}
        part_id = registry.register(f"{topic.topic}-key-part", partial)
        topic.broker.produce(topic.topic, [{"key": framed(part_id, partial, {"insight_id": 1, "user_id": 2}), "value": None}])
        config = write_config(home, {"user-kv": pipeline(topic, registry, TABLE, on_error={"decode": "skip"})})
        report = json.loads(run_bounded(home, config).stdout.splitlines()[-1])["pipelines"][0]
        assert report["poison"] == 1
        expect_equal(home, topic)


def test_a_bounded_run_may_end_at_a_time(home, topic, registry):
    begun = int(time.time() * 1000) - 60_000
    for user in range(20):
        change = (1, user, "k", f"at {user}")
        topic.broker.produce(topic.topic, [{**topic.record(*change), "timestamp": begun + user * 1000}])
        if user < 10:
            topic.expect(*change)
    source = {"scan.bounded.mode": "timestamp", "scan.bounded.timestamp-millis": str(begun + 10_000)}
    config = write_config(home, {"user-kv": pipeline(topic, registry, TABLE, source=source)})
    report = json.loads(home.run("run", "-c", config, "-o", "json").stdout.splitlines()[-1])["pipelines"][0]
    assert report["committed"] == {"0": 5, "1": 5}
    expect_equal(home, topic)


def test_a_new_table_is_made_of_the_subject_that_is_named(home, topic, registry):
    wider = {**VALUE_SCHEMA, "fields": [*VALUE_SCHEMA["fields"], {"name": "extra", "type": ["null", "long"], "default": None}]}
    registry.register(f"{topic.topic}.Record", wider)
    topic.upsert([(1, 1, "k", "v")])
    source = {"value.avro-confluent.subject": f"{topic.topic}.Record"}
    config = write_config(home, {"user-kv": pipeline(topic, registry, TABLE, source=source)})
    run_bounded(home, config)
    assert "extra" in {row["col_name"] for row in home.sql(f"DESCRIBE {TABLE}")}
    expect_equal(home, topic)


def test_aborted_transactions_never_count(home, topic, registry):
    producer = topic.broker.producer(transactional_id=f"tx-{topic.topic}")
    producer.init_transactions(60)
    for number, outcome in enumerate(["commit", "abort", "commit", "abort"]):
        producer.begin_transaction()
        for user in (2, 4):
            change = (1, user, "k", f"{outcome} {number}")
            producer.produce(topic.topic, **topic.record(*change))
            if outcome == "commit":
                topic.expect(*change)
        producer.flush()
        getattr(producer, f"{outcome}_transaction")(60)
    config = write_config(home, {"user-kv": pipeline(topic, registry, TABLE)})
    report = json.loads(run_bounded(home, config).stdout.splitlines()[-1])["pipelines"][0]
    assert report["records"] == 4
    expect_equal(home, topic)


def test_compacted_topic(home, broker, registry):
    topic = UserKv(broker, registry, partitions=1, cleanup_policy="compact", segment_bytes=1048576, segment_ms=1000,
                   min_cleanable_dirty_ratio=0.01, max_compaction_lag_ms=1000)
    topic.upsert(changes(6, 4000, keys=20))
    config = write_config(home, {"user-kv": pipeline(topic, registry, TABLE)})

    def is_compacted():
        topic.upsert([(0, 0, "roll", "x")])  # rolls the active segment
        return len(broker.read(topic.topic)) < 2000
    wait_until(is_compacted, 120, "the topic to be compacted", pause=1)
    run_bounded(home, config)
    expect_equal(home, topic)


def test_topic_made_anew_is_refused(home, topic, registry, broker):
    topic.upsert(changes(7, 50))
    config = write_config(home, {"user-kv": pipeline(topic, registry, TABLE)})
    run_bounded(home, config)
    before = table_rows(home)
    broker.delete_topic(topic.topic)
    broker.create_topic(topic.topic, partitions=2)
    topic.upsert(changes(8, 100))
    done = run_bounded(home, config, check=False)
    assert done.returncode == 3, done.stderr
    assert "reset-offsets" in done.stderr
    assert table_rows(home) == before


def test_truncated_topic_is_refused(home, topic, registry, broker):
    topic.upsert(changes(9, 50))
    config = write_config(home, {"user-kv": pipeline(topic, registry, TABLE)})
    run_bounded(home, config)
    topic.upsert(changes(10, 200))
    broker.truncate(topic.topic, {p: end - 1 for p, end in topic.end().items()})
    done = run_bounded(home, config, check=False)
    assert done.returncode == 3, done.stderr
    assert "reset-offsets" in done.stderr


def reached_by(broker, mechanism: str) -> dict:
    """Source options of a listener with authentication, as Java spells them; and the password."""
    user, password = {"PLAIN": ("alice", "secret word")}.get(mechanism) or broker.scram_user
    module = "plain.PlainLoginModule" if mechanism == "PLAIN" else "scram.ScramLoginModule"
    return {"properties.bootstrap.servers": broker.sasl_bootstrap, "properties.security.protocol": "SASL_PLAINTEXT",
            "properties.sasl.mechanism": mechanism, "properties.sasl.jaas.config":
                f'org.apache.kafka.common.security.{module} required username="{user}" password="{password}";'}, password


@pytest.mark.parametrize("mechanism", ["PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"])
def test_sasl_as_java_spells_it(home, topic, registry, broker, mechanism):
    source, password = reached_by(broker, mechanism)
    topic.upsert(changes(11, 20))
    config = write_config(home, {"user-kv": pipeline(topic, registry, TABLE, source=source)})
    done = run_bounded(home, config)
    expect_equal(home, topic)
    assert password not in done.stderr + done.stdout
    assert password not in home.run("config", "show", "-c", config).stdout


def test_tls_with_a_private_authority(home, topic, registry, broker):
    topic.upsert(changes(15, 20))
    tls = {"properties.bootstrap.servers": broker.tls_bootstrap, "properties.security.protocol": "SSL"}
    trusting = {**tls, "properties.ssl.truststore.type": "PEM", "properties.ssl.truststore.location": str(broker.ca_file)}
    config = write_config(home, {"user-kv": pipeline(topic, registry, TABLE, source=trusting)})
    run_bounded(home, config)
    expect_equal(home, topic)


def test_a_user_who_may_read_and_nothing_else(home, topic, registry, broker):
    """Many are allowed to read a topic, but not to see its settings."""
    source, _ = reached_by(broker, "PLAIN")
    topic.upsert(changes(19, 20))
    config = write_config(home, {"user-kv": pipeline(topic, registry, TABLE, source=source)})
    broker.allow(topic.topic, "bob", AclOperation.READ)
    refused = run_bounded(home, config, check=False)
    assert refused.returncode == 3 and "uthorization" in refused.stderr, refused.stderr
    broker.allow(topic.topic, "alice", AclOperation.READ)
    done = run_bounded(home, config)
    assert "DescribeConfigs is not allowed" in done.stderr
    expect_equal(home, topic)


def wrong_password(broker, registry) -> dict:
    source, _ = reached_by(broker, "PLAIN")
    module = source["properties.sasl.jaas.config"].replace("secret word", "hunter2")
    return {**source, "properties.sasl.jaas.config": module}


def unknown_authority(broker, registry) -> dict:
    return {"properties.bootstrap.servers": broker.tls_bootstrap, "properties.security.protocol": "SSL"}


def no_registry(broker, registry) -> dict:
    return {"value.avro-confluent.url": "http://127.0.0.1:1"}


def no_topic(broker, registry) -> dict:
    return {"topic": "no-such-topic"}


def no_broker(broker, registry) -> dict:
    return {"properties.bootstrap.servers": "127.0.0.1:1"}


GIVEN_SCHEMA = {"schema": "app_id bigint, user_id bigint, key string, value string, updated_at timestamp"}


@pytest.mark.parametrize("source, code, said", [
    (wrong_password, 3, "uthentication failed"), (unknown_authority, 3, "certificate verify failed"),
    (no_registry, 3, "127.0.0.1:1"), (no_topic, 1, "topic not found"), (no_broker, 3, "onnection refused"),
], ids=lambda value: getattr(value, "__name__", ""))
def test_a_bounded_run_ends_with_what_does_not_answer(home, topic, registry, broker, source, code, said):
    config = write_config(home, {"user-kv": pipeline(topic, registry, TABLE, source=source(broker, registry), sink=GIVEN_SCHEMA)})
    done = run_bounded(home, config, check=False)
    assert done.returncode == code, done.stderr
    errors = [line for line in done.stderr.splitlines() if line.startswith("error")]
    assert len(errors) == 1 and said in errors[0], done.stderr
    assert "hunter2" not in done.stderr
    assert "not found" in home.run("sql", "-e", f"DESCRIBE {TABLE}", check=False).stderr  # nothing was made


@pytest.mark.parametrize("source, said", [(wrong_password, "uthentication failed"), (unknown_authority, "certificate verify failed")],
                         ids=lambda value: getattr(value, "__name__", ""))
def test_a_run_without_end_waits_with_the_reason(home, topic, registry, broker, source, said):
    config = write_config(home, {"user-kv": pipeline(topic, registry, TABLE, source=source(broker, registry))})
    with Running(home, config) as running:
        status = running.wait_for(lambda status: status["state"] == "waiting" and said in status["reason"], "the reason")
        assert "hunter2" not in status["reason"] + running.said()
        assert said in running.said()
        assert running.ask("/livez")[0] == 200
        code, text = running.ask("/readyz")
        assert code == 503 and "user-kv" in text
        assert running.stop()[0] == 143


class FakeSilentBroker:
    """A fake: it takes connections and answers nothing."""

    def __enter__(self):
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.bootstrap = "127.0.0.1:%d" % self._listener.getsockname()[1]
        return self

    def __exit__(self, *_):
        self._listener.close()


def test_a_bounded_run_ends_where_a_broker_is_silent(home, topic, registry):
    with FakeSilentBroker() as silent:
        config = write_config(home, {"user-kv": pipeline(topic, registry, TABLE, sink=GIVEN_SCHEMA, source={
            "properties.bootstrap.servers": silent.bootstrap})})
        done = run_bounded(home, config, check=False)
    assert done.returncode == 3 and silent.bootstrap in done.stderr, done.stderr


def bounds_are_known(topic) -> bool:
    try:
        return bool(topic.end())
    except KafkaException:
        return False


def test_a_broker_that_falls_silent_is_waited_for(home, topic, registry, broker):
    topic.upsert(changes(17, 200))
    config = write_config(home, {"user-kv": pipeline(topic, registry, TABLE)})
    with Running(home, config) as running:
        running.commit_all(topic)
        broker.freeze()
        try:
            running.wait_for(lambda status: status["state"] == "waiting" and topic.topic in status["reason"], "the reason")
        finally:
            broker.thaw()
        wait_until(lambda: bounds_are_known(topic), 60, "the broker to lead its partitions again")
        topic.upsert(changes(18, 200))
        running.commit_all(topic, timeout=120)
    expect_equal(home, topic)


@pytest.mark.parametrize("options, header", [
    ({"basic-auth.credentials-source": "USER_INFO", "basic-auth.user-info": "alice:se cret"},
     "Basic " + base64.b64encode(b"alice:se cret").decode()),
    ({"bearer-auth.credentials-source": "STATIC_TOKEN", "bearer-auth.token": "t0ken"}, "Bearer t0ken"),
], ids=["basic", "bearer"])
def test_a_registry_that_wants_to_know_who_asks(home, topic, registry, options, header):
    """The registry behind a fake guard: a reverse proxy that lets requests through by their credentials."""
    topic.upsert(changes(16, 20))
    with FakeGuard(registry, header) as guard:
        def config_with(**changed):
            secret = {**options, **changed}
            source = {f"value.avro-confluent.{key}": value for key, value in {"url": guard.url, **secret}.items()}
            return write_config(home, {"user-kv": pipeline(topic, registry, TABLE, source=source)})
        name = next(key for key in options if not key.endswith("source"))
        wrong = run_bounded(home, config_with(**{name: "who:knows"}), check=False)
        assert wrong.returncode == 3 and "401" in wrong.stderr and "knows" not in wrong.stderr, wrong.stderr
        run_bounded(home, config_with())
        assert guard.refused > 0
    expect_equal(home, topic)


@pytest.mark.parametrize("properties, named", [
    ({"properties.security.protocol": "SASL_SSL", "properties.sasl.mechanism": "AWS_MSK_IAM"}, "AWS_MSK_IAM"),
    ({"properties.security.protocol": "SASL_SSL", "properties.sasl.mechanism": "GSSAPI"}, "GSSAPI"),
    ({"properties.security.protocol": "SASL_PLAINTEXT", "properties.sasl.jaas.config":
        "com.sun.security.auth.module.Krb5LoginModule required useKeyTab=true;"}, "GSSAPI"),
])
def test_what_cannot_be_had_is_refused_by_name_with_a_way_out(home, topic, registry, properties, named):
    config = write_config(home, {"user-kv": pipeline(topic, registry, TABLE, source=properties)})
    for call in (["config", "validate", "-c", config], ["run", "-c", config, "--bounded"]):
        done = home.run(*call, check=False)
        assert done.returncode == 2 and named in done.stderr, done.stderr
        assert "SCRAM" in done.stderr, done.stderr  # what to use in its place


def test_two_pipelines_and_one_that_fails(home, broker, registry):
    good, bad = UserKv(broker, registry), UserKv(broker, registry)
    good.upsert(changes(12, 100))
    bad.broker.produce(bad.topic, [{"key": b"k", "value": b"poison"}])
    config = write_config(home, {"good": pipeline(good, registry, "apps.good"), "bad": pipeline(bad, registry, "apps.bad")})
    with Running(home, config) as running:
        running.wait_for(lambda status: status["state"] == "failed", "the failure", "bad")
        running.commit_all(good, "good")
        assert running.ask("/livez")[0] == 200
        status, text = running.ask("/readyz")
        assert status == 503 and text.startswith("bad: failed")
        assert running.ask("/healthz")[0] == 503
        code, report, said = running.stop()
    assert code == 1, said  # the failure tells, not the signal
    assert {p["id"]: p["state"] for p in report["pipelines"]} == {"good": "stopped", "bad": "failed"}
    assert "pipeline=bad failed:" in said
    expect_equal(home, good, "apps.good")


def test_http_endpoints(home, topic, registry):
    topic.upsert(changes(13, 100))
    config = write_config(home, {"user-kv": pipeline(topic, registry, TABLE)}, metrics={"detail": "partition"})
    with Running(home, config) as running:
        running.commit_all(topic)
        for path in ("/livez", "/healthz", "/readyz"):
            assert running.ask(path) == (200, "ok\n")
        status, text = running.ask("/metrics")
        values = {line.rsplit(" ", 1)[0]: float(line.rsplit(" ", 1)[1]) for line in text.splitlines() if not line.startswith("#")}
        source = f'{{pipeline="user-kv",topic="{topic.topic}"}}'
        table = f'{{catalog="{home.catalog}",namespace="apps",table="user_kv"}}'
        assert values[f"frazil_source_records_total{source}"] == 100
        assert values[f"frazil_commit_last_success_timestamp_seconds{table}"] > 1.7e9
        assert values[f'frazil_storage_requests_total{{op="write",status="success"}}'] > 0
        end = topic.end()
        for partition, last in end.items():
            assert values[f'frazil_source_offset{{pipeline="user-kv",topic="{topic.topic}",partition="{partition}"}}'] == last
        assert values["process_resident_memory_bytes"] > 1e6
        assert [p["id"] for p in json.loads(running.ask("/v1/pipelines")[1])["pipelines"]] == ["user-kv"]
        assert running.ask("/v1/pipelines/user-kv/pause", "POST", token="wrong")[0] == 401
        assert running.ask("/v1/pipelines/other/pause", "POST")[0] == 404
        assert running.ask("/nothing")[0] == 404
        # Paused, it leaves what comes where it is.
        assert running.ask("/v1/pipelines/user-kv/pause", "POST")[0] == 202
        running.wait_for(lambda status: status["state"] == "paused", "the pause")
        records = running.pipeline()["records"]
        topic.upsert(changes(14, 50))
        assert running.pipeline()["records"] == records
        assert running.ask("/v1/pipelines/user-kv/resume", "POST")[0] == 202
        running.commit_all(topic)
        assert running.stop(signal.SIGINT)[0] == 130
    expect_equal(home, topic)


def test_metrics_are_those_that_the_reference_lists(home, topic, registry):
    TestPoison().poisoned(topic)
    topic.upsert([(1, 2, "a", "again"), (1, 4, "b", None)])
    config = write_config(home, {"user-kv": pipeline(topic, registry, TABLE, on_error={"decode": "skip"})},
                          metrics={"detail": "partition"})
    with Running(home, config) as running:
        running.commit_all(topic)
        text = running.ask("/metrics")[1]
    exported = set(re.findall(r"^# TYPE (\w+) ", text, re.M))
    reference = (ROOT / "docs/reference/metrics.md").read_text().split("## What to alert on")[0]
    listed = set(re.findall(r"`(frazil_\w+)", reference))
    assert {name for name in exported if name.startswith("frazil_")} == listed
    assert {name for name in exported if not name.startswith("frazil_")} and "`process_*`" in reference
    # The labels that the reference names are those that are there.
    for name, labels in re.findall(r"`(frazil_\w+)\{([\w,]+)\}`", reference):
        samples = re.findall(rf"^{name}(?:_count)?\{{(.*)\}} ", text, re.M)
        assert samples, name
        for label in labels.split(","):
            assert all(f'{label}="' in sample for sample in samples), (name, label)


def test_json_logs_have_the_pipeline_as_a_member(home, topic, registry):
    topic.upsert([(1, 1, 'q"uote', "x")])
    config = write_config(home, {"user-kv": pipeline(topic, registry, TABLE)})
    done = run_bounded(home, config, "--log-format", "json")
    lines = [json.loads(line) for line in done.stderr.splitlines() if line.startswith("{")]
    of_pipeline = [line for line in lines if line.get("pipeline") == "user-kv"]
    assert any(line["message"].startswith("starts: topic ") for line in of_pipeline), done.stderr
    assert all({"time", "level", "message"} <= set(line) for line in lines)
    assert not any("pipeline=" in line["message"] for line in lines)


def test_the_example_runs_as_it_stands(home, broker, registry):
    topic = UserKv(broker, registry, name="user_kv")
    topic.upsert(changes(15, 200))
    from home import ROOT, local_path
    environment = {"KAFKA_BOOTSTRAP": broker.bootstrap, "SCHEMA_REGISTRY_URL": registry.url}
    example = ROOT / "examples" / "user_kv.yaml"
    home.run("config", "validate", "-c", example, environment=environment)
    home.run("run", "-c", example, "--bounded", "-X", "http.listen=", environment=environment)
    expect_equal(home, topic, readers=(Frazil, PyIceberg, DuckDB))
    partitioned = [field["transform"] for field in home.metadata(TABLE)["partition-specs"][0]["fields"]]
    assert partitioned == ["bucket[32]", "bucket[8]"]
    assert home.metadata(TABLE)["properties"]["history.expire.max-snapshot-age-ms"] == "86400000"


def test_what_is_wrong_is_said_before_anything_is_touched(home, topic, registry):
    config = write_config(home, {"user-kv": pipeline(topic, registry, TABLE, sink={"identifer-fields": ["a"]})})
    done = home.run("run", "-c", config, check=False)
    assert done.returncode == 2
    assert "did you mean pipelines.user-kv.sink.identifier-fields?" in done.stderr
    config = write_config(home, {"user-kv": pipeline(topic, registry, TABLE, source={
        "properties.ssl.truststore.location": "/etc/kafka/trust.jks"})})
    done = home.run("run", "-c", config, check=False)
    assert done.returncode == 2
    assert "ssl.truststore.location" in done.stderr and "keytool" in done.stderr
    config = write_config(home, {"user-kv": pipeline(topic, registry, TABLE, source={"scan.startup.mode": "group-offsets"})})
    done = run_bounded(home, config, check=False)
    assert done.returncode == 1
    assert "earliest-offset" in done.stderr  # names the choices
