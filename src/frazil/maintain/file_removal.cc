#include "frazil/maintain/file_removal.h"

#include <algorithm>
#include <span>

#include "frazil/maintain/maintained_table.h"

namespace frazil::maintain {
namespace {

/// What one request to an object store may delete.
constexpr size_t kBatch = 1000;
constexpr int64_t kAbandonedAfterMs = int64_t{3600} * 1000;
constexpr int64_t kLongestSleepMs = 100;

/// One pass over `dead`, in batches; `num_deleted` says how far it came.
Status DeleteInBatches(table::Table& table, std::span<const RemovalCandidate> dead,
                       const table::ProcedureContext& context, RemovalPace pace, size_t& num_deleted) {
  const size_t batch = pace.max_per_second > 0 ? std::min(kBatch, static_cast<size_t>(pace.max_per_second)) : kBatch;
  Clock& clock = ClockOf(context);
  const int64_t begun_ms = clock.NowMs();
  while (num_deleted < dead.size()) {
    if (pace.max_per_second > 0) {
      // Slept in short steps, so that a signal is noticed.
      const int64_t due_ms = begun_ms + static_cast<int64_t>(num_deleted) * 1000 / pace.max_per_second;
      for (int64_t left = due_ms - clock.NowMs(); left > 0; left = due_ms - clock.NowMs()) {
        FRAZIL_TRY(CheckStop(context));
        clock.SleepMs(std::min(left, kLongestSleepMs));
      }
    }
    FRAZIL_TRY(CheckStop(context));
    std::vector<std::string> paths;
    const size_t end = std::min(num_deleted + batch, dead.size());
    for (size_t i = num_deleted; i < end; ++i) paths.push_back(dead[i].path);
    FRAZIL_TRY(table.io()->Delete(paths));
    num_deleted = end;
    if (context.on_progress) {
      table::ProcedureProgress progress;
      progress.phase = "deleting";
      progress.groups_done = static_cast<int64_t>(num_deleted);
      progress.groups = static_cast<int64_t>(dead.size());
      context.on_progress(progress);
    }
  }
  return {};
}

}  // namespace

std::map<FileKind, int64_t> RemovalResult::CountByKind() const {
  std::map<FileKind, int64_t> counts;
  for (const RemovalCandidate& file : deleted) ++counts[file.kind];
  return counts;
}

Status RemoveListedFiles(table::Table& table, const std::string& list, const std::vector<RemovalCandidate>& candidates,
                         FileSet live, const table::ProcedureContext& context, RemovalPace pace,
                         RemovalResult& result) {
  FRAZIL_TRY(table.Refresh());
  FRAZIL_TRY(AddEverythingLive(table, live));
  std::vector<RemovalCandidate> dead;
  for (const RemovalCandidate& candidate : candidates) {
    (live.Contains(candidate.path) ? result.spared : dead).push_back(candidate);
  }
  size_t num_deleted = 0;
  Status done = DeleteInBatches(table, dead, context, pace, num_deleted);
  const auto first_left = dead.begin() + static_cast<std::ptrdiff_t>(num_deleted);
  result.deleted.insert(result.deleted.end(), dead.begin(), first_left);
  if (!done) {
    const auto left = RemovalList::Write(*table.io(), table.metadata()->location, RemovalList::Left("removal"),
                                         {first_left, dead.end()});
    if (left) static_cast<void>(table.io()->Delete({list}));
    Notice(context,
           fmt::format("{} files were deleted, {} are left to the next run", num_deleted, dead.size() - num_deleted));
    return done;
  }
  return table.io()->Delete({list});
}

Status ResumeRemovals(table::Table& table, int64_t store_now_ms, const FileSet& live,
                      const table::ProcedureContext& context, RemovalPace pace, RemovalResult& result) {
  FRAZIL_ASSIGN(const auto lists, RemovalList::Find(*table.io(), table.metadata()->location));
  for (const io::FileInfo& list : lists) {
    if (!RemovalList::IsLeft(list.path) && list.modified_ms > store_now_ms - kAbandonedAfterMs) continue;
    auto candidates = RemovalList::Read(*table.io(), list.path);
    // Another run has ended it meanwhile.
    if (!candidates && candidates.error().code() == ErrorCode::kNotFound) continue;
    if (!candidates) return tl::unexpected(std::move(candidates).error());
    const size_t num_before = result.deleted.size();
    const size_t num_spared = result.spared.size();
    FRAZIL_TRY(RemoveListedFiles(table, list.path, *candidates, live, context, pace, result));
    Notice(context, fmt::format("took up what an earlier run had listed: {} files deleted, {} in use",
                                result.deleted.size() - num_before, result.spared.size() - num_spared));
  }
  return {};
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
