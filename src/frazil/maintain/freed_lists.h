#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "frazil/maintain/candidate_collector.h"
#include "frazil/maintain/file_removal.h"
#include "frazil/maintain/file_set.h"
#include "frazil/table/table.h"

namespace frazil::maintain {

/// Lists the files that an expiry frees, before it is committed: afterwards nothing else remembers them. As many go into one
/// list as a quarter of the memory limit has room for, then the next one begins, so that however many are freed none is
/// forgotten. One thread.
class FreedLists {
 public:
  /// `table` and `only` outlive it. `only`: no files but these, if given.
  FreedLists(const table::Table& table, SetRoom room, const std::optional<std::set<std::string>>& only)
      : table_(table), room_(std::move(room)), only_(only), collector_(room_.budget) {}

  /// Of one that is found again the first reason counts. kResourceExhausted: there is no room for a single one.
  Status Add(RemovalCandidate file);
  /// Writes the last list, if any file is left for one.
  Status Finish();
  /// Deletes the lists: what they name is not free. Best effort, one that stays is checked before it is used.
  void Drop();

  /// As RemovalList writes them.
  const std::vector<std::string>& paths() const { return paths_; }
  /// How many files are listed, by their reason.
  const std::map<std::string, int64_t>& num_by_reason() const { return num_by_reason_; }
  int64_t num_taken_out() const { return num_taken_out_; }  ///< those that `only` does not name

 private:
  Status WriteList();

  const table::Table& table_;
  const SetRoom room_;
  const std::optional<std::set<std::string>>& only_;
  CandidateCollector collector_;
  std::optional<FileSet> listed_;  ///< in earlier lists
  std::vector<std::string> paths_;
  std::map<std::string, int64_t> num_by_reason_;
  int64_t num_taken_out_ = 0;
};

}  // namespace frazil::maintain
