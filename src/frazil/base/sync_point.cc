#include "frazil/base/sync_point.h"

#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <mutex>

#include <unistd.h>

namespace frazil {
namespace {

std::mutex listener_mutex;
std::shared_ptr<SyncPoint::Listener> current_listener;

}  // namespace

std::atomic<bool> SyncPoint::armed_{false};

void SyncPoint::Listen(Listener listener) {
  std::lock_guard lock(listener_mutex);
  armed_ = static_cast<bool>(listener);
  current_listener = listener ? std::make_shared<Listener>(std::move(listener)) : nullptr;
}

void SyncPoint::Notify(std::string_view name) {
  std::shared_ptr<Listener> listener;
  {
    std::lock_guard lock(listener_mutex);
    listener = current_listener;
  }
  if (listener) (*listener)(name);
}

void SyncPoint::ArmFromEnvironment() {
  const char* kill_text = std::getenv("FRAZIL_KILL_AT_WRITE");
  const char* stop_text = std::getenv("FRAZIL_STOP_AT_FILE");
  if (kill_text == nullptr && stop_text == nullptr) return;
  const auto kill_at = kill_text == nullptr ? 0 : std::strtoull(kill_text, nullptr, 10);
  const auto stop_at = stop_text == nullptr ? 0 : std::strtoull(stop_text, nullptr, 10);
  auto hits = std::make_shared<std::atomic<uint64_t>>(0);
  auto files = std::make_shared<std::atomic<uint64_t>>(0);
  Listen([hits, files, kill_at, stop_at](std::string_view name) {
    if (hits->fetch_add(1) + 1 == kill_at) std::raise(SIGKILL);
    if (name == "local_file.create.after" && files->fetch_add(1) + 1 == stop_at) ::kill(::getpid(), SIGSTOP);
  });
}

}  // namespace frazil
