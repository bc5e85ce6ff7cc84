#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "frazil/base/bytes.h"
#include "frazil/spec/ids.h"
#include "frazil/spec/partition_spec.h"

namespace frazil::spec {

enum class ManifestContent { kData = 0, kDeletes = 1 };
enum class FileContent { kData = 0, kPositionDeletes = 1, kEqualityDeletes = 2 };
enum class FileFormat { kParquet, kAvro, kOrc, kPuffin };
enum class EntryStatus { kExisting = 0, kAdded = 1, kDeleted = 2 };

/// "PARQUET", ... as Java writes them; reading ignores case.
std::string_view FileFormatName(FileFormat format);
Result<FileFormat> ParseFileFormat(std::string_view name);

/// A data or delete file as a manifest describes it (spec section 3.4). Field names follow the spec.
struct DataFile {
  FileContent content = FileContent::kData;
  std::string file_path;  ///< an opaque key: never normalised
  FileFormat file_format = FileFormat::kParquet;
  SpecId spec_id{0};  ///< of its manifest; not stored in the entry
  PartitionTuple partition;
  int64_t record_count = 0;
  int64_t file_size_in_bytes = 0;
  std::map<FieldId, int64_t> column_sizes;
  std::map<FieldId, int64_t> value_counts;  ///< nulls and NaNs included
  std::map<FieldId, int64_t> null_value_counts;
  std::map<FieldId, int64_t> nan_value_counts;
  std::map<FieldId, Bytes> lower_bounds;  ///< single-value encoding, section 7.5
  std::map<FieldId, Bytes> upper_bounds;
  std::optional<Bytes> key_metadata;
  std::vector<int64_t> split_offsets;
  std::vector<FieldId> equality_ids;
  std::optional<SortOrderId> sort_order_id;
  std::optional<RowId> first_row_id;
  std::optional<std::string> referenced_data_file;
  std::optional<int64_t> content_offset;
  std::optional<int64_t> content_size_in_bytes;

  bool is_deletion_vector() const { return file_format == FileFormat::kPuffin; }
  bool operator==(const DataFile&) const = default;
};

/// Identity of a delete file: several vectors share one Puffin path (spec section 4.3).
struct DeleteFileId {
  std::string path;
  std::optional<int64_t> content_offset;
  std::optional<int64_t> content_size_in_bytes;
  auto operator<=>(const DeleteFileId&) const = default;
};
inline DeleteFileId IdOf(const DataFile& file) {
  return {file.file_path, file.content_offset, file.content_size_in_bytes};
}

/// One row of a manifest (spec section 3.3). Optional members are what the bytes may leave to inheritance.
struct ManifestEntry {
  EntryStatus status = EntryStatus::kExisting;
  std::optional<SnapshotId> snapshot_id;
  std::optional<SequenceNumber> sequence_number;  ///< data sequence number
  std::optional<SequenceNumber> file_sequence_number;
  DataFile data_file;

  bool is_live() const { return status != EntryStatus::kDeleted; }
  bool operator==(const ManifestEntry&) const = default;
};

/// Summary of one partition field over a manifest (r508).
struct PartitionFieldSummary {
  bool contains_null = false;
  std::optional<bool> contains_nan;
  std::optional<Bytes> lower_bound;
  std::optional<Bytes> upper_bound;
  bool operator==(const PartitionFieldSummary&) const = default;
};

/// One row of a manifest list (spec section 3.1). Counts are optional in old lists: none means "assume some".
struct ManifestFile {
  std::string manifest_path;
  int64_t manifest_length = 0;
  SpecId partition_spec_id{0};
  ManifestContent content = ManifestContent::kData;
  SequenceNumber sequence_number{0};
  SequenceNumber min_sequence_number{0};
  SnapshotId added_snapshot_id;
  std::optional<int32_t> added_files_count;
  std::optional<int32_t> existing_files_count;
  std::optional<int32_t> deleted_files_count;
  std::optional<int64_t> added_rows_count;
  std::optional<int64_t> existing_rows_count;
  std::optional<int64_t> deleted_rows_count;
  std::vector<PartitionFieldSummary> partitions;
  std::optional<Bytes> key_metadata;
  std::optional<RowId> first_row_id;

  bool has_live_files() const {
    return !added_files_count || !existing_files_count || *added_files_count + *existing_files_count > 0;
  }
  bool operator==(const ManifestFile&) const = default;
};

}  // namespace frazil::spec
