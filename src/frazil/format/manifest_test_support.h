#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "frazil/base/test_support.h"
#include "frazil/format/avro_encoder.h"
#include "frazil/format/avro_file.h"
#include "frazil/format/manifest_file.h"
#include "frazil/io/memory_file_io.h"

namespace frazil::format {

/// Columns id long, cat string, price float, at timestamptz, kind string; ids 1 to 5.
inline spec::SchemaPtr TestSchema() {
  auto field = [](int id, const char* name, spec::TypeId type) {
    spec::Field made;
    made.id = spec::FieldId(id);
    made.name = name;
    made.type = spec::Type::Primitive(type);
    return made;
  };
  auto schema = spec::Schema::Make(spec::SchemaId(4),
                                   {field(1, "id", spec::TypeId::kLong), field(2, "cat", spec::TypeId::kString),
                                    field(3, "price", spec::TypeId::kFloat), field(4, "at", spec::TypeId::kTimestampTz),
                                    field(5, "kind", spec::TypeId::kString)});
  EXPECT_THAT(schema, IsOk());
  return *schema;
}

inline spec::PartitionField PartitionBy(int source, int id, const char* name, const char* transform) {
  return {spec::FieldId(source), spec::FieldId(id), name, spec::Transform::Parse(transform)};
}

/// A live or deleted data file as section 3.8 wants it; partition empty.
inline spec::ManifestEntry DataEntry(spec::EntryStatus status, const std::string& path, int64_t rows,
                                     std::optional<int64_t> sequence_number = {}) {
  spec::ManifestEntry entry;
  entry.status = status;
  entry.snapshot_id = spec::SnapshotId(77);
  if (sequence_number) {
    entry.sequence_number = spec::SequenceNumber(*sequence_number);
    entry.file_sequence_number = spec::SequenceNumber(*sequence_number);
  }
  entry.data_file.file_path = path;
  entry.data_file.record_count = rows;
  entry.data_file.file_size_in_bytes = rows * 10;
  return entry;
}

inline spec::ManifestEntry VectorEntry(const std::string& path, const std::string& data_file, int64_t cardinality) {
  spec::ManifestEntry entry = DataEntry(spec::EntryStatus::kAdded, path, cardinality);
  entry.data_file.content = spec::FileContent::kPositionDeletes;
  entry.data_file.file_format = spec::FileFormat::kPuffin;
  entry.data_file.referenced_data_file = data_file;
  entry.data_file.content_offset = 4;
  entry.data_file.content_size_in_bytes = 44;
  return entry;
}

/// Writes entries as a manifest; the list row.
inline Result<spec::ManifestFile> WriteTestManifest(io::FileIO& io, const std::string& path,
                                                    ManifestWriterOptions options,
                                                    const std::vector<spec::ManifestEntry>& entries,
                                                    int64_t commit_sequence_number = 9) {
  if (options.schema == nullptr) options.schema = TestSchema();
  options.snapshot_id = spec::SnapshotId(77);
  FRAZIL_ASSIGN(auto writer, ManifestWriter::Make(io, path, options));
  for (const spec::ManifestEntry& entry : entries) FRAZIL_TRY(writer->Add(entry));
  return writer->Finish(spec::SequenceNumber(commit_sequence_number));
}

/// Writes an Avro file with a schema of another writer.
inline Status WriteForeignAvro(io::FileIO& io, const std::string& path, const std::string& schema,
                               const std::map<std::string, std::string>& metadata, int num_records,
                               const std::function<void(AvroEncoder&, int)>& encode) {
  FRAZIL_ASSIGN(auto file, io.Create(path));
  AvroFileWriter writer(std::move(file), schema, AvroCodec::kDeflate, metadata);
  for (int i = 0; i < num_records; ++i) {
    Bytes record;
    AvroEncoder encoder(record);
    encode(encoder, i);
    FRAZIL_TRY(writer.Append(record));
  }
  FRAZIL_TRY(writer.Finish());
  return {};
}

}  // namespace frazil::format
