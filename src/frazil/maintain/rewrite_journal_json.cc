#include "frazil/maintain/rewrite_journal_json.h"

#include <nlohmann/json.hpp>

namespace frazil::maintain {
namespace {

using Json = nlohmann::json;

constexpr int kVersion = 1;

Json ToJson(const std::set<EqualityDeleteId>& ids) {
  Json list = Json::array();
  for (const EqualityDeleteId& id : ids) list.push_back({id.path, id.sequence_number.value()});
  return list;
}

std::set<EqualityDeleteId> ParseEqualityDeletes(const Json& list) {
  std::set<EqualityDeleteId> ids;
  for (const Json& id : list) {
    ids.insert({id.at(0).get<std::string>(), spec::SequenceNumber(id.at(1).get<int64_t>())});
  }
  return ids;
}

Json ToJson(const spec::DeleteFileId& id) {
  Json json = {{"path", id.path}};
  if (id.content_offset) json["offset"] = *id.content_offset;
  if (id.content_size_in_bytes) json["size"] = *id.content_size_in_bytes;
  return json;
}

spec::DeleteFileId ParseDeleteFileId(const Json& json) {
  spec::DeleteFileId id{.path = json.at("path").get<std::string>(), .content_offset = {}, .content_size_in_bytes = {}};
  if (json.contains("offset")) id.content_offset = json.at("offset").get<int64_t>();
  if (json.contains("size")) id.content_size_in_bytes = json.at("size").get<int64_t>();
  return id;
}

Result<Json> ToJson(const RewrittenSource& source) {
  Json json = {{"path", source.identity.path}, {"size", source.size_bytes}};
  json["position-deletes"] = Json::array();
  for (const spec::DeleteFileId& id : source.position_deletes) json["position-deletes"].push_back(ToJson(id));
  json["equality-deletes"] = ToJson(source.equality_deletes);
  Bytes blob;
  FRAZIL_TRY(source.dropped_by_position.EncodeTo(blob));
  const auto* bytes = reinterpret_cast<const uint8_t*>(blob.data());
  json["dropped-by-position"] = Json::binary(std::vector<uint8_t>(bytes, bytes + blob.size()));
  return json;
}

Result<RewrittenSource> ParseSource(const Json& json) {
  RewrittenSource source;
  source.identity.path = json.at("path").get<std::string>();
  source.size_bytes = json.at("size").get<int64_t>();
  for (const Json& id : json.at("position-deletes")) source.position_deletes.push_back(ParseDeleteFileId(id));
  source.equality_deletes = ParseEqualityDeletes(json.at("equality-deletes"));
  const auto& blob = json.at("dropped-by-position").get_binary();
  FRAZIL_ASSIGN(source.dropped_by_position,
                format::DeletionVector::Decode(std::as_bytes(std::span(blob.data(), blob.size()))));
  return source;
}

}  // namespace

Result<Bytes> EncodeJournalEntry(const JournalEntry& entry, const RewrittenGroup& group) {
  Json json = {{"version", kVersion},
               {"table-uuid", entry.table_uuid.ToString()},
               {"id", group.id},
               {"partition", group.partition},
               {"branch", group.branch},
               {"snapshot-id", group.snapshot_id.value()},
               {"sequence-number", group.sequence_number.value()},
               {"schema-id", group.schema_id.value()},
               {"spec-id", entry.spec_id.value()},
               {"keeps-partition", group.keeps_partition},
               {"begun-at-ms", group.begun_at_ms},
               {"live-equality-deletes", ToJson(group.live_equality_deletes)}};
  json["sources"] = Json::array();
  for (const RewrittenSource& source : group.sources) {
    FRAZIL_ASSIGN(Json one, ToJson(source));
    json["sources"].push_back(std::move(one));
  }
  const std::vector<uint8_t> bytes = Json::to_cbor(json);
  return CopyBytes(std::as_bytes(std::span(bytes)));
}

Result<JournalEntry> DecodeJournalEntry(ByteView bytes) {
  try {
    const std::string_view text = AsText(bytes);
    const Json json = Json::from_cbor(text.begin(), text.end());
    if (json.at("version").get<int>() != kVersion) {
      return Fail(ErrorCode::kCorruptData, "journal entry of an unknown version: {}", json.at("version").dump());
    }
    JournalEntry entry;
    FRAZIL_ASSIGN(entry.table_uuid, Uuid::Parse(json.at("table-uuid").get<std::string>()));
    entry.spec_id = spec::SpecId(json.at("spec-id").get<int32_t>());
    RewrittenGroup& group = entry.group;
    group.id = json.at("id").get<std::string>();
    group.partition = json.at("partition").get<std::string>();
    group.branch = json.value("branch", std::string(spec::kMainBranch));
    group.snapshot_id = spec::SnapshotId(json.at("snapshot-id").get<int64_t>());
    group.sequence_number = spec::SequenceNumber(json.at("sequence-number").get<int64_t>());
    group.schema_id = spec::SchemaId(json.at("schema-id").get<int32_t>());
    group.keeps_partition = json.at("keeps-partition").get<bool>();
    group.begun_at_ms = json.at("begun-at-ms").get<int64_t>();
    group.live_equality_deletes = ParseEqualityDeletes(json.at("live-equality-deletes"));
    for (const Json& one : json.at("sources")) {
      FRAZIL_ASSIGN(RewrittenSource source, ParseSource(one));
      group.sources.push_back(std::move(source));
    }
    return entry;
  } catch (const Json::exception& error) {
    return Fail(ErrorCode::kCorruptData, "journal entry: {}", error.what());
  }
}

}  // namespace frazil::maintain
