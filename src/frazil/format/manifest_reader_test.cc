#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "frazil/format/manifest_test_support.h"

namespace frazil::format {
namespace {

using spec::EntryStatus;
using spec::ManifestContent;
using spec::ManifestEntry;
using spec::ManifestFile;
using spec::RowId;
using spec::SequenceNumber;
using ::testing::ElementsAre;

const std::vector<spec::PartitionSpec> kUnpartitioned = {spec::PartitionSpec()};

Result<std::vector<ManifestEntry>> Read(const io::FileIO& io, const ManifestFile& manifest) {
  return ReadManifest(io, manifest, kUnpartitioned, *TestSchema());
}

std::vector<std::optional<int64_t>> FirstRowIds(const std::vector<ManifestEntry>& entries) {
  std::vector<std::optional<int64_t>> ids;
  for (const ManifestEntry& entry : entries) {
    ids.push_back(entry.data_file.first_row_id ? std::optional(entry.data_file.first_row_id->value()) : std::nullopt);
  }
  return ids;
}

/// The fewest fields a manifest of any version must have. `extra` are further fields of data_file.
std::string SmallSchema(const std::string& extra = "") {
  return R"({"type":"record","name":"manifest_entry","fields":[{"name":"status","type":"int","field-id":0},
    {"name":"data_file","field-id":2,"type":{"type":"record","name":"r2","fields":[
      {"name":"file_path","type":"string","field-id":100},{"name":"file_format","type":"string","field-id":101},
      {"name":"record_count","type":"long","field-id":103},{"name":"file_size_in_bytes","type":"long","field-id":104})" +
         extra + "]}}]}";
}

void EncodeSmall(AvroEncoder& encoder, int status, const char* path, const char* format = "PARQUET", int64_t rows = 5) {
  encoder.Int(status);
  encoder.String(path);
  encoder.String(format);
  encoder.Long(rows);
  encoder.Long(50);
}

ManifestFile RowFor(const std::string& path, int64_t sequence_number) {
  ManifestFile manifest;
  manifest.manifest_path = path;
  manifest.sequence_number = SequenceNumber(sequence_number);
  manifest.added_snapshot_id = spec::SnapshotId(77);
  return manifest;
}

TEST(ManifestReader, AddedEntriesInheritSequenceNumbersAndSnapshotFromTheList) {
  io::MemoryFileIO io;
  ManifestEntry added = DataEntry(EntryStatus::kAdded, "a.parquet", 5);
  added.snapshot_id.reset();
  ASSERT_OK_AND_ASSIGN(ManifestFile manifest, WriteTestManifest(io, "m.avro", {}, {added}));
  ASSERT_OK_AND_ASSIGN(auto entries, Read(io, manifest));
  EXPECT_EQ(entries[0].sequence_number, SequenceNumber(9));
  EXPECT_EQ(entries[0].file_sequence_number, SequenceNumber(9));
  EXPECT_EQ(entries[0].snapshot_id, spec::SnapshotId(77));
}

TEST(ManifestReader, ExplicitDataSequenceNumberOfAnAddedFileStays) {
  io::MemoryFileIO io;
  ManifestEntry compacted = DataEntry(EntryStatus::kAdded, "a.parquet", 5);
  compacted.sequence_number = SequenceNumber(3);
  ASSERT_OK_AND_ASSIGN(ManifestFile manifest, WriteTestManifest(io, "m.avro", {}, {compacted}));
  ASSERT_OK_AND_ASSIGN(auto entries, Read(io, manifest));
  EXPECT_EQ(entries[0].sequence_number, SequenceNumber(3));
  EXPECT_EQ(entries[0].file_sequence_number, SequenceNumber(9));
}

TEST(ManifestReader, NullSequenceNumberOnExistingOrDeletedEntryIsAnError) {
  for (int status : {0, 2}) {
    io::MemoryFileIO io;
    ASSERT_THAT(WriteForeignAvro(io, "m.avro", SmallSchema(), {}, 1,
                                 [&](AvroEncoder& encoder, int) { EncodeSmall(encoder, status, "a.parquet"); }),
                IsOk());
    EXPECT_THAT(Read(io, RowFor("m.avro", 9)),
                IsError(ErrorCode::kInvalidTable, "lacks field sequence_number: a.parquet"));
    EXPECT_THAT(Read(io, RowFor("m.avro", 9)), IsError(ErrorCode::kInvalidTable, "m.avro"));
    // Of the time before sequence numbers: everything is 0.
    ASSERT_OK_AND_ASSIGN(auto entries, Read(io, RowFor("m.avro", 0)));
    EXPECT_EQ(entries[0].sequence_number, SequenceNumber(0));
  }
}

TEST(ManifestReader, FirstRowIdsCountAllLiveEntriesAndSkipDeletedAndExplicitOnes) {
  io::MemoryFileIO io;
  ManifestEntry explicit_id = DataEntry(EntryStatus::kExisting, "c", 100, 2);
  explicit_id.data_file.first_row_id = RowId(5000);
  ManifestEntry deleted_with_id = DataEntry(EntryStatus::kDeleted, "e", 1000, 2);
  deleted_with_id.data_file.first_row_id = RowId(6000);
  ASSERT_OK_AND_ASSIGN(
      ManifestFile manifest,
      WriteTestManifest(
          io, "m.avro", {},
          {DataEntry(EntryStatus::kAdded, "a", 10), DataEntry(EntryStatus::kDeleted, "b", 1000, 2), explicit_id,
           DataEntry(EntryStatus::kExisting, "d", 20, 3), deleted_with_id, DataEntry(EntryStatus::kAdded, "f", 30)}));
  manifest.first_row_id = RowId(400);
  ASSERT_OK_AND_ASSIGN(auto entries, Read(io, manifest));
  EXPECT_THAT(FirstRowIds(entries), ElementsAre(400, std::nullopt, 5000, 410, 6000, 430));
}

TEST(ManifestReader, NullFirstRowIdOfTheListRowForcesNullOnEveryEntry) {
  io::MemoryFileIO io;
  ManifestEntry entry = DataEntry(EntryStatus::kExisting, "a", 10, 2);
  entry.data_file.first_row_id = RowId(5000);
  ASSERT_OK_AND_ASSIGN(ManifestFile manifest, WriteTestManifest(io, "m.avro", {}, {entry}));
  ASSERT_EQ(manifest.first_row_id, std::nullopt);
  ASSERT_OK_AND_ASSIGN(auto entries, Read(io, manifest));
  EXPECT_THAT(FirstRowIds(entries), ElementsAre(std::nullopt));
}

TEST(ManifestReader, DeleteManifestsNeverHaveRowIds) {
  io::MemoryFileIO io;
  ManifestWriterOptions options;
  options.content = ManifestContent::kDeletes;
  ASSERT_OK_AND_ASSIGN(ManifestFile manifest,
                       WriteTestManifest(io, "m.avro", options, {VectorEntry("p.puffin", "a.parquet", 3)}));
  manifest.first_row_id = RowId(400);
  ASSERT_OK_AND_ASSIGN(auto entries, Read(io, manifest));
  EXPECT_THAT(FirstRowIds(entries), ElementsAre(std::nullopt));
}

TEST(ManifestReader, RowIdsPast64BitsAreAnError) {
  io::MemoryFileIO io;
  ASSERT_OK_AND_ASSIGN(ManifestFile manifest,
                       WriteTestManifest(io, "m.avro", {}, {DataEntry(EntryStatus::kAdded, "a", 10)}));
  manifest.first_row_id = RowId(std::numeric_limits<int64_t>::max() - 5);
  EXPECT_THAT(Read(io, manifest), IsError(ErrorCode::kInvalidTable, "past 64 bits"));
}

TEST(ManifestReader, JavaManifestsHaveNoSchemaIdAndFileFormatsComeInEitherCase) {
  io::MemoryFileIO io;
  ASSERT_THAT(WriteForeignAvro(io, "m.avro", SmallSchema(), {{"partition-spec", "[]"}}, 3,
                               [](AvroEncoder& encoder, int i) {
                                 const char* formats[] = {"parquet", "PARQUET", "Orc"};
                                 EncodeSmall(encoder, 1, "a", formats[i]);
                               }),
              IsOk());
  ASSERT_OK_AND_ASSIGN(Bytes bytes, io.ReadFile("m.avro"));
  ASSERT_OK_AND_ASSIGN(auto entries, ReadManifestBytes(bytes, "m.avro"));
  ASSERT_EQ(entries.size(), 3u);
  EXPECT_EQ(entries[0].data_file.file_format, spec::FileFormat::kParquet);
  EXPECT_EQ(entries[1].data_file.file_format, spec::FileFormat::kParquet);
  EXPECT_EQ(entries[2].data_file.file_format, spec::FileFormat::kOrc);
  EXPECT_EQ(entries[0].sequence_number, std::nullopt);
}

TEST(ManifestReader, FieldsAreFoundByIdInAnyOrderAndUnknownOnesArePassedOver) {
  io::MemoryFileIO io;
  const std::string schema = R"({"type":"record","name":"e","fields":[
    {"name":"later","type":["null",{"type":"map","values":{"type":"array","items":"double"}}],"field-id":999},
    {"name":"df","field-id":2,"type":{"type":"record","name":"d","fields":[
      {"name":"size","type":"int","field-id":104},{"name":"rows","type":"int","field-id":103},
      {"name":"fmt","type":"string","field-id":101},{"name":"record_count","type":"string","field-id":998},
      {"name":"path","type":"string","field-id":100}]}},
    {"name":"st","type":"int","field-id":0}]})";
  ASSERT_THAT(WriteForeignAvro(io, "m.avro", schema, {}, 2,
                               [](AvroEncoder& encoder, int i) {
                                 if (i == 0) {
                                   encoder.Null();
                                 } else {
                                   encoder.Present();
                                   encoder.Array(std::vector<int>{1, 2}, [&](int) {
                                     encoder.String("key");
                                     encoder.Array(std::vector<double>{0.5}, [&](double d) { encoder.Double(d); });
                                   });
                                 }
                                 encoder.Int(50);
                                 encoder.Int(5);
                                 encoder.String("avro");
                                 encoder.String("noise");
                                 encoder.String("the/path");
                                 encoder.Int(1);
                               }),
              IsOk());
  ASSERT_OK_AND_ASSIGN(auto entries, Read(io, RowFor("m.avro", 4)));
  ASSERT_EQ(entries.size(), 2u);
  for (const ManifestEntry& entry : entries) {
    EXPECT_EQ(entry.status, EntryStatus::kAdded);
    EXPECT_EQ(entry.data_file.file_path, "the/path");
    EXPECT_EQ(entry.data_file.record_count, 5);
    EXPECT_EQ(entry.data_file.file_size_in_bytes, 50);
  }
}

TEST(ManifestReader, Version1ManifestsReadAsDataOfSequenceNumberZero) {
  io::MemoryFileIO io;
  const std::string schema =
      R"({"type":"record","name":"manifest_entry","fields":[{"name":"status","type":"int","field-id":0},
    {"name":"snapshot_id","type":"long","field-id":1},
    {"name":"data_file","field-id":2,"type":{"type":"record","name":"r2","fields":[
      {"name":"file_path","type":"string","field-id":100},{"name":"file_format","type":"string","field-id":101},
      {"name":"partition","type":{"type":"record","name":"r102","fields":[]},"field-id":102},
      {"name":"record_count","type":"long","field-id":103},{"name":"file_size_in_bytes","type":"long","field-id":104},
      {"name":"block_size_in_bytes","type":"long","field-id":105},
      {"name":"sort_columns","type":["null",{"type":"array","items":"int","element-id":112}],"default":null,"field-id":107},
      {"name":"distinct_counts","type":["null",{"type":"array","items":{"type":"record","name":"k123_v124","fields":[
        {"name":"key","type":"int","field-id":123},{"name":"value","type":"long","field-id":124}]},"logicalType":"map"}],"default":null,"field-id":111}]}}]})";
  ASSERT_THAT(WriteForeignAvro(io, "m.avro", schema, {{"partition-spec", "[]"}}, 1,
                               [](AvroEncoder& encoder, int) {
                                 encoder.Int(0);
                                 encoder.Long(55);
                                 encoder.String("a.parquet");
                                 encoder.String("PARQUET");
                                 encoder.Long(5);
                                 encoder.Long(50);
                                 encoder.Long(67108864);
                                 encoder.Null();
                                 encoder.Present();
                                 encoder.Array(std::vector<int>{1}, [&](int) {
                                   encoder.Int(1);
                                   encoder.Long(3);
                                 });
                               }),
              IsOk());
  ASSERT_OK_AND_ASSIGN(auto entries, Read(io, RowFor("m.avro", 0)));
  EXPECT_EQ(entries[0].snapshot_id, spec::SnapshotId(55));
  EXPECT_EQ(entries[0].sequence_number, SequenceNumber(0));
  EXPECT_EQ(entries[0].data_file.content, spec::FileContent::kData);
}

