#include "frazil/table/row_map.h"

#include <unordered_map>

#include "frazil/format/puffin.h"
#include "frazil/table/row_map_bytes.h"
#include "frazil/table/row_map_coverage.h"
#include "frazil/table/row_map_format.h"
#include "frazil/table/row_map_source.h"

namespace frazil::table {
namespace {

auto Corrupt(std::string_view what) { return Fail(ErrorCode::kCorruptData, "{}", what); }

/// The bytes of a blob, once type and checksum are right.
Result<ByteView> CheckedBlob(ByteView file, const format::PuffinBlob& blob, std::string_view type) {
  if (blob.type != type) return Fail(ErrorCode::kCorruptData, "blob of another type: '{}'", blob.type);
  if (!blob.compression_codec.empty()) return Corrupt("a blob is compressed");
  // ReadPuffinFooter checked the range against the size of the same file.
  const ByteView bytes = file.subspan(static_cast<size_t>(blob.offset), static_cast<size_t>(blob.length));
  const auto checksum = blob.properties.find(kRowMapChecksumProperty);
  if (checksum == blob.properties.end() || checksum->second != RowMapChecksum(bytes)) return Corrupt("wrong checksum");
  return bytes;
}

}  // namespace

class RowMap::Impl {
 public:
  static Result<std::unique_ptr<Impl>> Make(const io::InputFile& file) {
    auto impl = std::make_unique<Impl>();
    FRAZIL_ASSIGN(const format::PuffinFooter footer, format::ReadPuffinFooter(file));
    FRAZIL_ASSIGN(impl->bytes, RowMapBytes::Read(file, kMinMappedBytes));
    FRAZIL_TRY(impl->ReadBlobs(footer).map_error([&](Error error) {
      return Error(ErrorCode::kCorruptData, fmt::format("corrupt row map: {}: {}", error.message(), file.path()));
    }));
    return impl;
  }

  RowMapHead head;
  RowMapBytes bytes;
  std::vector<RowMapSource> sources;
  RowMapSource::OutputStarts output_starts;
  std::unordered_map<std::string, uint32_t> source_of_path;

 private:
  Status ReadBlobs(const format::PuffinFooter& footer) {
    if (footer.blobs.empty()) return Corrupt("no blobs");
    FRAZIL_ASSIGN(const ByteView head_blob, CheckedBlob(bytes.view(), footer.blobs.front(), kRowMapHeadBlobType));
    FRAZIL_ASSIGN(head, DecodeRowMapHead(head_blob));
    if (footer.blobs.size() != head.sources.size() + 1) return Corrupt("another number of blobs than sources");
    FRAZIL_TRY(AddUpOutputs());
    for (uint32_t i = 0; i < head.sources.size(); ++i) {
      FRAZIL_ASSIGN(const ByteView blob, CheckedBlob(bytes.view(), footer.blobs[i + 1], kRowMapSourceBlobType));
      const int64_t record_count = head.sources[i].record_count;
      FRAZIL_ASSIGN(const RowMapSourceBlob decoded, DecodeRowMapSource(blob, i, record_count));
      FRAZIL_ASSIGN(sources.emplace_back(), RowMapSource::Make(decoded, record_count, output_starts));
      source_of_path.emplace(head.sources[i].path, i);
    }
    std::vector<int64_t> record_counts;
    for (const Output& output : head.outputs) record_counts.push_back(output.record_count);
    return RowMapCoverage::Check(record_counts, [&](const RowMapCoverage::Take& take) {
      for (const RowMapSource& source : sources) source.ForEachPiece(output_starts, take);
    });
  }

  Status AddUpOutputs() {
    output_starts.push_back(0);
    for (const Output& output : head.outputs) {
      int64_t end = 0;
      if (__builtin_add_overflow(output_starts.back(), output.record_count, &end)) return Corrupt("number of rows");
      output_starts.push_back(end);
    }
    return {};
  }
};

Result<std::shared_ptr<const RowMap>> RowMap::Read(const io::FileIO& io, const std::string& path) {
  FRAZIL_ASSIGN(const std::unique_ptr<io::InputFile> file, io.Open(path));
  FRAZIL_ASSIGN(std::unique_ptr<Impl> impl, Impl::Make(*file));
  return std::shared_ptr<const RowMap>(new RowMap(std::move(impl)));
}

RowMap::RowMap(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
RowMap::~RowMap() = default;

const std::vector<RowMap::Source>& RowMap::sources() const { return impl_->head.sources; }
const std::vector<RowMap::Output>& RowMap::outputs() const { return impl_->head.outputs; }

std::optional<uint32_t> RowMap::FindSource(const std::string& path) const {
  const auto found = impl_->source_of_path.find(path);
  if (found == impl_->source_of_path.end()) return std::nullopt;
  return found->second;
}

std::optional<RowMap::Target> RowMap::Find(uint32_t source, spec::RowPosition position) const {
  if (source >= impl_->sources.size()) return std::nullopt;
  const int64_t value = position.value();
  std::optional<Target> target;
  impl_->sources[source].FindAll(impl_->output_starts, {&value, 1}, {&target, 1});
  return target;
}

void RowMap::FindAll(uint32_t source, std::span<const int64_t> positions,
                     std::vector<std::optional<Target>>& out) const {
  out.assign(positions.size(), std::nullopt);
  if (source < impl_->sources.size()) impl_->sources[source].FindAll(impl_->output_starts, positions, out);
}

std::vector<int64_t> RowMap::CountCarried(uint32_t source) const {
  std::vector<int64_t> counts(impl_->head.outputs.size());
  if (source < impl_->sources.size()) {
    impl_->sources[source].ForEachPiece(impl_->output_starts,
                                        [&](uint32_t output, int64_t, int64_t length) { counts[output] += length; });
  }
  return counts;
}

int64_t RowMap::memory_bytes() const {
  int64_t bytes = impl_->bytes.is_mapped() ? 0 : size_bytes();
  for (const RowMapSource& source : impl_->sources) bytes += source.memory_bytes();
  for (const Source& source : impl_->head.sources) bytes += static_cast<int64_t>(2 * source.path.size() + 128);
  return bytes;
}

int64_t RowMap::size_bytes() const { return static_cast<int64_t>(impl_->bytes.view().size()); }

}  // namespace frazil::table
