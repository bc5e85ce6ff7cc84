#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "frazil/table/procedure.h"

namespace frazil::maintain {

/// The arguments of a call by name. What the caller of a procedure has checked (names, types, required ones) is not
/// checked again. Keeps a reference.
class Arguments {
 public:
  explicit Arguments(const table::ProcedureArguments& arguments) : arguments_(arguments) {}

  /// A required text.
  std::string RequiredText(const std::string& name) const { return Text(name).value_or(""); }
  std::optional<std::string> Text(const std::string& name) const { return Find<std::string>(name); }
  std::optional<int64_t> Number(const std::string& name) const { return Find<int64_t>(name); }
  bool Truth(const std::string& name, bool fallback) const { return Find<bool>(name).value_or(fallback); }
  /// Milliseconds since the epoch, rounded down.
  std::optional<int64_t> TimeMs(const std::string& name) const;
  std::map<std::string, std::string> Map(const std::string& name) const {
    return Find<std::map<std::string, std::string>>(name).value_or(std::map<std::string, std::string>());
  }
  std::optional<std::vector<std::string>> Texts(const std::string& name) const {
    return Find<std::vector<std::string>>(name);
  }
  std::optional<std::vector<int64_t>> Numbers(const std::string& name) const {
    return Find<std::vector<int64_t>>(name);
  }

 private:
  template <typename T>
  std::optional<T> Find(const std::string& name) const {
    const auto found = arguments_.find(name);
    if (found == arguments_.end()) return std::nullopt;
    const T* value = std::get_if<T>(&found->second);
    return value == nullptr ? std::nullopt : std::optional<T>(*value);
  }

  const table::ProcedureArguments& arguments_;
};

}  // namespace frazil::maintain
