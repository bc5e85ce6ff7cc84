#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <cstring>

#include <arrow/array.h>
#include <arrow/extension_type.h>
#include <arrow/record_batch.h>
#include <arrow/scalar.h>
#include <arrow/type.h>
#include <arrow/vendored/datetime.h>

#include "frazil/spec/single_value.h"
#include "frazil/sql/table_renderer.h"

namespace frazil::sql {

namespace {

template <typename T>
std::string FloatText(T number) {
  std::string text = fmt::format("{}", number);
  bool is_whole = std::all_of(text.begin(), text.end(), [](char letter) {
    return std::isdigit(static_cast<unsigned char>(letter)) || letter == '-';
  });
  return is_whole ? text + ".0" : text;
}

std::string BlobText(std::string_view bytes) {
  std::string text;
  for (char raw : bytes) {
    auto byte = static_cast<unsigned char>(raw);
    bool plain = byte >= 32 && byte <= 126 && byte != '\\' && byte != '\'' && byte != '"';
    text += plain ? std::string(1, raw) : fmt::format("\\x{:02X}", byte);
  }
  return text;
}

int64_t ToMicros(int64_t value, arrow::TimeUnit::type unit) {
  switch (unit) {
    case arrow::TimeUnit::SECOND: return value * 1'000'000;
    case arrow::TimeUnit::MILLI: return value * 1'000;
    default: return value;
  }
}

/// Seconds that a zone is ahead of UTC at a moment; 0 for a zone that this machine does not know.
int64_t OffsetAt(const std::string& zone, int64_t seconds) {
  namespace date = arrow_vendored::date;
  thread_local std::string known_name;
  thread_local const date::time_zone* known = nullptr;
  if (known_name != zone) {
    known_name = zone;
    try {
      known = date::locate_zone(zone);
    } catch (const std::exception&) {
      known = nullptr;
    }
  }
  if (known == nullptr) return 0;
  return known->get_info(date::sys_seconds(std::chrono::seconds(seconds))).offset.count();
}

std::string OffsetText(int64_t offset) {
  const int64_t seconds = std::abs(offset);
  std::string text = fmt::format("{}{:02}", offset < 0 ? "-" : "+", seconds / 3600);
  if (seconds % 3600 != 0) text += fmt::format(":{:02}", seconds / 60 % 60);
  if (seconds % 60 != 0) text += fmt::format(":{:02}", seconds % 60);
  return text;
}

/// Moments with a zone as the clock of the session's zone shows them.
std::string TimestampText(const arrow::TimestampType& type, int64_t value) {
  bool is_nano = type.unit() == arrow::TimeUnit::NANO;
  if (!type.timezone().empty()) {
    const int64_t per_second = is_nano ? 1'000'000'000 : 1'000'000;
    if (!is_nano) value = ToMicros(value, type.unit());
    const int64_t seconds = value / per_second - (value % per_second < 0 ? 1 : 0);
    const int64_t offset = type.timezone() == "UTC" ? 0 : OffsetAt(type.timezone(), seconds);
    value += offset * per_second;
    return spec::FormatValue(spec::Type::Primitive(is_nano ? spec::TypeId::kTimestampNs : spec::TypeId::kTimestamp),
                             value) +
           OffsetText(offset);
  }
  std::string text =
      is_nano ? spec::FormatValue(spec::Type::Primitive(spec::TypeId::kTimestampNs), value)
              : spec::FormatValue(spec::Type::Primitive(spec::TypeId::kTimestamp), ToMicros(value, type.unit()));
  return text;
}

std::string IntervalText(const arrow::MonthDayNanoIntervalType::MonthDayNanos& interval) {
  std::string text;
  auto add = [&](int64_t count, const char* unit) {
    if (count != 0)
      text += fmt::format("{}{} {}{}", text.empty() ? "" : " ", count, unit, std::abs(count) == 1 ? "" : "s");
  };
  add(interval.months / 12, "year");
  add(interval.months % 12, "month");
  add(interval.days, "day");
  if (interval.nanoseconds != 0 || text.empty()) {
    int64_t micros = interval.nanoseconds / 1000;
    std::string sign = micros < 0 ? "-" : "";
    micros = std::abs(micros);
    text += fmt::format("{}{}{:02}:{:02}:{:02}", text.empty() ? "" : " ", sign, micros / 3'600'000'000,
                        micros / 60'000'000 % 60, micros / 1'000'000 % 60);
    if (micros % 1'000'000 != 0) {
      std::string fraction = fmt::format("{:06}", micros % 1'000'000);
      fraction.erase(fraction.find_last_not_of('0') + 1);
      text += "." + fraction;
    }
  }
  return text;
}

/// Inside lists and structs, texts that could be taken for punctuation are quoted.
std::string NestedText(const std::string& text) {
  bool plain = !text.empty() && text.find_first_of("[]{}(),'\":=;\\ \t\n") == std::string::npos && text != "NULL";
  if (plain) return text;
  std::string quoted = "'";
  for (char letter : text)
    quoted += letter == '\'' || letter == '\\' ? std::string("\\") + letter : std::string(1, letter);
  return quoted + "'";
}

std::string Text(const arrow::Array& array, int64_t row);

std::string ElementText(const arrow::Array& array, int64_t row) {
  if (array.IsNull(row)) return "NULL";
  std::string text = Text(array, row);
  bool is_text = array.type_id() == arrow::Type::STRING || array.type_id() == arrow::Type::LARGE_STRING;
  return is_text ? NestedText(text) : text;
}

std::string ListText(const arrow::Array& values, int64_t begin, int64_t end) {
  std::string text = "[";
  for (int64_t i = begin; i < end; ++i) text += (i > begin ? ", " : "") + ElementText(values, i);
  return text + "]";
}

template <typename Array>
std::string NumberText(const arrow::Array& array, int64_t row) {
  return std::to_string(static_cast<const Array&>(array).Value(row));
}

std::string Text(const arrow::Array& array, int64_t row) {
  using arrow::Type;
  switch (array.type_id()) {
    case Type::BOOL: return static_cast<const arrow::BooleanArray&>(array).Value(row) ? "true" : "false";
    case Type::INT8: return NumberText<arrow::Int8Array>(array, row);
    case Type::INT16: return NumberText<arrow::Int16Array>(array, row);
    case Type::INT32: return NumberText<arrow::Int32Array>(array, row);
    case Type::INT64: return NumberText<arrow::Int64Array>(array, row);
    case Type::UINT8: return NumberText<arrow::UInt8Array>(array, row);
    case Type::UINT16: return NumberText<arrow::UInt16Array>(array, row);
    case Type::UINT32: return NumberText<arrow::UInt32Array>(array, row);
    case Type::UINT64: return NumberText<arrow::UInt64Array>(array, row);
    case Type::FLOAT: return FloatText(static_cast<const arrow::FloatArray&>(array).Value(row));
    case Type::DOUBLE: return FloatText(static_cast<const arrow::DoubleArray&>(array).Value(row));
    case Type::DECIMAL32: return static_cast<const arrow::Decimal32Array&>(array).FormatValue(row);
    case Type::DECIMAL64: return static_cast<const arrow::Decimal64Array&>(array).FormatValue(row);
    case Type::DECIMAL128: return static_cast<const arrow::Decimal128Array&>(array).FormatValue(row);
    case Type::STRING: return static_cast<const arrow::StringArray&>(array).GetString(row);
    case Type::LARGE_STRING: return static_cast<const arrow::LargeStringArray&>(array).GetString(row);
    case Type::BINARY: return BlobText(static_cast<const arrow::BinaryArray&>(array).GetView(row));
    case Type::LARGE_BINARY: return BlobText(static_cast<const arrow::LargeBinaryArray&>(array).GetView(row));
    case Type::FIXED_SIZE_BINARY: return BlobText(static_cast<const arrow::FixedSizeBinaryArray&>(array).GetView(row));
    case Type::DATE32:
      return spec::FormatValue(spec::Type::Primitive(spec::TypeId::kDate),
                               static_cast<const arrow::Date32Array&>(array).Value(row));
    case Type::TIME64: {
      int64_t value = static_cast<const arrow::Time64Array&>(array).Value(row);
      bool is_nano = static_cast<const arrow::Time64Type&>(*array.type()).unit() == arrow::TimeUnit::NANO;
      return spec::FormatValue(spec::Type::Primitive(spec::TypeId::kTime), is_nano ? value / 1000 : value);
    }
    case Type::TIMESTAMP:
      return TimestampText(static_cast<const arrow::TimestampType&>(*array.type()),
                           static_cast<const arrow::TimestampArray&>(array).Value(row));
    case Type::INTERVAL_MONTH_DAY_NANO:
      return IntervalText(static_cast<const arrow::MonthDayNanoIntervalArray&>(array).Value(row));
    case Type::LIST: {
      const auto& list = static_cast<const arrow::ListArray&>(array);
      return ListText(*list.values(), list.value_offset(row), list.value_offset(row + 1));
    }
    case Type::LARGE_LIST: {
      const auto& list = static_cast<const arrow::LargeListArray&>(array);
      return ListText(*list.values(), list.value_offset(row), list.value_offset(row + 1));
    }
    case Type::FIXED_SIZE_LIST: {
      const auto& list = static_cast<const arrow::FixedSizeListArray&>(array);
      return ListText(*list.values(), list.value_offset(row), list.value_offset(row) + list.value_length(row));
    }
    case Type::MAP: {
      const auto& map = static_cast<const arrow::MapArray&>(array);
      std::string text = "{";
      for (int64_t i = map.value_offset(row); i < map.value_offset(row + 1); ++i) {
        text += fmt::format("{}{}={}", text.size() > 1 ? ", " : "", ElementText(*map.keys(), i),
                            ElementText(*map.items(), i));
      }
      return text + "}";
    }
    case Type::STRUCT: {
      const auto& members = static_cast<const arrow::StructArray&>(array);
      std::string text = "{";
      for (int i = 0; i < members.num_fields(); ++i) {
        text += fmt::format("{}'{}': {}", i > 0 ? ", " : "", members.type()->field(i)->name(),
                            ElementText(*members.field(i), row));
      }
      return text + "}";
    }
    case Type::DICTIONARY: {
      const auto& dictionary = static_cast<const arrow::DictionaryArray&>(array);
      return Text(*dictionary.dictionary(), dictionary.GetValueIndex(row));
    }
    case Type::EXTENSION: {
      const auto& extension = static_cast<const arrow::ExtensionArray&>(array);
      const arrow::Array& storage = *extension.storage();
      if (storage.type_id() == Type::FIXED_SIZE_BINARY &&
          static_cast<const arrow::FixedSizeBinaryArray&>(storage).byte_width() == 16 &&
          static_cast<const arrow::ExtensionType&>(*array.type()).extension_name() == "arrow.uuid") {
        std::array<std::byte, 16> bytes;
        std::memcpy(bytes.data(), static_cast<const arrow::FixedSizeBinaryArray&>(storage).GetValue(row), 16);
        return Uuid(bytes).ToString();
      }
      return Text(storage, row);
    }
    default: return array.GetScalar(row).ValueOrDie()->ToString();
  }
}

}  // namespace

Result<std::vector<std::vector<Cell>>> CellsOf(const arrow::RecordBatch& batch) {
  std::vector<std::vector<Cell>> rows(static_cast<size_t>(batch.num_rows()));
  for (auto& row : rows) row.resize(static_cast<size_t>(batch.num_columns()));
  for (int column = 0; column < batch.num_columns(); ++column) {
    const arrow::Array& array = *batch.column(column);
    for (int64_t row = 0; row < batch.num_rows(); ++row) {
      Cell& cell = rows[static_cast<size_t>(row)][static_cast<size_t>(column)];
      cell.is_null = array.IsNull(row) || array.type_id() == arrow::Type::NA;
      if (!cell.is_null) cell.text = Text(array, row);
    }
  }
  return rows;
}

}  // namespace frazil::sql
