#include "frazil/cli/interrupt.h"

#include <condition_variable>
#include <csignal>
#include <cstdlib>
#include <mutex>
#include <thread>

#include <unistd.h>

namespace frazil::cli {
namespace {

std::atomic<bool> stop_flag{false};
std::atomic<int> last_signal{0};
std::mutex callback_mutex;
std::function<void()> callback_on_signal;
bool has_told = false;  ///< whether the callback has been called for the signal that set stop_flag
std::condition_variable told;
int wake_pipe[2] = {-1, -1};
std::thread watcher;

/// Only what a signal handler may do: set atomics, write a byte.
void Handle(int signal) {
  if (stop_flag.exchange(true)) _exit(128 + signal);
  last_signal = signal;
  const char byte = 's';
  [[maybe_unused]] const ssize_t written = write(wake_pipe[1], &byte, 1);
}

void Watch() {
  char byte = 0;
  while (read(wake_pipe[0], &byte, 1) == 1) {
    if (byte == 'q') return;
    std::lock_guard lock(callback_mutex);
    if (callback_on_signal) callback_on_signal();
    has_told = true;
    told.notify_all();
  }
}

}  // namespace

InterruptGuard::InterruptGuard() {
  if (pipe(wake_pipe) != 0) return;
  stop_flag = false;
  has_told = false;
  watcher = std::thread(Watch);
  struct sigaction action {};
  action.sa_handler = Handle;
  sigaction(SIGINT, &action, nullptr);
  sigaction(SIGTERM, &action, nullptr);
}

InterruptGuard::~InterruptGuard() {
  std::signal(SIGINT, SIG_DFL);
  std::signal(SIGTERM, SIG_DFL);
  if (!watcher.joinable()) return;
  const char byte = 'q';
  [[maybe_unused]] const ssize_t written = write(wake_pipe[1], &byte, 1);
  watcher.join();
  close(wake_pipe[0]);
  close(wake_pipe[1]);
  callback_on_signal = nullptr;
}

const std::atomic<bool>& InterruptGuard::stop() const { return stop_flag; }

void InterruptGuard::OnSignal(std::function<void()> callback) {
  std::lock_guard lock(callback_mutex);
  callback_on_signal = std::move(callback);
}

void InterruptGuard::Forget() {
  if (!stop_flag) return;
  std::unique_lock lock(callback_mutex);
  told.wait(lock, [] { return has_told; });
  has_told = false;
  stop_flag = false;
}

ExitCode InterruptGuard::exit_code() { return last_signal == SIGTERM ? ExitCode::kTerminated : ExitCode::kInterrupted; }

}  // namespace frazil::cli
