#pragma once

#include "frazil/index/index_manifest.h"

namespace frazil::index {

/// A manifest that uses every member.
inline IndexManifest ExampleManifest() {
  IndexManifest manifest;
  manifest.table_uuid = "9c12d441-03fe-4693-9a96-a0705ddf69c1";
  manifest.key_version = "v1-0123456789abcdef";
  manifest.key_reading = "1 is n";
  manifest.snapshot_id = spec::SnapshotId(5'345'678'901'234'567'890);
  manifest.markers = R"({"self":1})";
  manifest.num_live_rows = 42;
  manifest.next_number = 9;
  manifest.num_shards = 2;
  manifest.shards = {{{.file_name = "run-00c0ffee00c0ffee-3.run",
                       .num_entries = 12,
                       .size_bytes = 8192,
                       .checksum = 0xfedc'ba98'7654'3210},
                      {.file_name = "run-00c0ffee00c0ffee-1.run", .num_entries = 1, .size_bytes = 4200, .checksum = 7}},
                     {}};
  IndexedFileRecord source{.file = {.number = 3,
                                    .path = "s3://b/t/data/gone \"1\" ä.parquet",
                                    .sequence_number = spec::SequenceNumber(4),
                                    .first_row_id = spec::RowId(100),
                                    .record_count = 50},
                           .is_live = false};
  source.row_map = "rowmap-00c0ffee00c0ffee-2.puffin";
  source.row_map_source = 1;
  source.forward_to = {std::nullopt, 7};
  IndexedFileRecord output{.file = {.number = 7,
                                    .path = "s3://b/t/data/2.parquet",
                                    .sequence_number = spec::SequenceNumber(4),
                                    .spec_id = spec::SpecId(2),
                                    .partition = {std::byte{0}, std::byte{0xff}},
                                    .record_count = int64_t{1} << 32,
                                    .has_own_keys = false}};
  output.deletes_id = {.path = "s3://b/t/data/v.puffin", .content_offset = 4, .content_size_in_bytes = 60};
  IndexedFileRecord deletes{.file = {.number = 8,
                                     .path = "s3://b/t/data/eq.parquet",
                                     .content = spec::FileContent::kEqualityDeletes,
                                     .sequence_number = spec::SequenceNumber(5),
                                     .record_count = 2}};
  deletes.deletes_id.path = "a\nb\n";
  manifest.files = {source, output, deletes};
  return manifest;
}

}  // namespace frazil::index
