#include "frazil/ingest/kafka_positions.h"

#include "frazil/base/test_support.h"
#include "frazil/ingest/kafka_client.h"

namespace frazil::ingest {
namespace {

TEST(KafkaPositions, PassRecordsAndWhatEndsInNone) {
  KafkaPositions positions;
  positions.Begin({{0, {.next = 5, .leader_epoch = 2}}, {1, {.next = 0, .leader_epoch = {}}}});
  EXPECT_FALSE(positions.TakeRecord(0, 4, 2)) << "of an earlier assignment";
  EXPECT_TRUE(positions.TakeRecord(0, 5, 3));
  EXPECT_TRUE(positions.TakeRecord(0, 9, std::nullopt)) << "compaction took those between";
  EXPECT_FALSE(positions.TakeRecord(2, 0, std::nullopt)) << "not assigned";
  positions.PassUntil(1, 7);
  positions.PassUntil(1, 6);
  EXPECT_EQ(positions.positions(),
            (SourcePositions{{0, {.next = 10, .leader_epoch = 3}}, {1, {.next = 7, .leader_epoch = {}}}}));
}

/// A batch 11 to 20 that cannot be read, and behind it, in the same poll, 21 to 30 and the end.
TEST(KafkaPositions, StayBeforeRecordsThatCouldNotBeReadUntilAssignedAnew) {
  KafkaPositions positions;
  positions.Begin({{0, {.next = 11, .leader_epoch = {}}}, {1, {.next = 3, .leader_epoch = {}}}});
  positions.Break(-1);  // an error of the client, not of a partition
  EXPECT_FALSE(positions.has_broken());
  positions.Break(0);
  EXPECT_TRUE(positions.has_broken());
  for (int64_t offset = 21; offset <= 30; ++offset) EXPECT_FALSE(positions.TakeRecord(0, offset, std::nullopt));
  positions.PassUntil(0, 31);
  EXPECT_TRUE(positions.TakeRecord(1, 3, std::nullopt));
  EXPECT_FALSE(positions.TakeRecord(0, 31, std::nullopt));
  EXPECT_EQ(positions.positions().at(0).next, 11);
  EXPECT_EQ(positions.positions().at(1).next, 4);
  positions.Begin(SourcePositions(positions.positions()));
  EXPECT_FALSE(positions.has_broken());
  EXPECT_TRUE(positions.TakeRecord(0, 11, std::nullopt));
}

TEST(KafkaPositions, RecordsInAnUnknownFormatAreNotWaitedFor) {
  EXPECT_EQ(CodeOfKafkaError(RD_KAFKA_RESP_ERR__NOT_IMPLEMENTED), ErrorCode::kNotSupported);
  EXPECT_EQ(CodeOfKafkaError(RD_KAFKA_RESP_ERR__BAD_MSG), ErrorCode::kCorruptData);
}

}  // namespace
}  // namespace frazil::ingest
