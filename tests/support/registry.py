"""A real schema registry for tests: Apicurio Registry, which speaks Confluent's interface below a path of its own.

FRAZIL_SCHEMA_REGISTRY_DIR and FRAZIL_JRE_DIR name the two things it is started from; `./dev test` sets them.
"""

import base64
import http.server
import io
import json
import pathlib
import struct
import threading
import urllib.error
import urllib.request

import fastavro

from home import needed
from server import Server, free_ports

_BASIC_AUTH = """
quarkus.http.auth.basic=true
quarkus.security.users.embedded.enabled=true
quarkus.security.users.embedded.plain-text=true
quarkus.security.users.embedded.users.{user}={password}
quarkus.security.users.embedded.roles.{user}=sr-admin
quarkus.http.auth.permission.all.paths=/apis/*
quarkus.http.auth.permission.all.policy=authenticated
"""


class Registry(Server):
    """Its schemas live in memory: a restart forgets them."""

    def __init__(self, folder: pathlib.Path, credentials=None):
        super().__init__("registry", folder)
        self.port, self._management_port = free_ports(2)
        self.credentials = credentials
        self.origin = f"http://127.0.0.1:{self.port}"
        self.url = f"{self.origin}/apis/ccompat/v7"

    def start(self) -> "Registry":
        options = {"quarkus.http.host": "127.0.0.1", "quarkus.http.port": self.port,
                   "quarkus.management.host": "127.0.0.1", "quarkus.management.port": self._management_port}
        if self.credentials:
            user, password = self.credentials
            options.update(line.split("=", 1) for line in _BASIC_AUTH.format(user=user, password=password).split())
        self.launch([f"{needed('FRAZIL_JRE_DIR')}/bin/java", "-Xmx384m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1",
                     f"-Djava.io.tmpdir={self.scratch}", *(f"-D{key}={value}" for key, value in options.items()), "-jar",
                     f"{needed('FRAZIL_SCHEMA_REGISTRY_DIR')}/quarkus-run.jar"], self._answers)
        return self

    def _answers(self) -> bool:
        try:
            self.request("/subjects")
            return True
        except (urllib.error.URLError, ConnectionError):
            return False

    def request(self, path: str, body=None, method=None):
        headers = {"Content-Type": "application/vnd.schemaregistry.v1+json"}
        if self.credentials:
            headers["Authorization"] = "Basic " + base64.b64encode(":".join(self.credentials).encode()).decode()
        data = None if body is None else json.dumps(body).encode()
        asked = urllib.request.Request(self.url + path, data=data, headers=headers, method=method)
        with urllib.request.urlopen(asked, timeout=10) as answer:
            return json.load(answer)

    def register(self, subject: str, schema, kind="AVRO", references=()) -> int:
        """`schema`: Avro as Python values, or text. Returns its id."""
        text = schema if isinstance(schema, str) and kind != "AVRO" else json.dumps(schema)
        body = {"schema": text, "schemaType": kind}
        if references:
            body["references"] = list(references)
        return self.request(f"/subjects/{subject}/versions", body)["id"]


class FakeGuard:
    """A fake: a reverse proxy before a real registry that lets a request through when its Authorization header is right."""

    def __init__(self, registry: Registry, header: str):
        self.refused = 0
        guard = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self):
                self._answer(None)

            def do_POST(self):
                self._answer(self.rfile.read(int(self.headers["Content-Length"])))

            def _answer(self, body):
                if self.headers.get("Authorization") != header:
                    guard.refused += 1
                    return self._send(401, b'{"error_code": 401, "message": "who are you?"}')
                asked = urllib.request.Request(registry.origin + self.path, data=body, method=self.command,
                                               headers={"Content-Type": self.headers.get("Content-Type", "application/json")})
                try:
                    with urllib.request.urlopen(asked, timeout=30) as answer:
                        self._send(answer.status, answer.read())
                except urllib.error.HTTPError as error:
                    self._send(error.code, error.read())

            def _send(self, status, body):
                self.send_response(status)
                self.send_header("Content-Type", "application/vnd.schemaregistry.v1+json")
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_):
                pass

        self._server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = registry.url.replace(str(registry.port), str(self._server.server_address[1]))
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)

    def __enter__(self):
        self._thread.start()
        return self

    def __exit__(self, *_):
        self._server.shutdown()
        self._server.server_close()


def framed(schema_id: int, schema, value) -> bytes:
    """A value as Confluent's serialiser writes it: a zero byte, the schema's id, Avro."""
    out = io.BytesIO()
    out.write(struct.pack(">bI", 0, schema_id))
    fastavro.schemaless_writer(out, fastavro.parse_schema(schema), value)
    return out.getvalue()


def unframed(data: bytes, schema):
    """(schema id, value) of such a record."""
    stream = io.BytesIO(data)
    magic, schema_id = struct.unpack(">bI", stream.read(5))
    assert magic == 0
    return schema_id, fastavro.schemaless_reader(stream, fastavro.parse_schema(schema), None)
