"""frazil's Kafka source in a process of its own, asked over its standard input (kafka_source_driver.cc)."""

import json
import pathlib
import subprocess
import time

from home import needed


class SourceError(Exception):
    def __init__(self, answer):
        super().__init__(f"{answer['error']}: {answer['message']}")
        self.code = answer["error"]
        self.message = answer["message"]


class Source:
    """Properties in Java's names with _ for the dots, e.g. group_id="g"; bootstrap.servers is the broker's."""

    def __init__(self, broker, topic, headers=False, **properties):
        program = pathlib.Path(needed("FRAZIL_BIN")).parent / "kafka_source_driver"
        named = {"bootstrap.servers": broker.bootstrap, **{k.replace("_", "."): v for k, v in properties.items()}}
        self.process = subprocess.Popen([program, topic, *(["headers"] if headers else []), *(f"{k}={v}" for k, v in named.items())],
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1)
        try:
            self.notices = self._answer()["notices"]
        except BaseException:
            self.close()
            raise

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        self.process.stdin.close()
        try:
            self.process.wait(30)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait(30)
        self.process.stdout.close()

    def _answer(self):
        line = self.process.stdout.readline()
        assert line, f"the source's process ended with {self.process.wait(10)}"
        answer = json.loads(line)
        if "error" in answer:
            raise SourceError(answer)
        return answer

    def ask(self, command):
        self.process.stdin.write(command + "\n")
        return self._answer()

    def identity(self):
        return self.ask("identity")["identity"]

    def bounds(self):
        return {int(p): tuple(b) for p, b in self.ask("bounds")["bounds"].items()}

    def resolve(self, mode):
        return {int(p): o for p, o in self.ask(f"resolve {mode}")["offsets"].items()}

    def retention(self):
        return self.ask("retention")["retention"]

    def assign(self, positions):
        """partition -> offset or (offset, leader epoch)"""
        self.ask("assign " + " ".join(f"{p}:{o[0]}:{o[1]}" if isinstance(o, tuple) else f"{p}:{o}"
                                      for p, o in positions.items()))

    def poll(self, maximum=10_000, timeout_ms=500):
        return self.ask(f"poll {maximum} {timeout_ms}")["records"]

    def positions(self):
        return {int(p): o for p, o in self.ask("positions")["positions"].items()}

    def store(self, positions):
        self.ask("store " + " ".join(f"{p}:{o}" for p, o in positions.items()))

    def read_until(self, ends, timeout=30):
        """Records until every partition stands at its end."""
        records, deadline = [], time.monotonic() + timeout
        while True:
            records += self.poll()
            at = self.positions()
            if all(at[p] >= end for p, end in ends.items()):
                return records
            assert time.monotonic() < deadline, f"stands at {at}, waits for {ends}"

    def error_until(self, code, timeout=60):
        """Polls until that error comes."""
        deadline = time.monotonic() + timeout
        while True:
            try:
                self.poll()
            except SourceError as error:
                if error.code == code:
                    return error
                assert error.code == "Unavailable", error
            assert time.monotonic() < deadline, f"no {code} in {timeout} s"
