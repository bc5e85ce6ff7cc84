#include "frazil/index/run_probe.h"

#include <algorithm>
#include <array>
#include <numeric>
#include <optional>

#include <sys/resource.h>

namespace frazil::index {
namespace {

// Keys worked on at once: enough that their cache misses overlap, few enough that what was fetched is still there.
constexpr size_t kGroup = 128;

// What a group needs between the steps of one run, in the order of its keys. Of the thread, since to make it would take
// longer than to look up one key.
template <typename Place>
struct GroupOf {
  std::array<const std::byte*, kGroup> blocks;  // of the filter
  std::array<Hash96, kGroup> kept;
  std::array<uint32_t, kGroup> numbers;  // of the keys at hand in the batch
  std::array<uint32_t, kGroup> guesses;
  std::array<Place, kGroup> places;
  std::array<uint16_t, kGroup> candidates;

  static GroupOf& OfThread() {
    thread_local GroupOf group;
    return group;
  }
};

// Looks keys up in one run, group after group in ascending order. One thread.
class RunProber {
 public:
  virtual ~RunProber() = default;
  // At most kGroup keys; `first_key`: index of keys[0] in the batch.
  virtual Status Probe(std::span<const Hash96> keys, uint32_t first_key, std::vector<ProbeHit>& hits) = 0;
};

template <RunLayout kLayout>
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
    std::iota(group_.numbers.begin(), group_.numbers.begin() + static_cast<std::ptrdiff_t>(keys.size()), first_key);
    if (run_.has_filter()) {
      FRAZIL_ASSIGN(keys, Filter(keys));
      if (keys.empty()) return {};
    }

    // Each step asks for the memory that the next one needs, for all keys.
    GuessPages(keys);
    if (!run_.in_memory()) AskForPages(keys);
    for (size_t i = 0; i < keys.size(); ++i) {
      const uint64_t high = keys[i].high;
      if (high > last_of_page_ || here_.page == nullptr) FRAZIL_TRY(Enter(FindPage(high, group_.guesses[i])));
      Place& place = group_.places[i];
      place = here_;
      place.digest = static_cast<uint16_t>(range_.DigestOf(high));
      place.window = static_cast<uint16_t>(GuessWindow(place.digest));
      __builtin_prefetch(place.page + place.window * 2);
      __builtin_prefetch(place.page + place.window * 2 + kWindow * 2 - 1);
    }
    size_t num_candidates = 0;
    for (size_t i = 0; i < keys.size(); ++i) {
      Place& place = group_.places[i];
      FindSlot(place);
      // Nearly all keys that are not there end here.
      const bool may_be_here = place.slot < kSlots && Slot::DigestAt(place.page, place.slot) == place.digest;
      group_.candidates[num_candidates] = static_cast<uint16_t>(i);
      num_candidates += may_be_here || place.slot == kSlots ? 1 : 0;
    }
    for (size_t i = 0; i < num_candidates; ++i) {
      const Place& place = group_.places[group_.candidates[i]];
      __builtin_prefetch(Slot::RecordAt(place.page, place.slot));
      __builtin_prefetch(Slot::RecordAt(place.page, place.slot) + kLayout.record_bytes() - 1);
    }
    for (size_t i = 0; i < num_candidates; ++i) {
      const size_t key = group_.candidates[i];
      FRAZIL_TRY(Visit(keys[key], group_.places[key], group_.numbers[key], hits));
    }
    return {};
  }

 private:
  using Slot = RunSlot<kLayout>;
  static constexpr int kSlots = static_cast<int>(kLayout.entries_per_page());
  static constexpr int kWindow = 32;  // digests looked at together; one or two cache lines

  // Where entries of a key can be: in this page from this slot on.
  struct Place {
    const std::byte* page = nullptr;
    uint32_t number = 0;
    uint16_t window = 0;  // where to begin looking for the slot
    uint16_t slot = 0;    // the first whose digest is not below
    uint16_t digest = 0;
  };

  // Hashes are spread evenly, so where a hash lies between two others tells about where its entry lies.
  static double Distance(uint64_t from, uint64_t to) {
    return static_cast<double>(static_cast<int64_t>((to - from) >> 1));
  }

  size_t GuessPage(uint64_t high) const {
    const uint64_t fence = fences_[page_];
    const double pages = high <= fence ? 0 : Distance(fence, high) * pages_per_hash_;
    return std::min(page_ + static_cast<size_t>(pages), fences_.size() - 1);
  }

