#pragma once

#include <utility>

#include <tl/expected.hpp>

#include "frazil/base/error.h"

namespace frazil {

/// A value or the reason why there is none.
template <typename T>
using Result = tl::expected<T, Error>;

/// Done, or the reason why not.
using Status = tl::expected<void, Error>;

}  // namespace frazil

#define FRAZIL_CONCAT_INNER(a, b) a##b
#define FRAZIL_CONCAT(a, b) FRAZIL_CONCAT_INNER(a, b)

/// Evaluates a Status or Result and returns its error from the enclosing function. The value, if any, is dropped.
#define FRAZIL_TRY(expression) FRAZIL_TRY_INNER(FRAZIL_CONCAT(frazil_status_, __COUNTER__), expression)
#define FRAZIL_TRY_INNER(status, expression)                                          \
  do {                                                                                \
    auto&& status = (expression);                                                     \
    if (!status) return ::tl::unexpected<::frazil::Error>(std::move(status).error()); \
  } while (false)

/// `FRAZIL_ASSIGN(auto file, io.Open(path));`
#define FRAZIL_ASSIGN(declaration, expression) \
  FRAZIL_ASSIGN_INNER(FRAZIL_CONCAT(frazil_result_, __LINE__), declaration, expression)
#define FRAZIL_ASSIGN_INNER(result, declaration, expression)                        \
  auto&& result = (expression);                                                     \
  if (!result) return ::tl::unexpected<::frazil::Error>(std::move(result).error()); \
  declaration = *std::forward<decltype(result)>(result)
