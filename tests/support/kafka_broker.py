"""A real Kafka broker for tests, with what they do to it: topics, records, transactions, truncation, kill and restart.

FRAZIL_KAFKA_DIR (its jars) and FRAZIL_JRE_DIR name the two things it is started from; `./dev test` sets them.
"""

import base64
import pathlib
import subprocess
import time
import uuid

from confluent_kafka import Consumer, ConsumerGroupTopicPartitions, KafkaError, KafkaException, Producer, TopicPartition
from confluent_kafka.admin import (AclBinding, AclOperation, AclPermissionType, AdminClient, AlterConfigOpType, ConfigEntry,
                                   ConfigResource, NewPartitions, NewTopic, OffsetSpec, ResourcePatternType, ResourceType)

from home import needed
from server import Server, free_ports, wait_until

_PROPERTIES = """
process.roles=broker,controller
node.id=1
controller.quorum.voters=1@127.0.0.1:{controller_port}
listeners=PLAINTEXT://127.0.0.1:{port},SASL_PLAINTEXT://127.0.0.1:{sasl_port},SSL://127.0.0.1:{tls_port},CONTROLLER://127.0.0.1:{controller_port}
advertised.listeners=PLAINTEXT://127.0.0.1:{port},SASL_PLAINTEXT://127.0.0.1:{sasl_port},SSL://127.0.0.1:{tls_port}
listener.security.protocol.map=PLAINTEXT:PLAINTEXT,SASL_PLAINTEXT:SASL_PLAINTEXT,SSL:SSL,CONTROLLER:PLAINTEXT
ssl.keystore.type=PEM
ssl.keystore.location={folder}/broker.pem
inter.broker.listener.name=PLAINTEXT
controller.listener.names=CONTROLLER
sasl.enabled.mechanisms=PLAIN,SCRAM-SHA-256,SCRAM-SHA-512
listener.name.sasl_plaintext.plain.sasl.jaas.config=org.apache.kafka.common.security.plain.PlainLoginModule required \
user_alice="secret word";
listener.name.sasl_plaintext.scram-sha-256.sasl.jaas.config=org.apache.kafka.common.security.scram.ScramLoginModule required;
listener.name.sasl_plaintext.scram-sha-512.sasl.jaas.config=org.apache.kafka.common.security.scram.ScramLoginModule required;
authorizer.class.name=org.apache.kafka.metadata.authorizer.StandardAuthorizer
super.users=User:ANONYMOUS
allow.everyone.if.no.acl.found=true
log.dirs={folder}/data
num.network.threads=2
num.io.threads=2
num.partitions=1
auto.create.topics.enable=false
offsets.topic.num.partitions=1
offsets.topic.replication.factor=1
transaction.state.log.num.partitions=1
transaction.state.log.replication.factor=1
transaction.state.log.min.isr=1
share.coordinator.state.topic.num.partitions=1
share.coordinator.state.topic.replication.factor=1
share.coordinator.state.topic.min.isr=1
group.initial.rebalance.delay.ms=0
log.cleaner.threads=1
log.cleaner.dedupe.buffer.size=16777216
log.cleaner.backoff.ms=300
log.initial.task.delay.ms=500
log.retention.ms=-1
log.retention.check.interval.ms=1000
broker.heartbeat.interval.ms=300
broker.session.timeout.ms=3000
log.segment.bytes=268435456
"""

_LOG = """
Configuration:
  Appenders: {Console: {name: C, target: SYSTEM_OUT, PatternLayout: {pattern: "[%d] %p %m (%c)%n"}}}
  Loggers: {Root: {level: WARN, AppenderRef: {ref: C}}}
"""


