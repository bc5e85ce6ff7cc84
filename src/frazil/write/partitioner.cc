#include "frazil/write/partitioner.h"

#include <algorithm>
#include <limits>
#include <map>
#include <numeric>
#include <unordered_map>

#include <arrow/api.h>

#include "frazil/format/parquet_value.h"
#include "frazil/write/bucket_numbers.h"
#include "frazil/write/column_path.h"

namespace frazil::write {
namespace {

/// Remembered source values are dropped beyond this, so that a partition by identity of a unique column stays bounded.
constexpr size_t kMaxRemembered = 100'000;

/// Numbers below `end`, to each of which something is assigned: in a table where that is small, else by hash.
class NumberMap {
 public:
  static constexpr uint32_t kNone = std::numeric_limits<uint32_t>::max();

  explicit NumberMap(uint64_t end) {
    constexpr uint64_t kMaxTable = 65'536;
    if (end <= kMaxTable) table_.assign(end, kNone);
  }
  /// kNone at first.
  uint32_t& operator[](uint64_t number) {
    return table_.empty() ? by_hash_.try_emplace(number, kNone).first->second : table_[number];
  }

 private:
  std::vector<uint32_t> table_;
  std::unordered_map<uint64_t, uint32_t> by_hash_;
};

/// Order of partitions; nulls first.
bool IsBefore(const spec::PartitionTuple& left, const spec::PartitionTuple& right) {
  for (size_t i = 0; i < left.size(); ++i) {
    if (spec::IsNull(left[i]) || spec::IsNull(right[i])) {
      if (spec::IsNull(left[i]) != spec::IsNull(right[i])) return spec::IsNull(left[i]);
      continue;
    }
    if (const auto order = spec::CompareValues(left[i], right[i]); order != 0) return order < 0;
  }
  return false;
}

}  // namespace

Result<Partitioner> Partitioner::Make(spec::PartitionSpec spec, spec::SchemaPtr schema) {
  Partitioner partitioner;
  for (const spec::PartitionField& field : spec.fields()) {
    if (field.transform.kind() == spec::Transform::Kind::kUnknown) {
      return Fail(ErrorCode::kNotSupported, "cannot write with partition transform '{}' of field '{}'",
                  field.transform.ToString(), field.name);
    }
    Field target;
    target.transform = field.transform;
    if (field.transform.kind() != spec::Transform::Kind::kVoid) {
      const std::vector<const spec::Field*> path = schema->PathTo(field.source_id);
      if (path.empty()) {
        return Fail(ErrorCode::kInvalidTable, "partition field '{}' has no source column with id {}", field.name,
                    field.source_id);
      }
      target.source_type = path.back()->type;
      // A column of type unknown is in no batch, and null.
      if (target.source_type.id() != spec::TypeId::kUnknown) target.path = ColumnPath(*schema, path);
    }
    partitioner.fields_.push_back(std::move(target));
  }
  return partitioner;
}

Result<uint32_t> Partitioner::OrdinalOf(Field& field, const arrow::Array& source, int64_t row) {
  FRAZIL_ASSIGN(spec::Value value, format::ValueAt(source, field.source_type, row));
  if (auto found = field.ordinal_by_source.find(value); found != field.ordinal_by_source.end()) return found->second;
  FRAZIL_ASSIGN(spec::Value result, field.transform.Apply(field.source_type, value));
  const uint32_t ordinal = field.OrdinalOfResult(std::move(result));
  if (field.ordinal_by_source.size() >= kMaxRemembered) field.ordinal_by_source.clear();
  field.ordinal_by_source.emplace(std::move(value), ordinal);
  return ordinal;
}

uint32_t Partitioner::Field::OrdinalOfResult(spec::Value result) {
  const auto [slot, is_new] = ordinal_by_result.try_emplace(result, static_cast<uint32_t>(results.size()));
  if (is_new) results.push_back(std::move(result));
  return slot->second;
}

Result<std::vector<uint32_t>> Partitioner::OrdinalsOf(Field& field, const arrow::RecordBatch& batch,
                                                      std::span<const int64_t> rows) {
  std::vector<uint32_t> ordinals(rows.size(), 0);
  if (field.path.empty()) {  // null, whatever the row
    if (field.results.empty()) field.results.emplace_back();
    return ordinals;
  }
  FRAZIL_ASSIGN(const std::shared_ptr<arrow::Array> source, ColumnAt(batch, field.path));
  if (field.transform.kind() == spec::Transform::Kind::kBucket) {
    // Keys are often bucketed, and no two are alike: remembering them would cost more than their hash.
    const auto num_buckets = static_cast<uint32_t>(field.transform.parameter());
    if (const auto numbers = BucketNumbers(*source, rows, num_buckets)) {
      NumberMap ordinal_of_bucket(uint64_t{num_buckets} + 1);
      for (size_t i = 0; i < rows.size(); ++i) {
        const uint32_t number = (*numbers)[i];
        uint32_t& ordinal = ordinal_of_bucket[number];
        if (ordinal == NumberMap::kNone) {
          spec::Value bucket;
          if (number != num_buckets) bucket = static_cast<int32_t>(number);
          ordinal = field.OrdinalOfResult(std::move(bucket));
        }
        ordinals[i] = ordinal;
      }
      return ordinals;
    }
  }
  for (size_t i = 0; i < rows.size(); ++i) {
    FRAZIL_ASSIGN(ordinals[i], OrdinalOf(field, *source, rows[i]));
  }
  return ordinals;
}

Result<PartitionedRows> Partitioner::Rank(const arrow::RecordBatch& batch, std::span<const int64_t> rows) {
  PartitionedRows result;
  if (rows.empty()) return result;
  // Distinct combinations get numbers field by field, from the number so far and the next field's ordinal.
  std::vector<uint32_t> combination(rows.size(), 0);
  std::vector<spec::PartitionTuple> tuples(1);
  for (Field& field : fields_) {
    FRAZIL_ASSIGN(const std::vector<uint32_t> ordinals, OrdinalsOf(field, batch, rows));
    const uint64_t num_ordinals = field.results.size();
    NumberMap numbers(tuples.size() * num_ordinals);
    std::vector<spec::PartitionTuple> longer;
    uint64_t last_pair = 0;
    uint32_t last_number = 0;
    for (size_t i = 0; i < rows.size(); ++i) {
      const uint64_t pair = combination[i] * num_ordinals + ordinals[i];
      if (i == 0 || pair != last_pair) {
        uint32_t& number = numbers[pair];
        if (number == NumberMap::kNone) {
          number = static_cast<uint32_t>(longer.size());
          longer.push_back(tuples[combination[i]]);
          longer.back().push_back(field.results[ordinals[i]]);
        }
        last_pair = pair;
        last_number = number;
      }
      combination[i] = last_number;
    }
    tuples = std::move(longer);
  }
  std::vector<uint32_t> by_tuple(tuples.size());
  std::iota(by_tuple.begin(), by_tuple.end(), 0u);
  std::sort(by_tuple.begin(), by_tuple.end(),
            [&](uint32_t left, uint32_t right) { return IsBefore(tuples[left], tuples[right]); });
  std::vector<uint32_t> rank(tuples.size());
  for (uint32_t i = 0; i < by_tuple.size(); ++i) {
    rank[by_tuple[i]] = i;
    result.tuples.push_back(std::move(tuples[by_tuple[i]]));
  }
  result.num_rows.resize(rank.size());
  for (uint32_t& number : combination) {
    number = rank[number];
    ++result.num_rows[number];
  }
  if (rank.size() > 1) result.rank_of_row = std::move(combination);
  return result;
}

Result<std::vector<PartitionRows>> Partitioner::Split(const arrow::RecordBatch& batch) {
  std::vector<PartitionRows> result;
  if (batch.num_rows() == 0) return result;
  std::vector<int64_t> rows(static_cast<size_t>(batch.num_rows()));
  std::iota(rows.begin(), rows.end(), int64_t{0});
  if (fields_.empty()) {
    result.push_back({.tuple = {}, .rows = std::move(rows)});
    return result;
  }
  std::vector<std::vector<uint32_t>> ordinals;
  for (Field& field : fields_) {
    FRAZIL_ASSIGN(std::vector<uint32_t> of_field, OrdinalsOf(field, batch, rows));
    ordinals.push_back(std::move(of_field));
  }
  std::map<std::vector<uint32_t>, size_t> partition_of;
  std::vector<uint32_t> key(fields_.size());
  for (size_t row = 0; row < static_cast<size_t>(batch.num_rows()); ++row) {
    for (size_t f = 0; f < fields_.size(); ++f) key[f] = ordinals[f][row];
    auto [slot, inserted] = partition_of.try_emplace(key, result.size());
    if (inserted) {
      PartitionRows& added = result.emplace_back();
      for (size_t f = 0; f < fields_.size(); ++f) added.tuple.push_back(fields_[f].results[key[f]]);
    }
    result[slot->second].rows.push_back(static_cast<int64_t>(row));
  }
  return result;
}

}  // namespace frazil::write
