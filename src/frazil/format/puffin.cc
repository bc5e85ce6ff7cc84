#include "frazil/format/puffin.h"

#include <zstd.h>

#include "frazil/base/version.h"
#include "frazil/format/puffin_json.h"

namespace frazil::format {
namespace {

constexpr std::string_view kMagic = "PFA1";
constexpr int64_t kTrailerBytes = 12;      // payload size, flags, magic
constexpr int64_t kFooterFrameBytes = 16;  // the trailer and the leading magic
constexpr int64_t kMinFileBytes = 4 + kFooterFrameBytes;
constexpr uint32_t kPayloadIsLz4 = 1;
// Far above any real footer or sketch: what a hostile file may make us allocate.
constexpr int64_t kMaxPayloadBytes = int64_t{64} << 20;
constexpr size_t kMaxBlobBytes = size_t{1} << 31;
constexpr size_t kMaxDecompressedBytes = size_t{256} << 20;

auto Corrupt(std::string_view what, const std::string& path) {
  return Fail(ErrorCode::kCorruptData, "corrupt Puffin file: {}: {}", what, path);
}

Status CheckMagic(const io::InputFile& file, int64_t offset, std::string_view what) {
  std::byte magic[kMagic.size()];
  FRAZIL_TRY(file.ReadAt(offset, magic));
  if (AsText(magic) != kMagic) return Corrupt(what, file.path());
  return {};
}

/// A zstd frame; its content size is a claim, so memory grows with what really comes out.
Result<Bytes> DecompressZstd(ByteView frame, const std::string& path) {
  const std::unique_ptr<ZSTD_DCtx, decltype(&ZSTD_freeDCtx)> context(ZSTD_createDCtx(), &ZSTD_freeDCtx);
  if (context == nullptr) return Fail(ErrorCode::kResourceExhausted, "no memory to decompress Puffin blob: {}", path);
  Bytes out;
  ZSTD_inBuffer input{frame.data(), frame.size(), 0};
  while (true) {
    const size_t done = out.size();
    if (done >= kMaxDecompressedBytes) {
      return Fail(ErrorCode::kResourceExhausted, "Puffin blob is larger than {} bytes: {}", kMaxDecompressedBytes,
                  path);
    }
    out.resize(done + ZSTD_DStreamOutSize());
    ZSTD_outBuffer output{out.data() + done, out.size() - done, 0};
    const size_t left = ZSTD_decompressStream(context.get(), &output, &input);
    if (ZSTD_isError(left)) return Corrupt("zstd blob cannot be decompressed", path);
    out.resize(done + output.pos);
    if (left == 0) break;
    if (input.pos == input.size && output.pos < output.size) return Corrupt("zstd blob is cut off", path);
  }
  if (input.pos != input.size) return Corrupt("bytes after the zstd blob", path);
  return out;
}

}  // namespace

Result<PuffinFooter> ReadPuffinFooter(const io::InputFile& file) {
  const int64_t size = file.size_bytes();
  if (size < kMinFileBytes) return Corrupt("too short", file.path());
  FRAZIL_TRY(CheckMagic(file, 0, "wrong magic at the start"));

  std::byte trailer[kTrailerBytes];
  FRAZIL_TRY(file.ReadAt(size - kTrailerBytes, trailer));
  if (AsText(ByteView(trailer).subspan(8)) != kMagic) return Corrupt("wrong magic at the end", file.path());
  const uint32_t flags = LoadLittle<uint32_t>(trailer + 4);
  if (flags == kPayloadIsLz4) {
    return Fail(ErrorCode::kNotSupported, "Puffin footer compressed with LZ4 cannot be read yet: {}", file.path());
  }
  if (flags != 0) return Corrupt("unknown flags", file.path());

  const int64_t payload_size = LoadLittle<int32_t>(trailer);
  if (payload_size < 0 || payload_size > size - kMinFileBytes) return Corrupt("wrong footer size", file.path());
  if (payload_size > kMaxPayloadBytes) return Corrupt("footer is larger than 64 MiB", file.path());
  const int64_t footer_size = payload_size + kFooterFrameBytes;
  const int64_t footer_start = size - footer_size;
  FRAZIL_TRY(CheckMagic(file, footer_start, "wrong magic before the footer"));

  Bytes payload(static_cast<size_t>(payload_size));
  FRAZIL_TRY(file.ReadAt(footer_start + 4, payload));
  Result<PuffinFooter> footer = ParsePuffinFooterJson(AsText(payload));
  if (!footer) return Fail(ErrorCode::kCorruptData, "{}: {}", footer.error().message(), file.path());
  footer->footer_size_bytes = footer_size;
  for (const PuffinBlob& blob : footer->blobs) {
    if (blob.offset < 4 || blob.length < 0 || blob.offset > footer_start || blob.length > footer_start - blob.offset) {
      return Corrupt(fmt::format("blob of {} bytes at offset {} lies outside", blob.length, blob.offset), file.path());
    }
  }
  return footer;
}

Result<Bytes> ReadPuffinBlob(const io::InputFile& file, const PuffinBlob& blob) {
  const bool is_zstd = blob.compression_codec == "zstd";
  if (!is_zstd && !blob.compression_codec.empty()) {
    return Fail(ErrorCode::kNotSupported, "Puffin blobs compressed with {} cannot be read yet: {}",
                blob.compression_codec, file.path());
  }
  if (blob.offset < 0 || blob.length < 0 || blob.offset > file.size_bytes() ||
      blob.length > file.size_bytes() - blob.offset || static_cast<size_t>(blob.length) > kMaxBlobBytes) {
    return Corrupt(fmt::format("blob of {} bytes at offset {} lies outside", blob.length, blob.offset), file.path());
  }
  Bytes bytes(static_cast<size_t>(blob.length));
  FRAZIL_TRY(file.ReadAt(blob.offset, bytes));
  if (is_zstd) return DecompressZstd(bytes, file.path());
  return bytes;
}

PuffinWriter::PuffinWriter(std::unique_ptr<io::OutputFile> file) : file_(std::move(file)) {}

Status PuffinWriter::Start() {
  if (file_->bytes_written() > 0) return {};
  return file_->Append(AsBytes(kMagic));
}

Result<PuffinBlob> PuffinWriter::AddBlob(PuffinBlob metadata, ByteView bytes) {
  FRAZIL_TRY(Start());
  metadata.offset = file_->bytes_written();
  metadata.length = static_cast<int64_t>(bytes.size());
  metadata.compression_codec.clear();
  FRAZIL_TRY(file_->Append(bytes));
  blobs_.push_back(metadata);
  return metadata;
}

Result<int64_t> PuffinWriter::Finish() {
  FRAZIL_TRY(Start());
  const std::string payload = WritePuffinFooterJson(blobs_, {{"created-by", fmt::format("frazil {}", kVersion)}});
  Bytes footer;
  AppendBytes(footer, AsBytes(kMagic));
  AppendBytes(footer, AsBytes(payload));
  AppendLittle(footer, static_cast<int32_t>(payload.size()));
  AppendLittle(footer, uint32_t{0});  // flags
  AppendBytes(footer, AsBytes(kMagic));
  FRAZIL_TRY(file_->Append(footer));
  const int64_t size = file_->bytes_written();
  FRAZIL_TRY(file_->Close());
  return size;
}

}  // namespace frazil::format
