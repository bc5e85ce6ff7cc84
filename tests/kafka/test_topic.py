"""`frazil topic` and `frazil bench gen` as a user runs them, against a real broker and a real schema registry."""

import json
import time

import pytest

from kafka_source import Source
from registry import Registry, framed, unframed
from running import UserKv, pipeline, write_config

ROW = {"type": "record", "name": "Row", "fields": [
    {"name": "id", "type": "long"}, {"name": "name", "type": ["null", "string"]},
    {"name": "tags", "type": {"type": "array", "items": "string"}},
    {"name": "raw", "type": "bytes"}, {"name": "kind", "type": {"type": "enum", "name": "Kind", "symbols": ["A", "B"]}}]}


@pytest.fixture
def topic_command(home, broker):
    def run(*arguments, check=True):
        done = home.run("topic", *arguments, "--bootstrap-servers", broker.bootstrap, "-o", "jsonl", check=check)
        return [json.loads(line) for line in done.stdout.splitlines()] if check else done
    return run


def test_list_names_topics_with_their_settings(topic_command, broker):
    topic = broker.create_topic(partitions=3, cleanup_policy="compact")
    broker.produce(topic, [(b"k", b"v")] * 4, partition=2)
    found = [row for row in topic_command("list") if row["topic"] == topic]
    assert len(found) == 1 and len(found[0].pop("topic_id")) == 22
    assert found == [{"topic": topic, "partitions": 3, "offsets": 4, "cleanup_policy": "compact"}]


def test_lag_is_by_partition_and_of_what_the_log_still_holds(topic_command, broker):
    topic = broker.create_topic(partitions=3)
    for partition in (0, 1):
        broker.produce(topic, [(b"k", b"v")] * 10, partition=partition)
    with Source(broker, topic, group_id=f"g-{topic}") as source:
        source.store({0: 4, 1: 2})
    broker.truncate(topic, {1: 5})
    assert topic_command("lag", topic, "--group", f"g-{topic}") == [
        {"partition": 0, "log_start": 0, "log_end": 10, "committed": 4, "lag": 6},
        {"partition": 1, "log_start": 5, "log_end": 10, "committed": 2, "lag": 5},
        {"partition": 2, "log_start": 0, "log_end": 0, "committed": None, "lag": None}]


def test_peek_shows_text_bytes_tombstones_headers_and_times(topic_command, broker):
    topic = broker.create_topic()
    broker.produce(topic, [{"key": b"a", "value": b"text", "timestamp": 1700000000123, "headers": [("h", b"x"), ("n", None)]},
                           (b"b", None), (b"\xff\x00", b"\x01\x02"), (None, "Grüße".encode())])
    rows = topic_command("peek", topic)
    assert rows[0] == {"partition": 0, "offset": 0, "timestamp": "2023-11-14 22:13:20.123", "key": "a", "value": "text",
                       "headers": '{"h": "x", "n": null}', "key_schema": None, "value_schema": None}
    assert [(r["key"], r["value"]) for r in rows[1:]] == [("b", None), ("0xff00", "0x0102"), (None, "Grüße")]


def test_peek_decodes_framed_avro_by_the_registry(home, topic_command, broker, registry):
    topic = broker.create_topic()
    schema = registry.register(f"{topic}-value", ROW)
    value = {"id": 7, "name": None, "tags": ["x", "y"], "raw": b"\x01\xff", "kind": "B"}
    broker.produce(topic, [(b"k", framed(schema, ROW, value)), (b"k", framed(2000000000, ROW, value)),
                           (b"k", framed(schema, ROW, value)[:-1])])
    rows = topic_command("peek", topic, "--registry", registry.url)
    assert json.loads(rows[0]["value"]) == {**value, "raw": "01ff"}
    assert rows[0]["value_schema"] == schema
    assert rows[1]["value"].startswith("0x00") and rows[1]["value_schema"] == 2000000000  # an id that nobody registered
    assert rows[2]["value"].startswith("0x00")                                              # cut off
    assert topic_command("peek", topic)[0]["value"].startswith("0x00")                      # no registry
    # The second of two servers answers; the path of the address is kept.
    rows = topic_command("peek", topic, "--registry", f"http://127.0.0.1:1/x,{registry.url}/")
    assert json.loads(rows[0]["value"])["id"] == 7
    done = topic_command("peek", topic, "--registry", "http://bob:hunter2@127.0.0.1:1", check=False)
    assert done.returncode == 3 and "127.0.0.1:1" in done.stderr and "hunter2" not in done.stderr


