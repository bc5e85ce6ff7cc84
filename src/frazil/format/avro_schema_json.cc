#include "frazil/format/avro_schema.h"

#include <algorithm>
#include <array>
#include <limits>
#include <map>
#include <utility>

#include "frazil/spec/json_access.h"

namespace frazil::format {
namespace {

using spec::Json;

// The schemas of the widest tables stay below 1 MB. The JSON tree costs many times its text.
constexpr size_t kMaxSchemaBytes = size_t{16} << 20;
constexpr int kMaxSchemaDepth = 100;
constexpr int64_t kMaxMinSize = int64_t{1} << 40;

constexpr std::array<std::pair<std::string_view, AvroKind>, 14> kKindNames = {{
    {"null", AvroKind::kNull},
    {"boolean", AvroKind::kBoolean},
    {"int", AvroKind::kInt},
    {"long", AvroKind::kLong},
    {"float", AvroKind::kFloat},
    {"double", AvroKind::kDouble},
    {"bytes", AvroKind::kBytes},
    {"string", AvroKind::kString},
    {"record", AvroKind::kRecord},
    {"enum", AvroKind::kEnum},
    {"array", AvroKind::kArray},
    {"map", AvroKind::kMap},
    {"union", AvroKind::kUnion},
    {"fixed", AvroKind::kFixed},
}};

std::optional<AvroKind> PrimitiveKind(std::string_view name) {
  for (const auto& [text, kind] : kKindNames) {
    if (text == name && kind < AvroKind::kRecord) return kind;
  }
  return std::nullopt;
}

const Json* Find(const Json& object, const char* member) {
  auto found = object.find(member);
  return found == object.end() ? nullptr : &*found;
}

std::string TextOr(const Json& object, const char* member, std::string fallback) {
  const Json* found = Find(object, member);
  return found != nullptr && found->is_string() ? found->get<std::string>() : std::move(fallback);
}

/// Absent or not a 32-bit number: none. Attributes are hints of other writers and never a reason to refuse.
std::optional<int32_t> Int32(const Json& object, const char* member) {
  const Json* found = Find(object, member);
  if (found == nullptr || !found->is_number_integer()) return std::nullopt;
  if (found->is_number_unsigned() && found->get<uint64_t>() > uint64_t{std::numeric_limits<int32_t>::max()}) {
    return std::nullopt;
  }
  auto value = found->get<int64_t>();
  if (value < std::numeric_limits<int32_t>::min() || value > std::numeric_limits<int32_t>::max()) return std::nullopt;
  return static_cast<int32_t>(value);
}

class SchemaParser {
 public:
  Result<AvroNodePtr> Parse(const Json& json, const std::string& name_space) {
    if (json.is_string()) return ParseName(json.get<std::string>(), name_space);
    if (json.is_array()) return ParseUnion(json, name_space);
    if (!json.is_object())
      return Fail(ErrorCode::kCorruptData, "Avro schema: a type must be a name, a list or an object");
    const Json* type = Find(json, "type");
    if (type == nullptr) return Fail(ErrorCode::kCorruptData, "Avro schema: an object without 'type'");
    // {"type": {"type": "record", ...}} is an oddity that other parsers take.
    if (!type->is_string()) return Parse(*type, name_space);
    std::string kind = type->get<std::string>();
    if (kind == "record" || kind == "error") return ParseRecord(json, name_space);
    if (kind == "array" || kind == "map") return ParseCollection(json, kind == "array", name_space);
    if (kind == "enum" || kind == "fixed") return ParseEnumOrFixed(json, kind == "enum", name_space);
    std::optional<AvroKind> primitive = PrimitiveKind(kind);
    if (!primitive) return ParseName(kind, name_space);
    auto node = std::make_shared<AvroNode>();
    node->kind = *primitive;
    node->logical_type = TextOr(json, "logicalType", "");
    node->precision = Int32(json, "precision").value_or(0);
    node->scale = Int32(json, "scale").value_or(0);
    const Json* utc = Find(json, "adjust-to-utc");
    node->adjust_to_utc = utc != nullptr && utc->is_boolean() && utc->get<bool>();
    return Finish(std::move(node));
  }

