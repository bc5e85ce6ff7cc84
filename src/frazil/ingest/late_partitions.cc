#include "frazil/ingest/late_partitions.h"

#include <algorithm>
#include <chrono>
#include <utility>

namespace frazil::ingest {
namespace {

/// Producers go on with the partitions they know until they ask again (`metadata.max.age.ms`).
constexpr int64_t kProducersKnowAfterMs = 300'000;
/// Producers may say any time: beyond this one all are the same.
constexpr int64_t kLatestTimeMs = int64_t{1} << 60;

/// Some producers know of new partitions before the first record is in one of them.
constexpr int64_t kStepsBeginBeforeMs = 60'000;
/// A step. Inside of one only the commit that has all of a key's records orders them.
constexpr int64_t kStepMs = 10'000;
/// So many records are cheaper to leave out than an assignment, after which all have to be fetched again.
constexpr int64_t kManyLeftOut = 100'000;

/// Timestamps of the first records behind `positions`. kUnavailable when for a while no partition shows a record or its end:
/// reading it at once might be too early.
Result<std::map<int32_t, int64_t>> FirstTimestamps(RecordSource& source, const SourcePositions& positions,
                                                   const LatePartitions::Bounds& bounds,
                                                   const std::function<bool()>& must_stop) {
  constexpr size_t kPollRecords = 10'000;
  constexpr std::chrono::milliseconds kPollTime{50};
  constexpr int kSilentPolls = 200;  // each waits: ten seconds
  std::map<int32_t, int64_t> first_ms;
  SourcePositions pending = positions;
  FRAZIL_TRY(source.Assign(pending));
  // Of silence only: to fetch the beginning of many partitions takes longer than that.
  for (int num_silent = 0; !pending.empty() && num_silent < kSilentPolls;) {
    if (must_stop()) return Fail(ErrorCode::kShuttingDown, "stopped while first records were looked for");
    const size_t num_pending = pending.size();
    FRAZIL_ASSIGN(const auto records, source.Poll(kPollRecords, kPollTime));
    const bool has_records = !records.empty();
    for (const SourceRecord& record : records) {
      if (pending.erase(record.partition) > 0 && record.timestamp_ms) first_ms[record.partition] = *record.timestamp_ms;
    }
    for (const auto& [partition, position] : source.Positions()) {
      if (position.next >= bounds.at(partition).end) pending.erase(partition);  // no record, only gaps
    }
    const bool has_shown = pending.size() < num_pending;
    num_silent = has_records || has_shown ? 0 : num_silent + 1;
    // Partitions that have shown theirs may have much more, which comes before the others'.
    if (has_records && !has_shown) FRAZIL_TRY(source.Assign(pending));
  }
  if (!pending.empty()) {
    return Fail(ErrorCode::kUnavailable,
                "the first records of {} partitions of {} did not come, partition {} among them", pending.size(),
                source.description(), pending.begin()->first);
  }
  return first_ms;
}

}  // namespace

Status LatePartitions::Begin(RecordSource& source, const SourcePositions& next, const Bounds& bounds) {
  ends_.clear();
  first_ms_.clear();
  held_.clear();
  never_written_.clear();
  steps_.clear();
  stepped_.clear();
  stopped_.clear();
  num_left_out_ = 0;
  return Add(source, next, next, bounds);
}

Status LatePartitions::Add(RecordSource& source, const SourcePositions& added, const SourcePositions& next,
                           const Bounds& bounds) {
  SourcePositions beginning;
  std::set<int32_t> never_written;
  int64_t num_lagging = 0;
  for (const auto& [partition, position] : next) {
    const auto log = bounds.find(partition);
    if (log == bounds.end()) continue;
    ends_[partition] = log->second.end;
    if (log->second.end == 0 && added.contains(partition)) never_written.insert(partition);
    if (position.next >= log->second.end) continue;
    ++num_lagging;
    if (added.contains(partition) && position.next == log->second.log_start) beginning[partition] = position;
  }
  if (num_lagging > 0) {
    held_.insert(never_written.begin(), never_written.end());
    never_written_.merge(never_written);
  }
  if (beginning.empty() || num_lagging < 2) return {};
  FRAZIL_ASSIGN(const auto first_ms, FirstTimestamps(source, beginning, bounds, must_stop_));
  for (const auto& [partition, time] : first_ms) {
    first_ms_[partition] = std::clamp<int64_t>(time, 0, kLatestTimeMs);
    held_.insert(partition);
  }
  AddSteps(added, next, bounds);
  (void)Release(next, {});
  return {};
}

/// Where the topic grew, as far as the times tell when its partitions began. Those that were known already, or in whose middle
/// reading begins, were there before all others; so was what retention has begun to take, whose first record tells nothing.
void LatePartitions::AddSteps(const SourcePositions& added, const SourcePositions& next, const Bounds& bounds) {
  constexpr int64_t kBefore = -1;  // no time of a first record
  std::multimap<int64_t, int32_t> by_begin;
  for (const auto& [partition, position] : next) {
    if (never_written_.contains(partition)) continue;
    const auto log = bounds.find(partition);
    const bool is_whole = added.contains(partition) && log != bounds.end() && log->second.log_start == 0;
    const auto first = is_whole ? first_ms_.find(partition) : first_ms_.end();
    by_begin.emplace(first == first_ms_.end() ? kBefore : first->second, partition);
  }
  std::set<int32_t> before;
  bool is_behind = false;  // of those
  for (auto begin = by_begin.begin(); begin != by_begin.end();) {
    auto end = begin;
    std::set<int32_t> together;  // partitions of one age
    const int64_t until_ms = begin->first == kBefore ? kBefore : begin->first + kProducersKnowAfterMs;
    for (; end != by_begin.end() && end->first <= until_ms; ++end) together.insert(end->second);
    const bool moves_keys = before.size() > 1 && (before.size() + together.size()) % before.size() != 0;
    if (moves_keys && is_behind) {
      stepped_.insert(before.begin(), before.end());
      for (int64_t ms = -kStepsBeginBeforeMs; ms <= kProducersKnowAfterMs; ms += kStepMs)
        steps_.insert(begin->first + ms);
    }
    is_behind = is_behind || std::any_of(together.begin(), together.end(),
                                         [&](int32_t partition) { return !IsAtEnd(partition, next); });
    before.merge(together);
    begin = end;
  }
}

bool LatePartitions::IsAtEnd(int32_t partition, const SourcePositions& next) const {
  const auto at = next.find(partition);
  const auto end = ends_.find(partition);
  return at == next.end() || end == ends_.end() || at->second.next >= end->second;
}

bool LatePartitions::StopsAtStep(const SourceRecord& record) {
  if (!stopped_.contains(record.partition)) {
    if (!stepped_.contains(record.partition) || !record.timestamp_ms) return false;
    if (*record.timestamp_ms < *steps_.begin()) return false;
    stopped_[record.partition] = *record.timestamp_ms;
  }
  ++num_left_out_;
  return true;
}

bool LatePartitions::ShouldLeaveOutStopped() {
  if (num_left_out_ < kManyLeftOut) return false;
  num_left_out_ = 0;
  return true;
}

bool LatePartitions::PassSteps(const SourcePositions& next) {
  if (steps_.empty()) return false;
  // What is held back begins behind the step, or those that it waits for stop behind its beginning and let it go.
  const auto is_there = [&](int32_t partition) {
    return stopped_.contains(partition) || IsAtEnd(partition, next) ||
           (held_.contains(partition) && first_ms_.at(partition) >= *steps_.begin());
  };
  const bool are_all_there = std::all_of(stepped_.begin(), stepped_.end(), is_there);
  if (!are_all_there) return false;
  int64_t oldest_ms = INT64_MAX;
  for (const auto& [partition, time] : stopped_) oldest_ms = std::min(oldest_ms, time);
  steps_.erase(steps_.begin(), steps_.upper_bound(oldest_ms));
  if (steps_.empty()) stepped_.clear();
  num_left_out_ = 0;
  return !std::exchange(stopped_, {}).empty();
}

bool LatePartitions::ShouldLookAgain(const SourcePositions& next, const Bounds& bounds) const {
  if (never_written_.empty()) return false;
  const bool has_begun = std::any_of(never_written_.begin(), never_written_.end(), [&](int32_t partition) {
    const auto log = bounds.find(partition);
    return log != bounds.end() && log->second.end > 0;
  });
  return has_begun || std::all_of(next.begin(), next.end(), [&](const auto& position) {
           const auto end = ends_.find(position.first);
           return end == ends_.end() || position.second.next >= end->second;
         });
}

Result<bool> LatePartitions::LookAgain(RecordSource& source, const SourcePositions& next, const Bounds& bounds) {
  const auto lags = [&](const auto& position) {
    const auto log = bounds.find(position.first);
    return log != bounds.end() && position.second.next < log->second.end;
  };
  // Others have got more records, and these still have none: nothing has changed but how far the others have to come.
  const bool has_begun = std::any_of(next.begin(), next.end(), [&](const auto& position) {
    return never_written_.contains(position.first) && lags(position);
  });
  if (!has_begun && std::any_of(next.begin(), next.end(), lags)) {
    for (const auto& [partition, log] : bounds) ends_[partition] = log.end;
    return false;
  }
  const std::set<int32_t> looked_at = std::exchange(never_written_, {});
  SourcePositions added;
  for (const int32_t partition : looked_at) {
    held_.erase(partition);
    added[partition] = next.at(partition);
  }
  Status done = Add(source, added, next, bounds);
  if (done) return true;
  held_.insert(looked_at.begin(), looked_at.end());
  never_written_ = looked_at;
  return tl::unexpected(std::move(done).error());
}

SourcePositions LatePartitions::Open(SourcePositions positions) const {
  std::erase_if(positions, [this](const auto& position) {
    return held_.contains(position.first) || stopped_.contains(position.first);
  });
  return positions;
}

bool LatePartitions::Release(const SourcePositions& next, const std::map<int32_t, int64_t>& newest) {
  std::set<int32_t> waiting;
  for (const int32_t partition : held_) {
    if (Waits(partition, next, newest)) waiting.insert(partition);
  }
  const bool is_any_open = waiting.size() < held_.size();
  held_ = std::move(waiting);
  const bool has_passed_steps = PassSteps(next);
  return is_any_open || has_passed_steps;
}

bool LatePartitions::Waits(int32_t partition, const SourcePositions& next,
                           const std::map<int32_t, int64_t>& newest) const {
  if (never_written_.contains(partition)) return true;
  const int64_t began_ms = first_ms_.at(partition);
  return std::any_of(ends_.begin(), ends_.end(), [&](const auto& other) {
    const auto& [number, end] = other;
    const auto at = next.find(number);
    if (number == partition || at == next.end() || at->second.next >= end) return false;
    const auto first = first_ms_.find(number);
    if (held_.contains(number)) return first == first_ms_.end() || first->second < began_ms;
    const auto stopped = stepped_.contains(partition) ? stopped_.find(number) : stopped_.end();
    if (stopped != stopped_.end()) return stopped->second < began_ms;  // from here on they go in step
    const auto read = newest.find(number);
    if (first == first_ms_.end()) return read == newest.end() || read->second < began_ms + kProducersKnowAfterMs;
    // Partitions of one age begin within moments of each other: then moments are enough.
    const int64_t overlap_ms = std::clamp<int64_t>(began_ms - first->second, 0, kProducersKnowAfterMs);
    const int64_t read_ms = read == newest.end() ? first->second : std::max(read->second, first->second);
    return read_ms < began_ms + overlap_ms;
  });
}

}  // namespace frazil::ingest
