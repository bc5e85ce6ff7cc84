#pragma once

#include <optional>
#include <string_view>

#include "frazil/base/bytes.h"
#include "frazil/base/result.h"

namespace frazil::format {

/// How the blocks of an Avro container are compressed (spec section 3.2).
enum class AvroCodec { kNull, kDeflate, kZstandard, kSnappy };

/// "deflate", ...: values of the container's key `avro.codec`.
std::string_view AvroCodecName(AvroCodec codec);
/// kNotSupported for codecs that we do not read (bzip2, xz, ...).
Result<AvroCodec> AvroCodecOfName(std::string_view name);

/// "gzip" -> deflate, "zstd" -> zstandard, "uncompressed" -> null, "snappy": values of
/// `write.manifest.compression-codec`, in any case. kInvalidArgument for others.
Result<AvroCodec> ParseAvroCodec(std::string_view property);

/// Appends the compressed block to `out`. `level`: none = the codec's default; deflate 1 to 9, zstandard 1 to 22.
Status CompressAvroBlock(AvroCodec codec, std::optional<int> level, ByteView block, Bytes& out);

/// Replaces `out` by the block's content. kCorruptData when it is damaged or larger than `max_bytes`; memory grows with
/// what is really there.
Status DecompressAvroBlock(AvroCodec codec, ByteView compressed, size_t max_bytes, Bytes& out);

}  // namespace frazil::format
