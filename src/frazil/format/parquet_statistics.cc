#include "frazil/format/parquet_statistics.h"

#include <algorithm>
#include <cmath>

#include <parquet/statistics.h>

#include "frazil/spec/single_value.h"

namespace frazil::format {
namespace {

using parquet::ColumnDescriptor;
using parquet::LogicalType;
using spec::Value;

constexpr int64_t kMicrosPerMilli = 1000;

Value FromMillis(int64_t millis) {
  int64_t micros = 0;
  if (__builtin_mul_overflow(millis, kMicrosPerMilli, &micros)) return Value();
  return micros;
}

Value FromBigEndian(const uint8_t* bytes, size_t size) {
  if (size == 0 || size > sizeof(spec::Int128)) return Value();
  spec::Int128 unscaled = (bytes[0] & 0x80) != 0 ? -1 : 0;
  for (size_t i = 0; i < size; ++i) unscaled = (unscaled << 8) | bytes[i];
  return spec::Decimal{unscaled};
}

Bytes BytesOf(const uint8_t* bytes, size_t size) {
  return CopyBytes({reinterpret_cast<const std::byte*>(bytes), size});
}

// One statistic as a value; null when we cannot say what it means.

Value ToValue(const ColumnDescriptor&, bool raw) { return raw; }
Value ToValue(const ColumnDescriptor&, float raw) { return std::isnan(raw) ? Value() : Value(raw); }
Value ToValue(const ColumnDescriptor&, double raw) { return std::isnan(raw) ? Value() : Value(raw); }

Value ToValue(const ColumnDescriptor& column, int32_t raw) {
  const LogicalType& type = *column.logical_type();
  switch (type.type()) {
    case LogicalType::Type::NONE:
    case LogicalType::Type::DATE: return raw;
    case LogicalType::Type::INT: {
      const auto& integer = static_cast<const parquet::IntLogicalType&>(type);
      if (!integer.is_signed() && integer.bit_width() == 32) return int64_t{static_cast<uint32_t>(raw)};
      return raw;
    }
    case LogicalType::Type::DECIMAL: return spec::Decimal{raw};
    case LogicalType::Type::TIME: return FromMillis(raw);
    default: return Value();
  }
}

Value ToValue(const ColumnDescriptor& column, int64_t raw) {
  const LogicalType& type = *column.logical_type();
  switch (type.type()) {
    case LogicalType::Type::NONE: return raw;
    case LogicalType::Type::INT:
      return static_cast<const parquet::IntLogicalType&>(type).is_signed() ? Value(raw) : Value();
    case LogicalType::Type::DECIMAL: return spec::Decimal{raw};
    case LogicalType::Type::TIME:
      return static_cast<const parquet::TimeLogicalType&>(type).time_unit() == LogicalType::TimeUnit::MICROS
                 ? Value(raw)
                 : Value();
    case LogicalType::Type::TIMESTAMP:
      return static_cast<const parquet::TimestampLogicalType&>(type).time_unit() == LogicalType::TimeUnit::MILLIS
                 ? FromMillis(raw)
                 : Value(raw);
    default: return Value();
  }
}

Value ToValue(const ColumnDescriptor& column, const parquet::ByteArray& raw) {
  switch (column.logical_type()->type()) {
    case LogicalType::Type::STRING:
    case LogicalType::Type::ENUM:
    case LogicalType::Type::JSON: return std::string(reinterpret_cast<const char*>(raw.ptr), raw.len);
    case LogicalType::Type::DECIMAL: return FromBigEndian(raw.ptr, raw.len);
    case LogicalType::Type::NONE: return BytesOf(raw.ptr, raw.len);
    default: return Value();
  }
}

Value ToValue(const ColumnDescriptor& column, const parquet::FixedLenByteArray& raw) {
  const auto size = static_cast<size_t>(column.type_length());
  switch (column.logical_type()->type()) {
    case LogicalType::Type::UUID: {
      std::array<std::byte, 16> bytes;
      if (size != bytes.size()) return Value();
      std::memcpy(bytes.data(), raw.ptr, size);
      return Uuid(bytes);
    }
    case LogicalType::Type::DECIMAL: return FromBigEndian(raw.ptr, size);
    case LogicalType::Type::NONE: return BytesOf(raw.ptr, size);
    default: return Value();
  }
}

struct Bounds {
  Value lower;
  Value upper;
};

template <typename PhysicalType>
Bounds BoundsOf(const ColumnDescriptor& column, const parquet::Statistics& statistics) {
  const auto& typed = static_cast<const parquet::TypedStatistics<PhysicalType>&>(statistics);
  return {ToValue(column, typed.min()), ToValue(column, typed.max())};
}

Bounds BoundsOf(const ColumnDescriptor& column, const parquet::Statistics& statistics) {
  switch (statistics.physical_type()) {
    case parquet::Type::BOOLEAN: return BoundsOf<parquet::BooleanType>(column, statistics);
    case parquet::Type::INT32: return BoundsOf<parquet::Int32Type>(column, statistics);
    case parquet::Type::INT64: return BoundsOf<parquet::Int64Type>(column, statistics);
    case parquet::Type::FLOAT: return BoundsOf<parquet::FloatType>(column, statistics);
    case parquet::Type::DOUBLE: return BoundsOf<parquet::DoubleType>(column, statistics);
    case parquet::Type::BYTE_ARRAY: return BoundsOf<parquet::ByteArrayType>(column, statistics);
    case parquet::Type::FIXED_LEN_BYTE_ARRAY: return BoundsOf<parquet::FLBAType>(column, statistics);
    default: return {};  // INT96 has no order
  }
}

/// A bound of the file's own type: the bytes depend on the kind of the value only.
Bytes EncodeBound(const spec::Value& value) {
  using spec::Type;
  using spec::TypeId;
  struct TypeOfKind {
    Type operator()(std::monostate) const { return Type(); }
    Type operator()(bool) const { return Type::Primitive(TypeId::kBoolean); }
    Type operator()(int32_t) const { return Type::Primitive(TypeId::kInt); }
    Type operator()(int64_t) const { return Type::Primitive(TypeId::kLong); }
    Type operator()(float) const { return Type::Primitive(TypeId::kFloat); }
    Type operator()(double) const { return Type::Primitive(TypeId::kDouble); }
    Type operator()(const std::string&) const { return Type::Primitive(TypeId::kString); }
    Type operator()(const Bytes&) const { return Type::Primitive(TypeId::kBinary); }
    Type operator()(const spec::Decimal&) const { return Type::DecimalOf(38, 0); }
    Type operator()(const Uuid&) const { return Type::Primitive(TypeId::kUuid); }
  };
  return spec::EncodeSingleValue(std::visit(TypeOfKind{}, value), value);
}

/// Zeros of either sign lie within: writers do not agree on which of them is the smaller.
void WidenZeros(Bounds& bounds) {
  if (auto* lower = std::get_if<float>(&bounds.lower); lower != nullptr && *lower == 0) *lower = -0.0F;
  if (auto* upper = std::get_if<float>(&bounds.upper); upper != nullptr && *upper == 0) *upper = 0.0F;
  if (auto* lower = std::get_if<double>(&bounds.lower); lower != nullptr && *lower == 0) *lower = -0.0;
  if (auto* upper = std::get_if<double>(&bounds.upper); upper != nullptr && *upper == 0) *upper = 0.0;
}

}  // namespace

LeafIds LeafIdsOf(const parquet::FileMetaData& metadata) {
  LeafIds ids;
  for (int i = 0; i < metadata.num_columns(); ++i) {
    const int id = metadata.schema()->Column(i)->schema_node()->field_id();
    ids.push_back(id >= 0 ? std::optional(spec::FieldId(id)) : std::nullopt);
  }
  return ids;
}

void ParquetMetricsCollector::Add(const parquet::RowGroupMetaData& row_group) {
  metrics_.record_count += row_group.num_rows();
  for (int i = 0; i < row_group.num_columns(); ++i) {
    if (static_cast<size_t>(i) >= ids_.size() || !ids_[i]) continue;
    AddColumn(*row_group.ColumnChunk(i), *row_group.schema()->Column(i), *ids_[i]);
  }
}

void ParquetMetricsCollector::AddColumn(const parquet::ColumnChunkMetaData& chunk,
                                        const parquet::ColumnDescriptor& descriptor, spec::FieldId id) {
  metrics_.column_sizes[id] += chunk.total_compressed_size();
  if (descriptor.max_repetition_level() > 0) return;
  const std::shared_ptr<parquet::Statistics> statistics = chunk.is_stats_set() ? chunk.statistics() : nullptr;
  AddStatistics(statistics.get(), chunk.num_values(), descriptor, id);
}

void ParquetMetricsCollector::AddStatistics(const parquet::Statistics* statistics, int64_t num_values,
                                            const parquet::ColumnDescriptor& descriptor, spec::FieldId id) {
  metrics_.value_counts[id] += num_values;
  if (statistics == nullptr) {
    if (num_values == 0) return;
    without_bounds_.push_back(id);
    without_null_count_.push_back(id);
    return;
  }
  if (statistics->HasNullCount()) {
    metrics_.null_value_counts[id] += statistics->null_count();
  } else {
    without_null_count_.push_back(id);
  }
  if (!statistics->HasMinMax()) {
    const bool is_all_null = statistics->HasNullCount() && statistics->null_count() == num_values;
    const bool may_be_all_nan =
        descriptor.physical_type() == parquet::Type::FLOAT || descriptor.physical_type() == parquet::Type::DOUBLE;
    if (!is_all_null && !may_be_all_nan) without_bounds_.push_back(id);
    return;
  }
  Bounds bounds = BoundsOf(descriptor, *statistics);
  if (spec::IsNull(bounds.lower) || spec::IsNull(bounds.upper)) {
    without_bounds_.push_back(id);
    return;
  }
  WidenZeros(bounds);
  const auto lower = metrics_.lower_bounds.try_emplace(id, bounds.lower).first;
  if (spec::CompareValues(bounds.lower, lower->second) < 0) lower->second = std::move(bounds.lower);
  const auto upper = metrics_.upper_bounds.try_emplace(id, bounds.upper).first;
  if (spec::CompareValues(bounds.upper, upper->second) > 0) upper->second = std::move(bounds.upper);
}

ParquetMetrics ParquetMetricsCollector::Finish() {
  for (const spec::FieldId id : without_bounds_) {
    metrics_.lower_bounds.erase(id);
    metrics_.upper_bounds.erase(id);
  }
  for (const spec::FieldId id : without_null_count_) metrics_.null_value_counts.erase(id);
  return std::move(metrics_);
}

spec::DataFile AsDataFile(ParquetMetrics metrics, const std::string& path) {
  spec::DataFile file;
  file.file_path = path;
  file.record_count = metrics.record_count;
  file.column_sizes = std::move(metrics.column_sizes);
  file.value_counts = std::move(metrics.value_counts);
  file.null_value_counts = std::move(metrics.null_value_counts);
  for (const auto& [id, value] : metrics.lower_bounds) file.lower_bounds[id] = EncodeBound(value);
  for (const auto& [id, value] : metrics.upper_bounds) file.upper_bounds[id] = EncodeBound(value);
  return file;
}

int64_t StartOffsetOf(const parquet::RowGroupMetaData& row_group) {
  if (row_group.num_columns() == 0) return row_group.file_offset();
  const auto chunk = row_group.ColumnChunk(0);
  const int64_t data = chunk->data_page_offset();
  if (!chunk->has_dictionary_page() || chunk->dictionary_page_offset() <= 0) return data;
  return std::min(data, chunk->dictionary_page_offset());
}

}  // namespace frazil::format
