#include "frazil/index/run_probe.h"

#include <algorithm>
#include <array>

namespace frazil::index {
namespace {

// Keys worked on at once: enough that their cache misses overlap, few enough that what was fetched is still there.
constexpr size_t kGroup = 128;

// Looks keys up in one run, group after group in ascending order. One thread.
class RunProber {
 public:
  virtual ~RunProber() = default;
  // At most kGroup keys; `first_key`: index of keys[0] in the batch.
  virtual Status Probe(std::span<const Hash96> keys, uint32_t first_key, std::vector<ProbeHit>& hits) = 0;
};

template <bool kHasRowIds>
class RunProberOf : public RunProber {
 public:
  explicit RunProberOf(const Run& run)
      : run_(run),
        fences_(run.fences()),
        pages_per_hash_(static_cast<double>(fences_.size()) /
                        std::max(1.0, Distance(run.smallest().high, run.largest().high))) {}

  Status Probe(std::span<const Hash96> keys, uint32_t first_key, std::vector<ProbeHit>& hits) override {
    // Keys outside of the run.
    while (!keys.empty() && keys.front() < run_.smallest()) {
      keys = keys.subspan(1);
      ++first_key;
    }
    while (!keys.empty() && run_.largest() < keys.back()) keys = keys.first(keys.size() - 1);
    if (keys.empty()) return {};

    for (const Hash96& key : keys) __builtin_prefetch(&fences_[Guess(key.high)]);
    for (size_t i = 0; i < keys.size(); ++i) {
      FindPage(keys[i].high);
      Place& place = places_[i];
      place.page = page_;
      const auto page = static_cast<int64_t>(page_);
      if (!run_.IsChecked(page)) [[unlikely]]
        FRAZIL_TRY(run_.Check(page));
      place.entry = run_.PageAt(page) + GuessSlot(keys[i].high) * kEntryBytes;
      __builtin_prefetch(place.entry);
      __builtin_prefetch(place.entry + 64);
    }
    for (size_t i = 0; i < keys.size(); ++i) {
      FRAZIL_TRY(Find(keys[i], places_[i].page, places_[i].entry, first_key + static_cast<uint32_t>(i), hits));
    }
    return {};
  }

 private:
  static constexpr size_t kEntryBytes = RunPage::EntryBytes(kHasRowIds);

  // Hashes are spread evenly, so where a hash lies between two others tells about where its entry lies.
  static double Distance(uint64_t from, uint64_t to) {
    return static_cast<double>(static_cast<int64_t>((to - from) >> 1));
  }

  // About the page of a hash at or after that of the last found page.
  size_t Guess(uint64_t high) const {
    const uint64_t fence = fences_[page_];
    if (high <= fence) return page_;
    const auto pages = static_cast<size_t>(Distance(fence, high) * pages_per_hash_);
    return std::min(page_ + pages, fences_.size() - 1);
  }

  // Sets page_ to the last page whose fence is below `high`, the first page if there is none: entries of a hash begin
  // there or, when the fence after it equals the hash, maybe at the beginning of the next.
  void FindPage(uint64_t high) {
    // Counting a few fences takes no branch that could be mispredicted.
    constexpr size_t kWindow = 8;
    const size_t guess = Guess(high);
    const size_t begin = guess >= page_ + kWindow / 2 ? guess - kWindow / 2 : page_;
    if (begin + kWindow <= fences_.size()) [[likely]] {
      const uint64_t* window = &fences_[begin];
      size_t below = 0;
      for (size_t i = 0; i < kWindow; ++i) below += window[i] < high ? 1 : 0;
      if (below > 0 && below < kWindow) [[likely]] {
        page_ = begin + below - 1;
        return;
      }
      if (below == 0 && begin == page_) return;
    }
    FindPageAnywhere(high, begin);
  }

  void FindPageAnywhere(uint64_t high, size_t near) {
    size_t low = page_;  // the answer is here or after
    size_t step = 1;
    if (fences_[near] < high) {
      low = near;
      while (low + step < fences_.size() && fences_[low + step] < high) {
        low += step;
        step *= 2;
      }
      near = std::min(low + step, fences_.size());
    }
    const auto begin = fences_.begin() + static_cast<std::ptrdiff_t>(low);
    const auto end = fences_.begin() + static_cast<std::ptrdiff_t>(near);
    const auto above = std::lower_bound(begin, end, high);
    if (above != fences_.begin()) page_ = std::max(low, static_cast<size_t>(above - fences_.begin()) - 1);
  }

