#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "frazil/base/bytes.h"
#include "frazil/base/result.h"

namespace frazil::table {

/// Adjoining rows of a source that was carried in order, which lie adjoining in an output.
struct RowSegment {
  int64_t ordinal = 0;  ///< of the first row among the source's rows that were not dropped
  int64_t length = 0;   ///< at least 1
  uint32_t output = 0;
  int64_t start = 0;  ///< of the first row in the output
  int64_t end() const { return start + length; }
  bool operator==(const RowSegment&) const = default;
};

/// Encodes the segments of one source, ascending; those that adjoin become one.
///
/// Each is a varint (length << 1 | jumps), then two varints (output, start) where it jumps, else one: the gap after the
/// previous segment, in the same output. A dense merge of sorted files so costs about two bytes a run.
class RowSegmentWriter {
 public:
  void Add(uint32_t output, int64_t start, int64_t length);
  /// Rows added.
  int64_t num_rows() const { return next_.ordinal + next_.length; }
  /// Ends the last segment.
  const Bytes& Finish();

 private:
  Bytes bytes_;
  RowSegment next_;  ///< not yet encoded; length 0: none
  uint32_t output_ = 0;
  int64_t end_ = 0;
};

/// The segments of one source, searched in their encoded form: a mark every few segments, and decoding from there. The
/// bytes must outlive it. Immutable; thread-safe.
class RowSegments {
 public:
  RowSegments() = default;
  /// kCorruptData (without a path): not that encoding, or rows beyond `num_rows` or 2^40. `num_rows`: of the source that
  /// were not dropped; there must be exactly so many.
  static Result<RowSegments> Decode(ByteView bytes, int64_t num_rows);

  /// Walks the segments in order. One thread a cursor.
  class Cursor {
   public:
    explicit Cursor(const RowSegments& segments) : segments_(segments) {}
    /// Moves to the next segment; false at the end.
    bool Next();
    /// Moves to the segment that holds an ordinal, which is at or after the current one's and below the number of rows.
    const RowSegment& Seek(int64_t ordinal);
    const RowSegment& segment() const { return segment_; }

   private:
    const RowSegments& segments_;
    RowSegment segment_;
    size_t offset_ = 0;
  };

  int64_t memory_bytes() const { return static_cast<int64_t>(marks_.capacity() * sizeof(Mark)); }

 private:
  /// The state before a segment.
  struct Mark {
    RowSegment previous;
    size_t offset = 0;
  };
  static constexpr size_t kSegmentsPerMark = 32;

  ByteView bytes_;
  std::vector<Mark> marks_;
};

}  // namespace frazil::table
