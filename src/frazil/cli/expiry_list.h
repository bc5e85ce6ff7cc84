#pragma once

#include <optional>
#include <string>

#include "frazil/maintain/expire_snapshots.h"
#include "frazil/spec/table_metadata.h"

namespace frazil::cli {

/// The snapshots and refs that `expire` has shown, and the files that go with them, each with the reason: phase one of two.
/// `--yes` expires what somebody has seen and nothing else. A file of the table's local state, JSON lines; people may take
/// out snapshots and refs, or delete it. One thread.
class ExpiryList {
 public:
  ExpiryList(const std::string& state_directory, const spec::TableMetadata& metadata);

  const std::string& path() const { return path_; }
  /// In the place of an older one.
  Status Write(const maintain::ExpireResult& result) const;
  /// None: there is no list, or it is older than a day. kCorruptData naming the file.
  Result<std::optional<maintain::ExpiryScope>> Read(int64_t now_ms) const;
  Status Forget() const;

 private:
  std::string path_;
};

}  // namespace frazil::cli
