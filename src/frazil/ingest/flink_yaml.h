#pragma once

#include <string>
#include <vector>

#include <fmt/format.h>

namespace frazil::ingest {

/// Writes maps of maps and short lists as YAML, in the order given. Texts that YAML would take for something else are quoted.
class FlinkYaml {
 public:
  void Line(int depth, const std::string& key) { text_ += Indent(depth) + Scalar(key, true) + ":\n"; }
  void Line(int depth, const std::string& key, const std::string& value) {
    text_ += Indent(depth) + Scalar(key, true) + ": " + Scalar(value, false) + "\n";
  }
  void List(int depth, const std::string& key, const std::vector<std::string>& values) {
    std::string items;
    for (const std::string& value : values) items += (items.empty() ? "" : ", ") + Scalar(value, true);
    text_ += Indent(depth) + Scalar(key, true) + ": [" + items + "]\n";
  }
  const std::string& text() const { return text_; }

 private:
  static std::string Indent(int depth) { return std::string(static_cast<size_t>(depth) * 2, ' '); }
  /// Plain where that is safe; `${...}` stays what it is in quotes as well.
  static std::string Scalar(const std::string& value, bool is_key);

  std::string text_;
};

}  // namespace frazil::ingest
