#include "frazil/cli/line_editor.h"

#include <algorithm>
#include <cerrno>
#include <clocale>
#include <cstdint>
#include <cstdlib>
#include <cwchar>
#include <memory>

#include <editline/readline.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

namespace frazil::cli {
namespace {

constexpr int kMaxHistory = 1000;
constexpr int kEndOfInput = -1;

LineEditor* reading = nullptr;

}  // namespace

LineEditor::LineEditor(std::string history_file, const std::atomic<bool>& stop)
    : history_file_(std::move(history_file)), stop_(stop), wake_fd_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
  reading = this;
  // As statements are, whatever the environment says: libedit passes letters over that the locale has not.
  std::setlocale(LC_CTYPE, "C.UTF-8");
  rl_readline_name = const_cast<char*>("frazil");
  rl_getc_function = NextCharacter;  // looked at when the library is first used, below
  using_history();
  stifle_history(kMaxHistory);
  read_history(history_file_.c_str());
}

LineEditor::~LineEditor() {
  reading = nullptr;
  if (wake_fd_ >= 0) ::close(wake_fd_);
}

std::optional<std::string> LineEditor::Read(const std::string& prompt) {
  const std::unique_ptr<char, decltype(&std::free)> line(readline(prompt.c_str()), &std::free);
  if (!line) return std::nullopt;
  return std::string(line.get());
}

void LineEditor::Wake() {
  const uint64_t one = 1;
  [[maybe_unused]] const ssize_t written = ::write(wake_fd_, &one, sizeof(one));
}

/// False once `stop` is set. It was set before Wake() was called, so whichever of the two is looked at last tells.
bool LineEditor::WaitForInput() const {
  while (!stop_) {
    pollfd waits[] = {{.fd = STDIN_FILENO, .events = POLLIN, .revents = 0},
                      {.fd = wake_fd_, .events = POLLIN, .revents = 0}};
    if (::poll(waits, 2, -1) < 0) {
      if (errno == EINTR) continue;
      return true;  // reading says what is wrong
    }
    if (waits[1].revents != 0) {
      uint64_t woken = 0;
      [[maybe_unused]] const ssize_t taken = ::read(wake_fd_, &woken, sizeof(woken));
      continue;
    }
    if (waits[0].revents != 0) return true;
  }
  return false;
}

/// A character in the locale's encoding, as libedit itself reads it: bytes that are none are passed over.
int LineEditor::NextCharacter(std::FILE*) {
  std::mbstate_t state{};
  while (reading != nullptr && reading->WaitForInput()) {
    char byte = 0;
    const ssize_t count = ::read(STDIN_FILENO, &byte, 1);
    if (count < 0 && errno == EINTR) continue;
    if (count != 1) return kEndOfInput;
    wchar_t character = 0;
    const size_t length = std::mbrtowc(&character, &byte, 1, &state);
    if (length == static_cast<size_t>(-2)) continue;  // there is more of it
    if (length != static_cast<size_t>(-1)) return static_cast<int>(character);
    state = {};
  }
  return kEndOfInput;
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
