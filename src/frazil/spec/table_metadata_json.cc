#include "frazil/spec/table_metadata_json.h"

#include <algorithm>
#include <utility>

#include "frazil/spec/schema_json_internal.h"
#include "frazil/spec/snapshot_json_internal.h"
#include "frazil/spec/statistics_json_internal.h"
#include "frazil/spec/table_metadata_check.h"

namespace frazil::spec {
namespace {

constexpr int kMaxFormatVersion = 3;
/// Written by v1 and v2 for "no snapshot"; v3 writes null.
constexpr int64_t kNoSnapshot = -1;

/// Reads one metadata.json, member by member in the order of section 1.2's messages.
class Reader {
 public:
  explicit Reader(const JsonObject& root) : root_(root) {}

  Result<TableMetadata> Read() && {
    FRAZIL_TRY(ReadScalars());
    FRAZIL_TRY(ReadSchemas());
    FRAZIL_TRY(ReadPartitionSpecs());
    FRAZIL_TRY(ReadSortOrders());
    FRAZIL_TRY(ReadSnapshots());
    FRAZIL_TRY(ReadRefs());
    FRAZIL_TRY(ReadLogs());
    FRAZIL_TRY(CheckTableMetadata(out_));
    return std::move(out_);
  }

 private:
  bool is_v1() const { return out_.format_version == 1; }

  template <typename Item>
  Status ReadList(const Json* list, Result<Item> (*parse)(const Json&), std::vector<Item>& into) {
    if (list == nullptr) return {};
    for (const Json& json : *list) {
      FRAZIL_ASSIGN(Item item, parse(json));
      into.push_back(std::move(item));
    }
    return {};
  }

  /// A list that v2 made mandatory; null in v1 when absent.
  Result<const Json*> ListOfV2(std::string_view member) {
    FRAZIL_ASSIGN(const Json* list, root_.OptionalArray(member));
    if (list == nullptr && !is_v1()) {
      return Fail(ErrorCode::kInvalidTable, "{} must exist in format v{}", member, out_.format_version);
    }
    return list;
  }

  Status ReadScalars() {
    FRAZIL_ASSIGN(out_.format_version, root_.Int32("format-version"));
    if (out_.format_version > kMaxFormatVersion) {
      return Fail(ErrorCode::kNotSupported, "Cannot read unsupported version {}", out_.format_version);
    }
    if (out_.format_version < 1) {
      return Fail(ErrorCode::kInvalidTable, "Cannot read unsupported version {}", out_.format_version);
    }
    FRAZIL_ASSIGN(std::optional<std::string> uuid, root_.OptionalString("table-uuid"));
    if (uuid) {
      Result<Uuid> parsed = Uuid::Parse(*uuid);
      if (!parsed) return Fail(ErrorCode::kInvalidTable, "table-uuid is not a UUID: {}", *uuid);
      out_.table_uuid = *parsed;
    }
    FRAZIL_ASSIGN(std::string location, root_.String("location"));
    out_.location = StripTrailingSlashes(std::move(location));
    if (!is_v1()) {
      FRAZIL_ASSIGN(int64_t last_sequence_number, root_.Int64("last-sequence-number"));
      out_.last_sequence_number = SequenceNumber{last_sequence_number};
    }
    FRAZIL_ASSIGN(int32_t last_column_id, root_.Int32("last-column-id"));
    out_.last_column_id = FieldId{last_column_id};
    return {};
  }

  Status ReadSchemas() {
    FRAZIL_ASSIGN(const Json* list, ListOfV2("schemas"));
    FRAZIL_TRY(ReadList(list, &SchemaFromJson, out_.schemas));
    FRAZIL_ASSIGN(std::optional<int32_t> current, root_.OptionalInt32("current-schema-id"));
    if (list != nullptr && current) {
      out_.current_schema_id = SchemaId{*current};
    } else if (is_v1()) {
      FRAZIL_ASSIGN(const Json* json, root_.Require("schema"));
      FRAZIL_ASSIGN(SchemaPtr schema, SchemaFromJson(*json));
      if (list == nullptr) out_.schemas.push_back(schema);
      // v1 writes the current schema a second time, often without its id.
      auto same = std::find_if(out_.schemas.begin(), out_.schemas.end(),
                               [&](const SchemaPtr& known) { return known->SameAs(*schema); });
      out_.current_schema_id = same == out_.schemas.end() ? schema->id() : (*same)->id();
    } else {
      FRAZIL_TRY(root_.Require("current-schema-id"));
    }
    return CheckCurrentSchema(out_);
  }

