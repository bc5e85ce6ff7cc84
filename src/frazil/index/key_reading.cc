#include "frazil/index/key_reading.h"

#include "frazil/spec/json_access.h"
#include "frazil/spec/name_mapping.h"
#include "frazil/spec/schema_json.h"

namespace frazil::index {

std::string KeyReading(const spec::TableMetadata& metadata, const CanonicalKey& key) {
  const auto mapping = spec::NameMappingOf(metadata);
  // Whoever reads a file that needs it says what is wrong.
  if (!mapping) return metadata.Property(spec::kNameMappingProperty, "");
  std::string reading;
  for (const spec::FieldId id : key.field_ids()) {
    reading += fmt::format("{}:", id);
    for (const auto& [name, mapped] : *mapping) {
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
