#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "frazil/spec/type.h"

namespace frazil::spec {

/// A table's columns at one point of its life (spec sections 1.12, 6.3). Immutable once made; share by SchemaPtr.
class Schema {
 public:
  /// Checks unique ids and names per level, identifier fields (spec 6.10: primitive, required, not float or double,
  /// reachable through required structs only). kInvalidTable otherwise.
  static Result<std::shared_ptr<const Schema>> Make(SchemaId id, std::vector<Field> fields,
                                                    std::vector<FieldId> identifier_field_ids = {});

  SchemaId id() const { return id_; }
  const std::vector<Field>& fields() const { return fields_; }
  /// Ascending ids of the primary key; empty = none.
  const std::vector<FieldId>& identifier_field_ids() const { return identifier_field_ids_; }
  FieldId highest_field_id() const { return highest_field_id_; }

  /// A field at any depth; null when there is none.
  const Field* FindField(FieldId id) const;
  /// By full name with dots ("address.street", "tags.element"); case-sensitive. Null when there is none.
  const Field* FindField(std::string_view full_name) const;
  /// Like the above but ignores case when the exact name is not there and exactly one name fits.
  const Field* FindFieldAnyCase(std::string_view full_name) const;
  /// Dotted name from the root; empty when the id is unknown.
  std::string FullName(FieldId id) const;
  /// The field itself last, its ancestors before it, root first. Empty when unknown.
  std::vector<const Field*> PathTo(FieldId id) const;
  /// Every field at every depth with its full name, in pre-order.
  const std::vector<std::pair<const Field*, std::string>>& AllFields() const { return all_; }

  /// Same fields, ids and identifiers; the schema id is not compared.
  bool SameAs(const Schema& other) const;
  std::shared_ptr<const Schema> WithId(SchemaId id) const;

  Schema(const Schema&) = delete;  // all_ points into fields_
  Schema& operator=(const Schema&) = delete;

 private:
  Schema() = default;
  Status Index(const Field& field, const std::string& prefix, std::optional<size_t> parent, int depth);
  Status CheckIdentifier(FieldId id) const;

  SchemaId id_;
  std::vector<Field> fields_;
  std::vector<FieldId> identifier_field_ids_;
  FieldId highest_field_id_{0};
  std::vector<std::pair<const Field*, std::string>> all_;
  std::vector<std::optional<size_t>> parents_;  // beside all_: index of the enclosing field
  std::map<FieldId, size_t> by_id_;             // into all_
  std::map<std::string, size_t, std::less<>> by_name_;
};

using SchemaPtr = std::shared_ptr<const Schema>;

/// Gives every field a fresh id in pre-order from `first` on (top level first, then nested), as CREATE TABLE does
/// whatever ids the caller supplied (spec section 1.3). Identifier fields follow their columns.
Result<SchemaPtr> AssignFreshIds(const Schema& schema, FieldId first = FieldId{1});

/// Closest of `names` to a misspelt `name`, for "did you mean"; empty when none is near.
std::string NearestName(std::string_view name, const std::vector<std::string>& names);

}  // namespace frazil::spec
