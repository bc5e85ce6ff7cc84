"""`frazil run` as a user runs it: a process, its endpoints, and its exit report; and the topic of examples/user_kv.yaml."""

import json
import os
import pathlib
import signal
import subprocess
import time
import urllib.error
import urllib.request

from home import needed
from registry import framed
from server import wait_until

VALUE_SCHEMA = {"type": "record", "name": "UserKv", "fields": [
    {"name": "insight_id", "type": "long"}, {"name": "user_id", "type": "long"}, {"name": "key", "type": "string"},
    {"name": "value", "type": ["null", "string"], "default": None}]}
KEY_SCHEMA = {"type": "record", "name": "UserKvKey", "fields": VALUE_SCHEMA["fields"][:3]}
COLUMNS = ["app_id", "user_id", "key", "value"]


class UserKv:
    """A topic of upserts and tombstones, and what a table must hold that has all of it."""

    def __init__(self, broker, registry, partitions=2, name=None, **config):
        self.broker = broker
        self.topic = broker.create_topic(name, partitions=partitions, **config)
        self.partitions = partitions
        self.value_id = registry.register(f"{self.topic}-value", VALUE_SCHEMA)
        self.key_id = registry.register(f"{self.topic}-key", KEY_SCHEMA)
        self.last = {}

    def record(self, app_id: int, user_id: int, key: str, value) -> dict:
        """A record; `value` None is a tombstone, anything else becomes text."""
        identifier = {"insight_id": app_id, "user_id": user_id, "key": key}
        encoded = None if value is None else framed(self.value_id, VALUE_SCHEMA, {**identifier, "value": str(value)})
        return {"key": framed(self.key_id, KEY_SCHEMA, identifier), "value": encoded, "partition": user_id % self.partitions}

    def expect(self, app_id, user_id, key, value) -> None:
        self.last.pop((app_id, user_id, key), None)
        if value is not None:
            self.last[(app_id, user_id, key)] = str(value)

    def upsert(self, changes) -> None:
        """(app_id, user_id, key, value) each."""
        changes = list(changes)
        for change in changes:
            self.expect(*change)
        self.broker.produce(self.topic, [self.record(*change) for change in changes])

    def rows(self) -> list:
        return sorted((*key, value) for key, value in self.last.items())

    def end(self) -> dict:
        return {partition: last for partition, (_, last) in self.broker.bounds(self.topic).items()}


def pipeline(topic: UserKv, registry, table: str, **sections) -> dict:
    """One pipeline as configuration; further sections by name: source={...}, sink={...}, commit={...}, on_error={...}."""
    return {
        "source": {"topic": topic.topic, "properties.bootstrap.servers": topic.broker.bootstrap,
                   "properties.group.id": f"frazil-{topic.topic}", "scan.startup.mode": "earliest-offset",
                   "key.format": "avro-confluent", "value.format": "avro-confluent",
                   "value.avro-confluent.url": registry.url, **sections.get("source", {})},
        "sink": {"table": table, "identifier-fields": ["app_id", "user_id", "key"],
                 "partition-by": ["bucket(4, app_id)", "bucket(2, key)"],
                 "columns": {"app_id": "insight_id", "updated_at": "$timestamp"}, "create-if-missing": True,
                 **sections.get("sink", {})},
        "commit": {"interval": "10s", **sections.get("commit", {})},
        "on-error": sections.get("on_error", {"decode": "fail"}),
    }


def write_config(home, pipelines: dict, **sections) -> pathlib.Path:
    """A file for -c; JSON is YAML."""
    path = home.folder / "pipelines.yaml"
    path.write_text(json.dumps({"version": 1, "pipelines": pipelines, "http": {"listen": "127.0.0.1:0"}, **sections}, indent=1))
    return path


class Running:
    """A process of `frazil run`. As a context it is killed at the end, whatever happened."""

    def __init__(self, home, config, *options, environment=None):
        self.home = home
        self._address = home.folder / "state" / "http.address"
        self._address.unlink(missing_ok=True)
        self._out = (home.folder / "run.out").open("w+")
        self._err = (home.folder / "run.err").open("w+")
        self.process = subprocess.Popen([needed("FRAZIL_BIN"), "run", "-c", str(config), "-o", "json", *options],
                                        env=home.environment(**(environment or {})), cwd=home.folder,
                                        stdin=subprocess.DEVNULL, stdout=self._out, stderr=self._err)
        self._wait(lambda: self._address.exists() and self._address.read_text().endswith("\n"), 30, "its address")
        self.url = self._address.read_text().strip()
        self.token = (home.folder / "state" / "http.token").read_text().strip()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        self._out.close()
        self._err.close()

    def said(self) -> str:
        return pathlib.Path(self._err.name).read_text(errors="replace")

    def _wait(self, condition, timeout, what):
        def checked():
            assert self.process.poll() is None, f"frazil run ended with {self.process.returncode}:\n{self.said()}"
            return condition()
        try:
            return wait_until(checked, timeout, what)
        except AssertionError as error:
            raise AssertionError(f"{error}\n{self.said()[-4000:]}") from None

    def ask(self, path: str, method="GET", token=None):
        """(status, text); commands carry the token."""
        headers = {}
        if method == "POST" or token:
            headers["Authorization"] = f"Bearer {token or self.token}"
        try:
            with urllib.request.urlopen(urllib.request.Request(self.url + path, method=method, headers=headers), timeout=30) as answer:
                return answer.status, answer.read().decode()
        except urllib.error.HTTPError as error:
            return error.code, error.read().decode()

    def pipeline(self, name="user-kv") -> dict:
        status, text = self.ask(f"/v1/pipelines/{name}")
        assert status == 200, text
        return json.loads(text)

    def wait_for(self, condition, what: str, name="user-kv", timeout=90) -> dict:
        """The first status of the pipeline for which condition(status) holds."""
        def holds():
            status = self.pipeline(name)
            return status if condition(status) else None
        return self._wait(holds, timeout, what)

    def commit_all(self, topic: UserKv, name="user-kv", timeout=90) -> dict:
        """Waits until everything that the topic has is in the table, without waiting for the commit interval."""
        end = {str(partition): last for partition, last in topic.end().items()}
        self.wait_for(lambda status: status["read"] == end, f"all records to be read ({end})", name, timeout)
        status, text = self.ask(f"/v1/pipelines/{name}/drain", "POST")
        assert status == 202, text
        return self.wait_for(lambda status: status["committed"] == end, f"all records to be committed ({end})", name, timeout)

    def stop(self, how=signal.SIGTERM, timeout=60):
        """(exit code, exit report as JSON or None, what it said)."""
        self.process.send_signal(how)
        return self.ended(timeout)

    def ended(self, timeout=60):
        self.process.wait(timeout)
        lines = pathlib.Path(self._out.name).read_text().splitlines()
        return self.process.returncode, json.loads(lines[-1]) if lines else None, self.said()
