#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "frazil/format/manifest_test_support.h"

namespace frazil::format {
namespace {

using spec::ManifestContent;
using spec::ManifestFile;

ManifestFile FullRow() {
  ManifestFile manifest;
  manifest.manifest_path = "file:/t/metadata/m0.avro";
  manifest.manifest_length = 12345;
  manifest.partition_spec_id = spec::SpecId(2);
  manifest.sequence_number = spec::SequenceNumber(9);
  manifest.min_sequence_number = spec::SequenceNumber(4);
  manifest.added_snapshot_id = spec::SnapshotId(-77);
  manifest.added_files_count = 1;
  manifest.existing_files_count = 2;
  manifest.deleted_files_count = 3;
  manifest.added_rows_count = 10;
  manifest.existing_rows_count = 20;
  manifest.deleted_rows_count = 30;
  spec::PartitionFieldSummary bounded;
  bounded.contains_nan = false;
  bounded.lower_bound = Bytes(4, std::byte{1});
  bounded.upper_bound = Bytes(4, std::byte{2});
  spec::PartitionFieldSummary all_null;
  all_null.contains_null = true;
  manifest.partitions = {bounded, all_null};
  manifest.key_metadata = Bytes(2, std::byte{8});
  manifest.first_row_id = spec::RowId(1000);
  return manifest;
}

ManifestListHeader Header(int version) {
  ManifestListHeader header;
  header.format_version = version;
  header.snapshot_id = spec::SnapshotId(5);
  header.sequence_number = spec::SequenceNumber(9);
  if (version >= 3) header.first_row_id = spec::RowId(1000);
  return header;
}

TEST(ManifestList, EveryFieldComesBackInBothVersions) {
  for (int version : {2, 3}) {
    io::MemoryFileIO io;
    ManifestFile data = FullRow();
    if (version == 2) data.first_row_id.reset();
    ManifestFile deletes = FullRow();
    deletes.content = ManifestContent::kDeletes;
    deletes.first_row_id.reset();
    deletes.partitions.clear();
    deletes.key_metadata.reset();
    ASSERT_THAT(WriteManifestList(io, "l.avro", Header(version), {data, deletes}), IsOk());
    ASSERT_OK_AND_ASSIGN(auto manifests, ReadManifestList(io, "l.avro"));
    ASSERT_EQ(manifests.size(), 2u);
    EXPECT_TRUE(manifests[0] == data) << version;
    EXPECT_TRUE(manifests[1] == deletes) << version;
  }
}

TEST(ManifestList, HeaderSaysWhatJavaSays) {
  io::MemoryFileIO io;
  ASSERT_THAT(WriteManifestList(io, "l.avro", Header(3), {}), IsOk());
  ASSERT_OK_AND_ASSIGN(auto file, AvroFileReader::Open(io, "l.avro"));
  EXPECT_EQ(file.metadata().at("snapshot-id"), "5");
  EXPECT_EQ(file.metadata().at("parent-snapshot-id"), "null");
  EXPECT_EQ(file.metadata().at("sequence-number"), "9");
  EXPECT_EQ(file.metadata().at("first-row-id"), "1000");
  EXPECT_EQ(file.metadata().at("format-version"), "3");
  EXPECT_EQ(file.metadata().at("avro.codec"), "deflate");
  EXPECT_TRUE(file.metadata().contains("iceberg.schema"));
}

TEST(ManifestList, RowsWithoutCountsAndUnassignedDataManifestsAreRefused) {
  io::MemoryFileIO io;
  ManifestFile no_counts = FullRow();
  no_counts.added_rows_count.reset();
  EXPECT_THAT(WriteManifestList(io, "l.avro", Header(3), {no_counts}), IsError(ErrorCode::kInvalidArgument, "m0.avro"));
  ManifestFile unassigned = FullRow();
  unassigned.first_row_id.reset();
  EXPECT_THAT(WriteManifestList(io, "l.avro", Header(3), {unassigned}),
              IsError(ErrorCode::kInvalidArgument, "first_row_id"));
  EXPECT_THAT(WriteManifestList(io, "l.avro", Header(2), {unassigned}), IsOk());
  EXPECT_THAT(WriteManifestList(io, "l1.avro", Header(1), {}), IsError(ErrorCode::kNotSupported, "format version: 1"));
}

TEST(ManifestList, Version1ListsReadWithTheirDefaults) {
  io::MemoryFileIO io;
  const std::string schema = R"({"type":"record","name":"manifest_file","fields":[
    {"name":"manifest_path","type":"string","field-id":500},{"name":"manifest_length","type":"long","field-id":501},
    {"name":"partition_spec_id","type":"int","field-id":502},{"name":"added_snapshot_id","type":["null","long"],"field-id":503},
    {"name":"added_data_files_count","type":["null","int"],"default":null,"field-id":504}]})";
  ASSERT_THAT(WriteForeignAvro(io, "l.avro", schema, {}, 1,
                               [](AvroEncoder& encoder, int) {
                                 encoder.String("m.avro");
                                 encoder.Long(100);
                                 encoder.Int(0);
                                 encoder.Present();
                                 encoder.Long(7);
                                 encoder.Null();
                               }),
              IsOk());
  ASSERT_OK_AND_ASSIGN(auto manifests, ReadManifestList(io, "l.avro"));
  ASSERT_EQ(manifests.size(), 1u);
  EXPECT_EQ(manifests[0].content, ManifestContent::kData);
  EXPECT_EQ(manifests[0].sequence_number, spec::SequenceNumber(0));
  EXPECT_EQ(manifests[0].added_snapshot_id, spec::SnapshotId(7));
  EXPECT_EQ(manifests[0].added_files_count, std::nullopt);
  EXPECT_TRUE(manifests[0].has_live_files());
}

