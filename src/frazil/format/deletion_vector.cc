#include "frazil/format/deletion_vector.h"

#include <algorithm>
#include <array>
#include <cstring>

#include <roaring/roaring.h>

#include "frazil/base/hash.h"
#include "frazil/format/roaring_format.h"

namespace frazil::format {
namespace {

constexpr uint32_t kMagic = 1681511377;
constexpr uint32_t kMaxKey = 0x7FFF'FFFE;  // Java keeps keys in an int and reserves the largest
constexpr size_t kLengthBytes = 4;
constexpr size_t kMagicBytes = 4;
constexpr size_t kCountBytes = 8;
constexpr size_t kCrcBytes = 4;
constexpr size_t kMinBlobBytes = kLengthBytes + kMagicBytes + kCountBytes + kCrcBytes;
constexpr size_t kKeyBytes = 4;
constexpr size_t kEmptyBitmapBytes = 8;
constexpr uint64_t kMaxBlobBytes = uint64_t{1} << 31;
constexpr uint32_t kReadAhead = 4096;

auto Corrupt(std::string_view what) { return Fail(ErrorCode::kCorruptData, "corrupt deletion vector: {}", what); }

uint32_t KeyOf(int64_t position) { return static_cast<uint32_t>(position >> 32); }
uint32_t LowOf(int64_t position) { return static_cast<uint32_t>(position); }
int64_t PositionOf(uint32_t key, uint32_t low) { return (int64_t{key} << 32) | low; }

Status CheckPosition(int64_t position) {
  if (position < 0 || position > DeletionVector::kMaxPosition.value()) {
    return Fail(ErrorCode::kInvalidArgument, "row position is out of range: {}", position);
  }
  return {};
}

/// The values of a bitmap from `first` on, `read_ahead` at a time; `take` says whether to go on.
template <typename Take>
void ReadValues(const roaring_bitmap_t& bitmap, uint32_t first, const Take& take, uint32_t read_ahead) {
  roaring_uint32_iterator_t iterator;
  roaring_init_iterator(&bitmap, &iterator);
  if (first > 0) roaring_move_uint32_iterator_equalorlarger(&iterator, first);
  uint32_t values[kReadAhead];
  while (const uint32_t count = roaring_read_uint32_iterator(&iterator, values, read_ahead)) {
    if (!take(std::span<const uint32_t>(values, count))) return;
  }
}

Bytes Serialise(const roaring_bitmap_t& bitmap) {
  Bytes bytes(roaring_bitmap_portable_size_in_bytes(&bitmap));
  roaring_bitmap_portable_serialize(&bitmap, reinterpret_cast<char*>(bytes.data()));
  return bytes;
}

using ContainerBits = std::array<uint64_t, 1024>;

/// The runs of a container, as [begin, end).
template <typename Take>
void ReadRuns(ByteView body, const Take& take) {
  for (size_t at = 2; at < body.size(); at += 4) {
    const size_t begin = LoadLittle<uint16_t>(body.data() + at);
    take(begin, begin + LoadLittle<uint16_t>(body.data() + at + 2) + 1);
  }
}

void EncodeBitmap(const roaring_bitmap_t& bitmap, Roaring32Writer& writer) {
  using Kind = Roaring32Container::Kind;
  const Bytes bytes = Serialise(bitmap);
  std::vector<uint16_t> values;
  for (const Roaring32Container& container : ContainersOf(bytes)) {
    if (container.kind == Kind::kBitset) {
      ContainerBits bits;
      std::memcpy(bits.data(), container.body.data(), sizeof(bits));
      writer.AddBitset(container.key, bits);
      continue;
    }
    values.clear();
    if (container.kind == Kind::kArray) {
      values.resize(container.cardinality);
      std::memcpy(values.data(), container.body.data(), container.body.size());
    } else {
      ReadRuns(container.body, [&](size_t begin, size_t end) {
        for (; begin < end; ++begin) values.push_back(static_cast<uint16_t>(begin));
      });
    }
    writer.AddContainer(container.key, values);
  }
}

}  // namespace

void DeletionVector::BitmapDeleter::operator()(roaring_bitmap_t* bitmap) const { roaring_bitmap_free(bitmap); }

DeletionVector::DeletionVector() = default;
DeletionVector::DeletionVector(DeletionVector&&) noexcept = default;
DeletionVector& DeletionVector::operator=(DeletionVector&&) noexcept = default;
DeletionVector::~DeletionVector() = default;

DeletionVector DeletionVector::Clone() const {
  DeletionVector copy;
  for (const auto& [key, bitmap] : bitmaps_) copy.bitmaps_.emplace(key, Bitmap(roaring_bitmap_copy(bitmap.get())));
  return copy;
}

Result<DeletionVector> DeletionVector::Decode(ByteView blob) {
  if (blob.size() < kMinBlobBytes) return Corrupt("shorter than the smallest one");
  if (LoadBig<uint32_t>(blob.data()) != blob.size() - kLengthBytes - kCrcBytes) {
    return Corrupt("its length is not that of the blob");
  }
  const ByteView checked = blob.subspan(kLengthBytes, blob.size() - kLengthBytes - kCrcBytes);
  if (LoadLittle<uint32_t>(checked.data()) != kMagic) return Corrupt("wrong magic");
  if (LoadBig<uint32_t>(blob.data() + blob.size() - kCrcBytes) != Crc32(checked)) return Corrupt("wrong checksum");

  ByteView rest = checked.subspan(kMagicBytes);
  const uint64_t num_bitmaps = LoadLittle<uint64_t>(rest.data());
  rest = rest.subspan(kCountBytes);
  if (num_bitmaps > rest.size() / (kKeyBytes + kEmptyBitmapBytes)) return Corrupt("more bitmaps than bytes");

  DeletionVector vector;
  int64_t previous_key = -1;
  for (uint64_t i = 0; i < num_bitmaps; ++i) {
    if (rest.size() < kKeyBytes) return Corrupt("key is cut off");
    const uint32_t key = LoadLittle<uint32_t>(rest.data());
    if (key > kMaxKey) return Corrupt("key is above 2147483646");
    if (key <= previous_key) return Corrupt("keys are not ascending");
    previous_key = key;
    rest = rest.subspan(kKeyBytes);

    FRAZIL_ASSIGN(const size_t size, ValidateRoaring32(rest));
    Bitmap bitmap(roaring_bitmap_portable_deserialize_safe(reinterpret_cast<const char*>(rest.data()), size));
    if (bitmap == nullptr) return Corrupt("bitmap cannot be read");
    rest = rest.subspan(size);
    if (roaring_bitmap_is_empty(bitmap.get())) continue;  // Java fills gaps between keys with empty ones
    if (PositionOf(key, roaring_bitmap_maximum(bitmap.get())) > kMaxPosition.value()) {
      return Corrupt("position is above the largest allowed");
    }
    vector.bitmaps_.emplace_hint(vector.bitmaps_.end(), key, std::move(bitmap));
  }
  if (!rest.empty()) return Corrupt("bytes after the last bitmap");
  return vector;
}

Status DeletionVector::EncodeTo(Bytes& out) const {
  const uint64_t num_bitmaps = bitmaps_.empty() ? 0 : uint64_t{bitmaps_.rbegin()->first} + 1;
  const auto too_large = [&] {
    return Fail(ErrorCode::kInvalidArgument, "deletion vector would be larger than 2 GiB: largest position is {}",
                Max().value());
  };
  if (num_bitmaps * (kKeyBytes + kEmptyBitmapBytes) + kMinBlobBytes >= kMaxBlobBytes) return too_large();

  const size_t start = out.size();
  AppendBig(out, uint32_t{0});  // the length, known at the end
  AppendLittle(out, kMagic);
  AppendLittle(out, num_bitmaps);
  Roaring32Writer writer;
  uint32_t next_key = 0;
  for (const auto& [key, bitmap] : bitmaps_) {
    for (; next_key < key; ++next_key) {
      AppendLittle(out, next_key);
      writer.Finish(out);
    }
    EncodeBitmap(*bitmap, writer);
    if (out.size() - start + writer.size_bytes() >= kMaxBlobBytes) {
      out.resize(start);
      return too_large();
    }
    AppendLittle(out, key);
    writer.Finish(out);
    ++next_key;
  }
  const ByteView checked = ByteView(out).subspan(start + kLengthBytes);
  const uint32_t crc = Crc32(checked);
  Bytes length;
  AppendBig(length, static_cast<uint32_t>(checked.size()));
  std::copy(length.begin(), length.end(), out.begin() + static_cast<ptrdiff_t>(start));
  AppendBig(out, crc);
  return {};
}

Status DeletionVector::Add(spec::RowPosition position) {
  FRAZIL_TRY(CheckPosition(position.value()));
  Bitmap& bitmap = bitmaps_[KeyOf(position.value())];
  if (bitmap == nullptr) bitmap.reset(roaring_bitmap_create());
  roaring_bitmap_add(bitmap.get(), LowOf(position.value()));
  return {};
}

Status DeletionVector::AddAll(std::span<const int64_t> sorted_positions) {
  for (const int64_t position : sorted_positions) FRAZIL_TRY(CheckPosition(position));
  std::vector<uint32_t> lows;
  for (size_t i = 0; i < sorted_positions.size();) {
    const uint32_t key = KeyOf(sorted_positions[i]);
    lows.clear();
    for (; i < sorted_positions.size() && KeyOf(sorted_positions[i]) == key; ++i) {
      lows.push_back(LowOf(sorted_positions[i]));
    }
    Bitmap& bitmap = bitmaps_[key];
    if (bitmap == nullptr) bitmap.reset(roaring_bitmap_create());
    roaring_bitmap_add_many(bitmap.get(), lows.size(), lows.data());
  }
  return {};
}

void DeletionVector::UnionWith(const DeletionVector& other) {
  for (const auto& [key, bitmap] : other.bitmaps_) {
    Bitmap& mine = bitmaps_[key];
    if (mine == nullptr) {
      mine.reset(roaring_bitmap_copy(bitmap.get()));
    } else if (mine != bitmap) {
      roaring_bitmap_or_inplace(mine.get(), bitmap.get());
    }
  }
}

void DeletionVector::Subtract(const DeletionVector& other) {
  if (&other == this) {
    bitmaps_.clear();
    return;
  }
  for (auto it = bitmaps_.begin(); it != bitmaps_.end();) {
    const auto found = other.bitmaps_.find(it->first);
    if (found != other.bitmaps_.end()) roaring_bitmap_andnot_inplace(it->second.get(), found->second.get());
    it = roaring_bitmap_is_empty(it->second.get()) ? bitmaps_.erase(it) : std::next(it);
  }
}

bool DeletionVector::Contains(spec::RowPosition position) const {
  if (position.value() < 0) return false;
  const auto found = bitmaps_.find(KeyOf(position.value()));
  return found != bitmaps_.end() && roaring_bitmap_contains(found->second.get(), LowOf(position.value()));
}

bool DeletionVector::IsSubsetOf(const DeletionVector& other) const {
  return std::ranges::all_of(bitmaps_, [&](const auto& mine) {
    const auto found = other.bitmaps_.find(mine.first);
    return found != other.bitmaps_.end() && roaring_bitmap_and_cardinality(mine.second.get(), found->second.get()) ==
                                                roaring_bitmap_get_cardinality(mine.second.get());
  });
}

int64_t DeletionVector::cardinality() const {
  uint64_t total = 0;
  for (const auto& [key, bitmap] : bitmaps_) total += roaring_bitmap_get_cardinality(bitmap.get());
  return static_cast<int64_t>(total);
}

bool DeletionVector::empty() const { return bitmaps_.empty(); }

int64_t DeletionVector::Rank(spec::RowPosition position) const {
  if (position.value() <= 0) return 0;
  const int64_t last = position.value() - 1;
  uint64_t rank = 0;
  for (const auto& [key, bitmap] : bitmaps_) {
    if (key > KeyOf(last)) break;
    rank += key < KeyOf(last) ? roaring_bitmap_get_cardinality(bitmap.get())
                              : roaring_bitmap_rank(bitmap.get(), LowOf(last));
  }
  return static_cast<int64_t>(rank);
}

spec::RowPosition DeletionVector::Max() const {
  const auto& [key, bitmap] = *bitmaps_.rbegin();
  return spec::RowPosition(PositionOf(key, roaring_bitmap_maximum(bitmap.get())));
}

void DeletionVector::PositionsIn(spec::RowPosition begin, spec::RowPosition end, std::vector<int64_t>& out) const {
  const int64_t first = std::max<int64_t>(begin.value(), 0);
  if (first >= end.value()) return;
  // Few of the rows of a short range are deleted: what is read beyond its end is read for nothing.
  const auto read_ahead = static_cast<uint32_t>(std::clamp<int64_t>((end.value() - first) / 8, 32, kReadAhead));
  for (auto it = bitmaps_.lower_bound(KeyOf(first)); it != bitmaps_.end(); ++it) {
    const uint32_t key = it->first;
    if (PositionOf(key, 0) >= end.value()) return;
    ReadValues(
        *it->second, key == KeyOf(first) ? LowOf(first) : 0,
        [&](std::span<const uint32_t> lows) {
          for (const uint32_t low : lows) {
            const int64_t position = PositionOf(key, low);
            if (position >= end.value()) return false;
            out.push_back(position);
          }
          return true;
        },
        read_ahead);
  }
}

std::vector<uint64_t> DeletionVector::ToBits() const {
  using Kind = Roaring32Container::Kind;
  std::vector<uint64_t> bits;
  const auto low = bitmaps_.find(0);
  if (low == bitmaps_.end()) return bits;
  bits.resize(roaring_bitmap_maximum(low->second.get()) / 64 + 1);
  const auto set = [](uint64_t* words, size_t bit) { words[bit / 64] |= uint64_t{1} << (bit % 64); };
  const Bytes bytes = Serialise(*low->second);
  for (const Roaring32Container& container : ContainersOf(bytes)) {
    const size_t first = size_t{container.key} * ContainerBits().size();
    uint64_t* const words = bits.data() + first;
    if (container.kind == Kind::kBitset) {
      std::memcpy(words, container.body.data(), std::min(container.body.size(), (bits.size() - first) * 8));
    } else if (container.kind == Kind::kArray) {
      for (size_t i = 0; i < container.cardinality; ++i)
        set(words, LoadLittle<uint16_t>(container.body.data() + 2 * i));
    } else {
      ReadRuns(container.body, [&](size_t begin, size_t end) {
        for (; begin < end; ++begin) set(words, begin);
      });
    }
  }
  return bits;
}

std::vector<int64_t> DeletionVector::ToPositions() const {
  std::vector<int64_t> positions;
  positions.reserve(static_cast<size_t>(cardinality()));
  if (!empty()) PositionsIn(spec::RowPosition(0), spec::RowPosition(Max().value() + 1), positions);
  return positions;
}

bool DeletionVector::operator==(const DeletionVector& other) const {
  return std::ranges::equal(bitmaps_, other.bitmaps_, [](const auto& left, const auto& right) {
    if (left.first != right.first) return false;
    // Not roaring_bitmap_equals: a foreign blob may hold one set as two adjacent runs.
    const uint64_t common = roaring_bitmap_and_cardinality(left.second.get(), right.second.get());
    return common == roaring_bitmap_get_cardinality(left.second.get()) &&
           common == roaring_bitmap_get_cardinality(right.second.get());
  });
}

}  // namespace frazil::format
