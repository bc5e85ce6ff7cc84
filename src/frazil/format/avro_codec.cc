#include "frazil/format/avro_codec.h"

#include <algorithm>
#include <cctype>
#include <memory>
#include <string>

#include <snappy.h>
#include <zlib.h>
#include <zstd.h>

#include "frazil/base/hash.h"

namespace frazil::format {
namespace {

constexpr int kDefaultDeflateLevel = 6;
constexpr int kDefaultZstdLevel = 3;
constexpr size_t kFirstOutputBytes = size_t{64} << 10;

tl::unexpected<Error> TooLarge(size_t max_bytes) {
  return Fail(ErrorCode::kCorruptData, "Avro block expands to more bytes than allowed: {}", max_bytes);
}

/// Makes room for more output, up to one byte above the limit so that "just fits" and "too large" differ.
bool Grow(Bytes& out, size_t max_bytes) {
  if (out.size() > max_bytes) return false;
  out.resize(std::min(max_bytes + 1, std::max(kFirstOutputBytes, out.size() * 2)));
  return true;
}

Status Deflate(std::optional<int> level, ByteView block, Bytes& out) {
  z_stream stream{};
  // Negative window bits: raw deflate without zlib's header, as Avro wants it.
  if (deflateInit2(&stream, level.value_or(kDefaultDeflateLevel), Z_DEFLATED, -15, 8, Z_DEFAULT_STRATEGY) != Z_OK) {
    return Fail(ErrorCode::kInvalidArgument, "deflate level must be between 1 and 9: {}",
                level.value_or(kDefaultDeflateLevel));
  }
  const size_t begin = out.size();
  out.resize(begin + deflateBound(&stream, block.size()));
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<std::byte*>(block.data()));
  stream.avail_in = static_cast<uInt>(block.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data() + begin);
  stream.avail_out = static_cast<uInt>(out.size() - begin);
  int code = deflate(&stream, Z_FINISH);
  out.resize(out.size() - stream.avail_out);
  deflateEnd(&stream);
  if (code != Z_STREAM_END) return Fail(ErrorCode::kInternal, "deflate failed with code: {}", code);
  return {};
}

Status Inflate(ByteView compressed, size_t max_bytes, Bytes& out) {
  z_stream stream{};
  if (inflateInit2(&stream, -15) != Z_OK) return Fail(ErrorCode::kInternal, "inflate cannot be started");
  std::unique_ptr<z_stream, int (*)(z_stream*)> guard(&stream, inflateEnd);
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<std::byte*>(compressed.data()));
  stream.avail_in = static_cast<uInt>(compressed.size());
  out.clear();
  size_t used = 0;
  int code = Z_OK;
  while (code != Z_STREAM_END) {
    if (used == out.size() && !Grow(out, max_bytes)) return TooLarge(max_bytes);
    stream.next_out = reinterpret_cast<Bytef*>(out.data() + used);
    stream.avail_out = static_cast<uInt>(out.size() - used);
    code = inflate(&stream, Z_NO_FLUSH);
    used = out.size() - stream.avail_out;
    if (code != Z_OK && code != Z_STREAM_END) {
      return Fail(ErrorCode::kCorruptData, "Avro block is not valid deflate data");
    }
    if (code == Z_OK && stream.avail_in == 0 && stream.avail_out != 0) {
      return Fail(ErrorCode::kCorruptData, "Avro block ends within its deflate data");
    }
  }
  if (used > max_bytes) return TooLarge(max_bytes);
  out.resize(used);
  return {};
}

Status ZstdCompress(std::optional<int> level, ByteView block, Bytes& out) {
  const size_t begin = out.size();
  out.resize(begin + ZSTD_compressBound(block.size()));
  size_t size = ZSTD_compress(out.data() + begin, out.size() - begin, block.data(), block.size(),
                              level.value_or(kDefaultZstdLevel));
  if (ZSTD_isError(size)) return Fail(ErrorCode::kInternal, "zstandard failed: {}", ZSTD_getErrorName(size));
  out.resize(begin + size);
  return {};
}

