#pragma once

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "frazil/cli/shown_list.h"
#include "frazil/maintain/removal_list.h"
#include "frazil/spec/table_metadata.h"

namespace frazil::cli {

/// Orphans that `clean-orphans` has shown.
struct ShownOrphans {
  ShownConditions conditions;
  std::optional<int64_t> older_than_ms;
  std::set<std::string> paths;
};

/// The orphans that `clean-orphans` has shown, so that `--yes` deletes what somebody has seen and nothing else: a ShownList in
/// the table's local state. One thread.
class CandidateList {
 public:
  CandidateList(const std::string& state_directory, const spec::TableMetadata& metadata)
      : path_(state_directory + "/" + metadata.table_uuid.ToString() + "/orphans.jsonl") {}

  const std::string& path() const { return path_; }
  /// In the place of an older one.
  Status Write(const ShownConditions& conditions, int64_t older_than_ms,
               const std::vector<maintain::RemovalCandidate>& orphans) const;
  /// None: there is no list, or it is older than a day. kCorruptData naming the file.
  Result<std::optional<ShownOrphans>> Read(int64_t now_ms) const;
  Status Forget() const { return ShownList::Forget(path_); }

 private:
  std::string path_;
};

}  // namespace frazil::cli
