#pragma once

#include <atomic>
#include <functional>
#include <string_view>

namespace frazil {

/// Named places in the code where a test may stop the world: impose an order, inject an error, or kill the process.
///
/// `SyncPoint::Hit("local_file.create.before")` costs one relaxed load when nobody listens, so the points stay in
/// release builds and the crash tests kill the very binary that users run. Points exist before and after every durable
/// write (file, catalog, index). Thread-safe; one listener a process.
///
/// The environment variable FRAZIL_KILL_AT_WRITE=N (read once by ArmFromEnvironment) raises SIGKILL at the N-th hit;
/// FRAZIL_STOP_AT_FILE=N raises SIGSTOP behind the N-th file that was written, for others to get in between.
class SyncPoint {
 public:
  using Listener = std::function<void(std::string_view name)>;

  static void Hit(std::string_view name) {
    if (armed_.load(std::memory_order_relaxed)) [[unlikely]]
      Notify(name);
  }

  /// Installs a listener (an empty one disarms). Called on the thread that hits the point.
  static void Listen(Listener listener);

  /// Installs the killing or stopping listener when its variable is set. Called once by main.
  static void ArmFromEnvironment();

 private:
  static void Notify(std::string_view name);
  static std::atomic<bool> armed_;
};

}  // namespace frazil
