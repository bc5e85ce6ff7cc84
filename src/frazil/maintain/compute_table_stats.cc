// CALL system.compute_table_stats (spec section 9.7): the number of distinct values of each column, as sketches in a
// Puffin file that the metadata names. Query planners of other engines read them.

#include <algorithm>
#include <mutex>

#include <arrow/api.h>

#include "frazil/base/uuid.h"
#include "frazil/format/parquet_value.h"
#include "frazil/format/puffin.h"
#include "frazil/maintain/distinct_values.h"
#include "frazil/maintain/maintained_table.h"
#include "frazil/maintain/procedure_definition.h"
#include "frazil/maintain/shared_equality_deletes.h"
#include "frazil/scan/file_reader.h"
#include "frazil/spec/single_value.h"
#include "frazil/table/snapshot_change.h"

namespace frazil::maintain {
namespace {

constexpr char kThetaSketch[] = "apache-datasketches-theta-v1";

/// The values of a column in the single-value encoding: those whose bytes lie in the array as they are, at once.
template <typename ArrowArray>
void AddFixedWidth(const arrow::Array& column, DistinctValues& values) {
  const auto& array = static_cast<const ArrowArray&>(column);
  for (int64_t i = 0; i < array.length(); ++i) {
    if (array.IsNull(i)) continue;
    const auto value = array.Value(i);  // little-endian, as the encoding is
    values.Add(std::as_bytes(std::span(&value, 1)));
  }
}

template <typename ArrowArray>
void AddTexts(const arrow::Array& column, DistinctValues& values) {
  const auto& array = static_cast<const ArrowArray&>(column);
  for (int64_t i = 0; i < array.length(); ++i) {
    if (!array.IsNull(i)) values.Add(AsBytes(array.GetView(i)));
  }
}

Status AddColumn(const arrow::Array& column, const spec::Type& type, DistinctValues& values) {
  switch (column.type_id()) {
    case arrow::Type::INT32: AddFixedWidth<arrow::Int32Array>(column, values); return {};
    case arrow::Type::DATE32: AddFixedWidth<arrow::Date32Array>(column, values); return {};
    case arrow::Type::INT64: AddFixedWidth<arrow::Int64Array>(column, values); return {};
    case arrow::Type::TIME64: AddFixedWidth<arrow::Time64Array>(column, values); return {};
    case arrow::Type::TIMESTAMP: AddFixedWidth<arrow::TimestampArray>(column, values); return {};
    case arrow::Type::FLOAT: AddFixedWidth<arrow::FloatArray>(column, values); return {};
    case arrow::Type::DOUBLE: AddFixedWidth<arrow::DoubleArray>(column, values); return {};
    case arrow::Type::STRING: AddTexts<arrow::StringArray>(column, values); return {};
    case arrow::Type::BINARY: AddTexts<arrow::BinaryArray>(column, values); return {};
    default: break;
  }
  for (int64_t i = 0; i < column.length(); ++i) {
    FRAZIL_ASSIGN(const spec::Value value, format::ValueAt(column, type, i));
    if (!spec::IsNull(value)) values.Add(spec::EncodeSingleValue(type, value));
  }
  return {};
}

/// Chosen columns, each once; none chosen: all that have single values.
Result<std::vector<spec::Field>> ChooseColumns(const spec::Schema& schema,
                                               const std::optional<std::vector<std::string>>& names) {
  std::vector<spec::Field> chosen;
  if (!names) {
    for (const spec::Field& field : schema.fields()) {
      if (field.type.is_primitive()) chosen.push_back(field);
    }
    return chosen;
  }
  for (const std::string& name : *names) {
    const spec::Field* field = schema.FindFieldAnyCase(name);
    if (field == nullptr) {
      std::vector<std::string> all;
      for (const auto& [known, full_name] : schema.AllFields()) all.push_back(full_name);
      Error error(ErrorCode::kInvalidArgument, "Can't find column: " + name);
      const std::string nearest = spec::NearestName(name, all);
      return tl::unexpected(nearest.empty() ? std::move(error)
                                            : std::move(error).WithHint("did you mean " + nearest + "?"));
    }
    if (!field->type.is_primitive()) {
      return Fail(ErrorCode::kInvalidArgument, "Can't compute stats on non-primitive type column: {} ({})", name,
                  field->type.ToString());
    }
    if (schema.PathTo(field->id).size() > 1) {
      return Fail(ErrorCode::kNotSupported, "statistics of a nested field are not supported yet: {}", name);
    }
    const bool is_again =
        std::any_of(chosen.begin(), chosen.end(), [&](const spec::Field& known) { return known.id == field->id; });
    if (!is_again) chosen.push_back(*field);
  }
  return chosen;
}

/// Counts the live rows of one snapshot.
class StatisticsScan {
 public:
  StatisticsScan(const table::Table& table, const table::ScanPlan& plan, const std::vector<spec::Field>& columns)
      : table_(table), plan_(plan), columns_(columns), all_(columns.size()) {
    for (const spec::Field& column : columns) read_.fields.push_back(column.id);
  }

  Result<std::vector<DistinctValues>> Run(const table::ProcedureContext& context) {
    SharedEqualityDeletes equality(context.budget, context.temp_directory);  // has their room
    FRAZIL_ASSIGN(equality_, equality.Of(table_.io(), *plan_.deletes));
    table::ProcedureProgress progress;
    progress.phase = "reading";
    progress.groups = static_cast<int64_t>(plan_.tasks.size());
    FRAZIL_TRY(ParallelFor(context.executor, plan_.tasks.size(), [&](size_t i) -> Status {
      FRAZIL_TRY(CheckStop(context));
      std::vector<DistinctValues> own(columns_.size());
      FRAZIL_ASSIGN(const int64_t rows, ReadTask(plan_.tasks[i], own));
      const std::lock_guard lock(mutex_);
      for (size_t c = 0; c < columns_.size(); ++c) all_[c].Merge(own[c]);
      ++progress.groups_done;
      progress.rows_done += rows;
      if (context.on_progress) context.on_progress(progress);
      return {};
    }));
    return std::move(all_);
  }

