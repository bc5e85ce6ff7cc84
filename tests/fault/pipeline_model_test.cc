// Small random models of the rules against the code that runs: where batches are cut changes nothing, row identity included;
// keys that move to another partition of the topic; pipelines that share a table. FRAZIL_TEST_SEED replays one seed.

#include <random>

#include "frazil/ingest/verify.h"
#include "tests/support/pipeline_world.h"

namespace frazil::test {
namespace {

using ::testing::ElementsAre;
using ::testing::Pair;

constexpr uint64_t kRounds = 12;

/// Calls `round` with generators of successive seeds and prints the first and how many.
void ForSeeds(const std::function<void(std::mt19937_64& random)>& round) {
  const char* given = std::getenv("FRAZIL_TEST_SEED");
  const uint64_t first = given == nullptr ? std::random_device{}() : std::strtoull(given, nullptr, 10);
  const uint64_t rounds = given == nullptr ? kRounds : 1;
  fmt::print("FRAZIL_TEST_SEED={}, {} cases\n", first, rounds);
  for (uint64_t seed = first; seed < first + rounds; ++seed) {
    std::mt19937_64 random(seed);
    round(random);
    if (::testing::Test::HasFailure()) {
      ADD_FAILURE() << "FRAZIL_TEST_SEED=" << seed;
      return;
    }
  }
}

/// The definition: one record after the other.
struct Row {
  std::string value;
  bool is_new = false;  ///< another row than the one the table began with
};

TEST(PipelineModel, CutsChangeNothingNotEvenRowIdentity) {
  ForSeeds([](std::mt19937_64& random) {
    const auto below = [&](uint64_t bound) { return static_cast<int64_t>(random() % bound); };
    PipelineWorld world;
    std::map<int64_t, Row> model;
    for (int64_t id = 0; id < 4; ++id) {
      world.Append({{id, "first", ""}});
      model[id] = {"first", false};
    }
    ASSERT_THAT(world.Run(), IsOk());
    const auto ids_before = world.RowIds();
    const int64_t num_changes = 1 + below(40);
    for (int64_t i = 0; i < num_changes; ++i) {
      const int64_t id = below(6);
      if (below(3) == 0) {
        world.Append({{id, std::nullopt, ""}});
        model.erase(id);
        continue;
      }
      const std::string value = fmt::format("v{}", i);
      world.Append({{id, value, ""}});
      const auto [row, was_absent] = model.try_emplace(id);
      row->second.value = value;
      row->second.is_new = row->second.is_new || was_absent;
    }
    world.topic->set_max_poll(static_cast<size_t>(1 + below(20)));
    ingest::PipelineOptions options = world.BoundedOptions();
    options.commit_max_records = 1 + below(20);
    ASSERT_THAT(world.Run(options), IsOk());
    world.ExpectComplete();
    const auto ids = world.RowIds();
    ASSERT_EQ(ids.size(), model.size());
    for (const auto& [id, row] : model) {
      EXPECT_EQ(world.Rows().at(id), row.value);
      const bool has_old_id = ids_before.contains(id) && ids.at(id) == ids_before.at(id);
      EXPECT_EQ(has_old_id, !row.is_new) << id;
    }
  });
}

/// More partitions move keys: the whole table is indexed, not what one partition wrote.
TEST(PipelineModel, AKeyThatMovesToAnotherPartitionStaysOneRow) {
  ForSeeds([](std::mt19937_64& random) {
    PipelineWorld world;
    std::string last;
    for (int i = 0; i < 6; ++i) {
      if (random() % 4 == 0) world.topic->AddPartition();
      last = fmt::format("v{}", i);
      const auto partition = static_cast<int32_t>(random() % static_cast<uint64_t>(world.topic->num_partitions()));
      world.topic->AppendText(partition, fmt::format("{{\"op\": \"u\", \"id\": 1, \"value\": \"{}\"}}", last));
      ASSERT_THAT(world.Run(), IsOk());
    }
    EXPECT_THAT(world.Rows(), ElementsAre(Pair(1, last)));
    EXPECT_EQ(world.RowIds().at(1), 0);
    EXPECT_THAT(Violations(world.Table()), ::testing::IsEmpty());
  });
}

/// The topic gets more partitions, and keys go on in the new ones: the newest record of a key counts, however the topic is
/// read, wherever batches are cut, and whenever a process begins.
TEST(PipelineModel, TheNewestRecordOfAKeyCountsWhenItsTopicGrows) {
  ForSeeds([](std::mt19937_64& random) {
    const auto below = [&](uint64_t bound) { return static_cast<int64_t>(random() % bound); };
    PipelineWorld world({.num_partitions = static_cast<int32_t>(1 + below(2))});
    std::map<int64_t, int32_t> partition_of;
    std::map<int64_t, std::string> expected;
    const int64_t num_records = 20 + below(60);
    const int64_t grows_at = below(static_cast<uint64_t>(num_records));
    ingest::PipelineOptions options = world.BoundedOptions();
    options.commit_max_records = 1 + below(20);
    const auto run = [&] {
      world.topic->set_max_poll(static_cast<size_t>(1 + below(20)));
      ASSERT_THAT(world.Run(options), IsOk());
    };
    for (int64_t i = 0; i < num_records; ++i) {
      if (i == grows_at) {
        world.topic->AddPartition();
        // As hashes do: some keys move, and only to the new one.
        for (auto& [id, partition] : partition_of) {
          if (below(2) == 0) partition = world.topic->num_partitions() - 1;
        }
      }
      const int64_t id = below(8);
      const auto [partition, is_new] = partition_of.try_emplace(
          id, static_cast<int32_t>(below(static_cast<uint64_t>(world.topic->num_partitions()))));
      const std::string value = fmt::format("v{}", i);
      if (below(6) == 0) {
        world.topic->AppendTo(partition->second, id, std::nullopt);
        expected.erase(id);
      } else {
        world.topic->AppendTo(partition->second, id, value);
        expected[id] = value;
      }
      if (below(30) == 0) run();
    }
    run();
    EXPECT_EQ(world.Rows(), expected);
    EXPECT_THAT(Violations(world.Table()), ::testing::IsEmpty());
    const table::Table table = world.Table();
    FakeRecordSource source(world.topic, *world.clock);
    FakeRecordDecoder decoder(table.metadata()->schema());
    ASSERT_OK_AND_ASSIGN(const ingest::VerifyReport report,
                         ingest::VerifyTable(table, source, decoder, {.pipeline_id = PipelineWorld::kId}));
    EXPECT_TRUE(report.is_equal());
  });
}

/// A number of partitions that is no multiple of the old one moves keys between the old partitions as well. Whoever is behind
/// then, or begins later, reads them in the order of their times, wherever batches are cut.
TEST(PipelineModel, TheNewestRecordOfAKeyCountsWhenKeysMoveBetweenOldPartitions) {
  ForSeeds([](std::mt19937_64& random) {
    const auto below = [&](uint64_t bound) { return static_cast<int64_t>(random() % bound); };
    PipelineWorld world({.num_partitions = static_cast<int32_t>(2 + below(2))});
    ingest::PipelineOptions options = world.BoundedOptions();
    options.commit_max_records = 1 + below(10);
    const auto run = [&] {
      world.topic->set_max_poll(static_cast<size_t>(1 + below(10)));
      ASSERT_THAT(world.Run(options), IsOk());
    };
    int64_t now_ms = 1'700'000'000'000;
    std::map<int64_t, int32_t> partition_of;
    std::map<int64_t, std::string> expected;
    int64_t num_written = 0;
    const auto write = [&](int64_t id) {
      now_ms += 20'000;  // more than a step
      const std::string value = fmt::format("v{}", num_written++);
      if (below(6) == 0) {
        world.topic->AppendTo(partition_of.at(id), id, std::nullopt, now_ms);
        expected.erase(id);
      } else {
        world.topic->AppendTo(partition_of.at(id), id, value, now_ms);
        expected[id] = value;
      }
    };
    const auto place = [&] {
      for (int64_t id = 0; id < 8; ++id) {
        partition_of[id] = static_cast<int32_t>(below(static_cast<uint64_t>(world.topic->num_partitions())));
      }
    };
    // Every partition has a record soon after the others; one that begins later counts as a new one.
    place();
    const auto num_before = static_cast<int64_t>(world.topic->num_partitions());
    for (int64_t id = 0; id < num_before; ++id) {
      partition_of[id] = static_cast<int32_t>(id);
      write(id);
    }
    if (below(2) == 0) run();  // else the pipeline begins when the topic has grown
    for (int i = 0; i < 40; ++i) write(below(8));
    world.topic->AddPartition();
    place();
    partition_of[0] = world.topic->num_partitions() - 1;
    write(0);  // so that the new one begins at once
    for (int64_t i = below(40); i > 0; --i) write(below(8));
    run();
    EXPECT_EQ(world.Rows(), expected);
    EXPECT_THAT(Violations(world.Table()), ::testing::IsEmpty());
  });
}

/// In one batch keys may go wherever they like.
TEST(PipelineModel, ABatchTakesTheNewestRecordOfAKeyOfSeveralPartitions) {
  ForSeeds([](std::mt19937_64& random) {
    PipelineWorld world({.num_partitions = 3});
    std::map<int64_t, std::string> expected;
    for (int i = 0; i < 30; ++i) {
      const auto id = static_cast<int64_t>(random() % 4);
      const auto partition = static_cast<int32_t>(random() % 3);
      const std::string value = fmt::format("v{}", i);
      if (random() % 6 == 0) {
        world.topic->AppendTo(partition, id, std::nullopt);
        expected.erase(id);
      } else {
        world.topic->AppendTo(partition, id, value);
        expected[id] = value;
      }
    }
    ASSERT_THAT(world.Run(), IsOk());
    EXPECT_EQ(world.status->commits, 1);
    EXPECT_EQ(world.Rows(), expected);
    EXPECT_THAT(world.notices, ::testing::Contains(::testing::HasSubstr("records in several partitions")));
  });
}

/// Two topics feed one table; others expire all they can after each commit. Neither loses its place.
TEST(PipelineModel, PipelinesThatShareATableKeepTheirPlaces) {
  ForSeeds([](std::mt19937_64& random) {
    PipelineWorld world;
    const auto second = std::make_shared<FakeTopic>(1);
    second->Recreate();  // another topic id
    std::map<int64_t, std::string> expected;
    int64_t appended = 0;
    int64_t read_by_second = 0;
    for (int step = 0; step < 12; ++step) {
      const std::string value = fmt::format("v{}", step);
      if (random() % 2 == 0) {
        const auto id = static_cast<int64_t>(random() % 5);
        world.Append({{id, value, ""}});
        expected[id] = value;
        ASSERT_THAT(world.Run(), IsOk());
        EXPECT_EQ(world.status->records, 1);
      } else {
        const auto id = static_cast<int64_t>(100 + random() % 5);
        second->AppendText(0, fmt::format("{{\"op\": \"u\", \"id\": {}, \"value\": \"{}\"}}", id, value));
        ++appended;
        expected[id] = value;
        ingest::PipelineOptions options = world.BoundedOptions();
        options.id = "second";
        ingest::Pipeline pipeline(world.Table(), std::make_unique<FakeRecordSource>(second, *world.clock),
                                  std::make_unique<FakeRecordDecoder>(world.Table().metadata()->schema()), nullptr,
                                  options);
        ASSERT_THAT(pipeline.Run(), IsOk());
        read_by_second += pipeline.status().records;
      }
      table::Table table = world.Table();
      if (random() % 2 == 0) {
        ASSERT_THAT(index::ExpireAllButHead(table, *world.clock), IsOk());
      }
    }
    EXPECT_EQ(read_by_second, appended);
    EXPECT_EQ(world.Rows(), expected);
    EXPECT_THAT(Violations(world.Table()), ::testing::IsEmpty());
  });
}

}  // namespace
}  // namespace frazil::test
