#pragma once

#include <string>
#include <string_view>

#include "frazil/spec/table_metadata.h"

namespace frazil::spec {

/// Parses a metadata.json of format version 1, 2 or 3 and validates it as spec section 1.2 says (texts included).
/// Unknown members are ignored. Never trusts depth or size. `path` is for messages: kInvalidTable, kCorruptData (not
/// JSON), or kNotSupported (a later version). Gzip is undone by the caller.
Result<TableMetadataPtr> ParseTableMetadata(std::string_view json, const std::string& path);

/// JSON in Java's key order (section 1.1), without white space. Writes v2 and v3; v1 is kNotSupported. kInvalidArgument
/// when a text is not UTF-8.
Result<std::string> WriteTableMetadata(const TableMetadata& metadata);

}  // namespace frazil::spec