  size_t GuessSlot(uint64_t high) const {
    const uint64_t from = fences_[page_];
    const uint64_t to = page_ + 1 < fences_.size() ? fences_[page_ + 1] : run_.largest().high;
    if (high <= from) return 0;
    const auto count = static_cast<double>(run_.NumEntriesOf(static_cast<int64_t>(page_)));
    const double slot = Distance(from, high) / std::max(1.0, Distance(from, to)) * count;
    return static_cast<size_t>(std::clamp(slot, 0.0, count - 1));
  }

  Status Find(const Hash96& key, size_t page, const std::byte* entry, uint32_t key_index, std::vector<ProbeHit>& hits) {
    const std::byte* begin = run_.PageAt(static_cast<int64_t>(page));
    const std::byte* end = begin + static_cast<size_t>(run_.NumEntriesOf(static_cast<int64_t>(page))) * kEntryBytes;
    // The first entry that is not below the key.
    if (RunPage::HashAt(entry) < key) {
      do entry += kEntryBytes;
      while (entry < end && RunPage::HashAt(entry) < key);
    } else {
      while (entry > begin && !(RunPage::HashAt(entry - kEntryBytes) < key)) entry -= kEntryBytes;
    }
    while (true) {
      for (; entry < end; entry += kEntryBytes) {
        if (RunPage::HashAt(entry) != key) return {};
        hits.push_back({.key = key_index,
                        .file = RunPage::FileAt(entry),
                        .position = RunPage::PositionAt(entry),
                        .row_id = RunPage::RowIdAt<kHasRowIds>(entry)});
      }
      // A key's entries may begin with, or go on in, the next page.
      ++page;
      if (page == fences_.size() || fences_[page] != key.high) return {};
      FRAZIL_TRY(run_.Check(static_cast<int64_t>(page)));
      entry = run_.PageAt(static_cast<int64_t>(page));
      end = entry + static_cast<size_t>(run_.NumEntriesOf(static_cast<int64_t>(page))) * kEntryBytes;
      // Hashes that differ in the low bits only may come before the key.
      while (entry < end && RunPage::HashAt(entry) < key) entry += kEntryBytes;
    }
  }

  struct Place {
    size_t page;
    const std::byte* entry;
  };

  const Run& run_;
  std::span<const uint64_t> fences_;
  double pages_per_hash_;  // by half the distance of hashes
  size_t page_ = 0;        // of the last key
  std::array<Place, kGroup> places_;
};

std::unique_ptr<RunProber> MakeProber(const Run& run) {
  if (run.has_row_ids()) return std::make_unique<RunProberOf<true>>(run);
  return std::make_unique<RunProberOf<false>>(run);
}

// Appends the hits of a group, which are ordered by run and then key, in the order of keys. Stable.
void AppendByKey(std::span<const ProbeHit> group, uint32_t first_key, std::vector<ProbeHit>& hits) {
  std::array<uint32_t, kGroup + 1> begins{};
  for (const ProbeHit& hit : group) ++begins[hit.key - first_key + 1];
  for (size_t i = 1; i <= kGroup; ++i) begins[i] += begins[i - 1];
  const size_t offset = hits.size();
  hits.resize(offset + group.size());
  for (const ProbeHit& hit : group) hits[offset + begins[hit.key - first_key]++] = hit;
}

}  // namespace

Status Probe(std::span<const std::shared_ptr<const Run>> runs, std::span<const Hash96> sorted,
             std::vector<ProbeHit>& hits) {
  std::vector<std::unique_ptr<RunProber>> probers;
  for (const auto& run : runs) probers.push_back(MakeProber(*run));
  std::vector<ProbeHit> of_group;
  for (size_t first = 0; first < sorted.size(); first += kGroup) {
    const std::span<const Hash96> keys = sorted.subspan(first, std::min(kGroup, sorted.size() - first));
    const auto first_key = static_cast<uint32_t>(first);
    if (probers.size() == 1) {
      FRAZIL_TRY(probers[0]->Probe(keys, first_key, hits));
      continue;
    }
    of_group.clear();
    for (const auto& prober : probers) FRAZIL_TRY(prober->Probe(keys, first_key, of_group));
    AppendByKey(of_group, first_key, hits);
  }
  return {};
}

}  // namespace frazil::index
