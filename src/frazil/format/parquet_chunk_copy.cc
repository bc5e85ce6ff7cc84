#include "frazil/format/parquet_chunk_copy.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>

#include <arrow/array.h>
#include <arrow/extension_type.h>
#include <parquet/arrow/writer.h>

#include "frazil/format/parquet_error.h"
#include "frazil/format/parquet_leaves.h"
#include "frazil/format/parquet_value.h"

namespace frazil::format {
namespace {

constexpr int64_t kBatchLevels = 8192;
/// Long values are written in parts: Arrow looks at the size of a page every 1,024 values, and at the end of a write.
constexpr int64_t kWrittenBytes = int64_t{1} << 20;

[[noreturn]] void ThrowRowCount(const parquet::ColumnDescriptor& column) {
  throw parquet::ParquetException("column chunk has other than its row group's rows: ", column.path()->ToDotString());
}

/// Some levels of a column chunk and the values they announce.
template <typename DType>
struct Batch {
  using T = typename DType::c_type;

  explicit Batch(const parquet::ColumnDescriptor& column)
      : max_definition(column.max_definition_level()), max_repetition(column.max_repetition_level()) {
    definitions.resize(kBatchLevels);
    if (max_repetition > 0) repetitions.resize(kBatchLevels);
    values = std::make_unique<T[]>(kBatchLevels + 1);  // one more is read, never kept
  }

  /// False at the end of the chunk.
  bool Read(parquet::TypedColumnReader<DType>& from) {
    if (!from.HasNext()) return false;
    num_levels = from.ReadBatch(kBatchLevels, max_definition > 0 ? definitions.data() : nullptr,
                                max_repetition > 0 ? repetitions.data() : nullptr, values.get(), &num_values);
    const int64_t expected = max_definition == 0
                                 ? num_levels
                                 : std::count(definitions.begin(), definitions.begin() + num_levels, max_definition);
    if (num_values != expected) throw parquet::ParquetException("page has fewer values than its levels say");
    return num_levels > 0;
  }

  /// Leaves out what belongs to rows that are not kept; `kept` begins with the first level's row. Of columns that do not
  /// repeat.
  void FilterFlat(const uint8_t* kept) {
    int64_t to = 0;
    int64_t to_value = 0;
    if (max_definition == 0) {
      for (int64_t i = 0; i < num_levels; ++i) {
        values[to] = values[i];
        to += kept[i];
      }
      to_value = to;
    } else {
      int64_t from_value = 0;
      for (int64_t i = 0; i < num_levels; ++i) {
        const int16_t definition = definitions[i];
        const int has_value = definition == max_definition;
        definitions[to] = definition;
        to += kept[i];
        values[to_value] = values[from_value];
        to_value += kept[i] & has_value;
        from_value += has_value;
      }
    }
    num_levels = to;
    num_values = to_value;
  }

  /// The same for columns that repeat. `row` is the row of the level before, -1 at the beginning.
  void FilterRepeated(const ParquetKeptRows& kept, int64_t& row) {
    int64_t to = 0;
    int64_t to_value = 0;
    int64_t from_value = 0;
    int is_kept = row >= 0 ? KeptAt(kept, row) : 0;
    for (int64_t i = 0; i < num_levels; ++i) {
      const int16_t definition = definitions[i];
      if (repetitions[i] == 0) {
        is_kept = KeptAt(kept, ++row);
      } else if (row < 0) {
        throw parquet::ParquetException("column chunk begins in the middle of a row");
      }
      const int has_value = definition == max_definition;
      definitions[to] = definition;
      repetitions[to] = repetitions[i];
      to += is_kept;
      values[to_value] = values[from_value];
      to_value += is_kept & has_value;
      from_value += has_value;
    }
    num_levels = to;
    num_values = to_value;
  }

  void WriteTo(parquet::TypedColumnWriter<DType>& to) {
    if (num_levels == 0) return;
    const bool became_optional = max_definition == 0 && to.descr()->max_definition_level() == 1;
    if (became_optional) std::fill_n(definitions.begin(), num_levels, int16_t{1});
    const int16_t* const written_definitions = max_definition > 0 || became_optional ? definitions.data() : nullptr;
    if constexpr (std::is_same_v<T, parquet::ByteArray>) {
      if (max_repetition == 0) return WriteTexts(to, written_definitions);
    }
    to.WriteBatch(num_levels, written_definitions, max_repetition > 0 ? repetitions.data() : nullptr, values.get());
  }

  void WriteTexts(parquet::TypedColumnWriter<DType>& to, const int16_t* written_definitions) {
    int64_t value = 0;
    for (int64_t level = 0; level < num_levels;) {
      const int64_t first_level = level;
      const int64_t first_value = value;
      for (int64_t bytes = 0; level < num_levels && bytes < kWrittenBytes; ++level) {
        if (max_definition == 0 || definitions[level] == max_definition) bytes += values[value++].len;
      }
      to.WriteBatch(level - first_level, written_definitions == nullptr ? nullptr : written_definitions + first_level,
                    nullptr, values.get() + first_value);
    }
  }

  static int KeptAt(const ParquetKeptRows& kept, int64_t row) {
    return static_cast<size_t>(row) < kept.size() ? kept[static_cast<size_t>(row)] : 0;
  }

