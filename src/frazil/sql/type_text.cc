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

std::string PartitionText(const spec::PartitionField& field, const spec::Schema& schema) {
  std::string column = schema.FullName(field.source_id);
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
