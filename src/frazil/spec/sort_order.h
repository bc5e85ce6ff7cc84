#pragma once

#include <vector>

#include "frazil/spec/ids.h"
#include "frazil/spec/transform.h"

namespace frazil::spec {

enum class SortDirection { kAscending, kDescending };
enum class NullOrder { kFirst, kLast };

struct SortField {
  FieldId source_id;
  Transform transform = Transform::Identity();
  SortDirection direction = SortDirection::kAscending;
  NullOrder null_order = NullOrder::kFirst;
  /// Further sources of a transform with several arguments: none is defined yet, they are only kept (spec section 6.6).
  std::vector<FieldId> more_source_ids = {};
  bool operator==(const SortField&) const = default;
};

/// spec section 6.9; id 0 is unsorted and has no fields.
struct SortOrder {
  SortOrderId id{0};
  std::vector<SortField> fields;
  bool is_sorted() const { return !fields.empty(); }
  bool operator==(const SortOrder&) const = default;
};

}  // namespace frazil::spec
