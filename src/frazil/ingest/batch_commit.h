#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "frazil/base/clock.h"
#include "frazil/base/executor.h"
#include "frazil/index/key_index.h"
#include "frazil/ingest/batch_files.h"
#include "frazil/ingest/change_batch.h"
#include "frazil/ingest/key_resolver.h"
#include "frazil/ingest/landed_to_strike_out.h"
#include "frazil/ingest/landing.h"
#include "frazil/ingest/pipeline_progress.h"
#include "frazil/ingest/stage_cpu.h"
#include "frazil/table/marker.h"
#include "frazil/table/snapshot_change.h"
#include "frazil/table/vector_store.h"

namespace frazil::ingest {

/// Schema evolution that goes with a batch: its first rows use it (ingest.md rule 11).
struct SchemaChange {
  spec::SchemaPtr from;  ///< the table's schema that `updates` were made for
  /// Of that table: which ids it gave to columns that it dropped again does not show in the schema, and `updates` give the
  /// ids behind it.
  spec::FieldId last_column_id;
  std::vector<spec::TableUpdate> updates;
};

/// What is the same for all batches of a run. Pointers may be null.
struct BatchCommitOptions {
  LandingMode landing = LandingMode::kNever;               ///< the table's property goes before it
  int64_t min_landing_rows = BatchFiles::kMinLandingRows;  ///< of a file, where several threads write
  Executor* executor = nullptr;
  StageCpu* stages = nullptr;
  /// The key that the index is of. Null: rows in landing files that others deleted by partition are left alone.
  const index::CanonicalKey* key = nullptr;
  /// Remembers from commit to commit what was struck out in landing files already. Null: all is looked at.
  LandedToStrikeOut* landed = nullptr;
};

/// Commits one batch of changes exactly once: an attempt resolves the keys on its base, writes rows and vectors, and
/// carries the marker; the batch enters the index only after the commit succeeded (ingest.md rules 2, 5, 6, 8, 10).
///
/// Each attempt is allowed only on a base whose effective marker says the start of each of the batch's ranges: kFenced
/// otherwise, as for a table to which the rows do not fit any more. Data files are written once; where another writer took
/// or brought rows of the batch's keys, only those rows are struck out in them and written again. One thread.
class BatchCommit : public table::SnapshotChange {
 public:
  /// Batch and `collapsed` must outlive it. `schema`: of the batch's rows; the table's, after `schema_change` when there is one.
  BatchCommit(const ChangeBatch& batch, const CollapsedBatch& collapsed, const PipelineIdentity& pipeline,
              index::KeyIndex& index, spec::SchemaPtr schema, Clock& clock, BatchCommitOptions options = {},
              std::optional<SchemaChange> schema_change = std::nullopt);

  Result<table::FileChanges> Prepare(const table::Table& base, spec::SnapshotId snapshot_id) override;

  /// Runs the commit loop and brings the index to the new snapshot. After kCommitUnknown the files stay; after any other
  /// failure those of this batch are deleted.
  Result<table::CommitOutcome> Run(table::Table& table);

  const Resolution& resolution() const { return resolution_; }
  /// What the last attempt found; kAtStart as well when it never came to that.
  FenceState fence_state() const { return fence_state_; }

  /// Of the last attempt.
  struct Sizes {
    int64_t data_files = 0;
    int64_t row_bytes = 0;
    int64_t vectors = 0;
    int64_t vector_bytes = 0;
    int64_t struck_out_landed = 0;  ///< rows of landing files that others had deleted or replaced by partition
  };
  const Sizes& sizes() const { return sizes_; }

 private:
  Status CheckFence(const table::EffectiveMarker& marker);
  Result<std::vector<spec::TableUpdate>> SchemaUpdatesOn(const spec::TableMetadata& base) const;
  Result<table::MergedDeletes> MergeVectors(const table::Table& base, const CommittedRows& rows);
  void DeleteAllBut(table::Table& table, const std::set<std::string>& used);

  const ChangeBatch& batch_;
  const CollapsedBatch& collapsed_;
  const PipelineIdentity& pipeline_;
  index::KeyIndex& index_;
  const spec::SchemaPtr schema_;
  Clock& clock_;
  const BatchCommitOptions options_;
  const std::optional<SchemaChange> schema_change_;

  LandedToStrikeOut own_landed_;  ///< where the options have none
  LandedToStrikeOut& landed_;
  BatchFiles files_;
  Resolution resolution_;
  FenceState fence_state_ = FenceState::kAtStart;
  Sizes sizes_;
  int64_t num_struck_out_landed_ = 0;
  std::set<std::string> written_puffins_;                ///< of all attempts
  std::vector<std::set<std::string>> files_of_attempt_;  ///< data files and Puffins that each attempt commits
};

}  // namespace frazil::ingest
