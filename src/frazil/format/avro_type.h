#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "frazil/base/result.h"
#include "frazil/spec/type.h"

namespace frazil::format {

/// Avro schema JSON of a record with these Iceberg fields, as Java writes it (spec sections 3.5, 7.2): field ids, optional
/// fields as unions with null first, maps with other than string keys as arrays of `k<id>_v<id>` records, nested records
/// named `r<field id>`, names that Avro does not take sanitised; no type is referred to by name. kNotSupported naming the field for types that have no
/// place in manifests (unknown, variant, geometry, geography).
Result<std::string> WriteAvroSchema(std::string_view record_name, const std::vector<spec::Field>& fields);

/// Java's replacement for characters that Avro names may not have: "a b" -> "a_x20b", "1st" -> "_1st".
std::string SanitizeAvroName(std::string_view name);

}  // namespace frazil::format
