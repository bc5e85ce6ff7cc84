#include "frazil/ingest/verify.h"

#include <set>

#include <arrow/api.h>
#include <fmt/ranges.h>

#include "frazil/index/canonical_key.h"
#include "frazil/ingest/pipeline_start.h"
#include "frazil/table/marker.h"

namespace frazil::ingest {
namespace {

using Kind = KeyDifference::Kind;
using Wanted = KeyDifference::Wanted;

std::string ValueText(const arrow::Array& array, int64_t row) {
  if (array.IsNull(row)) return "null";
  const auto scalar = array.GetScalar(row);
  return scalar.ok() ? "'" + (*scalar)->ToString() + "'" : "?";
}

std::string KeyText(const std::vector<std::string>& key_columns, const arrow::RecordBatch& rows, int64_t row) {
  std::string text;
  for (const std::string& name : key_columns) {
    const auto value = rows.GetColumnByName(name)->GetScalar(row);
    text += fmt::format("{}{}={}", text.empty() ? "" : ", ", name, value.ok() ? (*value)->ToString() : "?");
  }
  return text;
}

std::string DetailText(const KeyDifference& difference, const std::string& others) {
  switch (difference.wanted) {
    case Wanted::kDeleted: return "the source deleted this key";
    case Wanted::kNever:
      return "the source has no record of this key" + (others.empty() ? "" : ": it may be of " + others);
    case Wanted::kHasNoKey: return "a row without a key";
    case Wanted::kValue: break;
  }
  if (difference.kind == Kind::kMissing) return "the table has no row of this key";
  if (difference.kind == Kind::kExtra) return fmt::format("the table has {} rows of this key", difference.num_rows);
  std::string detail;
  const arrow::RecordBatch& rows = *difference.rows;
  for (int i = 0; i < rows.num_columns(); ++i) {
    if (HasSameValue(rows, i, difference.row, *difference.changes, difference.change)) continue;
    const std::string& name = rows.schema()->field(i)->name();
    const std::shared_ptr<arrow::Array> wanted = difference.changes->GetColumnByName(name);
    detail += fmt::format("{}{}: the table has {}, the source {}", detail.empty() ? "" : "; ", name,
                          ValueText(*rows.column(i), difference.row),
                          wanted ? ValueText(*wanted, difference.change) : "no such column");
  }
  if (difference.is_order_unproven) detail += "; records of several partitions, and timestamps do not order them";
  return detail;
}

}  // namespace

Result<std::vector<std::string>> OtherWriters(const table::Table& table, const std::string& pipeline_id) {
  FRAZIL_ASSIGN(const table::EffectiveMarker effective, table::FindEffectiveMarker(table, spec::kMainBranch));
  std::set<std::string> ids;
  for (const auto& [id, marker] : effective.marker.pipelines) ids.insert(id);
  if (effective.property) {
    for (const auto& [id, marker] : effective.property->marker.pipelines) ids.insert(id);
  }
  ids.erase(pipeline_id);
  return std::vector<std::string>(ids.begin(), ids.end());
}

Result<SourcePositions> PositionsInTable(const table::Table& table, const std::string& pipeline_id) {
  FRAZIL_ASSIGN(const table::EffectiveMarker effective, table::FindEffectiveMarker(table, spec::kMainBranch));
  const auto found = effective.marker.pipelines.find(pipeline_id);
  if (table.metadata()->current_snapshot() != nullptr && found != effective.marker.pipelines.end()) {
    return found->second.partitions;
  }
  std::string known;
  for (const auto& [id, marker] : effective.marker.pipelines) known += (known.empty() ? "" : ", ") + id;
  return Fail(ErrorCode::kInvalidArgument, "the table has no progress of pipeline '{}' (it knows: {})", pipeline_id,
              known.empty() ? "none" : known);
}

Result<VerifyReport> VerifyTable(const table::Table& table, RecordSource& source, RecordDecoder& decoder,
                                 const VerifyOptions& options) {
  VerifyReport report;
  FRAZIL_ASSIGN(report.positions, PositionsInTable(table, options.pipeline_id));
  PipelineIdentity pipeline{.id = options.pipeline_id, .writer = {}, .source = {}, .num_partitions = {}};
  FRAZIL_ASSIGN(pipeline.source, source.Identity());
  FRAZIL_TRY(CheckSameSource(table, source, pipeline));
  FRAZIL_ASSIGN(const auto bounds, source.Bounds());
  FRAZIL_TRY(CheckWithinLog(report.positions, bounds, pipeline, source.description()));
  FRAZIL_ASSIGN(report.other_writers, OtherWriters(table, options.pipeline_id));
  const std::string others = fmt::format("{}", fmt::join(report.other_writers, ", "));
  report.snapshot_id = table.metadata()->current_snapshot()->id;
  const spec::SchemaPtr schema = table.metadata()->schema();
  FRAZIL_ASSIGN(const auto key, index::CanonicalKey::Make(*schema, 0));
  std::vector<std::string> key_columns;
  for (const spec::FieldId id : key.field_ids()) key_columns.push_back(schema->FindField(id)->name);

  const auto add = [&](const KeyDifference& difference) -> Status {
    const Kind kind = difference.kind;
    ++(kind == Kind::kMissing ? report.missing : kind == Kind::kExtra ? report.extra : report.different);
    if (report.differences.size() >= options.max_listed) return {};
    const bool is_change = difference.change >= 0;
    std::string key_text = KeyText(key_columns, is_change ? *difference.changes : *difference.rows,
                                   is_change ? difference.change : difference.row);
    report.differences.push_back({kind, std::move(key_text), DetailText(difference, others)});
    return {};
  };
  FRAZIL_ASSIGN(ComparisonReport compared, CompareTable(table, source, decoder,
                                                        {.end = report.positions,
                                                         .sample_keys = options.sample_keys,
                                                         .memory_bytes = options.memory_bytes,
                                                         .temp_directory = options.temp_directory,
                                                         .executor = options.executor,
                                                         .stop = options.stop,
                                                         .on_progress = options.on_progress,
                                                         .on_poison = {},
                                                         .on_difference = add}));
  if (compared.needs_schema) {
    return Fail(ErrorCode::kInvalidTable, "the table's schema does not fit a record that its marker passed: {}",
                *compared.needs_schema);
  }
  static_cast<ComparisonReport&>(report) = std::move(compared);
  return report;
}

}  // namespace frazil::ingest
