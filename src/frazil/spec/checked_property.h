#pragma once

#include <initializer_list>
#include <string>
#include <string_view>

#include "frazil/spec/table_metadata.h"

namespace frazil::spec {

// Table properties as statements that follow them need them: a value that cannot be honoured is an error that names the
// property, kInvalidArgument. Without the property it is the fallback.

/// "true" or "false", in any case.
Result<bool> TruthProperty(const TableMetadata& metadata, const std::string& key, bool fallback);

/// One of `choices`, in any case; the choice as it stands there.
Result<std::string_view> ChoiceProperty(const TableMetadata& metadata, const std::string& key,
                                        std::initializer_list<std::string_view> choices, std::string_view fallback);

/// A whole number of at least `least`.
Result<int64_t> NumberProperty(const TableMetadata& metadata, const std::string& key, int64_t fallback, int64_t least);

}  // namespace frazil::spec
