#pragma once

#include <memory>
#include <optional>
#include <vector>

#include <arrow/type_fwd.h>

#include "frazil/base/result.h"
#include "frazil/expr/expression.h"
#include "frazil/spec/schema.h"

namespace frazil::sql {

/// The keys that rows of a filter can have: one array for each of `key_fields` (identifier fields), equally long. None:
/// the filter leaves some of the fields open, or names more keys than `max_keys`.
///
/// Understands `=` and IN on every field, joined by AND, and OR of such keys; a key may come twice. Whatever else the filter
/// says is left to whoever has the rows.
Result<std::optional<std::vector<std::shared_ptr<arrow::Array>>>> KeysOfFilter(
    const expr::Expression& filter, const std::vector<spec::FieldId>& key_fields, size_t max_keys);

}  // namespace frazil::sql
