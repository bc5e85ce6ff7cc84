#include "frazil/table/row_map.h"

#include <algorithm>
#include <functional>
#include <map>
#include <numeric>
#include <random>
#include <set>

#include "frazil/base/test_support.h"
#include "frazil/format/puffin.h"
#include "frazil/io/memory_file_io.h"
#include "frazil/table/ranked_set.h"
#include "frazil/table/row_map_bytes.h"
#include "frazil/table/row_map_format.h"
#include "frazil/table/row_map_segments.h"

namespace frazil::table {
namespace {

using Random = std::mt19937_64;
using Target = RowMap::Target;

constexpr char kPath[] = "memory:/t/_frazil/rowmaps/1.puffin";

int64_t Below(Random& random, int64_t end) { return static_cast<int64_t>(random() % static_cast<uint64_t>(end)); }

format::DeletionVector VectorOf(const std::set<int64_t>& positions) {
  format::DeletionVector vector;
  for (const int64_t position : positions) EXPECT_THAT(vector.Add(spec::RowPosition(position)), IsOk());
  return vector;
}

RowMap::Source SourceOf(const std::string& path, int64_t record_count) {
  return {.path = path,
          .sequence_number = spec::SequenceNumber(7),
          .first_row_id = std::nullopt,
          .record_count = record_count};
}

Target At(uint32_t output, int64_t position) { return {output, spec::RowPosition(position)}; }

/// Writes into memory and reads back.
Result<std::shared_ptr<const RowMap>> RoundTrip(const RowMapWriter& writer, io::MemoryFileIO* io = nullptr) {
  io::MemoryFileIO own;
  io::MemoryFileIO& files = io != nullptr ? *io : own;
  FRAZIL_ASSIGN(const int64_t size, writer.Write(files, kPath));
  FRAZIL_ASSIGN(std::shared_ptr<const RowMap> row_map, RowMap::Read(files, kPath));
  EXPECT_EQ(row_map->size_bytes(), size);
  return row_map;
}

/// What a row map must say, by source: target of each position, none where it was dropped.
struct Oracle {
  std::vector<std::vector<std::optional<Target>>> targets;
  std::vector<int64_t> output_counts;
};

void ExpectEqual(const RowMap& row_map, const Oracle& oracle, Random& random) {
  ASSERT_EQ(row_map.sources().size(), oracle.targets.size());
  ASSERT_EQ(row_map.outputs().size(), oracle.output_counts.size());
  for (size_t i = 0; i < oracle.output_counts.size(); ++i) {
    EXPECT_EQ(row_map.outputs()[i].record_count, oracle.output_counts[i]);
  }
  for (uint32_t source = 0; source < oracle.targets.size(); ++source) {
    const auto& targets = oracle.targets[source];
    const auto count = static_cast<int64_t>(targets.size());
    EXPECT_EQ(row_map.FindSource(row_map.sources()[source].path), source);
    std::vector<int64_t> carried(oracle.output_counts.size());
    std::vector<int64_t> asked;
    std::vector<std::optional<Target>> expected;
    for (int64_t position = -2; position < count + 2; ++position) {
      const bool is_inside = position >= 0 && position < count;
      const std::optional<Target> target = is_inside ? targets[static_cast<size_t>(position)] : std::nullopt;
      ASSERT_EQ(row_map.Find(source, spec::RowPosition(position)), target) << source << " " << position;
      if (target) ++carried[target->output];
      for (int64_t n = Below(random, 3); n > 0; --n) {  // some not at all, some twice
        asked.push_back(position);
        expected.push_back(target);
      }
    }
    std::vector<std::optional<Target>> found{At(9, 9)};
    row_map.FindAll(source, asked, found);
    ASSERT_EQ(found, expected);
    EXPECT_EQ(row_map.CountCarried(source), carried);
  }
}

enum class Kind { kOrderKept, kMerged, kSorted };

/// A rewrite of some files with some rows dropped, told to a writer as the kind wants it and remembered.
class RandomRewrite {
 public:
  explicit RandomRewrite(Random& random) : random_(random) {}

