#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <string_view>

#include "frazil/base/bytes.h"
#include "frazil/base/result.h"
#include "frazil/format/avro_schema.h"

namespace frazil::format {

/// Reads Avro values one after another from the bytes of a block. Never reads past the end, never believes a length.
///
/// Errors stick: the first failure is kept, all later reads return zero or empty, and remaining() is 0, so that loops
/// end. Callers check ok() once a record. Views point into the block. One thread.
class AvroDecoder {
 public:
  explicit AvroDecoder(ByteView bytes)
      : position_(bytes.data()), end_(bytes.data() + bytes.size()), size_(bytes.size()) {}

  bool ok() const { return !failed_; }
  size_t remaining() const { return static_cast<size_t>(end_ - position_); }
  /// Code and text of the first failure. Only when !ok().
  ErrorCode error_code() const { return error_code_; }
  const std::string& error_text() const { return error_text_; }

  bool ReadBoolean();
  int32_t ReadInt() {
    const int64_t value = ReadLong();
    if (value < std::numeric_limits<int32_t>::min() || value > std::numeric_limits<int32_t>::max()) {
      return FailOutside32Bits(value);
    }
    return static_cast<int32_t>(value);
  }
  int64_t ReadLong() {
    if (position_ != end_ && std::to_integer<unsigned>(*position_) < 0x80) {
      const auto zigzag = std::to_integer<uint64_t>(*position_++);
      return static_cast<int64_t>((zigzag >> 1) ^ (~(zigzag & 1) + 1));
    }
    return ReadLongOfBytes();
  }
  float ReadFloat();
  double ReadDouble();
  ByteView ReadBytes() {
    // A negative length is a huge one.
    const auto length = static_cast<uint64_t>(ReadLong());
    if (length > remaining()) return FailPastEnd(static_cast<int64_t>(length));
    ByteView raw(position_, length);
    position_ += length;
    return raw;
  }
  std::string_view ReadString() { return AsText(ReadBytes()); }
  ByteView ReadFixed(size_t size);
  /// Index of a union's branch, below `num_branches`.
  size_t ReadBranch(size_t num_branches) {
    const auto branch = static_cast<uint64_t>(ReadLong());
    return branch < num_branches ? branch : FailNoBranch(static_cast<int64_t>(branch));
  }

  /// Number of items in the next block of an array or map; 0 after the last. A count that cannot fit into the remaining
  /// bytes fails, so the caller may loop over it. `min_item_size` >= 1.
  int64_t ReadItemCount(int64_t min_item_size);

  /// Calls `read_item` for each item of an array of `item`s.
  template <typename ReadItem>
  void ReadArray(const AvroNode& item, ReadItem read_item) {
    while (int64_t count = ReadItemCount(item.min_size_bytes)) {
      for (; count > 0 && ok(); --count) read_item();
    }
  }

  /// Passes over a value of any kind.
  void Skip(const AvroNode& node);

  void FailWith(ErrorCode code, std::string text);

 private:
  int64_t ReadLongOfBytes();
  int32_t FailOutside32Bits(int64_t value);
  ByteView FailPastEnd(int64_t length);
  size_t FailNoBranch(int64_t branch);
  void SkipItems(const AvroNode& item, bool with_keys);

  const std::byte* position_;
  const std::byte* end_;
  size_t size_;
  bool failed_ = false;
  ErrorCode error_code_ = ErrorCode::kCorruptData;
  std::string error_text_;
};

}  // namespace frazil::format
