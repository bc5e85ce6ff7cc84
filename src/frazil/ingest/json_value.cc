#include "frazil/ingest/json_value.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

#include <arrow/util/base64.h>

#include "frazil/ingest/column_array.h"
#include "frazil/spec/single_value.h"

namespace frazil::ingest {
namespace {

using simdjson::dom::element;
using simdjson::dom::element_type;
using spec::TypeId;

std::string ShortText(const element& json) {
  std::string text = simdjson::minify(json);
  if (text.size() > 60) text = text.substr(0, 57) + "...";
  return text;
}

tl::unexpected<Error> Mismatch(const element& json, const spec::Type& type, const std::string& column) {
  return Fail(ErrorCode::kInvalidArgument, "column '{}' cannot take a value as {}: {}", column, type.ToString(),
              ShortText(json));
}

/// Text for spec::ParseValue when the type takes strings.
Result<spec::Value> FromText(std::string_view text, const element& json, const spec::Type& type,
                             const std::string& column) {
  auto value = spec::ParseValue(type, text);
  if (!value) return Mismatch(json, type, column);
  return value;
}

Result<spec::Value> FromBase64(std::string_view text, const element& json, const spec::Type& type,
                               const std::string& column) {
  auto decoded = arrow::util::base64_decode(text);
  if (!decoded.ok()) return Mismatch(json, type, column);
  const std::string raw = decoded.MoveValueUnsafe();
  // A decoder that stops at the first bad character would cut the value in silence.
  if (arrow::util::base64_encode(raw).size() != text.size()) return Mismatch(json, type, column);
  if (type.id() == TypeId::kFixed && raw.size() != static_cast<size_t>(type.length()))
    return Mismatch(json, type, column);
  return spec::Value(CopyBytes(AsBytes(raw)));
}

Result<spec::Value> FromNumber(const element& json, const spec::Type& type, const std::string& column) {
  switch (type.id()) {
    case TypeId::kInt: {
      int64_t number = 0;
      if (json.get(number) != simdjson::SUCCESS || number < std::numeric_limits<int32_t>::min() ||
          number > std::numeric_limits<int32_t>::max()) {
        return Mismatch(json, type, column);
      }
      return spec::Value(static_cast<int32_t>(number));
    }
    case TypeId::kLong: {
      int64_t number = 0;
      if (json.get(number) != simdjson::SUCCESS) return Mismatch(json, type, column);
      return spec::Value(number);
    }
    case TypeId::kFloat: {
      const double number = json.get_double().value_unsafe();
      if (std::isfinite(number) && std::abs(number) > std::numeric_limits<float>::max())
        return Mismatch(json, type, column);
      return spec::Value(static_cast<float>(number));
    }
    case TypeId::kDouble: return spec::Value(json.get_double().value_unsafe());
    case TypeId::kDecimal: {
      if (json.type() != element_type::DOUBLE) return FromText(ShortText(json), json, type, column);
      // The parser made a double of it: its shortest text is the number as written, up to 15 significant digits. One
      // digit more, and 9007199254740993.0 would come out as ...992.
      const std::string text = fmt::format("{}", json.get_double().value_unsafe());
      const std::string_view significant =
          std::string_view(text).substr(std::min(text.find_first_of("123456789"), text.size()));
      if (std::count_if(significant.begin(), significant.end(), [](char c) { return c >= '0' && c <= '9'; }) > 15) {
        return Fail(ErrorCode::kInvalidArgument,
                    "column '{}': a decimal of more than 15 digits must be a JSON string: {}", column, text);
      }
      return FromText(text, json, type, column);
    }
    default: return Mismatch(json, type, column);
  }
}

/// Whether text is a timestamp in the form that was declared; which date it is comes later.
bool HasForm(std::string_view text, bool has_zone, JsonTimestamps timestamps) {
  constexpr size_t kDateLength = 10;
  if (timestamps == JsonTimestamps::kAny) return true;
  const char separator = timestamps == JsonTimestamps::kSql ? ' ' : 'T';
  return text.size() > kDateLength && text[kDateLength] == separator && text.ends_with('Z') == has_zone;
}

/// Recurses as deep as the type is.
class JsonAppender {
 public:
  explicit JsonAppender(JsonTimestamps timestamps) : timestamps_(timestamps) {}

  /// `name` is the column's full one, for messages.
  Status Append(const element& json, ColumnBuffer& column, const std::string& name) const {
    const spec::Field& field = column.field();
    if (json.is_null()) {
      if (field.required) return Fail(ErrorCode::kInvalidArgument, "null in required column '{}'", name);
      column.AppendNull();
      return {};
    }
    switch (field.type.id()) {
      case TypeId::kStruct: return AppendStruct(json, column, name);
      case TypeId::kList: return AppendList(json, column, name);
      case TypeId::kMap: return AppendMap(json, column, name);
      // The two kinds that most columns are need no value in between.
      case TypeId::kString: {
        std::string_view text;
        if (json.get(text) != simdjson::SUCCESS) return Mismatch(json, field.type, name);
        column.AppendBytes(AsBytes(text));
        return {};
      }
      case TypeId::kLong: {
        int64_t number = 0;
        if (json.get(number) != simdjson::SUCCESS) return Mismatch(json, field.type, name);
        column.Append(number);
        return {};
      }
      default: {
        FRAZIL_ASSIGN(const spec::Value value, ValueFromJson(json, field.type, name, timestamps_));
        column.AppendValue(value);
        return {};
      }
    }
  }