  Oracle Tell(RowMapWriter& writer) {
    Oracle oracle;
    const int64_t num_sources = Below(random_, 5);
    const int64_t num_outputs = 1 + Below(random_, 4);
    oracle.output_counts.resize(static_cast<size_t>(num_outputs));
    std::vector<std::vector<int64_t>> carried;  // by source
    for (int64_t source = 0; source < num_sources; ++source) {
      const int64_t count = Below(random_, 3) == 0 ? Below(random_, 4) : Below(random_, 3000);
      const std::set<int64_t> dropped = Dropped(count);
      std::vector<int64_t>& positions = carried.emplace_back();
      for (int64_t p = 0; p < count; ++p) {
        if (!dropped.contains(p)) positions.push_back(p);
      }
      writer.AddSource(SourceOf(fmt::format("source-{}", source), count), VectorOf(dropped));
      oracle.targets.emplace_back(static_cast<size_t>(count));
    }
    for (int64_t output = 0; output < num_outputs; ++output) writer.AddOutput({fmt::format("output-{}", output), -1});

    // Each source is told in one way; what is told in order comes first, so that sorted rows know their places.
    std::vector<uint32_t> merged;
    std::vector<uint32_t> sorted;
    for (uint32_t source = 0; source < carried.size(); ++source) {
      const auto kind = static_cast<Kind>(Below(random_, 3));
      if (kind == Kind::kOrderKept) TellInOrder(writer, source, carried[source], oracle);
      if (kind == Kind::kMerged) merged.push_back(source);
      if (kind == Kind::kSorted) sorted.push_back(source);
    }
    Merge(writer, merged, carried, oracle);
    Sort(writer, sorted, carried, oracle);
    return oracle;
  }

 private:
  std::set<int64_t> Dropped(int64_t count) {
    std::set<int64_t> dropped;
    const int64_t pattern = Below(random_, 5);
    for (int64_t p = 0; p < count; ++p) {
      const bool is_dropped = pattern == 1   ? Below(random_, 50) == 0
                              : pattern == 2 ? Below(random_, 2) == 0
                              : pattern == 3 ? p / 100 % 2 == 0
                                             : pattern == 4 && Below(random_, 20) != 0;
      if (is_dropped) dropped.insert(p);
    }
    return dropped;
  }

  uint32_t AnyOutput(const Oracle& oracle) {
    return static_cast<uint32_t>(Below(random_, static_cast<int64_t>(oracle.output_counts.size())));
  }

  void Place(Oracle& oracle, uint32_t source, int64_t position, uint32_t output) {
    oracle.targets[source][static_cast<size_t>(position)] = At(output, oracle.output_counts[output]++);
  }

  void TellInOrder(RowMapWriter& writer, uint32_t source, const std::vector<int64_t>& carried, Oracle& oracle) {
    for (size_t i = 0; i < carried.size();) {
      const size_t length = std::min(carried.size() - i, static_cast<size_t>(1 + Below(random_, 1000)));
      const uint32_t output = AnyOutput(oracle);
      // The range may begin anywhere in the dropped rows before its first carried one.
      const int64_t least = i == 0 ? 0 : carried[i - 1] + 1;
      const int64_t start = least + Below(random_, carried[i] - least + 1);
      EXPECT_THAT(
          writer.AddOrderKept(source, start, output, oracle.output_counts[output], static_cast<int64_t>(length)),
          IsOk());
      for (size_t end = i + length; i < end; ++i) Place(oracle, source, carried[i], output);
    }
  }

  void Merge(RowMapWriter& writer, const std::vector<uint32_t>& sources,
             const std::vector<std::vector<int64_t>>& carried, Oracle& oracle) {
    std::vector<size_t> next(carried.size());
    const int64_t longest = Below(random_, 2) == 0 ? 2 : 200;
    std::vector<uint32_t> open = sources;
    while (!open.empty()) {
      const auto at = static_cast<size_t>(Below(random_, static_cast<int64_t>(open.size())));
      const uint32_t source = open[at];
      const size_t left = carried[source].size() - next[source];
      if (left == 0) {
        open.erase(open.begin() + static_cast<std::ptrdiff_t>(at));
        continue;
      }
      const size_t length = std::min(left, static_cast<size_t>(Below(random_, longest + 1)));
      const uint32_t output = AnyOutput(oracle);
      EXPECT_THAT(writer.AddMerged(output, source, static_cast<int64_t>(length)), IsOk());
      for (size_t i = 0; i < length; ++i) Place(oracle, source, carried[source][next[source]++], output);
    }
  }

  void Sort(RowMapWriter& writer, const std::vector<uint32_t>& sources,
            const std::vector<std::vector<int64_t>>& carried, Oracle& oracle) {
    std::vector<std::pair<uint32_t, int64_t>> rows;
    for (const uint32_t source : sources) {
      for (const int64_t position : carried[source]) rows.emplace_back(source, position);
    }
    std::shuffle(rows.begin(), rows.end(), random_);
    for (const auto& [source, position] : rows) Place(oracle, source, position, AnyOutput(oracle));
    std::shuffle(rows.begin(), rows.end(), random_);  // the order of telling says nothing
    for (const auto& [source, position] : rows) {
      const Target target = *oracle.targets[source][static_cast<size_t>(position)];
      EXPECT_THAT(writer.AddSorted(source, spec::RowPosition(position), target.output, target.position), IsOk());
    }
  }

