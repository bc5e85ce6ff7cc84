#include "frazil/sql/row_change.h"

#include <algorithm>

#include "frazil/sql/token.h"

namespace frazil::sql {

bool HasSubquery(const std::string& text) {
  bool after_distinct = false;  // IS DISTINCT FROM
  for (const Token& token : Tokenize(text)) {
    if (IsWord(token, "select") || (IsWord(token, "from") && !after_distinct) || IsWord(token, "values")) return true;
    if (token.kind != TokenKind::kSpace) after_distinct = IsWord(token, "distinct");
  }
  return false;
}

bool IsRepeatable(const std::string& text) {
  for (const char* once : {"/dev/stdin", "/dev/fd/", "/proc/self/fd/"}) {
    if (text.find(once) != std::string::npos) return false;
  }
  return true;
}

}  // namespace frazil::sql
