#pragma once

#include <string>

#include <fmt/format.h>

#include "frazil/base/error.h"
#include "frazil/catalog/catalog.h"

namespace frazil::catalog {

/// What loading gives of a table that the catalog has and whose metadata file is not there: kInvalidTable, for it must not look
/// like a table that is gone: CREATE IF NOT EXISTS would go on from there.
inline Error MissingMetadata(const TableName& name, const std::string& location) {
  return {ErrorCode::kInvalidTable, fmt::format("metadata file of table {} is missing: {}", name.ToString(), location)};
}
/// Whether it is that, and not a metadata file that cannot be understood.
inline bool IsMissingMetadata(const Error& error) {
  return error.code() == ErrorCode::kInvalidTable &&
         error.message().find("metadata file of table ") != std::string::npos &&
         error.message().find(" is missing: ") != std::string::npos;
}

}  // namespace frazil::catalog
