#include <charconv>
#include <iterator>
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
constexpr size_t kMaxBytes = size_t{2} << 30;  ///< not compressed

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

/// Entries as they are written, block by block.
class EntryDecoder {
 public:
  static Result<EntryDecoder> Make(const AvroFileReader& file, const PartitionSpec& partition_spec,
                                   const std::vector<std::optional<spec::Type>>& partition_types) {
    auto projection = ProjectManifestEntry(*file.schema(), partition_spec, partition_types);
    if (!projection) return InManifest(std::move(projection).error(), file.path());
    EntryDecoder decoder(file, *std::move(projection));
    decoder.blank_.data_file.spec_id = partition_spec.id();
    decoder.blank_.data_file.partition.resize(partition_spec.fields().size());
    return decoder;
  }

  /// Appends those of the next block; false at the end.
  Result<bool> AppendBlock(std::vector<ManifestEntry>& entries) {
    FRAZIL_ASSIGN(const std::optional<AvroBlock> block, blocks_.Next());
    if (!block) return false;
    if (Status status = Decode(*block, entries); !status) {
      return tl::unexpected(std::move(status).error().WithContext("reading Avro file: " + file_.path()));
    }
    return true;
  }

 private:
  EntryDecoder(const AvroFileReader& file, AvroProjection<ManifestEntry> projection)
      : file_(file), blocks_(file), projection_(std::move(projection)) {}

  Status Decode(const AvroBlock& block, std::vector<ManifestEntry>& entries) {
    if (static_cast<size_t>(block.num_records) > kMaxEntries - num_decoded_) {
      return Fail(ErrorCode::kResourceExhausted, "manifest with more entries than allowed: {}", kMaxEntries);
    }
    if (block.bytes.size() > kMaxBytes - num_bytes_) {
      return Fail(ErrorCode::kResourceExhausted, "manifest expands to more than {} bytes", kMaxBytes);
    }
    num_bytes_ += block.bytes.size();
    AvroDecoder decoder(block.bytes);
    for (int64_t i = 0; i < block.num_records; ++i, ++num_decoded_) {
      entries.push_back(blank_);
      projection_.Read(decoder, entries.back());
      if (!decoder.ok()) {
        return Fail(decoder.error_code(), "manifest entry {}: {}", num_decoded_, decoder.error_text());
      }
    }
    if (decoder.remaining() > 0) {
      return Fail(ErrorCode::kCorruptData, "Avro block has bytes after its last record: {}", decoder.remaining());
    }
    return {};
  }

  const AvroFileReader& file_;
  AvroBlockCursor blocks_;
  AvroProjection<ManifestEntry> projection_;
  ManifestEntry blank_;
  size_t num_decoded_ = 0;
  size_t num_bytes_ = 0;
};

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

/// Spec section 3.6, rules 5 and 6. Must see all entries in file order: skipping any would shift every later row id.
/// `next`: what the manifest has left of its row ids; none: files of it have none.
Status AssignFirstRowId(std::optional<int64_t>& next, ManifestEntry& entry) {
  DataFile& file = entry.data_file;
  if (!next) {
    file.first_row_id.reset();
    return {};
  }
  if (!entry.is_live() || file.first_row_id) return {};
  file.first_row_id = spec::RowId(*next);
  if (__builtin_add_overflow(*next, file.record_count, &*next)) {
    return Fail(ErrorCode::kInvalidTable, "row ids of a manifest reach past 64 bits: {}", file.file_path);
  }
  return {};
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

class ManifestReader::Impl {
 public:
  static Result<std::unique_ptr<Impl>> Open(const io::FileIO& io, const ManifestFile& manifest,
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
    std::unique_ptr<Impl> impl(new Impl(manifest, std::move(file)));
    FRAZIL_ASSIGN(EntryDecoder decoder,
                  EntryDecoder::Make(impl->file_, *partition_spec, PartitionTypes(*partition_spec, schema)));
    impl->decoder_.emplace(std::move(decoder));
    return impl;
  }

  Result<std::span<ManifestEntry>> Next() {
    entries_.clear();
    // A block may be empty.
    while (entries_.empty()) {
      FRAZIL_ASSIGN(const bool has_more, decoder_->AppendBlock(entries_));
      if (!has_more) break;
    }
    for (ManifestEntry& entry : entries_) {
      if (Status status = Inherit(entry); !status) {
        return InManifest(std::move(status).error(), manifest_.manifest_path);
      }
    }
    return std::span(entries_);
  }

 private:
  Impl(const ManifestFile& manifest, AvroFileReader file) : manifest_(manifest), file_(std::move(file)) {
    if (manifest.content == ManifestContent::kData && manifest.first_row_id) {
      next_row_id_ = manifest.first_row_id->value();
    }
  }

  Status Inherit(ManifestEntry& entry) {
    FRAZIL_TRY(InheritFromList(manifest_, entry));
    if (entry.is_live()) FRAZIL_TRY(CheckFile(entry.data_file, manifest_.content));
    return AssignFirstRowId(next_row_id_, entry);
  }

  const ManifestFile manifest_;
  const AvroFileReader file_;
  std::optional<EntryDecoder> decoder_;
  std::optional<int64_t> next_row_id_;
  std::vector<ManifestEntry> entries_;
};

ManifestReader::ManifestReader(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
ManifestReader::~ManifestReader() = default;
Result<std::span<ManifestEntry>> ManifestReader::Next() { return impl_->Next(); }

Result<std::unique_ptr<ManifestReader>> ManifestReader::Open(const io::FileIO& io, const ManifestFile& manifest,
                                                             const std::vector<PartitionSpec>& specs,
                                                             const spec::Schema& schema) {
  FRAZIL_ASSIGN(auto impl, Impl::Open(io, manifest, specs, schema));
  return std::unique_ptr<ManifestReader>(new ManifestReader(std::move(impl)));
}

Result<std::vector<ManifestEntry>> ReadManifest(const io::FileIO& io, const ManifestFile& manifest,
                                                const std::vector<PartitionSpec>& specs, const spec::Schema& schema) {
  FRAZIL_ASSIGN(const auto reader, ManifestReader::Open(io, manifest, specs, schema));
  std::vector<ManifestEntry> all;
  while (true) {
    FRAZIL_ASSIGN(const std::span<ManifestEntry> entries, reader->Next());
    if (entries.empty()) return all;
    all.insert(all.end(), std::make_move_iterator(entries.begin()), std::make_move_iterator(entries.end()));
  }
}

Result<std::vector<ManifestEntry>> ReadManifestBytes(Bytes bytes, const std::string& path) {
  FRAZIL_ASSIGN(const AvroFileReader file, AvroFileReader::FromBytes(std::move(bytes), path));
  auto partition_spec = HeaderSpec(file);
  if (!partition_spec) return InManifest(std::move(partition_spec).error(), path);
  std::vector<std::optional<spec::Type>> types(partition_spec->fields().size());
  if (auto found = file.metadata().find("schema"); found != file.metadata().end()) {
    auto schema = spec::ParseSchemaJson(found->second);
    if (!schema) return InManifest(std::move(schema).error(), path);
    types = PartitionTypes(*partition_spec, **schema);
  }
  FRAZIL_ASSIGN(EntryDecoder decoder, EntryDecoder::Make(file, *partition_spec, types));
  std::vector<ManifestEntry> entries;
  while (true) {
    FRAZIL_ASSIGN(const bool has_more, decoder.AppendBlock(entries));
    if (!has_more) return entries;
  }
}

}  // namespace frazil::format
