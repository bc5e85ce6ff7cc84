#pragma once

#include <optional>
#include <string>
#include <vector>

#include "frazil/spec/table_metadata.h"
#include "frazil/spec/table_update.h"

namespace frazil::table {

/// A column and what partitions it; how DDL names a partition field when not by its name.
struct PartitionTerm {
  std::string column;  ///< full name
  spec::Transform transform = spec::Transform::Identity();
};

/// Changes of how a table is partitioned, collected one after another and committed as a new default spec (spec sections
/// 1.5, 6.8). Files keep the spec they were written with.
///
/// A field that any earlier spec had comes back with its id and, when none is given, its name. Dropped fields leave the
/// spec; in tables of version 1 they become `void`. A value type bound to one base: make a new one for every attempt of a
/// commit. Errors: kInvalidArgument with the field's name.
class PartitionUpdate {
 public:
  /// `base` must outlive the update. `table_name` is for messages.
  PartitionUpdate(const spec::TableMetadata& base, std::string table_name);

  /// `name` none: the earlier one, else "x_bucket_4", "x_trunc_3", "x_day", ...
  Status Add(const PartitionTerm& term, const std::optional<std::string>& name);
  Status Drop(const std::string& name);
  Status Drop(const PartitionTerm& term);

  /// Nothing when the spec is what it was.
  Result<std::vector<spec::TableUpdate>> Updates() const;

 private:
  Result<spec::FieldId> SourceOf(const PartitionTerm& term) const;
  Status DropAt(size_t index);
  Error NotFound(const std::string& wanted) const;

  const spec::TableMetadata& base_;
  std::string table_name_;
  std::vector<spec::PartitionField> fields_;
  spec::FieldId last_partition_id_;
};

}  // namespace frazil::table
