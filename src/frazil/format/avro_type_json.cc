#include "frazil/format/avro_type.h"

#include <algorithm>
#include <set>

#include "frazil/spec/json_access.h"

namespace frazil::format {
namespace {

using Json = spec::OrderedJson;
using spec::TypeId;

Json Logical(const char* type, const char* logical) { return Json{{"type", type}, {"logicalType", logical}}; }

Json Timestamp(const char* logical, bool utc) {
  Json json = Logical("long", logical);
  json["adjust-to-utc"] = utc;
  return json;
}

bool IsLetterOrUnderscore(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool IsDigit(char c) { return c >= '0' && c <= '9'; }

class SchemaWriter {
 public:
  Result<Json> Record(const std::string& name, const std::vector<spec::Field>& fields) {
    Json json{{"type", "record"}, {"name", name}};
    Json list = Json::array();
    std::set<std::string> names;
    for (const spec::Field& field : fields) {
      FRAZIL_ASSIGN(Json type, Optional(field));
      std::string avro_name = SanitizeAvroName(field.name);
      // "a b" and "a_x20b" may stand side by side; readers go by the id.
      if (!names.insert(avro_name).second) avro_name += fmt::format("_{}", field.id);
      Json entry{{"name", avro_name}, {"type", std::move(type)}};
      if (field.doc) entry["doc"] = *field.doc;
      if (!field.required) entry["default"] = nullptr;
      if (avro_name != field.name) entry["iceberg-field-name"] = field.name;
      entry["field-id"] = field.id.value();
      list.push_back(std::move(entry));
    }
    json["fields"] = std::move(list);
    return json;
  }

 private:
  Result<Json> Optional(const spec::Field& field) {
    FRAZIL_ASSIGN(Json type, TypeOf(field));
    if (field.required) return type;
    return Json::array({"null", std::move(type)});
  }

  /// A fixed type. Every use is spelt out under a name of its own: PyIceberg does not follow references by name.
  Json Fixed(std::string name, int size, const spec::Field& field) {
    if (!defined_.insert(name).second) name += fmt::format("_{}", field.id);
    return Json{{"type", "fixed"}, {"name", name}, {"size", size}};
  }

  Result<Json> TypeOf(const spec::Field& field) {
    const spec::Type& type = field.type;
    switch (type.id()) {
      case TypeId::kBoolean: return Json("boolean");
      case TypeId::kInt: return Json("int");
      case TypeId::kLong: return Json("long");
      case TypeId::kFloat: return Json("float");
      case TypeId::kDouble: return Json("double");
      case TypeId::kString: return Json("string");
      case TypeId::kBinary: return Json("bytes");
      case TypeId::kDate: return Logical("int", "date");
      case TypeId::kTime: return Logical("long", "time-micros");
      case TypeId::kTimestamp: return Timestamp("timestamp-micros", false);
      case TypeId::kTimestampTz: return Timestamp("timestamp-micros", true);
      case TypeId::kTimestampNs: return Timestamp("timestamp-nanos", false);
      case TypeId::kTimestampTzNs: return Timestamp("timestamp-nanos", true);
      case TypeId::kUuid: {
        Json json = Fixed("uuid_fixed", 16, field);
        json["logicalType"] = "uuid";
        return json;
      }
      case TypeId::kFixed: return Fixed(fmt::format("fixed_{}", type.length()), type.length(), field);
      case TypeId::kDecimal: {
        Json json = Fixed(fmt::format("decimal_{}_{}", type.precision(), type.scale()),
                          spec::DecimalFixedBytes(type.precision()), field);
        json["logicalType"] = "decimal";
        json["precision"] = type.precision();
        json["scale"] = type.scale();
        return json;
      }
      case TypeId::kStruct: return Record(fmt::format("r{}", field.id), type.fields());
      case TypeId::kList: {
        FRAZIL_ASSIGN(Json element, Optional(type.element()));
        return Json{{"type", "array"}, {"items", std::move(element)}, {"element-id", type.element().id.value()}};
      }
      case TypeId::kMap: return Map(type);
      case TypeId::kUnknown:
      case TypeId::kVariant:
      case TypeId::kGeometry:
      case TypeId::kGeography: break;
    }
    return Fail(ErrorCode::kNotSupported, "Avro type of field {}: {}", field.name, type.ToString());
  }

  Result<Json> Map(const spec::Type& type) {
    if (type.key().type.id() == TypeId::kString) {
      FRAZIL_ASSIGN(Json value, Optional(type.map_value()));
      return Json{{"type", "map"},
                  {"values", std::move(value)},
                  {"key-id", type.key().id.value()},
                  {"value-id", type.map_value().id.value()}};
    }
    std::string name = fmt::format("k{}_v{}", type.key().id, type.map_value().id);
    FRAZIL_ASSIGN(Json entry, Record(name, type.fields()));
    return Json{{"type", "array"}, {"items", std::move(entry)}, {"logicalType", "map"}};
  }

  std::set<std::string> defined_;
};

}  // namespace

std::string SanitizeAvroName(std::string_view name) {
  std::string out;
  size_t i = 0;
  while (i < name.size()) {
    const char c = name[i];
    if (IsLetterOrUnderscore(c) || (i > 0 && IsDigit(c))) {
      out += c;
      ++i;
      continue;
    }
    if (IsDigit(c)) {
      out += '_';
      out += c;
      ++i;
      continue;
    }
    // Java counts in UTF-16 code units: decode one code point and write its one or two units.
    const auto lead = static_cast<unsigned char>(c);
    size_t length = lead < 0x80 ? 1 : lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4;
    length = std::min(length, name.size() - i);
    uint32_t point = length == 1 ? lead : lead & (0x7Fu >> length);
    for (size_t k = 1; k < length; ++k) point = point << 6 | (static_cast<unsigned char>(name[i + k]) & 0x3Fu);
    i += length;
    if (point < 0x10000) {
      out += fmt::format("_x{:X}", point);
    } else {
      point -= 0x10000;
      out += fmt::format("_x{:X}_x{:X}", 0xD800 + (point >> 10), 0xDC00 + (point & 0x3FF));
    }
  }
  return out;
}

Result<std::string> WriteAvroSchema(std::string_view record_name, const std::vector<spec::Field>& fields) {
  FRAZIL_ASSIGN(Json json, SchemaWriter().Record(std::string(record_name), fields));
  return spec::DumpJson(json);
}

}  // namespace frazil::format
