#pragma once

#include <string>

#include "duckdb/common/error_data.hpp"
#include "frazil/base/result.h"

namespace frazil::sql {

/// Carries one of our errors through DuckDB as an exception; FromDuckError gives it back whole.
[[noreturn]] void ThrowError(const Error& error);

template <typename T>
T ValueOrThrow(Result<T> result) {
  if (!result) ThrowError(result.error());
  return *std::move(result);
}
inline void OkOrThrow(const Status& status) {
  if (!status) ThrowError(status.error());
}

/// One line: what, value, hint. `tables`: what the statement reads, for "column not found in ...".
Error FromDuckError(const duckdb::ErrorData& error, const std::string& query, const std::string& tables);

}  // namespace frazil::sql
