#include "frazil/scan/fetch_gate.h"

#include <atomic>
#include <optional>
#include <thread>
#include <vector>

#include <gmock/gmock.h>

namespace frazil::scan {
namespace {

TEST(FetchGate, NeverLetsMoreInThanItHasPlaces) {
  FetchGate gate(2);
  std::atomic<int> inside = 0;
  std::atomic<int> most = 0;
  std::atomic<int> done = 0;
  std::vector<std::thread> threads;
  for (int i = 0; i < 8; ++i) {
    threads.emplace_back([&] {
      for (int round = 0; round < 500; ++round) {
        const FetchGate::Pass pass = gate.Enter();
        const int now = ++inside;
        for (int seen = most; now > seen && !most.compare_exchange_weak(seen, now);) {
        }
        ++done;
        --inside;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(done, 8 * 500);
  EXPECT_LE(most, 2);
  EXPECT_EQ(inside, 0);
}

TEST(FetchGate, LetsInFirstWhoCameFirstAndNobodyPastThoseWhoWait) {
  FetchGate gate(1);
  std::optional<FetchGate::Pass> pass = gate.Enter();
  std::vector<size_t> order;  // of those inside, one at a time
  std::vector<std::thread> threads;
  for (size_t i = 0; i < 8; ++i) {
    threads.emplace_back([&, i] {
      const FetchGate::Pass own = gate.Enter();
      order.push_back(i);
    });
    while (gate.num_waiting() <= i) std::this_thread::yield();
  }
  pass.reset();
  {
    const FetchGate::Pass last = gate.Enter();
    EXPECT_THAT(order, ::testing::ElementsAre(0, 1, 2, 3, 4, 5, 6, 7));
  }
  for (std::thread& thread : threads) thread.join();
}

TEST(FetchGate, APlaceThatIsGivenBackIsFree) {
  FetchGate gate(1);
  for (int i = 0; i < 3; ++i) {
    std::optional<FetchGate::Pass> pass = gate.Enter();
    FetchGate::Pass moved = *std::move(pass);
    pass.reset();  // gives nothing back: the place was moved
  }
  const FetchGate::Pass last = gate.Enter();
}

}  // namespace
}  // namespace frazil::scan
