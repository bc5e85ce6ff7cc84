#pragma once

#include <map>
#include <optional>
#include <string>

namespace frazil::sql {

/// What `SET key = value` said in a session, for keys with a dot ("spark.sql.sources.partitionOverwriteMode"): Spark's.
/// Whoever follows a setting asks for it; the others are kept, as Spark keeps them, so that its scripts run. One thread.
class SessionSettings {
 public:
  void Set(const std::string& key, std::string value) { values_[key] = std::move(value); }
  void Reset(const std::string& key) { values_.erase(key); }
  void ResetAll() { values_.clear(); }

  /// What was set; none when nothing was.
  std::optional<std::string> Find(const std::string& key) const {
    const auto found = values_.find(key);
    return found == values_.end() ? std::nullopt : std::optional(found->second);
  }
  const std::map<std::string, std::string>& all() const { return values_; }

 private:
  std::map<std::string, std::string> values_;
};

}  // namespace frazil::sql
