#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "frazil/base/clock.h"
#include "frazil/base/executor.h"
#include "frazil/index/key_index.h"
#include "frazil/ingest/change_batch.h"
#include "frazil/ingest/key_resolver.h"
#include "frazil/table/marker.h"
#include "frazil/table/snapshot_change.h"

namespace frazil::ingest {

/// Who commits: what goes into the marker besides the offsets.
struct PipelineIdentity {
  std::string id;
  std::string writer;
  std::map<std::string, std::string> source;
};

/// What a commit carries besides files: the base's effective marker with `pipeline` moved to record `next`, in the summary
/// and in the table property (ingest.md rule 5).
table::FileChanges MarkerChanges(table::Marker marker, const PipelineIdentity& pipeline, int64_t next,
                                 const spec::TableMetadata& metadata, spec::SnapshotId snapshot_id, const Clock& clock);

/// Commits one batch of changes exactly once: an attempt resolves the keys on its base, writes rows and vectors, and
/// carries the marker; the batch enters the index only after the commit succeeded (ingest.md rules 2, 5, 6, 8, 10).
///
/// Each attempt is allowed only on a base whose effective marker says the batch's start: kFenced otherwise. Data files
/// are written once and used again while the rows and their ids stay the same. One thread.
class BatchCommit : public table::SnapshotChange {
 public:
  BatchCommit(const ChangeBatch& batch, std::vector<KeyChange> changes, const PipelineIdentity& pipeline,
              index::KeyIndex& index, spec::SchemaPtr schema, Executor* executor, Clock& clock);

  Result<table::FileChanges> Prepare(const table::Table& base, spec::SnapshotId snapshot_id) override;

  /// Runs the commit loop and brings the index to the new snapshot. After kCommitUnknown the files stay; after any other
  /// failure those of this batch are deleted.
  Result<table::CommitOutcome> Run(table::Table& table);

  const Resolution& resolution() const { return resolution_; }

 private:
  Status CheckFence(const table::EffectiveMarker& marker) const;
  Status WriteRows(const table::Table& base);
  void DeleteAllBut(table::Table& table, const std::set<std::string>& used);

  const ChangeBatch& batch_;
  const std::vector<KeyChange> changes_;
  const PipelineIdentity& pipeline_;
  index::KeyIndex& index_;
  const spec::SchemaPtr schema_;
  Executor* const executor_;
  Clock& clock_;

  Resolution resolution_;
  bool rows_are_written_ = false;
  std::vector<spec::DataFile> files_;                    ///< of the written rows
  std::map<std::string, index::KnownKeys> known_keys_;   ///< of those files
  std::set<std::string> written_;                        ///< data files and Puffins of all attempts
  std::vector<std::set<std::string>> files_of_attempt_;  ///< which of them each attempt commits
};

}  // namespace frazil::ingest
