#include "frazil/format/parquet_leaf_rows.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <limits>

#include <arrow/array.h>
#include <arrow/buffer.h>
#include <arrow/util/bit_util.h>
#include <parquet/column_reader.h>
#include <parquet/column_writer.h>
#include <parquet/exception.h>

namespace frazil::format {
namespace {

using parquet::Encoding;
using parquet::LevelDecoder;
using parquet::ParquetException;

constexpr int kLevelBatch = 1024;

/// The parts of a data page.
struct PageParts {
  LevelDecoder repetitions;
  LevelDecoder definitions;
  const uint8_t* values = nullptr;
  int values_size = 0;
};

void Split(const parquet::DataPage& page, const parquet::ColumnDescriptor& column, PageParts& parts) {
  const uint8_t* data = page.data();
  int64_t size = page.size();
  const int16_t max_repetition = column.max_repetition_level();
  const int16_t max_definition = column.max_definition_level();
  if (page.type() == parquet::PageType::DATA_PAGE) {
    const auto& v1 = static_cast<const parquet::DataPageV1&>(page);
    const auto set = [&](LevelDecoder& decoder, Encoding::type encoding, int16_t max_level) {
      if (max_level == 0) return;
      const int used = decoder.SetData(encoding, max_level, page.num_values(), data, static_cast<int32_t>(size));
      if (used < 0 || used > size) throw ParquetException("levels longer than their page");
      data += used;
      size -= used;
    };
    set(parts.repetitions, v1.repetition_level_encoding(), max_repetition);
    set(parts.definitions, v1.definition_level_encoding(), max_definition);
  } else {
    const auto& v2 = static_cast<const parquet::DataPageV2&>(page);
    const int64_t repetition_size = v2.repetition_levels_byte_length();
    const int64_t definition_size = v2.definition_levels_byte_length();
    if (repetition_size < 0 || definition_size < 0 || repetition_size + definition_size > size) {
      throw ParquetException("levels longer than their page");
    }
    if (max_repetition > 0) {
      parts.repetitions.SetDataV2(static_cast<int32_t>(repetition_size), max_repetition, page.num_values(), data);
    }
    if (max_definition > 0) {
      parts.definitions.SetDataV2(static_cast<int32_t>(definition_size), max_definition, page.num_values(),
                                  data + repetition_size);
    }
    data += repetition_size + definition_size;
    size -= repetition_size + definition_size;
  }
  parts.values = data;
  parts.values_size = static_cast<int>(size);
}

/// Passes `count` levels and says how many of them have a value.
int64_t PassLevels(LevelDecoder& definitions, int16_t max_level, int64_t count) {
  int64_t with_value = 0;
  while (count > 0) {
    const LevelDecoder::CountUpToResult passed =
        definitions.CountUpTo(max_level, static_cast<int>(std::min<int64_t>(count, 1 << 20)));
    if (passed.processed_count <= 0) throw ParquetException("a page has too few levels");
    with_value += passed.matching_count;
    count -= passed.processed_count;
  }
  return with_value;
}

void DecodeLevels(LevelDecoder& decoder, int count, int16_t* levels) {
  if (decoder.Decode(count, levels) != count) throw ParquetException("a page has too few levels");
  const int16_t highest = *std::max_element(levels, levels + count);
  const int16_t lowest = *std::min_element(levels, levels + count);
  if (lowest < 0 || highest > decoder.max_level()) throw ParquetException("a level that cannot be");
}

/// Levels as a data page of version 1 has them: their length, then runs.
void AppendLevels(const std::vector<int16_t>& levels, int16_t max_level, std::vector<uint8_t>& out) {
  const auto count = static_cast<int>(levels.size());
  std::vector<uint8_t> encoded(
      static_cast<size_t>(parquet::LevelEncoder::MaxBufferSize(Encoding::RLE, max_level, count)));
  parquet::LevelEncoder encoder;
  encoder.Init(Encoding::RLE, max_level, count, encoded.data(), static_cast<int>(encoded.size()));
  if (encoder.Encode(count, levels.data()) != count) throw ParquetException("levels cannot be written");
  const int32_t length = encoder.len();
  const auto* bytes = reinterpret_cast<const uint8_t*>(&length);
  out.insert(out.end(), bytes, bytes + sizeof(length));
  out.insert(out.end(), encoded.begin(), encoded.begin() + length);
}

}  // namespace

void ParquetLeafRows::MoveTo(int64_t row) {
  next_row_ = row;
  has_row_ = false;
  is_taking_ = false;
}

bool ParquetLeafRows::CanSkip(int64_t num_values) const {
  return column_.max_repetition_level() == 0 &&
         (next_ == rows_.size() || rows_[next_] >= next_row_ + std::max<int64_t>(num_values, 0));
}

bool ParquetLeafRows::Add(const parquet::DataPage& page, const ParquetDictionary* dictionary) {
  const int num_values = page.num_values();
  if (num_values < 0) throw ParquetException("a page of less than no values");
  if (CanSkip(num_values)) {
    next_row_ += num_values;
    return true;
  }
  PageParts parts;
  Split(page, column_, parts);
  const std::unique_ptr<ParquetValueSource> values =
      MakeParquetValueSource(column_, page.encoding(), num_values, parts.values, parts.values_size, dictionary);
  if (column_.max_repetition_level() > 0) return AddRepeated(parts.repetitions, parts.definitions, num_values, *values);
  AddFlat(column_.max_definition_level() > 0 ? &parts.definitions : nullptr, num_values, *values);
  return true;
}

void ParquetLeafRows::AddFlat(LevelDecoder* definitions, int num_values, ParquetValueSource& values) {
  const int64_t end = next_row_ + num_values;
  int64_t at = next_row_;
  for (; next_ < rows_.size() && rows_[next_] < end; ++next_) {
    const int64_t gap = rows_[next_] - at;
    const int16_t max_level = column_.max_definition_level();
    int16_t level = max_level;
    if (definitions != nullptr) {
      values.Skip(PassLevels(*definitions, max_level, gap));
      DecodeLevels(*definitions, 1, &level);
      definition_levels_.push_back(level);
    } else {
      values.Skip(gap);
    }
    if (level == max_level) values.Take(1, values_);
    ++num_levels_;
    at = rows_[next_] + 1;
  }
  next_row_ = end;
}

bool ParquetLeafRows::AddRepeated(LevelDecoder& repetitions, LevelDecoder& definitions, int num_values,
                                  ParquetValueSource& values) {
  const int16_t max_definition = column_.max_definition_level();
  std::array<int16_t, kLevelBatch> repetition;
  std::array<int16_t, kLevelBatch> definition;
  for (int left = num_values; left > 0;) {
    const int count = std::min(left, kLevelBatch);
    DecodeLevels(repetitions, count, repetition.data());
    DecodeLevels(definitions, count, definition.data());
    for (int i = 0; i < count;) {
      if (repetition[static_cast<size_t>(i)] == 0) {
        is_taking_ = next_ < rows_.size() && rows_[next_] == next_row_;
        if (is_taking_) ++next_;
        ++next_row_;
        has_row_ = true;
      } else if (!has_row_) {
        return false;
      }
      // To the end of the row, or of what is decoded of it.
      const int begin = i++;
      while (i < count && repetition[static_cast<size_t>(i)] != 0) ++i;
      const auto with_value = std::count(definition.begin() + begin, definition.begin() + i, max_definition);
      if (!is_taking_) {
        values.Skip(with_value);
        continue;
      }
      repetition_levels_.insert(repetition_levels_.end(), repetition.begin() + begin, repetition.begin() + i);
      definition_levels_.insert(definition_levels_.end(), definition.begin() + begin, definition.begin() + i);
      num_levels_ += i - begin;
      values.Take(with_value, values_);
    }
    left -= count;
  }
  return true;
}

std::shared_ptr<arrow::Array> ParquetLeafRows::ToArray(const std::shared_ptr<arrow::DataType>& type) const {
  if (column_.max_repetition_level() > 0 || column_.max_definition_level() > 1) return nullptr;
  const std::shared_ptr<arrow::Buffer> validity = Validity();
  const auto make = [&](std::vector<std::shared_ptr<arrow::Buffer>> buffers) {
    buffers.insert(buffers.begin(), validity);
    return arrow::MakeArray(arrow::ArrayData::Make(type, num_levels_, std::move(buffers)));
  };
  const parquet::Type::type physical = column_.physical_type();
  switch (type->id()) {
    case arrow::Type::INT32:
    case arrow::Type::UINT32:
    case arrow::Type::DATE32:
      if (physical != parquet::Type::INT32) return nullptr;
      return make({FixedValues(sizeof(int32_t), validity != nullptr)});
    case arrow::Type::FLOAT: return make({FixedValues(sizeof(float), validity != nullptr)});
    case arrow::Type::INT64:
    case arrow::Type::UINT64:
    case arrow::Type::TIME64:
    case arrow::Type::TIMESTAMP:
      if (physical != parquet::Type::INT64) return nullptr;
      return make({FixedValues(sizeof(int64_t), validity != nullptr)});
    case arrow::Type::DOUBLE: return make({FixedValues(sizeof(double), validity != nullptr)});
    case arrow::Type::STRING:
    case arrow::Type::BINARY: break;
    default: return nullptr;
  }
  if (physical != parquet::Type::BYTE_ARRAY || values_.size() > std::numeric_limits<int32_t>::max()) return nullptr;
  std::vector<int32_t> offsets = {0};
  std::vector<uint8_t> bytes;
  bytes.reserve(values_.size());
  size_t at = 0;
  for (int64_t row = 0; row < num_levels_; ++row) {
    if (validity == nullptr || arrow::bit_util::GetBit(validity->data(), row)) {
      uint32_t length = 0;  // Take() has checked all of them
      std::memcpy(&length, values_.data() + at, sizeof(length));
      at += sizeof(length);
      bytes.insert(bytes.end(), values_.begin() + static_cast<std::ptrdiff_t>(at),
                   values_.begin() + static_cast<std::ptrdiff_t>(at + length));
      at += length;
    }
    offsets.push_back(static_cast<int32_t>(bytes.size()));
  }
  return make({arrow::Buffer::FromVector(std::move(offsets)), arrow::Buffer::FromVector(std::move(bytes))});
}

/// Null: nothing is null.
std::shared_ptr<arrow::Buffer> ParquetLeafRows::Validity() const {
  const int16_t max_level = column_.max_definition_level();
  const auto is_null = [&](int16_t level) { return level < max_level; };
  if (max_level == 0 || std::none_of(definition_levels_.begin(), definition_levels_.end(), is_null)) return nullptr;
  std::vector<uint8_t> bits(definition_levels_.size() / 8 + 1);
  for (size_t i = 0; i < definition_levels_.size(); ++i) {
    if (!is_null(definition_levels_[i])) arrow::bit_util::SetBit(bits.data(), static_cast<int64_t>(i));
  }
  return arrow::Buffer::FromVector(std::move(bits));
}

/// Values of `width` bytes; zeros where a row has none.
std::shared_ptr<arrow::Buffer> ParquetLeafRows::FixedValues(size_t width, bool has_nulls) const {
  if (!has_nulls) return arrow::Buffer::FromVector(values_);
  std::vector<uint8_t> spread(definition_levels_.size() * width);
  size_t next = 0;
  for (size_t row = 0; row < definition_levels_.size(); ++row) {
    if (definition_levels_[row] < column_.max_definition_level()) continue;
    std::memcpy(spread.data() + row * width, values_.data() + next, width);
    next += width;
  }
  return arrow::Buffer::FromVector(std::move(spread));
}

std::shared_ptr<parquet::Page> ParquetLeafRows::ToPage() const {
  std::vector<uint8_t> bytes;
  if (column_.max_repetition_level() > 0) AppendLevels(repetition_levels_, column_.max_repetition_level(), bytes);
  if (column_.max_definition_level() > 0) AppendLevels(definition_levels_, column_.max_definition_level(), bytes);
  if (column_.physical_type() == parquet::Type::BOOLEAN) {
    std::vector<uint8_t> bits((values_.size() + 7) / 8);
    for (size_t i = 0; i < values_.size(); ++i) bits[i / 8] |= static_cast<uint8_t>((values_[i] & 1) << (i % 8));
    bytes.insert(bytes.end(), bits.begin(), bits.end());
  } else {
    bytes.insert(bytes.end(), values_.begin(), values_.end());
  }
  const auto size = static_cast<int64_t>(bytes.size());
  return std::make_shared<parquet::DataPageV1>(arrow::Buffer::FromVector(std::move(bytes)),
                                               static_cast<int32_t>(num_levels_), Encoding::PLAIN, Encoding::RLE,
                                               Encoding::RLE, size);
}

}  // namespace frazil::format
