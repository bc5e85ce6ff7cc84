#include "frazil/spec/table_metadata_check.h"

#include <set>
#include <unordered_set>

namespace frazil::spec {
namespace {

/// Clocks of writers may differ by so much before a log counts as out of order.
constexpr uint64_t kClockToleranceMs = 60'000;

bool IsTooFarBehind(int64_t timestamp_ms, int64_t previous_ms) {
  // Unsigned difference: hostile timestamps may lie more than 2^63 apart.
  return timestamp_ms<previous_ms&& static_cast<uint64_t>(previous_ms) - static_cast<uint64_t>(timestamp_ms)>
      kClockToleranceMs;
}

template <typename Entry>
Status CheckLog(const std::vector<Entry>& log, int64_t last_updated_ms, std::string_view name) {
  for (size_t i = 1; i < log.size(); ++i) {
    if (IsTooFarBehind(log[i].timestamp_ms, log[i - 1].timestamp_ms)) {
      return Fail(ErrorCode::kInvalidTable, "{} is not sorted by timestamp: {} comes after {}", name,
                  log[i].timestamp_ms, log[i - 1].timestamp_ms);
    }
  }
  if (!log.empty() && IsTooFarBehind(last_updated_ms, log.back().timestamp_ms)) {
    return Fail(ErrorCode::kInvalidTable, "last-updated-ms lies before the last entry of {}: {} < {}", name,
                last_updated_ms, log.back().timestamp_ms);
  }
  return {};
}

template <typename List, typename GetId>
Status CheckUnique(const List& list, GetId get_id, std::string_view name) {
  std::set<decltype(get_id(*list.begin()))> seen;
  for (const auto& item : list) {
    if (!seen.insert(get_id(item)).second) {
      return Fail(ErrorCode::kInvalidTable, "{} holds an id twice: {}", name, get_id(item));
    }
  }
  return {};
}

Status CheckSchemasSpecsAndOrders(const TableMetadata& metadata) {
  FRAZIL_TRY(CheckUnique(
      metadata.schemas, [](const SchemaPtr& schema) { return schema->id(); }, "schemas"));
  FRAZIL_TRY(CheckCurrentSchema(metadata));
  SchemaPtr schema = metadata.schema();
  FRAZIL_TRY(CheckUnique(
      metadata.partition_specs, [](const PartitionSpec& s) { return s.id(); }, "partition-specs"));
  const PartitionSpec* spec = metadata.FindSpec(metadata.default_spec_id);
  if (spec == nullptr) {
    return Fail(ErrorCode::kInvalidTable, "Cannot find partition spec with default-spec-id={} from partition-specs",
                metadata.default_spec_id);
  }
  // Only the default spec has to fit the current schema; older ones may name columns that are gone (rule 5).
  for (const PartitionField& field : spec->fields()) {
    if (field.transform.kind() != Transform::Kind::kVoid && schema->FindField(field.source_id) == nullptr) {
      return Fail(ErrorCode::kInvalidTable, "Cannot find source column for partition field: {} (source-id {})",
                  field.name, field.source_id);
    }
  }
  FRAZIL_TRY(CheckUnique(
      metadata.sort_orders, [](const SortOrder& order) { return order.id; }, "sort-orders"));
  bool has_default_order = false;
  for (const SortOrder& order : metadata.sort_orders) {
    if (order.id == SortOrderId{0} && order.is_sorted()) {
      return Fail(ErrorCode::kInvalidTable, "Sort order ID 0 is reserved for unsorted order, but has fields: {}",
                  order.fields.size());
    }
    if (order.id != metadata.default_sort_order_id) continue;
    has_default_order = true;
    for (const SortField& field : order.fields) {
      if (schema->FindField(field.source_id) == nullptr) {
        return Fail(ErrorCode::kInvalidTable, "Cannot find source column for sort field: source-id {}",
                    field.source_id);
      }
    }
  }
  if (!has_default_order) {
    return Fail(ErrorCode::kInvalidTable, "Cannot find sort order with default-sort-order-id={} from sort-orders",
                metadata.default_sort_order_id);
  }
  return {};
}

Status CheckSnapshotsAndRefs(const TableMetadata& metadata) {
  FRAZIL_TRY(CheckUnique(
      metadata.snapshots, [](const Snapshot& snapshot) { return snapshot.id; }, "snapshots"));
  std::unordered_set<SnapshotId> known;
  for (const Snapshot& snapshot : metadata.snapshots) {
    known.insert(snapshot.id);
    if (metadata.format_version == 1) continue;
    if (snapshot.sequence_number > metadata.last_sequence_number) {
      return Fail(ErrorCode::kInvalidTable, "snapshot {} has a sequence number above last-sequence-number: {} > {}",
                  snapshot.id, snapshot.sequence_number, metadata.last_sequence_number);
    }
    if (snapshot.manifest_list.empty()) {
      return Fail(ErrorCode::kInvalidTable, "snapshot without manifest-list, which only format v1 allows: {}",
                  snapshot.id);
    }
  }
  for (const auto& [name, ref] : metadata.refs) {
    if (!known.contains(ref.snapshot_id)) {
      return Fail(ErrorCode::kInvalidTable,
                  "Snapshot for reference {} does not exist in the existing snapshots list: {}", name, ref.snapshot_id);
    }
  }
  auto main = metadata.refs.find(kMainBranch);
  if (!metadata.current_snapshot_id) {
    if (main != metadata.refs.end()) {
      return Fail(ErrorCode::kInvalidTable, "Current snapshot is not set, but main branch exists: {}",
                  main->second.snapshot_id);
    }
    return {};
  }
  if (main == metadata.refs.end()) {
    return Fail(ErrorCode::kInvalidTable, "Current snapshot is set, but main branch does not exist: {}",
                *metadata.current_snapshot_id);
  }
  if (main->second.snapshot_id != *metadata.current_snapshot_id) {
    return Fail(ErrorCode::kInvalidTable, "Current snapshot ID does not match main branch ({} != {})",
                *metadata.current_snapshot_id, main->second.snapshot_id);
  }
  if (main->second.type != RefType::kBranch) {
    return Fail(ErrorCode::kInvalidTable, "main must be a branch, but is a tag of snapshot {}",
                main->second.snapshot_id);
  }
  return {};
}

}  // namespace

Status CheckTableMetadata(const TableMetadata& metadata) {
  if (metadata.format_version >= 2 && metadata.table_uuid == Uuid()) {
    return Fail(ErrorCode::kInvalidTable, "UUID is required in format v{}", metadata.format_version);
  }
  FRAZIL_TRY(CheckSchemasSpecsAndOrders(metadata));
  if (metadata.next_row_id.value() < 0) {
    return Fail(ErrorCode::kInvalidTable, "next-row-id must not be negative: {}", metadata.next_row_id);
  }
  FRAZIL_TRY(CheckSnapshotsAndRefs(metadata));
  FRAZIL_TRY(CheckLog(metadata.snapshot_log, metadata.last_updated_ms, "snapshot-log"));
  return CheckLog(metadata.metadata_log, metadata.last_updated_ms, "metadata-log");
}

Status CheckCurrentSchema(const TableMetadata& metadata) {
  if (metadata.schema() != nullptr) return {};
  return Fail(ErrorCode::kInvalidTable, "Cannot find schema with current-schema-id={} from schemas",
              metadata.current_schema_id);
}

Status CheckPartitionNamesStayFree(const std::vector<PartitionSpec>& specs, const Schema& before, const Schema& after) {
  const auto is_taken = [](const Schema& schema, const PartitionField& field) {
    const Field* column = schema.FindField(field.name);
    if (column == nullptr) return false;
    const bool keeps_value =
        field.transform.kind() == Transform::Kind::kIdentity || field.transform.kind() == Transform::Kind::kVoid;
    return !keeps_value || column->id != field.source_id;
  };
  for (const PartitionSpec& spec : specs) {
    for (const PartitionField& field : spec.fields()) {
      if (!is_taken(after, field) || is_taken(before, field)) continue;
      return tl::unexpected(
          Error(ErrorCode::kInvalidArgument, "a partition field has the name of the column: " + field.name)
              .WithHint("names of partition fields stay taken, of dropped ones too: no engine on Java could load the "
                        "table; choose another name"));
    }
  }
  return {};
}

std::string StripTrailingSlashes(std::string location) {
  while (location.ends_with('/') && !location.ends_with("://")) location.pop_back();
  return location;
}

}  // namespace frazil::spec
