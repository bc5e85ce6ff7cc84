#include <algorithm>
#include <utility>

#include "frazil/format/avro_encoder.h"
#include "frazil/format/avro_type.h"
#include "frazil/format/avro_value.h"
#include "frazil/format/manifest_file.h"
#include "frazil/format/manifest_schema.h"
#include "frazil/format/partition_summary.h"
#include "frazil/spec/schema_json.h"

namespace frazil::format {
namespace {

using spec::DataFile;
using spec::EntryStatus;
using spec::FileContent;
using spec::ManifestContent;
using spec::ManifestEntry;

std::vector<spec::Type> TypesOf(const std::vector<spec::Field>& fields) {
  std::vector<spec::Type> types;
  for (const spec::Field& field : fields) types.push_back(field.type);
  return types;
}

/// Encodes entries in the order of ManifestEntryFields.
class EntryEncoder {
 public:
  EntryEncoder(Bytes& out, int format_version, const std::vector<spec::Type>& partition_types)
      : encoder_(out), format_version_(format_version), partition_types_(partition_types) {}

  Status Encode(const ManifestEntry& entry) {
    encoder_.Int(static_cast<int32_t>(entry.status));
    OptionalId(entry.snapshot_id);
    OptionalId(entry.sequence_number);
    OptionalId(entry.file_sequence_number);
    return EncodeFile(entry.data_file);
  }

 private:
  Status EncodeFile(const DataFile& file) {
    encoder_.Int(static_cast<int32_t>(file.content));
    encoder_.String(file.file_path);
    encoder_.String(spec::FileFormatName(file.file_format));
    FRAZIL_TRY(Partition(file.partition));
    encoder_.Long(file.record_count);
    encoder_.Long(file.file_size_in_bytes);
    for (const auto* counts :
         {&file.column_sizes, &file.value_counts, &file.null_value_counts, &file.nan_value_counts}) {
      ColumnMap(*counts, [&](int64_t count) { encoder_.Long(count); });
    }
    for (const auto* bounds : {&file.lower_bounds, &file.upper_bounds}) {
      ColumnMap(*bounds, [&](const Bytes& bound) { encoder_.BytesValue(bound); });
    }
    Optional(file.key_metadata, [&](const Bytes& value) { encoder_.BytesValue(value); });
    OptionalArray(file.split_offsets, [&](int64_t offset) { encoder_.Long(offset); });
    OptionalArray(file.equality_ids, [&](spec::FieldId id) { encoder_.Int(id.value()); });
    OptionalId(file.sort_order_id);
    if (format_version_ >= 3) OptionalId(file.first_row_id);
    Optional(file.referenced_data_file, [&](const std::string& path) { encoder_.String(path); });
    if (format_version_ >= 3) {
      Optional(file.content_offset, [&](int64_t offset) { encoder_.Long(offset); });
      Optional(file.content_size_in_bytes, [&](int64_t size) { encoder_.Long(size); });
    }
    return {};
  }

  Status Partition(const spec::PartitionTuple& tuple) {
    for (size_t i = 0; i < tuple.size(); ++i) {
      if (spec::IsNull(tuple[i])) {
        encoder_.Null();
      } else {
        encoder_.Present();
        FRAZIL_TRY(EncodeAvroValue(partition_types_[i], tuple[i], encoder_));
      }
    }
    return {};
  }

  template <typename T, typename Write>
  void Optional(const std::optional<T>& value, Write write) {
    if (!value) return encoder_.Null();
    encoder_.Present();
    write(*value);
  }

  template <typename Id>
  void OptionalId(const std::optional<Id>& id) {
    Optional(id, [&](Id value) { encoder_.Long(value.value()); });
  }

  /// Empty stands for absent: the struct does not tell them apart.
  template <typename Items, typename Write>
  void OptionalArray(const Items& items, Write write) {
    if (items.empty()) return encoder_.Null();
    encoder_.Present();
    encoder_.Array(items, write);
  }

