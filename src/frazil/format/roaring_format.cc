#include "frazil/format/roaring_format.h"

#include <bit>

namespace frazil::format {
namespace {

constexpr uint32_t kCookieWithoutRuns = 12346;
constexpr uint16_t kCookieWithRuns = 12347;
constexpr size_t kMaxContainers = 65536;
constexpr size_t kMaxArraySize = 4096;
constexpr size_t kBitsetBytes = 8192;
constexpr size_t kMinContainersForOffsets = 4;  // with the run cookie

auto Corrupt(std::string_view what) { return Fail(ErrorCode::kCorruptData, "corrupt roaring bitmap: {}", what); }

auto CorruptContainer(std::string_view what, size_t container) {
  return Fail(ErrorCode::kCorruptData, "corrupt roaring bitmap: {} in container {}", what, container);
}

/// Where the parts of a bitmap lie; all of the header is known to be inside the bytes.
struct Header {
  size_t num_containers = 0;
  const std::byte* run_flags = nullptr;  // null: no run containers
  size_t descriptors = 0;
  size_t offsets = 0;  // 0: none
  size_t end = 0;

  bool IsRun(size_t i) const {
    return run_flags != nullptr && (std::to_integer<unsigned>(run_flags[i / 8]) >> (i % 8) & 1) != 0;
  }
};

Result<Header> ParseHeader(ByteView bytes) {
  Header header;
  if (bytes.size() < 4) return Corrupt("cookie is cut off");
  const uint32_t cookie = LoadLittle<uint32_t>(bytes.data());
  size_t position = 4;
  bool has_offsets = true;
  if ((cookie & 0xFFFF) == kCookieWithRuns) {
    header.num_containers = (cookie >> 16) + 1;
    const size_t flag_bytes = (header.num_containers + 7) / 8;
    if (bytes.size() - position < flag_bytes) return Corrupt("run flags are cut off");
    header.run_flags = bytes.data() + position;
    position += flag_bytes;
    has_offsets = header.num_containers >= kMinContainersForOffsets;
  } else if (cookie == kCookieWithoutRuns) {
    if (bytes.size() < 8) return Corrupt("container count is cut off");
    header.num_containers = LoadLittle<uint32_t>(bytes.data() + position);
    position += 4;
    if (header.num_containers > kMaxContainers) return Corrupt("more than 65536 containers");
  } else {
    return Corrupt("unknown cookie");
  }
  header.descriptors = position;
  position += header.num_containers * 4;
  if (has_offsets) {
    header.offsets = position;
    position += header.num_containers * 4;
  }
  if (position > bytes.size()) return Corrupt("header is cut off");
  header.end = position;
  return header;
}

/// Size of a container's body at the start of `body`.
Result<size_t> ValidateArray(ByteView body, size_t cardinality, size_t container) {
  const size_t size = cardinality * 2;
  if (body.size() < size) return CorruptContainer("array is cut off", container);
  int32_t previous = -1;
  for (size_t i = 0; i < cardinality; ++i) {
    const int32_t value = LoadLittle<uint16_t>(body.data() + i * 2);
    if (value <= previous) return CorruptContainer("array is not ascending", container);
    previous = value;
  }
  return size;
}

Result<size_t> ValidateBitset(ByteView body, size_t cardinality, size_t container) {
  if (body.size() < kBitsetBytes) return CorruptContainer("bitset is cut off", container);
  size_t bits = 0;
  for (size_t i = 0; i < kBitsetBytes; i += 8) bits += std::popcount(LoadLittle<uint64_t>(body.data() + i));
  if (bits != cardinality) return CorruptContainer("bitset has another cardinality than its header", container);
  return kBitsetBytes;
}

Result<size_t> ValidateRuns(ByteView body, size_t cardinality, size_t container) {
  if (body.size() < 2) return CorruptContainer("run count is cut off", container);
  const size_t num_runs = LoadLittle<uint16_t>(body.data());
  const size_t size = 2 + num_runs * 4;
  if (body.size() < size) return CorruptContainer("runs are cut off", container);
  int32_t previous_end = -1;
  size_t total = 0;
  for (size_t i = 0; i < num_runs; ++i) {
    const int32_t start = LoadLittle<uint16_t>(body.data() + 2 + i * 4);
    const int32_t length_minus_one = LoadLittle<uint16_t>(body.data() + 4 + i * 4);
    if (start <= previous_end) return CorruptContainer("runs overlap or are not ascending", container);
    previous_end = start + length_minus_one;
    if (previous_end > 0xFFFF) return CorruptContainer("run ends after the container", container);
    total += static_cast<size_t>(length_minus_one) + 1;
  }
  if (total != cardinality) return CorruptContainer("runs have another cardinality than the header", container);
  return size;
}

/// Start and length - 1 of each run of ones.
void AppendRuns(std::span<const uint64_t, 1024> bits, Bytes& out) {
  constexpr size_t kBits = 65536;
  const auto find = [&](size_t from, uint64_t flip) {
    for (size_t word = from / 64; word < bits.size(); ++word) {
      uint64_t wanted = bits[word] ^ flip;
      if (word == from / 64) wanted &= ~uint64_t{0} << (from % 64);
      if (wanted != 0) return word * 64 + static_cast<size_t>(std::countr_zero(wanted));
    }
    return kBits;
  };
  for (size_t start = find(0, 0); start < kBits;) {
    const size_t end = find(start, ~uint64_t{0});
    AppendLittle(out, static_cast<uint16_t>(start));
    AppendLittle(out, static_cast<uint16_t>(end - start - 1));
    start = end < kBits ? find(end, 0) : kBits;
  }
}

}  // namespace

Result<size_t> ValidateRoaring32(ByteView bytes) {
  FRAZIL_ASSIGN(const Header header, ParseHeader(bytes));
  size_t position = header.end;
  int32_t previous_key = -1;
  for (size_t i = 0; i < header.num_containers; ++i) {
    const std::byte* descriptor = bytes.data() + header.descriptors + i * 4;
    const int32_t key = LoadLittle<uint16_t>(descriptor);
    const size_t cardinality = size_t{LoadLittle<uint16_t>(descriptor + 2)} + 1;
    if (key <= previous_key) return CorruptContainer("key is not larger than the one before", i);
    previous_key = key;
    if (header.offsets != 0 && LoadLittle<uint32_t>(bytes.data() + header.offsets + i * 4) != position) {
      return CorruptContainer("offset points elsewhere", i);
    }
    const ByteView body = bytes.subspan(position);
    Result<size_t> size = header.IsRun(i)                ? ValidateRuns(body, cardinality, i)
                          : cardinality <= kMaxArraySize ? ValidateArray(body, cardinality, i)
                                                         : ValidateBitset(body, cardinality, i);
    if (!size) return size;
    position += *size;
  }
  return position;
}

std::vector<Roaring32Container> ContainersOf(ByteView bytes) {
  std::vector<Roaring32Container> containers;
  const Result<Header> header = ParseHeader(bytes);
  if (!header) return containers;
  containers.reserve(header->num_containers);
  size_t position = header->end;
  for (size_t i = 0; i < header->num_containers; ++i) {
    using Kind = Roaring32Container::Kind;
    const std::byte* descriptor = bytes.data() + header->descriptors + i * 4;
    Roaring32Container& container = containers.emplace_back();
    container.key = LoadLittle<uint16_t>(descriptor);
    container.cardinality = uint32_t{LoadLittle<uint16_t>(descriptor + 2)} + 1;
    container.kind = header->IsRun(i)                         ? Kind::kRuns
                     : container.cardinality <= kMaxArraySize ? Kind::kArray
                                                              : Kind::kBitset;
    const size_t size = container.kind == Kind::kRuns    ? 2 + size_t{LoadLittle<uint16_t>(bytes.data() + position)} * 4
                        : container.kind == Kind::kArray ? size_t{container.cardinality} * 2
                                                         : kBitsetBytes;
    container.body = bytes.subspan(position, size);
    position += size;
  }
  return containers;
}

void Roaring32Writer::AddBitset(uint16_t key, std::span<const uint64_t, 1024> bits) {
  size_t num_runs = 0;
  size_t cardinality = 0;
  uint64_t last_before = 0;
  for (const uint64_t word : bits) {
    cardinality += std::popcount(word);
    num_runs += std::popcount(word & ~(word << 1 | last_before));
    last_before = word >> 63;
  }
  const size_t start = bodies_.size();
  const bool is_run = 2 + num_runs * 4 < kBitsetBytes;
  if (is_run) {
    AppendLittle(bodies_, static_cast<uint16_t>(num_runs));
    AppendRuns(bits, bodies_);
  } else {
    AppendBytes(bodies_, std::as_bytes(bits));
  }
  Append(key, cardinality, start, is_run);
}

void Roaring32Writer::AddContainer(uint16_t key, std::span<const uint16_t> values) {
  size_t num_runs = 1;
  for (size_t i = 1; i < values.size(); ++i) num_runs += values[i] != values[i - 1] + 1;

  const size_t size_as_runs = 2 + num_runs * 4;
  const bool is_array = values.size() <= kMaxArraySize;
  const size_t size_as_is = is_array ? values.size() * 2 : kBitsetBytes;
  // Java's rule. CRoaring 0.2 counts two bytes more for an array and would make runs of {1,2,3}.
  const bool is_run = size_as_runs < size_as_is;

  const size_t start = bodies_.size();
  if (is_run) {
    AppendLittle(bodies_, static_cast<uint16_t>(num_runs));
    for (size_t i = 0; i < values.size();) {
      size_t end = i + 1;
      while (end < values.size() && values[end] == values[end - 1] + 1) ++end;
      AppendLittle(bodies_, values[i]);
      AppendLittle(bodies_, static_cast<uint16_t>(end - i - 1));
      i = end;
    }
  } else if (is_array) {
    AppendBytes(bodies_, std::as_bytes(values));
  } else {
    bodies_.resize(start + kBitsetBytes);
    for (const uint16_t value : values) bodies_[start + value / 8] |= std::byte{1} << (value % 8);
  }
  Append(key, values.size(), start, is_run);
}

void Roaring32Writer::Append(uint16_t key, size_t cardinality, size_t start, bool is_run) {
  has_runs_ |= is_run;
  containers_.push_back({.key = key,
                         .cardinality_minus_one = static_cast<uint16_t>(cardinality - 1),
                         .size_bytes = static_cast<uint32_t>(bodies_.size() - start),
                         .is_run = is_run});
}

bool Roaring32Writer::has_offsets() const { return !has_runs_ || containers_.size() >= kMinContainersForOffsets; }

size_t Roaring32Writer::header_size_bytes() const {
  const size_t n = containers_.size();
  return (has_runs_ ? 4 + (n + 7) / 8 : 8) + n * 4 + (has_offsets() ? n * 4 : 0);
}

size_t Roaring32Writer::size_bytes() const { return header_size_bytes() + bodies_.size(); }

void Roaring32Writer::Finish(Bytes& out) {
  const size_t n = containers_.size();
  out.reserve(out.size() + size_bytes());
  if (has_runs_) {
    AppendLittle(out, kCookieWithRuns);
    AppendLittle(out, static_cast<uint16_t>(n - 1));
    const size_t flags = out.size();
    out.resize(flags + (n + 7) / 8);
    for (size_t i = 0; i < n; ++i) {
      if (containers_[i].is_run) out[flags + i / 8] |= std::byte{1} << (i % 8);
    }
  } else {
    AppendLittle(out, kCookieWithoutRuns);
    AppendLittle(out, static_cast<uint32_t>(n));
  }
  for (const Container& container : containers_) {
    AppendLittle(out, container.key);
    AppendLittle(out, container.cardinality_minus_one);
  }
  if (has_offsets()) {
    auto offset = static_cast<uint32_t>(header_size_bytes());
    for (const Container& container : containers_) {
      AppendLittle(out, offset);
      offset += container.size_bytes;
    }
  }
  AppendBytes(out, bodies_);
  containers_.clear();
  bodies_.clear();
  has_runs_ = false;
}

}  // namespace frazil::format
