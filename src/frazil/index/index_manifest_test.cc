#include "frazil/index/index_manifest.h"

#include <array>
#include <functional>

#include "frazil/base/hash.h"
#include "frazil/base/test_support.h"
#include "frazil/index/index_manifest_test_support.h"

namespace frazil::index {
namespace {

constexpr char kName[] = "/state/index/manifest-1.json";

/// The text with another rest and the checksum that fits it.
std::string WithRest(const std::string& rest) {
  return fmt::format(R"({{"checksum":"{:016x}",{})", HashKey(AsBytes(rest), 0).high, rest);
}

std::string RestOf(const std::string& text) { return text.substr(text.find(',') + 1); }

TEST(IndexManifest, ComesBackAsItWasWritten) {
  const IndexManifest manifest = ExampleManifest();
  EXPECT_THAT(ParseIndexManifestJson(WriteIndexManifestJson(manifest), kName), IsOkAnd(manifest));

  IndexManifest empty;
  empty.table_uuid = "u";
  empty.key_version = "k";
  empty.shards.resize(1);
  EXPECT_THAT(ParseIndexManifestJson(WriteIndexManifestJson(empty), kName), IsOkAnd(empty));
}

TEST(IndexManifest, GoldenText) {
  EXPECT_EQ(
      WriteIndexManifestJson(ExampleManifest()),
      WithRest(
          R"("format":1,"table-uuid":"9c12d441-03fe-4693-9a96-a0705ddf69c1","key-version":"v1-0123456789abcdef",)"
          R"("key-reading":"1 is n","snapshot-id":5345678901234567890,"markers":"{\"self\":1}","live-rows":42,"next-number":9,)"
          R"("shards":[[{"file":"run-00c0ffee00c0ffee-3.run","entries":12,"bytes":8192,"checksum":"fedcba9876543210"},)"
          R"({"file":"run-00c0ffee00c0ffee-1.run","entries":1,"bytes":4200,"checksum":"0000000000000007"}],[]],)"
          R"("file-columns":["number","path","sequence-number","first-row-id","records","spec-id","partition","content",)"
          R"("own-keys","live","deletes","row-map"],"files":[)"
          R"([3,"s3://b/t/data/gone \"1\" ä.parquet",4,100,50,0,"",0,true,false,null,)"
          R"(["rowmap-00c0ffee00c0ffee-2.puffin",1,[null,7]]],)"
          R"([7,"s3://b/t/data/2.parquet",4,null,4294967296,2,"00ff",0,false,true,["s3://b/t/data/v.puffin",4,60],null],)"
          R"([8,"s3://b/t/data/eq.parquet",5,null,2,0,"",2,true,true,["a\nb\n",null,null],null]]})"));
  EXPECT_THAT(WriteIndexManifestJson(ExampleManifest()),
              ::testing::StartsWith(R"({"checksum":"b8d5f1bd9724317a","format":1,)"));
}

// Written before it had them: still an index, not one that is built again.
TEST(IndexManifest, IsReadWithoutMarkersAndLiveRows) {
  std::string rest = RestOf(WriteIndexManifestJson(ExampleManifest()));
  constexpr std::string_view kNew = R"("markers":"{\"self\":1}","live-rows":42,)";
  const size_t at = rest.find(kNew);
  ASSERT_NE(at, std::string::npos);
  rest.erase(at, kNew.size());
  IndexManifest expected = ExampleManifest();
  expected.markers.clear();
  expected.num_live_rows = 0;
  EXPECT_THAT(ParseIndexManifestJson(WithRest(rest), kName), IsOkAnd(expected));
}

TEST(IndexManifest, EveryFlippedByteIsNoticed) {
  const std::string text = WriteIndexManifestJson(ExampleManifest());
  for (size_t i = 0; i < text.size(); ++i) {
    std::string damaged = text;
    damaged[i] = static_cast<char>(damaged[i] ^ 1);
    EXPECT_THAT(ParseIndexManifestJson(damaged, kName), IsError(ErrorCode::kCorruptData, kName)) << "byte " << i;
  }
}

TEST(IndexManifest, EveryCutIsNoticed) {
  const std::string text = WriteIndexManifestJson(ExampleManifest());
  for (size_t size = 0; size < text.size(); ++size) {
    EXPECT_THAT(ParseIndexManifestJson(text.substr(0, size), kName), IsError(ErrorCode::kCorruptData, kName)) << size;
  }
  EXPECT_THAT(ParseIndexManifestJson(text + " ", kName), IsError(ErrorCode::kCorruptData, "wrong checksum"));
}

TEST(IndexManifest, WhatCannotBeIsRefused) {
  using Change = std::function<void(IndexManifest&)>;
  const std::vector<std::pair<std::string, Change>> cases = {
      {"no table uuid", [](IndexManifest& m) { m.table_uuid.clear(); }},
      {"no key version", [](IndexManifest& m) { m.key_version.clear(); }},
      {"live rows: -1", [](IndexManifest& m) { m.num_live_rows = -1; }},
      {"number of shards: 0", [](IndexManifest& m) { m.shards.clear(), m.num_shards = 0; }},
      {"number of shards: 3", [](IndexManifest& m) { m.shards.resize(3), m.num_shards = 3; }},
      {"number of shards: 512", [](IndexManifest& m) { m.shards.resize(512), m.num_shards = 512; }},
      {"not a run: 'run-../x.run'", [](IndexManifest& m) { m.shards[0][0].file_name = "run-../x.run"; }},
      {"not a run: 'lock'", [](IndexManifest& m) { m.shards[0][0].file_name = "lock"; }},
      {"not a run: 'run-.run'", [](IndexManifest& m) { m.shards[0][0].file_name = "run-.run"; }},
      {"a run twice", [](IndexManifest& m) { m.shards[1].push_back(m.shards[0][0]); }},
      {"a run of 0 entries", [](IndexManifest& m) { m.shards[0][0].num_entries = 0; }},
      {"in -1 bytes", [](IndexManifest& m) { m.shards[0][0].size_bytes = -1; }},
      {"a number twice: 7", [](IndexManifest& m) { m.files[2].file.number = 7; }},
      {"never given: 8", [](IndexManifest& m) { m.next_number = 8; }},
      {"no path of file 7", [](IndexManifest& m) { m.files[1].file.path.clear(); }},
      {"a live file twice", [](IndexManifest& m) { m.files[2].file.path = m.files[1].file.path; }},
      {"out of range", [](IndexManifest& m) { m.files[1].file.record_count = -1; }},
      {"out of range", [](IndexManifest& m) { m.files[1].file.record_count = (int64_t{1} << 32) + 1; }},
      {"out of range", [](IndexManifest& m) { m.files[1].file.sequence_number = spec::SequenceNumber(-1); }},
      {"out of range", [](IndexManifest& m) { m.files[1].file.spec_id = spec::SpecId(-1); }},
      {"out of range", [](IndexManifest& m) { m.files[0].file.first_row_id = spec::RowId(-1); }},
      {"a live file is forwarded", [](IndexManifest& m) { m.files[0].is_live = true; }},
      {"not a row map: '/etc/passwd'", [](IndexManifest& m) { m.files[0].row_map = "/etc/passwd"; }},
      {"file 3 is forwarded to 3", [](IndexManifest& m) { m.files[0].forward_to = {3}; }},
      {"file 3 is forwarded to 2", [](IndexManifest& m) { m.files[0].forward_to = {2}; }},
      {"forwarded to 6, which is not there", [](IndexManifest& m) { m.files[0].forward_to = {6}; }},
  };
  for (const auto& [reason, change] : cases) {
    IndexManifest manifest = ExampleManifest();
    change(manifest);
    EXPECT_THAT(CheckIndexManifest(manifest), IsError(ErrorCode::kCorruptData, reason));
    EXPECT_THAT(ParseIndexManifestJson(WriteIndexManifestJson(manifest), kName),
                IsError(ErrorCode::kCorruptData, kName));
  }
}

TEST(IndexManifest, OtherTypesAndMissingMembersAreRefusedByName) {
  const std::string rest = RestOf(WriteIndexManifestJson(ExampleManifest()));
  const std::vector<std::array<std::string, 3>> cases = {
      {R"("format":1)", R"("format":2)", "unknown format version: 2"},
      {R"("table-uuid":")", R"("other":")", "missing member 'table-uuid'"},
      {R"("next-number":9)", R"("next-number":-9)", "wrong 'next-number'"},
      {R"("next-number":9)", R"("next-number":4294967296)", "wrong 'next-number'"},
      {R"("next-number":9)", R"("next-number":"9")", "wrong 'next-number'"},
      {R"("checksum":"fedcba9876543210")", R"("checksum":"fedc")", "not a checksum: 'fedc'"},
      {R"("entries":12)", R"("entries":"12")", "'entries'"},
      {R"(,[]])", R"(,7])", "a shard is no array"},
      {R"("shards":[)", R"("shards":7,"others":[)", "'shards'"},
      {R"("live","deletes")", R"("deletes","live")", "unknown columns"},
      {R"("files":[)", R"("files":[7,)", "not an array of its columns"},
      {R"("files":[)", R"("files":[[],)", "not an array of its columns"},
      {R"([7,"s3)", R"([7.5,"s3)", "wrong 'number'"},
      {R"([7,"s3)", R"([4294967303,"s3)", "wrong 'number'"},
      {R"("s3://b/t/data/2.parquet",4,)", R"(null,4,)", "wrong 'path'"},
      {R"(2.parquet",4,)", R"(2.parquet",18446744073709551615,)", "wrong 'sequence-number'"},
      {R"(,4,100,50,)", R"(,4,-100,50,)", "wrong 'first-row-id'"},
      {R"(,4,100,50,)", R"(,4,100,null,)", "wrong 'records'"},
      {R"(,2,"00ff")", R"(,2147483648,"00ff")", "wrong 'spec-id'"},
      {R"("00ff")", R"("0ff")", "wrong 'partition'"},
      {R"("00ff")", R"(null)", "wrong 'partition'"},
      {R"("00ff",0)", R"("00ff",3)", "wrong 'content'"},
      {R"("00ff",0,false)", R"("00ff",0,1)", "wrong 'own-keys'"},
      {R"("00ff",0,false,true)", R"("00ff",0,false,1)", "wrong 'live'"},
      {R"("key-reading":")", R"("other":")", "missing member 'key-reading'"},
      {R"(,4,60])", R"(,4])", "wrong 'deletes'"},
      {R"(["s3://b/t/data/v.puffin")", R"(["")", "wrong 'deletes'"},
      {R"([null,7])", R"([null,"7"])", "wrong 'row-map'"},
      {R"([null,7])", R"([null,-7])", "wrong 'row-map'"},
      {R"([null,7])", R"(7)", "wrong 'row-map'"},
      {R"("snapshot-id":5345678901234567890)", R"("snapshot-id":18446744073709551615)", "snapshot-id"},
  };
  for (const auto& [from, to, reason] : cases) {
    std::string changed = rest;
    const size_t at = changed.find(from);
    ASSERT_NE(at, std::string::npos) << from;
    changed.replace(at, from.size(), to);
    EXPECT_THAT(ParseIndexManifestJson(WithRest(changed), kName), IsError(ErrorCode::kCorruptData, reason)) << to;
  }
  EXPECT_THAT(ParseIndexManifestJson(WithRest("not JSON"), kName), IsError(ErrorCode::kCorruptData, "not valid JSON"));
  EXPECT_THAT(ParseIndexManifestJson(WithRest(std::string(100'000, '[')), kName),
              IsError(ErrorCode::kCorruptData, "levels deep"));
}

TEST(IndexManifest, ManyFilesComeBack) {
  IndexManifest manifest = ExampleManifest();
  manifest.files.clear();
  manifest.next_number = 20'000;
  for (FileNumber number = 0; number < manifest.next_number; ++number) {
    IndexedFileRecord& record = manifest.files.emplace_back();
    IndexedFile& file = record.file;
    file.number = number;
    file.path = fmt::format("s3://bucket/db/table/data/{}.parquet", number);
    file.sequence_number = spec::SequenceNumber(number);
    file.partition = Bytes(8, std::byte{7});
    record.deletes_id = {"s3://bucket/db/table/data/deletes.puffin", number, 500};
  }
  auto parsed = ParseIndexManifestJson(WriteIndexManifestJson(manifest), kName);
  ASSERT_THAT(parsed, IsOk());
  EXPECT_TRUE(*parsed == manifest);
}

}  // namespace
}  // namespace frazil::index
