#include "frazil/ingest/change_batch.h"

#include <array>
#include <map>
#include <optional>
#include <random>

#include <arrow/api.h>

#include "frazil/base/test_support.h"

namespace frazil::ingest {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr ChangeKind kU = ChangeKind::kUpsert;
constexpr ChangeKind kT = ChangeKind::kTombstone;
constexpr ChangeKind kP = ChangeKind::kPoison;

std::vector<KeyChange> OfOneKey(const std::vector<ChangeKind>& kinds) {
  return CollapseRows(std::vector<Hash96>(kinds.size(), Hash96{1, 2}), kinds);
}

KeyChange Change(int64_t last_row, bool cleared) { return {.hash = {1, 2}, .last_row = last_row, .cleared = cleared}; }

TEST(Collapse, TakesTheLastUpsert) { EXPECT_THAT(OfOneKey({kU, kU, kU}), ElementsAre(Change(2, false))); }

TEST(Collapse, RemembersATombstoneBeforeTheLastUpsert) {
  EXPECT_THAT(OfOneKey({kU, kT, kU}), ElementsAre(Change(2, true)));
  EXPECT_THAT(OfOneKey({kT, kU, kU}), ElementsAre(Change(2, true)));
}

TEST(Collapse, EndsWithATombstone) {
  EXPECT_THAT(OfOneKey({kU, kT}), ElementsAre(Change(-1, true)));
  EXPECT_THAT(OfOneKey({kT}), ElementsAre(Change(-1, true)));
}

TEST(Collapse, PassesPoisonOver) {
  EXPECT_THAT(OfOneKey({kU, kP}), ElementsAre(Change(0, false)));
  EXPECT_THAT(OfOneKey({kP, kP}), IsEmpty());
}

TEST(Collapse, RefusesABatchWithoutTheKeyColumn) {
  ASSERT_OK_AND_ASSIGN(const auto schema, spec::Schema::Make(spec::SchemaId{0},
                                                             {{.id = spec::FieldId{1},
                                                               .name = "id",
                                                               .required = true,
                                                               .type = spec::Type::Primitive(spec::TypeId::kLong)}},
                                                             {spec::FieldId{1}}));
  ASSERT_OK_AND_ASSIGN(const index::CanonicalKey key, index::CanonicalKey::Make(*schema, 7));
  ChangeBatch batch;
  const auto other = arrow::schema({arrow::field("other", arrow::int64())});
  batch.rows = arrow::RecordBatch::MakeEmpty(other).ValueOrDie();
  EXPECT_THAT(Collapse(batch, *schema, key), IsError(ErrorCode::kInternal, "key column"));
}

TEST(Collapse, GivesOneChangeAKeyAscendingByHash) {
  const std::vector<KeyChange> changes = CollapseRows({{5, 0}, {1, 9}, {5, 0}, {1, 3}, {0, 0}}, {kU, kU, kT, kU, kP});
  EXPECT_THAT(changes,
              ElementsAre(KeyChange{{1, 3}, 3, false}, KeyChange{{1, 9}, 1, false}, KeyChange{{5, 0}, -1, true}));
}

// More rows than are sorted by comparing; keys with equal leading bits of their hash, and one key over and over.
TEST(Collapse, GivesTheSameForLargeBatches) {
  std::mt19937_64 random(7);
  std::vector<Hash96> hashes;
  std::vector<ChangeKind> kinds;
  std::map<Hash96, KeyChange> expected;
  for (int64_t row = 0; row < 50'000; ++row) {
    Hash96 hash{random() % 30'000 * 0x1234'5678'9abcULL, static_cast<uint32_t>(random() % 2)};
    if (random() % 4 == 0) hash = {0xffff'ffff'8000'0000 + random() % 3, static_cast<uint32_t>(random() % 2)};
    const ChangeKind kind = std::array{kU, kU, kU, kT, kP}[random() % 5];
    hashes.push_back(hash);
    kinds.push_back(kind);
    if (kind == kP) continue;
    KeyChange& change = expected.try_emplace(hash, KeyChange{.hash = hash}).first->second;
    change.last_row = kind == kU ? row : -1;
    change.cleared = change.cleared || kind == kT;
  }
  const std::vector<KeyChange> changes = CollapseRows(hashes, kinds);
  ASSERT_EQ(changes.size(), expected.size());
  auto wanted = expected.begin();
  for (const KeyChange& change : changes) EXPECT_EQ(change, (wanted++)->second);
}

// ---- Where batches are cut changes nothing, row identity included (rule 1). ----

struct Row {
  int64_t value;
  bool is_old;  ///< still the row that was there before: its _row_id must be kept
  bool operator==(const Row&) const = default;
};
using Table = std::map<Hash96, Row>;

struct Record {
  Hash96 key;
  ChangeKind kind;
};

/// The definition: one record at a time.
void Fold(Table& table, const Record& record, int64_t offset) {
  if (record.kind == kP) return;
  if (record.kind == kT) {
    table.erase(record.key);
    return;
  }
  const auto found = table.find(record.key);
  if (found == table.end()) {
    table[record.key] = {offset, false};
  } else {
    found->second.value = offset;
  }
}

/// What the resolver makes of a collapsed batch.
void Apply(Table& table, const std::vector<Record>& records, size_t begin, size_t end) {
  std::vector<Hash96> hashes;
  std::vector<ChangeKind> kinds;
  for (size_t i = begin; i < end; ++i) {
    hashes.push_back(records[i].key);
    kinds.push_back(records[i].kind);
  }
  for (const KeyChange& change : CollapseRows(hashes, kinds)) {
    const auto found = table.find(change.hash);
    if (change.last_row < 0) {
      table.erase(change.hash);
    } else if (found != table.end() && !change.cleared) {
      found->second.value = static_cast<int64_t>(begin) + change.last_row;
    } else {
      table[change.hash] = {static_cast<int64_t>(begin) + change.last_row, false};
    }
  }
}

Table FoldAll(Table table, const std::vector<Record>& records) {
  for (size_t i = 0; i < records.size(); ++i) Fold(table, records[i], static_cast<int64_t>(i));
  return table;
}

TEST(Collapse, GivesTheSameForEveryCutOfEveryShortSequence) {
  const Hash96 key{1, 0};
  int num_cases = 0;
  for (size_t length = 1; length <= 6; ++length) {
    for (uint32_t kinds = 0; kinds < (1u << length); ++kinds) {
      std::vector<Record> records;
      for (size_t i = 0; i < length; ++i) records.push_back({key, (kinds >> i & 1) != 0 ? kU : kT});
      for (const bool is_there : {false, true}) {
        const Table before = is_there ? Table{{key, {-1, true}}} : Table{};
        const Table expected = FoldAll(before, records);
        for (uint32_t cuts = 0; cuts < (1u << (length - 1)); ++cuts) {
          Table table = before;
          size_t begin = 0;
          for (size_t i = 1; i <= length; ++i) {
            if (i < length && (cuts >> (i - 1) & 1) == 0) continue;
            Apply(table, records, begin, i);
            begin = i;
          }
          ASSERT_EQ(table, expected) << "kinds " << kinds << " cuts " << cuts << " length " << length;
          ++num_cases;
        }
      }
    }
  }
  EXPECT_GT(num_cases, 4000);
}

TEST(Collapse, GivesTheSameForRandomCutsOfLongSequences) {
  const unsigned seed = std::random_device{}();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937 random(seed);
  for (int round = 0; round < 300; ++round) {
    std::vector<Record> records;
    const size_t length = 1 + random() % 80;
    for (size_t i = 0; i < length; ++i) {
      const unsigned kind = random() % 10;
      const auto part = static_cast<uint32_t>(random() % 3);
      records.push_back({{random() % 3, part}, kind < 6 ? kU : kind < 9 ? kT : kP});
    }
    Table before;
    for (uint32_t i = 0; i < 3; ++i) before[{i, i}] = {-1, true};
    Table table = before;
    for (size_t begin = 0; begin < length;) {
      const size_t end = std::min(length, begin + 1 + random() % 12);
      Apply(table, records, begin, end);
      begin = end;
    }
    ASSERT_EQ(table, FoldAll(before, records)) << "round " << round;
  }
}

/// Partition and time of each row of one key, and which one must count.
TEST(CollapseRows, OfSeveralPartitionsTheNewestOfTheirLastRecordsCounts) {
  struct FromPartition {
    int32_t partition;
    std::optional<int64_t> time;
    ChangeKind kind = ChangeKind::kUpsert;
  };
  const auto collapse = [](const std::vector<FromPartition>& rows) {
    RowOrigins origins;
    std::vector<ChangeKind> kinds;
    for (const FromPartition& row : rows) {
      origins.Add(row.partition, row.time);
      kinds.push_back(row.kind);
    }
    return CollapseRows(std::vector<Hash96>(rows.size(), Hash96{1, 2}), kinds, origins).at(0);
  };
  EXPECT_EQ(collapse({{0, 9}, {1, 5}}).last_row, 0);
  EXPECT_EQ(collapse({{1, 5}, {0, 9}, {1, 6}, {0, 8}}).last_row, 3);  // inside a partition offsets count, not times
  EXPECT_EQ(collapse({{2, 7}, {1, 7}}).last_row, 0);                  // of equal times the higher partition
  EXPECT_EQ(collapse({{0, 1}, {1, std::nullopt}}).last_row, 0);
  EXPECT_EQ(collapse({{3, 9}, {3, 5}}).last_row, 1);
  const KeyChange deleted = collapse({{1, 9, ChangeKind::kTombstone}, {0, 5}});
  EXPECT_EQ(deleted.last_row, -1);
  const KeyChange back = collapse({{0, 9}, {1, 5, ChangeKind::kTombstone}});
  EXPECT_EQ(back.last_row, 0);
  EXPECT_TRUE(back.cleared);
  int64_t num_moved = 0;
  RowOrigins origins;
  for (const int32_t partition : {0, 1, 0, 0, 1, 1}) origins.Add(partition, partition);
  const Hash96 a{1, 0};
  const Hash96 b{2, 0};
  const Hash96 c{3, 0};
  CollapseRows({a, b, b, a, c, a}, std::vector<ChangeKind>(6, ChangeKind::kUpsert), origins, &num_moved);
  EXPECT_EQ(num_moved, 2);  // a and b
}

}  // namespace
}  // namespace frazil::ingest
