#include "frazil/spec/table_metadata.h"

#include <algorithm>
#include <charconv>

#include "frazil/spec/ascii.h"

namespace frazil::spec {
namespace {

// Lists of metadata are short or sorted by nothing; a scan beats an index that every copy would have to carry.
template <typename List, typename Predicate>
auto FindIn(const List& list, Predicate predicate) -> const typename List::value_type* {
  auto found = std::find_if(list.begin(), list.end(), predicate);
  return found == list.end() ? nullptr : &*found;
}

bool SameSchemas(const std::vector<SchemaPtr>& left, const std::vector<SchemaPtr>& right) {
  return std::equal(left.begin(), left.end(), right.begin(), right.end(), [](const SchemaPtr& a, const SchemaPtr& b) {
    return a == b || (a->id() == b->id() && a->SameAs(*b));
  });
}

}  // namespace

SchemaPtr TableMetadata::schema() const { return FindSchema(current_schema_id); }

SchemaPtr TableMetadata::FindSchema(SchemaId id) const {
  const SchemaPtr* found = FindIn(schemas, [&](const SchemaPtr& schema) { return schema->id() == id; });
  return found == nullptr ? nullptr : *found;
}

const PartitionSpec* TableMetadata::FindSpec(SpecId id) const {
  return FindIn(partition_specs, [&](const PartitionSpec& spec) { return spec.id() == id; });
}

const PartitionSpec& TableMetadata::default_spec() const {
  static const PartitionSpec unpartitioned;
  const PartitionSpec* found = FindSpec(default_spec_id);
  return found == nullptr ? unpartitioned : *found;
}

const SortOrder& TableMetadata::default_sort_order() const {
  static const SortOrder unsorted;
  const SortOrder* found =
      FindIn(sort_orders, [&](const SortOrder& order) { return order.id == default_sort_order_id; });
  return found == nullptr ? unsorted : *found;
}

const Snapshot* TableMetadata::FindSnapshot(SnapshotId id) const {
  // From the end: callers mostly ask for recent ones.
  auto found = std::find_if(snapshots.rbegin(), snapshots.rend(), [&](const Snapshot& s) { return s.id == id; });
  return found == snapshots.rend() ? nullptr : &*found;
}

const Snapshot* TableMetadata::current_snapshot() const {
  return current_snapshot_id ? FindSnapshot(*current_snapshot_id) : nullptr;
}

const Snapshot* TableMetadata::FindRef(const std::string& name) const {
  auto found = refs.find(name);
  return found == refs.end() ? nullptr : FindSnapshot(found->second.snapshot_id);
}

SchemaPtr TableMetadata::SchemaOf(const Snapshot& snapshot) const {
  SchemaPtr found = snapshot.schema_id ? FindSchema(*snapshot.schema_id) : nullptr;
  return found == nullptr ? schema() : found;
}

Result<SnapshotId> TableMetadata::SnapshotAsOf(int64_t timestamp_ms) const {
  // The log may run up to a minute backwards (clocks differ), so the last fitting entry wins, not the first unfitting.
  auto found = std::find_if(snapshot_log.rbegin(), snapshot_log.rend(),
                            [&](const SnapshotLogEntry& entry) { return entry.timestamp_ms <= timestamp_ms; });
  if (found == snapshot_log.rend()) {
    return Fail(ErrorCode::kNotFound, "table has no snapshot at or before that time (ms since 1970): {}", timestamp_ms);
  }
  return found->snapshot_id;
}

std::string TableMetadata::Property(const std::string& key, const std::string& fallback) const {
  auto found = properties.find(key);
  return found == properties.end() ? fallback : found->second;
}

Result<int64_t> TableMetadata::IntProperty(const std::string& key, int64_t fallback) const {
  auto found = properties.find(key);
  if (found == properties.end()) return fallback;
  const std::string& text = found->second;
  int64_t value = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) {
    return Fail(ErrorCode::kInvalidTable, "table property {} must be a whole number, but is: {}", key, text);
  }
  return value;
}

bool TableMetadata::BoolProperty(const std::string& key, bool fallback) const {
  auto found = properties.find(key);
  if (found == properties.end()) return fallback;
  // As Java's parseBoolean: anything else is false.
  return EqualsAnyCase(found->second, "true");
}

bool TableMetadata::operator==(const TableMetadata& other) const {
  return format_version == other.format_version && table_uuid == other.table_uuid && location == other.location &&
         last_sequence_number == other.last_sequence_number && last_updated_ms == other.last_updated_ms &&
         last_column_id == other.last_column_id && current_schema_id == other.current_schema_id &&
         SameSchemas(schemas, other.schemas) && default_spec_id == other.default_spec_id &&
         partition_specs == other.partition_specs && last_partition_id == other.last_partition_id &&
         default_sort_order_id == other.default_sort_order_id && sort_orders == other.sort_orders &&
         properties == other.properties && current_snapshot_id == other.current_snapshot_id &&
         next_row_id == other.next_row_id && encryption_keys == other.encryption_keys && refs == other.refs &&
         snapshots == other.snapshots && statistics == other.statistics &&
         partition_statistics == other.partition_statistics && snapshot_log == other.snapshot_log &&
         metadata_log == other.metadata_log;
}

}  // namespace frazil::spec
