#include "frazil/index/entry_sorter.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <mutex>
#include <optional>
#include <utility>

#include "frazil/index/mapping.h"
#include "frazil/index/run_writer.h"

namespace frazil::index {
namespace {

constexpr size_t kSmall = 32;
constexpr int kMaxBits = 8;
constexpr size_t kEntriesAhead = 4;
constexpr size_t kMaxBuckets = size_t{1} << kMaxBits;

// Where the entries of each bucket begin; one more for the end.
using Begins = std::array<size_t, kMaxBuckets + 1>;

// The bits of the hash that tell buckets apart: the highest in which the entries differ at all.
struct Digit {
  int shift = 0;
  int bits = 0;
  size_t Of(const Entry& entry) const { return (entry.hash.high >> shift) & ((size_t{1} << bits) - 1); }
};

void InsertionSort(std::span<Entry> entries) {
  for (size_t i = 1; i < entries.size(); ++i) {
    if (!(entries[i] < entries[i - 1])) continue;
    const Entry entry = entries[i];
    size_t slot = i;
    do {
      entries[slot] = entries[slot - 1];
      --slot;
    } while (slot > 0 && entry < entries[slot - 1]);
    entries[slot] = entry;
  }
}

// None: all high halves are the same.
Digit FindDigit(std::span<const Entry> entries) {
  uint64_t differing = 0;
  for (const Entry& entry : entries) differing |= entry.hash.high ^ entries[0].hash.high;
  if (differing == 0) return {};
  // Buckets of about 8 entries are small sorts; more digits than entries are useless.
  const int bits = std::clamp(static_cast<int>(std::bit_width(entries.size() / 8)), 1, kMaxBits);
  const int top = 64 - std::countl_zero(differing);
  const int shift = std::max(0, top - bits);
  return {.shift = shift, .bits = top - shift};
}

// Moves every entry into its bucket, in place ("American flag sort").
void Distribute(std::span<Entry> entries, const Digit& digit, Begins& begins) {
  const size_t num_buckets = size_t{1} << digit.bits;
  std::fill_n(begins.begin(), num_buckets + 1, 0);
  for (const Entry& entry : entries) ++begins[digit.Of(entry) + 1];
  for (size_t i = 1; i <= num_buckets; ++i) begins[i] += begins[i - 1];
  std::array<size_t, kMaxBuckets> next;
  std::copy_n(begins.begin(), num_buckets, next.begin());
  for (size_t bucket = 0; bucket < num_buckets; ++bucket) {
    while (next[bucket] < begins[bucket + 1]) {
      Entry entry = entries[next[bucket]];
      for (size_t home = digit.Of(entry); home != bucket; home = digit.Of(entry)) {
        const size_t slot = next[home]++;
        std::swap(entry, entries[slot]);
        // Every bucket fills from front to back, so what it needs next is known long before.
        __builtin_prefetch(&entries[std::min(slot + kEntriesAhead, entries.size() - 1)], 1);
      }
      entries[next[bucket]++] = entry;
    }
  }
}

void Sort(std::span<Entry> entries) {
  if (entries.size() <= kSmall) return InsertionSort(entries);
  const Digit digit = FindDigit(entries);
  if (digit.bits == 0) return std::sort(entries.begin(), entries.end());
  Begins begins;
  Distribute(entries, digit, begins);
  for (size_t i = 0; i < size_t{1} << digit.bits; ++i) Sort(entries.subspan(begins[i], begins[i + 1] - begins[i]));
}

Status SortInParallel(std::span<Entry> entries, Executor* executor) {
  constexpr size_t kWorthThreads = 100'000;
  if (executor == nullptr || entries.size() < kWorthThreads) {
    Sort(entries);
    return {};
  }
  const Digit digit = FindDigit(entries);
  if (digit.bits == 0) {
    Sort(entries);
    return {};
  }
  Begins begins;
  Distribute(entries, digit, begins);
  return executor->ParallelFor(size_t{1} << digit.bits, [&](size_t i) -> Status {
    Sort(entries.subspan(begins[i], begins[i + 1] - begins[i]));
    return {};
  });
}

}  // namespace

void SortEntries(std::vector<Entry>& entries) { Sort(entries); }

// One array in the order of arrival. Sorted it is in the order of shards too, for a shard is the top bits of the hash.
class EntrySorter::Impl {
 public:
  explicit Impl(Options options) : options_(std::move(options)), runs_(options_.num_shards) {
    // An array larger than any memory is not asked for; what is not touched of it costs nothing.
    capacity_ = static_cast<size_t>(std::clamp<int64_t>(options_.max_entries_in_memory, 1, int64_t{1} << 30));
  }

