#include "frazil/format/deletion_vector.h"

#include <random>
#include <set>

#include "frazil/base/test_support.h"

namespace frazil::format {
namespace {

using spec::RowPosition;
using testing::ElementsAre;

DeletionVector Of(const std::vector<int64_t>& positions) {
  DeletionVector vector;
  EXPECT_THAT(vector.AddAll(positions), IsOk());
  return vector;
}

TEST(DeletionVector, StartsEmpty) {
  const DeletionVector vector;
  EXPECT_TRUE(vector.empty());
  EXPECT_EQ(vector.cardinality(), 0);
  EXPECT_THAT(vector.ToPositions(), ElementsAre());
  EXPECT_EQ(vector.Rank(RowPosition(100)), 0);
}

TEST(DeletionVector, RefusesPositionsThatOthersCannotRead) {
  DeletionVector vector;
  EXPECT_THAT(vector.Add(RowPosition(-1)), IsError(ErrorCode::kInvalidArgument, "out of range: -1"));
  EXPECT_THAT(vector.Add(RowPosition(DeletionVector::kMaxPosition.value() + 1)),
              IsError(ErrorCode::kInvalidArgument, "out of range"));
  EXPECT_THAT(vector.AddAll(std::vector<int64_t>{1, -5}), IsError(ErrorCode::kInvalidArgument, "out of range: -5"));
  EXPECT_TRUE(vector.empty());
  EXPECT_THAT(vector.Add(DeletionVector::kMaxPosition), IsOk());
  EXPECT_EQ(vector.Max(), DeletionVector::kMaxPosition);
}

TEST(DeletionVector, UnitesAndSubtracts) {
  DeletionVector vector = Of({1, 2, int64_t{3} << 32});
  vector.UnionWith(Of({2, 5, int64_t{7} << 32}));
  EXPECT_THAT(vector.ToPositions(), ElementsAre(1, 2, 5, int64_t{3} << 32, int64_t{7} << 32));
  vector.Subtract(Of({2, int64_t{3} << 32}));
  EXPECT_THAT(vector.ToPositions(), ElementsAre(1, 5, int64_t{7} << 32));
  vector.UnionWith(vector);
  EXPECT_EQ(vector.cardinality(), 3);
  vector.Subtract(vector);
  EXPECT_TRUE(vector.empty());
  EXPECT_EQ(vector, DeletionVector());
}

TEST(DeletionVector, ClonesIndependently) {
  DeletionVector vector = Of({1, 2});
  DeletionVector copy = vector.Clone();
  ASSERT_THAT(copy.Add(RowPosition(3)), IsOk());
  EXPECT_EQ(vector.cardinality(), 2);
  EXPECT_NE(vector, copy);
}

TEST(DeletionVector, AppendsToWhatIsThere) {
  Bytes out = {std::byte{42}};
  ASSERT_THAT(Of({1, 3, 5}).EncodeTo(out), IsOk());
  EXPECT_EQ(out[0], std::byte{42});
  ASSERT_OK_AND_ASSIGN(const DeletionVector decoded, DeletionVector::Decode(ByteView(out).subspan(1)));
  EXPECT_THAT(decoded.ToPositions(), ElementsAre(1, 3, 5));
}

TEST(DeletionVector, AgreesWithASetOfNumbers) {
  const auto seed = std::random_device{}();
  SCOPED_TRACE(fmt::format("seed {}", seed));
  std::mt19937_64 random(seed);
  for (int round = 0; round < 20; ++round) {
    std::set<int64_t> expected;
    DeletionVector vector;
    const int64_t base = static_cast<int64_t>(random() % 3) << 32;
    for (int i = 0; i < 50; ++i) {
      // Single positions, runs and dense stretches, over container and key borders.
      const int64_t start = base + static_cast<int64_t>(random() % (int64_t{1} << (17 + random() % 16)));
      const int64_t length = random() % 3 == 0 ? 1 : static_cast<int64_t>(random() % 3000);
      const int64_t step = 1 + static_cast<int64_t>(random() % 3);
      std::vector<int64_t> added;
      for (int64_t j = 0; j < length; ++j) added.push_back(start + j * step);
      expected.insert(added.begin(), added.end());
      ASSERT_THAT(vector.AddAll(added), IsOk());
    }
    const std::vector<int64_t> positions(expected.begin(), expected.end());
    ASSERT_EQ(vector.ToPositions(), positions);

    Bytes encoded;
    ASSERT_THAT(vector.EncodeTo(encoded), IsOk());
    ASSERT_OK_AND_ASSIGN(const DeletionVector decoded, DeletionVector::Decode(encoded));
    ASSERT_EQ(decoded, vector);
    ASSERT_EQ(decoded.ToPositions(), positions);
    Bytes again;
    ASSERT_THAT(decoded.EncodeTo(again), IsOk());
    ASSERT_EQ(again, encoded);

    for (int i = 0; i < 50; ++i) {
      int64_t begin = positions[random() % positions.size()] + static_cast<int64_t>(random() % 3) - 1;
      int64_t end = positions[random() % positions.size()] + static_cast<int64_t>(random() % 3) - 1;
      if (begin > end) std::swap(begin, end);
      const auto first = std::lower_bound(positions.begin(), positions.end(), begin);
      const auto last = std::lower_bound(positions.begin(), positions.end(), end);
      std::vector<int64_t> inside;
      decoded.PositionsIn(RowPosition(begin), RowPosition(end), inside);
      ASSERT_EQ(inside, std::vector<int64_t>(first, std::max(first, last)));
      ASSERT_EQ(decoded.Rank(RowPosition(begin)), first - positions.begin());
      ASSERT_EQ(decoded.Contains(RowPosition(begin)), expected.contains(begin));
    }
  }
}

/// Every kind of container: few, every second, all, all but some, and random rows of 65,536 each; the last one ends early.
std::vector<int64_t> RowsOfAllKinds(uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<int64_t> rows;
  for (int64_t i = 0; i < 65'536; ++i) {
    if (i % 1000 == 7) rows.push_back(i);
  }
  const auto add = [&](int64_t container, int64_t end, const auto& is_deleted) {
    for (int64_t i = 0; i < end; ++i) {
      if (is_deleted(i)) rows.push_back(container * 65'536 + i);
    }
  };
  add(1, 65'536, [](int64_t i) { return i % 2 == 0; });
  add(2, 65'536, [](int64_t) { return true; });
  add(3, 65'536, [](int64_t i) { return i % 5000 != 4999; });
  add(5, 65'536, [&](int64_t) { return random() % 3 != 0; });
  add(6, 9'001, [&](int64_t) { return random() % 4 != 0; });
  return rows;
}

TEST(DeletionVector, IsLaidOutAsBits) {
  EXPECT_TRUE(DeletionVector().ToBits().empty());
  EXPECT_TRUE(Of({int64_t{1} << 32}).ToBits().empty());
  const std::vector<int64_t> rows = RowsOfAllKinds(1);
  const DeletionVector made = Of(rows);
  Bytes encoded;
  ASSERT_THAT(made.EncodeTo(encoded), IsOk());
  ASSERT_OK_AND_ASSIGN(const DeletionVector decoded, DeletionVector::Decode(encoded));  // which has runs
  for (const DeletionVector* vector : {&made, &decoded}) {
    const std::vector<uint64_t> bits = vector->ToBits();
    EXPECT_EQ(static_cast<int64_t>(bits.size()), rows.back() / 64 + 1);
    std::vector<int64_t> set;
    for (size_t i = 0; i < bits.size() * 64; ++i) {
      if ((bits[i / 64] >> (i % 64) & 1) != 0) set.push_back(static_cast<int64_t>(i));
    }
    EXPECT_EQ(set, rows);
  }
}

TEST(DeletionVector, IsASubsetWhereverItIsKept) {
  const std::vector<int64_t> rows = RowsOfAllKinds(2);
  const DeletionVector all = Of(rows);
  DeletionVector some;
  for (size_t i = 0; i < rows.size(); i += 3) ASSERT_THAT(some.Add(RowPosition(rows[i])), IsOk());
  EXPECT_TRUE(DeletionVector().IsSubsetOf(some));
  EXPECT_TRUE(some.IsSubsetOf(all));
  EXPECT_TRUE(all.IsSubsetOf(all));
  EXPECT_FALSE(all.IsSubsetOf(some));
  EXPECT_FALSE(some.IsSubsetOf(DeletionVector()));
  ASSERT_THAT(some.Add(RowPosition(int64_t{9} << 32)), IsOk());
  EXPECT_FALSE(some.IsSubsetOf(all));
}

}  // namespace
}  // namespace frazil::format
