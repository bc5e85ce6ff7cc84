#include "frazil/ingest/json_value.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

#include <arrow/api.h>
#include <arrow/extension/uuid.h>
#include <arrow/extension_type.h>
#include <arrow/util/base64.h>

#include "frazil/format/parquet_schema.h"
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

/// Whether a JSON value fits a type at every depth; primitives of nested values are converted once here and once when
/// they are appended, so that an append never stops half-way.
Status CheckNested(const element& json, const spec::Field& field, const std::string& column);

Status CheckChildren(const element& json, const spec::Field& field, const std::string& column) {
  switch (field.type.id()) {
    case TypeId::kStruct: {
      simdjson::dom::object object;
      if (json.get(object) != simdjson::SUCCESS) return Mismatch(json, field.type, column);
      for (const spec::Field& child : field.type.fields()) {
        const std::string name = column + "." + child.name;
        FRAZIL_ASSIGN(const std::optional<element> value, FindOnce(object, child.name));
        if (value) {
          FRAZIL_TRY(CheckNested(*value, child, name));
        } else if (child.required && spec::IsNull(child.write_default)) {
          return Fail(ErrorCode::kInvalidArgument, "required field is missing: '{}'", name);
        }
      }
      return {};
    }
    case TypeId::kList: {
      simdjson::dom::array array;
      if (json.get(array) != simdjson::SUCCESS) return Mismatch(json, field.type, column);
      for (const element value : array) FRAZIL_TRY(CheckNested(value, field.type.element(), column + ".element"));
      return {};
    }
    case TypeId::kMap: {
      if (field.type.key().type.id() != TypeId::kString) {
        return Fail(ErrorCode::kNotSupported, "JSON for a map whose keys are not strings: column '{}'", column);
      }
      simdjson::dom::object object;
      if (json.get(object) != simdjson::SUCCESS) return Mismatch(json, field.type, column);
      std::set<std::string_view> keys;
      for (const auto entry : object) {
        if (!keys.insert(entry.key).second) {
          return Fail(ErrorCode::kInvalidArgument, "column '{}' has a key twice: '{}'", column, entry.key);
        }
        FRAZIL_TRY(CheckNested(entry.value, field.type.map_value(), column + ".value"));
      }
      return {};
    }
    default: FRAZIL_TRY(ValueFromJson(json, field.type, column)); return {};
  }
}

Status CheckNested(const element& json, const spec::Field& field, const std::string& column) {
  if (!json.is_null()) return CheckChildren(json, field, column);
  if (field.required) return Fail(ErrorCode::kInvalidArgument, "null in required column '{}'", column);
  return {};
}

Status FromArrow(const arrow::Status& status) {
  if (status.ok()) return {};
  return Fail(status.IsOutOfMemory() || status.IsCapacityError() ? ErrorCode::kResourceExhausted : ErrorCode::kInternal,
              "cannot buffer rows: {}", status.message());
}

template <typename Builder, typename T>
Status AppendTo(arrow::ArrayBuilder& builder, const T& value) {
  return FromArrow(static_cast<Builder&>(builder).Append(value));
}

Status AppendPrimitive(arrow::ArrayBuilder& builder, const spec::Type& type, const spec::Value& value) {
  if (spec::IsNull(value)) return FromArrow(builder.AppendNull());
  switch (type.id()) {
    case TypeId::kBoolean: return AppendTo<arrow::BooleanBuilder>(builder, std::get<bool>(value));
    case TypeId::kInt: return AppendTo<arrow::Int32Builder>(builder, std::get<int32_t>(value));
    case TypeId::kLong: return AppendTo<arrow::Int64Builder>(builder, std::get<int64_t>(value));
    case TypeId::kFloat: return AppendTo<arrow::FloatBuilder>(builder, std::get<float>(value));
    case TypeId::kDouble: return AppendTo<arrow::DoubleBuilder>(builder, std::get<double>(value));
    case TypeId::kDate: return AppendTo<arrow::Date32Builder>(builder, std::get<int32_t>(value));
    case TypeId::kTime: return AppendTo<arrow::Time64Builder>(builder, std::get<int64_t>(value));
    case TypeId::kTimestamp:
    case TypeId::kTimestampTz:
    case TypeId::kTimestampNs:
    case TypeId::kTimestampTzNs: return AppendTo<arrow::TimestampBuilder>(builder, std::get<int64_t>(value));
    case TypeId::kString: return AppendTo<arrow::StringBuilder>(builder, std::get<std::string>(value));
    case TypeId::kBinary: return AppendTo<arrow::BinaryBuilder>(builder, AsText(std::get<Bytes>(value)));
    case TypeId::kFixed: return AppendTo<arrow::FixedSizeBinaryBuilder>(builder, AsText(std::get<Bytes>(value)));
    case TypeId::kUuid: return AppendTo<arrow::FixedSizeBinaryBuilder>(builder, AsText(std::get<Uuid>(value).bytes()));
    case TypeId::kDecimal: {
      const spec::Int128 unscaled = std::get<spec::Decimal>(value).unscaled;
      return AppendTo<arrow::Decimal128Builder>(
          builder, arrow::Decimal128(static_cast<int64_t>(unscaled >> 64), static_cast<uint64_t>(unscaled)));
    }
    default: return Fail(ErrorCode::kNotSupported, "JSON for columns of type {}", type.ToString());
  }
}

/// Appends what CheckNested accepted.
Status AppendChecked(arrow::ArrayBuilder& builder, const element& json, const spec::Field& field);

