#include "frazil/expr/evaluate.h"

#include <functional>

#include <fmt/format.h>

#include "frazil/expr/column_range.h"

namespace frazil::expr {
namespace {

/// Walks And / Or over leaves whose truth `leaf` knows. kNot must have been rewritten.
bool Walk(const Expression& expression, const std::function<bool(const Expression&)>& leaf) {
  switch (expression.op()) {
    case Op::kTrue: return true;
    case Op::kFalse: return false;
    case Op::kAnd: return Walk(*expression.children()[0], leaf) && Walk(*expression.children()[1], leaf);
    case Op::kOr: return Walk(*expression.children()[0], leaf) || Walk(*expression.children()[1], leaf);
    default: return leaf(expression);
  }
}

std::optional<size_t> IndexOf(const spec::PartitionSpec& spec, spec::FieldId field_id) {
  for (size_t i = 0; i < spec.fields().size(); ++i) {
    if (spec.fields()[i].field_id == field_id) return i;
  }
  return std::nullopt;
}

template <typename Map>
const typename Map::mapped_type* Find(const Map& map, spec::FieldId id) {
  const auto found = map.find(id);
  return found == map.end() ? nullptr : &found->second;
}

/// Counts inside lists and maps count elements, not rows.
bool IsRepeated(const spec::Schema& schema, spec::FieldId id) {
  const auto path = schema.PathTo(id);
  for (size_t i = 0; i + 1 < path.size(); ++i) {
    if (path[i]->type.id() != spec::TypeId::kStruct) return true;
  }
  return path.empty();
}

/// What the metrics say of a column. Counts that do not cover every row are not believed: the file may lack the column,
/// and its rows then read as the initial default.
ColumnRange RangeOf(const Expression& leaf, const spec::DataFile& file) {
  ColumnRange range(leaf.type());
  const int64_t* values = Find(file.value_counts, leaf.field());
  const int64_t* nulls = Find(file.null_value_counts, leaf.field());
  const int64_t* nans = Find(file.nan_value_counts, leaf.field());
  if (values != nullptr && *values != file.record_count) return range;
  if (nulls != nullptr && *nulls == 0) range.may_have_null = false;
  if (nans != nullptr && *nans == 0) range.may_have_nan = false;
  if (values != nullptr && nulls != nullptr && *nulls == *values) {
    range.may_have_number = false;
    range.may_have_nan = false;
  }
  if (values != nullptr && nans != nullptr && *nans == *values) range.may_have_number = false;
  range.SetBounds(Find(file.lower_bounds, leaf.field()), Find(file.upper_bounds, leaf.field()),
                  fmt::format("{} (column {})", file.file_path, leaf.field()));
  return range;
}

}  // namespace

bool ManifestMayMatch(const ExpressionPtr& partition_filter, const spec::ManifestFile& manifest,
                      const spec::PartitionSpec& spec, const spec::Schema&) {
  // Old or careless writers leave the summaries out.
  if (manifest.partitions.size() != spec.fields().size()) return true;
  return Walk(*Expression::RewriteNot(partition_filter), [&](const Expression& leaf) {
    const auto index = IndexOf(spec, leaf.field());
    if (!index) return true;
    const spec::PartitionFieldSummary& summary = manifest.partitions[*index];
    ColumnRange range(leaf.type());
    range.may_have_null = summary.contains_null;
    range.may_have_nan = summary.contains_nan.value_or(true);
    range.SetBounds(summary.lower_bound ? &*summary.lower_bound : nullptr,
                    summary.upper_bound ? &*summary.upper_bound : nullptr,
                    fmt::format("{} (partition field {})", manifest.manifest_path, leaf.field()));
    return range.MayMatch(leaf);
  });
}

bool PartitionMatches(const ExpressionPtr& partition_filter, const spec::PartitionTuple& tuple,
                      const spec::PartitionSpec& spec, const spec::Schema&) {
  return Walk(*Expression::RewriteNot(partition_filter), [&](const Expression& leaf) {
    const auto index = IndexOf(spec, leaf.field());
    if (!index || *index >= tuple.size()) return false;
    const auto value = Promoted(leaf.type(), tuple[*index]);
    return value && Matches(leaf, *value);
  });
}

bool FileMayMatch(const ExpressionPtr& filter, const spec::DataFile& file, const spec::Schema& schema) {
  return Walk(*Expression::RewriteNot(filter), [&](const Expression& leaf) {
    if (file.record_count == 0) return false;
    if (IsRepeated(schema, leaf.field())) return true;
    return RangeOf(leaf, file).MayMatch(leaf);
  });
}

bool FileMustMatch(const ExpressionPtr& filter, const spec::DataFile& file, const spec::Schema& schema) {
  return Walk(*Expression::RewriteNot(filter), [&](const Expression& leaf) {
    if (IsRepeated(schema, leaf.field())) return false;
    // Without a count of values the file may lack the column; then nothing is certain.
    const int64_t* values = Find(file.value_counts, leaf.field());
    if (values == nullptr || *values != file.record_count) return false;
    return RangeOf(leaf, file).MustMatch(leaf);
  });
}

}  // namespace frazil::expr
