#include <map>
#include <utility>

#include "frazil/format/avro_encoder.h"
#include "frazil/format/avro_projection.h"
#include "frazil/format/avro_type.h"
#include "frazil/format/manifest_file.h"
#include "frazil/format/manifest_schema.h"
#include "frazil/spec/schema_json.h"

namespace frazil::format {
namespace {

using spec::ManifestContent;
using spec::ManifestFile;
using spec::PartitionFieldSummary;
using namespace manifest_list_field;

constexpr size_t kMaxManifests = 5'000'000;

AvroTarget<ManifestFile> CountTarget(int id, const char* name, std::optional<int32_t> ManifestFile::*member) {
  return AvroIntTarget<ManifestFile>(id, name, false, [=](AvroDecoder& decoder, ManifestFile& out, int32_t value) {
    if (value < 0) decoder.FailWith(ErrorCode::kInvalidTable, fmt::format("field {} is negative: {}", name, value));
    out.*member = value;
  });
}

AvroTarget<ManifestFile> RowsTarget(int id, const char* name, std::optional<int64_t> ManifestFile::*member) {
  return AvroLongTarget<ManifestFile>(id, name, false, [=](AvroDecoder& decoder, ManifestFile& out, int64_t value) {
    if (value < 0) decoder.FailWith(ErrorCode::kInvalidTable, fmt::format("field {} is negative: {}", name, value));
    out.*member = value;
  });
}

std::vector<AvroTarget<PartitionFieldSummary>> SummaryTargets() {
  using T = PartitionFieldSummary;
  return {
      AvroBooleanTarget<T>(kContainsNull, "contains_null", true, [](T& out, bool value) { out.contains_null = value; }),
      AvroBooleanTarget<T>(kContainsNan, "contains_nan", false, [](T& out, bool value) { out.contains_nan = value; }),
      AvroBytesTarget<T>(kLowerBound, "lower_bound", false,
                         [](T& out, ByteView value) { out.lower_bound = CopyBytes(value); }),
      AvroBytesTarget<T>(kUpperBound, "upper_bound", false,
                         [](T& out, ByteView value) { out.upper_bound = CopyBytes(value); }),
  };
}

/// Only what v1 already required is required; the defaults of the members are what v1 lists mean.
std::vector<AvroTarget<ManifestFile>> ManifestTargets() {
  using T = ManifestFile;
  return {
      AvroBytesTarget<T>(kManifestPath, "manifest_path", true,
                         [](T& out, ByteView value) { out.manifest_path = AsText(value); }),
      AvroLongTarget<T>(kManifestLength, "manifest_length", true,
                        [](T& out, int64_t value) { out.manifest_length = value; }),
      AvroIntTarget<T>(kPartitionSpecId, "partition_spec_id", true,
                       [](T& out, int32_t value) { out.partition_spec_id = spec::SpecId(value); }),
      AvroIntTarget<T>(kContent, "content", false,
                       [](AvroDecoder& decoder, T& out, int32_t value) {
                         if (value != 0 && value != 1) {
                           decoder.FailWith(ErrorCode::kInvalidTable,
                                            fmt::format("field content has an unknown value: {}", value));
                         }
                         out.content = value == 0 ? ManifestContent::kData : ManifestContent::kDeletes;
                       }),
      AvroLongTarget<T>(kSequenceNumber, "sequence_number", false,
                        [](T& out, int64_t value) { out.sequence_number = spec::SequenceNumber(value); }),
      AvroLongTarget<T>(kMinSequenceNumber, "min_sequence_number", false,
                        [](T& out, int64_t value) { out.min_sequence_number = spec::SequenceNumber(value); }),
      AvroLongTarget<T>(kAddedSnapshotId, "added_snapshot_id", true,
                        [](T& out, int64_t value) { out.added_snapshot_id = spec::SnapshotId(value); }),
      CountTarget(kAddedFilesCount, "added_files_count", &T::added_files_count),
      CountTarget(kExistingFilesCount, "existing_files_count", &T::existing_files_count),
      CountTarget(kDeletedFilesCount, "deleted_files_count", &T::deleted_files_count),
      RowsTarget(kAddedRowsCount, "added_rows_count", &T::added_rows_count),
      RowsTarget(kExistingRowsCount, "existing_rows_count", &T::existing_rows_count),
      RowsTarget(kDeletedRowsCount, "deleted_rows_count", &T::deleted_rows_count),
      AvroRecordsTarget<T, PartitionFieldSummary>(
          kPartitions, "partitions", SummaryTargets(),
          [](T& out, PartitionFieldSummary summary) { out.partitions.push_back(std::move(summary)); }),
      AvroBytesTarget<T>(kKeyMetadata, "key_metadata", false,
                         [](T& out, ByteView value) { out.key_metadata = CopyBytes(value); }),
      AvroLongTarget<T>(kFirstRowId, "first_row_id", false,
                        [](T& out, int64_t value) { out.first_row_id = spec::RowId(value); }),
  };
}

Result<std::vector<ManifestFile>> ReadList(const AvroFileReader& file) {
  auto projection = AvroProjection<ManifestFile>::Make(*file.schema(), ManifestTargets());
  if (!projection)
    return tl::unexpected(std::move(projection).error().WithContext("reading manifest list: " + file.path()));
  std::vector<ManifestFile> manifests;
  FRAZIL_TRY(file.ForEachBlock([&](ByteView block, int64_t num_records) -> Status {
    if (static_cast<size_t>(num_records) > kMaxManifests - manifests.size()) {
      return Fail(ErrorCode::kResourceExhausted, "manifest list with more rows than allowed: {}", kMaxManifests);
    }
    AvroDecoder decoder(block);
    for (int64_t i = 0; i < num_records; ++i) {
      projection->Read(decoder, manifests.emplace_back());
      if (!decoder.ok()) {
        return Fail(decoder.error_code(), "manifest list row {}: {}", manifests.size() - 1, decoder.error_text());
      }
    }
    if (decoder.remaining() > 0) {
      return Fail(ErrorCode::kCorruptData, "Avro block has bytes after its last record: {}", decoder.remaining());
    }
    return {};
  }));
  return manifests;
}

void EncodeOptionalBytes(AvroEncoder& encoder, const std::optional<Bytes>& value) {
  if (!value) return encoder.Null();
  encoder.Present();
  encoder.BytesValue(*value);
}

void EncodeSummary(AvroEncoder& encoder, const PartitionFieldSummary& summary) {
  encoder.Boolean(summary.contains_null);
  if (summary.contains_nan) {
    encoder.Present();
    encoder.Boolean(*summary.contains_nan);
  } else {
    encoder.Null();
  }
  EncodeOptionalBytes(encoder, summary.lower_bound);
  EncodeOptionalBytes(encoder, summary.upper_bound);
}

Status CheckRow(const ManifestFile& manifest, int format_version) {
  if (!manifest.added_files_count || !manifest.existing_files_count || !manifest.deleted_files_count ||
      !manifest.added_rows_count || !manifest.existing_rows_count || !manifest.deleted_rows_count) {
    return Fail(ErrorCode::kInvalidArgument, "manifest without file and row counts: {}", manifest.manifest_path);
  }
  if (format_version >= 3 && manifest.content == ManifestContent::kData && !manifest.first_row_id) {
    return Fail(ErrorCode::kInvalidArgument, "data manifest without first_row_id: {}", manifest.manifest_path);
  }
  return {};
}

/// In the order of ManifestListFields.
void EncodeRow(AvroEncoder& encoder, const ManifestFile& manifest, int format_version) {
  encoder.String(manifest.manifest_path);
  encoder.Long(manifest.manifest_length);
  encoder.Int(manifest.partition_spec_id.value());
  encoder.Int(static_cast<int32_t>(manifest.content));
  encoder.Long(manifest.sequence_number.value());
  encoder.Long(manifest.min_sequence_number.value());
  encoder.Long(manifest.added_snapshot_id.value());
  encoder.Int(*manifest.added_files_count);
  encoder.Int(*manifest.existing_files_count);
  encoder.Int(*manifest.deleted_files_count);
  encoder.Long(*manifest.added_rows_count);
  encoder.Long(*manifest.existing_rows_count);
  encoder.Long(*manifest.deleted_rows_count);
  encoder.Present();
  encoder.Array(manifest.partitions, [&](const PartitionFieldSummary& summary) { EncodeSummary(encoder, summary); });
  EncodeOptionalBytes(encoder, manifest.key_metadata);
  if (format_version < 3) return;
  if (manifest.first_row_id && manifest.content == ManifestContent::kData) {
    encoder.Present();
    encoder.Long(manifest.first_row_id->value());
  } else {
    encoder.Null();
  }
}

std::map<std::string, std::string> HeaderMetadata(const ManifestListHeader& header) {
  std::map<std::string, std::string> metadata = {
      {"format-version", std::to_string(header.format_version)},
      {"snapshot-id", fmt::to_string(header.snapshot_id.value())},
      {"parent-snapshot-id", header.parent_snapshot_id ? fmt::to_string(header.parent_snapshot_id->value()) : "null"},
      {"sequence-number", fmt::to_string(header.sequence_number.value())},
  };
  if (header.format_version >= 3) {
    metadata["first-row-id"] = header.first_row_id ? fmt::to_string(header.first_row_id->value()) : "null";
  }
  return metadata;
}

}  // namespace

Result<std::vector<ManifestFile>> ReadManifestList(const io::FileIO& io, const std::string& path) {
  FRAZIL_ASSIGN(AvroFileReader file, AvroFileReader::Open(io, path));
  return ReadList(file);
}

Result<std::vector<ManifestFile>> ReadManifestListBytes(Bytes bytes, const std::string& path) {
  FRAZIL_ASSIGN(AvroFileReader file, AvroFileReader::FromBytes(std::move(bytes), path));
  return ReadList(file);
}

Status WriteManifestList(io::FileIO& io, const std::string& path, const ManifestListHeader& header,
                         const std::vector<ManifestFile>& manifests) {
  if (header.format_version != 2 && header.format_version != 3) {
    return Fail(ErrorCode::kNotSupported, "writing manifest lists of format version: {}", header.format_version);
  }
  for (const ManifestFile& manifest : manifests) FRAZIL_TRY(CheckRow(manifest, header.format_version));
  const std::vector<spec::Field> fields = ManifestListFields(header.format_version);
  FRAZIL_ASSIGN(std::string avro_schema, WriteAvroSchema("manifest_file", fields));
  FRAZIL_ASSIGN(spec::SchemaPtr row_schema, spec::Schema::Make(spec::SchemaId(0), fields));
  std::map<std::string, std::string> metadata = HeaderMetadata(header);
  metadata["iceberg.schema"] = spec::WriteSchemaJson(*row_schema);
  FRAZIL_ASSIGN(std::unique_ptr<io::OutputFile> file, io.Create(path));
  AvroFileWriter writer(std::move(file), std::move(avro_schema), AvroCodec::kDeflate, std::move(metadata));
  Bytes record;
  for (const ManifestFile& manifest : manifests) {
    record.clear();
    AvroEncoder encoder(record);
    EncodeRow(encoder, manifest, header.format_version);
    FRAZIL_TRY(writer.Append(record));
  }
  FRAZIL_TRY(writer.Finish());
  return {};
}

}  // namespace frazil::format
