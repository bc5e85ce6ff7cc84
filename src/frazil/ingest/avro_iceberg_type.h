#pragma once

#include <string>

#include "frazil/base/result.h"
#include "frazil/format/avro_schema.h"
#include "frazil/spec/type.h"

namespace frazil::ingest {

/// An Avro type with the null of its union taken off: `["null", T]`, `[T, "null"]`, `[T]` and `T` alike.
struct AvroOptional {
  const format::AvroNode* node = nullptr;  ///< of kind null: nothing but null
  bool is_union = false;
  bool is_nullable = false;
  size_t value_branch = 0;  ///< of a union
};

/// kNotSupported naming `path` for a union of several types.
Result<AvroOptional> WithoutNull(const format::AvroNode& node, const std::string& path);

/// The Iceberg type of an Avro type (decisions.md, Avro -> Iceberg), its ids 0, nested fields optional where Avro allows
/// null. A logical type that does not fit its Avro type is ignored, as Avro says. kNotSupported naming `path` for what has
/// no place in a table: unions of several types, nulls, records without fields, decimals of more than 38 digits.
Result<spec::Type> IcebergTypeFor(const format::AvroNode& node, const std::string& path);

/// A default of an Avro field as a value of `type`; null when there is none, when it is null or when the type is nested.
/// kInvalidArgument naming `path` when it is no value of the type.
Result<spec::Value> AvroDefault(const format::AvroField& field, const spec::Type& type, const std::string& path);

}  // namespace frazil::ingest
