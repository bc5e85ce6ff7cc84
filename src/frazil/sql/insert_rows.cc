#include <unordered_set>

#include <arrow/record_batch.h>

#include "frazil/base/stop_flag.h"
#include "frazil/base/version.h"
#include "frazil/sql/insert_query.h"
#include "frazil/sql/made_up_result.h"
#include "frazil/sql/query_row_writer.h"
#include "frazil/sql/query_text.h"
#include "frazil/sql/remove_files.h"
#include "frazil/sql/row_change.h"
#include "frazil/sql/row_level_change.h"
#include "frazil/sql/row_level_query.h"
#include "frazil/sql/store_assignment.h"
#include "frazil/table/partition_key.h"
#include "frazil/table/snapshot_change.h"

namespace frazil::sql {
namespace {

/// Adds the rows of a query. They are the same on every base, unless they replace rows and are made of some of them.
class InsertChange final : public table::SnapshotChange {
 public:
  InsertChange(const statement::Insert& insert, const WriteTarget& target, NameResolver& resolver, Engine& engine,
               Overwrite overwrite)
      : insert_(insert), target_(target), resolver_(resolver), engine_(engine), overwrite_(overwrite) {}

  Result<table::FileChanges> Prepare(const table::Table& base, spec::SnapshotId) override {
    FRAZIL_TRY(CheckStop(engine_.stop(), "INSERT"));
    const spec::Snapshot* head = target_.HeadOf(*base.metadata());
    const std::optional<spec::SnapshotId> head_id = head ? std::optional(head->id) : std::nullopt;
    const bool is_stale = overwrite_ != Overwrite::kNothing && reads_target_ && head_id != written_on_;
    if (writings_.empty() || is_stale) {
      if (is_stale && !writings_.empty() && !IsRepeatable(insert_.source)) {
        return Fail(ErrorCode::kCommitConflict,
                    "somebody else changed the table, and the source cannot be read twice: {}", target_.ToString());
      }
      FRAZIL_TRY(WriteRows(base));
      written_on_ = head_id;
    }
    attempts_.push_back(writings_.size() - 1);
    const Writing& writing = writings_.back();
    table::FileChanges changes;
    changes.summary = {{"engine-name", "frazil"}, {"engine-version", kVersion}};
    for (const spec::DataFile& file : writing.files) changes.added_data_files.push_back({file, std::nullopt});
    if (overwrite_ != Overwrite::kNothing) FRAZIL_TRY(RemoveReplaced(base, head, writing, changes));
    return changes;
  }

  /// Number of rows written.
  Result<int64_t> Commit() {
    auto outcome = table::CommitSnapshot(target_.table(), *this, {.branch = target_.branch()});
    if (!outcome && outcome.error().code() == ErrorCode::kCommitUnknown) {
      return tl::unexpected<Error>(std::move(outcome).error());
    }
    const int committed = outcome ? outcome->committed_attempt : 0;
    // Committed, but nobody can say which attempt: all files stay.
    if (outcome && outcome->snapshot_id && committed == 0) return writings_.back().num_rows;
    for (size_t i = 0; i < writings_.size(); ++i) {
      const bool is_used = committed > 0 && attempts_[static_cast<size_t>(committed) - 1] == i;
      if (!is_used) DropFiles(target_.table(), writings_[i].files, "INSERT");
    }
    if (!outcome) return tl::unexpected<Error>(std::move(outcome).error());
    return committed == 0 ? 0 : writings_[attempts_[static_cast<size_t>(committed) - 1]].num_rows;
  }

 private:
  struct Writing {
    std::vector<spec::DataFile> files;
    int64_t num_rows = 0;
  };

  Status WriteRows(const table::Table& base) {
    resolver_.Forget();
    FRAZIL_ASSIGN(const InsertQuery query, MakeInsertQuery(insert_, target_, engine_));
    FRAZIL_ASSIGN(const std::string text, RewriteQuery(query.ToString()));
    FRAZIL_ASSIGN(QueryRowWriter writer, QueryRowWriter::Make(base, engine_));
    Writing writing;
    auto rows = engine_.RunToWrite(text);
    if (!rows) return tl::unexpected<Error>(ExplainStoreError(std::move(rows).error()));
    reads_target_ = resolver_.IsPinned(target_.catalog(), target_.table().name());
    for (;;) {
      auto batch = (*rows)->Next();
      if (!batch) return tl::unexpected<Error>(ExplainStoreError(std::move(batch).error()));
      if (!*batch) break;
      FRAZIL_TRY(writer.Write(**batch));
      writing.num_rows += (*batch)->num_rows();
      engine_.ReportWritten(writing.num_rows);
    }
    FRAZIL_ASSIGN(writing.files, writer.Finish());
    writings_.push_back(std::move(writing));
    return {};
  }

