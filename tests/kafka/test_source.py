"""The Kafka source against a real broker: what it reads, where it stands, and what it does when the topic or broker changes."""

import time

import pytest

from kafka_source import Source, SourceError


def texts(records):
    return [(r["partition"], r["offset"], r["key"], r["value"]) for r in records]


def read_all(broker, topic, start=None, **properties):
    """(records, positions) of the topic as it is now."""
    with Source(broker, topic, **properties) as source:
        bounds = source.bounds()
        source.assign(start or {p: first for p, (first, _) in bounds.items()})
        return source.read_until({p: end for p, (_, end) in bounds.items()}), source.positions()


# ---- records

def test_records_come_in_order_with_keys_values_timestamps_and_headers(broker):
    topic = broker.create_topic(partitions=2)
    broker.produce(topic, [{"key": b"a", "value": b"1", "timestamp": 1700000000123,
                            "headers": [("h", b"x"), ("none", None), ("h", b"")]},
                           (b"b", None), (b"", b""), (None, b"no key"),
                           {"key": b"c", "value": b"3", "partition": 1}])
    with Source(broker, topic, headers=True) as source:
        source.assign({0: 0, 1: 0})
        records = sorted(source.read_until({0: 4, 1: 1}), key=lambda r: (r["partition"], r["offset"]))
    assert texts(records) == [(0, 0, "a", "1"), (0, 1, "b", None), (0, 2, "", ""), (0, 3, None, "no key"), (1, 0, "c", "3")]
    assert records[0]["timestamp"] == 1700000000123
    assert records[0]["headers"] == [["h", "x"], ["none", None], ["h", ""]]
    assert records[1]["headers"] == []


def test_headers_are_left_out_unless_asked_for(broker):
    topic = broker.create_topic()
    broker.produce(topic, [{"key": b"a", "value": b"1", "headers": [("h", b"x")]}])
    records, _ = read_all(broker, topic)
    assert records[0]["headers"] == []


def test_a_poll_gives_no_more_than_asked_for_and_loses_nothing(broker):
    topic = broker.create_topic()
    broker.produce(topic, [(b"k", b"%d" % i) for i in range(1000)])
    with Source(broker, topic) as source:
        source.assign({0: 0})
        read = []
        while len(read) < 1000:
            records = source.poll(maximum=7)
            assert len(records) <= 7
            read += records
            assert source.positions() == {0: len(read)}
    assert [r["offset"] for r in read] == list(range(1000))


def test_reading_begins_where_it_is_told(broker):
    topic = broker.create_topic(partitions=2)
    broker.produce(topic, [(b"k", b"%d" % i) for i in range(10)])
    broker.produce(topic, [(b"k", b"%d" % i) for i in range(10)], partition=1)
    with Source(broker, topic) as source:
        source.assign({0: 7, 1: 10})
        assert texts(source.read_until({0: 10, 1: 10})) == [(0, i, "k", str(i)) for i in (7, 8, 9)]
        source.assign({1: 8})  # again, elsewhere: nothing of the partition that is no longer assigned
        assert [r["offset"] for r in source.read_until({1: 10})] == [8, 9]
        assert source.positions() == {1: 10}


def test_pause_stops_and_resume_goes_on_without_a_gap(broker):
    topic = broker.create_topic()
    broker.produce(topic, [(b"k", b"%d" % i) for i in range(100)])
    with Source(broker, topic) as source:
        source.assign({0: 0})
        first = source.poll(maximum=10)
        source.ask("pause")
        while source.poll(timeout_ms=200):
            first += []  # what was on its way before the pause may come
        source.ask("resume")
        at = source.positions()[0]
        rest = source.read_until({0: 100})
        assert [r["offset"] for r in rest] == list(range(at, 100))


# ---- transactions, gaps, compaction