 private:
  /// Adds what is derived from the children.
  Result<AvroNodePtr> Finish(std::shared_ptr<AvroNode> node) {
    int below = 0;
    for (const AvroNodePtr& child : node->children) below = std::max(below, child->depth);
    for (const AvroField& field : node->fields) below = std::max(below, field.type->depth);
    node->depth = below + 1;
    // A chain of named types is deep without being deep as JSON.
    if (node->depth > kMaxSchemaDepth) {
      return Fail(ErrorCode::kNotSupported, "Avro schema nested deeper than {} levels", kMaxSchemaDepth);
    }
    switch (node->kind) {
      case AvroKind::kNull: node->min_size_bytes = 0; break;
      case AvroKind::kFloat: node->min_size_bytes = 4; break;
      case AvroKind::kDouble: node->min_size_bytes = 8; break;
      case AvroKind::kFixed: node->min_size_bytes = node->fixed_size; break;
      case AvroKind::kRecord:
        for (const AvroField& field : node->fields) {
          node->min_size_bytes = std::min(kMaxMinSize, node->min_size_bytes + field.type->min_size_bytes);
        }
        break;
      default: node->min_size_bytes = 1;
    }
    return AvroNodePtr(std::move(node));
  }

  static std::string FullName(const std::string& name, const std::string& name_space) {
    if (name.find('.') != std::string::npos || name_space.empty()) return name;
    return name_space + "." + name;
  }

  Result<AvroNodePtr> ParseName(const std::string& name, const std::string& name_space) {
    if (std::optional<AvroKind> primitive = PrimitiveKind(name)) {
      auto node = std::make_shared<AvroNode>();
      node->kind = *primitive;
      return Finish(std::move(node));
    }
    auto found = named_.find(FullName(name, name_space));
    if (found == named_.end()) found = named_.find(name);
    if (found == named_.end()) return Fail(ErrorCode::kCorruptData, "Avro schema: unknown type: {}", name);
    if (found->second == nullptr) return Fail(ErrorCode::kNotSupported, "recursive Avro schema: {}", name);
    return found->second;
  }

  /// Reads name and namespace and reserves the name; returns the namespace that nested types live in.
  Result<std::string> Declare(const Json& json, const std::string& outer, AvroNode& node) {
    std::string name = TextOr(json, "name", "");
    if (name.empty()) return Fail(ErrorCode::kCorruptData, "Avro schema: a record, enum or fixed without a name");
    std::string full = FullName(name, TextOr(json, "namespace", outer));
    if (!named_.emplace(full, nullptr).second)
      return Fail(ErrorCode::kCorruptData, "Avro schema: type defined twice: {}", full);
    size_t dot = full.rfind('.');
    node.name = dot == std::string::npos ? full : full.substr(dot + 1);
    node.logical_type = TextOr(json, "logicalType", "");
    full_name_ = full;
    return dot == std::string::npos ? std::string() : full.substr(0, dot);
  }

  Result<AvroNodePtr> ParseRecord(const Json& json, const std::string& outer) {
    auto node = std::make_shared<AvroNode>();
    node->kind = AvroKind::kRecord;
    FRAZIL_ASSIGN(std::string name_space, Declare(json, outer, *node));
    const std::string full = full_name_;
    const Json* fields = Find(json, "fields");
    if (fields == nullptr || !fields->is_array()) {
      return Fail(ErrorCode::kCorruptData, "Avro schema: record without a list of fields: {}", full);
    }
    node->fields.reserve(fields->size());
    for (const Json& field : *fields) {
      const Json* type = field.is_object() ? Find(field, "type") : nullptr;
      if (type == nullptr)
        return Fail(ErrorCode::kCorruptData, "Avro schema: field without a type in record: {}", full);
      FRAZIL_ASSIGN(AvroNodePtr child, Parse(*type, name_space));
      const Json* value = Find(field, "default");
      node->fields.push_back({TextOr(field, "name", ""), Int32(field, "field-id"), std::move(child),
                              value == nullptr ? "" : value->dump(), TextOr(field, "doc", "")});
    }
    FRAZIL_ASSIGN(AvroNodePtr done, Finish(std::move(node)));
    named_[full] = done;
    return done;
  }

