#include "frazil/ingest/batch_commit.h"

#include <algorithm>

#include "frazil/ingest/schema_fit.h"
#include "frazil/scan/file_reader.h"
#include "frazil/table/uncommitted_files.h"

namespace frazil::ingest {
namespace {

/// kUnavailable: others' orphan removal has taken one that no commit names yet. The batch is written anew.
Status CheckThere(const io::FileIO& io, const std::set<std::string>& paths) {
  for (const std::string& path : paths) {
    FRAZIL_ASSIGN(const bool is_there, io.Exists(path));
    if (!is_there) return Fail(ErrorCode::kUnavailable, "an uncommitted file is gone, it is written anew: {}", path);
  }
  return {};
}

}  // namespace

BatchCommit::BatchCommit(const ChangeBatch& batch, const CollapsedBatch& collapsed, const PipelineIdentity& pipeline,
                         index::KeyIndex& index, spec::SchemaPtr schema, Clock& clock, BatchCommitOptions options,
                         std::optional<SchemaChange> schema_change)
    : batch_(batch),
      collapsed_(collapsed),
      pipeline_(pipeline),
      index_(index),
      schema_(std::move(schema)),
      clock_(clock),
      options_(options),
      schema_change_(std::move(schema_change)),
      landed_(options_.landed != nullptr ? *options_.landed : own_landed_),
      files_(batch_, collapsed_.hash_of_row, schema_, options_.landing, options_.min_landing_rows, options_.executor,
             clock_) {}

Status BatchCommit::CheckFence(const table::EffectiveMarker& marker) {
  fence_state_ = CompareToFence(marker, pipeline_, batch_.ranges);
  if (fence_state_ == FenceState::kAtStart) return {};
  // Somebody else moved the marker: committing now would double records or leave a gap.
  return tl::unexpected(Error(ErrorCode::kFenced, FenceText(marker, pipeline_, batch_.ranges))
                            .WithHint("another process ingests it, or the table was rolled back; run the command again "
                                      "to continue from where the table stands"));
}

/// The batch's schema change as far as the base does not have it yet. The same change by somebody else (another pipeline of
/// the same topic's schema) is as good as ours when it gave the columns the same ids.
Result<std::vector<spec::TableUpdate>> BatchCommit::SchemaUpdatesOn(const spec::TableMetadata& base) const {
  const bool is_unchanged = schema_change_ && base.schema()->SameAs(*schema_change_->from) &&
                            base.last_column_id == schema_change_->last_column_id;
  if (is_unchanged) return schema_change_->updates;
  if (schema_change_ && !base.schema()->SameAs(*schema_)) {
    return tl::unexpected(Error(ErrorCode::kFenced, "the table's schema changed while a batch evolved it")
                              .WithHint("run the command again to continue with the table as it is now"));
  }
  FRAZIL_TRY(CheckRowsFit(*schema_, base));
  return std::vector<spec::TableUpdate>{};
}

/// On the base's live files and those that this commit adds: rows of them may be struck out already.
Result<table::MergedDeletes> BatchCommit::MergeVectors(const table::Table& base, const CommittedRows& rows) {
  const StageTimer timer(options_.stages, "vectors");
  const table::PositionDeleteReader read_positions = scan::ReadPositionDeletes(base.io());
  if (rows.struck_out.empty()) {
    return table::MergeDeletes(base, resolution_.deletes, index_.live_files(), read_positions);
  }
  table::LiveFiles live = index_.live_files();
  for (const spec::DataFile& file : rows.files) {
    const spec::SequenceNumber next(base.metadata()->last_sequence_number.value() + 1);
    live.data_files.push_back({.file = file, .sequence_number = next, .file_sequence_number = next});
  }
  for (const auto& [path, positions] : rows.struck_out) resolution_.deletes[path].UnionWith(positions);
  return table::MergeDeletes(base, resolution_.deletes, live, read_positions);
}

Result<table::FileChanges> BatchCommit::Prepare(const table::Table& base, spec::SnapshotId snapshot_id) {
  std::set<std::string>& used = files_of_attempt_.emplace_back();
  FRAZIL_ASSIGN(table::EffectiveMarker effective, table::FindEffectiveMarker(base, spec::kMainBranch));
  FRAZIL_TRY(CheckFence(effective));
  FRAZIL_ASSIGN(std::vector<spec::TableUpdate> schema_updates, SchemaUpdatesOn(*base.metadata()));
  {
    const StageTimer timer(options_.stages, "look-up");
    FRAZIL_TRY(index_.FollowTo(base, base.metadata()->current_snapshot(), {}));
    // What others believe to be gone goes with this commit.
    const table::OwnDeletes none;
    const table::OwnDeletes* gone = &none;
    if (options_.key != nullptr) {
      FRAZIL_ASSIGN(gone, landed_.On(base, index_, *options_.key));
    }
    FRAZIL_ASSIGN(resolution_, ResolveKeys(collapsed_.changes, index_, *gone));
    num_struck_out_landed_ = 0;
    for (const auto& [path, positions] : *gone) {
      num_struck_out_landed_ += positions.cardinality();
      resolution_.deletes[path].UnionWith(positions);
    }
  }
  const int64_t begun_ms = clock_.NowMs();
  CommittedRows rows;
  {
    const StageTimer timer(options_.stages, "write");
    FRAZIL_ASSIGN(rows, files_.For(base, resolution_));
  }
  FRAZIL_ASSIGN(table::MergedDeletes merged, MergeVectors(base, rows));
  written_puffins_.insert(merged.puffin_paths.begin(), merged.puffin_paths.end());
  used.insert(merged.puffin_paths.begin(), merged.puffin_paths.end());

  table::FileChanges changes = MarkerChanges(std::move(effective.marker), pipeline_, PipelineProgress::After(batch_),
                                             *base.metadata(), snapshot_id, clock_);
  if (rows.added_spec) schema_updates.emplace_back(spec::update::AddPartitionSpec{*rows.added_spec});
  changes.other_updates.insert(changes.other_updates.begin(), schema_updates.begin(), schema_updates.end());
  sizes_ = {.data_files = static_cast<int64_t>(rows.files.size()),
            .row_bytes = 0,
            .vectors = static_cast<int64_t>(merged.added_delete_files.size()),
            .vector_bytes = 0,
            .struck_out_landed = num_struck_out_landed_};
  for (const spec::DataFile& file : rows.files) {
    used.insert(file.file_path);
    sizes_.row_bytes += file.file_size_in_bytes;
    changes.added_data_files.push_back({.file = file, .sequence_number = {}});
  }
  if (clock_.NowMs() - begun_ms > table::kLookAfterMs) FRAZIL_TRY(CheckThere(*base.io(), used));
  for (const spec::DataFile& vector : merged.added_delete_files) {
    sizes_.vector_bytes += vector.content_size_in_bytes.value_or(0);
  }
  changes.added_delete_files = std::move(merged.added_delete_files);
  changes.removed_delete_files = std::move(merged.removed_delete_files);
  changes.removed_data_files = std::move(merged.removed_data_files);
  return changes;
}

void BatchCommit::DeleteAllBut(table::Table& table, const std::set<std::string>& used) {
  std::set<std::string> written = files_.written();
  written.insert(written_puffins_.begin(), written_puffins_.end());
  std::vector<std::string> paths;
  std::set_difference(written.begin(), written.end(), used.begin(), used.end(), std::back_inserter(paths));
  if (!paths.empty()) (void)table.io()->Delete(paths);  // best effort: they are orphans, and orphan removal finds them
}

Result<table::CommitOutcome> BatchCommit::Run(table::Table& table) {
  auto outcome = table::CommitSnapshot(table, *this, {.allow_empty = true}, clock_);
  if (!outcome) {
    if (outcome.error().code() != ErrorCode::kCommitUnknown) DeleteAllBut(table, {});
    return outcome;
  }
  landed_.Committed();
  // A lost reply may have hidden that an earlier attempt won: then the files of that one are the table's. When nobody
  // can say which, all stay.
  const auto committed = static_cast<size_t>(outcome->committed_attempt);
  if (committed > 0 && committed <= files_of_attempt_.size()) DeleteAllBut(table, files_of_attempt_[committed - 1]);
  const StageTimer timer(options_.stages, "look-up");
  FRAZIL_TRY(index_.FollowTo(table, table.metadata()->current_snapshot(), files_.known_keys()));
  return outcome;
}

}  // namespace frazil::ingest
