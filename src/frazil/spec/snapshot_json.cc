#include <utility>

#include "frazil/spec/ascii.h"
#include "frazil/spec/snapshot_json_internal.h"

namespace frazil::spec {
namespace {

constexpr char kOperationKey[] = "operation";

template <typename Id, typename Rep>
std::optional<Id> ToId(const std::optional<Rep>& value) {
  return value ? std::optional(Id{*value}) : std::nullopt;
}

OrderedJson SummaryToJson(const Snapshot& snapshot) {
  OrderedJson json = OrderedJson::object();
  if (snapshot.operation) json[kOperationKey] = OperationName(*snapshot.operation);
  for (const auto& [key, value] : snapshot.summary) json[key] = value;
  return json;
}

}  // namespace

OrderedJson SnapshotToJson(const Snapshot& snapshot) {
  OrderedJson json = OrderedJson::object();
  if (snapshot.sequence_number.value() != 0) json["sequence-number"] = snapshot.sequence_number.value();
  json["snapshot-id"] = snapshot.id.value();
  if (snapshot.parent_id) json["parent-snapshot-id"] = snapshot.parent_id->value();
  json["timestamp-ms"] = snapshot.timestamp_ms;
  if (snapshot.operation || !snapshot.summary.empty()) json["summary"] = SummaryToJson(snapshot);
  if (snapshot.manifest_list.empty()) {
    json["manifests"] = snapshot.manifests;
  } else {
    json["manifest-list"] = snapshot.manifest_list;
  }
  if (snapshot.schema_id) json["schema-id"] = snapshot.schema_id->value();
  if (snapshot.first_row_id) json["first-row-id"] = snapshot.first_row_id->value();
  if (snapshot.added_rows) json["added-rows"] = *snapshot.added_rows;
  if (snapshot.key_id) json["key-id"] = *snapshot.key_id;
  return json;
}

Result<Snapshot> SnapshotFromJson(const Json& json) {
  FRAZIL_ASSIGN(JsonObject object, JsonObject::Of(json, "snapshot"));
  Snapshot snapshot;
  FRAZIL_ASSIGN(int64_t id, object.Int64("snapshot-id"));
  snapshot.id = SnapshotId{id};
  FRAZIL_ASSIGN(std::optional<int64_t> parent_id, object.OptionalInt64("parent-snapshot-id"));
  snapshot.parent_id = ToId<SnapshotId>(parent_id);
  FRAZIL_ASSIGN(std::optional<int64_t> sequence_number, object.OptionalInt64("sequence-number"));
  snapshot.sequence_number = SequenceNumber{sequence_number.value_or(0)};
  FRAZIL_ASSIGN(snapshot.timestamp_ms, object.Int64("timestamp-ms"));
  FRAZIL_ASSIGN(std::optional<std::string> manifest_list, object.OptionalString("manifest-list"));
  if (manifest_list) {
    snapshot.manifest_list = *std::move(manifest_list);
  } else if (object.Has("manifests")) {
    FRAZIL_ASSIGN(snapshot.manifests, object.StringList("manifests"));
  }
  if (object.Has("summary")) {
    FRAZIL_ASSIGN(snapshot.summary, object.StringMap("summary"));
    auto operation = snapshot.summary.find(kOperationKey);
    if (operation == snapshot.summary.end()) {
      // Old writers left it out; the least that a reader may assume is that anything changed.
      snapshot.operation = Operation::kOverwrite;
    } else {
      FRAZIL_ASSIGN(snapshot.operation, ParseOperation(operation->second));
      snapshot.summary.erase(operation);
    }
  }
  FRAZIL_ASSIGN(std::optional<int32_t> schema_id, object.OptionalInt32("schema-id"));
  snapshot.schema_id = ToId<SchemaId>(schema_id);
  FRAZIL_ASSIGN(std::optional<int64_t> first_row_id, object.OptionalInt64("first-row-id"));
  snapshot.first_row_id = ToId<RowId>(first_row_id);
  FRAZIL_ASSIGN(snapshot.added_rows, object.OptionalInt64("added-rows"));
  FRAZIL_ASSIGN(snapshot.key_id, object.OptionalString("key-id"));
  return snapshot;
}

OrderedJson SnapshotRefToJson(const SnapshotRef& ref) {
  OrderedJson json = OrderedJson::object();
  json["snapshot-id"] = ref.snapshot_id.value();
  json["type"] = ref.type == RefType::kBranch ? "branch" : "tag";
  if (ref.min_snapshots_to_keep) json["min-snapshots-to-keep"] = *ref.min_snapshots_to_keep;
  if (ref.max_snapshot_age_ms) json["max-snapshot-age-ms"] = *ref.max_snapshot_age_ms;
  if (ref.max_ref_age_ms) json["max-ref-age-ms"] = *ref.max_ref_age_ms;
  return json;
}

Result<SnapshotRef> SnapshotRefFromJson(const Json& json) {
  FRAZIL_ASSIGN(JsonObject object, JsonObject::Of(json, "snapshot reference"));
  SnapshotRef ref;
  FRAZIL_ASSIGN(int64_t id, object.Int64("snapshot-id"));
  ref.snapshot_id = SnapshotId{id};
  FRAZIL_ASSIGN(std::string type, object.String("type"));
  if (EqualsAnyCase(type, "tag")) {
    ref.type = RefType::kTag;
  } else if (!EqualsAnyCase(type, "branch")) {
    return Fail(ErrorCode::kInvalidTable, "snapshot reference: type must be branch or tag, but is: {}", type);
  }
  FRAZIL_ASSIGN(ref.min_snapshots_to_keep, object.OptionalInt32("min-snapshots-to-keep"));
  FRAZIL_ASSIGN(ref.max_snapshot_age_ms, object.OptionalInt64("max-snapshot-age-ms"));
  FRAZIL_ASSIGN(ref.max_ref_age_ms, object.OptionalInt64("max-ref-age-ms"));
  return ref;
}

}  // namespace frazil::spec