 private:
  Status AppendStruct(const element& json, ColumnBuffer& column, const std::string& name) const {
    const spec::Type& type = column.field().type;
    simdjson::dom::object object;
    if (json.get(object) != simdjson::SUCCESS) return Mismatch(json, type, name);
    for (size_t i = 0; i < column.num_children(); ++i) {
      ColumnBuffer& child = column.child(i);
      const spec::Field& field = child.field();
      const std::string child_name = name + "." + field.name;
      FRAZIL_ASSIGN(const std::optional<element> value, FindOnce(object, field.name));
      if (value) {
        FRAZIL_TRY(Append(*value, child, child_name));
      } else if (field.required && spec::IsNull(field.write_default)) {
        return Fail(ErrorCode::kInvalidArgument, "required field is missing: '{}'", child_name);
      } else {
        child.AppendValue(field.write_default);
      }
    }
    column.CloseStruct();
    return {};
  }

  Status AppendList(const element& json, ColumnBuffer& column, const std::string& name) const {
    simdjson::dom::array array;
    if (json.get(array) != simdjson::SUCCESS) return Mismatch(json, column.field().type, name);
    const std::string element_name = name + ".element";
    for (const element value : array) FRAZIL_TRY(Append(value, column.child(0), element_name));
    column.CloseList();
    return {};
  }

  Status AppendMap(const element& json, ColumnBuffer& column, const std::string& name) const {
    const spec::Type& type = column.field().type;
    if (type.key().type.id() != TypeId::kString) {
      return Fail(ErrorCode::kNotSupported, "JSON for a map whose keys are not strings: column '{}'", name);
    }
    simdjson::dom::object object;
    if (json.get(object) != simdjson::SUCCESS) return Mismatch(json, type, name);
    const std::string value_name = name + ".value";
    std::set<std::string_view> keys;
    for (const auto entry : object) {
      if (!keys.insert(entry.key).second) {
        return Fail(ErrorCode::kInvalidArgument, "column '{}' has a key twice: '{}'", name, entry.key);
      }
      column.child(0).AppendBytes(AsBytes(entry.key));
      FRAZIL_TRY(Append(entry.value, column.child(1), value_name));
    }
    column.CloseList();
    return {};
  }

  JsonTimestamps timestamps_;
};

}  // namespace

Result<std::optional<element>> FindOnce(const simdjson::dom::object& object, std::string_view name) {
  std::optional<element> found;
  for (const auto member : object) {
    if (member.key != name) continue;
    if (found) return Fail(ErrorCode::kInvalidArgument, "member '{}' is there twice", name);
    found = member.value;
  }
  return found;
}

Result<spec::Value> ValueFromJson(const element& json, const spec::Type& type, const std::string& column,
                                  JsonTimestamps timestamps) {
  switch (json.type()) {
    case element_type::NULL_VALUE: return spec::Value();
    case element_type::BOOL:
      if (type.id() != TypeId::kBoolean) return Mismatch(json, type, column);
      return spec::Value(json.get_bool().value_unsafe());
    case element_type::INT64:
    case element_type::UINT64:
    case element_type::DOUBLE: return FromNumber(json, type, column);
    case element_type::STRING: {
      const std::string_view text = json.get_string().value_unsafe();
      switch (type.id()) {
        case TypeId::kString: return spec::Value(std::string(text));
        case TypeId::kBinary:
        case TypeId::kFixed: return FromBase64(text, json, type, column);
        case TypeId::kFloat:
        case TypeId::kDouble:
          if (text != "NaN" && text != "Infinity" && text != "-Infinity") return Mismatch(json, type, column);
          if (type.id() == TypeId::kFloat) {
            return text == "NaN" ? spec::Value(std::numeric_limits<float>::quiet_NaN())
                                 : spec::Value(text[0] == '-' ? -std::numeric_limits<float>::infinity()
                                                              : std::numeric_limits<float>::infinity());
          }
          return text == "NaN" ? spec::Value(std::numeric_limits<double>::quiet_NaN())
                               : spec::Value(text[0] == '-' ? -std::numeric_limits<double>::infinity()
                                                            : std::numeric_limits<double>::infinity());
        case TypeId::kDecimal:
        case TypeId::kDate:
        case TypeId::kTime:
        case TypeId::kUuid: return FromText(text, json, type, column);
        case TypeId::kTimestamp:
        case TypeId::kTimestampNs:
          if (!HasForm(text, false, timestamps)) return Mismatch(json, type, column);
          return FromText(text, json, type, column);
        case TypeId::kTimestampTz:
        case TypeId::kTimestampTzNs:
          if (!HasForm(text, true, timestamps)) return Mismatch(json, type, column);
          return FromText(text, json, type, column);
        default: return Mismatch(json, type, column);
      }
    }
    default: return Mismatch(json, type, column);
  }
}

Status AppendJson(const element& json, ColumnBuffer& column, JsonTimestamps timestamps) {
  return JsonAppender(timestamps).Append(json, column, column.field().name);
}

Result<JsonColumn> JsonColumn::Make(const spec::Field& field) {
  FRAZIL_ASSIGN(std::unique_ptr<ColumnBuffer> column, ColumnBuffer::Make(field));
  return JsonColumn(std::move(column));
}

Status JsonColumn::Append(const element& json) {
  const int64_t length = column_->length();
  Status status = AppendJson(json, *column_);
  if (!status) column_->CutTo(length);
  return status;
}

Status JsonColumn::AppendValue(const spec::Value& value) {
  const spec::Field& field = column_->field();
  if (field.type.is_nested() && !spec::IsNull(value)) {
    return Fail(ErrorCode::kNotSupported, "a default for nested column '{}'", field.name);
  }
  column_->AppendValue(value);
  return {};
}

Result<std::shared_ptr<arrow::Array>> JsonColumn::Finish() { return TakeArray(*column_); }

}  // namespace frazil::ingest
