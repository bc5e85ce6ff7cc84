#pragma once

#include <map>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "frazil/spec/table_metadata.h"

namespace frazil::spec {

/// The changes that the REST protocol knows (spec section 8.7); every catalog commits lists of these.
// One line a case.
// clang-format off
namespace update {
struct AssignUuid { Uuid uuid; };
struct UpgradeFormatVersion { int format_version; };
struct AddSchema { SchemaPtr schema; };
struct SetCurrentSchema { SchemaId schema_id; };              ///< -1: the last added
struct AddPartitionSpec { PartitionSpec spec; };
struct SetDefaultSpec { SpecId spec_id; };                    ///< -1: the last added
struct AddSortOrder { SortOrder sort_order; };
struct SetDefaultSortOrder { SortOrderId sort_order_id; };    ///< -1: the last added
struct AddSnapshot { Snapshot snapshot; };
struct SetSnapshotRef { std::string ref_name; SnapshotRef ref; };
struct RemoveSnapshots { std::vector<SnapshotId> snapshot_ids; };
struct RemoveSnapshotRef { std::string ref_name; };
struct SetLocation { std::string location; };
struct SetProperties { std::map<std::string, std::string> updates; };
struct RemoveProperties { std::vector<std::string> removals; };
struct SetStatistics { StatisticsFile statistics; };
struct RemoveStatistics { SnapshotId snapshot_id; };
struct SetPartitionStatistics { PartitionStatisticsFile partition_statistics; };
struct RemovePartitionStatistics { SnapshotId snapshot_id; };
struct RemovePartitionSpecs { std::vector<SpecId> spec_ids; };
struct RemoveSchemas { std::vector<SchemaId> schema_ids; };
struct AddEncryptionKey { EncryptedKey key; };
struct RemoveEncryptionKey { std::string key_id; };
}  // namespace update
// clang-format on

using TableUpdate =
    std::variant<update::AssignUuid, update::UpgradeFormatVersion, update::AddSchema, update::SetCurrentSchema,
                 update::AddPartitionSpec, update::SetDefaultSpec, update::AddSortOrder, update::SetDefaultSortOrder,
                 update::AddSnapshot, update::SetSnapshotRef, update::RemoveSnapshots, update::RemoveSnapshotRef,
                 update::SetLocation, update::SetProperties, update::RemoveProperties, update::SetStatistics,
                 update::RemoveStatistics, update::SetPartitionStatistics, update::RemovePartitionStatistics,
                 update::RemovePartitionSpecs, update::RemoveSchemas, update::AddEncryptionKey,
                 update::RemoveEncryptionKey>;

/// What must hold on the current metadata for a commit to be applied (spec section 8.7).
// One line a case.
// clang-format off
namespace requirement {
struct AssertCreate {};
struct AssertTableUuid { Uuid uuid; };
struct AssertRefSnapshotId {
  std::string ref;
  std::optional<SnapshotId> snapshot_id;  ///< none: must not exist
  /// Ours, the protocol has no such thing: the retention must be this one's, for who sets the ref writes one. Catalogs that
  /// send requirements to somebody else leave it out.
  std::optional<SnapshotRef> known = std::nullopt;
};
struct AssertLastAssignedFieldId { FieldId last_assigned_field_id; };
struct AssertCurrentSchemaId { SchemaId current_schema_id; };
struct AssertLastAssignedPartitionId { FieldId last_assigned_partition_id; };
struct AssertDefaultSpecId { SpecId default_spec_id; };
struct AssertDefaultSortOrderId { SortOrderId default_sort_order_id; };
}  // namespace requirement
// clang-format on

using TableRequirement = std::variant<requirement::AssertCreate, requirement::AssertTableUuid,
                                      requirement::AssertRefSnapshotId, requirement::AssertLastAssignedFieldId,
                                      requirement::AssertCurrentSchemaId, requirement::AssertLastAssignedPartitionId,
                                      requirement::AssertDefaultSpecId, requirement::AssertDefaultSortOrderId>;

/// kCommitConflict naming what does not hold. `current` is null when the table does not exist.
Status CheckRequirement(const TableRequirement& requirement, const TableMetadata* current);

/// The requirements that a client sends with `updates` on `base` (section 8.7, "which requirements a client adds").
/// `base` is null for a create.
std::vector<TableRequirement> RequirementsFor(const std::vector<TableUpdate>& updates, const TableMetadata* base);

/// The looser ones of CREATE OR REPLACE: same uuid, and nobody else assigned ids.
std::vector<TableRequirement> RequirementsForReplace(const std::vector<TableUpdate>& updates,
                                                     const TableMetadata& base);

}  // namespace frazil::spec
