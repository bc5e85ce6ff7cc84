#include "frazil/maintain/file_removal.h"

#include <algorithm>
#include <iterator>

#include "frazil/maintain/maintained_table.h"
#include "frazil/maintain/table_locations.h"

namespace frazil::maintain {
namespace {

/// What one request to an object store may delete.
constexpr size_t kBatch = 1000;
constexpr int64_t kMinuteMs = 60'000;
/// A pace makes a removal take hours: others commit, wake up and begin meanwhile.
constexpr int64_t kLookEveryMs = kMinuteMs;
constexpr int64_t kAbandonedAfterMs = 60 * kMinuteMs;
constexpr int64_t kRenewListEveryMs = kAbandonedAfterMs / 3;
constexpr int64_t kLongestSleepMs = 100;
/// So many files that a store refuses to delete are no accident.
constexpr size_t kMaxFailures = 100;

constexpr char kListOfEarlierRun[] = "a list of files to delete";
/// Its text, and what it says.
int64_t RoomFor(const io::FileInfo& list) { return 3 * list.size_bytes; }

}  // namespace

std::map<FileKind, int64_t> RemovalResult::CountByKind() const {
  std::map<FileKind, int64_t> counts;
  for (const RemovalCandidate& file : deleted) ++counts[file.kind];
  return counts;
}

/// A list, and how far it is.
struct FileRemoval::Work {
  std::string list;
  int64_t listed_ms = 0;
  int64_t begun_ms = 0;
  std::vector<RemovalCandidate> candidates;
  size_t next = 0;                       ///< of them; those before are moved from
  std::vector<RemovalCandidate> failed;  ///< before that
  std::optional<Error> failure;          ///< the first one