def test_aborted_and_open_transactions_are_not_seen_and_positions_pass_over_gaps(broker):
    topic = broker.create_topic()
    producer = broker.producer(transactional_id=f"tx-{topic}")
    producer.init_transactions(60)

    def transaction(values, end):
        producer.begin_transaction()
        for value in values:
            producer.produce(topic, key=b"k", value=value)
        producer.flush()
        if end:
            end(30)

    transaction([b"one", b"two"], producer.commit_transaction)       # 0, 1, marker 2
    transaction([b"lost"] * 5, producer.abort_transaction)           # 3..7, marker 8
    transaction([b"three"], producer.commit_transaction)             # 9, marker 10
    transaction([b"gone"], producer.abort_transaction)               # 11, marker 12: the end is a gap
    with Source(broker, topic) as source:
        assert source.bounds() == {0: (0, 13)}
        source.assign({0: 0})
        assert [r["value"] for r in source.read_until({0: 13})] == ["one", "two", "three"]
        assert source.positions() == {0: 13}

        transaction([b"open"], None)                                 # 13, undecided
        assert source.bounds() == {0: (0, 13)}
        assert source.poll() == [] and source.positions() == {0: 13}
        producer.commit_transaction(30)
        assert [r["value"] for r in source.read_until({0: 15})] == ["open"]
    with Source(broker, topic) as source:  # from inside a gap
        source.assign({0: 5})
        assert [r["offset"] for r in source.read_until({0: 15})] == [9, 13]


def test_compaction_leaves_gaps_and_its_settings_are_known(broker):
    topic = broker.create_topic(cleanup_policy="compact", segment_ms=1000, segment_bytes=1 << 20, delete_retention_ms=7200000,
                                min_cleanable_dirty_ratio=0.01, max_compaction_lag_ms=500)
    deadline = time.monotonic() + 60
    produced = 0
    while True:
        broker.produce(topic, [(b"k%d" % (i % 5), b"v%d" % i) for i in range(50)])
        produced += 50
        kept = len(broker.read(topic))
        if kept < produced - 40:
            break
        assert time.monotonic() < deadline, "the broker did not compact"
    records, positions = read_all(broker, topic)
    assert positions == {0: produced}
    assert [r["offset"] for r in records][-1] == produced - 1
    assert len(records) < produced
    with Source(broker, topic) as source:
        assert source.retention() == 7200000
    with Source(broker, broker.create_topic()) as source:
        assert source.retention() is None


# ---- where a new pipeline begins

def test_startup_modes_give_a_number_for_every_partition(broker):
    topic = broker.create_topic(partitions=2)
    broker.produce(topic, [{"key": b"k", "value": b"v", "timestamp": 1_000_000 + i} for i in range(10)])
    broker.truncate(topic, {0: 3})
    with Source(broker, topic, group_id=f"g-{topic}") as source:
        assert source.resolve("earliest") == {0: 3, 1: 0}
        assert source.resolve("latest") == {0: 10, 1: 0}
        assert source.resolve("timestamp 1000005") == {0: 5, 1: 0}
        assert source.resolve("timestamp 9000000") == {0: 10, 1: 0}
        assert source.resolve("specific 0:4 1:0") == {0: 4, 1: 0}
        for wrong, words in (("specific 0:2 1:0", "outside the log"), ("specific 0:11 1:0", "outside the log"),
                             ("specific 0:4", "partition 1"), ("specific 0:4 1:0 7:0", "does not have")):
            with pytest.raises(SourceError, match=words) as raised:
                source.resolve(wrong)
            assert raised.value.code == "InvalidArgument"


def test_group_offsets_that_do_not_exist_are_an_error_that_names_the_choices(broker):
    topic = broker.create_topic(partitions=2)
    broker.produce(topic, [(b"k", b"v")] * 5)
    with Source(broker, topic, group_id=f"g-{topic}") as source:
        with pytest.raises(SourceError) as raised:
            source.resolve("group")
        assert raised.value.code == "InvalidArgument"
        for word in ("partition 0, 1", "earliest-offset", "latest-offset", "timestamp"):
            assert word in raised.value.message
        assert source.resolve("group-else-earliest") == {0: 0, 1: 0}
        source.store({0: 4, 1: 0})
        assert source.resolve("group") == {0: 4, 1: 0}
    assert broker.committed(f"g-{topic}", topic) == {0: 4, 1: 0}
    with Source(broker, topic) as source:  # no group
        with pytest.raises(SourceError, match="group.id is not set"):
            source.resolve("group")


def test_a_topic_that_does_not_exist_is_not_found(broker):
    with Source(broker, "no-such-topic") as source:
        with pytest.raises(SourceError) as raised:
            source.identity()
        assert raised.value.code == "NotFound" and "no-such-topic" in raised.value.message


# ---- the topic changes under a running source

def test_identity_names_cluster_and_topic_and_stays(broker):
    topic = broker.create_topic()
    with Source(broker, topic) as source:
        identity = source.identity()
        assert identity["kind"] == "kafka" and identity["topic"] == topic
        assert len(identity["topic-id"]) == 22 and len(identity["cluster-id"]) == 22
        broker.restart()
        assert source.identity() == identity
        source.ask("check")


