#include <algorithm>
#include <array>
#include <bit>
#include <unordered_map>

#include "frazil/index/key_index.h"

namespace frazil::index {
namespace {

/// Ascending. By digits from the lowest, of those bits alone that differ at all: two or three passes for the rows of a batch.
void SortByDigits(std::vector<uint64_t>& values) {
  constexpr size_t kWorthDigits = 256;
  constexpr int kDigitBits = 11;
  if (values.size() < kWorthDigits) {
    std::sort(values.begin(), values.end());
    return;
  }
  uint64_t differing = 0;
  for (const uint64_t value : values) differing |= value ^ values[0];
  std::vector<uint64_t> other(values.size());
  for (int shift = 0; shift < 64 && differing >> shift != 0;) {
    shift += std::countr_zero(differing >> shift);
    constexpr uint64_t kMask = (uint64_t{1} << kDigitBits) - 1;
    std::array<size_t, kMask + 2> begins{};
    for (const uint64_t value : values) ++begins[(value >> shift & kMask) + 1];
    for (size_t i = 1; i < begins.size(); ++i) begins[i] += begins[i - 1];
    for (const uint64_t value : values) other[begins[value >> shift & kMask]++] = value;
    values.swap(other);
    shift += kDigitBits;
  }
}

}  // namespace

std::vector<RowsOfFile> GroupByFile(std::span<const KeyHit> hits) {
  // File number and position in one, which has 32 bits (Entry).
  std::vector<uint64_t> rows;
  rows.reserve(hits.size());
  std::unordered_map<FileNumber, const IndexedFile*> files;
  std::vector<bool> is_known;
  for (const KeyHit& hit : hits) {
    const FileNumber number = hit.file->number;
    rows.push_back(uint64_t{number} << 32 | static_cast<uint64_t>(hit.position.value()));
    if (number >= is_known.size()) is_known.resize(size_t{number} + 1);
    if (is_known[number]) continue;
    is_known[number] = true;
    files.emplace(number, hit.file);
  }
  SortByDigits(rows);
  rows.erase(std::unique(rows.begin(), rows.end()), rows.end());
  std::vector<RowsOfFile> groups;
  for (size_t begin = 0; begin < rows.size();) {
    const auto number = static_cast<FileNumber>(rows[begin] >> 32);
    size_t end = begin + 1;
    while (end < rows.size() && rows[end] >> 32 == number) ++end;
    RowsOfFile& group = groups.emplace_back();
    group.file = files.at(number);
    group.positions.reserve(end - begin);
    for (; begin < end; ++begin) group.positions.push_back(static_cast<int64_t>(rows[begin] & 0xffff'ffff));
  }
  return groups;
}

}  // namespace frazil::index