  template <typename Map, typename Write>
  void ColumnMap(const Map& map, Write write) {
    OptionalArray(map, [&](const auto& item) {
      encoder_.Int(item.first.value());
      write(item.second);
    });
  }

  AvroEncoder encoder_;
  const int format_version_;
  const std::vector<spec::Type>& partition_types_;
};

/// What would make a manifest that readers refuse or, worse, misread (spec sections 3.8, 4.4).
Status CheckEntry(const ManifestEntry& entry, const ManifestWriterOptions& options) {
  const DataFile& file = entry.data_file;
  auto refuse = [&](std::string_view reason) {
    return Fail(ErrorCode::kInvalidArgument, "manifest entry: {}: {}", reason, file.file_path);
  };
  const bool is_delete = file.content != FileContent::kData;
  if (is_delete != (options.content == ManifestContent::kDeletes))
    return refuse("content of the file is not that of the manifest");
  if (file.partition.size() != options.partition_spec.fields().size())
    return refuse("partition tuple does not fit the spec");
  if (entry.status != EntryStatus::kAdded && (!entry.sequence_number || !entry.file_sequence_number)) {
    return refuse("existing and deleted files need their sequence numbers");
  }
  if (entry.status != EntryStatus::kAdded && !entry.snapshot_id)
    return refuse("existing and deleted files need a snapshot id");
  if (file.record_count < 0 || file.file_size_in_bytes < 0) return refuse("negative record count or file size");
  if (file.content == FileContent::kEqualityDeletes && file.equality_ids.empty())
    return refuse("equality deletes without equality_ids");
  if (is_delete && file.first_row_id) return refuse("delete files have no first_row_id");
  if (!file.is_deletion_vector()) return {};
  if (options.format_version < 3) return refuse("must not use DVs for position deletes in V2");
  if (file.content != FileContent::kPositionDeletes || !file.referenced_data_file || !file.content_offset ||
      !file.content_size_in_bytes) {
    return refuse("a deletion vector needs referenced_data_file, content_offset and content_size_in_bytes");
  }
  return {};
}

Result<std::map<std::string, std::string>> HeaderMetadata(const ManifestWriterOptions& options,
                                                          const std::vector<spec::Field>& fields) {
  FRAZIL_ASSIGN(spec::SchemaPtr entry_schema, spec::Schema::Make(spec::SchemaId(0), fields));
  return std::map<std::string, std::string>{
      {"schema", spec::WriteSchemaJson(*options.schema)},
      {"schema-id", fmt::to_string(options.schema->id().value())},
      {"partition-spec", spec::WritePartitionFieldsJson(options.partition_spec)},
      {"partition-spec-id", fmt::to_string(options.partition_spec.id().value())},
      {"format-version", std::to_string(options.format_version)},
      {"content", options.content == ManifestContent::kData ? "data" : "deletes"},
      {"iceberg.schema", spec::WriteSchemaJson(*entry_schema)},
  };
}

}  // namespace

class ManifestWriter::Impl {
 public:
  Impl(std::string path, ManifestWriterOptions options, std::vector<spec::Type> partition_types, AvroFileWriter writer)
      : path_(std::move(path)),
        options_(std::move(options)),
        partition_types_(std::move(partition_types)),
        summaries_(partition_types_),
        writer_(std::move(writer)) {}

  Status Add(const ManifestEntry& entry) {
    FRAZIL_TRY(CheckEntry(entry, options_));
    record_.clear();
    Status encoded = EntryEncoder(record_, options_.format_version, partition_types_).Encode(entry);
    if (!encoded)
      return tl::unexpected(std::move(encoded).error().WithContext("partition of file: " + entry.data_file.file_path));
    FRAZIL_TRY(writer_.Append(record_));
    Count(entry);
    return {};
  }