  Status RemoveReplaced(const table::Table& base, const spec::Snapshot* head, const Writing& writing,
                        table::FileChanges& changes) const {
    FRAZIL_ASSIGN(const table::LiveFiles live, table::LoadLiveFiles(base, head));
    std::vector<std::string> paths;
    if (overwrite_ == Overwrite::kEverything) {
      for (const table::LiveDataFile& file : live.data_files) paths.push_back(file.file.file_path);
      RemoveDataFiles(std::move(paths), live, changes);
      return {};
    }
    if (writing.files.empty()) return {};  // no partition gets rows: none is replaced
    changes.operation = spec::Operation::kOverwrite;
    changes.summary["replace-partitions"] = "true";
    table::PartitionMap<bool> replaced;
    for (const spec::DataFile& file : writing.files) replaced[{file.spec_id, file.partition}] = true;
    for (const table::LiveDataFile& file : live.data_files) {
      if (replaced.contains({file.file.spec_id, file.file.partition})) paths.push_back(file.file.file_path);
    }
    RemoveDataFiles(std::move(paths), live, changes);
    return {};
  }

  const statement::Insert& insert_;
  const WriteTarget& target_;
  NameResolver& resolver_;
  Engine& engine_;
  const Overwrite overwrite_;
  std::vector<Writing> writings_;
  std::vector<size_t> attempts_;  ///< the writing that each used
  std::optional<spec::SnapshotId> written_on_;
  bool reads_target_ = false;
};

/// INSERT OVERWRITE ... PARTITION (a = 'x'): the rows of that value go, the new ones come.
Result<int64_t> ReplaceWhere(const statement::Insert& insert, const WriteTarget& target, NameResolver& resolver,
                             Engine& engine) {
  FRAZIL_TRY(target.CheckRowColumns());
  RowLevelChange change(target, resolver, engine,
                        {.statement = "INSERT OVERWRITE",
                         .properties = kDeleteProperties,
                         .reads_other_rows = true,
                         .is_repeatable = IsRepeatable(insert.source)},
                        [&](const table::Table&) { return ReplacementQueryOf(insert, target, engine); });
  FRAZIL_ASSIGN(const RowLevelChange::Counts counts, change.Commit());
  return counts.num_inserted;
}

}  // namespace

Overwrite OverwriteOf(const statement::Insert& insert, bool replaces_partitions) {
  if (!insert.overwrite) return Overwrite::kNothing;
  if (replaces_partitions) return Overwrite::kPartitions;
  const bool has_value = std::any_of(insert.partition.begin(), insert.partition.end(),
                                     [](const statement::PartitionValue& item) { return item.value.has_value(); });
  return has_value ? Overwrite::kPartitionValue : Overwrite::kEverything;
}

Result<RowLevelQuery> ReplacementQueryOf(const statement::Insert& insert, const WriteTarget& target, Engine& engine) {
  FRAZIL_ASSIGN(const InsertQuery rows, MakeInsertQuery(insert, target, engine));
  std::string nulls;
  std::string values;
  for (const std::string& value : rows.values) {
    nulls += ", NULL";
    values += ", " + value;
  }
  return RowLevelQuery{
      fmt::format("SELECT {0}_file, {0}_pos, {0}_row_id, CAST({1} AS INTEGER){2} FROM {3} WHERE {4} UNION ALL "
                  "SELECT NULL, NULL, NULL, CAST({5} AS INTEGER){6} FROM {7}",
                  target.Qualifier(""), static_cast<int32_t>(RowAction::kDelete), nulls, target.FromText(""),
                  rows.partition_condition, static_cast<int32_t>(RowAction::kInsert), values, rows.from),
      true, false};
}

Result<std::unique_ptr<QueryResult>> Run(const statement::Insert& insert, NameResolver& resolver, Engine& engine,
                                         bool replaces_partitions) {
  FRAZIL_ASSIGN(const WriteTarget target, WriteTarget::Find(insert.table, resolver));
  const Overwrite overwrite = OverwriteOf(insert, replaces_partitions);
  int64_t num_rows = 0;
  if (overwrite == Overwrite::kPartitionValue) {
    FRAZIL_ASSIGN(num_rows, ReplaceWhere(insert, target, resolver, engine));
  } else {
    InsertChange change(insert, target, resolver, engine, overwrite);
    FRAZIL_ASSIGN(num_rows, change.Commit());
  }
  return MessageResult(insert.overwrite ? fmt::format("overwrote {} with {} rows", target.ToString(), num_rows)
                                        : fmt::format("inserted {} rows into {}", num_rows, target.ToString()));
}

}  // namespace frazil::sql
