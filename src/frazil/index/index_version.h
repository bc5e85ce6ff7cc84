#pragma once

#include <limits>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "frazil/index/file_dictionary.h"
#include "frazil/index/key_index.h"
#include "frazil/index/live_deletes.h"
#include "frazil/index/run.h"
#include "frazil/index/run_probe.h"

namespace frazil::index {

using RunList = std::vector<std::shared_ptr<const Run>>;  ///< newest first

/// One state of the index, equal to one snapshot. Members are set by whoever makes it; then it is immutable and
/// thread-safe, and lives as long as anybody looks at it.
class IndexVersion : public KeyIndexView {
 public:
  std::optional<spec::SnapshotId> snapshot;
  FileDictionary dictionary;
  std::vector<RunList> shards;
  /// Null in a version that a manifest gave: it has entries, but nobody has looked at the table yet.
  std::shared_ptr<const table::ScanPlan> files;
  std::shared_ptr<io::FileIO> io;
  std::vector<spec::FieldId> key_fields;
  std::shared_ptr<LiveDeletes> deletes;

  IndexVersion() = default;
  IndexVersion(const IndexVersion& other);
  IndexVersion& operator=(const IndexVersion&) = delete;

  std::optional<spec::SnapshotId> snapshot_id() const override { return snapshot; }
  Result<std::vector<KeyHit>> LookUp(std::span<const Hash96> sorted) const override;
  Status ForEachDuplicateKey(
      const std::function<Status(const Hash96&, const std::vector<KeyHit>&)>& visit) const override;
  const table::ScanPlan& plan() const override;
  const table::FileScanTask* FindTask(const std::string& file_path) const override;

  /// The same; kCorruptData of a run sets `damaged_shard`.
  Result<std::vector<KeyHit>> LookUp(std::span<const Hash96> sorted, std::optional<uint32_t>* damaged_shard) const;

 private:
  Status ProbeShards(std::span<const Hash96> sorted, std::vector<ProbeHit>& found,
                     std::optional<uint32_t>* damaged_shard) const;

  mutable std::once_flag tasks_once_;
  mutable std::unordered_map<std::string_view, const table::FileScanTask*> tasks_;
};

/// Says where the row of an entry lies in one version, or that it is dead. Keeps the vectors it has used. One thread; the
/// version must outlive it.
class EntryResolver {
 public:
  struct Place {
    const FileState* state = nullptr;  ///< live; a data file or an equality delete file
    uint32_t position = 0;
    std::optional<spec::RowId> row_id;
  };

  /// Where vectors take more than `max_vector_rows` deleted rows to keep, rows of further files are taken for alive: good
  /// enough for merges, which may keep dead entries.
  explicit EntryResolver(const IndexVersion& version, int64_t max_vector_rows = std::numeric_limits<int64_t>::max())
      : version_(version), rows_left_(max_vector_rows) {}

  /// None: dead. Errors: of reading a vector.
  Result<std::optional<Place>> Resolve(FileNumber number, uint32_t position, int64_t row_id);

  /// The same without a look at vectors; a place without state: its file is gone.
  static Place Locate(const IndexVersion& version, FileNumber number, uint32_t position, int64_t row_id);
  /// Positions deleted in a live file; null: none.
  static Result<LiveDeletes::Positions> DeletedIn(const IndexVersion& version, const FileState& state);

 private:
  Result<bool> IsDeleted(const FileState& state, uint32_t position);

  const IndexVersion& version_;
  int64_t rows_left_;
  std::unordered_map<FileNumber, LiveDeletes::Positions> deleted_;
};

}  // namespace frazil::index
