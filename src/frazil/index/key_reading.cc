#include "frazil/index/key_reading.h"

#include "frazil/spec/json_access.h"
#include "frazil/spec/name_mapping.h"
#include "frazil/spec/schema_json.h"

namespace frazil::index {

std::string KeyReading(const spec::TableMetadata& metadata, const CanonicalKey& key) {
  std::string text = metadata.Property(spec::kNameMappingProperty, "");
  std::map<std::string, spec::FieldId> mapping;
  if (!text.empty()) {
    auto parsed = spec::ParseNameMapping(text);
    if (!parsed) return text;  // whoever reads a file that needs it says what is wrong
    mapping = *std::move(parsed);
  }
  std::string reading;
  for (const spec::FieldId id : key.field_ids()) {
    reading += fmt::format("{}:", id);
    for (const auto& [name, mapped] : mapping) {
      if (mapped == id) reading += " " + spec::DumpJson(spec::OrderedJson(name));
    }
    const spec::Field& field = *metadata.schema()->FindField(id);
    if (!spec::IsNull(field.initial_default)) {
      reading += " or " + spec::WriteValueJson(field.type, field.initial_default);
    }
    reading += '\n';
  }
  return reading;
}

}  // namespace frazil::index
