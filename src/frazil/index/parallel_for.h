#pragma once

#include <functional>

#include "frazil/base/executor.h"

namespace frazil::index {

/// Executor::ParallelFor, or the same on the calling thread alone where there is no executor or nothing to share.
inline Status ParallelFor(Executor* executor, size_t count, const std::function<Status(size_t)>& body) {
  if (executor != nullptr && count > 1) return executor->ParallelFor(count, body);
  for (size_t i = 0; i < count; ++i) FRAZIL_TRY(body(i));
  return {};
}

}  // namespace frazil::index