TEST(ManifestReader, MissingRequiredFieldAndWrongTypeAreNamed) {
  io::MemoryFileIO io;
  ASSERT_THAT(WriteForeignAvro(io, "lacks.avro",
                               R"({"type":"record","name":"e","fields":[{"name":"status","type":"int","field-id":0}]})",
                               {}, 0, {}),
              IsOk());
  EXPECT_THAT(Read(io, RowFor("lacks.avro", 1)),
              IsError(ErrorCode::kInvalidTable, "lacks a required field: data_file (id 2)"));
  EXPECT_THAT(Read(io, RowFor("lacks.avro", 1)), IsError(ErrorCode::kInvalidTable, "lacks.avro"));
  ASSERT_THAT(WriteForeignAvro(io, "type.avro",
                               SmallSchema(R"(,{"name":"split_offsets","type":"string","field-id":132})"), {}, 0, {}),
              IsOk());
  EXPECT_THAT(Read(io, RowFor("type.avro", 1)), IsError(ErrorCode::kInvalidTable, "must be array, but is: string"));
  EXPECT_THAT(Read(io, RowFor("type.avro", 1)), IsError(ErrorCode::kInvalidTable, "field split_offsets (id 132)"));
}

TEST(ManifestReader, ImpossibleValuesAreNamed) {
  const std::string content = R"(,{"name":"content","type":"int","field-id":134})";
  struct Case {
    int status;
    int64_t rows;
    int content;
    const char* format;
    const char* message;
  };
  for (const Case& bad : {Case{7, 5, 0, "parquet", "field status has an unknown value: 7"},
                          Case{1, -5, 0, "parquet", "field record_count is negative: -5"},
                          Case{1, 5, 3, "parquet", "field content has an unknown value: 3"},
                          Case{1, 5, 0, "vortex", "unknown file format: 'vortex'"}}) {
    io::MemoryFileIO io;
    ASSERT_THAT(WriteForeignAvro(io, "m.avro", SmallSchema(content), {}, 1,
                                 [&](AvroEncoder& encoder, int) {
                                   EncodeSmall(encoder, bad.status, "a", bad.format, bad.rows);
                                   encoder.Int(bad.content);
                                 }),
                IsOk());
    EXPECT_THAT(Read(io, RowFor("m.avro", 1)), IsError(ErrorCode::kInvalidTable, bad.message));
  }
}