  Result<AvroNodePtr> ParseCollection(const Json& json, bool is_array, const std::string& name_space) {
    auto node = std::make_shared<AvroNode>();
    node->kind = is_array ? AvroKind::kArray : AvroKind::kMap;
    const Json* items = Find(json, is_array ? "items" : "values");
    if (items == nullptr) return Fail(ErrorCode::kCorruptData, "Avro schema: array or map without a type of its items");
    FRAZIL_ASSIGN(AvroNodePtr child, Parse(*items, name_space));
    node->children.push_back(std::move(child));
    node->logical_type = TextOr(json, "logicalType", "");
    node->element_id = Int32(json, "element-id");
    node->key_id = Int32(json, "key-id");
    node->value_id = Int32(json, "value-id");
    return Finish(std::move(node));
  }

  Result<AvroNodePtr> ParseEnumOrFixed(const Json& json, bool is_enum, const std::string& outer) {
    auto node = std::make_shared<AvroNode>();
    node->kind = is_enum ? AvroKind::kEnum : AvroKind::kFixed;
    FRAZIL_TRY(Declare(json, outer, *node));
    const std::string full = full_name_;
    if (is_enum) {
      const Json* symbols = Find(json, "symbols");
      if (symbols == nullptr || !symbols->is_array()) {
        return Fail(ErrorCode::kCorruptData, "Avro schema: enum without symbols: {}", full);
      }
      for (const Json& symbol : *symbols) {
        if (!symbol.is_string())
          return Fail(ErrorCode::kCorruptData, "Avro schema: enum with a symbol that is no text: {}", full);
        node->symbols.push_back(symbol.get<std::string>());
      }
    } else {
      std::optional<int32_t> size = Int32(json, "size");
      if (!size || *size < 0) return Fail(ErrorCode::kCorruptData, "Avro schema: fixed without a valid size: {}", full);
      node->fixed_size = *size;
      node->precision = Int32(json, "precision").value_or(0);
      node->scale = Int32(json, "scale").value_or(0);
    }
    FRAZIL_ASSIGN(AvroNodePtr done, Finish(std::move(node)));
    named_[full] = done;
    return done;
  }

  Result<AvroNodePtr> ParseUnion(const Json& json, const std::string& name_space) {
    auto node = std::make_shared<AvroNode>();
    node->kind = AvroKind::kUnion;
    node->children.reserve(json.size());
    for (const Json& branch : json) {
      if (branch.is_array()) return Fail(ErrorCode::kCorruptData, "Avro schema: a union directly within a union");
      FRAZIL_ASSIGN(AvroNodePtr child, Parse(branch, name_space));
      node->children.push_back(std::move(child));
    }
    if (node->children.empty()) return Fail(ErrorCode::kCorruptData, "Avro schema: a union without branches");
    return Finish(std::move(node));
  }

  std::map<std::string, AvroNodePtr> named_;  // null while its own definition is read
  std::string full_name_;                     // of the latest Declare
};

}  // namespace

std::string_view AvroKindName(AvroKind kind) {
  for (const auto& [text, listed] : kKindNames) {
    if (listed == kind) return text;
  }
  return "?";
}

Result<AvroNodePtr> ParseAvroSchema(std::string_view json) {
  if (json.size() > kMaxSchemaBytes) {
    return Fail(ErrorCode::kCorruptData, "Avro schema larger than {} bytes: {}", kMaxSchemaBytes, json.size());
  }
  FRAZIL_ASSIGN(Json tree, spec::ParseJson(json, "Avro schema"));
  return SchemaParser().Parse(tree, "");
}

}  // namespace frazil::format
