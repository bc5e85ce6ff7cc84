#include "frazil/table/row_map_segments.h"

#include <algorithm>
#include <limits>

#include "frazil/table/row_map.h"

namespace frazil::table {
namespace {

void AppendVarint(Bytes& out, uint64_t value) {
  for (; value >= 0x80; value >>= 7) out.push_back(static_cast<std::byte>(value | 0x80));
  out.push_back(static_cast<std::byte>(value));
}

/// Of bytes that Decode() has checked.
uint64_t LoadVarint(ByteView bytes, size_t& offset) {
  uint64_t value = 0;
  for (int shift = 0;; shift += 7) {
    const auto byte = std::to_integer<uint64_t>(bytes[offset++]);
    value |= (byte & 0x7f) << shift;
    if (byte < 0x80) return value;
  }
}

/// Of any bytes; false when they end or the value needs more than 63 bits.
bool ReadVarint(ByteView bytes, size_t& offset, uint64_t& value) {
  value = 0;
  for (int shift = 0; shift < 63; shift += 7) {
    if (offset == bytes.size()) return false;
    const auto byte = std::to_integer<uint64_t>(bytes[offset++]);
    value |= (byte & 0x7f) << shift;
    if (byte < 0x80) return true;
  }
  return false;
}

/// Decodes the segment after `segment`.
void Advance(ByteView bytes, size_t& offset, RowSegment& segment) {
  const uint64_t head = LoadVarint(bytes, offset);
  segment.ordinal += segment.length;
  if ((head & 1) != 0) {
    segment.output = static_cast<uint32_t>(LoadVarint(bytes, offset));
    segment.start = static_cast<int64_t>(LoadVarint(bytes, offset));
  } else {
    segment.start = segment.end() + static_cast<int64_t>(LoadVarint(bytes, offset));
  }
  segment.length = static_cast<int64_t>(head >> 1);
}

auto Corrupt(std::string_view what) { return Fail(ErrorCode::kCorruptData, "segments {}", what); }

}  // namespace

void RowSegmentWriter::Add(uint32_t output, int64_t start, int64_t length) {
  if (length == 0) return;
  if (next_.length > 0 && next_.output == output && next_.end() == start) {
    next_.length += length;
    return;
  }
  Finish();
  next_ = {.ordinal = num_rows(), .length = length, .output = output, .start = start};
}

const Bytes& RowSegmentWriter::Finish() {
  if (next_.length == 0) return bytes_;
  const bool jumps = next_.output != output_ || next_.start < end_;
  AppendVarint(bytes_, static_cast<uint64_t>(next_.length) << 1 | (jumps ? 1 : 0));
  if (jumps) AppendVarint(bytes_, next_.output);
  AppendVarint(bytes_, static_cast<uint64_t>(jumps ? next_.start : next_.start - end_));
  output_ = next_.output;
  end_ = next_.end();
  next_ = {.ordinal = num_rows()};
  return bytes_;
}

Result<RowSegments> RowSegments::Decode(ByteView bytes, int64_t num_rows) {
  RowSegments segments;
  segments.bytes_ = bytes;
  RowSegment segment;
  size_t offset = 0;
  for (size_t count = 0; offset < bytes.size(); ++count) {
    if (count % kSegmentsPerMark == 0) segments.marks_.push_back({segment, offset});
    const RowSegment previous = segment;
    size_t end = offset;
    uint64_t head = 0;
    uint64_t first = 0;
    uint64_t second = 0;
    if (!ReadVarint(bytes, end, head) || !ReadVarint(bytes, end, first)) return Corrupt("are cut off");
    const bool jumps = (head & 1) != 0;
    if (jumps && !ReadVarint(bytes, end, second)) return Corrupt("are cut off");
    if (jumps && first > std::numeric_limits<uint32_t>::max()) return Corrupt("name an output that is not there");
    constexpr auto kMost = static_cast<uint64_t>(RowMap::kMaxRecords);
    const auto left = static_cast<uint64_t>(num_rows - previous.ordinal - previous.length);
    if (head >> 1 == 0 || head >> 1 > left) return Corrupt("hold another number of rows than the source");
    if (first > kMost || second > kMost) return Corrupt("lie outside of any file");
    Advance(bytes, offset, segment);
    if (segment.end() > RowMap::kMaxRecords) return Corrupt("lie outside of any file");
  }
  if (segment.ordinal + segment.length != num_rows) return Corrupt("hold another number of rows than the source");
  return segments;
}

bool RowSegments::Cursor::Next() {
  if (offset_ == segments_.bytes_.size()) return false;
  Advance(segments_.bytes_, offset_, segment_);
  return true;
}

const RowSegment& RowSegments::Cursor::Seek(int64_t ordinal) {
  const auto is_behind = [&] { return ordinal >= segment_.ordinal + segment_.length; };
  for (size_t steps = 0; steps < kSegmentsPerMark && is_behind(); ++steps) {
    Advance(segments_.bytes_, offset_, segment_);
  }
  if (!is_behind()) return segment_;
  // Far away: from the last mark before it.
  const auto after = std::upper_bound(
      segments_.marks_.begin(), segments_.marks_.end(), ordinal,
      [](int64_t value, const Mark& mark) { return value < mark.previous.ordinal + mark.previous.length; });
  const Mark& mark = *std::prev(after);
  if (mark.offset > offset_) {
    segment_ = mark.previous;
    offset_ = mark.offset;
  }
  while (is_behind()) Advance(segments_.bytes_, offset_, segment_);
  return segment_;
}

}  // namespace frazil::table