def make_certificates(folder: pathlib.Path) -> pathlib.Path:
    """An authority of our own and a certificate of it for 127.0.0.1, key and certificate in broker.pem. Returns the
    authority's certificate."""
    def openssl(*arguments):
        done = subprocess.run(["openssl", *map(str, arguments)], cwd=folder, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
    openssl("req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", "ca.key", "-out", "ca.pem", "-days", "30",
            "-subj", "/CN=authority of the tests")
    openssl("req", "-newkey", "rsa:2048", "-nodes", "-keyout", "broker.key", "-out", "broker.csr", "-subj", "/CN=localhost")
    (folder / "names").write_text("subjectAltName=IP:127.0.0.1,DNS:localhost\n")
    openssl("x509", "-req", "-in", "broker.csr", "-CA", "ca.pem", "-CAkey", "ca.key", "-CAcreateserial", "-days", "30",
            "-extfile", "names", "-out", "broker.crt")
    (folder / "broker.pem").write_text((folder / "broker.key").read_text() + (folder / "broker.crt").read_text())
    return folder / "ca.pem"


class Broker(Server):
    """Broker and controller in one process. Its port and data stay the same from start to start."""

    scram_user = ("bob", "another secret")

    def __init__(self, folder: pathlib.Path):
        super().__init__("kafka", folder)
        self.port, self.sasl_port, self.tls_port, controller_port = free_ports(4)
        self.bootstrap = f"127.0.0.1:{self.port}"
        self.sasl_bootstrap = f"127.0.0.1:{self.sasl_port}"
        self.tls_bootstrap = f"127.0.0.1:{self.tls_port}"
        self.ca_file = make_certificates(folder)
        self.properties = folder / "server.properties"
        self.properties.write_text(_PROPERTIES.format(port=self.port, sasl_port=self.sasl_port, tls_port=self.tls_port,
                                                      controller_port=controller_port, folder=folder))
        (folder / "log4j2.yaml").write_text(_LOG)
        cluster_id = base64.urlsafe_b64encode(uuid.uuid4().bytes).decode().rstrip("=")
        done = subprocess.run([*self._java("-Xmx128m"), "kafka.tools.StorageTool", "format", f"--cluster-id={cluster_id}", "-c",
                               self.properties, *self._scram_users()], cwd=folder, capture_output=True, text=True)
        assert done.returncode == 0, done.stdout + done.stderr
        self._admin = None

    def _scram_users(self) -> list:
        user, password = self.scram_user
        return [word for mechanism in ("SCRAM-SHA-256", "SCRAM-SHA-512")
                for word in ("--add-scram", f"{mechanism}=[name={user},password={password}]")]

    def _java(self, *options) -> list:
        return [f"{needed('FRAZIL_JRE_DIR')}/bin/java", *options, "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1",
                f"-Djava.io.tmpdir={self.scratch}", f"-Dlog4j2.configurationFile={self.folder}/log4j2.yaml", "-cp",
                f"{needed('FRAZIL_KAFKA_DIR')}/*"]

    def start(self) -> "Broker":
        self.launch([*self._java("-Xms128m", "-Xmx384m"), "kafka.Kafka", str(self.properties)], self._answers)
        return self

    def restart(self, how="kill") -> None:
        getattr(self, how)()
        self.start()

    def _answers(self) -> bool:
        try:
            self.admin.list_topics(timeout=1)
            return True
        except KafkaException:
            return False

    @property
    def admin(self) -> AdminClient:
        if self._admin is None:
            self._admin = AdminClient({"bootstrap.servers": self.bootstrap, "log_level": 0,
                                       "reconnect.backoff.max.ms": 200})
        return self._admin

    # ---- topics

    def create_topic(self, name=None, partitions=1, **config) -> str:
        """`config` in Kafka's names with _ for the dots, e.g. cleanup_policy="compact"."""
        name = name or f"topic-{uuid.uuid4().hex[:8]}"
        settings = {key.replace("_", "."): str(value) for key, value in config.items()}
        self.admin.create_topics([NewTopic(name, partitions, 1, config=settings)])[name].result(30)
        self._wait_for_partitions(name, partitions)
        return name

    def delete_topic(self, name: str) -> None:
        self.admin.delete_topics([name])[name].result(30)
        wait_until(lambda: name not in self.admin.list_topics(timeout=10).topics, 30, f"topic {name} to go")

    def add_partitions(self, name: str, total: int) -> None:
        self.admin.create_partitions([NewPartitions(name, total)])[name].result(30)
        self._wait_for_partitions(name, total)

    def _wait_for_partitions(self, name: str, count: int) -> None:
        def led():
            found = self.admin.list_topics(name, timeout=10).topics[name]
            return found.error is None and len(found.partitions) == count and \
                all(p.leader == 1 for p in found.partitions.values())
        wait_until(led, 30, f"{count} partitions of {name}")

    def alter_topic(self, name: str, **config) -> None:
        """Sets these; what else was set stays."""
        entries = [ConfigEntry(key.replace("_", "."), str(value), incremental_operation=AlterConfigOpType.SET)
                   for key, value in config.items()]
        resource = ConfigResource(ConfigResource.Type.TOPIC, name, incremental_configs=entries)
        self.admin.incremental_alter_configs([resource])[resource].result(30)

    def allow(self, name: str, user: str, *operations: AclOperation) -> None:
        """From now on `user` may do that with the topic, and nobody else anything (but the tests, who are ANONYMOUS)."""
        for future in self.admin.create_acls([AclBinding(ResourceType.TOPIC, name, ResourcePatternType.LITERAL, f"User:{user}",
                                                         "*", operation, AclPermissionType.ALLOW)
                                              for operation in operations]).values():
            future.result(30)

    def truncate(self, name: str, before: dict) -> None:
        """Deletes the records before an offset, per partition, as retention would."""
        for future in self.admin.delete_records([TopicPartition(name, p, o) for p, o in before.items()]).values():
            future.result(30)

    def bounds(self, name: str) -> dict:
        """partition -> (log start, high watermark)"""
        partitions = self.admin.list_topics(name, timeout=10).topics[name].partitions
        def offsets(spec):
            asked = self.admin.list_offsets({TopicPartition(name, p): spec for p in partitions})
            return {key.partition: future.result(10).offset for key, future in asked.items()}
        first, last = offsets(OffsetSpec.earliest()), offsets(OffsetSpec.latest())
        return {p: (first[p], last[p]) for p in partitions}

    def committed(self, group: str, topic: str) -> dict:
        """partition -> offset that the consumer group has stored"""
        asked = self.admin.list_consumer_group_offsets([ConsumerGroupTopicPartitions(group)])
        found = asked[group].result(30).topic_partitions
        return {each.partition: each.offset for each in found if each.topic == topic and each.offset >= 0}

    # ---- records

    def producer(self, **options) -> Producer:
        """Options with _ for the dots, e.g. transactional_id="x"."""
        return Producer({"bootstrap.servers": self.bootstrap, "log_level": 0, "linger.ms": 1, "enable.idempotence": True,
                         **{key.replace("_", "."): value for key, value in options.items()}})

    def produce(self, topic: str, records, partition=0) -> None:
        """Records: (key, value) or dictionaries of confluent_kafka's names (key, value, partition, timestamp, headers)."""
        failures = []
        producer = self.producer()
        for record in records:
            if not isinstance(record, dict):
                record = {"key": record[0], "value": record[1]}
            while True:
                try:
                    producer.produce(topic, **{"partition": partition, **record},
                                     on_delivery=lambda error, _: error and failures.append(error))
                    break
                except BufferError:
                    producer.poll(0.1)
            producer.poll(0)
        assert producer.flush(60) == 0, "records were not taken"
        assert not failures, failures[0]

    def read(self, topic: str, isolation="read_committed", timeout=30) -> list:
        """Every record of the topic as confluent_kafka messages, in (partition, offset) order."""
        consumer = Consumer({"bootstrap.servers": self.bootstrap, "group.id": f"read-{uuid.uuid4().hex}", "log_level": 0,
                             "isolation.level": isolation, "enable.auto.commit": False, "enable.partition.eof": True})
        try:
            waiting = set(consumer.list_topics(topic, timeout=10).topics[topic].partitions)
            consumer.assign([TopicPartition(topic, p, 0) for p in waiting])
            messages, deadline = [], time.monotonic() + timeout
            while waiting:
                assert time.monotonic() < deadline, f"topic {topic} was not read to its end in {timeout} s"
                message = consumer.poll(1)
                if message is None:
                    continue
                if message.error() is None:
                    messages.append(message)
                elif message.error().code() == KafkaError._PARTITION_EOF:
                    waiting.discard(message.partition())
                else:
                    raise KafkaException(message.error())
            return sorted(messages, key=lambda m: (m.partition(), m.offset()))
        finally:
            consumer.close()
