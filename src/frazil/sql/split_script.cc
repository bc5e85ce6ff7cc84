#include <algorithm>

#include "frazil/sql/session.h"
#include "frazil/sql/token.h"

namespace frazil::sql {

std::vector<ScriptStatement> SplitScript(std::string_view script) {
  std::vector<ScriptStatement> statements;
  std::vector<Token> tokens = Tokenize(script);
  size_t first = 0;    // token
  size_t counted = 0;  // bytes whose lines are in `line`
  int line = 1;
  auto flush = [&](size_t end) {
    // An open comment is kept: whoever runs it is told, and not that there is nothing more.
    while (first < end && IsBlank(tokens[first]) && !tokens[first].is_open) ++first;
    size_t last = end;
    while (last > first && tokens[last - 1].kind == TokenKind::kSpace) --last;
    if (last > first) {
      size_t from = tokens[first].offset;
      size_t to = tokens[last - 1].offset + tokens[last - 1].text.size();
      line += static_cast<int>(std::ranges::count(script.substr(counted, from - counted), '\n'));
      counted = from;
      statements.push_back({std::string(script.substr(from, to - from)), line});
    }
    first = end + 1;
  };
  for (size_t i = 0; i < tokens.size(); ++i) {
    if (tokens[i].kind == TokenKind::kSymbol && tokens[i].text == ";") flush(i);
  }
  flush(tokens.size());
  return statements;
}

}  // namespace frazil::sql
