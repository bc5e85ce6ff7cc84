#pragma once

#include <memory>
#include <string>
#include <vector>

#include "frazil/spec/schema.h"
#include "frazil/spec/transform.h"

namespace frazil::spec {

struct PartitionField {
  FieldId source_id;
  FieldId field_id;  ///< from 1000 on, unique over all specs of the table
  std::string name;
  Transform transform = Transform::Identity();
  /// Further sources of a transform with several arguments: none is defined yet, they are only kept (spec section 6.6).
  std::vector<FieldId> more_source_ids = {};
  bool operator==(const PartitionField&) const = default;
};

/// Values in the order of a spec's fields.
using PartitionTuple = std::vector<Value>;

struct PartitionTupleHash {
  size_t operator()(const PartitionTuple& tuple) const;
};
struct PartitionTupleEqual {
  bool operator()(const PartitionTuple& left, const PartitionTuple& right) const;
};

/// How rows are divided into partitions (spec section 1.5). A value type; not bound to a schema, so that old specs with
/// dropped source columns or unknown transforms load.
class PartitionSpec {
 public:
  PartitionSpec() = default;
  PartitionSpec(SpecId id, std::vector<PartitionField> fields) : id_(id), fields_(std::move(fields)) {}

  SpecId id() const { return id_; }
  const std::vector<PartitionField>& fields() const { return fields_; }
  /// No fields, or only `void` ones.
  bool is_unpartitioned() const;
  /// Highest field id, 999 when there is none.
  FieldId last_assigned_field_id() const;

  /// The rules of binding to a schema: sources exist and are primitive, transforms fit, names unique and not clashing
  /// with columns, at most one time transform a source. `void` may outlive its source, unknown transforms pass: such a
  /// spec can be read with, never written with. kInvalidArgument with the field's name.
  Status Validate(const Schema& schema) const;

  /// Type of the values of field `i`. When the source column was dropped and the result depends on it: string.
  Type ResultType(size_t i, const Schema& schema) const;

  /// "carrier_bucket=3/time_hour_month=2013-01", URL-encoded; empty for an unpartitioned spec. Cosmetic only.
  std::string Path(const PartitionTuple& tuple, const Schema& schema) const;

  /// Same fields in order (source, transform, name); ids of spec and fields are not compared.
  bool CompatibleWith(const PartitionSpec& other) const;
  PartitionSpec WithId(SpecId id) const { return {id, fields_}; }
  bool operator==(const PartitionSpec&) const = default;

 private:
  SpecId id_;
  std::vector<PartitionField> fields_;
};

/// Default name of a partition field when the user gives none: "x", "x_bucket", "x_trunc", "x_year", ... (section 6.8).
std::string DefaultPartitionName(const std::string& source_name, const Transform& transform);

}  // namespace frazil::spec
