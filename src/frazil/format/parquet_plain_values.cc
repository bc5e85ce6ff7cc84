#include "frazil/format/parquet_plain_values.h"

#include <algorithm>
#include <array>
#include <cstring>

#include <parquet/encoding.h>
#include <parquet/exception.h>
#include <parquet/types.h>

namespace frazil::format {
namespace {

using parquet::Encoding;
using parquet::ParquetException;

constexpr int kBatch = 512;

/// Bytes of a PLAIN value; 0 for byte arrays, which carry their length, and for booleans, which are bits.
uint32_t PlainWidth(const parquet::ColumnDescriptor& column) {
  switch (column.physical_type()) {
    case parquet::Type::INT32:
    case parquet::Type::FLOAT: return 4;
    case parquet::Type::INT64:
    case parquet::Type::DOUBLE: return 8;
    case parquet::Type::INT96: return 12;
    case parquet::Type::FIXED_LEN_BYTE_ARRAY: return static_cast<uint32_t>(std::max(column.type_length(), 0));
    default: return 0;
  }
}

/// Bytes of the byte array, its length included, that begins at `at` of `size` bytes.
size_t ByteArrayWidth(const uint8_t* data, size_t size, size_t at) {
  uint32_t length = 0;
  if (size - at < sizeof(length)) throw ParquetException("a page ends in the middle of a value");
  std::memcpy(&length, data + at, sizeof(length));
  if (size - at - sizeof(length) < length) throw ParquetException("a page ends in the middle of a value");
  return sizeof(length) + length;
}

class FixedSource final : public ParquetValueSource {
 public:
  FixedSource(const uint8_t* data, size_t size, uint32_t width) : data_(data), size_(size), width_(width) {}

  void Skip(int64_t count) override { at_ += Width(count); }
  void Take(int64_t count, std::vector<uint8_t>& out) override {
    const size_t width = Width(count);
    out.insert(out.end(), data_ + at_, data_ + at_ + width);
    at_ += width;
  }

 private:
  size_t Width(int64_t count) const {
    if (static_cast<uint64_t>(count) > (size_ - at_) / width_) throw ParquetException("a page has too few values");
    return static_cast<size_t>(count) * width_;
  }

  const uint8_t* const data_;
  const size_t size_;
  const uint32_t width_;
  size_t at_ = 0;
};

class ByteArraySource final : public ParquetValueSource {
 public:
  ByteArraySource(const uint8_t* data, size_t size) : data_(data), size_(size) {}

  void Skip(int64_t count) override {
    for (; count > 0; --count) at_ += ByteArrayWidth(data_, size_, at_);
  }
  void Take(int64_t count, std::vector<uint8_t>& out) override {
    const size_t begin = at_;
    Skip(count);
    out.insert(out.end(), data_ + begin, data_ + at_);
  }

 private:
  const uint8_t* const data_;
  const size_t size_;
  size_t at_ = 0;
};

/// Reads indices only: Arrow would copy the whole dictionary for every page.
class DictionarySource final : public ParquetValueSource {
 public:
  DictionarySource(const ParquetDictionary& dictionary, int num_values, const uint8_t* data, int size)
      : dictionary_(dictionary), indices_(parquet::MakeDictDecoder<parquet::Int32Type>()) {
    indices_->SetData(num_values, data, size);
  }

  void Skip(int64_t count) override {
    while (count > 0) count -= Decode(count);
  }
  void Take(int64_t count, std::vector<uint8_t>& out) override {
    while (count > 0) {
      const int decoded = Decode(count);
      for (int i = 0; i < decoded; ++i) dictionary_.AppendValue(batch_[static_cast<size_t>(i)], out);
      count -= decoded;
    }
  }

 private:
  int Decode(int64_t wanted) {
    const int decoded = indices_->DecodeIndices(static_cast<int>(std::min<int64_t>(wanted, kBatch)), batch_.data());
    if (decoded <= 0) throw ParquetException("a page has too few values");
    return decoded;
  }

  const ParquetDictionary& dictionary_;
  const std::unique_ptr<parquet::DictDecoder<parquet::Int32Type>> indices_;
  std::array<int32_t, kBatch> batch_;
};

/// The other encodings, as Arrow decodes them.
template <typename DType>
class DecodingSource final : public ParquetValueSource {
 public:
  DecodingSource(const parquet::ColumnDescriptor& column, Encoding::type encoding, int num_values, const uint8_t* data,
                 int size)
      : width_(PlainWidth(column)), decoder_(parquet::MakeTypedDecoder<DType>(encoding, &column)) {
    if (decoder_ == nullptr) throw ParquetException("an encoding that the column's type cannot have");
    decoder_->SetData(num_values, data, size);
  }

  void Skip(int64_t count) override {
    while (count > 0) count -= Decode(count);
  }
  void Take(int64_t count, std::vector<uint8_t>& out) override {
    while (count > 0) {
      const int decoded = Decode(count);
      for (int i = 0; i < decoded; ++i) Append(batch_[static_cast<size_t>(i)], out);
      count -= decoded;
    }
  }

 private:
  using Value = typename DType::c_type;