TEST(ManifestList, CountsAreFoundByIdUnderTheirOldNames) {
  io::MemoryFileIO io;
  const std::string schema = R"({"type":"record","name":"manifest_file","fields":[
    {"name":"deleted_data_files_count","type":"int","field-id":506},{"name":"existing_data_files_count","type":"int","field-id":505},
    {"name":"added_data_files_count","type":"int","field-id":504},
    {"name":"manifest_path","type":"string","field-id":500},{"name":"manifest_length","type":"long","field-id":501},
    {"name":"partition_spec_id","type":"int","field-id":502},{"name":"added_snapshot_id","type":"long","field-id":503}]})";
  ASSERT_THAT(WriteForeignAvro(io, "l.avro", schema, {}, 1,
                               [](AvroEncoder& encoder, int) {
                                 encoder.Int(3);
                                 encoder.Int(2);
                                 encoder.Int(1);
                                 encoder.String("m.avro");
                                 encoder.Long(100);
                                 encoder.Int(0);
                                 encoder.Long(7);
                               }),
              IsOk());
  ASSERT_OK_AND_ASSIGN(auto manifests, ReadManifestList(io, "l.avro"));
  EXPECT_EQ(manifests[0].added_files_count, 1);
  EXPECT_EQ(manifests[0].existing_files_count, 2);
  EXPECT_EQ(manifests[0].deleted_files_count, 3);
}

TEST(ManifestList, NullInARequiredFieldIsNamed) {
  io::MemoryFileIO io;
  const std::string schema = R"({"type":"record","name":"manifest_file","fields":[
    {"name":"manifest_path","type":["null","string"],"field-id":500},{"name":"manifest_length","type":"long","field-id":501},
    {"name":"partition_spec_id","type":"int","field-id":502},{"name":"added_snapshot_id","type":"long","field-id":503}]})";
  ASSERT_THAT(WriteForeignAvro(io, "l.avro", schema, {}, 1,
                               [](AvroEncoder& encoder, int) {
                                 encoder.Null();
                                 encoder.Long(100);
                                 encoder.Int(0);
                                 encoder.Long(7);
                               }),
              IsOk());
  EXPECT_THAT(ReadManifestList(io, "l.avro"),
              IsError(ErrorCode::kInvalidTable, "required field is null: manifest_path"));
  EXPECT_THAT(ReadManifestList(io, "l.avro"), IsError(ErrorCode::kInvalidTable, "l.avro"));
}

TEST(ManifestList, ExistingListIsNeverOverwritten) {
  io::MemoryFileIO io;
  ASSERT_THAT(WriteManifestList(io, "l.avro", Header(3), {FullRow()}), IsOk());
  EXPECT_THAT(WriteManifestList(io, "l.avro", Header(3), {}), IsError(ErrorCode::kAlreadyExists, "l.avro"));
}

}  // namespace
}  // namespace frazil::format
