"""`frazil inspect`: every kind of file of a table, as text and as JSON."""

import gzip
import json

import pytest

from home import local_path

SCRIPT = """
CREATE NAMESPACE t;
CREATE TABLE t.x (id BIGINT NOT NULL, part STRING, n DECIMAL(9,2)) PARTITIONED BY (part) TBLPROPERTIES ('format-version' = '3');
INSERT INTO t.x VALUES (1, 'a', 1.50), (2, 'a', -2.25), (3, 'a', NULL);
DELETE FROM t.x WHERE id IN (1, 3);
"""


@pytest.fixture
def table(home):
    home.run("sql", "-e", SCRIPT)
    return home


def inspect(home, path, *options):
    return json.loads(home.run("inspect", path, "-o", "json", *options).stdout)


def test_every_file_from_the_metadata_down(table):
    home = table
    metadata = inspect(home, home.metadata_location("t.x"))
    assert metadata["kind"] == "table metadata" and metadata["format-version"] == 3 and metadata["next-row-id"] == 3
    assert {k: v for k, v in metadata.items() if k not in ("file", "kind")} == home.metadata("t.x")

    head = next(s for s in metadata["snapshots"] if s["snapshot-id"] == metadata["current-snapshot-id"])
    manifest_list = inspect(home, head["manifest-list"])
    assert manifest_list["kind"] == "manifest list" and manifest_list["metadata"]["format-version"] == "3"
    by_content = {m["content"]: m for m in manifest_list["manifests"]}
    assert by_content["data"]["first_row_id"] == 0 and by_content["deletes"]["added_files_count"] == 1

    manifest = inspect(home, by_content["data"]["manifest_path"])
    assert manifest["kind"] == "manifest" and manifest["metadata"]["content"] == "data"
    file = manifest["entries"][0]["data_file"]
    assert file["partition"] == {"part": "a"} and file["lower_bounds"] == {"id (1)": "1", "part (2)": "a", "n (3)": "-2.25"}

    vector = inspect(home, by_content["deletes"]["manifest_path"])["entries"][0]["data_file"]
    assert vector["content"] == "position deletes" and vector["referenced_data_file"] == file["file_path"]

    puffin = inspect(home, vector["file_path"])
    assert puffin["kind"] == "Puffin" and "positions" not in puffin["blobs"][0]
    (blob,) = inspect(home, vector["file_path"], "--positions")["blobs"]
    assert blob["type"] == "deletion-vector-v1" and blob["cardinality"] == 2 and blob["positions"] == [0, 2]
    assert blob["properties"]["referenced-data-file"] == file["file_path"]

    parquet = inspect(home, file["file_path"])
    assert parquet["kind"] == "Parquet" and parquet["num_rows"] == 3
    assert [(c["path"], c["field_id"], c["repetition"]) for c in parquet["schema"]] == [("id", 1, "required"), ("part", 2, "optional"), ("n", 3, "optional")]
    chunk = parquet["row_groups"][0]["columns"][2]
    assert chunk["codec"].lower() == "zstd" and chunk["null_count"] == 1 and chunk["min"] == "-2.25" and chunk["max"] == "1.50"


def test_text_is_for_people(table):
    text = table.run("inspect", table.metadata_location("t.x")).stdout
    assert "kind: table metadata\n" in text and "added-dvs: 1\n" in text
    assert f"current-snapshot-id: {table.metadata('t.x')['current-snapshot-id']}\n" in text
    assert "last-updated-ms: " in text and "Z)" in text


def test_paths_of_this_machine_and_gzipped_metadata(table):
    source = local_path(table.metadata_location("t.x"))
    (table.folder / "copy.gz").write_bytes(gzip.compress(source.read_bytes()))
    assert inspect(table, "copy.gz")["table-uuid"] == table.metadata("t.x")["table-uuid"]


@pytest.mark.parametrize("content, message", [
    (b"hello", "a file that is no metadata.json, manifest list, manifest, Puffin or Parquet file: "),
    (b"", "a file that is no metadata.json"),
    (b"PAR1", "error: "), (b"PFA1", "error: "), (b"Obj\x01", "error: "), (b"{", "error: "), (b"\x1f\x8b\x08", "error: "),
], ids=["text", "empty", "Parquet", "Puffin", "Avro", "JSON", "gzip"])
def test_what_is_none_of_these_is_said_in_one_line(home, content, message):
    (home.folder / "odd").write_bytes(content)
    done = home.run("inspect", "odd", check=False)
    assert done.returncode == 1 and done.stdout == ""
    assert message in done.stderr and "odd" in done.stderr and done.stderr.count("\n") == 1


def test_a_file_that_is_not_there(home):
    done = home.run("inspect", "nothing.parquet", check=False)
    assert done.returncode == 1 and "nothing.parquet" in done.stderr

