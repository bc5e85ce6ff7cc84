#include "frazil/maintain/procedure_arguments.h"

namespace frazil::maintain {

std::optional<int64_t> Arguments::TimeMs(const std::string& name) const {
  const std::optional<int64_t> micros = Number(name);
  if (!micros) return std::nullopt;
  return *micros / 1000 - (*micros % 1000 < 0 ? 1 : 0);
}

}  // namespace frazil::maintain
