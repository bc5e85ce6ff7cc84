#pragma once

#include <optional>
#include <string>

namespace frazil::cli {

/// Lines typed at a terminal, with editing and a history that outlives the program (libedit, as `sqlite3` and `psql` have it).
/// One at a time, on one thread: the library's state is global.
class LineEditor {
 public:
  /// `history_file` is read now and written when lines are remembered; a file that cannot be is no reason to fail.
  explicit LineEditor(std::string history_file);

  /// A line without its end; none at the end of input, or when a signal came.
  std::optional<std::string> Read(const std::string& prompt);
  /// Keeps a statement; line breaks become blanks.
  void Remember(std::string text);

 private:
  std::string history_file_;
};

}  // namespace frazil::cli