def test_a_registry_that_wants_a_password_gets_it_from_the_url(topic_command, broker, tmp_path):
    guarded = Registry(tmp_path, credentials=("alice", "se-cret"))
    try:
        guarded.start()
        topic = broker.create_topic()
        schema = guarded.register(f"{topic}-value", ROW)
        broker.produce(topic, [(b"k", framed(schema, ROW, {"id": 1, "name": "x", "tags": [], "raw": b"", "kind": "A"}))])
        url = guarded.url.replace("http://", "http://alice:{}@")
        assert json.loads(topic_command("peek", topic, "--registry", url.format("se-cret"))[0]["value"])["name"] == "x"
        done = topic_command("peek", topic, "--registry", url.format("hunter2"), check=False)
        assert done.returncode == 3 and "401" in done.stderr and "hunter2" not in done.stderr
    finally:
        guarded.kill()


def test_peek_takes_ranges_of_offsets(topic_command, broker):
    topic = broker.create_topic(partitions=2)
    broker.produce(topic, [{"key": b"k", "value": b"%d" % i, "timestamp": 1700000000000 + 1000 * i} for i in range(20)])
    broker.produce(topic, [(b"k", b"other")], partition=1)

    def offsets(*arguments):
        return [row["offset"] for row in topic_command("peek", topic, "-p", "0", *arguments)]

    assert offsets() == list(range(10, 20))
    assert offsets("--offsets", "start") == list(range(20))
    assert offsets("--offsets", ":end") == list(range(20))
    assert offsets("--offsets", "end") == []
    assert offsets("--offsets=-3") == [17, 18, 19]
    assert offsets("--offsets", "+17") == [17, 18, 19]
    assert offsets("--offsets", "3:5") == [3, 4]
    assert offsets("--offsets", "@1700000017:end") == [17, 18, 19]
    assert offsets("--offsets", "@2023-11-14 22:13:25:@1700000007") == [5, 6]
    assert offsets("--offsets", "start", "-n", "2") == [0, 1]
    assert len(topic_command("peek", topic, "--offsets", "start")) == 21
    assert topic_command("peek", topic, "--offsets", "soon", check=False).returncode == 2


def test_what_is_not_there_is_said(home, topic_command, broker, tmp_path):
    done = topic_command("peek", "no-such-topic", check=False)
    assert done.returncode == 1 and "topic not found" in done.stderr and "no-such-topic" in done.stderr
    done = home.run("topic", "list", check=False)
    assert done.returncode == 2 and "--bootstrap-servers" in done.stderr
    config = tmp_path / "client.properties"
    config.write_text(f"# Java's\nbootstrap.servers = {broker.sasl_bootstrap}\nsecurity.protocol=SASL_PLAINTEXT\n"
                      "sasl.mechanism=PLAIN\nsasl.jaas.config=x.PlainLoginModule required username=\"alice\" "
                      "password=\"secret word\";\n")
    home.run("topic", "list", "--command-config", config)
    done = home.run("topic", "list", "-P", "bootstrap.servers=x:1", "-P", "sasl.password=hunter2", "-P", "no.such=hunter2",
                    check=False)
    assert done.returncode == 1 and "no.such" in done.stderr and "hunter2" not in done.stderr


def test_servers_security_registry_and_group_come_from_a_pipeline(home, broker, registry):
    topic = UserKv(broker, registry)
    topic.upsert([(1, 1, "k", "v"), (2, 2, "k", None)])
    other = UserKv(broker, registry)
    secure = {"properties.bootstrap.servers": broker.sasl_bootstrap, "properties.security.protocol": "SASL_PLAINTEXT",
              "properties.sasl.mechanism": "PLAIN", "properties.sasl.jaas.config":
              'org.apache.kafka.common.security.plain.PlainLoginModule required username="alice" password="secret word";'}
    config = write_config(home, {"user-kv": pipeline(topic, registry, "apps.user_kv", source=secure)})

    def look(*arguments):
        return [json.loads(line) for line in home.run("topic", *arguments, "-c", config, "-o", "jsonl").stdout.splitlines()]

    assert {row["partition"]: row["committed"] for row in look("lag", topic.topic)} == {0: None, 1: None}
    home.run("run", "-c", config, "--bounded", timeout=180)
    assert [(row["partition"], row["log_end"], row["lag"]) for row in look("lag", topic.topic)] == [(0, 1, 0), (1, 1, 0)]
    assert [row["lag"] for row in look("lag", topic.topic, "--group", "nobody")] == [None, None]
    assert topic.topic in {row["topic"] for row in look("list")}
    # A topic that no pipeline reads, in the cluster of one that is named.
    assert [row["log_end"] for row in look("lag", other.topic, "--pipeline", "user-kv")] == [0, 0]
    shown = [row for row in look("peek", topic.topic, "--offsets", "start") if row["value"] is not None]
    assert json.loads(shown[0]["value"])["value"] == "v"  # decoded: the registry is the pipeline's
    # Options go over it.
    wrong = home.run("topic", "lag", topic.topic, "-c", config, "-P", 'sasl.jaas.config=x.PlainLoginModule required '
                     'username="alice" password="hunter2";', check=False)
    assert wrong.returncode == 3 and "uthentication failed" in wrong.stderr and "hunter2" not in wrong.stderr
    # Servers of the options are another cluster, perhaps: nothing of the pipeline's goes there.
    home.run("topic", "lag", topic.topic, "-c", config, "--bootstrap-servers", broker.bootstrap)


