#include "frazil/index/run_filter.h"

#include <algorithm>
#include <array>

namespace frazil::index {
namespace {

constexpr uint64_t kBitsAKey = 10;
constexpr uint64_t kBitsOfBlock = RunFilter::kBlockBytes * 8;
constexpr int64_t kMinEntries = 1024;
/// 80 MB of filter. A run as large as that has most keys of its shard, so that few look-ups would miss it.
constexpr int64_t kMaxEntries = int64_t{1} << 26;
/// Numbers of blocks that can become one.
constexpr std::array<uint64_t, 6> kJoins = {12, 6, 4, 3, 2, 1};

}  // namespace

RunFilterBuilder::RunFilterBuilder(int64_t max_entries, uint64_t smallest, uint64_t largest) {
  if (max_entries < kMinEntries || max_entries > kMaxEntries) return;
  const uint64_t num_blocks = (static_cast<uint64_t>(max_entries) * kBitsAKey + kBitsOfBlock - 1) / kBitsOfBlock;
  if ((largest - smallest) / 2 < num_blocks) return;
  __extension__ using Wide = unsigned __int128;
  const auto factor = static_cast<uint64_t>((static_cast<Wide>(num_blocks) << 64) / (largest - smallest));
  // Joining divides it, and must not change which block follows which.
  filter_.factor = (factor + kJoins.front() - 1) / kJoins.front() * kJoins.front();
  max_blocks_ = num_blocks + kJoins.front() + 1;
}

void RunFilterBuilder::Add(const Hash96& hash) {
  if (filter_.factor == 0) return;
  if (num_entries_++ == 0) filter_.first = hash.high;
  const uint64_t block = filter_.BlockOf(hash.high);
  if (block >= max_blocks_) {  // not what was expected
    filter_.factor = 0;
    words_ = {};
    return;
  }
  const size_t begin = block * kWordsOfBlock;
  if (begin >= words_.size()) words_.resize(begin + kWordsOfBlock);
  RunFilter::Add(std::span(words_).subspan(begin, kWordsOfBlock), hash);
}

RunFilterBuilder::Built RunFilterBuilder::Finish() {
  if (filter_.factor == 0 || num_entries_ < kMinEntries) return {};
  const size_t num_blocks = words_.size() / kWordsOfBlock;
  const uint64_t num_bits = uint64_t{num_blocks} * kBitsOfBlock;
  // A little less than planned is better than nearly twice as much.
  const auto is_enough = [&](uint64_t join) {
    return num_bits / join * 20 >= static_cast<uint64_t>(num_entries_) * kBitsAKey * 19;
  };
  const auto join = std::find_if(kJoins.begin(), kJoins.end() - 1, is_enough);
  const size_t num_joined = (num_blocks + *join - 1) / *join;
  if (*join > 1) {
    for (size_t block = 0; block < num_blocks; ++block) {
      const size_t to = block / *join * kWordsOfBlock;
      for (size_t i = 0; i < kWordsOfBlock; ++i) {
        const uint64_t word = words_[block * kWordsOfBlock + i];
        words_[to + i] = block % *join == 0 ? word : words_[to + i] | word;
      }
    }
    words_.resize(num_joined * kWordsOfBlock);
  }
  return {.factor = filter_.factor / *join, .words = std::move(words_)};
}

}  // namespace frazil::index
