#include "frazil/sql/row_level_change.h"

#include <algorithm>
#include <map>
#include <unordered_map>

#include <arrow/api.h>
#include <arrow/compute/api.h>

#include "frazil/base/log.h"
#include "frazil/base/stop_flag.h"
#include "frazil/base/version.h"
#include "frazil/scan/file_reader.h"
#include "frazil/spec/ascii.h"
#include "frazil/spec/checked_property.h"
#include "frazil/sql/query_text.h"
#include "frazil/sql/remove_files.h"
#include "frazil/sql/store_assignment.h"
#include "frazil/table/scan_planner.h"
#include "frazil/write/position_delete_file.h"

namespace frazil::sql {
namespace {

constexpr int kFirstValue = 4;  // columns of a row-level query before the values

Error ArrowError(const arrow::Status& status) {
  return Error(ErrorCode::kResourceExhausted, "rows of a change: " + status.ToString());
}

Result<std::shared_ptr<arrow::Array>> Take(const arrow::Array& values, const arrow::Array& rows) {
  auto taken = arrow::compute::Take(values, rows, arrow::compute::TakeOptions::NoBoundsCheck());
  if (!taken.ok()) return tl::unexpected<Error>(ArrowError(taken.status()));
  return taken.MoveValueUnsafe();
}

std::shared_ptr<arrow::Array> IndexArray(const std::vector<int64_t>& rows) {
  return std::make_shared<arrow::Int64Array>(static_cast<int64_t>(rows.size()), arrow::Buffer::Wrap(rows));
}

/// As Spark says it of a MERGE (spec section 2.3).
void AddMergeSummary(const RowLevelChange::Counts& counts, std::map<std::string, std::string>& summary) {
  auto add = [&](const char* key, int64_t count) {
    summary[std::string("spark.merge-into.num-target-rows-") + key] = std::to_string(count);
  };
  add("copied", counts.num_copied);
  add("deleted", counts.num_deleted);
  add("updated", counts.num_updated);
  add("inserted", counts.num_inserted);
  add("matched-updated", counts.num_updated - counts.num_unmatched_updated);
  add("matched-deleted", counts.num_deleted - counts.num_unmatched_deleted);
  add("not-matched-by-source-updated", counts.num_unmatched_updated);
  add("not-matched-by-source-deleted", counts.num_unmatched_deleted);
}

/// Whether `ancestor` is `head` or lies in its past, as far as the metadata knows it.
bool IsInPast(const spec::TableMetadata& metadata, const spec::Snapshot* head, spec::SnapshotId ancestor) {
  while (head != nullptr) {
    if (head->id == ancestor) return true;
    head = head->parent_id ? metadata.FindSnapshot(*head->parent_id) : nullptr;
  }
  return false;
}

}  // namespace

bool IsCopyOnWrite(const spec::TableMetadata& metadata, const RowLevelProperties& properties) {
  // Spark's default is copy on write for every version; ours is merge on read where vectors make it cheap.
  const char* by_default = metadata.format_version >= 3 ? "merge-on-read" : "copy-on-write";
  return spec::EqualsAnyCase(metadata.Property(properties.mode, by_default), "copy-on-write");
}

Status CheckProperties(const spec::TableMetadata& metadata, const RowLevelProperties& properties) {
  FRAZIL_TRY(spec::ChoiceProperty(metadata, properties.mode, {"copy-on-write", "merge-on-read"}, ""));
  FRAZIL_TRY(spec::ChoiceProperty(metadata, properties.isolation_level, {"serializable", "snapshot"}, ""));
  return {};
}

Status RowLevelChange::Take(const arrow::RecordBatch& batch, bool forbids_repeats, Answer& answer,
                            QueryRowWriter* writer) const {
  const auto& files = static_cast<const arrow::StringArray&>(*batch.column(0));
  const auto& positions = static_cast<const arrow::Int64Array&>(*batch.column(1));
  const auto& actions = static_cast<const arrow::Int32Array&>(*batch.column(3));
  const bool is_copy_on_write = IsCopyOnWrite(target_.metadata());
  std::map<std::string, std::vector<int64_t>, std::less<>> removed_here;
  std::vector<int64_t>* of_file = nullptr;
  std::string_view file;
  std::vector<int64_t> written;
  for (int64_t i = 0; i < batch.num_rows(); ++i) {
    if (actions.IsNull(i)) continue;
    const auto action = static_cast<RowAction>(actions.Value(i));
    const bool is_update = action == RowAction::kUpdate || action == RowAction::kUpdateUnmatched;
    if (is_update || action == RowAction::kInsert) written.push_back(i);
    if (action == RowAction::kInsert) {
      ++answer.counts.num_inserted;
      continue;
    }
    if (of_file == nullptr || files.GetView(i) != file) {
      file = files.GetView(i);
      auto found = removed_here.find(file);
      of_file = &(found == removed_here.end() ? removed_here[std::string(file)] : found->second);
    }
    const spec::RowPosition position{positions.Value(i)};
    if (forbids_repeats) {
      format::DeletionVector& matched = answer.matched[std::string(file)];
      if (matched.Contains(position)) {
        return tl::unexpected<Error>(
            Error(ErrorCode::kInvalidArgument,
                  fmt::format("MERGE matches one row of {} with several rows of the source", target_.ToString()))
                .WithHint("make the source unique in what ON compares"));
      }
      FRAZIL_TRY(matched.Add(position));
    }
    if (action == RowAction::kNone) continue;
    of_file->push_back(positions.Value(i));
    answer.counts.num_updated += is_update;
    answer.counts.num_unmatched_updated += action == RowAction::kUpdateUnmatched;
    answer.counts.num_unmatched_deleted += action == RowAction::kDeleteUnmatched;
  }
  for (auto& [path, of_path] : removed_here) {
    if (of_path.empty()) continue;
    std::sort(of_path.begin(), of_path.end());
    of_path.erase(std::unique(of_path.begin(), of_path.end()), of_path.end());
    format::DeletionVector here;
    FRAZIL_TRY(here.AddAll(of_path));
    answer.removed[path].UnionWith(here);
  }
  if (written.empty()) return {};

  std::vector<std::shared_ptr<arrow::Array>> columns;
  const bool is_whole = static_cast<int64_t>(written.size()) == batch.num_rows();
  const std::shared_ptr<arrow::Array> wanted = IndexArray(written);
  auto add = [&](int column) -> Status {
    if (is_whole) {
      columns.push_back(batch.column(column));
      return {};
    }
    FRAZIL_ASSIGN(auto taken, sql::Take(*batch.column(column), *wanted));
    columns.push_back(std::move(taken));
    return {};
  };
  for (int i = kFirstValue; i < batch.num_columns(); ++i) FRAZIL_TRY(add(i));
  FRAZIL_TRY(add(2));
  const auto num_rows = static_cast<int64_t>(written.size());
  if (is_copy_on_write) {
    // Changed rows inherit it from their file (spec section 5.3); those that only move bring theirs.
    auto nulls = arrow::MakeArrayOfNull(arrow::int64(), num_rows);
    if (!nulls.ok()) return tl::unexpected<Error>(ArrowError(nulls.status()));
    columns.push_back(*nulls);
  }
  arrow::FieldVector fields;
  for (const auto& column : columns) fields.push_back(arrow::field("", column->type()));
  return writer->Write(*arrow::RecordBatch::Make(arrow::schema(std::move(fields)), num_rows, std::move(columns)));
}

/// The rows of the touched files that stay, written anew with their lineage.
Status RowLevelChange::CopySurvivors(const table::Table& base, const spec::Snapshot* head, Answer& answer,
                                     QueryRowWriter& writer) const {
  const spec::SchemaPtr schema = base.metadata()->schema();
  FRAZIL_ASSIGN(const table::ScanPlan plan, table::PlanScan(base, head, expr::Expression::True(), schema));
  scan::ReadColumns wanted;
  for (const spec::Field& field : schema->fields()) {
    if (field.type.id() != spec::TypeId::kUnknown) wanted.fields.push_back(field.id);
  }
  wanted.row_lineage = true;
  wanted.position = true;
  for (const table::FileScanTask& task : plan.tasks) {
    const auto removed = answer.removed.find(task.data_file.file.file_path);
    if (removed == answer.removed.end()) continue;
    FRAZIL_ASSIGN(auto reader, scan::FileReader::Open(base.io(), plan, task, wanted));
    for (;;) {
      FRAZIL_ASSIGN(const auto batch, reader->Next());
      if (!batch) break;
      FRAZIL_TRY(CheckStop(engine_.stop(), options_.statement));
      const auto& positions = static_cast<const arrow::Int64Array&>(*batch->column(batch->num_columns() - 1));
      std::vector<int64_t> kept;
      for (int64_t i = 0; i < batch->num_rows(); ++i) {
        if (!removed->second.Contains(spec::RowPosition{positions.Value(i)})) kept.push_back(i);
      }
      if (kept.empty()) continue;
      std::vector<std::shared_ptr<arrow::Array>> columns;
      const std::shared_ptr<arrow::Array> rows = IndexArray(kept);
      for (int i = 0; i + 1 < batch->num_columns(); ++i) {
        FRAZIL_ASSIGN(auto taken, sql::Take(*batch->column(i), *rows));
        columns.push_back(std::move(taken));
      }
      arrow::FieldVector fields(batch->schema()->fields().begin(), batch->schema()->fields().end() - 1);
      const auto num_rows = static_cast<int64_t>(kept.size());
      answer.counts.num_copied += num_rows;
      FRAZIL_TRY(
          writer.Write(*arrow::RecordBatch::Make(arrow::schema(std::move(fields)), num_rows, std::move(columns))));
    }
  }
  return {};
}

Result<RowLevelChange::Answer> RowLevelChange::Ask(const table::Table& base, const spec::Snapshot* head) {
  const spec::TableMetadata& metadata = *base.metadata();
  Answer answer;
  if (head != nullptr) {
    answer.head = head->id;
    answer.sequence_number = head->sequence_number;
  }
  answer.schema_id = metadata.current_schema_id.value();
  answer.spec_id = metadata.default_spec_id.value();
  answer.format_version = metadata.format_version;

  // Everything that the statement names is looked at anew, and stays as it is while it runs.
  resolver_.Forget();
  resolver_.Pin(target_.catalog(), base);
  FRAZIL_ASSIGN(const RowLevelQuery query, make_(base));
  FRAZIL_ASSIGN(const std::string text, RewriteQuery(query.text));
  std::optional<QueryRowWriter> writer;
  const bool is_copy_on_write = IsCopyOnWrite(metadata);
  if (query.has_values || is_copy_on_write) {
    FRAZIL_ASSIGN(writer, QueryRowWriter::Make(base, engine_));
  }
  {
    auto rows = engine_.RunToWrite(text);
    int64_t num_rows = 0;
    if (!rows) return tl::unexpected<Error>(ExplainStoreError(std::move(rows).error()));
    for (;;) {
      auto batch = (*rows)->Next();
      if (!batch) return tl::unexpected<Error>(ExplainStoreError(std::move(batch).error()));
      if (!*batch) break;
      FRAZIL_TRY(Take(**batch, query.forbids_repeats, answer, writer ? &*writer : nullptr));
      num_rows += (*batch)->num_rows();
      engine_.ReportWritten(num_rows);
    }
  }
  answer.matched.clear();
  for (const auto& [path, positions] : answer.removed) answer.num_removed += positions.cardinality();
  answer.counts.num_deleted = answer.num_removed - answer.counts.num_updated;
  if (is_copy_on_write && !answer.removed.empty()) {
    FRAZIL_TRY(CopySurvivors(base, head, answer, *writer));
  }
  if (writer) {
    FRAZIL_ASSIGN(answer.added, writer->Finish());
  }
  return answer;
}

/// Whether the statement, asked on `base`, would answer what it answered before.
bool RowLevelChange::MayKeep(const Answer& answer, const table::Table& base, const spec::Snapshot* head,
                             const table::LiveFiles& live) const {
  const spec::TableMetadata& metadata = *base.metadata();
  if (answer.schema_id != metadata.current_schema_id.value() || answer.spec_id != metadata.default_spec_id.value() ||
      answer.format_version != metadata.format_version) {
    return false;
  }
  if (!answer.head || head == nullptr) return !answer.head && head == nullptr;
  if (*answer.head == head->id) return true;
  // After a rollback rows that were not there may be back.
  if (!IsInPast(metadata, head, *answer.head)) return false;
  const bool is_serializable =
      !spec::EqualsAnyCase(metadata.Property(options_.properties.isolation_level, "serializable"), "snapshot");
  if (is_serializable && options_.reads_other_rows) return false;
  size_t num_found = 0;
  for (const table::LiveDataFile& file : live.data_files) {
    num_found += answer.removed.count(file.file.file_path);
    // Compaction keeps the sequence number of the rows it moves: those were looked at.
    if (is_serializable && file.sequence_number > answer.sequence_number) return false;
  }
  if (num_found < answer.removed.size()) return false;
  for (const table::LiveDelete& file : live.delete_files) {
    if (file.sequence_number <= answer.sequence_number) continue;
    if (file.file.content == spec::FileContent::kEqualityDeletes) return false;
    // Files that are written anew must not lose what somebody deleted from them.
    if (IsCopyOnWrite(metadata) &&
        (!file.file.referenced_data_file || answer.removed.contains(*file.file.referenced_data_file))) {
      return false;
    }
  }
  return true;
}

/// Merges the deletes into those of the base. False: somebody else deleted a row that the answer changes.
Result<bool> RowLevelChange::MergeOnRead(const table::Table& base, const table::LiveFiles& live, const Answer& answer,
                                         Attempt& attempt, table::FileChanges& changes) const {
  FRAZIL_ASSIGN(table::MergedDeletes merged,
                table::MergeDeletes(base, answer.removed, live, scan::ReadPositionDeletes(base.io()),
                                    write::WritePositionDeletes(base)));
  attempt.written = std::move(merged.puffin_paths);
  attempt.num_newly_deleted = merged.num_newly_deleted;
  attempt.num_files_removed_whole = static_cast<int64_t>(merged.removed_data_files.size());
  changes.added_delete_files = std::move(merged.added_delete_files);
  changes.removed_delete_files = std::move(merged.removed_delete_files);
  changes.removed_data_files = std::move(merged.removed_data_files);
  // A row that is deleted twice is deleted; one that is updated after its delete would be back.
  return merged.num_newly_deleted == answer.num_removed || answer.counts.num_updated == 0;
}

Result<table::FileChanges> RowLevelChange::Prepare(const table::Table& base, spec::SnapshotId) {
  FRAZIL_TRY(CheckStop(engine_.stop(), options_.statement));
  FRAZIL_TRY(CheckProperties(*base.metadata(), options_.properties));
  const spec::Snapshot* head = target_.HeadOf(*base.metadata());
  FRAZIL_ASSIGN(const table::LiveFiles live, table::LoadLiveFiles(base, head));
  for (bool asks = answers_.empty() || !MayKeep(answers_.back(), base, head, live);; asks = true) {
    if (asks) {
      if (!answers_.empty() && !options_.is_repeatable) {
        return tl::unexpected<Error>(
            Error(ErrorCode::kCommitConflict,
                  fmt::format("{} of {}: somebody else changed the table, and the source cannot be read twice",
                              options_.statement, target_.ToString()))
                .WithHint("run the statement again"));
      }
      FRAZIL_ASSIGN(Answer answer, Ask(base, head));
      answers_.push_back(std::move(answer));
    }
    const Answer& answer = answers_.back();
    table::FileChanges changes;
    Attempt& attempt = attempts_.emplace_back();
    attempt.answer = answers_.size() - 1;
    if (IsCopyOnWrite(*base.metadata())) {
      std::vector<std::string> paths;
      for (const auto& [path, positions] : answer.removed) paths.push_back(path);
      RemoveDataFiles(std::move(paths), live, changes);
    } else {
      FRAZIL_ASSIGN(const bool is_current, MergeOnRead(base, live, answer, attempt, changes));
      if (!is_current) {
        if (asks) return Fail(ErrorCode::kInternal, "a query answered rows that are deleted: {}", target_.ToString());
        dropped_.insert(dropped_.end(), attempt.written.begin(), attempt.written.end());
        attempts_.pop_back();
        continue;
      }
    }
    for (const spec::DataFile& file : answer.added) changes.added_data_files.push_back({file, std::nullopt});
    changes.summary = {{"engine-name", "frazil"}, {"engine-version", kVersion}};
    if (options_.statement == "MERGE") AddMergeSummary(answer.counts, changes.summary);
    return changes;
  }
}

Result<RowLevelChange::Counts> RowLevelChange::Commit() {
  auto outcome = table::CommitSnapshot(target_.table(), *this, {.branch = target_.branch()});
  if (!outcome) {
    if (outcome.error().code() != ErrorCode::kCommitUnknown) DropAllBut(0);
    return tl::unexpected<Error>(std::move(outcome).error());
  }
  // Committed, but nobody can say which attempt: all files stay.
  const bool is_unclear = outcome->snapshot_id && outcome->committed_attempt == 0;
  if (!is_unclear) DropAllBut(outcome->committed_attempt);
  if (outcome->committed_attempt == 0) return Counts{};
  const Attempt& attempt = attempts_[static_cast<size_t>(outcome->committed_attempt) - 1];
  Counts counts = answers_[attempt.answer].counts;
  // Some rows of a kept answer may have been deleted by somebody else.
  if (!IsCopyOnWrite(target_.metadata())) counts.num_deleted = attempt.num_newly_deleted - counts.num_updated;
  counts.num_files_removed_whole = attempt.num_files_removed_whole;
  return counts;
}

/// Deletes what was written and did not become true (0: nothing did). Only once that is sure.
void RowLevelChange::DropAllBut(int committed_attempt) {
  std::vector<std::string> paths = dropped_;
  const auto committed = static_cast<size_t>(committed_attempt);
  for (size_t i = 0; i < attempts_.size(); ++i) {
    if (i + 1 != committed) paths.insert(paths.end(), attempts_[i].written.begin(), attempts_[i].written.end());
  }
  for (size_t i = 0; i < answers_.size(); ++i) {
    if (committed > 0 && attempts_[committed - 1].answer == i) continue;
    for (const spec::DataFile& file : answers_[i].added) paths.push_back(file.file_path);
  }
  DropFiles(target_.table(), paths, options_.statement.c_str());
}

}  // namespace frazil::sql
