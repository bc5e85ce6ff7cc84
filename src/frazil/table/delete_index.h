#pragma once

#include <string>
#include <unordered_map>
#include <vector>

#include "frazil/spec/manifest.h"
#include "frazil/spec/table_metadata.h"
#include "frazil/table/partition_key.h"

namespace frazil::table {

/// A live delete file of a snapshot with its data sequence number.
struct LiveDelete {
  spec::DataFile file;
  spec::SequenceNumber sequence_number;
};

/// A live data file of a snapshot.
struct LiveDataFile {
  spec::DataFile file;                   ///< first_row_id as inherited
  spec::SequenceNumber sequence_number;  ///< data sequence number
  spec::SequenceNumber file_sequence_number;
};

/// The deletes that apply to one data file (spec section 4.5).
struct ApplicableDeletes {
  const LiveDelete* vector = nullptr;  ///< hides position delete files
  std::vector<const LiveDelete*> position_deletes;
  std::vector<const LiveDelete*> equality_deletes;
  bool empty() const { return vector == nullptr && position_deletes.empty() && equality_deletes.empty(); }
};

/// All live delete files of a snapshot, found by data file (spec section 4.5). Immutable after Make; then thread-safe.
/// Pointers it hands out live as long as it does.
class DeleteIndex {
 public:
  /// kInvalidTable naming file and both vectors when a data file has two (section 4.5); also for a vector entry without
  /// referenced_data_file, offset or size.
  static Result<DeleteIndex> Make(std::vector<LiveDelete> deletes, const spec::TableMetadata& metadata);

  /// A vector of another spec or partition than the data file's, or of a lower sequence number, does not apply: older
  /// position deletes are used instead, and a warning names both files.
  Result<ApplicableDeletes> For(const LiveDataFile& data_file) const;

  /// The vector that names a data file, whether it applies or not; null when there is none.
  const LiveDelete* VectorNaming(const std::string& data_file_path) const;

  const std::vector<LiveDelete>& deletes() const { return deletes_; }

 private:
  std::vector<LiveDelete> deletes_;
  std::unordered_map<std::string, size_t> vectors_;                        // by referenced data file
  std::unordered_map<std::string, std::vector<size_t>> position_by_file_;  // by referenced data file
  PartitionMap<std::vector<size_t>> position_by_partition_;
  PartitionMap<std::vector<size_t>> equality_by_partition_;
  std::vector<size_t> global_equality_;  // of unpartitioned specs
};

/// Whether a delete file's positions all belong to `data_file_path` (spec section 4.4 rule 2).
bool IsScopedTo(const spec::DataFile& position_delete, const std::string& data_file_path);

}  // namespace frazil::table
