#include "frazil/ingest/avro_schema_cache.h"

namespace frazil::ingest {

namespace {
// References may lead back to where they came from.
constexpr size_t kMaxReferences = 1'000;
}  // namespace

/// Texts of the referenced schemas, those that others need first.
struct AvroSchemaCache::Definitions {
  std::set<std::pair<std::string, int>> seen;
  std::vector<std::string> texts;
};

Status AvroSchemaCache::Collect(const RegisteredSchema& schema, Definitions& out) {
  for (const RegisteredSchema::Reference& reference : schema.references) {
    if (!out.seen.emplace(reference.subject, reference.version).second) continue;
    if (out.seen.size() > kMaxReferences) {
      return Fail(ErrorCode::kNotSupported, "Avro schema {} has more than {} references", schema.id, kMaxReferences);
    }
    FRAZIL_ASSIGN(const std::shared_ptr<const RegisteredSchema> referenced,
                  registry_->BySubject(reference.subject, reference.version));
    FRAZIL_TRY(Collect(*referenced, out));
    out.texts.push_back(referenced->text);
  }
  return {};
}

Result<format::AvroNodePtr> AvroSchemaCache::Parse(const RegisteredSchema& schema) {
  if (schema.type != "AVRO") {
    return Fail(ErrorCode::kNotSupported, "schema {} of the registry is no Avro: {}", schema.id, schema.type);
  }
  if (schema.references.empty()) return format::ParseAvroSchema(schema.text);
  Definitions definitions;
  FRAZIL_TRY(Collect(schema, definitions));
  // A union defines its branches one after another, and each may use the names before it.
  std::string text = "[";
  for (const std::string& definition : definitions.texts) text += definition + ",";
  FRAZIL_ASSIGN(const format::AvroNodePtr all, format::ParseAvroSchema(text + schema.text + "]"));
  return all->children.back();
}

Result<format::AvroNodePtr> AvroSchemaCache::ById(int32_t id) {
  if (const auto known = by_id_.find(id); known != by_id_.end()) return known->second;
  FRAZIL_ASSIGN(const std::shared_ptr<const RegisteredSchema> registered, registry_->ById(id));
  auto parsed = Parse(*registered);
  if (!parsed) {
    return tl::unexpected(std::move(parsed).error().WithContext(fmt::format("schema {} of the registry", id)));
  }
  by_id_.emplace(id, *parsed);
  return parsed;
}

}  // namespace frazil::ingest
