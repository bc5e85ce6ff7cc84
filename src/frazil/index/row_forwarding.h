#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "frazil/index/index_directory.h"
#include "frazil/index/index_version.h"
#include "frazil/table/row_map.h"
#include "frazil/table/table.h"

namespace frazil::index {

/// Decides at a follow which new files need no scan because a row map tells how the rows of files that just went got there
/// (ingest.md, "Forwarding"). Anything that is missing, damaged or does not fit exactly means: scan. One thread.
class RowForwarding {
 public:
  struct State {
    const IndexVersion& from;                                 ///< S
    const std::unordered_map<std::string, FileNumber>& live;  ///< at S
    const std::set<FileNumber>& incomplete;                   ///< live at S, but entries may be missing
    const std::set<FileNumber>& gone;                         ///< live at S, not at H
  };
  /// `new_files`, for local copies of row maps, may be null: they are read where they are then. `budget`, which may be null,
  /// is for those that are kept in memory.
  RowForwarding(const table::Table& table, State state, NewFiles* new_files, MemoryBudget* budget,
                std::function<void(const std::string&)> on_notice);

  /// What must be read of a new file whose sources' entries are forwarded to it.
  struct Decision {
    /// Live positions that no entry leads to; may be empty.
    format::DeletionVector to_scan;
  };
  /// None: the file must be scanned.
  Result<std::optional<Decision>> Decide(const table::FileScanTask& output, FileNumber number);

  /// The forwardings of the sources of all files that Decide() took, by number.
  std::map<FileNumber, std::shared_ptr<const Forwarding>> Finish();

 private:
  struct Rewrite {
    std::shared_ptr<const table::RowMap> row_map;  ///< null: could not be read
    std::string path;
    std::string file_name;                   ///< of the local copy, once there is one
    std::map<FileNumber, uint32_t> sources;  ///< of those that are forwarded
    std::vector<std::optional<FileNumber>> outputs;
    std::vector<std::vector<int64_t>> num_carried;  ///< by source and output
  };

  Rewrite* RewriteOf(const table::LiveDataFile& output);
  /// Reads the row map, of a copy where nobody else cleans up if there is a place for it.
  Status Load(Rewrite& rewrite);
  bool CanForward(const IndexedFile& source, const table::RowMap::Source& recorded, const spec::DataFile& output) const;
  void Notice(const std::string& line) const;

  const table::Table& table_;
  const State state_;
  NewFiles* const new_files_;
  MemoryBudget* const budget_;
  const std::function<void(const std::string&)> on_notice_;
  std::map<spec::SequenceNumber, std::string> row_map_of_;  ///< paths by the sequence number of the snapshot
  std::map<std::string, Rewrite> rewrites_;                 ///< by path of the row map
};

}  // namespace frazil::index
