#pragma once

#include <string>
#include <utility>

#include "frazil/table/snapshot_change.h"

namespace frazil::maintain {

/// Removes delete files that can apply to nothing (spec section 9.1, remove-dangling-deletes): by sequence numbers alone
/// position deletes below, and equality deletes at or below, the smallest data sequence number of their partition, those
/// of partitions without data files, and vectors whose data file is not live. Equality deletes of an unpartitioned spec
/// reach everywhere and are compared with all files. One thread.
class DanglingDeletesChange : public table::SnapshotChange {
 public:
  explicit DanglingDeletesChange(std::string branch) : branch_(std::move(branch)) {}
  Result<table::FileChanges> Prepare(const table::Table& base, spec::SnapshotId snapshot_id) override;
  int64_t num_removed() const { return num_removed_; }

 private:
  const std::string branch_;
  int64_t num_removed_ = 0;
};

}  // namespace frazil::maintain
