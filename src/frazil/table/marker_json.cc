#include <nlohmann/json.hpp>

#include "frazil/base/number_text.h"
#include "frazil/spec/json_access.h"
#include "frazil/table/marker.h"

namespace frazil::table {
namespace {

using spec::Json;
using spec::JsonObject;
using spec::OrderedJson;

OrderedJson PipelinesToJson(const Marker& marker) {
  OrderedJson pipelines = OrderedJson::object();
  for (const auto& [id, pipeline] : marker.pipelines) {
    OrderedJson partitions = OrderedJson::object();
    for (const auto& [partition, offset] : pipeline.partitions) {
      OrderedJson pair = OrderedJson::array({offset.next});
      if (offset.leader_epoch) pair.push_back(*offset.leader_epoch);
      partitions[std::to_string(partition)] = std::move(pair);
    }
    OrderedJson json = {{"writer", pipeline.writer},
                        {"source", pipeline.source},
                        {"partitions", std::move(partitions)},
                        {"committed-at", pipeline.committed_at_ms}};
    if (pipeline.valid_through_ms) json["valid-through"] = *pipeline.valid_through_ms;
    if (pipeline.num_partitions) json["partition-count"] = *pipeline.num_partitions;
    if (!pipeline.key_schema_ids.empty()) json["key-schema-ids"] = pipeline.key_schema_ids;
    if (!pipeline.value_schema_ids.empty()) json["schema-ids"] = pipeline.value_schema_ids;
    pipelines[id] = std::move(json);
  }
  return pipelines;
}

Result<PartitionOffset> OffsetFromJson(const Json& json) {
  if (!json.is_array() || json.empty() || json.size() > 2) {
    return Fail(ErrorCode::kInvalidTable, "marker: an offset must be [next] or [next, epoch]");
  }
  PartitionOffset offset;
  FRAZIL_ASSIGN(offset.next, spec::AsInt64(json[0], "marker offset"));
  if (json.size() == 2) {
    FRAZIL_ASSIGN(offset.leader_epoch, spec::AsInt32(json[1], "marker leader epoch"));
  }
  return offset;
}

Result<Marker> PipelinesFromJson(const JsonObject& parent) {
  Marker marker;
  FRAZIL_ASSIGN(const JsonObject pipelines, parent.Object("pipelines"));
  for (const auto& [id, json] : pipelines.json().items()) {
    FRAZIL_ASSIGN(const JsonObject object, JsonObject::Of(json, "marker pipeline"));
    PipelineMarker& pipeline = marker.pipelines[id];
    FRAZIL_ASSIGN(pipeline.writer, object.String("writer"));
    FRAZIL_ASSIGN(pipeline.source, object.StringMap("source"));
    FRAZIL_ASSIGN(pipeline.committed_at_ms, object.Int64("committed-at"));
    FRAZIL_ASSIGN(pipeline.valid_through_ms, object.OptionalInt64("valid-through"));
    FRAZIL_ASSIGN(pipeline.num_partitions, object.OptionalInt32("partition-count"));
    if (object.Has("key-schema-ids")) {
      FRAZIL_ASSIGN(pipeline.key_schema_ids, object.Int32List("key-schema-ids"));
    }
    if (object.Has("schema-ids")) {
      FRAZIL_ASSIGN(pipeline.value_schema_ids, object.Int32List("schema-ids"));
    }
    FRAZIL_ASSIGN(const JsonObject partitions, object.Object("partitions"));
    for (const auto& [number, offset] : partitions.json().items()) {
      const auto partition = ReadNumber<int32_t>(number);
      if (!partition || *partition < 0) {
        return Fail(ErrorCode::kInvalidTable, "marker: not a partition number: '{}'", number);
      }
      FRAZIL_ASSIGN(pipeline.partitions[*partition], OffsetFromJson(offset));
    }
  }
  return marker;
}

}  // namespace

std::string WriteMarkerJson(const Marker& marker, spec::SnapshotId self) {
  return spec::DumpJson({{"self", self.value()}, {"pipelines", PipelinesToJson(marker)}});
}

Result<std::optional<Marker>> ParseMarkerJson(std::string_view text, spec::SnapshotId self) {
  FRAZIL_ASSIGN(const Json json, spec::ParseJson(text, "marker"));
  FRAZIL_ASSIGN(const JsonObject object, JsonObject::Of(json, "marker"));
  FRAZIL_ASSIGN(const int64_t carried_by, object.Int64("self"));
  if (carried_by != self.value()) return std::nullopt;
  FRAZIL_ASSIGN(Marker marker, PipelinesFromJson(object));
  return marker;
}

std::string WriteMarkerPropertyJson(const MarkerProperty& property) {
  OrderedJson json = {{"table-uuid", property.table_uuid.ToString()}};
  if (property.head) json["head"] = property.head->value();
  json["pipelines"] = PipelinesToJson(property.marker);
  return spec::DumpJson(json);
}

Result<MarkerProperty> ParseMarkerPropertyJson(std::string_view text) {
  FRAZIL_ASSIGN(const Json json, spec::ParseJson(text, "marker property"));
  FRAZIL_ASSIGN(const JsonObject object, JsonObject::Of(json, "marker property"));
  MarkerProperty property;
  FRAZIL_ASSIGN(const std::string uuid, object.String("table-uuid"));
  FRAZIL_ASSIGN(property.table_uuid, Uuid::Parse(uuid));
  FRAZIL_ASSIGN(const std::optional<int64_t> head, object.OptionalInt64("head"));
  if (head) property.head = spec::SnapshotId(*head);
  FRAZIL_ASSIGN(property.marker, PipelinesFromJson(object));
  return property;
}

}  // namespace frazil::table
