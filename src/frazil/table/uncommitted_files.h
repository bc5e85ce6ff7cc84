#pragma once

#include <cstdint>

namespace frazil::table {

// How far files can be relied on that no commit names yet. A lease (WriterLease) is known to our orphan removal alone; that of
// other engines may take them after a day.

/// So long after they were written (a process that slept) it is looked whether they are still there.
inline constexpr int64_t kLookAfterMs = int64_t{3'600} * 1'000;
/// Older ones are written anew; nobody's clock is half a day wrong.
inline constexpr int64_t kMaxUncommittedAgeMs = int64_t{12} * 3'600 * 1'000;

}  // namespace frazil::table
