#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "frazil/base/result.h"

namespace frazil::format {

/// A node of an Avro schema with the attributes Iceberg adds. Immutable, shared; recursion is refused (kNotSupported).
struct AvroNode;
using AvroNodePtr = std::shared_ptr<const AvroNode>;

enum class AvroKind {
  kNull,
  kBoolean,
  kInt,
  kLong,
  kFloat,
  kDouble,
  kBytes,
  kString,
  kRecord,
  kEnum,
  kArray,
  kMap,
  kUnion,
  kFixed
};

/// "record", "long", ... as the schema's JSON spells it.
std::string_view AvroKindName(AvroKind kind);

struct AvroField {
  std::string name;
  std::optional<int32_t> field_id;
  AvroNodePtr type;
  std::string default_json{};  ///< of readers, as JSON; empty: none
  std::string doc{};
};

struct AvroNode {
  AvroKind kind = AvroKind::kNull;
  std::string name;                   ///< of records, enums, fixed
  std::vector<AvroField> fields;      ///< of a record
  std::vector<AvroNodePtr> children;  ///< array: element; map: value; union: branches
  std::vector<std::string> symbols;   ///< of an enum
  int32_t fixed_size = 0;
  std::string logical_type;
  std::optional<int32_t> element_id, key_id, value_id;
  int32_t precision = 0, scale = 0;
  bool adjust_to_utc = false;

  /// Fewest bytes a value takes. 0 means that every value takes none, so that a count of them says nothing.
  int64_t min_size_bytes = 0;
  /// Levels below and including this one; bounded, so that walking it cannot overflow the stack.
  int depth = 1;
};

/// Parses a schema's JSON. Bounded depth and size; kCorruptData on anything else.
Result<AvroNodePtr> ParseAvroSchema(std::string_view json);

}  // namespace frazil::format
