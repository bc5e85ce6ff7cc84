#include "frazil/format/avro_decoder.h"

#include <algorithm>
#include <limits>

namespace frazil::format {

void AvroDecoder::FailWith(ErrorCode code, std::string text) {
  if (failed_) return;
  failed_ = true;
  error_code_ = code;
  error_text_ = fmt::format("{} (at byte {} of the block)", text, size_ - remaining());
  position_ = end_;
}

int64_t AvroDecoder::ReadLongOfBytes() {
  constexpr std::ptrdiff_t kMostBytes = 10;
  // A copy of the position stays in a register.
  const std::byte* at = position_;
  const std::byte* const end = end_ - at < kMostBytes ? end_ : at + kMostBytes;
  uint64_t zigzag = 0;
  for (int shift = 0; at != end; shift += 7) {
    const auto byte = std::to_integer<uint64_t>(*at++);
    if (shift == 63 && byte > 1) break;
    zigzag |= (byte & 0x7F) << shift;
    if (byte < 0x80) {
      position_ = at;
      return static_cast<int64_t>((zigzag >> 1) ^ (~(zigzag & 1) + 1));
    }
  }
  const bool is_cut_off = at == end_ && at - position_ < kMostBytes;
  position_ = at;
  FailWith(ErrorCode::kCorruptData, is_cut_off ? "Avro block ends within a number" : "Avro number longer than 64 bits");
  return 0;
}

int32_t AvroDecoder::FailOutside32Bits(int64_t value) {
  FailWith(ErrorCode::kCorruptData, fmt::format("Avro int outside 32 bits: {}", value));
  return 0;
}

ByteView AvroDecoder::FailPastEnd(int64_t length) {
  if (length < 0) {
    FailWith(ErrorCode::kCorruptData, fmt::format("Avro bytes of negative length: {}", length));
  } else {
    FailWith(ErrorCode::kCorruptData, fmt::format("Avro value reaches past the end of its block: {} bytes", length));
  }
  return {};
}

size_t AvroDecoder::FailNoBranch(int64_t branch) {
  FailWith(ErrorCode::kCorruptData, fmt::format("Avro union has no such branch: {}", branch));
  return 0;
}

bool AvroDecoder::ReadBoolean() {
  ByteView raw = ReadFixed(1);
  if (raw.empty()) return false;
  auto byte = std::to_integer<unsigned>(raw[0]);
  if (byte > 1) FailWith(ErrorCode::kCorruptData, fmt::format("Avro boolean is neither 0 nor 1: {}", byte));
  return byte == 1;
}

float AvroDecoder::ReadFloat() {
  ByteView raw = ReadFixed(4);
  return raw.empty() ? 0 : LoadLittle<float>(raw.data());
}

double AvroDecoder::ReadDouble() {
  ByteView raw = ReadFixed(8);
  return raw.empty() ? 0 : LoadLittle<double>(raw.data());
}

ByteView AvroDecoder::ReadFixed(size_t size) {
  if (size > remaining()) return FailPastEnd(static_cast<int64_t>(size));
  ByteView raw(position_, size);
  position_ += size;
  return raw;
}

int64_t AvroDecoder::ReadItemCount(int64_t min_item_size) {
  int64_t count = ReadLong();
  if (count < 0) {
    // A negative count is followed by the block's size in bytes, which nobody needs who reads the items anyway.
    int64_t block_bytes = ReadLong();
    if (count == std::numeric_limits<int64_t>::min() || block_bytes < 0) {
      FailWith(ErrorCode::kCorruptData, "Avro array block with an impossible size");
      return 0;
    }
    count = -count;
  }
  auto limit = static_cast<int64_t>(remaining()) / std::max<int64_t>(1, min_item_size);
  if (count > limit) {
    FailWith(ErrorCode::kCorruptData, fmt::format("Avro array of more items than its block can hold: {}", count));
    return 0;
  }
  return count;
}

void AvroDecoder::SkipItems(const AvroNode& item, bool with_keys) {
  const int64_t min_size = item.min_size_bytes + (with_keys ? 1 : 0);
  if (min_size == 0) {
    // Items without bytes: only the counts are there, and nothing is to be done for each.
    while (ok()) {
      int64_t count = ReadLong();
      if (count < 0) ReadLong();
      if (count == 0) return;
    }
    return;
  }
  while (int64_t count = ReadItemCount(min_size)) {
    for (; count > 0 && ok(); --count) {
      if (with_keys) ReadBytes();
      Skip(item);
    }
  }
}

void AvroDecoder::Skip(const AvroNode& node) {
  switch (node.kind) {
    case AvroKind::kNull: return;
    case AvroKind::kBoolean: ReadBoolean(); return;
    case AvroKind::kInt:
    case AvroKind::kLong:
    case AvroKind::kEnum: ReadLong(); return;
    case AvroKind::kFloat: ReadFixed(4); return;
    case AvroKind::kDouble: ReadFixed(8); return;
    case AvroKind::kBytes:
    case AvroKind::kString: ReadBytes(); return;
    case AvroKind::kFixed: ReadFixed(static_cast<size_t>(node.fixed_size)); return;
    case AvroKind::kArray: SkipItems(*node.children[0], false); return;
    case AvroKind::kMap: SkipItems(*node.children[0], true); return;
    case AvroKind::kUnion: {
      size_t branch = ReadBranch(node.children.size());
      if (ok()) Skip(*node.children[branch]);
      return;
    }
    case AvroKind::kRecord:
      // Named types may be used again and again: without this, thirty nested pairs of empty records take 2^30 steps.
      if (node.min_size_bytes == 0) return;
      for (const AvroField& field : node.fields) {
        if (!ok()) return;
        Skip(*field.type);
      }
      return;
  }
}

}  // namespace frazil::format