TEST(ManifestReader, LiveVectorWithoutItsFieldsIsRefusedAndADeletedOneIsNot) {
  const std::string extra = R"(,{"name":"content","type":"int","field-id":134},
    {"name":"referenced_data_file","type":["null","string"],"field-id":143},
    {"name":"content_offset","type":["null","long"],"field-id":144},{"name":"content_size_in_bytes","type":["null","long"],"field-id":145})";
  const char* names[] = {"referenced_data_file", "content_offset", "content_size_in_bytes"};
  for (int missing = 0; missing < 3; ++missing) {
    for (int status : {1, 2}) {
      io::MemoryFileIO io;
      ASSERT_THAT(WriteForeignAvro(io, "m.avro", SmallSchema(extra), {}, 1,
                                   [&](AvroEncoder& encoder, int) {
                                     EncodeSmall(encoder, status, "p.puffin", "puffin");
                                     encoder.Int(1);
                                     for (int i = 0; i < 3; ++i) {
                                       if (i == missing) {
                                         encoder.Null();
                                       } else if (encoder.Present(); i == 0) {
                                         encoder.String("a.parquet");
                                       } else {
                                         encoder.Long(4);
                                       }
                                     }
                                   }),
                  IsOk());
      ManifestFile manifest = RowFor("m.avro", 0);
      manifest.content = ManifestContent::kDeletes;
      if (status == 1) {
        EXPECT_THAT(Read(io, manifest), IsError(ErrorCode::kInvalidTable, names[missing]));
        EXPECT_THAT(Read(io, manifest), IsError(ErrorCode::kInvalidTable, "p.puffin"));
      } else {
        EXPECT_THAT(Read(io, manifest), IsOk());
      }
    }
  }
}

