#include "frazil/ingest/batch_commit.h"

#include <algorithm>

#include <arrow/api.h>
#include <arrow/compute/api.h>

#include "frazil/base/log.h"
#include "frazil/base/version.h"
#include "frazil/format/parquet_schema.h"
#include "frazil/scan/file_reader.h"
#include "frazil/write/row_writer.h"

namespace frazil::ingest {
namespace {

constexpr int32_t kFilePartition = 0;

Result<std::shared_ptr<arrow::RecordBatch>> TakeRows(const ChangeBatch& batch, const Resolution& resolution) {
  const auto indices = std::make_shared<arrow::Int64Array>(static_cast<int64_t>(resolution.rows.size()),
                                                           arrow::Buffer::Wrap(resolution.rows));
  arrow::ArrayVector columns;
  for (const std::shared_ptr<arrow::Array>& column : batch.rows->columns()) {
    auto taken = arrow::compute::Take(*column, *indices, arrow::compute::TakeOptions::NoBoundsCheck());
    if (!taken.ok()) return Fail(ErrorCode::kInternal, "take rows: {}", taken.status().message());
    columns.push_back(taken.MoveValueUnsafe());
  }
  arrow::Int64Builder row_ids;
  for (const std::optional<spec::RowId>& row_id : resolution.row_ids) {
    const arrow::Status status = row_id ? row_ids.Append(row_id->value()) : row_ids.AppendNull();
    if (!status.ok()) return Fail(ErrorCode::kResourceExhausted, "row ids: {}", status.message());
  }
  std::shared_ptr<arrow::Array> row_id_column;
  if (const arrow::Status status = row_ids.Finish(&row_id_column); !status.ok()) {
    return Fail(ErrorCode::kResourceExhausted, "row ids: {}", status.message());
  }
  columns.push_back(std::move(row_id_column));
  auto schema =
      batch.rows->schema()->AddField(batch.rows->num_columns(), arrow::field(spec::kRowIdColumn, arrow::int64()));
  if (!schema.ok()) return Fail(ErrorCode::kInternal, "row ids: {}", schema.status().message());
  return arrow::RecordBatch::Make(schema.MoveValueUnsafe(), static_cast<int64_t>(resolution.rows.size()),
                                  std::move(columns));
}

}  // namespace

table::FileChanges MarkerChanges(table::Marker marker, const PipelineIdentity& pipeline, int64_t next,
                                 const spec::TableMetadata& metadata, spec::SnapshotId snapshot_id,
                                 const Clock& clock) {
  table::PipelineMarker& ours = marker.pipelines[pipeline.id];
  ours.writer = pipeline.writer;
  ours.source = pipeline.source;
  ours.partitions[kFilePartition] = {.next = next, .leader_epoch = std::nullopt};
  ours.committed_at_ms = clock.NowMs();
  table::FileChanges changes;
  changes.summary = {{table::kMarkerSummaryKey, table::WriteMarkerJson(marker, snapshot_id)},
                     {"engine-name", "frazil"},
                     {"engine-version", kVersion}};
  changes.other_updates.push_back(spec::update::SetProperties{
      {{table::MarkerPropertyKey(spec::kMainBranch),
        table::WriteMarkerPropertyJson({.marker = marker, .table_uuid = metadata.table_uuid, .head = snapshot_id})}}});
  return changes;
}

BatchCommit::BatchCommit(const ChangeBatch& batch, std::vector<KeyChange> changes, const PipelineIdentity& pipeline,
                         index::KeyIndex& index, spec::SchemaPtr schema, Executor* executor, Clock& clock)
    : batch_(batch),
      changes_(std::move(changes)),
      pipeline_(pipeline),
      index_(index),
      schema_(std::move(schema)),
      executor_(executor),
      clock_(clock) {}

Status BatchCommit::CheckFence(const table::EffectiveMarker& marker) const {
  int64_t next = 0;
  if (const auto ours = marker.marker.pipelines.find(pipeline_.id); ours != marker.marker.pipelines.end()) {
    const auto partition = ours->second.partitions.find(kFilePartition);
    if (partition != ours->second.partitions.end()) next = partition->second.next;
  }
  if (marker.proof != table::EffectiveMarker::Proof::kUnproven && next == batch_.start) return {};
  // Somebody else moved the marker: committing now would double records or leave a gap.
  return tl::unexpected(
      Error(ErrorCode::kFenced, fmt::format("the table stands at record {} of {}, this batch begins at {}", next,
                                            pipeline_.id, batch_.start))
          .WithHint("another process ingests it, or the table was rolled back; run the command again "
                    "to continue from where the table stands"));
}

Result<table::FileChanges> BatchCommit::Prepare(const table::Table& base, spec::SnapshotId snapshot_id) {
  const spec::TableMetadata& metadata = *base.metadata();
  if (!metadata.schema()->SameAs(*schema_)) {
    return tl::unexpected(Error(ErrorCode::kFenced, "the table's schema changed while a batch was being written")
                              .WithHint("run the command again to continue with the new schema"));
  }
  std::set<std::string>& used = files_of_attempt_.emplace_back();
  FRAZIL_ASSIGN(table::EffectiveMarker effective, table::FindEffectiveMarker(base, spec::kMainBranch));
  FRAZIL_TRY(CheckFence(effective));

  FRAZIL_TRY(index_.FollowTo(base, metadata.current_snapshot(), {}));
  FRAZIL_ASSIGN(Resolution resolution, ResolveKeys(changes_, index_));
  const bool can_reuse_rows = rows_are_written_ && resolution.SameRows(resolution_);
  resolution_ = std::move(resolution);
  if (!can_reuse_rows) FRAZIL_TRY(WriteRows(base));

  FRAZIL_ASSIGN(table::MergedDeletes merged, table::MergeDeletes(base, resolution_.deletes, index_.live_files(),
                                                                 scan::ReadPositionDeletes(base.io())));
  written_.insert(merged.puffin_paths.begin(), merged.puffin_paths.end());
  used.insert(merged.puffin_paths.begin(), merged.puffin_paths.end());
  for (const spec::DataFile& file : files_) used.insert(file.file_path);

  table::FileChanges changes =
      MarkerChanges(std::move(effective.marker), pipeline_, batch_.end, metadata, snapshot_id, clock_);
  for (const spec::DataFile& file : files_) changes.added_data_files.push_back({.file = file});
  changes.added_delete_files = std::move(merged.added_delete_files);
  changes.removed_delete_files = std::move(merged.removed_delete_files);
  changes.removed_data_files = std::move(merged.removed_data_files);
  return changes;
}

Status BatchCommit::WriteRows(const table::Table& base) {
  files_.clear();
  known_keys_.clear();
  rows_are_written_ = true;
  if (resolution_.rows.empty()) return {};
  FRAZIL_ASSIGN(const std::shared_ptr<arrow::RecordBatch> rows, TakeRows(batch_, resolution_));
  FRAZIL_ASSIGN(const std::unique_ptr<write::RowWriter> writer,
                write::RowWriter::Make(base.io(), base.metadata(), schema_, executor_));
  std::vector<write::RowLocation> locations;
  FRAZIL_TRY(writer->Write(*rows, &locations));
  FRAZIL_ASSIGN(files_, writer->Finish());
  for (const spec::DataFile& file : files_) written_.insert(file.file_path);

  // The index learns the keys of our own files from here instead of reading them back.
  std::vector<Hash96> hash_of_row(static_cast<size_t>(batch_.rows->num_rows()));
  for (const KeyChange& change : changes_) {
    if (change.last_row >= 0) hash_of_row[static_cast<size_t>(change.last_row)] = change.hash;
  }
  std::vector<index::KnownKeys*> keys_of_file;
  for (const spec::DataFile& file : files_) {
    index::KnownKeys& keys = known_keys_[file.file_path];
    keys.hashes.resize(static_cast<size_t>(file.record_count));
    keys.stored_row_ids.resize(static_cast<size_t>(file.record_count));
    keys_of_file.push_back(&keys);
  }
  for (size_t i = 0; i < locations.size(); ++i) {
    index::KnownKeys& keys = *keys_of_file[locations[i].file];
    const auto position = static_cast<size_t>(locations[i].position);
    keys.hashes[position] = hash_of_row[static_cast<size_t>(resolution_.rows[i])];
    keys.stored_row_ids[position] = resolution_.row_ids[i];
  }
  return {};
}

void BatchCommit::DeleteAllBut(table::Table& table, const std::set<std::string>& used) {
  std::vector<std::string> paths;
  std::set_difference(written_.begin(), written_.end(), used.begin(), used.end(), std::back_inserter(paths));
  if (!paths.empty()) (void)table.io()->Delete(paths);  // best effort: they are orphans, and orphan removal finds them
}

Result<table::CommitOutcome> BatchCommit::Run(table::Table& table) {
  auto outcome = table::CommitSnapshot(table, *this, {.allow_empty = true}, clock_);
  if (!outcome) {
    if (outcome.error().code() != ErrorCode::kCommitUnknown) DeleteAllBut(table, {});
    return outcome;
  }
  // A lost reply may have hidden that an earlier attempt won: then the files of that one are the table's. When nobody
  // can say which, all stay.
  const auto committed = static_cast<size_t>(outcome->committed_attempt);
  if (committed > 0 && committed <= files_of_attempt_.size()) DeleteAllBut(table, files_of_attempt_[committed - 1]);
  FRAZIL_TRY(index_.FollowTo(table, table.metadata()->current_snapshot(), known_keys_));
  return outcome;
}

}  // namespace frazil::ingest
