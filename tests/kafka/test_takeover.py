"""Taking over from Flink: a version 2 table full of equality deletes, and the offsets of Flink's consumer group."""

import json
import random

import pytest

import engines
from engines import DuckDB, Frazil
from running import COLUMNS, UserKv, pipeline, write_config

TABLE = "apps.user_kv"


@pytest.fixture
def flink(home, spark_session):
    return FlinkSink(home, engines.Spark(home, spark_session))


class FlinkSink:
    """Writes as Flink's upsert sink does, through the same Java classes: each checkpoint is one row delta whose equality
    deletes hit all older rows of its keys, and its rows."""

    def __init__(self, home, spark):
        self.spark = spark
        spark.sql("CREATE NAMESPACE {c}.apps")
        spark.sql(f"CREATE TABLE {{c}}.{TABLE} (app_id bigint NOT NULL, user_id bigint NOT NULL, key string NOT NULL, value string) "
                  "USING iceberg TBLPROPERTIES ('format-version'='2', 'write.upsert.enabled'='true')")
        spark.sql(f"ALTER TABLE {{c}}.{TABLE} SET IDENTIFIER FIELDS app_id, user_id, key")
        self.jvm = spark.session._jvm
        self.gateway = spark.session.sparkContext._gateway
        self.catalog = home.catalog

    def checkpoint(self, changes, number: int) -> None:
        """(app_id, user_id, key, value) each; value None: a tombstone."""
        iceberg = self.jvm.org.apache.iceberg
        table = self.jvm.org.apache.iceberg.spark.Spark3Util.loadIcebergTable(
            self.spark.session._jsparkSession, f"{self.catalog}.{TABLE}")
        names = self.jvm.java.util.ArrayList()
        for name in COLUMNS[:3]:
            names.add(name)
        key_schema = table.schema().select(names)
        ids = self.gateway.new_array(self.gateway.jvm.int, 3)
        for i, name in enumerate(COLUMNS[:3]):
            ids[i] = table.schema().findField(name).fieldId()
        form = iceberg.FileFormat.PARQUET
        factory = (iceberg.data.GenericFileWriterFactory.Builder(table).dataFileFormat(form).deleteFileFormat(form)
                   .equalityFieldIds(ids).equalityDeleteRowSchema(key_schema).build())
        files = iceberg.io.OutputFileFactory.builderFor(table, 1, number).format(form).build()
        last = {}
        for change in changes:
            last[change[:3]] = change[3]
        rows = factory.newDataWriter(files.newOutputFile(), table.spec(), None)
        deletes = factory.newEqualityDeleteWriter(files.newOutputFile(), table.spec(), None)
        for key, value in last.items():
            deletes.write(self.record(key_schema, key))
            if value is not None:
                rows.write(self.record(table.schema(), (*key, value)))
        rows.close()
        deletes.close()
        delta = table.newRowDelta().addRows(rows.toDataFile()).addDeletes(deletes.toDeleteFile())
        delta.set("flink.max-committed-checkpoint-id", str(number))
        delta.commit()

    def record(self, schema, values):
        record = self.jvm.org.apache.iceberg.data.GenericRecord.create(schema)
        for name, value in zip(COLUMNS, values):
            record.setField(name, value)
        return record


# py4j hands small numbers over as Integer, and the columns are long.
BEYOND_INT = 1 << 40


def changes(chance, count):
    for number in range(count):
        user = BEYOND_INT + chance.randrange(60)
        yield BEYOND_INT + user % 3, user, "k", None if chance.random() < 0.1 else f"v{chance.random()}"


def test_takes_over_where_flink_stood(home, broker, registry, flink):
    seed = 20
    print(f"seed {seed}")
    chance = random.Random(seed)
    topic = UserKv(broker, registry, partitions=1)
    for number in range(1, 6):
        part = list(changes(chance, 80))
        topic.upsert(part)
        flink.checkpoint(part, number)
    assert Frazil(home).rows(TABLE, COLUMNS) == sorted(topic.rows(), key=repr)
    # Flink stores its group's offsets at each checkpoint; the last one is lost, so a part is read twice.
    group = f"flink-{topic.topic}"
    store_group_offsets(broker, group, topic.topic, {0: 5 * 80 - 30})
    topic.upsert(list(changes(chance, 200)))

    config = write_config(home, {"user-kv": pipeline(
        topic, registry, TABLE, source={"properties.group.id": group, "scan.startup.mode": "group-offsets"},
        sink={"columns": {"app_id": "insight_id"}, "create-if-missing": False, "partition-by": []})})
    refused = home.run("run", "-c", config, "--bounded", check=False)
    assert refused.returncode == 1, refused.stderr
    assert "--upgrade-table" in refused.stderr
    assert home.metadata(TABLE)["format-version"] == 2
    # A group that nobody committed for, misspelt perhaps: refused, and the table is as it was.
    before = home.metadata_location(TABLE)
    other = write_config(home, {"user-kv": pipeline(
        topic, registry, TABLE, source={"properties.group.id": group + "x", "scan.startup.mode": "group-offsets"},
        sink={"columns": {"app_id": "insight_id"}, "create-if-missing": False, "partition-by": []})})
    assert home.run("run", "-c", other, "--bounded", "--upgrade-table", check=False).returncode != 0
    assert home.metadata_location(TABLE) == before
    config = write_config(home, {"user-kv": pipeline(
        topic, registry, TABLE, source={"properties.group.id": group, "scan.startup.mode": "group-offsets"},
        sink={"columns": {"app_id": "insight_id"}, "create-if-missing": False, "partition-by": []})})

    done = home.run("run", "-c", config, "--bounded", "--upgrade-table", "-o", "json")
    assert json.loads(done.stdout.splitlines()[-1])["pipelines"][0]["records"] == 230
    assert home.metadata(TABLE)["format-version"] == 3
    for reader in (Frazil(home), flink.spark, DuckDB(home)):  # PyIceberg reads no equality deletes
        assert reader.rows(TABLE, COLUMNS) == sorted(topic.rows(), key=repr), reader.name
    home.run("verify", TABLE, "-c", config)
    assert broker.committed(group, topic.topic) == topic.end()  # the way back stays open


def store_group_offsets(broker, group, topic, offsets) -> None:
    from confluent_kafka import Consumer, TopicPartition
    consumer = Consumer({"bootstrap.servers": broker.bootstrap, "group.id": group, "enable.auto.commit": False})
    try:
        consumer.commit(offsets=[TopicPartition(topic, p, offset) for p, offset in offsets.items()], asynchronous=False)
    finally:
        consumer.close()
