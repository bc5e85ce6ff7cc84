#pragma once

#include <cstdint>
#include <string_view>

#include "frazil/base/bytes.h"

namespace frazil::format {

/// Appends Avro values to a buffer, in the order of the schema's fields. One thread.
class AvroEncoder {
 public:
  explicit AvroEncoder(Bytes& out) : out_(out) {}

  void Boolean(bool value) { out_.push_back(value ? std::byte{1} : std::byte{0}); }
  void Int(int32_t value) { Long(value); }
  void Long(int64_t value) {
    uint64_t zigzag = (static_cast<uint64_t>(value) << 1) ^ static_cast<uint64_t>(value >> 63);
    for (; zigzag >= 0x80; zigzag >>= 7) out_.push_back(static_cast<std::byte>(zigzag | 0x80));
    out_.push_back(static_cast<std::byte>(zigzag));
  }
  void Float(float value) { AppendLittle(out_, value); }
  void Double(double value) { AppendLittle(out_, value); }
  void Raw(ByteView value) { AppendBytes(out_, value); }
  void BytesValue(ByteView value) {
    Long(static_cast<int64_t>(value.size()));
    Raw(value);
  }
  void String(std::string_view value) { BytesValue(AsBytes(value)); }

  // Iceberg's optional fields are unions with null first.
  void Null() { Long(0); }
  void Present() { Long(1); }

  /// An array or map as one block. `items` is any container; `write_item` gets each.
  template <typename Items, typename WriteItem>
  void Array(const Items& items, WriteItem write_item) {
    if (!items.empty()) {
      Long(static_cast<int64_t>(items.size()));
      for (const auto& item : items) write_item(item);
    }
    Long(0);
  }

 private:
  Bytes& out_;
};

}  // namespace frazil::format