  Status ReadPartitionSpecs() {
    FRAZIL_ASSIGN(const Json* list, ListOfV2("partition-specs"));
    if (list != nullptr) {
      FRAZIL_TRY(ReadList(list, &PartitionSpecFromJson, out_.partition_specs));
    } else {
      FRAZIL_ASSIGN(const Json* json, root_.Array("partition-spec"));
      FRAZIL_ASSIGN(std::vector<PartitionField> fields, PartitionFieldsFromJson(*json));
      out_.partition_specs.emplace_back(SpecId{0}, std::move(fields));
    }
    FRAZIL_ASSIGN(std::optional<int32_t> default_id, root_.OptionalInt32("default-spec-id"));
    if (default_id && list != nullptr) {
      out_.default_spec_id = SpecId{*default_id};
    } else if (is_v1()) {
      // Old writers left the id out; the newest spec is the one they used.
      for (const PartitionSpec& spec : out_.partition_specs) {
        out_.default_spec_id = std::max(out_.default_spec_id, spec.id());
      }
    } else {
      FRAZIL_TRY(root_.Require("default-spec-id"));
    }
    FRAZIL_ASSIGN(std::optional<int32_t> last_id, root_.OptionalInt32("last-partition-id"));
    if (last_id) {
      out_.last_partition_id = FieldId{*last_id};
      return {};
    }
    if (!is_v1()) {
      return Fail(ErrorCode::kInvalidTable, "last-partition-id must exist in format v{}", out_.format_version);
    }
    for (const PartitionSpec& spec : out_.partition_specs) {
      out_.last_partition_id = std::max(out_.last_partition_id, spec.last_assigned_field_id());
    }
    return {};
  }

  Status ReadSortOrders() {
    FRAZIL_ASSIGN(const Json* list, ListOfV2("sort-orders"));
    if (list == nullptr) {
      out_.sort_orders.emplace_back();
      return {};
    }
    FRAZIL_TRY(ReadList(list, &SortOrderFromJson, out_.sort_orders));
    FRAZIL_ASSIGN(std::optional<int32_t> default_id, root_.OptionalInt32("default-sort-order-id"));
    if (!default_id && !is_v1()) FRAZIL_TRY(root_.Require("default-sort-order-id"));
    out_.default_sort_order_id = SortOrderId{default_id.value_or(0)};
    return {};
  }

  Status ReadSnapshots() {
    FRAZIL_ASSIGN(out_.properties, root_.OptionalStringMap("properties"));
    FRAZIL_ASSIGN(std::optional<int64_t> current, root_.OptionalInt64("current-snapshot-id"));
    if (current && *current != kNoSnapshot) out_.current_snapshot_id = SnapshotId{*current};
    FRAZIL_ASSIGN(const Json* snapshots, root_.OptionalArray("snapshots"));
    FRAZIL_TRY(ReadList(snapshots, &SnapshotFromJson, out_.snapshots));
    FRAZIL_ASSIGN(const Json* statistics, root_.OptionalArray("statistics"));
    FRAZIL_TRY(ReadList(statistics, &StatisticsFileFromJson, out_.statistics));
    FRAZIL_ASSIGN(const Json* partition_statistics, root_.OptionalArray("partition-statistics"));
    FRAZIL_TRY(ReadList(partition_statistics, &PartitionStatisticsFileFromJson, out_.partition_statistics));
    if (out_.format_version >= 3) {
      FRAZIL_ASSIGN(int64_t next_row_id, root_.Int64("next-row-id"));
      out_.next_row_id = RowId{next_row_id};
      FRAZIL_ASSIGN(const Json* keys, root_.OptionalArray("encryption-keys"));
      return ReadList(keys, &EncryptedKeyFromJson, out_.encryption_keys);
    }
    // What a version does not have must not come alive after an upgrade.
    for (Snapshot& snapshot : out_.snapshots) {
      if (is_v1()) snapshot.sequence_number = SequenceNumber{0};
      snapshot.first_row_id.reset();
      snapshot.added_rows.reset();
      snapshot.key_id.reset();
    }
    return {};
  }

  Status ReadRefs() {
    if (root_.Has("refs")) {
      FRAZIL_ASSIGN(JsonObject refs, root_.Object("refs"));
      for (const auto& [name, json] : refs.json().items()) {
        FRAZIL_ASSIGN(SnapshotRef ref, SnapshotRefFromJson(json));
        out_.refs.emplace(name, ref);
      }
    }
    // Also when only main is missing from the map: some writers list nothing but tags there.
    if (out_.current_snapshot_id) {
      SnapshotRef main;
      main.snapshot_id = *out_.current_snapshot_id;
      out_.refs.try_emplace(kMainBranch, main);
    }
    return {};
  }

  Status ReadLogs() {
    FRAZIL_ASSIGN(out_.last_updated_ms, root_.Int64("last-updated-ms"));
    FRAZIL_ASSIGN(const Json* snapshot_log, root_.OptionalArray("snapshot-log"));
    FRAZIL_TRY(ReadList<SnapshotLogEntry>(snapshot_log, &SnapshotLogEntryFromJson, out_.snapshot_log));
    FRAZIL_ASSIGN(const Json* metadata_log, root_.OptionalArray("metadata-log"));
    return ReadList<MetadataLogEntry>(metadata_log, &MetadataLogEntryFromJson, out_.metadata_log);
  }

