#pragma once

#include <cstdint>
#include <functional>

#include "frazil/base/result.h"

namespace frazil::test {

/// Runs `work` in a child process that is killed (SIGKILL) at its `kill_at`-th sync point; 0: never. The child's wait status:
/// 0 when the work was done, exit code 1 when it failed, with the error on stderr. `num_points` gets how many points a child
/// that lived passed. Points of index merges do not count: they run beside the work, sometimes one more or less.
int RunInKilledChild(const std::function<Status()>& work, uint64_t kill_at, uint64_t* num_points = nullptr);

}  // namespace frazil::test