Status AppendChild(arrow::ArrayBuilder& builder, const element& json, const spec::Field& field) {
  if (json.is_null()) return FromArrow(builder.AppendNull());
  return AppendChecked(builder, json, field);
}

Status AppendChecked(arrow::ArrayBuilder& builder, const element& json, const spec::Field& field) {
  switch (field.type.id()) {
    case TypeId::kStruct: {
      auto& parent = static_cast<arrow::StructBuilder&>(builder);
      const simdjson::dom::object object = json.get_object().value_unsafe();
      for (size_t i = 0; i < field.type.fields().size(); ++i) {
        const spec::Field& child = field.type.fields()[i];
        arrow::ArrayBuilder& child_builder = *parent.field_builder(static_cast<int>(i));
        element value;
        if (object.at_key(child.name).get(value) == simdjson::SUCCESS) {
          FRAZIL_TRY(AppendChild(child_builder, value, child));
        } else if (spec::IsNull(child.write_default)) {
          FRAZIL_TRY(FromArrow(child_builder.AppendNull()));
        } else {
          FRAZIL_TRY(AppendPrimitive(child_builder, child.type, child.write_default));
        }
      }
      return FromArrow(parent.Append());
    }
    case TypeId::kList: {
      auto& parent = static_cast<arrow::ListBuilder&>(builder);
      FRAZIL_TRY(FromArrow(parent.Append()));
      const simdjson::dom::array array = json.get_array().value_unsafe();  // not in the loop's head: it would not live
      for (const element value : array) {
        FRAZIL_TRY(AppendChild(*parent.value_builder(), value, field.type.element()));
      }
      return {};
    }
    case TypeId::kMap: {
      auto& parent = static_cast<arrow::MapBuilder&>(builder);
      FRAZIL_TRY(FromArrow(parent.Append()));
      const simdjson::dom::object object = json.get_object().value_unsafe();
      for (const auto entry : object) {
        FRAZIL_TRY(AppendPrimitive(*parent.key_builder(), field.type.key().type, std::string(entry.key)));
        FRAZIL_TRY(AppendChild(*parent.item_builder(), entry.value, field.type.map_value()));
      }
      return {};
    }
    default: {
      FRAZIL_ASSIGN(const spec::Value value, ValueFromJson(json, field.type, field.name));
      return AppendPrimitive(builder, field.type, value);
    }
  }
}

/// The type to build: extension arrays are built as their storage and wrapped at the end.
std::shared_ptr<arrow::DataType> StorageOf(const std::shared_ptr<arrow::DataType>& type) {
  if (type->id() == arrow::Type::EXTENSION) return static_cast<const arrow::ExtensionType&>(*type).storage_type();
  return type;
}

bool HoldsExtension(const arrow::DataType& type) {
  if (type.id() == arrow::Type::EXTENSION) return true;
  return std::any_of(type.fields().begin(), type.fields().end(),
                     [](const auto& field) { return HoldsExtension(*field->type()); });
}

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

Result<spec::Value> ValueFromJson(const element& json, const spec::Type& type, const std::string& column) {
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
        case TypeId::kTimestamp:
        case TypeId::kTimestampTz:
        case TypeId::kTimestampNs:
        case TypeId::kTimestampTzNs:
        case TypeId::kUuid: return FromText(text, json, type, column);
        default: return Mismatch(json, type, column);
      }
    }
    default: return Mismatch(json, type, column);
  }
}

JsonColumn::JsonColumn(spec::Field field, std::shared_ptr<arrow::ArrayBuilder> builder)
    : field_(std::move(field)), builder_(std::move(builder)) {}

Result<JsonColumn> JsonColumn::Make(const spec::Field& field) {
  FRAZIL_ASSIGN(const std::shared_ptr<arrow::DataType> type, format::ArrowTypeOf(field.type));
  const std::shared_ptr<arrow::DataType> storage = StorageOf(type);
  if (HoldsExtension(*storage)) {
    return Fail(ErrorCode::kNotSupported, "JSON for uuid inside nested column '{}'", field.name);
  }
  std::unique_ptr<arrow::ArrayBuilder> builder;
  FRAZIL_TRY(FromArrow(arrow::MakeBuilder(arrow::default_memory_pool(), storage, &builder)));
  return JsonColumn(field, std::move(builder));
}

Status JsonColumn::Append(const element& json) {
  if (json.is_null()) {
    if (field_.required) return Fail(ErrorCode::kInvalidArgument, "null in required column '{}'", field_.name);
    return FromArrow(builder_->AppendNull());
  }
  if (field_.type.is_nested()) FRAZIL_TRY(CheckNested(json, field_, field_.name));
  return AppendChecked(*builder_, json, field_);
}

Status JsonColumn::AppendValue(const spec::Value& value) {
  if (!field_.type.is_nested()) return AppendPrimitive(*builder_, field_.type, value);
  return spec::IsNull(value) ? FromArrow(builder_->AppendNull())
                             : Fail(ErrorCode::kNotSupported, "a default for nested column '{}'", field_.name);
}

Status JsonColumn::AppendFiller() {
  return FromArrow(field_.required ? builder_->AppendEmptyValue() : builder_->AppendNull());
}

int64_t JsonColumn::length() const { return builder_->length(); }

Result<std::shared_ptr<arrow::Array>> JsonColumn::Finish() {
  std::shared_ptr<arrow::Array> array;
  FRAZIL_TRY(FromArrow(builder_->Finish(&array)));
  if (field_.type.id() == TypeId::kUuid) return arrow::ExtensionType::WrapArray(arrow::extension::uuid(), array);
  return array;
}

}  // namespace frazil::ingest
