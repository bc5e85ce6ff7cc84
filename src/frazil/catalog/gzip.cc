#include "frazil/catalog/gzip.h"

#include <algorithm>
#include <limits>

#include <zlib.h>

namespace frazil::catalog {
namespace {

constexpr int kGzipWindowBits = 15 + 16;  // zlib: 16 more means a gzip header and trailer

struct Inflater {
  z_stream stream{};
  ~Inflater() { inflateEnd(&stream); }
};

Bytef* ZlibBytes(const std::byte* bytes) {
  return const_cast<Bytef*>(reinterpret_cast<const Bytef*>(bytes));  // zlib's next_in is not const in its C interface
}

}  // namespace

bool IsGzip(ByteView bytes) { return bytes.size() >= 2 && bytes[0] == std::byte{0x1f} && bytes[1] == std::byte{0x8b}; }

Result<Bytes> Gzip(ByteView bytes) {
  if (bytes.size() > std::numeric_limits<uInt>::max()) {
    return Fail(ErrorCode::kResourceExhausted, "too many bytes for one gzip: {}", bytes.size());
  }
  z_stream stream{};
  if (deflateInit2(&stream, Z_DEFAULT_COMPRESSION, Z_DEFLATED, kGzipWindowBits, 8, Z_DEFAULT_STRATEGY) != Z_OK) {
    return Fail(ErrorCode::kResourceExhausted, "no memory for gzip");
  }
  Bytes packed(deflateBound(&stream, bytes.size()));
  stream.next_in = ZlibBytes(bytes.data());
  stream.avail_in = static_cast<uInt>(bytes.size());
  stream.next_out = reinterpret_cast<Bytef*>(packed.data());
  stream.avail_out = static_cast<uInt>(packed.size());
  const int result = deflate(&stream, Z_FINISH);
  packed.resize(stream.total_out);
  deflateEnd(&stream);
  if (result != Z_STREAM_END) return Fail(ErrorCode::kInternal, "gzip failed with code {}", result);
  return packed;
}

Result<Bytes> Gunzip(ByteView bytes, int64_t max_bytes, const std::string& path) {
  if (bytes.size() > std::numeric_limits<uInt>::max()) {
    return Fail(ErrorCode::kResourceExhausted, "gzip file too large: {} bytes: {}", bytes.size(), path);
  }
  Inflater inflater;
  z_stream& stream = inflater.stream;
  if (inflateInit2(&stream, kGzipWindowBits) != Z_OK) {
    return Fail(ErrorCode::kResourceExhausted, "no memory to undo gzip: {}", path);
  }
  stream.next_in = ZlibBytes(bytes.data());
  stream.avail_in = static_cast<uInt>(bytes.size());

  Bytes out;
  Bytes chunk(std::min<size_t>(1 << 20, static_cast<size_t>(max_bytes) + 1));
  while (true) {
    stream.next_out = reinterpret_cast<Bytef*>(chunk.data());
    stream.avail_out = static_cast<uInt>(chunk.size());
    const int result = inflate(&stream, Z_NO_FLUSH);
    AppendBytes(out, ByteView(chunk.data(), chunk.size() - stream.avail_out));
    if (static_cast<int64_t>(out.size()) > max_bytes) {
      return Fail(ErrorCode::kResourceExhausted, "gzip unpacks to more than the limit of {} bytes: {}", max_bytes,
                  path);
    }
    if (result == Z_STREAM_END) {
      if (stream.avail_in == 0) return out;
      if (inflateReset(&stream) != Z_OK) return Fail(ErrorCode::kInternal, "zlib cannot start again: {}", path);
      continue;
    }
    if (result == Z_BUF_ERROR || (result == Z_OK && stream.avail_in == 0 && stream.avail_out != 0)) {
      return Fail(ErrorCode::kCorruptData, "gzip file ends early: {}", path);
    }
    if (result != Z_OK) {
      return Fail(ErrorCode::kCorruptData, "gzip is damaged ({}): {}", stream.msg != nullptr ? stream.msg : "no text",
                  path);
    }
  }
}

}  // namespace frazil::catalog
