#include <cmath>
#include <random>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "frazil/format/manifest_test_support.h"
#include "frazil/spec/single_value.h"

namespace frazil::format {
namespace {

using spec::EntryStatus;
using spec::FieldId;
using spec::ManifestContent;
using spec::ManifestEntry;
using spec::ManifestFile;
using spec::SequenceNumber;
using spec::Value;

ManifestEntry WithPartition(ManifestEntry entry, spec::PartitionTuple tuple) {
  entry.data_file.partition = std::move(tuple);
  return entry;
}

/// Every member set to something of its own.
ManifestEntry FullEntry(int format_version) {
  ManifestEntry entry = DataEntry(EntryStatus::kExisting, "s3://bucket/a b.parquet", 1'000'000, 3);
  entry.snapshot_id = spec::SnapshotId(-5);
  entry.file_sequence_number = SequenceNumber(2);
  spec::DataFile& file = entry.data_file;
  file.file_format = spec::FileFormat::kOrc;
  file.column_sizes = {{FieldId(1), 10}, {FieldId(2), 20}};
  file.value_counts = {{FieldId(1), 1'000'000}, {FieldId(3), 2}};
  file.null_value_counts = {{FieldId(1), 0}};
  file.nan_value_counts = {{FieldId(3), 1}};
  file.lower_bounds = {{FieldId(1), Bytes(8, std::byte{1})}, {FieldId(2), {}}};
  file.upper_bounds = {{FieldId(1), Bytes(8, std::byte{2})}};
  file.key_metadata = Bytes(3, std::byte{9});
  file.split_offsets = {4, 1 << 27};
  file.sort_order_id = spec::SortOrderId(1);
  if (format_version >= 3) file.first_row_id = spec::RowId(123);
  return entry;
}

TEST(ManifestWriter, EveryFieldComesBackInBothVersionsAndEveryCodec) {
  for (int version : {2, 3}) {
    for (AvroCodec codec : {AvroCodec::kNull, AvroCodec::kDeflate, AvroCodec::kZstandard, AvroCodec::kSnappy}) {
      io::MemoryFileIO io;
      ManifestWriterOptions options;
      options.format_version = version;
      options.codec = codec;
      const ManifestEntry entry = FullEntry(version);
      ASSERT_OK_AND_ASSIGN(ManifestFile manifest, WriteTestManifest(io, "m.avro", options, {entry}));
      ASSERT_OK_AND_ASSIGN(Bytes bytes, io.ReadFile("m.avro"));
      EXPECT_EQ(manifest.manifest_length, static_cast<int64_t>(bytes.size()));
      ASSERT_OK_AND_ASSIGN(auto entries, ReadManifestBytes(bytes, "m.avro"));
      ASSERT_EQ(entries.size(), 1u);
      EXPECT_TRUE(entries[0] == entry) << version << " " << AvroCodecName(codec);
    }
  }
}

TEST(ManifestWriter, VectorsComeBackWithOffsetSizeAndTarget) {
  io::MemoryFileIO io;
  ManifestWriterOptions options;
  options.content = ManifestContent::kDeletes;
  // Two vectors share a Puffin: their identity is path, offset and size.
  ManifestEntry second = VectorEntry("p.puffin", "b.parquet", 4);
  second.data_file.content_offset = 48;
  ASSERT_OK_AND_ASSIGN(ManifestFile manifest,
                       WriteTestManifest(io, "m.avro", options, {VectorEntry("p.puffin", "a.parquet", 3), second}));
  EXPECT_EQ(manifest.content, ManifestContent::kDeletes);
  ASSERT_OK_AND_ASSIGN(auto entries, ReadManifest(io, manifest, {spec::PartitionSpec()}, *TestSchema()));
  ASSERT_EQ(entries.size(), 2u);
  EXPECT_EQ(entries[1].data_file.referenced_data_file, "b.parquet");
  EXPECT_EQ(entries[1].data_file.content_offset, 48);
  EXPECT_EQ(entries[1].data_file.content_size_in_bytes, 44);
  EXPECT_NE(IdOf(entries[0].data_file), IdOf(entries[1].data_file));
}

TEST(ManifestWriter, HeaderHasTheKeysThatReadersLookFor) {
  io::MemoryFileIO io;
  ManifestWriterOptions options;
  options.partition_spec = spec::PartitionSpec(spec::SpecId(2), {PartitionBy(2, 1000, "cat", "identity")});
  ASSERT_THAT(WriteTestManifest(io, "m.avro", options, {}), IsOk());
  ASSERT_OK_AND_ASSIGN(auto file, AvroFileReader::Open(io, "m.avro"));
  const auto& header = file.metadata();
  EXPECT_EQ(header.at("format-version"), "3");
  EXPECT_EQ(header.at("content"), "data");
  EXPECT_EQ(header.at("schema-id"), "4");
  EXPECT_EQ(header.at("partition-spec-id"), "2");
  EXPECT_EQ(header.at("partition-spec"), R"([{"name":"cat","transform":"identity","source-id":2,"field-id":1000}])");
  EXPECT_EQ(header.at("avro.codec"), "deflate");
  EXPECT_TRUE(header.contains("schema") && header.contains("iceberg.schema"));
}

TEST(ManifestWriter, CountsAndRowsAreByStatus) {
  io::MemoryFileIO io;
  ASSERT_OK_AND_ASSIGN(ManifestFile manifest, WriteTestManifest(io, "m.avro", {},
                                                                {DataEntry(EntryStatus::kAdded, "a", 10),
                                                                 DataEntry(EntryStatus::kAdded, "b", 20),
                                                                 DataEntry(EntryStatus::kExisting, "c", 300, 2),
                                                                 DataEntry(EntryStatus::kDeleted, "d", 4000, 1)}));
  EXPECT_EQ(manifest.added_files_count, 2);
  EXPECT_EQ(manifest.existing_files_count, 1);
  EXPECT_EQ(manifest.deleted_files_count, 1);
  EXPECT_EQ(manifest.added_rows_count, 30);
  EXPECT_EQ(manifest.existing_rows_count, 300);
  EXPECT_EQ(manifest.deleted_rows_count, 4000);
  EXPECT_EQ(manifest.sequence_number, SequenceNumber(9));
  EXPECT_EQ(manifest.added_snapshot_id, spec::SnapshotId(77));
  EXPECT_EQ(manifest.first_row_id, std::nullopt);
}

TEST(ManifestWriter, MinSequenceNumberCountsLiveEntriesOnly) {
  auto min_of = [](const std::vector<ManifestEntry>& entries) {
    io::MemoryFileIO io;
    auto manifest = WriteTestManifest(io, "m.avro", {}, entries);
    EXPECT_THAT(manifest, IsOk());
    return manifest->min_sequence_number.value();
  };
  EXPECT_EQ(min_of({DataEntry(EntryStatus::kDeleted, "a", 1, 1), DataEntry(EntryStatus::kExisting, "b", 1, 4)}), 4);
  EXPECT_EQ(min_of({DataEntry(EntryStatus::kAdded, "a", 1)}), 9);
  EXPECT_EQ(min_of({DataEntry(EntryStatus::kAdded, "a", 1), DataEntry(EntryStatus::kExisting, "b", 1, 4)}), 4);
  EXPECT_EQ(min_of({DataEntry(EntryStatus::kDeleted, "a", 1, 1)}), 9);
}

TEST(ManifestWriter, DeletedEntryKeepsTheDeletingSnapshotAndTheOriginalSequenceNumbers) {
  io::MemoryFileIO io;
  ManifestEntry deleted = DataEntry(EntryStatus::kDeleted, "a", 10, 2);
  deleted.snapshot_id = spec::SnapshotId(77);
  deleted.data_file.first_row_id = spec::RowId(40);
  ASSERT_OK_AND_ASSIGN(ManifestFile manifest, WriteTestManifest(io, "m.avro", {}, {deleted}));
  manifest.first_row_id = spec::RowId(1000);
  ASSERT_OK_AND_ASSIGN(auto entries, ReadManifest(io, manifest, {spec::PartitionSpec()}, *TestSchema()));
  EXPECT_EQ(entries[0].snapshot_id, spec::SnapshotId(77));
  EXPECT_EQ(entries[0].sequence_number, SequenceNumber(2));
  EXPECT_EQ(entries[0].file_sequence_number, SequenceNumber(2));
  EXPECT_EQ(entries[0].data_file.first_row_id, spec::RowId(40));
}

TEST(ManifestWriter, MergedManifestKeepsRowIdsOfExistingFilesAndReservesForBothKinds) {
  io::MemoryFileIO io;
  ManifestEntry existing = DataEntry(EntryStatus::kExisting, "a", 10, 2);
  existing.data_file.first_row_id = spec::RowId(40);
  ASSERT_OK_AND_ASSIGN(ManifestFile manifest,
                       WriteTestManifest(io, "m.avro", {}, {existing, DataEntry(EntryStatus::kAdded, "b", 5)}));
  EXPECT_EQ(*manifest.existing_rows_count + *manifest.added_rows_count, 15);
  manifest.first_row_id = spec::RowId(1000);
  ASSERT_OK_AND_ASSIGN(auto entries, ReadManifest(io, manifest, {spec::PartitionSpec()}, *TestSchema()));
  EXPECT_EQ(entries[0].data_file.first_row_id, spec::RowId(40));
  EXPECT_EQ(entries[1].data_file.first_row_id, spec::RowId(1000));
}

TEST(ManifestWriter, PartitionSummariesCoverAllEntriesDeletedOnesIncluded) {
  io::MemoryFileIO io;
  ManifestWriterOptions options;
  options.partition_spec = spec::PartitionSpec(
      spec::SpecId(1), {PartitionBy(2, 1000, "cat", "identity"), PartitionBy(3, 1001, "price", "identity"),
                        PartitionBy(1, 1002, "id_bucket", "bucket[4]"), PartitionBy(4, 1003, "at_day", "day")});
  const std::vector<ManifestEntry> entries = {
      WithPartition(DataEntry(EntryStatus::kAdded, "a", 1), {std::string("m"), -0.0f, int32_t{2}, Value()}),
      WithPartition(DataEntry(EntryStatus::kExisting, "b", 1, 2), {std::string("k"), 0.0f, int32_t{0}, Value()}),
      WithPartition(DataEntry(EntryStatus::kDeleted, "c", 1, 2),
                    {std::string("z"), std::nanf(""), int32_t{1}, Value()})};
  ASSERT_OK_AND_ASSIGN(ManifestFile manifest, WriteTestManifest(io, "m.avro", options, entries));
  ASSERT_EQ(manifest.partitions.size(), 4u);
  EXPECT_EQ(manifest.partitions[0].lower_bound, CopyBytes(AsBytes("k")));
  EXPECT_EQ(manifest.partitions[0].upper_bound, CopyBytes(AsBytes("z")));
  EXPECT_FALSE(manifest.partitions[0].contains_null);
  // -0.0 below, +0.0 above; NaN is only noted.
  EXPECT_EQ(ToHex(*manifest.partitions[1].lower_bound), "00000080");
  EXPECT_EQ(ToHex(*manifest.partitions[1].upper_bound), "00000000");
  EXPECT_EQ(manifest.partitions[1].contains_nan, true);
  EXPECT_EQ(ToHex(*manifest.partitions[2].lower_bound), "00000000");
  EXPECT_EQ(ToHex(*manifest.partitions[2].upper_bound), "02000000");
  EXPECT_EQ(manifest.partitions[2].contains_nan, false);
  EXPECT_TRUE(manifest.partitions[3].contains_null);
  EXPECT_EQ(manifest.partitions[3].lower_bound, std::nullopt);
  manifest.partition_spec_id = spec::SpecId(1);
  ASSERT_OK_AND_ASSIGN(auto read, ReadManifest(io, manifest, {options.partition_spec}, *TestSchema()));
  for (size_t i = 0; i < entries.size(); ++i) {
    EXPECT_TRUE(spec::PartitionTupleEqual()(read[i].data_file.partition, entries[i].data_file.partition)) << i;
  }
}

TEST(ManifestWriter, RefusesEntriesThatDoNotBelongIntoIt) {
  auto add = [](int version, ManifestContent content, const ManifestEntry& entry) {
    io::MemoryFileIO io;
    ManifestWriterOptions options;
    options.format_version = version;
    options.content = content;
    return WriteTestManifest(io, "m.avro", options, {entry});
  };
  const ManifestContent data = ManifestContent::kData;
  const ManifestContent deletes = ManifestContent::kDeletes;
  EXPECT_THAT(add(3, deletes, DataEntry(EntryStatus::kAdded, "a", 1)),
              IsError(ErrorCode::kInvalidArgument, "content of the file"));
  EXPECT_THAT(add(2, deletes, VectorEntry("p", "a", 1)),
              IsError(ErrorCode::kInvalidArgument, "must not use DVs for position deletes in V2: p"));
  ManifestEntry no_target = VectorEntry("p", "a", 1);
  no_target.data_file.referenced_data_file.reset();
  EXPECT_THAT(add(3, deletes, no_target), IsError(ErrorCode::kInvalidArgument, "referenced_data_file"));
  EXPECT_THAT(add(3, data, DataEntry(EntryStatus::kExisting, "a", 1)),
              IsError(ErrorCode::kInvalidArgument, "sequence numbers"));
  EXPECT_THAT(add(3, data, DataEntry(EntryStatus::kDeleted, "a", 1)),
              IsError(ErrorCode::kInvalidArgument, "sequence numbers"));
  EXPECT_THAT(add(3, data, WithPartition(DataEntry(EntryStatus::kAdded, "a", 1), {int32_t{1}})),
              IsError(ErrorCode::kInvalidArgument, "partition tuple"));
}

TEST(ManifestWriter, PartitionValueOfAnotherKindIsRefusedNamingTheFile) {
  io::MemoryFileIO io;
  ManifestWriterOptions options;
  options.partition_spec = spec::PartitionSpec(spec::SpecId(1), {PartitionBy(1, 1000, "id", "identity")});
  EXPECT_THAT(WriteTestManifest(io, "m.avro", options,
                                {WithPartition(DataEntry(EntryStatus::kAdded, "a.parquet", 1), {std::string("x")})}),
              IsError(ErrorCode::kInvalidArgument, "a.parquet"));
}

TEST(ManifestWriter, SchemaWithoutASourceColumnIsRefusedExceptForVoid) {
  io::MemoryFileIO io;
  ManifestWriterOptions options;
  options.partition_spec = spec::PartitionSpec(spec::SpecId(1), {PartitionBy(99, 1000, "gone", "identity")});
  EXPECT_THAT(WriteTestManifest(io, "m.avro", options, {}), IsError(ErrorCode::kInvalidArgument, "gone"));
  options.partition_spec = spec::PartitionSpec(spec::SpecId(1), {PartitionBy(99, 1000, "gone", "void")});
  EXPECT_THAT(
      WriteTestManifest(io, "m.avro", options, {WithPartition(DataEntry(EntryStatus::kAdded, "a", 1), {Value()})}),
      IsOk());
}

TEST(ManifestWriter, OtherVersionsAreRefused) {
  io::MemoryFileIO io;
  for (int version : {1, 4}) {
    ManifestWriterOptions options;
    options.format_version = version;
    EXPECT_THAT(WriteTestManifest(io, "m.avro", options, {}), IsError(ErrorCode::kNotSupported, "format version"));
  }
}

TEST(ManifestWriter, WithoutFinishThereIsNoFile) {
  io::MemoryFileIO io;
  ManifestWriterOptions options;
  options.schema = TestSchema();
  {
    ASSERT_OK_AND_ASSIGN(auto writer, ManifestWriter::Make(io, "m.avro", options));
    ASSERT_THAT(writer->Add(DataEntry(EntryStatus::kAdded, "a", 1)), IsOk());
    EXPECT_EQ(writer->num_entries(), 1);
    EXPECT_GT(writer->bytes_written(), 0);
  }
  EXPECT_THAT(io.Exists("m.avro"), IsOkAnd(false));
}

TEST(ManifestWriter, ManyEntriesSpanBlocksAndKeepTheirOrder) {
  io::MemoryFileIO io;
  std::vector<ManifestEntry> entries;
  for (int i = 0; i < 5000; ++i)
    entries.push_back(DataEntry(EntryStatus::kAdded, fmt::format("file-{:05}.parquet", i), i));
  ASSERT_OK_AND_ASSIGN(ManifestFile manifest, WriteTestManifest(io, "m.avro", {}, entries));
  ASSERT_OK_AND_ASSIGN(auto read, ReadManifest(io, manifest, {spec::PartitionSpec()}, *TestSchema()));
  ASSERT_EQ(read.size(), entries.size());
  for (size_t i = 0; i < read.size(); ++i) ASSERT_EQ(read[i].data_file.file_path, entries[i].data_file.file_path);
}

TEST(ManifestWriter, DamagedManifestsNeverCrash) {
  io::MemoryFileIO io;
  ManifestWriterOptions options;
  options.codec = AvroCodec::kNull;
  ASSERT_THAT(WriteTestManifest(io, "m.avro", options, {FullEntry(3), FullEntry(3)}), IsOk());
  ASSERT_OK_AND_ASSIGN(const Bytes bytes, io.ReadFile("m.avro"));
  const unsigned seed = 20260102;
  SCOPED_TRACE(seed);
  std::mt19937 random(seed);
  // The entries sit at the end, behind schemas of 9 KB.
  const size_t tail = bytes.size() - 600;
  for (size_t i = tail; i < bytes.size(); ++i) {
    Bytes damaged = bytes;
    damaged[i] = static_cast<std::byte>(random());
    (void)ReadManifestBytes(damaged, "m.avro");
    (void)ReadManifestListBytes(damaged, "m.avro");
  }
}

}  // namespace
}  // namespace frazil::format
