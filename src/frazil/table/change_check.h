#pragma once

#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <unordered_set>

#include "frazil/table/manifest_filter.h"
#include "frazil/table/snapshot_change.h"

namespace frazil::table {

/// Watches the live files of a base go by and says whether a change may be made on it (spec sections 4.4, 8.3): removed
/// files are there, new vectors belong to live data files, and no data file ends up with two.
///
/// Order of use: CheckShape, JudgeData for the data entries, CheckDataFiles, JudgeDelete for the delete entries,
/// CheckDeleteFiles. Keeps references to the change and the metadata.
class ChangeCheck {
 public:
  ChangeCheck(const FileChanges& changes, const spec::TableMetadata& metadata);

  /// What can be said without the base: kInvalidArgument and kNotSupported.
  Status CheckShape() const;

  /// Whether any data manifest has to be looked at.
  bool concerns_data() const { return !removed_data_.empty() || !new_vectors_.empty(); }
  Result<Verdict> JudgeData(const spec::ManifestEntry& entry);
  /// kCommitConflict naming a file that is not there (any more).
  Status CheckDataFiles() const;

  bool concerns_deletes() const { return !removed_data_.empty() || !removed_deletes_.empty() || !new_vectors_.empty(); }
  /// Delete files with a data sequence number below `min_sequence` apply to nothing and go.
  Result<Verdict> JudgeDelete(const spec::ManifestEntry& entry, spec::SequenceNumber min_sequence);
  Status CheckDeleteFiles() const;

 private:
  struct NewVector {
    const spec::DataFile* entry;
    bool has_data_file = false;
  };
  Status Place(NewVector& vector, const spec::DataFile& data_file);

  const FileChanges& changes_;
  const spec::TableMetadata& metadata_;
  std::unordered_set<std::string> removed_data_;
  std::unordered_set<std::string> found_data_;
  std::set<spec::DeleteFileId> removed_deletes_;
  std::set<spec::DeleteFileId> found_deletes_;
  std::unordered_map<std::string, NewVector> new_vectors_;  // by referenced data file
  std::optional<Error> misplaced_added_;
};

}  // namespace frazil::table