TEST(ManifestReader, ContentOfFilesMustFitTheirManifest) {
  io::MemoryFileIO io;
  ASSERT_OK_AND_ASSIGN(ManifestFile manifest,
                       WriteTestManifest(io, "m.avro", {}, {DataEntry(EntryStatus::kAdded, "a", 1)}));
  manifest.content = ManifestContent::kDeletes;
  EXPECT_THAT(Read(io, manifest), IsError(ErrorCode::kInvalidTable, "does not fit its manifest: a"));
}

TEST(ManifestReader, UnknownSpecAndEncryptedManifestAreNamed) {
  io::MemoryFileIO io;
  ManifestFile manifest = RowFor("m.avro", 1);
  manifest.partition_spec_id = spec::SpecId(8);
  EXPECT_THAT(Read(io, manifest), IsError(ErrorCode::kInvalidTable, "(id 8): m.avro"));
  manifest.key_metadata = Bytes(3);
  EXPECT_THAT(Read(io, manifest), IsError(ErrorCode::kNotSupported, "encrypted manifest: m.avro"));
}

TEST(ManifestReader, PartitionValuesTakeTodaysTypeOfTheirColumn) {
  io::MemoryFileIO io;
  // Column 1 was int when the file was written; `day` was written as plain int; field 1003 is not in the file.
  const std::string partition = R"(,{"name":"partition","field-id":102,"type":{"type":"record","name":"r102","fields":[
    {"name":"at_day","type":["null","int"],"field-id":1001},{"name":"id","type":["null","int"],"field-id":1000},
    {"name":"cat","type":["null","string"],"field-id":1002}]}})";
  ASSERT_THAT(WriteForeignAvro(io, "m.avro", SmallSchema(partition), {}, 2,
                               [](AvroEncoder& encoder, int i) {
                                 EncodeSmall(encoder, 1, "a");
                                 encoder.Present();
                                 encoder.Int(19000);
                                 encoder.Present();
                                 encoder.Int(-7);
                                 if (i == 0) return encoder.Null();
                                 encoder.Present();
                                 encoder.String("x");
                               }),
              IsOk());
  const spec::PartitionSpec by(spec::SpecId(3),
                               {PartitionBy(1, 1000, "id", "identity"), PartitionBy(4, 1001, "at_day", "day"),
                                PartitionBy(2, 1002, "cat", "identity"), PartitionBy(5, 1003, "kind", "identity")});
  ManifestFile manifest = RowFor("m.avro", 1);
  manifest.partition_spec_id = spec::SpecId(3);
  ASSERT_OK_AND_ASSIGN(auto entries, ReadManifest(io, manifest, {spec::PartitionSpec(), by}, *TestSchema()));
  using spec::Value;
  EXPECT_EQ(entries[0].data_file.partition, (spec::PartitionTuple{int64_t{-7}, int32_t{19000}, Value(), Value()}));
  EXPECT_EQ(entries[1].data_file.partition,
            (spec::PartitionTuple{int64_t{-7}, int32_t{19000}, std::string("x"), Value()}));
  EXPECT_EQ(entries[0].data_file.spec_id, spec::SpecId(3));
}

