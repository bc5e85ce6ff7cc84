#include "frazil/scan/equality_key_table.h"

#include <map>
#include <random>
#include <string>

#include "frazil/base/test_support.h"

namespace frazil::scan {
namespace {

using spec::SequenceNumber;

TEST(EqualityKeyTable, DeletesOnlyWhatIsStrictlyOlder) {
  EqualityKeyTable table;
  EXPECT_FALSE(table.Deletes(AsBytes("a"), SequenceNumber(0)));
  table.Insert(AsBytes("a"), SequenceNumber(5));
  EXPECT_TRUE(table.Deletes(AsBytes("a"), SequenceNumber(4)));
  EXPECT_FALSE(table.Deletes(AsBytes("a"), SequenceNumber(5)));
  EXPECT_FALSE(table.Deletes(AsBytes("b"), SequenceNumber(0)));
}

TEST(EqualityKeyTable, KeepsTheNewestDeleteOfAKey) {
  EqualityKeyTable table;
  table.Insert(AsBytes("a"), SequenceNumber(5));
  table.Insert(AsBytes("a"), SequenceNumber(3));
  EXPECT_TRUE(table.Deletes(AsBytes("a"), SequenceNumber(4)));
  table.Insert(AsBytes("a"), SequenceNumber(9));
  EXPECT_TRUE(table.Deletes(AsBytes("a"), SequenceNumber(8)));
  EXPECT_EQ(table.num_keys(), 1);
}

TEST(EqualityKeyTable, IsAMapForKeysOfAllLengths) {
  const unsigned seed = std::random_device{}();
  SCOPED_TRACE(fmt::format("seed {}", seed));
  std::mt19937 random(seed);
  EqualityKeyTable table;
  std::map<std::string, int64_t> model;
  for (int i = 0; i < 50'000; ++i) {
    // Short keys repeat; some fill chunks of their own.
    const size_t length = i % 5'000 == 0       ? (size_t{1} << 20) - 20 + random() % 40
                          : random() % 40 == 0 ? random() % 5'000
                                               : random() % 4;
    std::string key(length, '\0');
    for (size_t at = 0; at < std::min<size_t>(length, 8); ++at) key[at] = static_cast<char>(random() % 6);
    const int64_t sequence = static_cast<int64_t>(random() % 100);
    if (i % 9'000 == 8'999) {
      ASSERT_THAT(table.Spill(::testing::TempDir()), IsOk());
    }
    table.Insert(AsBytes(key), SequenceNumber(sequence));
    int64_t& newest = model.emplace(key, sequence).first->second;
    newest = std::max(newest, sequence);
  }
  ASSERT_THAT(table.Spill(""), IsOk());
  EXPECT_EQ(table.num_keys(), static_cast<int64_t>(model.size()));
  for (const auto& [key, newest] : model) {
    ASSERT_TRUE(table.Deletes(AsBytes(key), SequenceNumber(newest - 1)));
    ASSERT_FALSE(table.Deletes(AsBytes(key), SequenceNumber(newest)));
    ASSERT_FALSE(table.Deletes(AsBytes(key + "\x07"), SequenceNumber(-1)));
  }
}

TEST(EqualityKeyTable, TakesFewBytesForAKey) {
  EqualityKeyTable table;
  const int num_keys = 1'000'000;
  for (int64_t i = 0; i < num_keys; ++i) {
    table.Insert(std::as_bytes(std::span(&i, 1)), SequenceNumber(1));
  }
  EXPECT_EQ(table.num_keys(), num_keys);
  EXPECT_LT(table.memory_bytes(), num_keys * 28);  // 16 in a table that is 58 to 87 % full
  ASSERT_THAT(table.Spill(""), IsOk());
  EXPECT_EQ(table.num_keys(), num_keys);
  EXPECT_LT(table.memory_bytes(), num_keys);
  const int64_t last = num_keys - 1;
  EXPECT_TRUE(table.Deletes(std::as_bytes(std::span(&last, 1)), SequenceNumber(0)));
}

}  // namespace
}  // namespace frazil::scan
