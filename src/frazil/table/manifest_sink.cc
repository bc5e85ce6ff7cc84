#include "frazil/table/manifest_sink.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "frazil/format/manifest_file.h"
#include "frazil/table/spec_schema.h"

namespace frazil::table {
namespace {

constexpr char kTargetSize[] = "commit.manifest.target-size-bytes";
constexpr int64_t kDefaultTargetSize = int64_t{8} << 20;
constexpr char kCompression[] = "write.manifest.compression-codec";
constexpr char kCompressionLevel[] = "write.manifest.compression-level";

Result<format::ManifestWriterOptions> OptionsFor(const spec::TableMetadata& metadata, const spec::PartitionSpec& spec,
                                                 spec::ManifestContent content, spec::SnapshotId snapshot_id) {
  format::ManifestWriterOptions options;
  options.format_version = metadata.format_version;
  options.snapshot_id = snapshot_id;
  options.schema = SchemaOfSpec(metadata, spec);
  options.partition_spec = spec;
  options.content = content;
  FRAZIL_ASSIGN(options.codec, format::ParseAvroCodec(metadata.Property(kCompression, "gzip")));
  if (metadata.properties.contains(kCompressionLevel)) {
    FRAZIL_ASSIGN(const int64_t level, metadata.IntProperty(kCompressionLevel, 0));
    options.compression_level = static_cast<int>(std::clamp<int64_t>(level, -100, 100));
  }
  return options;
}

}  // namespace

Result<std::vector<spec::ManifestFile>> ManifestSink::Write(const spec::TableMetadata& metadata, spec::SpecId spec_id,
                                                            spec::ManifestContent content,
                                                            const std::vector<spec::ManifestEntry>& entries,
                                                            spec::SequenceNumber commit_sequence) {
  std::vector<spec::ManifestFile> rows;
  FRAZIL_ASSIGN(const spec::PartitionSpec* spec, FindSpec(metadata, spec_id, "a new manifest"));
  FRAZIL_ASSIGN(const auto options, OptionsFor(metadata, *spec, content, snapshot_id_));
  FRAZIL_ASSIGN(const int64_t target_size, metadata.IntProperty(kTargetSize, kDefaultTargetSize));
  for (size_t next = 0; next < entries.size();) {
    const std::string path = names_.Manifest(static_cast<int>(paths_.size()));
    paths_.push_back(path);
    FRAZIL_ASSIGN(auto writer, format::ManifestWriter::Make(*io_, path, options));
    const size_t begin = next;
    do {
      FRAZIL_TRY(writer->Add(entries[next]));
      ++next;
    } while (next < entries.size() && writer->bytes_written() < target_size);
    FRAZIL_ASSIGN(spec::ManifestFile row, writer->Finish(commit_sequence));
    entries_[path] = std::make_shared<const std::vector<spec::ManifestEntry>>(
        entries.begin() + static_cast<std::ptrdiff_t>(begin), entries.begin() + static_cast<std::ptrdiff_t>(next));
    row.added_snapshot_id = snapshot_id_;
    rows.push_back(Renumbered(std::move(row), commit_sequence));
  }
  return rows;
}

Result<std::vector<spec::ManifestFile>> ManifestSink::WriteExisting(
    const spec::TableMetadata& metadata, spec::SpecId spec_id, spec::ManifestContent content,
    const std::function<Status(const TakeEntry& take)>& produce, spec::SequenceNumber commit_sequence) {
  std::vector<spec::ManifestFile> rows;
  FRAZIL_ASSIGN(const spec::PartitionSpec* spec, FindSpec(metadata, spec_id, "a new manifest"));
  FRAZIL_ASSIGN(const auto options, OptionsFor(metadata, *spec, content, snapshot_id_));
  FRAZIL_ASSIGN(const int64_t target_size, metadata.IntProperty(kTargetSize, kDefaultTargetSize));
  std::unique_ptr<format::ManifestWriter> writer;
  const auto finish = [&]() -> Status {
    if (writer == nullptr) return {};
    FRAZIL_ASSIGN(spec::ManifestFile row, std::exchange(writer, nullptr)->Finish(commit_sequence));
    row.added_snapshot_id = snapshot_id_;
    rows.push_back(std::move(row));
    return {};
  };
  FRAZIL_TRY(produce([&](const spec::ManifestEntry& entry) -> Status {
    if (writer != nullptr && writer->bytes_written() >= target_size) FRAZIL_TRY(finish());
    if (writer == nullptr) {
      paths_.push_back(names_.Manifest(static_cast<int>(paths_.size())));
      FRAZIL_ASSIGN(writer, format::ManifestWriter::Make(*io_, paths_.back(), options));
    }
    return writer->Add(entry);
  }));
  FRAZIL_TRY(finish());
  return rows;
}

spec::ManifestFile ManifestSink::Renumbered(spec::ManifestFile row, spec::SequenceNumber commit_sequence) const {
  std::optional<spec::SequenceNumber> smallest;
  for (const spec::ManifestEntry& entry : *entries_.at(row.manifest_path)) {
    if (!entry.is_live()) continue;
    const spec::SequenceNumber sequence = entry.sequence_number.value_or(commit_sequence);
    smallest = smallest ? std::min(*smallest, sequence) : sequence;
  }
  row.sequence_number = commit_sequence;
  row.min_sequence_number = smallest.value_or(commit_sequence);
  row.first_row_id.reset();
  return row;
}

ManifestEntries ManifestSink::EntriesOf(const std::string& path) const {
  const auto found = entries_.find(path);
  return found == entries_.end() ? nullptr : found->second;
}

}  // namespace frazil::table
