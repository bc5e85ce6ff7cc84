#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "frazil/base/result.h"
#include "frazil/spec/ids.h"

namespace frazil::spec {

enum class Operation { kAppend, kReplace, kOverwrite, kDelete };
std::string_view OperationName(Operation operation);
Result<Operation> ParseOperation(std::string_view name);

/// One state of the table (spec section 2.1).
struct Snapshot {
  SnapshotId id;
  std::optional<SnapshotId> parent_id;
  SequenceNumber sequence_number{0};
  int64_t timestamp_ms = 0;
  /// Empty only for v1 snapshots that list `manifests` instead.
  std::string manifest_list;
  std::vector<std::string> manifests;
  std::optional<Operation> operation;
  /// Without the key "operation".
  std::map<std::string, std::string> summary;
  std::optional<SchemaId> schema_id;
  std::optional<RowId> first_row_id;  ///< v3
  std::optional<int64_t> added_rows;  ///< v3
  std::optional<std::string> key_id;
  bool operator==(const Snapshot&) const = default;
};

enum class RefType { kBranch, kTag };

/// A named pointer to a snapshot (spec section 1.7).
struct SnapshotRef {
  SnapshotId snapshot_id;
  RefType type = RefType::kBranch;
  std::optional<int32_t> min_snapshots_to_keep;
  std::optional<int64_t> max_snapshot_age_ms;
  std::optional<int64_t> max_ref_age_ms;
  bool operator==(const SnapshotRef&) const = default;
};

inline constexpr char kMainBranch[] = "main";

}  // namespace frazil::spec
