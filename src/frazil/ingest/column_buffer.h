#pragma once

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <utility>
#include <vector>

#include "frazil/base/bytes.h"
#include "frazil/base/result.h"
#include "frazil/spec/type.h"

namespace frazil::ingest {

/// Bytes that grow by doubling and can be given away without a copy. Large ones ask for huge pages: touching memory for the
/// first time costs as much as decoding into it.
class GrowingBytes {
 public:
  /// The first allocation is of `expected_size`, e.g. that of the batch before.
  explicit GrowingBytes(size_t expected_size = 0) : expected_size_(expected_size) {}
  ~GrowingBytes() { std::free(data_); }
  GrowingBytes(const GrowingBytes&) = delete;
  GrowingBytes& operator=(const GrowingBytes&) = delete;
  GrowingBytes(GrowingBytes&& other) noexcept { Swap(other); }
  GrowingBytes& operator=(GrowingBytes&& other) noexcept {
    Swap(other);
    return *this;
  }

  const std::byte* data() const { return data_; }
  std::byte* data() { return data_; }
  size_t size() const { return size_; }
  size_t capacity() const { return capacity_; }

  /// Room for `count` more bytes, whose content the caller writes.
  std::byte* Extend(size_t count) {
    if (capacity_ - size_ < count) Grow(count);
    std::byte* at = data_ + size_;
    size_ += count;
    return at;
  }
  template <typename T>
  void Append(T value) {
    std::memcpy(Extend(sizeof(T)), &value, sizeof(T));
  }
  /// Cuts to `size` bytes, which must be there.
  void Cut(size_t size) { size_ = size; }

 private:
  void Swap(GrowingBytes& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
    std::swap(capacity_, other.capacity_);
    std::swap(expected_size_, other.expected_size_);
  }
  void Grow(size_t count);

  std::byte* data_ = nullptr;
  size_t size_ = 0;
  size_t capacity_ = 0;
  size_t expected_size_ = 0;
};

/// A column under construction in Arrow's layout, nested ones included, that can be cut back to an earlier length: a record
/// that turns out to be poison half-way leaves nothing behind.
///
/// Knows no Arrow (column_array.h makes the array), so that the decoders that fill it can be fuzzed alone. The caller picks
/// the append that fits the column's type and keeps a column below 2 GiB of text and 2^31 items. One thread.
class ColumnBuffer {
 public:
  enum class Layout : uint8_t { kBits, kFixedWidth, kBytes, kStruct, kList };

  /// `type` is a column's, with the nullability of its children. kNotSupported for unknown, variant and geo types.
  static Result<std::unique_ptr<ColumnBuffer>> Make(const spec::Field& field);

  const spec::Field& field() const { return field_; }
  Layout layout() const { return layout_; }
  int64_t length() const { return length_; }
  int64_t null_count() const { return null_count_; }
  /// Bytes allocated, children included.
  int64_t allocated_bytes() const;

  /// int32: int, date. int64: long, time, timestamps. float, double. Int128: decimal.
  template <typename T>
  void Append(T value) {
    values_.Append(value);
    Advance();
  }
  void AppendBoolean(bool value);
  /// string (UTF-8, the caller's to check), binary.
  void AppendBytes(ByteView bytes) {
    if (!bytes.empty()) std::memcpy(values_.Extend(bytes.size()), bytes.data(), bytes.size());
    offsets_.Append(static_cast<int32_t>(values_.size()));
    Advance();
  }
  /// uuid, fixed: exactly as many bytes as the type has.
  void AppendFixed(const std::byte* bytes) {
    if (width_ > 0) std::memcpy(values_.Extend(width_), bytes, width_);
    Advance();
  }
  /// What AppendBytes took; the view lives until the next append.
  ByteView bytes_at(int64_t row) const {
    const std::byte* offset = offsets_.data() + static_cast<size_t>(row) * sizeof(int32_t);
    const auto begin = static_cast<size_t>(LoadLittle<int32_t>(offset));
    return {values_.data() + begin, static_cast<size_t>(LoadLittle<int32_t>(offset + sizeof(int32_t))) - begin};
  }
  void AppendNull();
  /// A slot whose content nobody reads: null where the column may be null, else zero or empty.
  void AppendFiller();
  /// A value of the column's type as spec::Value has it (ValueFits); null as well.
  void AppendValue(const spec::Value& value);

  /// Nested: fill the children (struct: one value each; list and map: some items), then close the row.
  void CloseStruct() { Advance(); }
  void CloseList() {
    offsets_.Append(static_cast<int32_t>(children_[0]->length()));
    Advance();
  }
  /// Struct: field i. List: 0 the element. Map: 0 the key, 1 the value.
  ColumnBuffer& child(size_t i) { return *children_[i]; }
  const ColumnBuffer& child(size_t i) const { return *children_[i]; }
  size_t num_children() const { return children_.size(); }

  /// Forgets all rows from `length` on, and what a row under construction has left in children.
  void CutTo(int64_t length);

  /// What was built, given away: the buffer is as new. `values` of kBits are bits; `offsets` are int32, one more than rows;
  /// `validity` is empty without nulls.
  struct Content {
    int64_t length = 0;
    int64_t null_count = 0;
    GrowingBytes values, offsets, validity;
  };
  Content Release();

 private:
  explicit ColumnBuffer(const spec::Field& field) : field_(field) {}
  void Advance() {
    if (null_count_ > 0) MarkValidity(true);
    ++length_;
  }
  void MarkValidity(bool valid);
  void StartValidity();
  void ExtendByZeros() {
    if (width_ > 0) std::memset(values_.Extend(width_), 0, width_);
  }

  spec::Field field_;
  Layout layout_ = Layout::kFixedWidth;
  size_t width_ = 0;  // kFixedWidth: bytes a value
  int64_t length_ = 0;
  int64_t null_count_ = 0;
  GrowingBytes values_, offsets_;
  GrowingBytes validity_;  // kept from the first null on
  std::vector<std::unique_ptr<ColumnBuffer>> children_;
};

}  // namespace frazil::ingest
