#pragma once

#include <string>
#include <unordered_map>
#include <vector>

#include "frazil/spec/manifest.h"
#include "frazil/spec/table_metadata.h"

namespace frazil::table {

/// A live delete file of a snapshot with its data sequence number.
struct LiveDelete {
  spec::DataFile file;
  spec::SequenceNumber sequence_number;
};

/// A live data file of a snapshot.
struct LiveDataFile {
  spec::DataFile file;  ///< first_row_id as inherited
  spec::SequenceNumber sequence_number;       ///< data sequence number
  spec::SequenceNumber file_sequence_number;
};

/// The deletes that apply to one data file (spec section 4.5).
struct ApplicableDeletes {
  const LiveDelete* vector = nullptr;            ///< hides position delete files
  std::vector<const LiveDelete*> position_deletes;
  std::vector<const LiveDelete*> equality_deletes;
  bool empty() const { return vector == nullptr && position_deletes.empty() && equality_deletes.empty(); }
};

/// All live delete files of a snapshot, found by data file (spec section 4.5). Immutable after Make; then thread-safe.
class DeleteIndex {
 public:
  /// kInvalidTable naming file and both vectors when a data file has two (section 4.5); also for a vector entry without
  /// referenced_data_file, offset or size.
  static Result<DeleteIndex> Make(std::vector<LiveDelete> deletes, const spec::TableMetadata& metadata);

  /// kInvalidTable when a vector's spec or partition differs from the data file's or its sequence number is lower.
  Result<ApplicableDeletes> For(const LiveDataFile& data_file) const;

  const std::vector<LiveDelete>& deletes() const { return deletes_; }

 private:
  std::vector<LiveDelete> deletes_;
  std::unordered_map<std::string, size_t> vectors_;                          // by referenced data file
  std::unordered_map<std::string, std::vector<size_t>> position_by_file_;    // referenced_data_file set or bounds equal
  std::vector<size_t> position_by_partition_;
  std::vector<size_t> equality_;
  std::map<spec::SpecId, bool> unpartitioned_;
};

}  // namespace frazil::table
