#include "frazil/spec/type.h"

#include <algorithm>
#include <cassert>
#include <charconv>
#include <utility>

#include "frazil/spec/ascii.h"

namespace frazil::spec {
namespace {

constexpr std::string_view kDefaultCrs = "OGC:CRS84";
constexpr std::string_view kDefaultAlgorithm = "spherical";
constexpr std::string_view kAlgorithms[] = {"spherical", "vincenty", "thomas", "andoyer", "karney"};

struct NamedType {
  TypeId id;
  std::string_view name;
};

constexpr NamedType kPlainTypes[] = {
    {TypeId::kUnknown, "unknown"},
    {TypeId::kBoolean, "boolean"},
    {TypeId::kInt, "int"},
    {TypeId::kLong, "long"},
    {TypeId::kFloat, "float"},
    {TypeId::kDouble, "double"},
    {TypeId::kDate, "date"},
    {TypeId::kTime, "time"},
    {TypeId::kTimestamp, "timestamp"},
    {TypeId::kTimestampTz, "timestamptz"},
    {TypeId::kTimestampNs, "timestamp_ns"},
    {TypeId::kTimestampTzNs, "timestamptz_ns"},
    {TypeId::kString, "string"},
    {TypeId::kUuid, "uuid"},
    {TypeId::kBinary, "binary"},
    {TypeId::kVariant, "variant"},
};

// Parses digits only: no sign, no blanks.
std::optional<int> ParseCount(std::string_view text) {
  int value = 0;
  const char* end = text.data() + text.size();
  const auto [at, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc() || at != end || text.empty() || text[0] == '-') return std::nullopt;
  return value;
}

// "name(a, b)" -> arguments without surrounding blanks; none when the text has another shape.
std::optional<std::vector<std::string_view>> Arguments(std::string_view text, std::string_view name, char open,
                                                       char close) {
  if (!StartsWithAnyCase(text, name)) return std::nullopt;
  text = Trim(text.substr(name.size()));
  if (text.size() < 2 || text.front() != open || text.back() != close) return std::nullopt;
  text = text.substr(1, text.size() - 2);
  std::vector<std::string_view> arguments;
  for (;;) {
    const size_t comma = text.find(',');
    arguments.push_back(Trim(text.substr(0, comma)));
    if (comma == std::string_view::npos) return arguments;
    text = text.substr(comma + 1);
  }
}

}  // namespace

struct Type::Nested {
  std::vector<Field> fields;
  std::string crs;
  std::string algorithm;
};

Type Type::Primitive(TypeId id) {
  Type type;
  type.id_ = id;
  return type;
}

Type Type::DecimalOf(int precision, int scale) {
  Type type = Primitive(TypeId::kDecimal);
  type.a_ = precision;
  type.b_ = scale;
  return type;
}

Type Type::FixedOf(int length) {
  Type type = Primitive(TypeId::kFixed);
  type.a_ = length;
  return type;
}

Type Type::Geometry(std::string crs) {
  Type type = Primitive(TypeId::kGeometry);
  if (EqualsAnyCase(crs, kDefaultCrs)) crs.clear();
  type.nested_ = std::make_shared<const Nested>(Nested{{}, std::move(crs), {}});
  return type;
}

Type Type::Geography(std::string crs, std::string algorithm) {
  Type type = Primitive(TypeId::kGeography);
  if (EqualsAnyCase(crs, kDefaultCrs)) crs.clear();
  algorithm = ToLower(algorithm);
  if (algorithm == kDefaultAlgorithm) algorithm.clear();
  type.nested_ = std::make_shared<const Nested>(Nested{{}, std::move(crs), std::move(algorithm)});
  return type;
}

Type Type::StructOf(std::vector<Field> fields) {
  Type type = Primitive(TypeId::kStruct);
  type.nested_ = std::make_shared<const Nested>(Nested{std::move(fields), {}, {}});
  return type;
}

Type Type::ListOf(Field element) {
  Type type = Primitive(TypeId::kList);
  element.name = "element";
  std::vector<Field> fields;
  fields.push_back(std::move(element));
  type.nested_ = std::make_shared<const Nested>(Nested{std::move(fields), {}, {}});
  return type;
}

Type Type::MapOf(Field key, Field value) {
  Type type = Primitive(TypeId::kMap);
  key.name = "key";
  key.required = true;
  value.name = "value";
  std::vector<Field> fields;
  fields.push_back(std::move(key));
  fields.push_back(std::move(value));
  type.nested_ = std::make_shared<const Nested>(Nested{std::move(fields), {}, {}});
  return type;
}

bool Type::is_primitive() const {
  switch (id_) {
    case TypeId::kUnknown:
    case TypeId::kVariant:
    case TypeId::kGeometry:
    case TypeId::kGeography:
    case TypeId::kStruct:
    case TypeId::kList:
    case TypeId::kMap: return false;
    default: return true;
  }
}

const std::string& Type::crs() const {
  static const std::string* none = new std::string();
  return nested_ ? nested_->crs : *none;
}

const std::string& Type::algorithm() const {
  static const std::string* none = new std::string();
  return nested_ ? nested_->algorithm : *none;
}

const std::vector<Field>& Type::fields() const {
  static const std::vector<Field>* none = new std::vector<Field>();
  return nested_ ? nested_->fields : *none;
}

const Field& Type::element() const {
  assert(id_ == TypeId::kList);
  return nested_->fields[0];
}
const Field& Type::key() const {
  assert(id_ == TypeId::kMap);
  return nested_->fields[0];
}
const Field& Type::map_value() const {
  assert(id_ == TypeId::kMap);
  return nested_->fields[1];
}

int Type::min_format_version() const {
  switch (id_) {
    case TypeId::kUnknown:
    case TypeId::kTimestampNs:
    case TypeId::kTimestampTzNs:
    case TypeId::kVariant:
    case TypeId::kGeometry:
    case TypeId::kGeography: return 3;
    default: return 1;
  }
}

std::string Type::ToString() const {
  switch (id_) {
    case TypeId::kDecimal: return fmt::format("decimal({}, {})", a_, b_);
    case TypeId::kFixed: return fmt::format("fixed[{}]", a_);
    case TypeId::kGeometry: return crs().empty() ? "geometry" : fmt::format("geometry({})", crs());
    case TypeId::kGeography:
      if (!algorithm().empty()) {
        return fmt::format("geography({}, {})", crs().empty() ? kDefaultCrs : crs(), algorithm());
      }
      return crs().empty() ? "geography" : fmt::format("geography({})", crs());
    case TypeId::kStruct: {
      std::string text = "struct<";
      for (const Field& field : fields()) {
        if (&field != fields().data()) text += ", ";
        text += fmt::format("{}: {}: {} {}", field.id, field.name, field.required ? "required" : "optional",
                            field.type.ToString());
      }
      return text + ">";
    }
    case TypeId::kList: return fmt::format("list<{}>", element().type.ToString());
    case TypeId::kMap: return fmt::format("map<{}, {}>", key().type.ToString(), map_value().type.ToString());
    default: break;
  }
  for (const NamedType& plain : kPlainTypes) {
    if (plain.id == id_) return std::string(plain.name);
  }
  return "unknown";
}

Result<Type> Type::ParsePrimitive(std::string_view text) {
  const std::string_view name = Trim(text);
  auto refuse = [&] { return Fail(ErrorCode::kInvalidTable, "not an Iceberg type: '{}'", text); };
  for (const NamedType& plain : kPlainTypes) {
    if (EqualsAnyCase(name, plain.name)) return Primitive(plain.id);
  }
  if (auto arguments = Arguments(name, "decimal", '(', ')')) {
    if (arguments->size() != 2) return refuse();
    const auto precision = ParseCount((*arguments)[0]);
    const auto scale = ParseCount((*arguments)[1]);
    if (!precision || !scale || *precision < 1 || *precision > 38 || *scale > 38) return refuse();
    return DecimalOf(*precision, *scale);
  }
  if (auto arguments = Arguments(name, "fixed", '[', ']')) {
    if (arguments->size() != 1) return refuse();
    const auto length = ParseCount((*arguments)[0]);
    if (!length) return refuse();
    return FixedOf(*length);
  }
  if (EqualsAnyCase(name, "geometry")) return Geometry("");
  if (EqualsAnyCase(name, "geography")) return Geography("", "");
  if (auto arguments = Arguments(name, "geometry", '(', ')')) {
    if (arguments->size() != 1 || (*arguments)[0].empty()) return refuse();
    return Geometry(std::string((*arguments)[0]));
  }
  if (auto arguments = Arguments(name, "geography", '(', ')')) {
    if (arguments->size() > 2 || (*arguments)[0].empty()) return refuse();
    std::string algorithm;
    if (arguments->size() == 2) {
      algorithm = ToLower((*arguments)[1]);
      if (std::find(std::begin(kAlgorithms), std::end(kAlgorithms), algorithm) == std::end(kAlgorithms)) {
        return refuse();
      }
    }
    return Geography(std::string((*arguments)[0]), std::move(algorithm));
  }
  return refuse();
}

bool Type::operator==(const Type& other) const {
  if (id_ != other.id_ || a_ != other.a_ || b_ != other.b_) return false;
  if (nested_ == other.nested_) return true;
  return fields() == other.fields() && crs() == other.crs() && algorithm() == other.algorithm();
}

bool Field::operator==(const Field& other) const {
  return id == other.id && name == other.name && required == other.required && type == other.type && doc == other.doc &&
         SameValue(initial_default, other.initial_default) && SameValue(write_default, other.write_default);
}

bool ValueFits(const Type& type, const Value& value) {
  switch (type.id()) {
    case TypeId::kBoolean: return std::holds_alternative<bool>(value);
    case TypeId::kInt:
    case TypeId::kDate: return std::holds_alternative<int32_t>(value);
    case TypeId::kLong:
    case TypeId::kTime:
    case TypeId::kTimestamp:
    case TypeId::kTimestampTz:
    case TypeId::kTimestampNs:
    case TypeId::kTimestampTzNs: return std::holds_alternative<int64_t>(value);
    case TypeId::kFloat: return std::holds_alternative<float>(value);
    case TypeId::kDouble: return std::holds_alternative<double>(value);
    case TypeId::kDecimal: return std::holds_alternative<Decimal>(value);
    case TypeId::kString: return std::holds_alternative<std::string>(value);
    case TypeId::kUuid: return std::holds_alternative<Uuid>(value);
    case TypeId::kFixed:
    case TypeId::kBinary:
    case TypeId::kGeometry:
    case TypeId::kGeography: return std::holds_alternative<Bytes>(value);
    case TypeId::kUnknown:
    case TypeId::kVariant:
    case TypeId::kStruct:
    case TypeId::kList:
    case TypeId::kMap: return false;
  }
  return false;
}

int DecimalFixedBytes(int precision) {
  Int128 largest = 1;  // 10^precision - 1 must fit in 8 * bytes - 1 bits
  for (int i = 0; i < precision; ++i) largest *= 10;
  --largest;
  int num_bytes = 1;
  while (num_bytes < 16 && largest >> (8 * num_bytes - 1) != 0) ++num_bytes;
  return num_bytes;
}

}  // namespace frazil::spec
