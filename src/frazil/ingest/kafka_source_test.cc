#include "frazil/ingest/kafka_source.h"

#include "frazil/base/test_support.h"

// What happens before a broker is asked; all else is in tests/kafka, against a real one.

namespace frazil::ingest {
namespace {

KafkaSourceOptions Options() {
  KafkaSourceOptions options;
  options.topic = "t";
  options.properties = {{"bootstrap.servers", "127.0.0.1:1"}};  // nobody is asked
  return options;
}

TEST(KafkaSource, TheQueueIsReservedFromTheBudgetAndGivenBack) {
  MemoryBudget budget(int64_t{512} << 20);
  KafkaSourceOptions options = Options();
  options.budget = &budget;
  {
    ASSERT_OK_AND_ASSIGN(const auto source, MakeKafkaSource(options));
    EXPECT_EQ(budget.used_bytes(), int64_t{64} << 20);
    EXPECT_THAT(budget.Reserve(int64_t{500} << 20, "the rest"), IsError(ErrorCode::kResourceExhausted, ""));
  }
  EXPECT_EQ(budget.used_bytes(), 0);
  options.num_sharers = 4;
  {
    ASSERT_OK_AND_ASSIGN(const auto source, MakeKafkaSource(options));
    EXPECT_EQ(budget.used_bytes(), int64_t{16} << 20) << "a quarter of the eighth";
  }
  MemoryBudget small(int64_t{1} << 20);
  options.budget = &small;
  EXPECT_THAT(MakeKafkaSource(options), IsError(ErrorCode::kResourceExhausted, "Kafka"));
}

TEST(KafkaSource, WhatCannotBeAPropertyIsRefusedWithoutItsValue) {
  KafkaSourceOptions options = Options();
  options.properties["no.such.property"] = "hunter2";
  const auto source = MakeKafkaSource(options);
  ASSERT_THAT(source, IsError(ErrorCode::kInvalidArgument, "unknown Kafka client property: no.such.property"));
  EXPECT_EQ(source.error().ToString().find("hunter2"), std::string::npos);
  options = Options();
  options.topic = "";
  EXPECT_THAT(MakeKafkaSource(options), IsError(ErrorCode::kInvalidArgument, "topic"));
}

}  // namespace
}  // namespace frazil::ingest
