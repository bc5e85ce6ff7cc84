#pragma once

#include <set>
#include <span>
#include <string>
#include <string_view>

#include "frazil/spec/partition_spec.h"

namespace frazil::maintain {

/// Names that begin with `_` or `.` are not data, unless they are partition folders of a field whose name does.
class HiddenNames {
 public:
  explicit HiddenNames(std::span<const spec::PartitionSpec> specs);

  /// `path` within a location.
  bool IsHidden(std::string_view path) const;

 private:
  std::set<std::string> folders_;
};

}  // namespace frazil::maintain
