#include "frazil/ingest/kafka_jaas.h"

#include <algorithm>

namespace frazil::ingest {
namespace {

class Reader {
 public:
  explicit Reader(std::string_view text) : rest_(text) {}

  bool AtEnd() {
    while (!rest_.empty() &&
           (rest_.front() == ' ' || rest_.front() == '\t' || rest_.front() == '\n' || rest_.front() == '\r')) {
      rest_.remove_prefix(1);
    }
    return rest_.empty();
  }

  bool Take(char wanted) {
    if (AtEnd() || rest_.front() != wanted) return false;
    rest_.remove_prefix(1);
    return true;
  }

  /// Up to white space, '=' or ';'.
  std::string Word() {
    AtEnd();
    const size_t end = std::min(rest_.find_first_of(" \t\r\n=;"), rest_.size());
    std::string word(rest_.substr(0, end));
    rest_.remove_prefix(end);
    return word;
  }

  Result<std::string> Value() {
    if (AtEnd() || (rest_.front() != '"' && rest_.front() != '\'')) return Word();
    const char quote = rest_.front();
    std::string value;
    for (size_t i = 1; i < rest_.size(); ++i) {
      if (rest_[i] == '\\' && i + 1 < rest_.size()) {
        value += rest_[++i];
      } else if (rest_[i] == quote) {
        rest_.remove_prefix(i + 1);
        return value;
      } else {
        value += rest_[i];
      }
    }
    return Fail(ErrorCode::kInvalidArgument, "a quoted value in sasl.jaas.config does not end");
  }

 private:
  std::string_view rest_;
};

}  // namespace

Result<JaasModule> ParseJaas(std::string_view text) {
  Reader reader(text);
  JaasModule module;
  module.class_name = reader.Word();
  const std::string flag = reader.Word();
  if (module.class_name.empty() ||
      (flag != "required" && flag != "requisite" && flag != "sufficient" && flag != "optional")) {
    return Fail(ErrorCode::kInvalidArgument,
                "sasl.jaas.config is not of the form: <login module class> required name=\"value\" ...;");
  }
  while (!reader.Take(';')) {
    const std::string name = reader.Word();
    if (name.empty() || !reader.Take('=')) {
      return Fail(ErrorCode::kInvalidArgument, "sasl.jaas.config has something else than name=\"value\" after {}",
                  module.class_name);
    }
    FRAZIL_ASSIGN(module.options[name], reader.Value());
    if (reader.AtEnd()) return module;  // Java wants the semicolon; nothing is unclear without it
  }
  if (!reader.AtEnd()) {
    return Fail(ErrorCode::kNotSupported, "several login modules in sasl.jaas.config");
  }
  return module;
}

}  // namespace frazil::ingest
