#include "frazil/format/parquet_buffers.h"

#include <algorithm>

#include "frazil/base/test_support.h"

namespace frazil::format {
namespace {

TEST(ParquetBuffers, NoTwoThatLiveAtATimeShareMemory) {
  ParquetBuffers buffers;
  for (int round = 0; round < 3; ++round) {
    std::vector<std::shared_ptr<arrow::Buffer>> taken;
    for (uint8_t i = 0; i < 20; ++i) {
      taken.push_back(buffers.Take(int64_t{i} * 20'000));
      ASSERT_EQ(taken.back()->size(), i * 20'000);
      std::fill_n(taken.back()->mutable_data(), taken.back()->size(), i);
    }
    for (uint8_t i = 0; i < 20; ++i) {
      const arrow::Buffer& buffer = *taken[i];
      EXPECT_TRUE(std::all_of(buffer.data(), buffer.data() + buffer.size(), [&](uint8_t byte) { return byte == i; }));
    }
  }
}

}  // namespace
}  // namespace frazil::format
