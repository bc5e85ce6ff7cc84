#include "frazil/ingest/column_buffer.h"

#include <sys/mman.h>

#include <algorithm>
#include <new>

namespace frazil::ingest {

using spec::TypeId;

namespace {

constexpr size_t kFirstCapacity = 256;
constexpr size_t kHugePage = size_t{2} << 20;
constexpr size_t kLarge = kHugePage / 2;

/// Sets or clears a bit of `bits`, which grows to hold it.
void PutBit(GrowingBytes& bits, int64_t index, bool value) {
  const auto byte = static_cast<size_t>(index >> 3);
  if (byte >= bits.size()) {
    const size_t missing = byte + 1 - bits.size();
    std::memset(bits.Extend(missing), 0, missing);
  }
  const auto mask = static_cast<std::byte>(1U << (index & 7));
  std::byte& at = bits.data()[byte];
  at = value ? at | mask : at & ~mask;
}

bool GetBit(const GrowingBytes& bits, int64_t index) {
  return (std::to_integer<unsigned>(bits.data()[index >> 3]) >> (index & 7) & 1U) != 0;
}

}  // namespace

void GrowingBytes::Grow(size_t count) {
  size_t wanted = std::max({kFirstCapacity, expected_size_, capacity_ * 2, size_ + count});
  if (wanted < kLarge) {
    auto* grown = static_cast<std::byte*>(std::realloc(data_, wanted));
    if (grown == nullptr) throw std::bad_alloc();
    data_ = grown;
  } else {
    wanted = (wanted + kHugePage - 1) / kHugePage * kHugePage;
    auto* grown = static_cast<std::byte*>(std::aligned_alloc(kHugePage, wanted));
    if (grown == nullptr) throw std::bad_alloc();
    madvise(grown, wanted, MADV_HUGEPAGE);  // a wish: without it everything is only slower
    if (size_ > 0) std::memcpy(grown, data_, size_);
    std::free(data_);
    data_ = grown;
  }
  capacity_ = wanted;
}

Result<std::unique_ptr<ColumnBuffer>> ColumnBuffer::Make(const spec::Field& field) {
  std::unique_ptr<ColumnBuffer> column(new ColumnBuffer(field));
  const auto fixed = [&](size_t width) { column->width_ = width; };
  switch (field.type.id()) {
    case TypeId::kBoolean: column->layout_ = Layout::kBits; break;
    case TypeId::kInt:
    case TypeId::kFloat:
    case TypeId::kDate: fixed(4); break;
    case TypeId::kLong:
    case TypeId::kDouble:
    case TypeId::kTime:
    case TypeId::kTimestamp:
    case TypeId::kTimestampTz:
    case TypeId::kTimestampNs:
    case TypeId::kTimestampTzNs: fixed(8); break;
    case TypeId::kDecimal:
    case TypeId::kUuid: fixed(16); break;
    case TypeId::kFixed: fixed(static_cast<size_t>(field.type.length())); break;
    case TypeId::kString:
    case TypeId::kBinary: column->layout_ = Layout::kBytes; break;
    case TypeId::kStruct: column->layout_ = Layout::kStruct; break;
    case TypeId::kList:
    case TypeId::kMap: column->layout_ = Layout::kList; break;
    case TypeId::kUnknown:
    case TypeId::kVariant:
    case TypeId::kGeometry:
    case TypeId::kGeography:
      return Fail(ErrorCode::kNotSupported, "ingest into column '{}' of type {}", field.name, field.type.ToString());
  }
  for (const spec::Field& child : field.type.fields()) {
    FRAZIL_ASSIGN(std::unique_ptr<ColumnBuffer> below, Make(child));
    column->children_.push_back(std::move(below));
  }
  column->Release();
  return column;
}

int64_t ColumnBuffer::allocated_bytes() const {
  auto bytes = static_cast<int64_t>(values_.capacity() + offsets_.capacity() + validity_.capacity());
  for (const auto& child : children_) bytes += child->allocated_bytes();
  return bytes;
}

void ColumnBuffer::MarkValidity(bool valid) { PutBit(validity_, length_, valid); }

/// All rows so far are valid.
void ColumnBuffer::StartValidity() {
  const auto bytes = static_cast<size_t>((length_ + 7) / 8);
  validity_.Cut(0);
  std::memset(validity_.Extend(bytes + 1), 0xff, bytes + 1);
}

void ColumnBuffer::AppendBoolean(bool value) {
  PutBit(values_, length_, value);
  Advance();
}

void ColumnBuffer::AppendNull() {
  if (null_count_ == 0) StartValidity();
  MarkValidity(false);
  ++null_count_;
  ++length_;
  switch (layout_) {
    case Layout::kBits: PutBit(values_, length_ - 1, false); break;
    case Layout::kFixedWidth: ExtendByZeros(); break;
    case Layout::kBytes: offsets_.Append(static_cast<int32_t>(values_.size())); break;
    case Layout::kStruct:
      for (const auto& child : children_) child->AppendFiller();
      break;
    case Layout::kList: offsets_.Append(static_cast<int32_t>(children_[0]->length())); break;
  }
}

void ColumnBuffer::AppendFiller() {
  if (!field_.required) return AppendNull();
  switch (layout_) {
    case Layout::kBits: return AppendBoolean(false);
    case Layout::kFixedWidth: ExtendByZeros(); return Advance();
    case Layout::kBytes: return AppendBytes({});
    case Layout::kStruct:
      for (const auto& child : children_) child->AppendFiller();
      return CloseStruct();
    case Layout::kList: return CloseList();
  }
}

void ColumnBuffer::AppendValue(const spec::Value& value) {
  if (spec::IsNull(value)) return AppendNull();
  if (const auto* flag = std::get_if<bool>(&value)) return AppendBoolean(*flag);
  if (const auto* number = std::get_if<int32_t>(&value)) return Append(*number);
  if (const auto* number = std::get_if<int64_t>(&value)) return Append(*number);
  if (const auto* number = std::get_if<float>(&value)) return Append(*number);
  if (const auto* number = std::get_if<double>(&value)) return Append(*number);
  if (const auto* decimal = std::get_if<spec::Decimal>(&value)) return Append(decimal->unscaled);
  if (const auto* text = std::get_if<std::string>(&value)) return AppendBytes(AsBytes(*text));
  if (const auto* uuid = std::get_if<Uuid>(&value)) return AppendFixed(ByteView(uuid->bytes()).data());
  const auto& bytes = std::get<Bytes>(value);
  if (layout_ == Layout::kBytes) return AppendBytes(bytes);
  AppendFixed(bytes.data());
}

void ColumnBuffer::CutTo(int64_t length) {
  if (null_count_ > 0) {
    for (int64_t row = length; row < length_; ++row) null_count_ -= GetBit(validity_, row) ? 0 : 1;
  }
  length_ = std::min(length_, length);
  const auto rows = static_cast<size_t>(length_);
  switch (layout_) {
    case Layout::kBits: break;
    case Layout::kFixedWidth: values_.Cut(rows * width_); break;
    case Layout::kBytes:
      offsets_.Cut((rows + 1) * sizeof(int32_t));
      values_.Cut(static_cast<size_t>(LoadLittle<int32_t>(offsets_.data() + rows * sizeof(int32_t))));
      break;
    case Layout::kStruct:
      for (const auto& child : children_) child->CutTo(length_);
      break;
    case Layout::kList:
      offsets_.Cut((rows + 1) * sizeof(int32_t));
      for (const auto& child : children_) {
        child->CutTo(LoadLittle<int32_t>(offsets_.data() + rows * sizeof(int32_t)));
      }
      break;
  }
}

ColumnBuffer::Content ColumnBuffer::Release() {
  Content content;
  content.length = std::exchange(length_, 0);
  content.null_count = std::exchange(null_count_, 0);
  // The next batch will be about as large: a little more, and it is not copied for the last rows.
  const auto give = [](GrowingBytes& bytes) {
    return std::exchange(bytes, GrowingBytes(bytes.size() + bytes.size() / 16));
  };
  content.values = give(values_);
  content.offsets = give(offsets_);
  GrowingBytes validity = give(validity_);
  if (content.null_count > 0) content.validity = std::move(validity);
  if (layout_ == Layout::kBytes || layout_ == Layout::kList) offsets_.Append(int32_t{0});
  return content;
}

}  // namespace frazil::ingest
