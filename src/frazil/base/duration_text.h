#pragma once

#include <chrono>
#include <string>

namespace frazil {

/// For people, in one whole unit that fits: "850 ms", "12 s", "3 min", "26 h", "4 d". Rounded down; what is negative is 0.
std::string FormatDuration(std::chrono::milliseconds duration);

}  // namespace frazil