  int Decode(int64_t wanted) {
    const int decoded = decoder_->Decode(batch_.data(), static_cast<int>(std::min<int64_t>(wanted, kBatch)));
    if (decoded <= 0) throw ParquetException("a page has too few values");
    return decoded;
  }

  void Append(const Value& value, std::vector<uint8_t>& out) const {
    if constexpr (std::is_same_v<DType, parquet::ByteArrayType>) {
      const auto* length = reinterpret_cast<const uint8_t*>(&value.len);
      out.insert(out.end(), length, length + sizeof(value.len));
      out.insert(out.end(), value.ptr, value.ptr + value.len);
    } else if constexpr (std::is_same_v<DType, parquet::FLBAType>) {
      out.insert(out.end(), value.ptr, value.ptr + width_);
    } else {
      const auto* bytes = reinterpret_cast<const uint8_t*>(&value);
      out.insert(out.end(), bytes, bytes + sizeof(value));
    }
  }

  const uint32_t width_;
  const std::unique_ptr<typename parquet::EncodingTraits<DType>::Decoder> decoder_;
  std::array<Value, kBatch> batch_;
};

}  // namespace

bool IsDictionaryEncoding(Encoding::type encoding) {
  return encoding == Encoding::RLE_DICTIONARY || encoding == Encoding::PLAIN_DICTIONARY;
}

ParquetDictionary::ParquetDictionary(const parquet::DictionaryPage& page, const parquet::ColumnDescriptor& column)
    : bytes_(page.data(), page.data() + page.size()), width_(PlainWidth(column)), num_values_(page.num_values()) {
  if (page.encoding() != Encoding::PLAIN && page.encoding() != Encoding::PLAIN_DICTIONARY) {
    throw ParquetException("a dictionary that is not plain");
  }
  if (num_values_ < 0) throw ParquetException("a dictionary of less than no values");
  if (column.physical_type() == parquet::Type::BYTE_ARRAY) {
    // Every value takes four bytes at least, so the count is bounded by the page.
    if (static_cast<size_t>(num_values_) > bytes_.size() / 4) throw ParquetException("a dictionary that ends early");
    begins_.reserve(static_cast<size_t>(num_values_) + 1);
    size_t at = 0;
    for (int32_t i = 0; i < num_values_; ++i) {
      begins_.push_back(static_cast<uint32_t>(at));
      at += ByteArrayWidth(bytes_.data(), bytes_.size(), at);
    }
    begins_.push_back(static_cast<uint32_t>(at));
  } else if (width_ == 0 || static_cast<size_t>(num_values_) > bytes_.size() / width_) {
    throw ParquetException("a dictionary that ends early");
  }
}

void ParquetDictionary::AppendValue(int32_t index, std::vector<uint8_t>& out) const {
  if (index < 0 || index >= num_values_) throw ParquetException("an index beyond the dictionary");
  const auto at = static_cast<size_t>(index);
  const size_t begin = begins_.empty() ? at * width_ : begins_[at];
  const size_t end = begins_.empty() ? begin + width_ : begins_[at + 1];
  out.insert(out.end(), bytes_.begin() + static_cast<std::ptrdiff_t>(begin),
             bytes_.begin() + static_cast<std::ptrdiff_t>(end));
}

int64_t ParquetDictionary::memory_bytes() const {
  return static_cast<int64_t>(sizeof(*this) + bytes_.capacity() + begins_.capacity() * sizeof(uint32_t));
}

std::unique_ptr<ParquetValueSource> MakeParquetValueSource(const parquet::ColumnDescriptor& column,
                                                           Encoding::type encoding, int num_values, const uint8_t* data,
                                                           int size, const ParquetDictionary* dictionary) {
  if (IsDictionaryEncoding(encoding)) {
    if (dictionary == nullptr) throw ParquetException("a page of dictionary indices without a dictionary");
    return std::make_unique<DictionarySource>(*dictionary, num_values, data, size);
  }
  const auto decode = [&]<typename DType>(DType) -> std::unique_ptr<ParquetValueSource> {
    return std::make_unique<DecodingSource<DType>>(column, encoding, num_values, data, size);
  };
  if (encoding == Encoding::PLAIN && column.physical_type() == parquet::Type::BYTE_ARRAY) {
    return std::make_unique<ByteArraySource>(data, static_cast<size_t>(size));
  }
  if (const uint32_t width = PlainWidth(column); encoding == Encoding::PLAIN && width > 0) {
    return std::make_unique<FixedSource>(data, static_cast<size_t>(size), width);
  }
  switch (column.physical_type()) {
    case parquet::Type::BOOLEAN: return decode(parquet::BooleanType());
    case parquet::Type::INT32: return decode(parquet::Int32Type());
    case parquet::Type::INT64: return decode(parquet::Int64Type());
    case parquet::Type::INT96: return decode(parquet::Int96Type());
    case parquet::Type::FLOAT: return decode(parquet::FloatType());
    case parquet::Type::DOUBLE: return decode(parquet::DoubleType());
    case parquet::Type::BYTE_ARRAY: return decode(parquet::ByteArrayType());
    case parquet::Type::FIXED_LEN_BYTE_ARRAY: return decode(parquet::FLBAType());
    default: throw ParquetException("a column without a type");
  }
}

}  // namespace frazil::format
