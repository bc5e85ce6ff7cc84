#include "frazil/sql/row_change.h"

#include <algorithm>

#include "frazil/sql/token.h"

namespace frazil::sql {

bool HasSubquery(const std::string& text) {
  const std::vector<Token> tokens = Tokenize(text);
  return std::any_of(tokens.begin(), tokens.end(), [](const Token& token) {
    return IsWord(token, "select") || IsWord(token, "from") || IsWord(token, "values");
  });
}

bool IsRepeatable(const std::string& text) {
  for (const char* once : {"/dev/stdin", "/dev/fd/", "/proc/self/fd/"}) {
    if (text.find(once) != std::string::npos) return false;
  }
  return true;
}

}  // namespace frazil::sql
