#pragma once

#include <optional>
#include <set>
#include <string>

#include "frazil/cli/shown_list.h"
#include "frazil/maintain/expire_snapshots.h"
#include "frazil/spec/table_metadata.h"

namespace frazil::cli {

/// What `expire` has shown.
struct ShownExpiry {
  ShownConditions conditions;
  std::optional<int64_t> older_than_ms;
  maintain::ExpiryScope scope;
  std::set<std::string> files;
};

/// The snapshots and refs that `expire` has shown, each with when, why and how many files, and those files, each with the
/// reason: `--yes` expires what somebody has seen and nothing else, and deletes no other file. A ShownList in the table's local
/// state. One thread.
class ExpiryList {
 public:
  ExpiryList(const std::string& state_directory, const spec::TableMetadata& metadata)
      : path_(state_directory + "/" + metadata.table_uuid.ToString() + "/expire.jsonl") {}

  const std::string& path() const { return path_; }
  /// In the place of an older one.
  Status Write(const ShownConditions& conditions, std::optional<int64_t> older_than_ms,
               const maintain::ExpireResult& result) const;
  /// None: there is no list, or it is older than a day. kCorruptData naming the file.
  Result<std::optional<ShownExpiry>> Read(int64_t now_ms) const;
  Status Forget() const { return ShownList::Forget(path_); }

 private:
  std::string path_;
};

/// "2026-11-29 10:00:00.123" in UTC.
std::string SnapshotTimeText(int64_t timestamp_ms);

}  // namespace frazil::cli