  std::vector<RemovalCandidate> Left() const {
    std::vector<RemovalCandidate> left = failed;
    left.insert(left.end(), candidates.begin() + static_cast<std::ptrdiff_t>(next), candidates.end());
    return left;
  }
};

std::string RemovalOperationName(RemovalOperation operation) {
  return operation == RemovalOperation::kExpire ? "expire" : "orphans";
}

FileRemoval::FileRemoval(table::Table& table, RemovalOperation operation, FileSet live, int64_t store_now_ms,
                         const table::ProcedureContext& context, RemovalPace pace, std::string location)
    : table_(table),
      operation_(operation),
      live_(std::move(live)),
      store_now_ms_(store_now_ms),
      context_(context),
      pace_(pace),
      location_(std::move(location)),
      clock_(ClockOf(context)),
      begun_ms_(clock_.NowMs()),
      walk_(table),
      gone_({.budget = context.budget, .temp_directory = context.temp_directory}) {}

int64_t FileRemoval::StoreNowMs() const { return store_now_ms_ == 0 ? 0 : store_now_ms_ + clock_.NowMs() - begun_ms_; }

Status FileRemoval::Look() {
  // Claims before the truth: who commits and then drops its claim is seen in one of them.
  FRAZIL_TRY(AddJournalled(context_.state_directory, *table_.metadata(), live_));
  std::set<std::string> locations = LocationsOf(*table_.metadata());
  if (!location_.empty()) locations.insert(location_);
  FRAZIL_ASSIGN(leased_since_ms_, LeasedSinceMs(*table_.io(), locations, StoreNowMs()));
  FRAZIL_TRY(table_.Refresh());
  const bool is_news = looked_at_.empty() || table_.metadata_location() != looked_at_;
  if (is_news) FRAZIL_TRY(AddEverythingLive(table_, walk_, live_));
  looked_at_ = table_.metadata_location();
  looked_ms_ = clock_.NowMs();
  return {};
}

bool FileRemoval::IsLive(const RemovalCandidate& candidate) const {
  // What was freed had been committed: no lease is about it.
  const bool is_orphan = candidate.kind == FileKind::kUnknown;
  return live_.Contains(candidate.path) ||
         (is_orphan && leased_since_ms_ && candidate.modified_ms >= *leased_since_ms_);
}

/// Sleeps in short steps, so that a signal is noticed.
Status FileRemoval::WaitForTurn(const Work& work) const {
  FRAZIL_TRY(CheckStop(context_));
  if (pace_.max_per_second == 0) return {};
  const int64_t due_ms = work.begun_ms + static_cast<int64_t>(work.next) * 1000 / pace_.max_per_second;
  for (int64_t left = due_ms - clock_.NowMs(); left > 0; left = due_ms - clock_.NowMs()) {
    clock_.SleepMs(std::min(left, kLongestSleepMs));
    FRAZIL_TRY(CheckStop(context_));
  }
  return {};
}

Status FileRemoval::DeleteBatch(Work& work, std::vector<RemovalCandidate> batch, RemovalResult& result) {
  std::vector<std::string> paths;
  for (const RemovalCandidate& file : batch) paths.push_back(file.path);
  if (table_.io()->Delete(paths)) {
    std::move(batch.begin(), batch.end(), std::back_inserter(result.deleted));
    return {};
  }
  // Which of them are gone is told one by one.
  std::optional<Error> end;
  for (RemovalCandidate& file : batch) {
    const Status deleted = end ? tl::unexpected(*end) : table_.io()->Delete({file.path});
    if (deleted) {
      result.deleted.push_back(std::move(file));
      continue;
    }
    if (!work.failure) work.failure = deleted.error();
    work.failed.push_back(std::move(file));
    if (deleted.error().code() == ErrorCode::kUnavailable || work.failed.size() >= kMaxFailures) end = deleted.error();
  }
  return end ? tl::unexpected(*std::move(end)) : Status();
}

Status FileRemoval::Go(Work& work, RemovalResult& result) {
  const auto per_second = static_cast<size_t>(pace_.max_per_second);
  const size_t batch_size = per_second > 0 ? std::min(kBatch, per_second) : kBatch;
  FRAZIL_TRY(Look());
  while (work.next < work.candidates.size()) {
    FRAZIL_TRY(WaitForTurn(work));
    const int64_t now_ms = clock_.NowMs();
    if (now_ms - looked_ms_ >= kLookEveryMs) FRAZIL_TRY(Look());
    if (now_ms - work.listed_ms >= kRenewListEveryMs) {
      // Or another run would take it up as abandoned.
      FRAZIL_ASSIGN(const std::string renewed, RemovalList::Write(*table_.io(), *table_.metadata(),
                                                                  RemovalOperationName(operation_), work.Left()));
      work.listed_ms = now_ms;
      FRAZIL_TRY(table_.io()->Delete({std::exchange(work.list, renewed)}));
    }
    std::vector<RemovalCandidate> batch;
    const size_t end = std::min(work.next + batch_size, work.candidates.size());
    for (; work.next < end; ++work.next) {
      RemovalCandidate& file = work.candidates[work.next];
      if (gone_.Find(PlaceOf(file.path)) == FileSet::Match::kSame) continue;
      (IsLive(file) ? result.spared : batch).push_back(std::move(file));
    }
    if (!batch.empty()) FRAZIL_TRY(DeleteBatch(work, std::move(batch), result));
    if (context_.on_progress) {
      table::ProcedureProgress progress;
      progress.phase = "deleting";
      progress.groups_done = static_cast<int64_t>(work.next);
      progress.groups = static_cast<int64_t>(work.candidates.size());
      context_.on_progress(progress);
    }
  }
  return {};
}

Status FileRemoval::Remove(std::string list, std::vector<RemovalCandidate> candidates, RemovalResult& result) {
  const int64_t now_ms = clock_.NowMs();
  Work work{.list = std::move(list), .listed_ms = now_ms, .begun_ms = now_ms, .candidates = std::move(candidates)};
  const size_t num_before = result.deleted.size();
  Status done = Go(work, result);
  if (operation_ == RemovalOperation::kExpire) {
    // A run that was killed before its commit has listed what the next one lists again: it is to count once.
    for (size_t i = num_before; i < result.deleted.size(); ++i) {
      if (!gone_.Add(result.deleted[i].path)) break;  // no memory: they count twice
    }
  }
  const std::vector<RemovalCandidate> left = work.Left();
  Status settled;
  if (!left.empty()) {
    if (operation_ == RemovalOperation::kExpire) {
      const auto written = RemovalList::Write(*table_.io(), *table_.metadata(),
                                              RemovalList::Left(RemovalOperationName(operation_)), left);
      settled = written ? Status() : tl::unexpected(written.error());
    }
    Notice(context_,
           fmt::format("{} files were deleted, {} are left to the next run{}", result.deleted.size() - num_before,
                       left.size(), work.failure ? ": " + work.failure->ToString() : std::string()));
  }
  if (settled) settled = table_.io()->Delete({work.list});
  // It is checked before it is used: nothing is wrong but that there is a list.
  if (!settled) Notice(context_, "a list of what was to be deleted stays: " + settled.error().ToString());
  std::move(work.failed.begin(), work.failed.end(), std::back_inserter(result.failed));
  return done;
}

Status FileRemoval::ResumeList(const io::FileInfo& list, const std::optional<std::set<std::string>>& only,
                               RemovalResult& result) {
  if (context_.budget != nullptr) {
    FRAZIL_ASSIGN(auto room, context_.budget->Reserve(RoomFor(list), kListOfEarlierRun));
    rooms_.push_back(std::move(room));
  }
  auto candidates = RemovalList::Read(*table_.io(), *table_.metadata(), list.path);
  if (!candidates && candidates.error().code() == ErrorCode::kNotFound)
    return {};  // another run has ended it meanwhile
  if (!candidates) return tl::unexpected(std::move(candidates).error());
  // Freed files may lie anywhere, orphans lie where the table does: it may have moved since.
  const std::vector<std::string> folders = FoldersOf(*table_.metadata());
  std::erase_if(*candidates, [&](const RemovalCandidate& file) {
    return file.kind == FileKind::kUnknown && std::none_of(folders.begin(), folders.end(), [&](const auto& folder) {
             return IsInside(PlaceOf(file.path), PlaceOf(folder));
           });
  });
  const auto chosen = std::partition(candidates->begin(), candidates->end(),
                                     [&](const RemovalCandidate& file) { return only && !only->contains(file.path); });
  std::vector<RemovalCandidate> kept(candidates->begin(), chosen);
  candidates->erase(candidates->begin(), chosen);
  if (!kept.empty()) {
    // Of a run that was killed before its commit: whoever frees them later lists them anew.
    FRAZIL_TRY(Look());
    std::erase_if(kept, [this](const RemovalCandidate& file) { return IsLive(file); });
  }
  if (!kept.empty()) {
    Notice(context_,
           fmt::format("{} files that an earlier run had listed stay, they are not in the list that was shown",
                       kept.size()));
    if (candidates->empty()) return {};
    FRAZIL_TRY(RemovalList::Write(*table_.io(), *table_.metadata(), RemovalList::Left(RemovalOperationName(operation_)),
                                  kept));
  }
  const size_t num_before = result.deleted.size();
  const size_t num_spared = result.spared.size();
  FRAZIL_TRY(Remove(list.path, *std::move(candidates), result));
  Notice(context_, fmt::format("took up what an earlier run had listed: {} files deleted, {} in use",
                               result.deleted.size() - num_before, result.spared.size() - num_spared));
  return {};
}

Result<std::vector<io::FileInfo>> FileRemoval::FindUnfinished(const std::string& what) const {
  FRAZIL_ASSIGN(auto lists, RemovalList::Find(*table_.io(), table_.metadata()->location, what));
  std::erase_if(lists, [this](const io::FileInfo& list) {
    return !RemovalList::IsLeft(list.path) && list.modified_ms > StoreNowMs() - kAbandonedAfterMs;
  });
  return lists;
}

Status FileRemoval::Resume(RemovalResult& result, const std::optional<std::set<std::string>>& only,
                           const std::function<void(RemovalResult& result)>& take) {
  const auto lists = FindUnfinished(RemovalOperationName(operation_));
  if (!lists) {
    Notice(context_, "what earlier runs had listed stays: " + lists.error().ToString());
    return {};
  }
  for (const io::FileInfo& list : *lists) {
    Status resumed = ResumeList(list, only, result);
    if (take) take(result);
    if (result.deleted.empty()) rooms_.clear();
    if (resumed) continue;
    if (resumed.error().code() == ErrorCode::kShuttingDown) return resumed;
    Notice(context_, "what an earlier run had listed stays: " + resumed.error().ToString());
  }
  return {};
}

Result<UnfinishedRemoval> FileRemoval::Unfinished() const {
  UnfinishedRemoval unfinished;
  if (context_.budget != nullptr) unfinished.room = MemoryBudget::Reservation(context_.budget, 0);
  FRAZIL_ASSIGN(const auto lists, FindUnfinished(RemovalOperationName(operation_)));
  for (const io::FileInfo& list : lists) {
    if (context_.budget != nullptr && !unfinished.room.Resize(unfinished.room.bytes() + RoomFor(list))) {
      ++unfinished.num_lists_left_out;
      continue;
    }
    auto candidates = RemovalList::Read(*table_.io(), *table_.metadata(), list.path);
    if (candidates) std::move(candidates->begin(), candidates->end(), std::back_inserter(unfinished.files));
  }
  if (unfinished.num_lists_left_out > 0) {
    Notice(context_,
           fmt::format("{} more lists of earlier runs are not shown for want of memory: list them when these are "
                       "gone, or raise --memory-limit",
                       unfinished.num_lists_left_out));
  }
  return unfinished;
}

void FileRemoval::ForgetUnfinished() {
  for (const std::string& what : {RemovalOperationName(operation_), std::string(RemovalList::kProbe)}) {
    const auto lists = FindUnfinished(what);
    if (!lists) return;
    for (const io::FileInfo& list : *lists) {
      // Of a copied folder: it is said, and nothing is done with it.
      if (!RemovalList::Read(*table_.io(), *table_.metadata(), list.path)) continue;
      static_cast<void>(table_.io()->Delete({list.path}));
    }
  }
}

Result<RemovalPace> PaceOf(const Arguments& arguments) {
  const auto rate = arguments.Number("max_deletes_per_second");
  if (rate && *rate < 1) {
    return Fail(ErrorCode::kInvalidArgument, "max_deletes_per_second must be at least 1: {}", *rate);
  }
  return RemovalPace{rate.value_or(0)};
}

Result<int64_t> StoreTimeMs(const io::FileIO& io, const std::string& file) {
  const size_t slash = file.rfind('/');
  FRAZIL_ASSIGN(const auto listed, io.List(file.substr(0, slash)));
  const FilePlace wanted = PlaceOf(file);
  for (const io::FileInfo& info : listed) {
    if (PlaceOf(info.path).path == wanted.path) return info.modified_ms;
  }
  return Fail(ErrorCode::kNotFound, "a file just written is not listed: {}", file);
}

}  // namespace frazil::maintain
