#pragma once

#include <atomic>
#include <cstdio>
#include <optional>
#include <string>

namespace frazil::cli {

/// Lines typed at a terminal, with editing and a history that outlives the program (libedit, as `sqlite3` and `psql` have it).
/// One at a time, on one thread: the library's state is global.
class LineEditor {
 public:
  /// `history_file` is read now and written when lines are remembered; a file that cannot be is no reason to fail. Once `stop`
  /// is set no more is read; it outlives the editor.
  LineEditor(std::string history_file, const std::atomic<bool>& stop);
  ~LineEditor();
  LineEditor(const LineEditor&) = delete;
  LineEditor& operator=(const LineEditor&) = delete;

  /// A line without its end; none at the end of input, or when `stop` is set.
  std::optional<std::string> Read(const std::string& prompt);
  /// `stop` was set. From any thread: a signal handler alone would not be heard by a Read() that is about to wait.
  void Wake();
  /// Keeps a statement; line breaks become blanks.
  void Remember(std::string text);

 private:
  static int NextCharacter(std::FILE* input);
  bool WaitForInput() const;

  const std::string history_file_;
  const std::atomic<bool>& stop_;
  int wake_fd_ = -1;
};

}  // namespace frazil::cli
