#include "frazil/ingest/registry_json.h"

#include <nlohmann/json.hpp>

namespace frazil::ingest {
namespace {

using Json = nlohmann::json;

constexpr size_t kMaxMessage = 300;

/// The object in `body`, or a discarded value.
Json ParseObject(const std::string& body) {
  Json json = Json::parse(body, nullptr, /*allow_exceptions=*/false);
  return json.is_object() ? json : Json(Json::value_t::discarded);
}

std::string TextOf(const Json& json, const char* name, std::string otherwise = "") {
  const auto found = json.find(name);
  return found != json.end() && found->is_string() ? found->get<std::string>() : otherwise;
}

int64_t NumberOf(const Json& json, const char* name) {
  if (!json.is_object()) return 0;
  const auto found = json.find(name);
  return found != json.end() && found->is_number_integer() ? found->get<int64_t>() : 0;
}

}  // namespace

Result<RegisteredSchema> ParseRegisteredSchema(const std::string& body) {
  const Json json = ParseObject(body);
  if (json.is_discarded() || !json.contains("schema") || !json["schema"].is_string()) {
    return Fail(ErrorCode::kInvalidArgument, "the schema registry's answer has no schema");
  }
  RegisteredSchema schema;
  schema.id = static_cast<int32_t>(NumberOf(json, "id"));
  schema.type = TextOf(json, "schemaType", "AVRO");
  schema.text = json["schema"].get<std::string>();
  if (const auto references = json.find("references"); references != json.end() && references->is_array()) {
    for (const Json& reference : *references) {
      if (!reference.is_object()) continue;
      schema.references.push_back(
          {TextOf(reference, "name"), TextOf(reference, "subject"), static_cast<int>(NumberOf(reference, "version"))});
    }
  }
  return schema;
}

std::string WriteSchemaJson(const RegisteredSchema& schema) {
  Json json{{"schema", schema.text}};
  if (schema.type != "AVRO") json["schemaType"] = schema.type;
  for (const auto& reference : schema.references) {
    json["references"].push_back(
        {{"name", reference.name}, {"subject", reference.subject}, {"version", reference.version}});
  }
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

Result<int32_t> ParseSchemaId(const std::string& body) {
  const Json json = ParseObject(body);
  if (json.is_discarded() || !json.contains("id") || !json["id"].is_number_integer()) {
    return Fail(ErrorCode::kInvalidArgument, "the schema registry's answer has no id");
  }
  return static_cast<int32_t>(json["id"].get<int64_t>());
}

bool IsRegistryError(const std::string& body) { return NumberOf(ParseObject(body), "error_code") != 0; }

std::string ErrorMessageOf(const std::string& body) {
  const Json json = ParseObject(body);
  if (json.is_discarded()) return "";
  std::string text = TextOf(json, "message").substr(0, kMaxMessage);
  for (char& c : text) {
    if (static_cast<unsigned char>(c) < ' ') c = ' ';
  }
  return text;
}

}  // namespace frazil::ingest
