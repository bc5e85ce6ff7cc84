#include "frazil/cli/line_editor.h"

#include <algorithm>
#include <cstdlib>
#include <memory>

#include <editline/readline.h>

namespace frazil::cli {
namespace {

constexpr int kMaxHistory = 1000;

}  // namespace

LineEditor::LineEditor(std::string history_file) : history_file_(std::move(history_file)) {
  rl_readline_name = const_cast<char*>("frazil");
  using_history();
  stifle_history(kMaxHistory);
  read_history(history_file_.c_str());
}

std::optional<std::string> LineEditor::Read(const std::string& prompt) {
  const std::unique_ptr<char, decltype(&std::free)> line(readline(prompt.c_str()), &std::free);
  if (!line) return std::nullopt;
  return std::string(line.get());
}

void LineEditor::Remember(std::string text) {
  // A comment to the end of its line would swallow what follows on one line.
  if (text.find("--") == std::string::npos) std::replace(text.begin(), text.end(), '\n', ' ');
  while (!text.empty() && (text.back() == ' ' || text.back() == '\n')) text.pop_back();
  if (text.empty()) return;
  add_history(text.c_str());
  write_history(history_file_.c_str());
}

}  // namespace frazil::cli
