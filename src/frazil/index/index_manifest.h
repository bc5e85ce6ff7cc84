#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "frazil/base/result.h"
#include "frazil/index/indexed_file.h"
#include "frazil/spec/ids.h"
#include "frazil/spec/manifest.h"

namespace frazil::index {

/// What the index must know of a file that entries may name (ingest.md, "The dictionary holds per number").
struct IndexedFileRecord {
  IndexedFile file;
  bool is_live = true;  ///< at the manifest's snapshot
  /// Identity of the positions deleted at the manifest's snapshot; empty path: none. Several v2 files: their paths.
  spec::DeleteFileId deletes_id;
  /// Of a file that is gone: the row map (file name in the index's folder) and the source in it that say where its rows
  /// went; `forward_to`, by output of the row map, the numbers of its outputs (none: an output the index does not know).
  /// An output is younger than its sources: numbers grow along a chain of forwardings, so that none is a circle.
  std::optional<std::string> row_map;
  uint32_t row_map_source = 0;
  std::vector<std::optional<FileNumber>> forward_to;
  bool operator==(const IndexedFileRecord&) const = default;
};

struct RunRecord {
  std::string file_name;
  int64_t num_entries = 0;
  int64_t size_bytes = 0;
  uint64_t checksum = 0;  ///< Run::checksum()
  bool operator==(const RunRecord&) const = default;
};

/// What a checkpoint says, written last (ingest.md, "Structure"). JSON with a checksum over everything else.
struct IndexManifest {
  std::string table_uuid;
  std::string key_version;  ///< identifier field ids, type classes and seed: another one means another index
  std::string key_reading;  ///< what keys of files depend on that do not have them (KeyReading)
  std::optional<spec::SnapshotId> snapshot_id;  ///< complete up to here; none: an empty table
  /// The progress of the pipelines that this snapshot shows (table::WriteMarkerJson): that of the newest snapshot of its
  /// known history that carries one; empty: none does.
  std::string markers;
  int64_t num_live_rows = 0;  ///< at the snapshot; where position or equality delete files are live, at least so many
  FileNumber next_number = 0;
  uint32_t num_shards = 1;                     ///< a power of two, at most 256
  std::vector<std::vector<RunRecord>> shards;  ///< num_shards of them; runs of each, newest first
  std::vector<IndexedFileRecord> files;        ///< every number that a run or a forwarding needs, and every live file
  bool operator==(const IndexManifest&) const = default;
};

/// Names that IndexDirectory gives: "run-<id>.run" and "rowmap-<id>.puffin", nothing that could lead out of a folder.
bool IsRunFileName(std::string_view name);
bool IsRowMapFileName(std::string_view name);

/// What cannot be: a number twice or not below `next_number`, a live path twice, a forwarding of a live file or to an
/// older or unknown number, a file name that is none of ours. kCorruptData with the reason.
Status CheckIndexManifest(const IndexManifest& manifest);

std::string WriteIndexManifestJson(const IndexManifest& manifest);
/// kCorruptData: not JSON, wrong checksum, or what CheckIndexManifest refuses. `name` for the message.
Result<IndexManifest> ParseIndexManifestJson(std::string_view text, const std::string& name);

}  // namespace frazil::index