def test_a_recreated_topic_is_refused_even_when_it_is_longer_than_before(broker):
    topic = broker.create_topic()
    broker.produce(topic, [(b"k", b"old")] * 5)
    with Source(broker, topic) as source:
        source.assign({0: 0})
        source.read_until({0: 5})
        broker.delete_topic(topic)
        broker.create_topic(topic)
        broker.produce(topic, [(b"k", b"new")] * 50)
        with pytest.raises(SourceError, match="made anew") as raised:
            source.ask("check")
        assert raised.value.code == "Fenced" and "reset-offsets" in raised.value.message
        assert "made anew" in source.error_until("Fenced").message
        with pytest.raises(SourceError, match="made anew"):
            source.assign({0: 5})


def test_a_deleted_topic_is_waited_for_and_refused_once_it_is_made_anew(broker):
    topic = broker.create_topic()
    broker.produce(topic, [(b"k", b"old")] * 5)
    with Source(broker, topic) as source:
        source.assign({0: 0})
        source.read_until({0: 5})
        broker.delete_topic(topic)
        assert topic in source.error_until("Unavailable").message
        broker.create_topic(topic)
        assert "made anew" in source.error_until("Fenced").message


def test_a_position_above_which_the_log_was_cut_is_refused_at_the_start(broker):
    topic = broker.create_topic(partitions=2)
    broker.produce(topic, [(b"k", b"v")] * 20)
    broker.truncate(topic, {0: 10})
    with Source(broker, topic) as source:
        for position in (9, 21):
            with pytest.raises(SourceError) as raised:
                source.assign({0: position, 1: 0})
            assert raised.value.code == "Fenced"
            assert f"partition 0 stands at {position}, but the topic holds records 10 to 20" in raised.value.message
        with pytest.raises(SourceError, match="no partition 5"):
            source.assign({5: 0})
        source.assign({0: 10, 1: 0})
        assert len(source.read_until({0: 20})) == 10


def test_a_log_cut_above_the_position_while_reading_ends_with_the_evidence(broker):
    topic = broker.create_topic()
    broker.produce(topic, [(b"k", b"v")] * 5)
    with Source(broker, topic) as source:
        source.assign({0: 0})
        source.read_until({0: 5})
        broker.freeze()  # nothing is fetched while the log grows and is cut: it all happens after the thaw
        broker.thaw()
        source.ask("pause")
        broker.produce(topic, [(b"k", b"v")] * 20)
        broker.truncate(topic, {0: 15})
        source.ask("resume")
        error = source.error_until("Fenced")
        assert "partition 0 stands at 5, but the topic holds records 15 to 25" in error.message


def test_a_leader_epoch_that_ended_before_the_position_says_that_the_log_was_cut(broker):
    topic = broker.create_topic()
    broker.produce(topic, [(b"k", b"v")] * 5)
    broker.restart()  # another leader epoch
    broker.produce(topic, [(b"k", b"v")] * 5)
    with Source(broker, topic) as source:
        source.assign({0: 0})
        epochs = [r["epoch"] for r in source.read_until({0: 10})]
        assert epochs[0] == epochs[4] < epochs[5] == epochs[9]
        source.assign({0: (8, epochs[9])})
        assert [r["offset"] for r in source.read_until({0: 10})] == [8, 9]
        # As after an unclean election: read up to 8 under a leader whose log went on only to 5.
        source.assign({0: (8, epochs[0])})
        error = source.error_until("Fenced")
        assert "partition 0 stands at 8" in error.message


def test_partitions_that_are_added_show_in_the_bounds(broker):
    topic = broker.create_topic(partitions=1)
    broker.produce(topic, [(b"k", b"v")])
    with Source(broker, topic) as source:
        source.assign({0: 0})
        source.read_until({0: 1})
        broker.add_partitions(topic, 3)
        broker.produce(topic, [(b"k", b"new")], partition=2)
        assert source.bounds() == {0: (0, 1), 1: (0, 0), 2: (0, 1)}
        source.assign({0: 1, 1: 0, 2: 0})
        assert texts(source.read_until({0: 1, 1: 0, 2: 1})) == [(2, 0, "k", "new")]


# ---- the broker goes away