TEST(ManifestReader, PartitionValuesOfDroppedColumnsAndUnknownTransformsStayAsWritten) {
  io::MemoryFileIO io;
  const std::string partition = R"(,{"name":"partition","field-id":102,"type":{"type":"record","name":"r102","fields":[
    {"name":"gone","type":["null","long"],"field-id":1000},{"name":"zig","type":["null","int"],"field-id":1001}]}})";
  ASSERT_THAT(WriteForeignAvro(io, "m.avro", SmallSchema(partition), {}, 1,
                               [](AvroEncoder& encoder, int) {
                                 EncodeSmall(encoder, 1, "a");
                                 encoder.Present();
                                 encoder.Long(5);
                                 encoder.Present();
                                 encoder.Int(6);
                               }),
              IsOk());
  const spec::PartitionSpec by(spec::SpecId(0),
                               {PartitionBy(99, 1000, "gone", "identity"), PartitionBy(2, 1001, "zig", "zigzag[3]")});
  ASSERT_OK_AND_ASSIGN(auto entries, ReadManifest(io, RowFor("m.avro", 1), {by}, *TestSchema()));
  EXPECT_EQ(entries[0].data_file.partition, (spec::PartitionTuple{int64_t{5}, int32_t{6}}));
}

TEST(ManifestReader, BytesAfterTheLastRecordOfABlockAreAnError) {
  io::MemoryFileIO io;
  ASSERT_THAT(WriteForeignAvro(io, "m.avro", SmallSchema(), {}, 1,
                               [](AvroEncoder& encoder, int) {
                                 EncodeSmall(encoder, 1, "a");
                                 encoder.Long(1);
                               }),
              IsOk());
  EXPECT_THAT(Read(io, RowFor("m.avro", 1)), IsError(ErrorCode::kCorruptData, "bytes after its last record: 1"));
}

}  // namespace
}  // namespace frazil::format
