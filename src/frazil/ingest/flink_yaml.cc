#include "frazil/ingest/flink_yaml.h"

#include <algorithm>
#include <cctype>

namespace frazil::ingest {
namespace {

bool IsPlain(const std::string& value, bool is_key) {
  const auto is_safe = [&](unsigned char c) {
    return std::isalnum(c) != 0 || c == '_' || c == '-' || c == '.' || c == '/' || c == '$' || (c == ':' && !is_key);
  };
  if (value.empty() || value.front() == '-' || value.back() == ':' || value == "null") return false;
  return std::all_of(value.begin(), value.end(), is_safe);
}

}  // namespace

std::string FlinkYaml::Scalar(const std::string& value, bool is_key) {
  if (IsPlain(value, is_key)) return value;
  std::string quoted = "\"";
  for (const char c : value) {
    if (c == '"' || c == '\\') quoted += '\\';
    if (c == '\n') {
      quoted += "\\n";
    } else if (static_cast<unsigned char>(c) < 0x20) {
      quoted += fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
    } else {
      quoted += c;
    }
  }
  return quoted + "\"";
}

}  // namespace frazil::ingest