def test_a_broker_that_dies_is_reported_and_reading_goes_on_when_it_is_back(broker):
    topic = broker.create_topic()
    broker.produce(topic, [(b"k", b"%d" % i) for i in range(10)])
    with Source(broker, topic) as source:
        source.assign({0: 0})
        source.read_until({0: 10})
        broker.kill()
        error = source.error_until("Unavailable")
        assert broker.bootstrap in error.message
        with pytest.raises(SourceError) as raised:
            source.bounds()
        assert raised.value.code == "Unavailable"
        broker.start()
        broker.produce(topic, [(b"k", b"%d" % i) for i in range(10, 20)])
        read, deadline = [], time.monotonic() + 60
        while len(read) < 10:
            try:
                read += source.poll()
            except SourceError as late:
                assert late.code == "Unavailable"
            assert time.monotonic() < deadline
        assert [r["offset"] for r in read] == list(range(10, 20))


def test_no_broker_at_all_is_unavailable_with_the_reason(broker):
    class Nowhere:
        bootstrap = "127.0.0.1:1"

    with Source(Nowhere, "t") as source:
        with pytest.raises(SourceError) as raised:
            source.identity()
        assert raised.value.code == "Unavailable" and "127.0.0.1:1" in raised.value.message


# ---- dead letters

def test_dead_letters_keep_the_record_and_say_where_it_came_from_and_why(broker):
    topic, letters = broker.create_topic(), broker.create_topic()
    broker.produce(topic, [{"key": b"a", "value": b"\x00bad", "timestamp": 1700000000123, "headers": [("h", b"x"), ("n", None)]},
                           (None, None), (b"", b"")])
    with Source(broker, topic, headers=True) as source:
        source.assign({0: 0})
        source.ask(f"reject {letters} 3 not Avro: 4 bytes")
    found = broker.read(letters)
    assert [(m.key(), m.value()) for m in found] == [(b"a", b"\x00bad"), (None, None), (b"", b"")]
    assert found[0].timestamp()[1] == 1700000000123
    assert found[0].headers() == [("h", b"x"), ("n", None), ("frazil.reason", b"not Avro: 4 bytes"),
                                  ("frazil.topic", topic.encode()), ("frazil.partition", b"0"), ("frazil.offset", b"0")]
    assert found[2].headers()[-1] == ("frazil.offset", b"2")


def test_a_dead_letter_topic_that_does_not_exist_is_not_found(broker):
    topic = broker.create_topic()
    with Source(broker, topic) as source:
        source.assign({0: 0})
        with pytest.raises(SourceError, match="no-such-letters") as raised:
            source.ask("reject no-such-letters 1 why")
        assert raised.value.code == "NotFound"


# ---- properties

def test_javas_properties_reach_the_broker(broker):
    topic = broker.create_topic()
    broker.produce(topic, [(b"k", b"v")])
    records, _ = read_all(broker, topic, max_poll_records="100", key_deserializer="org.x.Y", fetch_max_wait_ms="100",
                          request_timeout_ms="20000", receive_buffer_bytes="-1")
    assert len(records) == 1
    with Source(broker, topic, max_poll_records="100") as source:
        assert any("max.poll.records has no effect" in notice for notice in source.notices)


def test_unknown_properties_are_refused_by_name_and_secrets_never_said(broker):
    with pytest.raises(SourceError, match="no.such.thing") as raised:
        Source(broker, "t", no_such_thing="hunter2")
    assert raised.value.code == "InvalidArgument"
    with pytest.raises(SourceError) as raised:
        Source(broker, "t", **{"sasl.jaas.config": 'x.PlainLoginModule required username="a" password="hunter2'})
    assert "hunter2" not in raised.value.message and "sasl.jaas.config" in raised.value.message


def test_plain_authentication_by_a_jaas_string(broker):
    topic = broker.create_topic()
    broker.produce(topic, [(b"k", b"v")])
    jaas = 'org.apache.kafka.common.security.plain.PlainLoginModule required username="alice" password="{}";'

    class Sasl:
        bootstrap = broker.sasl_bootstrap

    with Source(Sasl, topic, **{"security.protocol": "SASL_PLAINTEXT", "sasl.mechanism": "PLAIN",
                                "sasl.jaas.config": jaas.format("secret word")}) as source:
        source.assign({0: 0})
        assert len(source.read_until({0: 1})) == 1
    with Source(Sasl, topic, **{"security.protocol": "SASL_PLAINTEXT", "sasl.mechanism": "PLAIN",
                                "sasl.jaas.config": jaas.format("hunter2")}) as source:
        with pytest.raises(SourceError, match="(?i)authentication") as raised:
            source.identity()
        assert raised.value.code == "Unavailable" and "hunter2" not in raised.value.message