  const int16_t max_definition;
  const int16_t max_repetition;
  std::vector<int16_t> definitions;
  std::vector<int16_t> repetitions;
  std::unique_ptr<T[]> values;
  int64_t num_levels = 0;
  int64_t num_values = 0;
};

template <typename T>
int64_t NansIn(const T* values, int64_t num_values) {
  if constexpr (std::is_floating_point_v<T>) {
    return std::count_if(values, values + num_values, [](T value) { return std::isnan(value); });
  } else {
    return 0;
  }
}

template <typename DType>
int64_t Copy(parquet::ColumnReader& reader, const ParquetKeptRows& kept, parquet::ColumnWriter& writer) {
  auto& from = static_cast<parquet::TypedColumnReader<DType>&>(reader);
  auto& to = static_cast<parquet::TypedColumnWriter<DType>&>(writer);
  Batch<DType> batch(*from.descr());
  const auto num_rows = static_cast<int64_t>(kept.size());
  const bool is_flat = batch.max_repetition == 0;
  int64_t nans = 0;
  int64_t next_row = 0;      // flat
  int64_t current_row = -1;  // repeated
  // What repeats is read one level too far to see that the last row has ended.
  while ((is_flat ? next_row < num_rows : current_row < num_rows) && batch.Read(from)) {
    if (is_flat) {
      const int64_t num_levels = std::min(batch.num_levels, num_rows - next_row);
      if (num_levels < batch.num_levels) {  // the rest belongs to rows that nobody asked for
        batch.num_levels = num_levels;
        batch.num_values =
            batch.max_definition == 0
                ? num_levels
                : std::count(batch.definitions.begin(), batch.definitions.begin() + num_levels, batch.max_definition);
      }
      const uint8_t* kept_here = kept.data() + next_row;
      if (std::memchr(kept_here, 0, static_cast<size_t>(num_levels)) != nullptr) batch.FilterFlat(kept_here);
      next_row += num_levels;
      nans += NansIn(batch.values.get(), batch.num_values);
    } else {
      batch.FilterRepeated(kept, current_row);
    }
    batch.WriteTo(to);
  }
  if ((is_flat ? next_row : current_row + 1) < num_rows) ThrowRowCount(*from.descr());
  return nans;
}

}  // namespace

int64_t CopyChunk(parquet::ColumnReader& from, const ParquetKeptRows& kept, parquet::ColumnWriter& to) {
  switch (from.type()) {
    case parquet::Type::BOOLEAN: return Copy<parquet::BooleanType>(from, kept, to);
    case parquet::Type::INT32: return Copy<parquet::Int32Type>(from, kept, to);
    case parquet::Type::INT64: return Copy<parquet::Int64Type>(from, kept, to);
    case parquet::Type::FLOAT: return Copy<parquet::FloatType>(from, kept, to);
    case parquet::Type::DOUBLE: return Copy<parquet::DoubleType>(from, kept, to);
    case parquet::Type::BYTE_ARRAY: return Copy<parquet::ByteArrayType>(from, kept, to);
    case parquet::Type::FIXED_LEN_BYTE_ARRAY: return Copy<parquet::FLBAType>(from, kept, to);
    default: throw parquet::ParquetException("column of a type that is not copied");
  }
}

void CopyLineage(parquet::ColumnReader* reader, const ParquetKeptRows& kept, int64_t first, int64_t step,
                 parquet::ColumnWriter& writer) {
  auto* from = static_cast<parquet::Int64Reader*>(reader);
  auto& to = static_cast<parquet::Int64Writer&>(writer);
  const auto num_rows = static_cast<int64_t>(kept.size());
  const std::vector<int16_t> present(kBatchLevels, 1);
  std::vector<int64_t> out(kBatchLevels);
  std::optional<Batch<parquet::Int64Type>> batch;
  if (from != nullptr) batch.emplace(*from->descr());
  for (int64_t row = 0; row < num_rows;) {
    int64_t count = std::min(kBatchLevels, num_rows - row);
    if (from != nullptr) {
      if (!batch->Read(*from)) ThrowRowCount(*from->descr());
      count = std::min(count, batch->num_levels);
    }
    int64_t num_out = 0;
    int64_t next_value = 0;
    for (int64_t i = 0; i < count; ++i) {
      const bool is_stored = batch && (batch->max_definition == 0 || batch->definitions[i] == batch->max_definition);
      out[num_out] = is_stored ? batch->values[next_value] : first + step * (row + i);
      next_value += is_stored;
      num_out += kept[static_cast<size_t>(row + i)];
    }
    if (num_out > 0) {
      to.WriteBatch(num_out, to.descr()->max_definition_level() > 0 ? present.data() : nullptr, nullptr, out.data());
    }
    row += count;
  }
}

Result<int64_t> WriteConstant(const ParquetCopyPlan::Leaf& leaf, int64_t num_rows, parquet::ColumnWriter& to) {
  const bool is_optional = to.descr()->max_definition_level() > 0;
  const std::vector<int16_t> definitions(kBatchLevels, spec::IsNull(leaf.constant) ? 0 : 1);
  FRAZIL_ASSIGN(std::shared_ptr<arrow::Array> values,
                MakeConstantArray(leaf.field.type, leaf.constant, std::min(num_rows, kBatchLevels)));
  if (values->type_id() == arrow::Type::EXTENSION) {
    values = static_cast<const arrow::ExtensionArray&>(*values).storage();
  }
  const auto properties = parquet::default_arrow_writer_properties();
  parquet::ArrowWriteContext context(arrow::default_memory_pool(), properties.get());
  for (int64_t row = 0; row < num_rows; row += kBatchLevels) {
    const int64_t count = std::min(kBatchLevels, num_rows - row);
    FRAZIL_TRY(Check(to.WriteArrow(is_optional ? definitions.data() : nullptr, nullptr, count, *values->Slice(0, count),
                                   &context, is_optional),
                     ErrorCode::kInternal, leaf.field.name));
  }
  return values->length() == 0 ? 0
                               : num_rows / values->length() * CountNans(*values) +
                                     CountNans(*values->Slice(0, num_rows % values->length()));
}

}  // namespace frazil::format
