"""What must hold in the files of every table that frazil writes, whatever its rows are; read from the manifests themselves."""

import collections
import json
import struct
import types

from pyiceberg.avro.file import AvroFile

from home import local_path

DATA, POSITION_DELETES, EQUALITY_DELETES = 0, 1, 2


# What is looked at of a manifest's entry, by field id: PyIceberg's own class leaves out what version 3 added.
FIELDS = {134: "content", 100: "file_path", 101: "file_format", 102: "partition", 103: "record_count", 143: "referenced_data_file",
          144: "content_offset", 145: "content_size_in_bytes", 142: "first_row_id", 140: "sort_order_id"}
STATUS, DATA_FILE = 0, 2
DELETED = 2


def entries_of(table, snapshot, live_only=True):
    """The data and delete files of a snapshot, as plain values."""
    for manifest in snapshot.manifests(table.io):
        with AvroFile(table.io.new_input(manifest.manifest_path)) as reader:
            fields = {field.field_id: i for i, field in enumerate(reader.schema.fields)}
            members = {field.field_id: i for i, field in enumerate(reader.schema.find_field(DATA_FILE).field_type.fields)}
            for entry in reader:
                if live_only and entry[fields[STATUS]] == DELETED:
                    continue
                file = entry[fields[DATA_FILE]]
                yield types.SimpleNamespace(**{name: file[members[id]] if id in members else None for id, name in FIELDS.items()})


def puffin_blobs(location: str) -> list:
    """The footer's blobs. The file's own magic numbers and lengths are checked on the way."""
    data = local_path(location).read_bytes()
    assert data[:4] == b"PFA1" and data[-4:] == b"PFA1", f"no Puffin file: {location}"
    length, flags = struct.unpack("<iI", data[-12:-4])
    assert flags == 0, f"flags of {location}: {flags}"
    start = len(data) - 12 - length
    assert data[start - 4:start] == b"PFA1", f"the footer does not begin where it should: {location}"
    return json.loads(data[start:start + length])["blobs"]


def live_vectors(table, snapshot=None) -> dict:
    """Data file -> its live vector. Fails if a file has two, if one belongs to no live file, or is not in a Puffin."""
    files, vectors = set(), collections.defaultdict(list)
    snapshot = snapshot or table.current_snapshot()
    if snapshot is None:
        return {}
    for file in entries_of(table, snapshot):
        if file.content == DATA:
            assert file.file_path not in files, f"a data file is live twice: {file.file_path}"
            files.add(file.file_path)
        else:
            assert file.content == POSITION_DELETES, f"an equality delete: {file.file_path}"
            assert file.file_format.upper() == "PUFFIN", f"no Puffin: {file.file_path}"
            vectors[file.referenced_data_file].append(file)
    for path, found in vectors.items():
        assert len(found) == 1, f"{len(found)} live vectors of {path}"
        assert path in files, f"a vector of a file that is not live: {path}"
    return {path: found[0] for path, found in vectors.items()}


def check_layout(table, puffins_are_whole=True) -> dict:
    """Everything at once, over all snapshots for equality deletes; returns the live vectors."""
    assert table.metadata.format_version == 3
    for snapshot in table.metadata.snapshots:
        for file in entries_of(table, snapshot, live_only=False):
            assert file.content != EQUALITY_DELETES, f"an equality delete: {file.file_path}"
    vectors = live_vectors(table)
    by_puffin = collections.defaultdict(list)
    for path, vector in vectors.items():
        by_puffin[vector.file_path].append((path, vector))
    for puffin, members in by_puffin.items():
        blobs = {blob["properties"]["referenced-data-file"]: blob for blob in puffin_blobs(puffin)}
        for path, vector in members:
            blob = blobs.get(path)
            assert blob is not None, f"{puffin} has no vector of {path}"
            assert blob["type"] == "deletion-vector-v1"
            assert (blob["offset"], blob["length"]) == (vector.content_offset, vector.content_size_in_bytes)
            assert int(blob["properties"]["cardinality"]) == vector.record_count
        if puffins_are_whole:
            # A path that is partly dead would be deleted whole by Java's expiry, live vectors included.
            assert set(blobs) == {path for path, _ in members}, f"partly dead: {puffin}"
    return vectors