  Status Add(std::span<const Entry> entries) {
    const std::lock_guard lock(mutex_);
    if (failure_) return tl::unexpected(*failure_);
    while (!entries.empty()) {
      if (array_.size() == 0) {
        FRAZIL_ASSIGN(array_, Mapping::Anonymous(capacity_ * sizeof(Entry)));
      }
      const size_t count = std::min(entries.size(), capacity_ - size_);
      std::memcpy(array_.data() + size_ * sizeof(Entry), entries.data(), count * sizeof(Entry));
      size_ += count;
      entries = entries.subspan(count);
      if (size_ == capacity_) FRAZIL_TRY(Spill());
    }
    return {};
  }

  Result<std::vector<std::vector<std::shared_ptr<const Run>>>> Finish() {
    const std::lock_guard lock(mutex_);
    if (failure_) return tl::unexpected(*failure_);
    FRAZIL_TRY(Spill());
    array_ = Mapping();
    for (auto& of_shard : runs_) std::reverse(of_shard.begin(), of_shard.end());
    return std::move(runs_);
  }

 private:
  // Others that add wait meanwhile. They may be tasks of the executor: this thread works alone then.
  Status Spill() {
    Status spilled = WriteRuns();
    if (!spilled) failure_ = spilled.error();  // entries are lost; no later call may succeed
    size_ = 0;
    return spilled;
  }

  Status WriteRuns() {
    const std::span<Entry> entries(reinterpret_cast<Entry*>(array_.data()), size_);
    FRAZIL_TRY(SortInParallel(entries, options_.executor));
    std::vector<size_t> begins;
    for (uint32_t shard = 0; shard < options_.num_shards; ++shard) {
      const auto begin = std::partition_point(entries.begin(), entries.end(), [&](const Entry& entry) {
        return ShardOf(entry.hash, options_.num_shards) < shard;
      });
      begins.push_back(static_cast<size_t>(begin - entries.begin()));
    }
    begins.push_back(size_);
    std::vector<std::string> names(options_.num_shards);
    for (uint32_t shard = 0; shard < options_.num_shards; ++shard) {
      if (begins[shard] < begins[shard + 1] && options_.name_run) names[shard] = options_.name_run(shard);
    }
    return ParallelFor(options_.executor, options_.num_shards, [&](size_t shard) -> Status {
      const size_t count = begins[shard + 1] - begins[shard];
      if (count == 0) return {};
      FRAZIL_TRY(WriteRun(shard, names[shard], entries.subspan(begins[shard], count)));
      // A run in memory takes the place of its entries.
      if (names[shard].empty()) array_.Release(begins[shard] * sizeof(Entry), count * sizeof(Entry));
      return {};
    });
  }

  Status WriteRun(size_t shard, const std::string& name, std::span<const Entry> entries) {
    const RunLayout layout = RunLayout::Of(entries);
    std::unique_ptr<RunWriter> writer;
    if (name.empty()) {
      writer = RunWriter::ToMemory("run in memory", layout);
    } else {
      FRAZIL_ASSIGN(writer, RunWriter::ToFile(*options_.local, name, layout));
    }
    writer->AddFilter(static_cast<int64_t>(entries.size()), entries.front().hash.high, entries.back().hash.high);
    FRAZIL_TRY(writer->Add(entries));
    FRAZIL_ASSIGN(std::shared_ptr<const Run> run, writer->Finish());
    runs_[shard].push_back(std::move(run));
    return {};
  }

  const Options options_;
  size_t capacity_ = 0;
  std::mutex mutex_;
  Mapping array_;
  size_t size_ = 0;
  std::vector<std::vector<std::shared_ptr<const Run>>> runs_;  // by shard, oldest first
  std::optional<Error> failure_;
};

EntrySorter::EntrySorter(Options options) : impl_(std::make_unique<Impl>(std::move(options))) {}
EntrySorter::~EntrySorter() = default;

Status EntrySorter::Add(std::span<const Entry> entries) { return impl_->Add(entries); }
Result<std::vector<std::vector<std::shared_ptr<const Run>>>> EntrySorter::Finish() { return impl_->Finish(); }

}  // namespace frazil::index
