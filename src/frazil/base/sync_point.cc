#include "frazil/base/sync_point.h"

#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <mutex>

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
  const char* text = std::getenv("FRAZIL_KILL_AT_WRITE");
  if (text == nullptr) return;
  const auto kill_at = std::strtoull(text, nullptr, 10);
  auto hits = std::make_shared<std::atomic<uint64_t>>(0);
  Listen([hits, kill_at](std::string_view) {
    if (hits->fetch_add(1) + 1 == kill_at) std::raise(SIGKILL);
  });
}

}  // namespace frazil