 private:
  Result<int64_t> ReadTask(const table::FileScanTask& task, std::vector<DistinctValues>& values) {
    FRAZIL_ASSIGN(const auto reader, scan::FileReader::Open(table_.io(), plan_, task, read_, equality_));
    int64_t rows = 0;
    for (;;) {
      FRAZIL_ASSIGN(const auto batch, reader->Next());
      if (batch == nullptr) return rows;
      rows += batch->num_rows();
      for (size_t c = 0; c < columns_.size(); ++c) {
        FRAZIL_TRY(AddColumn(*batch->column(static_cast<int>(c)), columns_[c].type, values[c]));
      }
    }
  }

  const table::Table& table_;
  const table::ScanPlan& plan_;
  const std::vector<spec::Field>& columns_;
  std::shared_ptr<scan::EqualityDeletes> equality_;
  scan::ReadColumns read_;
  std::mutex mutex_;
  std::vector<DistinctValues> all_;
};

Result<spec::StatisticsFile> WriteStatistics(const table::Table& table, const spec::Snapshot& snapshot,
                                             const std::vector<spec::Field>& columns,
                                             const std::vector<DistinctValues>& values) {
  const spec::TableMetadata& metadata = *table.metadata();
  spec::StatisticsFile file;
  file.snapshot_id = snapshot.id;
  file.statistics_path =
      fmt::format("{}/{}-{}.stats", metadata.Property("write.metadata.path", metadata.location + "/metadata"),
                  snapshot.id, Uuid::Random().ToString());
  FRAZIL_ASSIGN(auto output, table.io()->Create(file.statistics_path));
  format::PuffinWriter writer(std::move(output));
  for (size_t c = 0; c < columns.size(); ++c) {
    format::PuffinBlob blob;
    blob.type = kThetaSketch;
    blob.fields = {columns[c].id};
    blob.snapshot_id = snapshot.id.value();
    blob.sequence_number = snapshot.sequence_number.value();
    blob.properties = {{"ndv", std::to_string(static_cast<int64_t>(values[c].Estimate()))}};
    FRAZIL_ASSIGN(blob, writer.AddBlob(blob, values[c].Serialize()));
    file.blob_metadata.push_back({.type = blob.type,
                                  .snapshot_id = snapshot.id,
                                  .sequence_number = snapshot.sequence_number,
                                  .fields = blob.fields,
                                  .properties = blob.properties});
  }
  FRAZIL_ASSIGN(file.file_size_in_bytes, writer.Finish());
  FRAZIL_ASSIGN(const auto input, table.io()->Open(file.statistics_path));
  FRAZIL_ASSIGN(const format::PuffinFooter footer, format::ReadPuffinFooter(*input));
  file.file_footer_size_in_bytes = footer.footer_size_bytes;
  return file;
}

Result<std::vector<table::ProcedureRow>> ComputeTableStats(const table::ProcedureContext& context,
                                                           const Arguments& arguments) {
  FRAZIL_ASSIGN(table::Table table, OpenTable(context, arguments.RequiredText("table")));
  const spec::Snapshot* snapshot = table.metadata()->current_snapshot();
  if (const auto id = arguments.Number("snapshot_id")) {
    snapshot = table.metadata()->FindSnapshot(spec::SnapshotId{*id});
    if (snapshot == nullptr) return Fail(ErrorCode::kInvalidArgument, "Snapshot not found: {}", *id);
  }
  if (snapshot == nullptr) return std::vector<table::ProcedureRow>{{table::ProcedureValue()}};
  FRAZIL_ASSIGN(const table::ScanPlan plan, table::PlanScan(table, snapshot, nullptr));
  FRAZIL_ASSIGN(const std::vector<spec::Field> columns, ChooseColumns(*plan.schema, arguments.Texts("columns")));
  if (columns.empty()) return std::vector<table::ProcedureRow>{{table::ProcedureValue()}};
  FRAZIL_ASSIGN(const std::vector<DistinctValues> values, StatisticsScan(table, plan, columns).Run(context));
  FRAZIL_ASSIGN(const spec::StatisticsFile file, WriteStatistics(table, *snapshot, columns, values));
  const Status committed = table::CommitUpdates(
      table,
      [&](const spec::TableMetadata& base) -> Result<std::vector<spec::TableUpdate>> {
        if (base.FindSnapshot(file.snapshot_id) == nullptr) {
          return Fail(ErrorCode::kCommitConflict, "the snapshot expired while its values were counted: {}",
                      file.snapshot_id);
        }
        return std::vector<spec::TableUpdate>{spec::update::SetStatistics{file}};
      },
      ClockOf(context));
  if (!committed) {
    if (!MayBeCommitted(committed.error())) {
      static_cast<void>(table.io()->Delete({file.statistics_path}));  // best effort: else orphan removal takes it
    }
    return tl::unexpected(committed.error());
  }
  return std::vector<table::ProcedureRow>{{file.statistics_path}};
}

}  // namespace

ProcedureDefinition ComputeTableStatsDefinition() {
  using table::ProcedureType;
  ProcedureDefinition definition;
  definition.name = "compute_table_stats";
  definition.parameters = {
      TableParameter(), {"snapshot_id", ProcedureType::kLong}, {"columns", ProcedureType::kStringList}};
  definition.columns = {{"statistics_file", ProcedureType::kString}};
  definition.run = ComputeTableStats;
  return definition;
}

}  // namespace frazil::maintain
