#pragma once

#include <optional>
#include <string>
#include <unordered_set>
#include <vector>

#include "frazil/spec/snapshot.h"
#include "frazil/table/change_check.h"
#include "frazil/table/manifest_cache.h"
#include "frazil/table/manifest_sink.h"
#include "frazil/table/snapshot_change.h"
#include "frazil/table/snapshot_summary.h"

namespace frazil::table {

/// Turns the file changes of a commit's attempts into snapshots: builds the new set of manifests (spec section 3.9),
/// assigns row ids (3.7), writes the manifest list and the summary (2.3). Keeps what an attempt wrote for added files, so
/// that the next one only writes what depends on its base. One thread.
class SnapshotProducer {
 public:
  SnapshotProducer(ManifestCache& cache, ManifestSink sink) : cache_(cache), sink_(std::move(sink)) {}

  /// Writes manifests and list for one attempt. `metadata`: the base, with the change's other updates already applied.
  /// `parent`: the head of the target branch, null when there is none. `attempt` counts from 1.
  Result<spec::Snapshot> Produce(const spec::TableMetadata& metadata, const spec::Snapshot* parent,
                                 const FileChanges& changes, int attempt, int64_t now_ms);

  /// The attempt that wrote this list; 0 when none did.
  int AttemptOf(const std::string& manifest_list) const;

  /// The next attempt takes no manifest over: they may not be there any more.
  void ForgetAdded() {
    added_data_ = {};
    added_deletes_ = {};
  }

  /// Deletes, best effort, every manifest and list written here that the attempt with this list does not use; empty: all.
  void DeleteAllBut(const std::string& manifest_list);

 private:
  /// What one attempt collects.
  struct Attempt {
    const spec::TableMetadata& metadata;
    const spec::Snapshot* parent;
    const FileChanges& changes;
    spec::SequenceNumber sequence_number;
    std::vector<spec::ManifestFile> data;     ///< newest first
    std::vector<spec::ManifestFile> deletes;  ///< newest first
    std::vector<spec::DataFile> removed_files;
    int64_t num_replaced = 0;
    int64_t num_entries_processed = 0;  ///< of a manifest rewrite
  };
  struct AddedManifests {
    std::vector<spec::ManifestEntry> entries;
    spec::SchemaPtr schema;
    int format_version = 0;
    std::vector<spec::ManifestFile> rows;
  };
  struct WrittenList {
    int attempt;
    std::string path;
    std::unordered_set<std::string> manifests;
  };

  Status BuildManifests(Attempt& attempt);
  Status RewriteManifests(Attempt& attempt);
  Result<std::vector<spec::ManifestFile>> AddedRows(const Attempt& attempt, spec::ManifestContent content,
                                                    std::vector<spec::ManifestEntry> entries);
  std::vector<spec::ManifestEntry> AddedDataEntries(const FileChanges& changes) const;
  std::vector<spec::ManifestEntry> AddedDeleteEntries(const FileChanges& changes) const;
  Status FilterBase(Attempt& attempt);
  Status CompleteCounts(const spec::TableMetadata& metadata, spec::ManifestFile& row);
  Result<std::map<std::string, std::string>> Summarize(const Attempt& attempt, SnapshotSummary& summary) const;

  ManifestCache& cache_;
  ManifestSink sink_;
  AddedManifests added_data_;
  AddedManifests added_deletes_;
  std::vector<WrittenList> lists_;
};

/// The operation of a change by spec section 2.2.
spec::Operation OperationOf(const FileChanges& changes);

}  // namespace frazil::table
