#include "frazil/cli/interrupt.h"

#include <atomic>
#include <csignal>
#include <thread>

#include <gtest/gtest.h>

namespace frazil::cli {
namespace {

TEST(InterruptTest, WhatBeginsAfterASignalIsForgottenIsNotToldToStop) {
  for (int round = 0; round < 20; ++round) {
    InterruptGuard guard;
    std::atomic<bool> is_told{false};
    guard.OnSignal([&is_told] {
      for (int i = 0; i < 100; ++i) std::this_thread::yield();
      is_told = true;
    });
    std::raise(SIGINT);
    ASSERT_TRUE(guard.stop());
    guard.Forget();
    ASSERT_TRUE(is_told) << "the callback of a forgotten signal is still to come";
    EXPECT_FALSE(guard.stop());
  }
}

TEST(InterruptTest, TheSignalAfterAForgottenOneIsAFirstOneAgain) {
  InterruptGuard guard;
  std::atomic<int> calls{0};
  guard.OnSignal([&calls] { ++calls; });
  for (int i = 1; i <= 3; ++i) {
    std::raise(SIGINT);
    guard.Forget();
    EXPECT_EQ(calls, i);
  }
  guard.Forget();  // without one there is nothing to wait for
}

}  // namespace
}  // namespace frazil::cli
