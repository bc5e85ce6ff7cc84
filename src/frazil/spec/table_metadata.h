#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "frazil/base/result.h"
#include "frazil/spec/partition_spec.h"
#include "frazil/spec/schema.h"
#include "frazil/spec/snapshot.h"
#include "frazil/spec/sort_order.h"

namespace frazil::spec {

struct SnapshotLogEntry {
  int64_t timestamp_ms = 0;
  SnapshotId snapshot_id;
  bool operator==(const SnapshotLogEntry&) const = default;
};

struct MetadataLogEntry {
  int64_t timestamp_ms = 0;
  std::string metadata_file;
  bool operator==(const MetadataLogEntry&) const = default;
};

struct BlobMetadata {
  std::string type;
  SnapshotId snapshot_id;
  SequenceNumber sequence_number;
  std::vector<FieldId> fields;
  std::map<std::string, std::string> properties;
  bool operator==(const BlobMetadata&) const = default;
};

struct StatisticsFile {
  SnapshotId snapshot_id;
  std::string statistics_path;
  int64_t file_size_in_bytes = 0;
  int64_t file_footer_size_in_bytes = 0;
  std::optional<std::string> key_metadata;  ///< base64 as found
  std::vector<BlobMetadata> blob_metadata;
  bool operator==(const StatisticsFile&) const = default;
};

struct PartitionStatisticsFile {
  SnapshotId snapshot_id;
  std::string statistics_path;
  int64_t file_size_in_bytes = 0;
  bool operator==(const PartitionStatisticsFile&) const = default;
};

struct EncryptedKey {
  std::string key_id;
  std::string encrypted_key_metadata;  ///< base64 as found
  std::optional<std::string> encrypted_by_id;
  std::map<std::string, std::string> properties;
  bool operator==(const EncryptedKey&) const = default;
};

/// A table's metadata.json as a value (spec section 1). Immutable by convention: changes go through
/// TableMetadataBuilder, which enforces section 1.5. Share by TableMetadataPtr; then thread-safe.
struct TableMetadata {
  int format_version = 2;
  Uuid table_uuid;       ///< all zero when a v1 table has none
  std::string location;  ///< no trailing slash
  SequenceNumber last_sequence_number{0};
  int64_t last_updated_ms = 0;
  FieldId last_column_id{0};
  SchemaId current_schema_id{0};
  std::vector<SchemaPtr> schemas;
  SpecId default_spec_id{0};
  std::vector<PartitionSpec> partition_specs;
  FieldId last_partition_id{999};
  SortOrderId default_sort_order_id{0};
  std::vector<SortOrder> sort_orders;
  std::map<std::string, std::string> properties;
  std::optional<SnapshotId> current_snapshot_id;
  RowId next_row_id{0};  ///< v3
  std::vector<EncryptedKey> encryption_keys;
  std::map<std::string, SnapshotRef> refs;
  std::vector<Snapshot> snapshots;
  std::vector<StatisticsFile> statistics;
  std::vector<PartitionStatisticsFile> partition_statistics;
  std::vector<SnapshotLogEntry> snapshot_log;
  std::vector<MetadataLogEntry> metadata_log;

  SchemaPtr schema() const;                 ///< the current one
  SchemaPtr FindSchema(SchemaId id) const;  ///< null when there is none
  const PartitionSpec& default_spec() const;
  const PartitionSpec* FindSpec(SpecId id) const;
  const SortOrder& default_sort_order() const;
  const Snapshot* FindSnapshot(SnapshotId id) const;
  const Snapshot* current_snapshot() const;  ///< head of main; null when there is none
  /// Head of a branch or target of a tag; null when there is none.
  const Snapshot* FindRef(const std::string& name) const;
  /// Schema to read a snapshot with (section 2.4): its schema-id, else the current schema.
  SchemaPtr SchemaOf(const Snapshot& snapshot) const;
  /// Latest snapshot-log entry at or before the time (section 2.4); kNotFound when there is none.
  Result<SnapshotId> SnapshotAsOf(int64_t timestamp_ms) const;

  /// A property or its default.
  std::string Property(const std::string& key, const std::string& fallback) const;
  /// A whole number; kInvalidTable naming key and text when it is not one.
  Result<int64_t> IntProperty(const std::string& key, int64_t fallback) const;
  bool BoolProperty(const std::string& key, bool fallback) const;

  /// Everything equal, schemas by content.
  bool operator==(const TableMetadata& other) const;
};

using TableMetadataPtr = std::shared_ptr<const TableMetadata>;

}  // namespace frazil::spec