  // The keys that may be in the run, and numbers_ for them. Where most of them are the filter is only work: it rests then.
  Result<std::span<const Hash96>> Filter(std::span<const Hash96> keys) {
    constexpr int kGroupsOfRest = 15;
    if (groups_to_rest_ > 0) {
      --groups_to_rest_;
      return keys;
    }
    const RunFilter filter = run_.filter();
    uint64_t last_page = UINT64_MAX;
    for (size_t i = 0; i < keys.size(); ++i) {
      const uint64_t block = filter.BlockOf(keys[i].high);
      const int64_t page = run_.FilterPageOf(block);
      if (static_cast<uint64_t>(page) != last_page) {
        last_page = static_cast<uint64_t>(page);
        if (!run_.IsChecked(page)) [[unlikely]]
          FRAZIL_TRY(run_.Check(page));
      }
      group_.blocks[i] = run_.FilterBlock(block);
      __builtin_prefetch(group_.blocks[i]);
    }
    size_t count = 0;
    for (size_t i = 0; i < keys.size(); ++i) {
      group_.kept[count] = keys[i];
      group_.numbers[count] = group_.numbers[i];
      count += RunFilter::MayHold(group_.blocks[i], keys[i]) ? 1 : 0;
    }
    if (count * 2 > keys.size()) groups_to_rest_ = kGroupsOfRest;
    return std::span<const Hash96>(group_.kept.data(), count);
  }

  // Between the pages of the first and the last key, which are looked for one after the other: from key to key the
  // processor would wait for each before it knew where to look for the next.
  void GuessPages(std::span<const Hash96> keys) {
    const uint64_t first_high = keys.front().high;
    const size_t first = FindPage(first_high, GuessPage(first_high));
    const size_t last = FindPage(keys.back().high, GuessPage(keys.back().high));
    const double pages_per_hash =
        static_cast<double>(last - first) / std::max(1.0, Distance(first_high, keys.back().high));
    constexpr size_t kFewPages = 64;  // their fences come by themselves
    for (size_t i = 0; i < keys.size(); ++i) {
      const auto guess =
          first + static_cast<size_t>(static_cast<int64_t>(Distance(first_high, keys[i].high) * pages_per_hash));
      group_.guesses[i] = static_cast<uint32_t>(guess);
      if (last - first > kFewPages) __builtin_prefetch(&fences_[guess]);
    }
  }

  // Pages that may have to come from the store are all asked for before the first is waited for: a store answers many
  // requests in the time of one. Checked pages are in memory, unless reading one had to wait a moment ago.
  void AskForPages(std::span<const Hash96> keys) {
    constexpr int kGroupsToAsk = 16;
    rusage usage;
    ::getrusage(RUSAGE_THREAD, &usage);
    if (num_waits_ && *num_waits_ != usage.ru_majflt) groups_to_ask_ = kGroupsToAsk;
    num_waits_ = usage.ru_majflt;
    const bool asks_for_checked = groups_to_ask_ > 0;
    if (asks_for_checked) --groups_to_ask_;
    if (!asks_for_checked && run_.AllChecked()) return;
    std::optional<size_t> asked;
    for (size_t i = 0; i < keys.size(); ++i) {
      const size_t page = FindPage(keys[i].high, group_.guesses[i]);
      if (page == asked) continue;
      const auto number = static_cast<int64_t>(page);
      if (asks_for_checked || !run_.IsChecked(number)) run_.WillNeed(number);
      asked = page;
    }
  }

  // The last page whose fence is below `high`, the first page if there is none, at or after page_: entries of a hash
  // begin there or, when the fence after it equals the hash, maybe at the beginning of the next.
  size_t FindPage(uint64_t high, size_t guess) const {
    // Counting a few fences takes no branch that could be mispredicted.
    constexpr size_t kFences = 8;
    const size_t begin = guess - std::min(guess, kFences / 2);
    if (begin + kFences <= fences_.size()) [[likely]] {
      const uint64_t* window = &fences_[begin];
      size_t below = 0;
      for (size_t i = 0; i < kFences; ++i) below += window[i] < high ? 1 : 0;
      if (below > 0 && below < kFences) [[likely]]
        return begin + below - 1;
    }
    return FindPageAnywhere(high, begin);
  }