Status ZstdDecompress(ByteView compressed, size_t max_bytes, Bytes& out) {
  std::unique_ptr<ZSTD_DCtx, size_t (*)(ZSTD_DCtx*)> context(ZSTD_createDCtx(), ZSTD_freeDCtx);
  if (context == nullptr) return Fail(ErrorCode::kInternal, "zstandard cannot be started");
  // A frame may ask for a window of gigabytes; none needs to look further back than the largest block we take (64 MiB).
  ZSTD_DCtx_setParameter(context.get(), ZSTD_d_windowLogMax, 26);
  out.clear();
  ZSTD_inBuffer input{compressed.data(), compressed.size(), 0};
  size_t used = 0;
  size_t wanted = 0;
  while (true) {
    if (used == out.size() && !Grow(out, max_bytes)) return TooLarge(max_bytes);
    ZSTD_outBuffer output{out.data(), out.size(), used};
    wanted = ZSTD_decompressStream(context.get(), &output, &input);
    if (ZSTD_isError(wanted)) {
      return Fail(ErrorCode::kCorruptData, "Avro block is not valid zstandard data: {}", ZSTD_getErrorName(wanted));
    }
    const bool room_left = output.pos < output.size;
    used = output.pos;
    if (input.pos == input.size && room_left) break;
  }
  if (wanted != 0) return Fail(ErrorCode::kCorruptData, "Avro block ends within its zstandard data");
  if (used > max_bytes) return TooLarge(max_bytes);
  out.resize(used);
  return {};
}

Status SnappyCompress(ByteView block, Bytes& out) {
  const size_t begin = out.size();
  out.resize(begin + snappy::MaxCompressedLength(block.size()));
  size_t size = 0;
  snappy::RawCompress(reinterpret_cast<const char*>(block.data()), block.size(),
                      reinterpret_cast<char*>(out.data() + begin), &size);
  out.resize(begin + size);
  AppendBig<uint32_t>(out, Crc32(block));
  return {};
}

Status SnappyDecompress(ByteView compressed, size_t max_bytes, Bytes& out) {
  if (compressed.size() < 4) return Fail(ErrorCode::kCorruptData, "Avro block too short for snappy's checksum");
  ByteView data = compressed.first(compressed.size() - 4);
  const auto* text = reinterpret_cast<const char*>(data.data());
  size_t size = 0;
  if (!snappy::GetUncompressedLength(text, data.size(), &size)) {
    return Fail(ErrorCode::kCorruptData, "Avro block is not valid snappy data");
  }
  if (size > max_bytes) return TooLarge(max_bytes);
  out.resize(size);
  if (!snappy::RawUncompress(text, data.size(), reinterpret_cast<char*>(out.data()))) {
    return Fail(ErrorCode::kCorruptData, "Avro block is not valid snappy data");
  }
  if (Crc32(out) != LoadBig<uint32_t>(compressed.data() + data.size())) {
    return Fail(ErrorCode::kCorruptData, "Avro block does not match its snappy checksum");
  }
  return {};
}

}  // namespace

std::string_view AvroCodecName(AvroCodec codec) {
  switch (codec) {
    case AvroCodec::kNull: return "null";
    case AvroCodec::kDeflate: return "deflate";
    case AvroCodec::kZstandard: return "zstandard";
    case AvroCodec::kSnappy: return "snappy";
  }
  return "?";
}

Result<AvroCodec> AvroCodecOfName(std::string_view name) {
  for (AvroCodec codec : {AvroCodec::kNull, AvroCodec::kDeflate, AvroCodec::kZstandard, AvroCodec::kSnappy}) {
    if (name == AvroCodecName(codec)) return codec;
  }
  return Fail(ErrorCode::kNotSupported, "Avro codec: {}", name);
}

Result<AvroCodec> ParseAvroCodec(std::string_view property) {
  std::string lower(property);
  std::transform(lower.begin(), lower.end(), lower.begin(), [](unsigned char c) { return std::tolower(c); });
  if (lower == "gzip") return AvroCodec::kDeflate;
  if (lower == "zstd") return AvroCodec::kZstandard;
  if (lower == "uncompressed") return AvroCodec::kNull;
  if (lower == "snappy") return AvroCodec::kSnappy;
  return Fail(ErrorCode::kInvalidArgument, "manifest compression codec must be gzip, zstd, snappy or uncompressed: {}",
              property);
}

Status CompressAvroBlock(AvroCodec codec, std::optional<int> level, ByteView block, Bytes& out) {
  switch (codec) {
    case AvroCodec::kNull: AppendBytes(out, block); return {};
    case AvroCodec::kDeflate: return Deflate(level, block, out);
    case AvroCodec::kZstandard: return ZstdCompress(level, block, out);
    case AvroCodec::kSnappy: return SnappyCompress(block, out);
  }
  return Fail(ErrorCode::kInternal, "unknown Avro codec");
}

Status DecompressAvroBlock(AvroCodec codec, ByteView compressed, size_t max_bytes, Bytes& out) {
  switch (codec) {
    case AvroCodec::kNull: out.assign(compressed.begin(), compressed.end()); return {};
    case AvroCodec::kDeflate: return Inflate(compressed, max_bytes, out);
    case AvroCodec::kZstandard: return ZstdDecompress(compressed, max_bytes, out);
    case AvroCodec::kSnappy: return SnappyDecompress(compressed, max_bytes, out);
  }
  return Fail(ErrorCode::kInternal, "unknown Avro codec");
}

}  // namespace frazil::format
