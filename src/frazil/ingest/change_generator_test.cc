#include "frazil/ingest/change_generator.h"

#include <map>
#include <set>

#include "frazil/base/test_support.h"
#include "frazil/format/avro_decoder.h"
#include "frazil/format/avro_schema.h"

namespace frazil::ingest {
namespace {

ChangeGeneratorOptions Mixed() {
  ChangeGeneratorOptions options;
  options.records = 20'000;
  options.initial_keys = 1'000;
  options.duplicates = 0.02;
  options.poison = 0.01;
  options.evolve_at = 10'000;
  return options;
}

std::string Lines(const ChangeGeneratorOptions& options) {
  auto generator = ChangeGenerator::Make(options).value();
  std::string lines;
  GeneratedRow row;
  while (const auto change = generator.Next()) {
    generator.Fill(*change, row);
    AppendJsonLine(*change, row, lines);
  }
  return lines;
}

TEST(ChangeGenerator, TheSameOptionsGiveTheSameRecordsAndAnotherSeedOthers) {
  ChangeGeneratorOptions options = Mixed();
  const std::string lines = Lines(options);
  EXPECT_EQ(lines, Lines(options));
  options.seed = 2;
  EXPECT_NE(lines, Lines(options));
}

TEST(ChangeGenerator, SharesAreAsAskedFor) {
  auto generator = ChangeGenerator::Make(Mixed()).value();
  std::map<GeneratedKind, int> kinds;
  int evolved = 0;
  int repeated = 0;
  int64_t last_version = -1;
  while (const auto change = generator.Next()) {
    ++kinds[change->kind];
    evolved += change->is_evolved;
    if (change->kind != GeneratedKind::kPoison) {
      repeated += change->version == last_version;
      last_version = change->version;
    }
  }
  EXPECT_NEAR(kinds[GeneratedKind::kPoison], 200, 60);
  EXPECT_NEAR(kinds[GeneratedKind::kDelete], 190, 60);
  EXPECT_NEAR(repeated, 400, 80);
  EXPECT_NEAR(evolved, 10'000, 5);
  EXPECT_NEAR(static_cast<double>(generator.versions().size()), 1'000 + 0.19 * 19'000 * 0.97, 250);
}

TEST(ChangeGenerator, TheStateIsWhatTheRecordsComeTo) {
  auto generator = ChangeGenerator::Make(Mixed()).value();
  std::map<int64_t, int64_t> state;
  while (const auto change = generator.Next()) {
    if (change->kind == GeneratedKind::kUpsert) state[change->key] = change->version;
    if (change->kind == GeneratedKind::kDelete) state[change->key] = -1;
  }
  ASSERT_EQ(state.size(), generator.versions().size());
  for (const auto& [key, version] : state) EXPECT_EQ(generator.versions()[key], version) << key;
}

TEST(ChangeGenerator, KeysDifferAndFewAppsHaveMostOfThem) {
  ChangeGeneratorOptions options = Mixed();
  auto generator = ChangeGenerator::Make(options).value();
  std::set<std::string> keys;
  std::map<int64_t, int> of_app;
  GeneratedRow row;
  for (int64_t key = 0; key < 5'000; ++key) {
    generator.Fill(key, 0, row);
    EXPECT_TRUE(keys.insert(fmt::format("{} {} {}", row.app_id, row.user_id, row.key)).second);
    ASSERT_GE(row.app_id, 1);
    ASSERT_LE(row.app_id, options.apps);
    ++of_app[row.app_id];
  }
  EXPECT_GT(of_app[1], 10 * of_app[20]);
}

TEST(ChangeGenerator, AvroIsWhatItsSchemaSays) {
  for (const bool is_evolved : {false, true}) {
    ASSERT_OK_AND_ASSIGN(const auto schema, format::ParseAvroSchema(GeneratedValueSchema(is_evolved)));
    EXPECT_EQ(schema->fields.size(), is_evolved ? 5u : 4u);
    EXPECT_EQ(schema->fields[1].type->kind, is_evolved ? format::AvroKind::kLong : format::AvroKind::kInt);
    Bytes bytes;
    AppendAvroValue({.app_id = 7, .user_id = 8, .key = "k", .value = std::nullopt, .revision = 5}, is_evolved, 258,
                    bytes);
    EXPECT_EQ(std::vector<int>({0, 0, 0, 1, 2}),
              std::vector<int>({std::to_integer<int>(bytes[0]), std::to_integer<int>(bytes[1]),
                                std::to_integer<int>(bytes[2]), std::to_integer<int>(bytes[3]),
                                std::to_integer<int>(bytes[4])}));
    format::AvroDecoder decoder(ByteView(bytes).subspan(5));
    EXPECT_EQ(decoder.ReadLong(), 7);
    EXPECT_EQ(decoder.ReadInt(), 8);
    EXPECT_EQ(decoder.ReadString(), "k");
    EXPECT_EQ(decoder.ReadBranch(2), 0u);
    if (is_evolved) {
      EXPECT_EQ(decoder.ReadBranch(2), 1u);
      EXPECT_EQ(decoder.ReadLong(), 5);
    }
    EXPECT_TRUE(decoder.ok());
    EXPECT_EQ(decoder.remaining(), 0u);
  }
}

TEST(ChangeGenerator, WhatCannotBeIsRefusedByName) {
  ChangeGeneratorOptions options;
  options.poison = 1.5;
  EXPECT_THAT(ChangeGenerator::Make(options), IsError(ErrorCode::kInvalidArgument, "poison"));
  options = {};
  options.inserts = 0.9;
  options.deletes = 0.2;
  EXPECT_THAT(ChangeGenerator::Make(options), IsError(ErrorCode::kInvalidArgument, "inserts and deletes"));
  options = {};
  options.skew = -1;
  EXPECT_THAT(ChangeGenerator::Make(options), IsError(ErrorCode::kInvalidArgument, "skew"));
}

}  // namespace
}  // namespace frazil::ingest