  size_t FindPageAnywhere(uint64_t high, size_t near) const {
    // In growing steps to a range around the first fence that is not below, then by halves.
    size_t begin = near;
    size_t end = near;
    size_t step = 1;
    while (begin > 0 && fences_[begin - 1] >= high) {
      end = begin - 1;
      begin -= std::min(begin, step);
      step *= 2;
    }
    while (end < fences_.size() && fences_[end] < high) {
      begin = end + 1;
      end += std::min(step, fences_.size() - end);
      step *= 2;
    }
    while (begin < end) {
      const size_t middle = (begin + end) / 2;
      if (fences_[middle] < high) {
        begin = middle + 1;
      } else {
        end = middle;
      }
    }
    return begin - std::min<size_t>(begin, 1);
  }

  Status Enter(size_t page) {
    const auto number = static_cast<int64_t>(page);
    if (!run_.IsChecked(number)) [[unlikely]]
      FRAZIL_TRY(run_.Check(number));
    page_ = page;
    range_ = run_.RangeOf(number);
    last_of_page_ = page + 1 < fences_.size() ? fences_[page + 1] : UINT64_MAX;
    here_.page = run_.PageAt(number);
    here_.number = static_cast<uint32_t>(page);
    slots_per_digest_ = static_cast<float>(kSlots) /
                        static_cast<float>(static_cast<int>(range_.DigestOf(range_.fence + range_.width)) + 1);
    return {};
  }

  // Where to begin looking for the slot: the guess is rarely off by more than half a window.
  int GuessWindow(uint16_t digest) const {
    const int guess = static_cast<int>(static_cast<float>(digest) * slots_per_digest_);
    return std::max(0, std::min(guess - kWindow / 2, kSlots - kWindow));
  }

  static int CountBelow(const std::byte* digests, uint16_t digest) {
    uint16_t below = 0;
    for (int i = 0; i < kWindow; ++i) {
      below += LoadLittle<uint16_t>(digests + i * 2) < digest ? 1 : 0;
    }
    return below;
  }

  static void FindSlot(Place& place) {
    int begin = place.window;
    while (true) {
      const std::byte* digests = place.page + begin * 2;
      const int below = CountBelow(digests, place.digest);
      if (below == 0 && begin > 0 && LoadLittle<uint16_t>(digests - 2) >= place.digest) {
        begin = std::max(0, begin - kWindow);
      } else if (below == kWindow && begin + kWindow < kSlots) {
        begin = std::min(begin + kWindow, kSlots - kWindow);
      } else {
        place.slot = static_cast<uint16_t>(begin + below);
        return;
      }
    }
  }

  Status Visit(const Hash96& key, Place place, uint32_t key_index, std::vector<ProbeHit>& hits) {
    while (true) {
      const RunPageRange range = run_.RangeOf(place.number);
      const uint64_t rest = range.RestOf(key.high);
      // A hash in the gap after the page looks like one that may be in it.
      if (!range.Holds(key.high)) place.slot = kSlots;
      for (; place.slot < kSlots && Slot::DigestAt(place.page, place.slot) == place.digest; ++place.slot) {
        const std::byte* record = Slot::RecordAt(place.page, place.slot);
        if (Slot::RestAt(record) != rest || Slot::LowAt(record) != key.low) continue;
        if (Slot::FileAt(record) == kLayout.no_file()) break;  // unused, and the hash has just its bits
        hits.push_back({.key = key_index,
                        .file = Slot::FileAt(record),
                        .position = Slot::PositionAt(record),
                        .row_id = Slot::RowIdAt(record)});
      }
      // A key's entries may begin with, or go on in, the next page.
      const auto next = static_cast<size_t>(place.number) + 1;
      if (place.slot < kSlots || next == fences_.size() || fences_[next] != key.high) return {};
      FRAZIL_TRY(run_.Check(static_cast<int64_t>(next)));
      ++place.number;
      place.page = run_.PageAt(place.number);
      place.slot = 0;
      place.digest = 0;
    }
  }

  const Run& run_;
  std::span<const uint64_t> fences_;
  double pages_per_hash_;  // by half the distance of hashes
  size_t page_ = 0;        // of the last key; what follows is about it
  RunPageRange range_{0, 0, 0};
  uint64_t last_of_page_ = 0;  // keys above are on later pages
  float slots_per_digest_ = 0;
  std::optional<long> num_waits_;  // of this thread, at the last group: page faults that had to read
  int groups_to_ask_ = 0;
  Place here_;
  int groups_to_rest_ = 0;
  GroupOf<Place>& group_ = GroupOf<Place>::OfThread();
};

std::unique_ptr<RunProber> MakeProber(const Run& run) {
  return WithLayout(run.layout(), [&]<RunLayout kLayout>() -> std::unique_ptr<RunProber> {
    return std::make_unique<RunProberOf<kLayout>>(run);
  });
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
