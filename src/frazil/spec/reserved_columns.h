#pragma once

#include <algorithm>
#include <iterator>
#include <string_view>

#include "frazil/base/result.h"
#include "frazil/spec/ascii.h"
#include "frazil/spec/ids.h"
#include "frazil/spec/schema.h"

namespace frazil::spec {

/// Names of metadata columns (spec section 6.11). Engines find those beside a table's columns, and a data file holds row
/// lineage under its name, so a table that has such a column at its root cannot be read or written by all. Nested ones harm
/// nobody, nor does reading tables of others that have one.
inline bool IsReservedColumnName(std::string_view name) {
  constexpr std::string_view kReserved[] = {
      "_file", "_pos", "_deleted", "_spec_id", "_partition", kRowIdColumn, kLastUpdatedSequenceNumberColumn};
  return std::any_of(std::begin(kReserved), std::end(kReserved),
                     [&](std::string_view reserved) { return EqualsAnyCase(name, reserved); });
}

/// kInvalidArgument for a reserved name of a column that is to be made.
inline Status CheckColumnName(std::string_view name) {
  if (!IsReservedColumnName(name)) return {};
  return tl::unexpected(
      Error(ErrorCode::kInvalidArgument, fmt::format("column name is reserved for metadata: {}", name))
          .WithHint("give the column another name; sink.columns does it for a field of a topic"));
}

inline Status CheckColumnNames(const Schema& schema) {
  for (const Field& field : schema.fields()) FRAZIL_TRY(CheckColumnName(field.name));
  return {};
}

}  // namespace frazil::spec
