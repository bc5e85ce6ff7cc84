#include <charconv>
#include <limits>
#include <utility>

#include "frazil/format/manifest_entry_projection.h"
#include "frazil/format/manifest_file.h"
#include "frazil/spec/schema_json.h"

namespace frazil::format {
namespace {

using spec::DataFile;
using spec::EntryStatus;
using spec::FileContent;
using spec::ManifestContent;
using spec::ManifestEntry;
using spec::ManifestFile;
using spec::PartitionSpec;

// An entry in memory is many times larger than its bytes may be. Manifests of 8 MB hold some 50,000.
constexpr size_t kMaxEntries = 5'000'000;

tl::unexpected<Error> InManifest(Error error, const std::string& path) {
  return tl::unexpected(std::move(error).WithContext("reading manifest: " + path));
}

/// Types of partition values as of `schema`; none where the source column is gone or nobody knows the transform.
std::vector<std::optional<spec::Type>> PartitionTypes(const PartitionSpec& partition_spec, const spec::Schema& schema) {
  std::vector<std::optional<spec::Type>> types;
  for (size_t i = 0; i < partition_spec.fields().size(); ++i) {
    const spec::PartitionField& field = partition_spec.fields()[i];
    const bool known =
        schema.FindField(field.source_id) != nullptr && field.transform.kind() != spec::Transform::Kind::kUnknown;
    types.push_back(known ? std::optional(partition_spec.ResultType(i, schema)) : std::nullopt);
  }
  return types;
}

Result<std::vector<ManifestEntry>> ReadEntries(const AvroFileReader& file, const PartitionSpec& partition_spec,
                                               const std::vector<std::optional<spec::Type>>& partition_types) {
  auto projection = ProjectManifestEntry(*file.schema(), partition_spec, partition_types);
  if (!projection) return InManifest(std::move(projection).error(), file.path());
  ManifestEntry blank;
  blank.data_file.spec_id = partition_spec.id();
  blank.data_file.partition.resize(partition_spec.fields().size());
  std::vector<ManifestEntry> entries;
  FRAZIL_TRY(file.ForEachBlock([&](ByteView block, int64_t num_records) -> Status {
    if (static_cast<size_t>(num_records) > kMaxEntries - entries.size()) {
      return Fail(ErrorCode::kResourceExhausted, "manifest with more entries than allowed: {}", kMaxEntries);
    }
    AvroDecoder decoder(block);
    for (int64_t i = 0; i < num_records; ++i) {
      entries.push_back(blank);
      projection->Read(decoder, entries.back());
      if (!decoder.ok()) {
        return Fail(decoder.error_code(), "manifest entry {}: {}", entries.size() - 1, decoder.error_text());
      }
    }
    if (decoder.remaining() > 0) {
      return Fail(ErrorCode::kCorruptData, "Avro block has bytes after its last record: {}", decoder.remaining());
    }
    return {};
  }));
  return entries;
}

/// What later code takes for granted about a live file.
Status CheckFile(const DataFile& file, ManifestContent content) {
  const bool is_delete = file.content != FileContent::kData;
  if (is_delete != (content == ManifestContent::kDeletes)) {
    return Fail(ErrorCode::kInvalidTable, "field content of a file does not fit its manifest: {}", file.file_path);
  }
  if (file.content == FileContent::kEqualityDeletes && file.equality_ids.empty()) {
    return Fail(ErrorCode::kInvalidTable, "equality delete file lacks field equality_ids: {}", file.file_path);
  }
  if (!file.is_deletion_vector()) return {};
  if (file.content != FileContent::kPositionDeletes) {
    return Fail(ErrorCode::kInvalidTable, "Puffin file must have field content 1 (position deletes): {}",
                file.file_path);
  }
  // Engines that believed such entries applied the vector to the wrong file or read wild ranges.
  if (!file.referenced_data_file) {
    return Fail(ErrorCode::kInvalidTable, "deletion vector lacks field referenced_data_file: {}", file.file_path);
  }
  if (!file.content_offset || *file.content_offset < 0) {
    return Fail(ErrorCode::kInvalidTable, "deletion vector lacks a valid field content_offset: {}", file.file_path);
  }
  if (!file.content_size_in_bytes || *file.content_size_in_bytes < 0) {
    return Fail(ErrorCode::kInvalidTable, "deletion vector lacks a valid field content_size_in_bytes: {}",
                file.file_path);
  }
  return {};
}

/// Spec section 3.6, rules 1 to 3: what the list row gives to an entry that leaves it out.
Status InheritFromList(const ManifestFile& manifest, ManifestEntry& entry) {
  if (!entry.snapshot_id) entry.snapshot_id = manifest.added_snapshot_id;
  const bool may_inherit = entry.status == EntryStatus::kAdded || manifest.sequence_number.value() == 0;
  for (auto* number : {&entry.sequence_number, &entry.file_sequence_number}) {
    if (*number) continue;
    if (!may_inherit) {
      return Fail(ErrorCode::kInvalidTable, "{} entry lacks field {}: {}",
                  entry.status == EntryStatus::kDeleted ? "deleted" : "existing",
                  number == &entry.sequence_number ? "sequence_number" : "file_sequence_number",
                  entry.data_file.file_path);
    }
    *number = manifest.sequence_number;
  }
  return {};
}

/// Spec section 3.6, rules 5 and 6. Runs over all entries in file order: skipping any would shift every later row id.
Status AssignFirstRowIds(const ManifestFile& manifest, std::vector<ManifestEntry>& entries) {
  if (manifest.content == ManifestContent::kDeletes || !manifest.first_row_id) {
    for (ManifestEntry& entry : entries) entry.data_file.first_row_id.reset();
    return {};
  }
  int64_t next = manifest.first_row_id->value();
  for (ManifestEntry& entry : entries) {
    DataFile& file = entry.data_file;
    if (!entry.is_live() || file.first_row_id) continue;
    file.first_row_id = spec::RowId(next);
    if (__builtin_add_overflow(next, file.record_count, &next)) {
      return Fail(ErrorCode::kInvalidTable, "row ids of a manifest reach past 64 bits: {}", file.file_path);
    }
  }
  return {};
}

Status Inherit(const ManifestFile& manifest, std::vector<ManifestEntry>& entries) {
  for (ManifestEntry& entry : entries) {
    FRAZIL_TRY(InheritFromList(manifest, entry));
    if (entry.is_live()) FRAZIL_TRY(CheckFile(entry.data_file, manifest.content));
  }
  return AssignFirstRowIds(manifest, entries);
}

/// The spec that the manifest's own header tells.
Result<PartitionSpec> HeaderSpec(const AvroFileReader& file) {
  const auto& metadata = file.metadata();
  int32_t id = 0;
  if (auto found = metadata.find("partition-spec-id"); found != metadata.end()) {
    const std::string& text = found->second;
    auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), id);
    if (error != std::errc() || end != text.data() + text.size()) {
      return Fail(ErrorCode::kInvalidTable, "manifest header: partition-spec-id is not a number: {}", text);
    }
  }
  auto fields = metadata.find("partition-spec");
  if (fields == metadata.end()) return Fail(ErrorCode::kInvalidTable, "manifest header lacks key: partition-spec");
  return spec::ParsePartitionFieldsJson(spec::SpecId(id), fields->second);
}

}  // namespace

