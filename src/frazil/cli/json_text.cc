#include "frazil/cli/json_text.h"

#include <cmath>

#include <arrow/api.h>
#include <arrow/util/utf8.h>
#include <fmt/format.h>

#include "frazil/sql/table_renderer.h"

namespace frazil::cli {
namespace {

std::string FloatText(double value, const std::string& text) {
  return std::isfinite(value) ? fmt::format("{}", value) : JsonString(text);
}

/// The text of an element inside a nested value: what it would be in a column of its own.
std::string ScalarText(const arrow::Array& array, int64_t row) {
  const auto schema = arrow::schema({arrow::field("element", array.type())});
  const auto cells = sql::CellsOf(*arrow::RecordBatch::Make(schema, 1, {array.Slice(row, 1)}));
  return cells ? (*cells)[0][0].text : "";
}

std::string ListText(const arrow::Array& values, int64_t begin, int64_t end) {
  std::string text = "[";
  for (int64_t i = begin; i < end; ++i) {
    if (i > begin) text += ",";
    text += JsonText(values, i, ScalarText(values, i));
  }
  return text + "]";
}

std::string StructText(const arrow::StructArray& array, int64_t row) {
  std::string text = "{";
  for (int i = 0; i < array.num_fields(); ++i) {
    if (i > 0) text += ",";
    const arrow::Array& child = *array.field(i);
    text += JsonString(array.struct_type()->field(i)->name()) + ":" + JsonText(child, row, ScalarText(child, row));
  }
  return text + "}";
}

/// A map as an object; keys that are no strings become their text.
std::string MapText(const arrow::MapArray& array, int64_t row) {
  std::string text = "{";
  for (int64_t i = array.value_offset(row); i < array.value_offset(row + 1); ++i) {
    if (text.size() > 1) text += ",";
    text += JsonString(ScalarText(*array.keys(), i)) + ":" + JsonText(*array.items(), i, ScalarText(*array.items(), i));
  }
  return text + "}";
}

}  // namespace

std::string JsonString(std::string_view text) {
  // Arrow's check takes any bytes for valid until its tables are filled.
  static const bool initialized = (arrow::util::InitializeUTF8(), true);
  std::string valid;
  if (initialized && !arrow::util::ValidateUTF8(text)) {
    for (const char c : text) valid += static_cast<unsigned char>(c) < 0x80 ? std::string(1, c) : "\xef\xbf\xbd";
    text = valid;
  }
  std::string out = "\"";
  for (const char c : text) {
    switch (c) {
      case '"': out += "\\\""; break;
      case '\\': out += "\\\\"; break;
      case '\n': out += "\\n"; break;
      case '\r': out += "\\r"; break;
      case '\t': out += "\\t"; break;
      default:
        if (static_cast<unsigned char>(c) < 0x20) {
          out += fmt::format("\\u{:04x}", static_cast<unsigned>(c));
        } else {
          out += c;
        }
    }
  }
  return out + '"';
}

std::string JsonText(const arrow::Array& array, int64_t row, const std::string& text) {
  if (array.IsNull(row)) return "null";
  switch (array.type_id()) {
    case arrow::Type::BOOL: return static_cast<const arrow::BooleanArray&>(array).Value(row) ? "true" : "false";
    case arrow::Type::INT8:
    case arrow::Type::INT16:
    case arrow::Type::INT32:
    case arrow::Type::INT64:
    case arrow::Type::UINT8:
    case arrow::Type::UINT16:
    case arrow::Type::UINT32:
    case arrow::Type::UINT64: return text;
    case arrow::Type::FLOAT: {
      const float value = static_cast<const arrow::FloatArray&>(array).Value(row);
      return std::isfinite(value) ? fmt::format("{}", value) : JsonString(text);
    }
    case arrow::Type::DOUBLE: return FloatText(static_cast<const arrow::DoubleArray&>(array).Value(row), text);
    case arrow::Type::LIST: {
      const auto& list = static_cast<const arrow::ListArray&>(array);
      return ListText(*list.values(), list.value_offset(row), list.value_offset(row + 1));
    }
    case arrow::Type::STRUCT: return StructText(static_cast<const arrow::StructArray&>(array), row);
    case arrow::Type::MAP: return MapText(static_cast<const arrow::MapArray&>(array), row);
    default: return JsonString(text);
  }
}

}  // namespace frazil::cli