  Result<spec::ManifestFile> Finish(spec::SequenceNumber commit_sequence_number) {
    spec::ManifestFile manifest;
    FRAZIL_ASSIGN(manifest.manifest_length, writer_.Finish());
    manifest.manifest_path = path_;
    manifest.partition_spec_id = options_.partition_spec.id();
    manifest.content = options_.content;
    manifest.sequence_number = commit_sequence_number;
    manifest.min_sequence_number = min_sequence_number_.value_or(commit_sequence_number);
    manifest.added_snapshot_id = options_.snapshot_id;
    manifest.existing_files_count = files_[0];
    manifest.added_files_count = files_[1];
    manifest.deleted_files_count = files_[2];
    manifest.existing_rows_count = rows_[0];
    manifest.added_rows_count = rows_[1];
    manifest.deleted_rows_count = rows_[2];
    manifest.partitions = summaries_.Finish();
    return manifest;
  }

  int64_t bytes_written() const { return writer_.bytes_written(); }
  int64_t num_entries() const { return int64_t{files_[0]} + files_[1] + files_[2]; }

 private:
  void Count(const ManifestEntry& entry) {
    const auto status = static_cast<size_t>(entry.status);
    ++files_[status];
    rows_[status] += entry.data_file.record_count;
    summaries_.Add(entry.data_file.partition);
    // Deleted files say nothing about what the manifest still holds.
    if (!entry.is_live() || !entry.sequence_number) return;
    min_sequence_number_ = std::min(min_sequence_number_.value_or(*entry.sequence_number), *entry.sequence_number);
  }

  const std::string path_;
  const ManifestWriterOptions options_;
  const std::vector<spec::Type> partition_types_;
  PartitionSummaryBuilder summaries_;
  AvroFileWriter writer_;
  Bytes record_;
  int32_t files_[3] = {};  // by EntryStatus
  int64_t rows_[3] = {};
  std::optional<spec::SequenceNumber> min_sequence_number_;
};

Result<std::unique_ptr<ManifestWriter>> ManifestWriter::Make(io::FileIO& io, std::string path,
                                                             ManifestWriterOptions options) {
  if (options.format_version != 2 && options.format_version != 3) {
    return Fail(ErrorCode::kNotSupported, "writing manifests of format version: {}", options.format_version);
  }
  if (options.schema == nullptr) return Fail(ErrorCode::kInvalidArgument, "manifest without a schema: {}", path);
  for (const spec::PartitionField& field : options.partition_spec.fields()) {
    const bool always_null = field.transform.kind() == spec::Transform::Kind::kVoid;
    if (always_null || options.schema->FindField(field.source_id) != nullptr) continue;
    return Fail(ErrorCode::kInvalidArgument, "schema of a manifest lacks the source column of its partition field: {}",
                field.name);
  }
  std::vector<spec::Field> partition_fields = PartitionFields(options.partition_spec, *options.schema);
  std::vector<spec::Type> partition_types = TypesOf(partition_fields);
  const std::vector<spec::Field> fields = ManifestEntryFields(options.format_version, std::move(partition_fields));
  FRAZIL_ASSIGN(std::string avro_schema, WriteAvroSchema("manifest_entry", fields));
  FRAZIL_ASSIGN(auto metadata, HeaderMetadata(options, fields));
  FRAZIL_ASSIGN(std::unique_ptr<io::OutputFile> file, io.Create(path));
  AvroFileWriter writer(std::move(file), std::move(avro_schema), options.codec, std::move(metadata),
                        options.compression_level);
  return std::unique_ptr<ManifestWriter>(new ManifestWriter(
      std::make_unique<Impl>(std::move(path), std::move(options), std::move(partition_types), std::move(writer))));
}

ManifestWriter::ManifestWriter(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
ManifestWriter::~ManifestWriter() = default;
Status ManifestWriter::Add(const ManifestEntry& entry) { return impl_->Add(entry); }
int64_t ManifestWriter::bytes_written() const { return impl_->bytes_written(); }
int64_t ManifestWriter::num_entries() const { return impl_->num_entries(); }
Result<spec::ManifestFile> ManifestWriter::Finish(spec::SequenceNumber commit_sequence_number) {
  return impl_->Finish(commit_sequence_number);
}

}  // namespace frazil::format