Result<std::vector<ManifestEntry>> ReadManifest(const io::FileIO& io, const ManifestFile& manifest,
                                                const std::vector<PartitionSpec>& specs, const spec::Schema& schema) {
  const std::string& path = manifest.manifest_path;
  if (manifest.key_metadata) return Fail(ErrorCode::kNotSupported, "encrypted manifest: {}", path);
  const PartitionSpec* partition_spec = nullptr;
  for (const PartitionSpec& candidate : specs) {
    if (candidate.id() == manifest.partition_spec_id) partition_spec = &candidate;
  }
  if (partition_spec == nullptr) {
    return Fail(ErrorCode::kInvalidTable, "manifest of a partition spec that the table does not have (id {}): {}",
                manifest.partition_spec_id, path);
  }
  FRAZIL_ASSIGN(AvroFileReader file, AvroFileReader::Open(io, path));
  FRAZIL_ASSIGN(auto entries, ReadEntries(file, *partition_spec, PartitionTypes(*partition_spec, schema)));
  if (Status status = Inherit(manifest, entries); !status) return InManifest(std::move(status).error(), path);
  return entries;
}

Result<std::vector<ManifestEntry>> ReadManifestBytes(Bytes bytes, const std::string& path) {
  FRAZIL_ASSIGN(AvroFileReader file, AvroFileReader::FromBytes(std::move(bytes), path));
  auto partition_spec = HeaderSpec(file);
  if (!partition_spec) return InManifest(std::move(partition_spec).error(), path);
  std::vector<std::optional<spec::Type>> types(partition_spec->fields().size());
  if (auto found = file.metadata().find("schema"); found != file.metadata().end()) {
    auto schema = spec::ParseSchemaJson(found->second);
    if (!schema) return InManifest(std::move(schema).error(), path);
    types = PartitionTypes(*partition_spec, **schema);
  }
  return ReadEntries(file, *partition_spec, types);
}

}  // namespace frazil::format
