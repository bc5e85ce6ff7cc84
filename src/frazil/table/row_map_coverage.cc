#include "frazil/table/row_map_coverage.h"

#include <algorithm>

namespace frazil::table {
namespace {

auto Corrupt(std::string_view what) { return Fail(ErrorCode::kCorruptData, "{}", what); }

constexpr int64_t kWord = 64;
constexpr int64_t kPieceBytes = 16;

/// The rows of one output that were met: a bit each, or the pieces themselves where those are fewer bytes.
class Coverage {
 public:
  Coverage(int64_t record_count, int64_t num_pieces) : uses_bits_(record_count / 8 <= num_pieces * kPieceBytes) {
    if (uses_bits_) {
      bits_.resize(static_cast<size_t>((record_count + kWord - 1) / kWord));
    } else {
      pieces_.reserve(static_cast<size_t>(num_pieces));
    }
  }

  void Add(int64_t start, int64_t length) {
    if (!uses_bits_) {
      pieces_.emplace_back(start, length);
      return;
    }
    for (const int64_t end = start + length; start < end;) {
      const int64_t in_word = start % kWord;
      const int64_t taken = std::min(end - start, kWord - in_word);
      const uint64_t mask = (taken == kWord ? ~uint64_t{0} : (uint64_t{1} << taken) - 1) << in_word;
      uint64_t& word = bits_[static_cast<size_t>(start / kWord)];
      overlaps_ |= (word & mask) != 0;
      word |= mask;
      start += taken;
    }
  }

  bool Overlaps() {
    std::sort(pieces_.begin(), pieces_.end());
    for (size_t i = 1; i < pieces_.size(); ++i) {
      overlaps_ |= pieces_[i - 1].first + pieces_[i - 1].second > pieces_[i].first;
    }
    return overlaps_;
  }

 private:
  const bool uses_bits_;
  std::vector<uint64_t> bits_;
  std::vector<std::pair<int64_t, int64_t>> pieces_;
  bool overlaps_ = false;
};

}  // namespace

Status RowMapCoverage::Check(const std::vector<int64_t>& record_counts, const ForEachPiece& for_each_piece) {
  struct Count {
    int64_t pieces = 0;
    int64_t rows_left = 0;
  };
  std::vector<Count> counts(record_counts.size());
  for (size_t i = 0; i < counts.size(); ++i) counts[i].rows_left = record_counts[i];
  bool is_outside = false;
  bool is_too_much = false;
  for_each_piece([&](uint32_t output, int64_t start, int64_t length) {
    if (output >= counts.size() || start < 0 || start > record_counts[output] - length) {
      is_outside = true;
      return;
    }
    Count& count = counts[output];
    ++count.pieces;
    count.rows_left -= length;
    is_too_much |= count.rows_left < 0;
    count.rows_left = std::max<int64_t>(count.rows_left, 0);
  });
  if (is_outside) return Corrupt("a row lies outside of the outputs");
  if (is_too_much) return Corrupt("two rows share a place");
  for (const Count& count : counts) {
    if (count.rows_left > 0) return Corrupt("a row of an output has no source");
  }
  std::vector<Coverage> coverages;
  coverages.reserve(counts.size());
  for (size_t i = 0; i < counts.size(); ++i) coverages.emplace_back(record_counts[i], counts[i].pieces);
  for_each_piece([&](uint32_t output, int64_t start, int64_t length) { coverages[output].Add(start, length); });
  for (Coverage& coverage : coverages) {
    if (coverage.Overlaps()) return Corrupt("two rows share a place");
  }
  return {};
}

}  // namespace frazil::table
