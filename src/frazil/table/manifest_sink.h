#pragma once

#include <functional>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "frazil/io/file_io.h"
#include "frazil/spec/manifest.h"
#include "frazil/spec/table_metadata.h"
#include "frazil/table/file_names.h"
#include "frazil/table/manifest_cache.h"

namespace frazil::table {

/// Writes the manifests of one commit, over all of its attempts, and remembers them: their entries are needed again when
/// they are merged or the next attempt takes them over, their paths when the losing ones are deleted. One thread.
class ManifestSink {
 public:
  ManifestSink(std::shared_ptr<io::FileIO> io, FileNames names, spec::SnapshotId snapshot_id)
      : io_(std::move(io)), names_(std::move(names)), snapshot_id_(snapshot_id) {}

  /// Writes entries of one spec and one content, each status and number as it shall stand (spec section 3.8), into
  /// manifests that roll at `commit.manifest.target-size-bytes`. The rows carry `commit_sequence`.
  Result<std::vector<spec::ManifestFile>> Write(const spec::TableMetadata& metadata, spec::SpecId spec_id,
                                                spec::ManifestContent content,
                                                const std::vector<spec::ManifestEntry>& entries,
                                                spec::SequenceNumber commit_sequence);

  /// The same of very many live entries that `produce` tells one after the other, each with numbers of its own: they are not
  /// remembered, so that the rows are for this attempt alone.
  using TakeEntry = std::function<Status(const spec::ManifestEntry& entry)>;
  Result<std::vector<spec::ManifestFile>> WriteExisting(const spec::TableMetadata& metadata, spec::SpecId spec_id,
                                                        spec::ManifestContent content,
                                                        const std::function<Status(const TakeEntry& take)>& produce,
                                                        spec::SequenceNumber commit_sequence);

  /// The row of a manifest that an earlier attempt wrote, for a commit with another sequence number.
  spec::ManifestFile Renumbered(spec::ManifestFile row, spec::SequenceNumber commit_sequence) const;

  /// Entries as they were written, before any inheritance; null for manifests of others.
  ManifestEntries EntriesOf(const std::string& path) const;

  spec::SnapshotId snapshot_id() const { return snapshot_id_; }
  const FileNames& names() const { return names_; }
  io::FileIO& io() { return *io_; }
  /// Every manifest that was begun; a failed one may not exist.
  const std::vector<std::string>& paths() const { return paths_; }

 private:
  std::shared_ptr<io::FileIO> io_;
  const FileNames names_;
  const spec::SnapshotId snapshot_id_;
  std::vector<std::string> paths_;
  std::unordered_map<std::string, ManifestEntries> entries_;
};

}  // namespace frazil::table