  static Result<SnapshotLogEntry> SnapshotLogEntryFromJson(const Json& json) {
    FRAZIL_ASSIGN(JsonObject object, JsonObject::Of(json, "snapshot-log entry"));
    SnapshotLogEntry entry;
    FRAZIL_ASSIGN(entry.timestamp_ms, object.Int64("timestamp-ms"));
    FRAZIL_ASSIGN(int64_t snapshot_id, object.Int64("snapshot-id"));
    entry.snapshot_id = SnapshotId{snapshot_id};
    return entry;
  }

  static Result<MetadataLogEntry> MetadataLogEntryFromJson(const Json& json) {
    FRAZIL_ASSIGN(JsonObject object, JsonObject::Of(json, "metadata-log entry"));
    MetadataLogEntry entry;
    FRAZIL_ASSIGN(entry.timestamp_ms, object.Int64("timestamp-ms"));
    FRAZIL_ASSIGN(entry.metadata_file, object.String("metadata-file"));
    return entry;
  }

  const JsonObject& root_;
  TableMetadata out_;
};

Result<TableMetadata> Read(std::string_view text) {
  FRAZIL_ASSIGN(Json json, ParseJson(text, "table metadata"));
  FRAZIL_ASSIGN(JsonObject root, JsonObject::Of(json, "table metadata"));
  return Reader(root).Read();
}

template <typename Item, typename ToJson>
OrderedJson ListToJson(const std::vector<Item>& items, ToJson to_json) {
  OrderedJson list = OrderedJson::array();
  for (const Item& item : items) list.push_back(to_json(item));
  return list;
}

OrderedJson ToJson(const TableMetadata& metadata) {
  OrderedJson json = OrderedJson::object();
  json["format-version"] = metadata.format_version;
  json["table-uuid"] = metadata.table_uuid.ToString();
  json["location"] = metadata.location;
  json["last-sequence-number"] = metadata.last_sequence_number.value();
  json["last-updated-ms"] = metadata.last_updated_ms;
  json["last-column-id"] = metadata.last_column_id.value();
  json["current-schema-id"] = metadata.current_schema_id.value();
  json["schemas"] = ListToJson(metadata.schemas, [](const SchemaPtr& schema) { return SchemaToJson(*schema); });
  json["default-spec-id"] = metadata.default_spec_id.value();
  json["partition-specs"] = ListToJson(metadata.partition_specs, PartitionSpecToJson);
  json["last-partition-id"] = metadata.last_partition_id.value();
  json["default-sort-order-id"] = metadata.default_sort_order_id.value();
  json["sort-orders"] = ListToJson(metadata.sort_orders, SortOrderToJson);
  json["properties"] = metadata.properties;
  OrderedJson& current = json["current-snapshot-id"];
  if (metadata.current_snapshot_id) {
    current = metadata.current_snapshot_id->value();
  } else if (metadata.format_version < 3) {
    current = kNoSnapshot;
  }  // else null: v3 has no number for "none"
  if (metadata.format_version >= 3) {
    json["next-row-id"] = metadata.next_row_id.value();
    if (!metadata.encryption_keys.empty()) {
      json["encryption-keys"] = ListToJson(metadata.encryption_keys, EncryptedKeyToJson);
    }
  }
  OrderedJson& refs = json["refs"] = OrderedJson::object();
  for (const auto& [name, ref] : metadata.refs) refs[name] = SnapshotRefToJson(ref);
  json["snapshots"] = ListToJson(metadata.snapshots, SnapshotToJson);
  json["statistics"] = ListToJson(metadata.statistics, StatisticsFileToJson);
  json["partition-statistics"] = ListToJson(metadata.partition_statistics, PartitionStatisticsFileToJson);
  json["snapshot-log"] = ListToJson(metadata.snapshot_log, [](const SnapshotLogEntry& entry) {
    return OrderedJson{{"timestamp-ms", entry.timestamp_ms}, {"snapshot-id", entry.snapshot_id.value()}};
  });
  json["metadata-log"] = ListToJson(metadata.metadata_log, [](const MetadataLogEntry& entry) {
    return OrderedJson{{"timestamp-ms", entry.timestamp_ms}, {"metadata-file", entry.metadata_file}};
  });
  return json;
}

}  // namespace

Result<TableMetadataPtr> ParseTableMetadata(std::string_view json, const std::string& path) {
  Result<TableMetadata> metadata = Read(json);
  if (!metadata) return tl::unexpected(std::move(metadata).error().WithContext("reading table metadata: " + path));
  return std::make_shared<const TableMetadata>(*std::move(metadata));
}

Result<std::string> WriteTableMetadata(const TableMetadata& metadata) {
  if (metadata.format_version < 2) {
    return Fail(ErrorCode::kNotSupported, "tables of format version 1 are read, but not written; upgrade to v2 or v3");
  }
  try {
    return ToJson(metadata).dump(-1, ' ', false, OrderedJson::error_handler_t::strict);
  } catch (const OrderedJson::exception& error) {
    // A replacement character in a path or name would point somewhere else, so bad text is refused, not mended.
    return Fail(ErrorCode::kInvalidArgument, "table metadata holds text that is not UTF-8: {}", error.what());
  }
}

}  // namespace frazil::spec