  Random& random_;
};

TEST(RowMap, RandomRewritesEqualTheOracle) {
  for (uint64_t seed = 1; seed <= 200; ++seed) {
    SCOPED_TRACE(fmt::format("seed {}", seed));
    Random random(seed);
    RowMapWriter writer;
    const Oracle oracle = RandomRewrite(random).Tell(writer);
    ASSERT_OK_AND_ASSIGN(const auto row_map, RoundTrip(writer));
    ExpectEqual(*row_map, oracle, random);
    if (HasFatalFailure()) return;
  }
}

TEST(RowMap, OrderKeptOverSeveralOutputsSkipsDroppedRows) {
  RowMapWriter writer;
  const uint32_t source = writer.AddSource(SourceOf("s", 10), VectorOf({0, 3, 4, 9}));
  const uint32_t a = writer.AddOutput({"a", 5});
  const uint32_t b = writer.AddOutput({"b", 4});
  const uint32_t other = writer.AddSource(SourceOf("other", 3), {});
  EXPECT_THAT(writer.AddOrderKept(other, 0, a, 0, 2), IsOk());
  EXPECT_THAT(writer.AddOrderKept(source, 0, a, 2, 3), IsOk());  // 1, 2, 5
  EXPECT_THAT(writer.AddOrderKept(source, 6, b, 0, 3), IsOk());  // 6, 7, 8
  EXPECT_THAT(writer.AddOrderKept(other, 2, b, 3, 1), IsOk());
  ASSERT_OK_AND_ASSIGN(const auto row_map, RoundTrip(writer));
  Random random(1);
  ExpectEqual(*row_map,
              {.targets = {{std::nullopt, At(a, 2), At(a, 3), std::nullopt, std::nullopt, At(a, 4), At(b, 0), At(b, 1),
                            At(b, 2), std::nullopt},
                           {At(a, 0), At(a, 1), At(b, 3)}},
               .output_counts = {5, 4}},
              random);
}

TEST(RowMap, IdentityOfSourcesAndOutputsComesBack) {
  RowMapWriter writer;
  const RowMap::Source first{.path = "s3://b/ü.parquet",
                             .sequence_number = spec::SequenceNumber(3),
                             .first_row_id = spec::RowId(0),
                             .record_count = 1};
  const RowMap::Source second{
      .path = "", .sequence_number = spec::SequenceNumber(0), .first_row_id = std::nullopt, .record_count = 0};
  writer.AddSource(first, {});
  writer.AddSource(second, {});
  const RowMap::Output output{"s3://b/out.parquet", 1};
  writer.AddOutput(output);
  writer.AddOutput({"empty", 0});
  EXPECT_THAT(writer.AddMerged(0, 0, 1), IsOk());
  ASSERT_OK_AND_ASSIGN(const auto row_map, RoundTrip(writer));
  EXPECT_EQ(row_map->sources(), (std::vector<RowMap::Source>{first, second}));
  EXPECT_EQ(row_map->outputs(), (std::vector<RowMap::Output>{output, {"empty", 0}}));
  EXPECT_EQ(row_map->FindSource("s3://b/out.parquet"), std::nullopt);
  EXPECT_EQ(row_map->Find(2, spec::RowPosition(0)), std::nullopt);
  EXPECT_GT(row_map->memory_bytes(), 0);
}

TEST(RowMap, ARewriteOfNothingAndOneThatDropsAll) {
  RowMapWriter nothing;
  ASSERT_OK_AND_ASSIGN(auto row_map, RoundTrip(nothing));
  EXPECT_TRUE(row_map->sources().empty());
  RowMapWriter all;
  all.AddSource(SourceOf("s", 3), VectorOf({0, 1, 2}));
  all.AddOutput({"o", -1});
  ASSERT_OK_AND_ASSIGN(row_map, RoundTrip(all));
  for (int64_t p = 0; p < 3; ++p) EXPECT_EQ(row_map->Find(0, spec::RowPosition(p)), std::nullopt);
  EXPECT_EQ(row_map->outputs()[0].record_count, 0);
}

TEST(RowMap, ChainsOfRewritesLeadEveryRowToWhereItIs) {
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    SCOPED_TRACE(fmt::format("seed {}", seed));
    Random random(seed);
    // The outputs of the first rewrite are the sources of the second, with some more rows dropped.
    RowMapWriter writer;
    const Oracle first = RandomRewrite(random).Tell(writer);
    ASSERT_OK_AND_ASSIGN(const auto first_map, RoundTrip(writer));
    RowMapWriter next;
    std::vector<std::vector<std::optional<int64_t>>> places;  // by first output and position
    int64_t count = 0;
    for (uint32_t i = 0; i < first.output_counts.size(); ++i) {
      std::set<int64_t> dropped;
      auto& own = places.emplace_back(static_cast<size_t>(first.output_counts[i]));
      for (size_t p = 0; p < own.size(); ++p) {
        if (Below(random, 4) == 0) {
          dropped.insert(static_cast<int64_t>(p));
        } else {
          own[p] = count++;
        }
      }
      next.AddSource(SourceOf(first_map->outputs()[i].path, first.output_counts[i]), VectorOf(dropped));
    }
    next.AddOutput({"last", count});
    for (uint32_t i = 0; i < places.size(); ++i) {
      EXPECT_THAT(
          next.AddMerged(0, i, std::count_if(places[i].begin(), places[i].end(), [](auto p) { return p.has_value(); })),
          IsOk());
    }
    ASSERT_OK_AND_ASSIGN(const auto next_map, RoundTrip(next));
    std::set<int64_t> met;
    for (uint32_t source = 0; source < first.targets.size(); ++source) {
      for (size_t p = 0; p < first.targets[source].size(); ++p) {
        std::optional<int64_t> place;
        if (const auto hop = first_map->Find(source, spec::RowPosition(static_cast<int64_t>(p)))) {
          if (const auto last = next_map->Find(hop->output, hop->position)) place = last->position.value();
          ASSERT_EQ(place, places[hop->output][static_cast<size_t>(hop->position.value())]);
        }
        if (place) {
          ASSERT_TRUE(met.insert(*place).second);
        }
      }
    }
    EXPECT_EQ(static_cast<int64_t>(met.size()), count);
  }
}

TEST(RowMap, WhatIsToldWrongIsNotWritten) {
  const auto check = [](const std::string& reason, const std::function<Status(RowMapWriter&)>& tell) {
    RowMapWriter writer;
    writer.AddSource(SourceOf("s", 10), VectorOf({3}));
    writer.AddSource(SourceOf("r", 2), {});
    writer.AddOutput({"o", -1});
    writer.AddOutput({"p", 11});
    const Status told = tell(writer);
    io::MemoryFileIO io;
    EXPECT_THAT(told ? writer.Write(io, kPath) : Result<int64_t>(tl::unexpected(told.error())),
                IsError(ErrorCode::kInternal, reason));
    EXPECT_THAT(io.Exists(kPath), IsOkAnd(false)) << reason;
  };
  using W = RowMapWriter;
  check("no source 2", [](W& w) { return w.AddMerged(0, 2, 1); });
  check("no output 2", [](W& w) { return w.AddMerged(2, 0, 1); });
  check("0 of 9 rows", [](W& w) { return w.AddMerged(1, 1, 2); });
  check("10 of 9 rows", [](W& w) { return w.AddMerged(0, 0, 10); });
  check("row 5 does not follow", [](W& w) { return w.AddOrderKept(0, 5, 0, 0, 1); });
  check("row 0 does not follow", [](W& w) -> Status {
    FRAZIL_TRY(w.AddOrderKept(0, 0, 0, 0, 1));
    return w.AddOrderKept(0, 0, 0, 1, 1);
  });
  check("row -1 does not follow", [](W& w) { return w.AddOrderKept(0, -1, 0, 0, 1); });
  check("rows outside of the output", [](W& w) { return w.AddOrderKept(0, 0, 0, -1, 1); });
  check("rows outside of the output", [](W& w) { return w.AddMerged(0, 0, -1); });
  check("two rows share a place", [](W& w) -> Status {
    FRAZIL_TRY(w.AddOrderKept(0, 0, 1, 0, 9));
    return w.AddOrderKept(1, 0, 1, 8, 2);
  });
  check("a row of an output has no source", [](W& w) -> Status {
    FRAZIL_TRY(w.AddMerged(0, 0, 9));
    return w.AddMerged(1, 1, 2);
  });
  check("outside of the outputs", [](W& w) -> Status {
    FRAZIL_TRY(w.AddOrderKept(0, 0, 1, 3, 9));
    return w.AddMerged(0, 1, 2);
  });
  check("sorted and in order", [](W& w) -> Status {
    FRAZIL_TRY(w.AddMerged(0, 0, 1));
    return w.AddSorted(0, spec::RowPosition(1), 0, spec::RowPosition(1));
  });
  check("sorted and in order", [](W& w) -> Status {
    FRAZIL_TRY(w.AddSorted(0, spec::RowPosition(1), 0, spec::RowPosition(1)));
    return w.AddMerged(0, 0, 1);
  });
  check("row 1 twice", [](W& w) -> Status {
    FRAZIL_TRY(w.AddSorted(0, spec::RowPosition(1), 0, spec::RowPosition(1)));
    return w.AddSorted(0, spec::RowPosition(1), 0, spec::RowPosition(2));
  });
  check("row 3 was dropped", [](W& w) { return w.AddSorted(0, spec::RowPosition(3), 0, spec::RowPosition(1)); });
  check("row 10", [](W& w) { return w.AddSorted(0, spec::RowPosition(10), 0, spec::RowPosition(1)); });
  check("row -1", [](W& w) { return w.AddSorted(0, spec::RowPosition(1), 0, spec::RowPosition(-1)); });
  check("a dropped position outside of the file", [](W& w) -> Status {
    w.AddSource(SourceOf("t", 1), VectorOf({1}));
    FRAZIL_TRY(w.AddMerged(1, 0, 9));
    return w.AddMerged(1, 1, 2);
  });
}

// --- bytes

/// One of each kind: order kept, merged, sorted.
void TellExample(RowMapWriter& writer) {
  const auto told = [&]() -> Status {
    writer.AddSource({.path = "kept",
                      .sequence_number = spec::SequenceNumber(2),
                      .first_row_id = spec::RowId(100),
                      .record_count = 6},
                     VectorOf({1, 2}));
    writer.AddSource(SourceOf("merged", 4), {});
    writer.AddSource(SourceOf("sorted", 3), VectorOf({0}));
    writer.AddOutput({"one", 7});
    writer.AddOutput({"two", 3});
    FRAZIL_TRY(writer.AddOrderKept(0, 0, 0, 0, 2));
    FRAZIL_TRY(writer.AddMerged(0, 1, 1));
    FRAZIL_TRY(writer.AddOrderKept(0, 4, 1, 0, 1));
    FRAZIL_TRY(writer.AddMerged(0, 1, 1));
    FRAZIL_TRY(writer.AddMerged(0, 0, 1));
    FRAZIL_TRY(writer.AddMerged(0, 1, 2));
    FRAZIL_TRY(writer.AddSorted(2, spec::RowPosition(1), 1, spec::RowPosition(2)));
    return writer.AddSorted(2, spec::RowPosition(2), 1, spec::RowPosition(1));
  }();
  EXPECT_THAT(told, IsOk());
}

std::string Dump(const RowMap& row_map) {
  std::string text;
  for (const RowMap::Output& output : row_map.outputs())
    text += fmt::format("{} {}\n", output.path, output.record_count);
  for (uint32_t source = 0; source < row_map.sources().size(); ++source) {
    const RowMap::Source& facts = row_map.sources()[source];
    text += fmt::format("{} {} {} {}:", facts.path, facts.sequence_number, facts.first_row_id.value_or(spec::RowId(-1)),
                        facts.record_count);
    for (int64_t p = 0; p < facts.record_count; ++p) {
      const auto target = row_map.Find(source, spec::RowPosition(p));
      text += target ? fmt::format(" {}.{}", target->output, target->position) : " -";
    }
    text += "\n";
  }
  return text;
}

constexpr char kExampleDump[] =
    "one 7\ntwo 3\nkept 2 100 6: 0.0 - - 0.1 1.0 0.4\nmerged 7 -1 4: 0.2 0.3 0.5 0.6\nsorted 7 -1 3: - 1.2 1.1\n";

Bytes ExampleBytes() {
  io::MemoryFileIO io;
  RowMapWriter writer;
  TellExample(writer);
  EXPECT_THAT(RoundTrip(writer, &io), IsOk());
  return *io.ReadFile(kPath);
}

TEST(RowMap, TheExampleSaysWhereItsRowsWent) {
  RowMapWriter writer;
  TellExample(writer);
  ASSERT_OK_AND_ASSIGN(const auto row_map, RoundTrip(writer));
  EXPECT_EQ(Dump(*row_map), kExampleDump);
}

TEST(RowMap, GoldenBytes) {
  io::MemoryFileIO io;
  io.Overwrite(kPath, ExampleBytes());
  ASSERT_OK_AND_ASSIGN(const auto file, io.Open(kPath));
  ASSERT_OK_AND_ASSIGN(const auto footer, format::ReadPuffinFooter(*file));
  std::vector<std::string> lines;
  for (const format::PuffinBlob& blob : footer.blobs) {
    ASSERT_OK_AND_ASSIGN(const Bytes bytes, format::ReadPuffinBlob(*file, blob));
    lines.push_back(fmt::format("{} {} {}", blob.type, blob.properties.at("xxh3"), ToHex(bytes)));
  }
  EXPECT_THAT(
      lines,
      ::testing::ElementsAre(
          "frazil-row-map-v1 cdee641127421054 02000000030000006f6e65070000000000000003000000"
          "74776f030000000000000003000000040000006b6570740200000000000000016400000000000000"
          "0600000000000000060000006d657267656407000000000000000000000000000000000400000000"
          "00000006000000736f7274656407000000000000000000000000000000000300000000000000",
          // index, kind, width, zero; 44 bytes of dropped positions; rows 0-1 of output 0, row 0 of 1, row 4 of 0
          "frazil-row-map-source-v1 b4f797f80059a4d5 00000000000000002c00000000000000"
          "00000024d1d339640100000000000000000000003a30000001000000000001001000000001000200712fa6e8"
          "0400"
          "030100"
          "030004",
          "frazil-row-map-source-v1 d2c8ab75bd828c7b 01000000000000000000000000000000"
          "0402"
          "0401",
          "frazil-row-map-source-v1 d8dbb3ac880cda5d 02000000010400002a00000000000000"
          "00000022d1d339640100000000000000000000003a3000000100000000000000100000000000f7a6b4b5"
          "ffffffff"
          "09000000"
          "08000000"));
}

TEST(RowMap, EveryFlippedByteIsNoticedOrChangesNothing) {
  const Bytes bytes = ExampleBytes();
  io::MemoryFileIO io;
  size_t num_noticed = 0;
  for (size_t i = 0; i < bytes.size(); ++i) {
    for (const int bit : {0, 5, 7}) {
      Bytes damaged = bytes;
      damaged[i] ^= static_cast<std::byte>(1 << bit);
      io.Overwrite(kPath, damaged);
      const auto row_map = RowMap::Read(io, kPath);
      if (row_map) {
        ASSERT_EQ(Dump(**row_map), kExampleDump) << "byte " << i;  // "created-by" and the like
        continue;
      }
      ++num_noticed;
      EXPECT_TRUE(row_map.error().code() == ErrorCode::kCorruptData ||
                  row_map.error().code() == ErrorCode::kNotSupported)
          << i;
      EXPECT_THAT(row_map.error().ToString(), ::testing::HasSubstr(kPath)) << i;
    }
  }
  EXPECT_GT(num_noticed, bytes.size() * 2);
}

TEST(RowMap, EveryCutIsNoticed) {
  const Bytes bytes = ExampleBytes();
  io::MemoryFileIO io;
  for (size_t size = 0; size < bytes.size(); ++size) {
    io.Overwrite(kPath, Bytes(bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(size)));
    EXPECT_THAT(RowMap::Read(io, kPath), IsError(ErrorCode::kCorruptData, kPath)) << size;
  }
  EXPECT_THAT(RowMap::Read(io, "memory:/nowhere"), IsError(ErrorCode::kNotFound, "nowhere"));
}

/// A file whose checksums are right, whatever it says.
Result<std::shared_ptr<const RowMap>> ReadMadeUp(const RowMapHead& head, const std::vector<Bytes>& sources) {
  io::MemoryFileIO io;
  FRAZIL_ASSIGN(auto file, io.Create(kPath));
  format::PuffinWriter writer(std::move(file));
  const auto add = [&](const char* type, const Bytes& bytes) -> Status {
    FRAZIL_TRY(writer.AddBlob({.type = type, .properties = {{kRowMapChecksumProperty, RowMapChecksum(bytes)}}}, bytes));
    return {};
  };
  FRAZIL_TRY(add(kRowMapHeadBlobType, EncodeRowMapHead(head)));
  for (const Bytes& source : sources) FRAZIL_TRY(add(kRowMapSourceBlobType, source));
  FRAZIL_TRY(writer.Finish());
  return RowMap::Read(io, kPath);
}

Bytes SegmentsBlob(uint32_t index, const std::vector<RowSegment>& segments, const std::set<int64_t>& dropped = {}) {
  RowSegmentWriter writer;
  for (const RowSegment& segment : segments) writer.Add(segment.output, segment.start, segment.length);
  Bytes blob = *EncodeRowMapSource(index, RowMapKind::kSegments, 0, VectorOf(dropped));
  AppendBytes(blob, writer.Finish());
  return blob;
}

template <typename T>
Bytes ArrayBlob(uint32_t index, const std::vector<T>& places, const std::set<int64_t>& dropped = {}) {
  Bytes blob = *EncodeRowMapSource(index, RowMapKind::kArray, sizeof(T), VectorOf(dropped));
  for (const T place : places) AppendLittle(blob, place);
  return blob;
}

TEST(RowMap, WhatCannotBeIsRefusedAlthoughItsChecksumsAreRight) {
  const auto corrupt = [](const std::string& reason) {
    return IsError(ErrorCode::kCorruptData, reason + ": " + kPath);
  };
  const RowMapHead head{.outputs = {{"o", 4}, {"p", 2}}, .sources = {SourceOf("a", 4), SourceOf("b", 2)}};
  const Bytes a = SegmentsBlob(0, {{0, 4, 0, 0}});
  const Bytes b = SegmentsBlob(1, {{0, 2, 1, 0}});
  EXPECT_THAT(ReadMadeUp(head, {a, b}), IsOk());
  EXPECT_THAT(ReadMadeUp(head, {a}), corrupt("another number of blobs than sources"));
  EXPECT_THAT(ReadMadeUp(head, {b, a}), corrupt("another source"));
  EXPECT_THAT(ReadMadeUp(head, {a, SegmentsBlob(1, {{0, 2, 0, 0}})}), corrupt("two rows share a place"));
  EXPECT_THAT(ReadMadeUp(head, {a, SegmentsBlob(1, {{0, 2, 2, 0}})}), corrupt("a row lies outside of the outputs"));
  EXPECT_THAT(ReadMadeUp(head, {a, SegmentsBlob(1, {{0, 2, 1, 1}})}), corrupt("a row lies outside of the outputs"));
  EXPECT_THAT(ReadMadeUp(head, {a, SegmentsBlob(1, {{0, 1, 1, 0}}, {1})}), corrupt("a row of an output has no source"));
  EXPECT_THAT(ReadMadeUp(head, {a, SegmentsBlob(1, {{0, 1, 1, 0}})}),
              corrupt("segments hold another number of rows than the source"));
  EXPECT_THAT(ReadMadeUp(head, {a, SegmentsBlob(1, {{0, 3, 1, 0}})}),
              corrupt("segments hold another number of rows than the source"));
  EXPECT_THAT(ReadMadeUp(head, {a, SegmentsBlob(1, {{0, 2, 1, RowMap::kMaxRecords - 1}})}),
              corrupt("segments lie outside of any file"));
  EXPECT_THAT(ReadMadeUp(head, {a, SegmentsBlob(1, {}, {0, 2})}), corrupt("a dropped position outside the file"));

  EXPECT_THAT(ReadMadeUp(head, {a, ArrayBlob<uint32_t>(1, {5, 4})}), IsOk());
  EXPECT_THAT(ReadMadeUp(head, {a, ArrayBlob<uint64_t>(1, {5, 4})}), IsOk());
  EXPECT_THAT(ReadMadeUp(head, {a, ArrayBlob<uint32_t>(1, {4, 4})}), corrupt("two rows share a place"));
  EXPECT_THAT(ReadMadeUp(head, {a, ArrayBlob<uint32_t>(1, {3, 4})}), corrupt("two rows share a place"));
  EXPECT_THAT(ReadMadeUp(head, {a, ArrayBlob<uint32_t>(1, {4})}),
              corrupt("an array holds another number of rows than the source"));
  EXPECT_THAT(ReadMadeUp(head, {a, ArrayBlob<uint16_t>(1, {4, 5})}), corrupt("unknown width of source"));
  const std::string place = "an array names a place outside of the outputs";
  EXPECT_THAT(ReadMadeUp(head, {a, ArrayBlob<uint32_t>(1, {4, 6})}), corrupt(place));
  EXPECT_THAT(ReadMadeUp(head, {a, ArrayBlob<uint32_t>(1, {4, 0xffff'ffff})}), corrupt(place));
  EXPECT_THAT(ReadMadeUp(head, {a, ArrayBlob<int64_t>(1, {4, -2})}), corrupt(place));
  EXPECT_THAT(ReadMadeUp(head, {a, ArrayBlob<uint32_t>(1, {4, 5}, {1})}), corrupt(place));

  RowMapHead twice = head;
  twice.sources[1].path = "a";
  EXPECT_THAT(ReadMadeUp(twice, {a, b}), corrupt("a source twice"));
  twice = head;
  twice.outputs[1].path = "o";
  EXPECT_THAT(ReadMadeUp(twice, {a, b}), corrupt("an output twice"));
  for (const int64_t count : {int64_t{-1}, RowMap::kMaxRecords + 1, std::numeric_limits<int64_t>::max()}) {
    RowMapHead large = head;
    large.sources[0].record_count = count;
    EXPECT_THAT(ReadMadeUp(large, {a, b}), corrupt("number of rows of a source"));
    large = head;
    large.outputs[0].record_count = count;
    EXPECT_THAT(ReadMadeUp(large, {a, b}), corrupt("number of rows of an output"));
  }
}

TEST(RowMap, HugeCountsInFewBytesCostLittleMemory) {
  // 2^40 rows in order, every 2^20-th dropped: what is kept in memory is what the file holds.
  constexpr int64_t kCount = RowMap::kMaxRecords;
  std::set<int64_t> dropped;
  for (int64_t p = 5; p < kCount; p += kCount / 64) dropped.insert(p);
  const int64_t carried = kCount - static_cast<int64_t>(dropped.size());
  const RowMapHead head{.outputs = {{"o", carried}}, .sources = {SourceOf("a", kCount)}};
  ASSERT_OK_AND_ASSIGN(const auto row_map, ReadMadeUp(head, {SegmentsBlob(0, {{0, carried, 0, 0}}, dropped)}));
  EXPECT_LT(row_map->memory_bytes(), 100'000);
  EXPECT_EQ(row_map->Find(0, spec::RowPosition(4)), At(0, 4));
  EXPECT_EQ(row_map->Find(0, spec::RowPosition(5)), std::nullopt);
  EXPECT_EQ(row_map->Find(0, spec::RowPosition(kCount - 1)), At(0, carried - 1));
  EXPECT_THAT(
      ReadMadeUp({.outputs = {{"o", kCount}}, .sources = {SourceOf("a", kCount)}}, {ArrayBlob<uint32_t>(0, {1, 2, 3})}),
      IsError(ErrorCode::kCorruptData, "another number of rows"));
}

TEST(RowMap, AFileOfThisMachineIsMappedAndSaysTheSame) {
  const TempDir dir;
  const auto local = io::MakeLocalFileIO();
  const std::string path = dir.Join("map.puffin");
  RowMapWriter writer;
  TellExample(writer);
  ASSERT_THAT(writer.Write(*local, path), IsOk());
  ASSERT_OK_AND_ASSIGN(const auto row_map, RowMap::Read(*local, "file://" + path));
  EXPECT_EQ(Dump(*row_map), kExampleDump);
  ASSERT_OK_AND_ASSIGN(const auto file, local->Open("file://" + path));
  ASSERT_OK_AND_ASSIGN(const RowMapBytes mapped, RowMapBytes::Read(*file, 0));
  ASSERT_OK_AND_ASSIGN(const RowMapBytes read, RowMapBytes::Read(*file, file->size_bytes() + 1));
  EXPECT_TRUE(mapped.is_mapped());
  EXPECT_FALSE(read.is_mapped());
  EXPECT_TRUE(std::ranges::equal(mapped.view(), read.view()));
}

TEST(RankedSet, EqualsTheVectorItCameFrom) {
  for (uint64_t seed = 1; seed <= 60; ++seed) {
    SCOPED_TRACE(fmt::format("seed {}", seed));
    Random random(seed);
    const int64_t end = 1 + Below(random, 5000);
    const int64_t one_in = 1 + Below(random, seed % 2 == 0 ? 3 : 300);
    std::set<int64_t> positions;
    for (int64_t p = 0; p < end; ++p) {
      if (Below(random, one_in) == 0) positions.insert(p);
    }
    const RankedSet set(VectorOf(positions), end);
    EXPECT_EQ(set.cardinality(), static_cast<int64_t>(positions.size()));
    int64_t rank = 0;
    for (int64_t p = 0; p < end; ++p) {
      const RankedSet::Answer answer = set.Find(p);
      ASSERT_EQ(answer.contains, positions.contains(p)) << p;
      ASSERT_EQ(answer.rank, rank) << p;
      rank += positions.contains(p) ? 1 : 0;
    }
  }
}

}  // namespace
}  // namespace frazil::table
