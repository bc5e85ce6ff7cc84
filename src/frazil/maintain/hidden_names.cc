#include "frazil/maintain/hidden_names.h"

#include <algorithm>

namespace frazil::maintain {

HiddenNames::HiddenNames(std::span<const spec::PartitionSpec> specs) {
  for (const spec::PartitionSpec& spec : specs) {
    for (const spec::PartitionField& field : spec.fields()) {
      if (field.name.starts_with('_') || field.name.starts_with('.')) folders_.insert(field.name + "=");
    }
  }
}

bool HiddenNames::IsHidden(std::string_view path) const {
  while (!path.empty()) {
    const size_t end = std::min(path.find('/'), path.size());
    const std::string_view name = path.substr(0, end);
    path.remove_prefix(std::min(end + 1, path.size()));
    const bool looks_hidden = name.starts_with('_') || name.starts_with('.');
    const bool is_partition = std::any_of(folders_.begin(), folders_.end(),
                                          [&](const std::string& folder) { return name.starts_with(folder); });
    if (looks_hidden && !is_partition) return true;
  }
  return false;
}

}  // namespace frazil::maintain
