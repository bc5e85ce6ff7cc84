#pragma once

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "frazil/maintain/removal_list.h"
#include "frazil/spec/table_metadata.h"

namespace frazil::cli {

/// The orphans that `clean-orphans` has shown, so that `--yes` deletes what somebody has seen and nothing else: phase one
/// of two. A file of the table's local state, JSON lines, which people may shorten or delete. One thread.
class CandidateList {
 public:
  CandidateList(const std::string& state_directory, const spec::TableMetadata& metadata);

  const std::string& path() const { return path_; }
  /// In the place of an older one. `location`: what was searched, empty for the table's.
  Status Write(const std::string& location, const std::vector<maintain::RemovalCandidate>& orphans) const;
  /// None: there is no list, or it is older than a day, or of another location. kCorruptData naming the file.
  Result<std::optional<std::set<std::string>>> Read(const std::string& location, int64_t now_ms) const;
  Status Forget() const;

 private:
  std::string path_;
};

}  // namespace frazil::cli
