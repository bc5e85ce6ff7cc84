#include "frazil/cli/line_editor.h"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <clocale>
#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <cwchar>
#include <iterator>
#include <memory>

#include <editline/readline.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

namespace frazil::cli {
namespace {

constexpr int kMaxHistory = 1000;
constexpr int kEndOfInput = -1;
constexpr auto kNone = static_cast<size_t>(-1);  ///< what mbrtowc says of bytes that are no character
constexpr auto kThereIsMore = static_cast<size_t>(-2);

LineEditor* reading = nullptr;

void WakeUp(int fd) {
  const uint64_t one = 1;
  [[maybe_unused]] const ssize_t written = ::write(fd, &one, sizeof(one));
}

std::atomic<int> woken_fd{-1};  ///< of the editor that reads
std::atomic<bool> is_resized{false};
std::atomic<bool> is_continued{false};
std::atomic<bool> is_to_pause{false};

void NoteSignal(int signal) {
  const int error = errno;
  (signal == SIGWINCH ? is_resized : signal == SIGCONT ? is_continued : is_to_pause) = true;
  WakeUp(woken_fd);
  errno = error;
}

/// While it lives the terminal's signals are noted. libedit's own handlers are for its own reading: where another function
/// reads, each of them hears one signal a line.
class TerminalSignals {
 public:
  explicit TerminalSignals(int wake_fd) {
    woken_fd = wake_fd;
    struct sigaction action {};
    action.sa_handler = NoteSignal;
    for (size_t i = 0; i < std::size(kSignals); ++i) ::sigaction(kSignals[i], &action, &before_[i]);
    noting = this;
    is_resized = true;  // it may have been while a statement ran
  }
  ~TerminalSignals() {
    noting = nullptr;
    for (size_t i = 0; i < std::size(kSignals); ++i) ::sigaction(kSignals[i], &before_[i], nullptr);
  }
  TerminalSignals(const TerminalSignals&) = delete;

  /// Does what the signals since the last call ask for.
  static void Follow() {
    if (is_to_pause.exchange(false) && noting != nullptr) {
      rl_deprep_terminal();
      noting->Pause();
      is_continued = true;
    }
    if (is_resized.exchange(false)) rl_resize_terminal();
    if (is_continued.exchange(false)) {
      // The shell has had the terminal meanwhile, and libedit sets modes only when it thinks that others are set.
      rl_deprep_terminal();
      rl_prep_terminal(1);
      rl_forced_update_display();
    }
  }

 private:
  static constexpr int kSignals[] = {SIGTSTP, SIGCONT, SIGWINCH};
  static TerminalSignals* noting;

  /// Until SIGCONT comes; not where nobody could send it.
  void Pause() const {
    struct sigaction ours {};
    ::sigaction(SIGTSTP, &before_[0], &ours);
    ::raise(SIGTSTP);
    ::sigaction(SIGTSTP, &ours, nullptr);
  }

  struct sigaction before_[std::size(kSignals)] = {};
};

TerminalSignals* TerminalSignals::noting = nullptr;

}  // namespace

LineEditor::LineEditor(std::string history_file, const std::atomic<bool>& stop)
    : history_file_(std::move(history_file)), stop_(stop), wake_fd_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
  reading = this;
  // As statements are, whatever the environment says: libedit passes letters over that the locale has not.
  std::setlocale(LC_CTYPE, "C.UTF-8");
  rl_readline_name = const_cast<char*>("frazil");
  rl_getc_function = NextCharacter;  // looked at when the library is first used, below
  rl_catch_signals = 0;
  using_history();
  stifle_history(kMaxHistory);
  read_history(history_file_.c_str());
}

LineEditor::~LineEditor() {
  reading = nullptr;
  if (wake_fd_ >= 0) ::close(wake_fd_);
}

std::optional<std::string> LineEditor::Read(const std::string& prompt) {
  const TerminalSignals signals(wake_fd_);
  const std::unique_ptr<char, decltype(&std::free)> line(readline(prompt.c_str()), &std::free);
  if (!line) return std::nullopt;
  return std::string(line.get());
}

void LineEditor::Wake() { WakeUp(wake_fd_); }

/// False once `stop` is set. It was set before Wake() was called, so whichever of the two is looked at last tells.
bool LineEditor::WaitForInput() const {
  while (!stop_) {
    TerminalSignals::Follow();
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

/// A character in the locale's encoding. Bytes that are none are passed over, but not the one that tells: it may be Enter.
int LineEditor::NextCharacter(std::FILE*) {
  std::mbstate_t state{};
  while (reading != nullptr && reading->WaitForInput()) {
    char byte = 0;
    const ssize_t count = ::read(STDIN_FILENO, &byte, 1);
    if (count < 0 && errno == EINTR) continue;
    if (count != 1) return kEndOfInput;
    wchar_t character = 0;
    const bool is_first = std::mbsinit(&state) != 0;
    size_t length = std::mbrtowc(&character, &byte, 1, &state);
    if (length == kNone) {
      state = {};
      if (is_first) continue;
      length = std::mbrtowc(&character, &byte, 1, &state);
    }
    if (length == kNone) {
      state = {};
    } else if (length != kThereIsMore) {
      return static_cast<int>(character);
    }
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
