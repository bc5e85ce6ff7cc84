#pragma once

#include <string>

#include "frazil/base/test_support.h"
#include "frazil/catalog/catalog.h"

namespace frazil::catalog {

/// A request for a table of two columns, id and name.
inline spec::CreateTableRequest SmallTable(std::map<std::string, std::string> properties = {}) {
  using spec::FieldId;
  using spec::Type;
  using spec::TypeId;
  spec::CreateTableRequest request;
  request.schema = *spec::Schema::Make(spec::SchemaId{0},
                                       {{FieldId{1}, "id", true, Type::Primitive(TypeId::kLong)},
                                        {FieldId{2}, "name", false, Type::Primitive(TypeId::kString)}},
                                       {FieldId{1}});
  request.properties = std::move(properties);
  return request;
}

inline std::vector<spec::TableUpdate> SetProperty(const std::string& key, const std::string& value) {
  return {spec::update::SetProperties{{{key, value}}}};
}

inline std::string PropertyOf(const LoadedTable& table, const std::string& key) {
  return table.metadata->Property(key, "<none>");
}

}  // namespace frazil::catalog
