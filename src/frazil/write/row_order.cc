#include "frazil/write/row_order.h"

#include <algorithm>
#include <array>
#include <bit>
#include <functional>
#include <limits>
#include <numeric>

#include <arrow/api.h>

#include "frazil/format/parquet_value.h"
#include "frazil/write/column_path.h"

namespace frazil::write {

struct RowSorter::Key {
  std::vector<uint64_t> numbers;  ///< by row; empty: `compare`
  std::function<int(uint32_t, uint32_t)> compare;
};

namespace {

constexpr uint64_t kSignBit = uint64_t{1} << 63;

struct Keyed {
  uint64_t key;
  uint32_t row;
};

/// Stable, least significant byte first; bytes in which no two numbers differ are passed over.
void SortByRadix(const std::vector<uint64_t>& numbers, std::vector<uint32_t>& permutation) {
  uint64_t differing = 0;
  for (const uint64_t number : numbers) differing |= number ^ numbers.front();
  if (differing == 0) return;
  std::vector<Keyed> from(permutation.size());
  std::vector<Keyed> to(permutation.size());
  for (size_t i = 0; i < permutation.size(); ++i) from[i] = {numbers[permutation[i]], permutation[i]};
  for (int shift = 0; shift < 64; shift += 8) {
    if (((differing >> shift) & 0xFF) == 0) continue;
    std::array<uint32_t, 257> starts{};
    for (const Keyed& keyed : from) ++starts[((keyed.key >> shift) & 0xFF) + 1];
    std::partial_sum(starts.begin(), starts.end(), starts.begin());
    for (const Keyed& keyed : from) to[starts[(keyed.key >> shift) & 0xFF]++] = keyed;
    std::swap(from, to);
  }
  for (size_t i = 0; i < permutation.size(); ++i) permutation[i] = from[i].row;
}

uint64_t Ascending(int64_t value) { return static_cast<uint64_t>(value) ^ kSignBit; }

/// -1, 0 or 1 of two rows by validity alone; none when both have a value.
std::optional<int> CompareNulls(bool left_is_null, bool right_is_null, spec::NullOrder order) {
  if (!left_is_null && !right_is_null) return std::nullopt;
  if (left_is_null && right_is_null) return 0;
  return left_is_null == (order == spec::NullOrder::kFirst) ? -1 : 1;
}

}  // namespace

Result<RowSorter> RowSorter::Make(const spec::PartitionSpec& spec, const spec::SortOrder& order,
                                  spec::SchemaPtr schema) {
  FRAZIL_ASSIGN(Partitioner partitioner, Partitioner::Make(spec, schema));
  std::vector<Field> fields;
  for (const spec::SortField& sort : order.fields) {
    if (sort.transform.kind() == spec::Transform::Kind::kUnknown) {
      return Fail(ErrorCode::kNotSupported, "cannot sort by transform '{}'", sort.transform.ToString());
    }
    const std::vector<const spec::Field*> path = schema->PathTo(sort.source_id);
    if (path.empty()) break;
    fields.push_back({.sort = sort, .source_type = path.back()->type, .path = ColumnPath(*schema, path)});
  }
  return RowSorter(std::move(partitioner), std::move(fields));
}

Status RowSorter::AddKeys(const arrow::RecordBatch& batch, const Field& field, std::span<const int64_t> rows,
                          std::vector<Key>& keys) const {
  FRAZIL_ASSIGN(const std::shared_ptr<arrow::Array> column, ColumnAt(batch, field.path));
  const bool is_descending = field.sort.direction == spec::SortDirection::kDescending;
  const bool is_plain = field.sort.transform.kind() == spec::Transform::Kind::kIdentity;
  const auto add_numbers = [&](const auto& values) {
    if (column->null_count() > 0) {
      Key& nulls = keys.emplace_back();
      const bool nulls_are_first = field.sort.null_order == spec::NullOrder::kFirst;
      for (const int64_t row : rows) nulls.numbers.push_back(column->IsNull(row) != nulls_are_first ? 1 : 0);
    }
    Key& key = keys.emplace_back();
    key.numbers.reserve(rows.size());
    for (const int64_t row : rows) {
      const uint64_t number = column->IsNull(row) ? 0 : Ascending(values.Value(row));
      key.numbers.push_back(is_descending ? ~number : number);
    }
  };
  if (is_plain) {
    switch (column->type_id()) {
      case arrow::Type::INT32: add_numbers(static_cast<const arrow::Int32Array&>(*column)); return {};
      case arrow::Type::DATE32: add_numbers(static_cast<const arrow::Date32Array&>(*column)); return {};
      case arrow::Type::INT64: add_numbers(static_cast<const arrow::Int64Array&>(*column)); return {};
      case arrow::Type::TIME64: add_numbers(static_cast<const arrow::Time64Array&>(*column)); return {};
      case arrow::Type::TIMESTAMP: add_numbers(static_cast<const arrow::TimestampArray&>(*column)); return {};
      case arrow::Type::STRING:
        keys.emplace_back().compare = [column, rows, is_descending, null_order = field.sort.null_order](
                                          uint32_t left, uint32_t right) {
          const auto& text = static_cast<const arrow::StringArray&>(*column);
          const int64_t a = rows[left];
          const int64_t b = rows[right];
          if (const auto by_null = CompareNulls(text.IsNull(a), text.IsNull(b), null_order)) return *by_null;
          const int order = text.GetView(a).compare(text.GetView(b));
          return is_descending ? -order : order;
        };
        return {};
      default: break;
    }
  }
  const auto values = std::make_shared<std::vector<spec::Value>>();
  values->reserve(rows.size());
  for (const int64_t row : rows) {
    FRAZIL_ASSIGN(const spec::Value value, format::ValueAt(*column, field.source_type, row));
    FRAZIL_ASSIGN(spec::Value result, field.sort.transform.Apply(field.source_type, value));
    values->push_back(std::move(result));
  }
  keys.emplace_back().compare = [values, is_descending, null_order = field.sort.null_order](uint32_t left,
                                                                                            uint32_t right) {
    const spec::Value& a = (*values)[left];
    const spec::Value& b = (*values)[right];
    if (const auto by_null = CompareNulls(spec::IsNull(a), spec::IsNull(b), null_order)) return *by_null;
    const std::strong_ordering order = spec::CompareValues(a, b);
    const int sign = order < 0 ? -1 : order > 0 ? 1 : 0;
    return is_descending ? -sign : sign;
  };
  return {};
}

Result<RowOrder> RowSorter::Sort(const arrow::RecordBatch& batch, std::span<const int64_t> rows) {
  if (rows.size() > std::numeric_limits<uint32_t>::max()) {
    return Fail(ErrorCode::kInternal, "too many rows to sort at once: {}", rows.size());
  }
  RowOrder order;
  std::vector<Key> keys;
  FRAZIL_ASSIGN(const PartitionedRows partitions, partitioner_.Rank(batch, rows));
  if (partitions.tuples.size() > 1) {
    Key& key = keys.emplace_back();
    key.numbers.assign(partitions.rank_of_row.begin(), partitions.rank_of_row.end());
  }
  for (const Field& field : fields_) FRAZIL_TRY(AddKeys(batch, field, rows, keys));

  if (!keys.empty() && rows.size() > 1) {
    order.permutation.resize(rows.size());
    std::iota(order.permutation.begin(), order.permutation.end(), 0u);
    const bool all_are_numbers = std::all_of(keys.begin(), keys.end(), [](const Key& key) { return !key.compare; });
    if (all_are_numbers) {
      for (auto key = keys.rbegin(); key != keys.rend(); ++key) SortByRadix(key->numbers, order.permutation);
    } else {
      std::stable_sort(order.permutation.begin(), order.permutation.end(), [&](uint32_t left, uint32_t right) {
        for (const Key& key : keys) {
          if (key.compare) {
            if (const int by = key.compare(left, right); by != 0) return by < 0;
          } else if (key.numbers[left] != key.numbers[right]) {
            return key.numbers[left] < key.numbers[right];
          }
        }
        return false;
      });
    }
  }
  int64_t begin = 0;
  for (size_t i = 0; i < partitions.tuples.size(); ++i) {
    order.partitions.push_back({partitions.tuples[i], begin, begin + partitions.num_rows[i]});
    begin += partitions.num_rows[i];
  }
  return order;
}

}  // namespace frazil::write
