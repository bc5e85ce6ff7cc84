#include "frazil/index/canonical_key.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <optional>

#include <arrow/api.h>
#include <arrow/extension_type.h>

namespace frazil::index {
namespace {

/// Appends one non-null value's canonical bytes.
using Appender = void (*)(const arrow::Array& array, int64_t row, Bytes& out);

template <typename ArrowArray>
void AppendInteger(const arrow::Array& array, int64_t row, Bytes& out) {
  AppendBig<int64_t>(out, static_cast<const ArrowArray&>(array).Value(row));
}

void AppendBoolean(const arrow::Array& array, int64_t row, Bytes& out) {
  out.push_back(static_cast<const arrow::BooleanArray&>(array).Value(row) ? std::byte{1} : std::byte{0});
}

void AppendText(const arrow::Array& array, int64_t row, Bytes& out) {
  const std::string_view text = static_cast<const arrow::BinaryArray&>(array).GetView(row);
  AppendBig<uint32_t>(out, static_cast<uint32_t>(text.size()));
  AppendBytes(out, AsBytes(text));
}

void AppendFixed(const arrow::Array& array, int64_t row, Bytes& out) {
  const auto& fixed = static_cast<const arrow::FixedSizeBinaryArray&>(array);
  AppendBytes(out, AsBytes(fixed.GetView(row)));
}

/// u8 length, then the fewest two's complement bytes, big-endian.
void AppendDecimal(const arrow::Array& array, int64_t row, Bytes& out) {
  const uint8_t* little = static_cast<const arrow::Decimal128Array&>(array).GetValue(row);
  int length = 16;
  const auto is_sign_only = [&](int top) {
    const bool negative = (little[top - 1] & 0x80) != 0;
    return little[top] == (negative ? 0xff : 0x00);
  };
  while (length > 1 && is_sign_only(length - 1)) --length;
  out.push_back(static_cast<std::byte>(length));
  for (int i = length - 1; i >= 0; --i) out.push_back(static_cast<std::byte>(little[i]));
}

Result<Appender> AppenderFor(const spec::Type& type, const std::string& name) {
  switch (type.id()) {
    case spec::TypeId::kBoolean: return &AppendBoolean;
    case spec::TypeId::kInt: return &AppendInteger<arrow::Int32Array>;
    case spec::TypeId::kLong: return &AppendInteger<arrow::Int64Array>;
    case spec::TypeId::kDate: return &AppendInteger<arrow::Date32Array>;
    case spec::TypeId::kTime: return &AppendInteger<arrow::Time64Array>;
    case spec::TypeId::kTimestamp:
    case spec::TypeId::kTimestampTz:
    case spec::TypeId::kTimestampNs:
    case spec::TypeId::kTimestampTzNs: return &AppendInteger<arrow::TimestampArray>;
    case spec::TypeId::kString:
    case spec::TypeId::kBinary: return &AppendText;
    case spec::TypeId::kUuid:
    case spec::TypeId::kFixed: return &AppendFixed;
    case spec::TypeId::kDecimal: return &AppendDecimal;
    default:
      return Fail(ErrorCode::kInvalidArgument, "identifier field '{}' cannot be of type {}", name, type.ToString());
  }
}

// The same without nulls, column by column over a block of rows: a loop over one kind of value is several times faster than
// a row's columns one after another. First how many bytes each row adds, then the bytes, each behind the row's earlier ones.

constexpr int64_t kBlockRows = 256;

struct Block {
  int64_t first = 0;
  int64_t count = 0;
  std::array<uint32_t, kBlockRows> sizes;
  std::array<std::byte*, kBlockRows> ends;
};
using BlockStep = void (*)(const arrow::Array& array, Block& block);

void AddSizeOf(Block& block, size_t size) {
  for (int64_t i = 0; i < block.count; ++i) block.sizes[static_cast<size_t>(i)] += static_cast<uint32_t>(size);
}

template <typename T>
std::byte* PutBig(std::byte* at, T value) {
  const T swapped = sizeof(T) == 8 ? static_cast<T>(__builtin_bswap64(static_cast<uint64_t>(value)))
                                   : static_cast<T>(__builtin_bswap32(static_cast<uint32_t>(value)));
  std::memcpy(at, &swapped, sizeof(T));
  return at + sizeof(T);
}

template <typename ArrowArray>
void PutIntegers(const arrow::Array& array, Block& block) {
  const auto* values = static_cast<const ArrowArray&>(array).raw_values() + block.first;
  for (int64_t i = 0; i < block.count; ++i) {
    std::byte*& end = block.ends[static_cast<size_t>(i)];
    end = PutBig<int64_t>(end, values[i]);
  }
}

void AddTextSizes(const arrow::Array& array, Block& block) {
  const int32_t* offsets = static_cast<const arrow::BinaryArray&>(array).raw_value_offsets() + block.first;
  for (int64_t i = 0; i < block.count; ++i) {
    block.sizes[static_cast<size_t>(i)] += static_cast<uint32_t>(4 + offsets[i + 1] - offsets[i]);
  }
}

void PutTexts(const arrow::Array& array, Block& block) {
  const auto& texts = static_cast<const arrow::BinaryArray&>(array);
  for (int64_t i = 0; i < block.count; ++i) {
    const std::string_view text = texts.GetView(block.first + i);
    std::byte*& end = block.ends[static_cast<size_t>(i)];
    end = PutBig(end, static_cast<uint32_t>(text.size()));
    if (!text.empty()) std::memcpy(end, text.data(), text.size());
    end += text.size();
  }
}

struct BlockSteps {
  BlockStep add_sizes;
  BlockStep put;
};

/// None: a type that is rare enough in keys to go row by row.
std::optional<BlockSteps> BlockStepsFor(const spec::Type& type) {
  constexpr BlockStep kEightBytes = [](const arrow::Array&, Block& block) { AddSizeOf(block, 8); };
  switch (type.id()) {
    case spec::TypeId::kInt: return BlockSteps{kEightBytes, &PutIntegers<arrow::Int32Array>};
    case spec::TypeId::kLong: return BlockSteps{kEightBytes, &PutIntegers<arrow::Int64Array>};
    case spec::TypeId::kDate: return BlockSteps{kEightBytes, &PutIntegers<arrow::Date32Array>};
    case spec::TypeId::kTime: return BlockSteps{kEightBytes, &PutIntegers<arrow::Time64Array>};
    case spec::TypeId::kTimestamp:
    case spec::TypeId::kTimestampTz:
    case spec::TypeId::kTimestampNs:
    case spec::TypeId::kTimestampTzNs: return BlockSteps{kEightBytes, &PutIntegers<arrow::TimestampArray>};
    case spec::TypeId::kString:
    case spec::TypeId::kBinary: return BlockSteps{&AddTextSizes, &PutTexts};
    default: return std::nullopt;
  }
}

void HashBlocks(const std::vector<std::shared_ptr<arrow::Array>>& arrays, const std::vector<BlockSteps>& steps,
                uint64_t seed, std::vector<Hash96>& hashes) {
  Block block;
  Bytes bytes;
  const auto num_rows = static_cast<int64_t>(hashes.size());
  for (; block.first < num_rows; block.first += kBlockRows) {
    block.count = std::min(kBlockRows, num_rows - block.first);
    block.sizes.fill(0);
    for (size_t i = 0; i < arrays.size(); ++i) steps[i].add_sizes(*arrays[i], block);
    size_t total = 0;
    for (int64_t i = 0; i < block.count; ++i) total += block.sizes[static_cast<size_t>(i)];
    if (bytes.size() < total) bytes.resize(total);
    std::byte* at = bytes.data();
    for (int64_t i = 0; i < block.count; ++i) {
      block.ends[static_cast<size_t>(i)] = at;
      at += block.sizes[static_cast<size_t>(i)];
    }
    for (size_t i = 0; i < arrays.size(); ++i) steps[i].put(*arrays[i], block);
    for (int64_t i = 0; i < block.count; ++i) {
      const size_t size = block.sizes[static_cast<size_t>(i)];
      hashes[static_cast<size_t>(block.first + i)] = HashKey({block.ends[static_cast<size_t>(i)] - size, size}, seed);
    }
  }
}

/// Types whose equal values have equal bytes.
std::string TypeClass(const spec::Type& type) {
  switch (type.id()) {
    case spec::TypeId::kInt: return spec::Type::Primitive(spec::TypeId::kLong).ToString();
    case spec::TypeId::kDecimal: return fmt::format("decimal of scale {}", type.scale());
    default: return type.ToString();
  }
}

std::shared_ptr<arrow::Array> WithoutExtension(const std::shared_ptr<arrow::Array>& array) {
  if (array->type_id() != arrow::Type::EXTENSION) return array;
  return static_cast<const arrow::ExtensionArray&>(*array).storage();
}

/// The type that a key column really has: an int column may have become long since the key was made, which leaves its
/// bytes as they are but not how they are read.
spec::Type TypeOfValues(const spec::Type& type, const arrow::Array& array) {
  if (type.id() != spec::TypeId::kInt && type.id() != spec::TypeId::kLong) return type;
  return spec::Type::Primitive(array.type_id() == arrow::Type::INT32 ? spec::TypeId::kInt : spec::TypeId::kLong);
}

}  // namespace

Result<CanonicalKey> CanonicalKey::Make(const spec::Schema& schema, uint64_t seed) {
  if (schema.identifier_field_ids().empty()) {
    return tl::unexpected(
        Error(ErrorCode::kInvalidArgument, "the table has no identifier fields")
            .WithHint("name the primary key: ALTER TABLE ... SET IDENTIFIER FIELDS, or `frazil ingest "
                      "--identifier-fields`"));
  }
  CanonicalKey key;
  key.seed_ = seed;
  key.field_ids_ = schema.identifier_field_ids();
  std::sort(key.field_ids_.begin(), key.field_ids_.end());
  for (const spec::FieldId id : key.field_ids_) {
    const std::string name = schema.FullName(id);
    const std::vector<const spec::Field*> path = schema.PathTo(id);
    if (path.size() != 1) {
      return Fail(ErrorCode::kNotSupported, "identifier field inside a struct: '{}'", name);
    }
    FRAZIL_TRY(AppenderFor(path[0]->type, name));
    key.columns_.push_back({name, path[0]->type});
  }
  return key;
}

Result<std::vector<Hash96>> CanonicalKey::HashRows(const std::vector<std::shared_ptr<arrow::Array>>& columns) const {
  for (size_t i = 0; i < columns_.size(); ++i) {
    if (columns[i]->null_count() > 0) {
      return Fail(ErrorCode::kInvalidArgument, "null in identifier field '{}'", columns_[i].name);
    }
  }
  return HashAll(columns);
}

Result<CanonicalKey::NullableHashes> CanonicalKey::HashNullableRows(
    const std::vector<std::shared_ptr<arrow::Array>>& columns) const {
  NullableHashes result;
  for (const std::shared_ptr<arrow::Array>& column : columns) {
    if (column->null_count() == 0) continue;
    result.has_no_key.resize(static_cast<size_t>(column->length()));
    for (int64_t row = 0; row < column->length(); ++row) {
      if (column->IsNull(row)) result.has_no_key[static_cast<size_t>(row)] = true;
    }
  }
  FRAZIL_ASSIGN(result.hashes, HashAll(columns));
  return result;
}

/// Nulls add no bytes; callers who may have some throw those hashes away.
Result<std::vector<Hash96>> CanonicalKey::HashAll(const std::vector<std::shared_ptr<arrow::Array>>& columns) const {
  std::vector<Appender> appenders;
  std::vector<BlockSteps> steps;
  std::vector<std::shared_ptr<arrow::Array>> arrays;
  for (size_t i = 0; i < columns_.size(); ++i) {
    arrays.push_back(WithoutExtension(columns[i]));
    const spec::Type type = TypeOfValues(columns_[i].type, *arrays.back());
    FRAZIL_ASSIGN(const Appender appender, AppenderFor(type, columns_[i].name));
    appenders.push_back(appender);
    const std::optional<BlockSteps> block_steps = BlockStepsFor(type);
    if (block_steps && columns[i]->null_count() == 0) steps.push_back(*block_steps);
  }
  const int64_t num_rows = columns.empty() ? 0 : columns[0]->length();
  std::vector<Hash96> hashes(static_cast<size_t>(num_rows));
  if (steps.size() == arrays.size()) {
    HashBlocks(arrays, steps, seed_, hashes);
    return hashes;
  }
  Bytes bytes;
  for (int64_t row = 0; row < num_rows; ++row) {
    bytes.clear();
    for (size_t i = 0; i < arrays.size(); ++i) {
      if (arrays[i]->IsValid(row)) appenders[i](*arrays[i], row, bytes);
    }
    hashes[static_cast<size_t>(row)] = HashKey(bytes, seed_);
  }
  return hashes;
}

std::string CanonicalKey::version() const {
  std::string text = fmt::format("1 seed {:016x}", seed_);
  for (size_t i = 0; i < columns_.size(); ++i) {
    text += fmt::format(", {} {}", field_ids_[i], TypeClass(columns_[i].type));
  }
  return text;
}

Result<Bytes> CanonicalKey::BytesOfRow(const std::vector<std::shared_ptr<arrow::Array>>& columns, int64_t row) const {
  Bytes bytes;
  for (size_t i = 0; i < columns_.size(); ++i) {
    if (columns[i]->IsNull(row)) {
      return Fail(ErrorCode::kInvalidArgument, "null in identifier field '{}'", columns_[i].name);
    }
    const std::shared_ptr<arrow::Array> array = WithoutExtension(columns[i]);
    FRAZIL_ASSIGN(const Appender appender, AppenderFor(TypeOfValues(columns_[i].type, *array), columns_[i].name));
    appender(*array, row, bytes);
  }
  return bytes;
}

}  // namespace frazil::index
