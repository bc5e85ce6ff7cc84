#pragma once

#include <atomic>
#include <string_view>

#include "frazil/base/result.h"

namespace frazil {

/// For long work, between its steps: kShuttingDown, saying `what` ends, once another thread has set the flag. Null: nobody can.
inline Status CheckStop(const std::atomic<bool>* stop, std::string_view what) {
  if (stop == nullptr || !stop->load()) return {};
  return Fail(ErrorCode::kShuttingDown, "{} was asked to stop", what);
}

}  // namespace frazil
