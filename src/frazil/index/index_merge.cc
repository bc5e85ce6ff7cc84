#include "frazil/index/index_merge.h"

#include <algorithm>
#include <limits>

#include "frazil/index/entry_resolver.h"
#include "frazil/index/run_writer.h"

namespace frazil::index {
namespace {

constexpr size_t kFanIn = 4;
/// A run joins the newer ones while it is at most so many times as large as all of them.
constexpr int64_t kLikeSize = 2;
constexpr size_t kStaleShare = 4;  ///< one in four
/// Of the oldest run's entries: when newer ones have one part of so many, it is merged with them if that many may be dead.
constexpr int64_t kPartOfOldest = 4;
constexpr int64_t kPartOfLive = 8;  ///< dead entries that are many
constexpr size_t kFanInOfOldest = 3;
constexpr size_t kSampledFiles = 256;
/// Of deletion vectors that a merge keeps at hand: of two billion rows where many are deleted.
constexpr int64_t kMaxVectorBytes = int64_t{256} << 20;

/// The first neighbours from `begin` on, in one tier, that are of like size.
MergeChoice LikeSized(const std::vector<MergeCandidate>& runs, size_t begin, size_t end) {
  int64_t sum = runs[begin].num_entries;
  size_t next = begin + 1;
  while (next < end && runs[next].num_entries <= kLikeSize * sum) sum += runs[next++].num_entries;
  return {begin, next};
}

/// Whether all runs from `begin` on should become one.
bool ShouldDropDead(const std::vector<MergeCandidate>& runs, size_t begin, int64_t num_live) {
  if (runs.size() - begin < kFanInOfOldest) return false;
  int64_t newer = 0;
  for (size_t i = begin; i + 1 < runs.size(); ++i) newer += runs[i].num_entries;
  const int64_t oldest = runs.back().num_entries;
  return newer >= oldest / kPartOfOldest && newer + oldest - num_live >= num_live / kPartOfLive;
}

std::optional<MergeChoice> ChooseInTier(const std::vector<MergeCandidate>& runs, size_t begin, size_t end) {
  for (size_t first = begin; first < end; ++first) {
    const MergeChoice choice = LikeSized(runs, first, end);
    if (choice.end - choice.begin >= kFanIn) return choice;
  }
  if (end - begin > kMaxRuns) {
    // The cheapest pair.
    size_t best = begin;
    for (size_t i = begin; i + 1 < end; ++i) {
      const auto cost = [&](size_t at) { return runs[at].num_entries + runs[at + 1].num_entries; };
      if (cost(i) < cost(best)) best = i;
    }
    return MergeChoice{best, best + 2};
  }
  for (size_t i = begin; i < end; ++i) {
    if (runs[i].num_stale_files * kStaleShare > runs[i].num_files) return MergeChoice{i, i + 1};
  }
  return std::nullopt;
}

// Of a run into which all entries of `runs` go, forwarded, of which some get the row ids they had where they come from.
RunLayout LayoutOfMerged(const IndexVersion& version, const RunList& runs) {
  RunLayout layout;
  layout.is_wide = version.dictionary.next_number() > RunLayout::kMaxNarrowFile;
  bool any_is_forwarded = false;
  for (const std::shared_ptr<const Run>& run : runs) {
    layout.has_row_ids |= run->layout().has_row_ids;
    layout.is_wide |= run->layout().is_wide;
    for (const FileNumber number : run->file_numbers()) {
      const FileState* state = version.dictionary.Find(number);
      if (state == nullptr || state->forwarding == nullptr) continue;
      any_is_forwarded = true;
      const IndexedFile& file = *state->file;
      layout.is_wide |=
          file.first_row_id && file.first_row_id->value() > RunLayout::kMaxNarrowRowId - file.record_count;
    }
  }
  if (!any_is_forwarded) return layout;
  layout.has_row_ids = true;
  // They may go on to any file.
  version.dictionary.ForEach(
      [&](const FileState& state) { layout.is_wide |= state.file->record_count > RunLayout::kMaxNarrowPosition + 1; });
  return layout;
}

}  // namespace

std::optional<MergeChoice> ChooseMerge(const std::vector<MergeCandidate>& runs, int64_t num_live) {
  for (size_t begin = 0; begin < runs.size();) {
    size_t end = begin + 1;
    while (end < runs.size() && runs[end].in_memory == runs[begin].in_memory) ++end;
    if (end == runs.size() && ShouldDropDead(runs, begin, num_live)) return MergeChoice{begin, end};
    if (auto choice = ChooseInTier(runs, begin, end)) return choice;
    begin = end;
  }
  return std::nullopt;
}

std::vector<MergeCandidate> CandidatesOf(const IndexVersion& version, const RunList& runs) {
  std::vector<MergeCandidate> candidates;
  for (const std::shared_ptr<const Run>& run : runs) {
    MergeCandidate& candidate = candidates.emplace_back();
    candidate.num_entries = run->num_entries();
    candidate.in_memory = run->in_memory();
    // A large run names many files, and this is asked often: some of them tell enough.
    const std::vector<FileNumber>& numbers = run->file_numbers();
    const size_t step = numbers.size() / kSampledFiles + 1;
    for (size_t i = 0; i < numbers.size(); i += step) {
      const FileState* state = version.dictionary.Find(numbers[i]);
      candidate.num_stale_files += state == nullptr || !state->is_live ? 1 : 0;
      ++candidate.num_files;
    }
  }
  return candidates;
}

Result<std::shared_ptr<const Run>> MergeAtVersion(const IndexVersion& version, const RunList& runs,
                                                  const std::shared_ptr<io::FileIO>& local, const std::string& path,
                                                  MergePace* pace, std::atomic<int64_t>& num_forwarded) {
  EntryResolver resolver(version, kMaxVectorBytes);
  std::vector<EntryResolver::Place> places;
  const RewriteEntries rewrite = [&](std::span<Entry> entries) -> Result<size_t> {
    // Not the run's fault, whatever is wrong with a vector.
    if (Status resolved = resolver.Resolve(entries, places); !resolved) {
      return Fail(ErrorCode::kUnavailable, "merging index runs: {}", resolved.error().ToString());
    }
    size_t num_stay = 0;
    for (size_t i = 0; i < entries.size(); ++i) {
      const EntryResolver::Place& place = places[i];
      if (place.file == nullptr) continue;
      Entry& entry = entries[num_stay++];
      entry = entries[i];
      if (place.file->number == entry.file) continue;
      ++num_forwarded;
      const std::optional<spec::RowId> first = place.file->first_row_id;
      const bool is_derived = place.row_id == EntryResolver::kNoRowId ||
                              (first && first->value() + int64_t{place.position} == place.row_id);
      entry.file = place.file->number;
      entry.position = place.position;
      entry.row_id = is_derived ? kDerivedRowId : place.row_id;
    }
    return num_stay;
  };

  const RunLayout layout = LayoutOfMerged(version, runs);
  std::unique_ptr<RunWriter> writer;
  if (path.empty()) {
    writer = RunWriter::ToMemory("merged run in memory", layout);
  } else {
    FRAZIL_ASSIGN(writer, RunWriter::ToFile(*local, path, layout));
  }
  int64_t max_entries = 0;
  uint64_t smallest = std::numeric_limits<uint64_t>::max();
  uint64_t largest = 0;
  for (const std::shared_ptr<const Run>& run : runs) {
    max_entries += run->num_entries();
    smallest = std::min(smallest, run->smallest().high);
    largest = std::max(largest, run->largest().high);
  }
  // The oldest run has most keys of the shard, so that few look-ups would miss it.
  const RunList& shard =
      version.shards[ShardOf(runs.front()->smallest(), static_cast<uint32_t>(version.shards.size()))];
  if (shard.empty() || shard.back() != runs.back()) writer->AddFilter(max_entries, smallest, largest);
  FRAZIL_TRY(MergeRuns(runs, rewrite, *writer, pace));
  return writer->Finish();
}

}  // namespace frazil::index
