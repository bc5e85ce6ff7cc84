#include "frazil/table/vector_reader.h"

#include <algorithm>

#include <fmt/format.h>

#include "frazil/io/memory_input_file.h"

namespace frazil::table {
namespace {

constexpr char kReferencedDataFile[] = "referenced-data-file";

/// Puffins up to this size are read at once: footer and blobs of a small one are a handful of reads.
constexpr int64_t kMaxBytesReadWhole = int64_t{256} << 10;

}  // namespace

Status VectorReader::OpenPuffin(const std::string& path) {
  if (file_ && path_ == path) return {};
  file_.reset();
  FRAZIL_ASSIGN(auto file, io_.Open(path));
  FRAZIL_ASSIGN(file, io::LoadIfSmall(std::move(file), kMaxBytesReadWhole));
  FRAZIL_ASSIGN(footer_, format::ReadPuffinFooter(*file));
  file_ = std::move(file);
  path_ = path;
  return {};
}

Result<VectorReader::Vector> VectorReader::Read(const spec::DataFile& entry,
                                                std::optional<int64_t> data_file_record_count) {
  const std::string place =
      fmt::format("{} for data file {}", entry.file_path, entry.referenced_data_file.value_or("(none)"));
  if (!entry.referenced_data_file || !entry.content_offset || !entry.content_size_in_bytes) {
    return Fail(ErrorCode::kInvalidTable,
                "a deletion vector's entry lacks referenced_data_file, content_offset or content_size_in_bytes: {}",
                place);
  }
  if (data_file_record_count && entry.record_count > *data_file_record_count) {
    return Fail(ErrorCode::kInvalidTable, "a deletion vector's record_count {} is above the data file's {}: {}",
                entry.record_count, *data_file_record_count, place);
  }
  FRAZIL_TRY(OpenPuffin(entry.file_path));
  // The range alone could be that of a sibling; the footer says whose blob lies there.
  const auto blob = std::find_if(footer_.blobs.begin(), footer_.blobs.end(), [&](const format::PuffinBlob& candidate) {
    return candidate.offset == *entry.content_offset && candidate.length == *entry.content_size_in_bytes;
  });
  if (blob == footer_.blobs.end() || blob->type != format::kDeletionVectorBlobType ||
      !blob->compression_codec.empty()) {
    return Fail(ErrorCode::kInvalidTable, "no deletion vector at content_offset {} of content_size_in_bytes {}: {}",
                *entry.content_offset, *entry.content_size_in_bytes, place);
  }
  const auto referenced = blob->properties.find(kReferencedDataFile);
  if (referenced != blob->properties.end() && referenced->second != *entry.referenced_data_file) {
    return Fail(ErrorCode::kInvalidTable, "the deletion vector at content_offset {} belongs to another file, {}: {}",
                *entry.content_offset, referenced->second, place);
  }
  Vector vector;
  FRAZIL_ASSIGN(vector.blob, format::ReadPuffinBlob(*file_, *blob));
  auto positions = format::DeletionVector::Decode(vector.blob);
  if (!positions) return tl::unexpected(std::move(positions).error().WithContext(place));
  vector.positions = *std::move(positions);
  if (vector.positions.cardinality() != entry.record_count) {
    return Fail(ErrorCode::kInvalidTable, "a deletion vector has {} positions, but its record_count is {}: {}",
                vector.positions.cardinality(), entry.record_count, place);
  }
  if (data_file_record_count && !vector.positions.empty() &&
      vector.positions.Max().value() >= *data_file_record_count) {
    return Fail(ErrorCode::kInvalidTable, "a deletion vector holds position {}, but the data file has {} rows: {}",
                vector.positions.Max(), *data_file_record_count, place);
  }
  return vector;
}

}  // namespace frazil::table
