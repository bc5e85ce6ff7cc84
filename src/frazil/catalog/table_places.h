#pragma once

#include <string>

#include "frazil/catalog/catalog.h"

namespace frazil::catalog {

/// What a catalog can do besides that knows where a table will lie before it is there: for tables whose first commit holds
/// rows (table/table_creation.h).
class TablePlaces {
 public:
  virtual ~TablePlaces() = default;

  /// The location that CreateTable would choose. Fails like it when the name is taken, or its namespace is not there.
  virtual Result<std::string> PlaceForNew(const TableName& name) const = 0;
};

/// TablePlaces of a catalog; kNotSupported when it has none.
inline Result<std::string> PlaceForNew(const Catalog& catalog, const TableName& name) {
  const auto* places = dynamic_cast<const TablePlaces*>(&catalog);
  if (places != nullptr) return places->PlaceForNew(name);
  return Fail(ErrorCode::kNotSupported, "catalog {} does not say where it puts tables", catalog.name());
}

}  // namespace frazil::catalog