def test_which_pipeline_is_meant_has_to_be_clear(home, broker, registry):
    topic, other = UserKv(broker, registry), UserKv(broker, registry)
    config = write_config(home, {
        "a": pipeline(topic, registry, "apps.a"), "b": pipeline(topic, registry, "apps.b", source={"properties.group.id": "b"}),
        "c": pipeline(other, registry, "apps.c", source={"properties.bootstrap.servers": "127.0.0.1:1"})})

    def run(*arguments):
        return home.run("topic", *arguments, "-c", config, "-o", "jsonl", check=False)

    both = run("lag", topic.topic)  # one cluster, two groups
    assert both.returncode == 0 and "--pipeline or --group" in both.stderr
    assert [json.loads(line)["lag"] for line in both.stdout.splitlines()] == [None, None]
    several = run("list")
    assert several.returncode == 2 and "a, b, c" in several.stderr and "--pipeline" in several.stderr
    assert run("list", "--pipeline", "a").returncode == 0
    nobody = run("list", "--pipeline", "d")
    assert nobody.returncode == 2 and "'d'" in nobody.stderr and "a, b, c" in nobody.stderr
    unread = run("lag", "no-such-topic")
    assert unread.returncode == 2 and "--bootstrap-servers" in unread.stderr and "no-such-topic" in unread.stderr


# ---- bench gen

def state_of(records, schemas):
    """What (key, value) records of the generator come to; poison is counted."""
    rows, poison = {}, 0
    for key, value in records:
        _, key = unframed(key, schemas["key"])
        identity = (key["insight_id"], key["user_id"], key["key"])
        if value is None:
            rows.pop(identity, None)
            continue
        try:
            schema_id = int.from_bytes(value[1:5], "big")
            _, row = unframed(value, schemas[schema_id])
            assert (row["insight_id"], row["user_id"], row["key"]) == identity
            rows[identity] = {"value": row["value"], **({"revision": row["revision"]} if "revision" in row else {})}
        except (KeyError, EOFError, IndexError, AssertionError):
            poison += 1
    return rows, poison


def test_generated_records_come_to_the_state_that_is_written_beside_them(home, broker, registry, tmp_path):
    topic = broker.create_topic(partitions=3)
    options = ["-n", "5000", "--keys", "500", "--duplicates", "0.02", "--poison", "0.01", "--evolve-at", "3000", "--seed", "7"]
    home.run("bench", "gen", "--topic", topic, "--bootstrap-servers", broker.bootstrap, "--registry", registry.url, *options,
             "--state", tmp_path / "state.jsonl")
    messages = broker.read(topic)
    assert len(messages) == 5000 and {m.partition() for m in messages} == {0, 1, 2}
    assert max(m.timestamp()[1] for m in messages) <= time.time() * 1000  # brokers refuse what is far ahead
    schemas = {"key": json.loads(registry.request(f"/subjects/{topic}-key/versions/latest")["schema"])}
    for version in (1, 2):
        found = registry.request(f"/subjects/{topic}-value/versions/{version}")
        schemas[found["id"]] = json.loads(found["schema"])
    rows, poison = state_of([(m.key(), m.value()) for m in messages], schemas)
    assert 20 < poison < 90
    expected = {}
    for line in (tmp_path / "state.jsonl").read_text().splitlines():
        row = json.loads(line)
        expected[row.pop("app_id"), row.pop("user_id"), row.pop("key")] = row
    assert {k: v["value"] for k, v in rows.items()} == {k: v["value"] for k, v in expected.items()}
    assert any("revision" in row for row in expected.values())

    home.run("bench", "gen", "--to", tmp_path / "changes.jsonl", *options)
    lines = (tmp_path / "changes.jsonl").read_text().splitlines()
    assert len(lines) == 5000 and sum(line.endswith("this is no JSON") for line in lines) == poison


def test_a_generated_file_is_ingested_to_the_rows_it_promises(home, tmp_path):
    home.run("bench", "gen", "--to", tmp_path / "changes.jsonl", "-n", "3000", "--keys", "300", "--duplicates", "0.05",
             "--state", tmp_path / "state.jsonl")
    home.run("ingest", "--from", tmp_path / "changes.jsonl", "--format", "json-kv", "--table", "apps.user_kv", "--create",
             "--columns", "app_id bigint not null, user_id bigint not null, key string not null, value string",
             "--identifier-fields", "app_id,user_id,key")
    expected = sorted((json.loads(line) for line in (tmp_path / "state.jsonl").read_text().splitlines()), key=lambda r: r["key"])
    assert home.sql("SELECT app_id, user_id, key, value FROM apps.user_kv ORDER BY key") == expected
