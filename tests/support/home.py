"""The program under test, run as a user runs it, in a home folder with a catalog of its own.

FRAZIL_BIN names the program; `./dev test` sets it, with the jars that tests/interop needs.
"""

import itertools
import json
import os
import pathlib
import sqlite3
import subprocess

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]


def needed(variable: str) -> str:
    value = os.environ.get(variable)
    if not value:
        pytest.exit(f"{variable} is not set; run ./dev test", returncode=3)
    return value


class Home:
    """A folder with a configured catalog, and the program run in it as a user would run it."""

    def __init__(self, folder: pathlib.Path, catalog: str):
        self.folder = folder
        self.catalog = catalog
        self.catalog_file = folder / "catalog.db"
        self.warehouse = f"file://{folder}/warehouse"
        self._batches = itertools.count(1)
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "frazil.yaml").write_text(
            f"default-catalog: {catalog}\ncatalogs:\n  {catalog}:\n    type: sql\n"
            f"    uri: sqlite:///{self.catalog_file}\n    warehouse: {self.warehouse}\n")

    def environment(self, **extra) -> dict:
        kept = {k: v for k, v in os.environ.items() if not k.startswith("FRAZIL_")}
        return {**kept, "FRAZIL_HOME": str(self.folder), **extra}

    def run(self, *arguments, check=True, timeout=120, environment=None, **options) -> subprocess.CompletedProcess:
        done = subprocess.run([needed("FRAZIL_BIN"), *map(str, arguments)], env=self.environment(**(environment or {})), text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=timeout, cwd=self.folder,
                              **({} if "input" in options else {"stdin": subprocess.DEVNULL}), **options)
        if check:
            assert done.returncode == 0, f"frazil {' '.join(map(str, arguments))}\nexit {done.returncode}\n{done.stdout}{done.stderr}"
        return done

    def sql(self, statement: str) -> list:
        """The rows as dictionaries, as `-o jsonl` prints them."""
        return [json.loads(line) for line in self.run("sql", "-q", "-o", "jsonl", "-e", statement).stdout.splitlines()]

    def write_lines(self, records, name=None) -> pathlib.Path:
        path = self.folder / (name or f"batch-{next(self._batches)}.jsonl")
        path.write_text("".join(json.dumps(record) + "\n" for record in records))
        return path

    def ingest(self, records, table: str, *options, keys="id", check=True):
        """Ingests key-value records (see `upsert` and `tombstone`) from a file of their own: one commit unless told."""
        return self.run("ingest", "--from", self.write_lines(records), "--format", "json-kv", "--table", table,
                        "--identifier-fields", keys, *options, check=check)

    def metadata_location(self, table: str) -> str:
        namespace, name = table.rsplit(".", 1)
        with sqlite3.connect(self.catalog_file) as database:
            found = database.execute("SELECT metadata_location FROM iceberg_tables WHERE catalog_name = ? AND table_namespace = ? "
                                     "AND table_name = ?", (self.catalog, namespace, name)).fetchall()
        assert len(found) == 1, f"{table} is {len(found)} times in the catalog"
        return found[0][0]

    def metadata(self, table: str) -> dict:
        return json.loads(local_path(self.metadata_location(table)).read_text())


def local_path(location: str) -> pathlib.Path:
    """Where a file:/a, file:///a or /a location lies."""
    return pathlib.Path("/" + location.removeprefix("file:").lstrip("/"))


def upsert(key: dict, **value) -> dict:
    return {"key": key, "value": value}


def tombstone(key: dict) -> dict:
    return {"key": key, "value": None}
