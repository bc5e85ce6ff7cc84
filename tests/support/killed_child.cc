#include "tests/support/killed_child.h"

#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <string_view>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "frazil/base/sync_point.h"

namespace frazil::test {

int RunInKilledChild(const std::function<Status()>& work, uint64_t kill_at, uint64_t* num_points) {
  int pipe_ends[2];
  EXPECT_EQ(::pipe(pipe_ends), 0);
  const pid_t child = fork();
  if (child == 0) {
    std::atomic<uint64_t> hits{0};
    SyncPoint::Listen([&](std::string_view name) {
      if (name.starts_with("key_index.merge")) return;
      if (hits.fetch_add(1) + 1 == kill_at) std::raise(SIGKILL);
    });
    const Status done = work();
    if (!done) fmt::print(stderr, "{}\n", done.error().ToString());
    const uint64_t count = hits;
    const bool told = ::write(pipe_ends[1], &count, sizeof(count)) == sizeof(count);
    _exit(done && told ? 0 : 1);
  }
  ::close(pipe_ends[1]);
  uint64_t count = 0;
  const ssize_t read_bytes = ::read(pipe_ends[0], &count, sizeof(count));
  ::close(pipe_ends[0]);
  if (num_points != nullptr && read_bytes == sizeof(count)) *num_points = count;
  int status = 0;
  EXPECT_EQ(waitpid(child, &status, 0), child);
  return status;
}

}  // namespace frazil::test
