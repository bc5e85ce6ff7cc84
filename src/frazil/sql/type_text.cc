#include "frazil/sql/type_text.h"

#include <algorithm>

#include <fmt/format.h>

#include "frazil/spec/schema.h"

namespace frazil::sql {

using spec::TypeId;

std::string TypeText(const spec::Type& type) {
  switch (type.id()) {
    case TypeId::kUnknown: return "void";
    case TypeId::kLong: return "bigint";
    case TypeId::kTimestamp: return "timestamp_ntz";
    case TypeId::kTimestampTz: return "timestamp";
    case TypeId::kDecimal: return fmt::format("decimal({},{})", type.precision(), type.scale());
    case TypeId::kFixed: return fmt::format("fixed({})", type.length());
    case TypeId::kList: return fmt::format("array<{}>", TypeText(type.element().type));
    case TypeId::kMap: return fmt::format("map<{},{}>", TypeText(type.key().type), TypeText(type.map_value().type));
    case TypeId::kStruct: {
      std::string members;
      for (const spec::Field& field : type.fields()) {
        members += fmt::format("{}{}:{}", members.empty() ? "" : ",", QuotedIfNeeded(field.name), TypeText(field.type));
      }
      return fmt::format("struct<{}>", members);
    }
    default: return type.ToString();
  }
}

std::string TypeDefinitionText(const spec::Type& type) {
  switch (type.id()) {
    case TypeId::kList: return fmt::format("array<{}>", TypeDefinitionText(type.element().type));
    case TypeId::kMap:
      return fmt::format("map<{},{}>", TypeDefinitionText(type.key().type), TypeDefinitionText(type.map_value().type));
    case TypeId::kStruct: {
      std::string members;
      for (const spec::Field& field : type.fields()) {
        members += fmt::format("{}{}:{}{}{}", members.empty() ? "" : ",", QuotedIfNeeded(field.name),
                               TypeDefinitionText(field.type), field.required ? " NOT NULL" : "",
                               field.doc ? " COMMENT " + QuotedText(*field.doc) : "");
      }
      return fmt::format("struct<{}>", members);
    }
    default: return TypeText(type);
  }
}

namespace {

/// A path with each part quoted where it must be. Names with dots in them are told from paths by walking the schema.
std::string ColumnText(const spec::Schema& schema, spec::FieldId id) {
  std::string text;
  for (const spec::Field* field : schema.PathTo(id)) text += (text.empty() ? "" : ".") + QuotedIfNeeded(field->name);
  return text;
}

}  // namespace

std::string PartitionText(const spec::PartitionField& field, const spec::Schema& schema) {
  std::string column = ColumnText(schema, field.source_id);
  using Kind = spec::Transform::Kind;
  switch (field.transform.kind()) {
    case Kind::kIdentity: return column;
    case Kind::kBucket: return fmt::format("bucket({}, {})", field.transform.parameter(), column);
    case Kind::kTruncate: return fmt::format("truncate({}, {})", field.transform.parameter(), column);
    case Kind::kYear: return fmt::format("years({})", column);
    case Kind::kMonth: return fmt::format("months({})", column);
    case Kind::kDay: return fmt::format("days({})", column);
    case Kind::kHour: return fmt::format("hours({})", column);
    default: return fmt::format("{}({})", field.transform.ToString(), column);
  }
}

std::string PartitioningText(const spec::TableMetadata& metadata) {
  std::string text;
  for (const spec::PartitionField& field : metadata.default_spec().fields()) {
    if (field.transform.kind() == spec::Transform::Kind::kVoid) continue;
    text += (text.empty() ? "" : ", ") + PartitionText(field, *metadata.schema());
  }
  return text.empty() ? "nothing" : text;
}

std::string SortOrderText(const spec::SortOrder& order, const spec::Schema& schema) {
  std::string text;
  for (const spec::SortField& field : order.fields) {
    const spec::PartitionField term{field.source_id, spec::FieldId(0), "", field.transform};
    text += (text.empty() ? "" : ", ") + PartitionText(term, schema);
    const bool is_descending = field.direction == spec::SortDirection::kDescending;
    const bool nulls_last = field.null_order == spec::NullOrder::kLast;
    if (is_descending) text += " DESC";
    if (is_descending != nulls_last) text += nulls_last ? " NULLS LAST" : " NULLS FIRST";
  }
  return text;
}

std::string QuotedText(const std::string& text) {
  std::string quoted = "'";
  for (const char letter : text) {
    if (letter == '\'' || letter == '\\') quoted += letter;
    quoted += letter;
  }
  return quoted + "'";
}

std::string QuotedIfNeeded(const std::string& name) {
  bool plain =
      !name.empty() && (std::isalpha(static_cast<unsigned char>(name[0])) || name[0] == '_') &&
      std::all_of(name.begin(), name.end(), [](unsigned char letter) { return std::isalnum(letter) || letter == '_'; });
  if (plain) return name;
  std::string quoted = "`";
  for (char letter : name) quoted += letter == '`' ? std::string("``") : std::string(1, letter);
  return quoted + "`";
}

}  // namespace frazil::sql
