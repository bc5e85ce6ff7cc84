#include "frazil/maintain/file_removal.h"

#include <algorithm>

#include "frazil/maintain/maintained_table.h"

namespace frazil::maintain {
namespace {

/// What one request to an object store may delete.
constexpr size_t kBatch = 1000;
constexpr int64_t kAbandonedAfterMs = int64_t{3600} * 1000;

}  // namespace

std::map<FileKind, int64_t> RemovalResult::CountByKind() const {
  std::map<FileKind, int64_t> counts;
  for (const RemovalCandidate& file : deleted) ++counts[file.kind];
  return counts;
}

Result<RemovalResult> RemoveListedFiles(table::Table& table, const std::string& list,
                                        const std::vector<RemovalCandidate>& candidates, FileSet live,
                                        const table::ProcedureContext& context) {
  RemovalResult result;
  FRAZIL_TRY(table.Refresh());
  FRAZIL_TRY(AddEverythingLive(table, live));
  std::vector<RemovalCandidate> dead;
  for (const RemovalCandidate& candidate : candidates) {
    (live.Contains(candidate.path) ? result.spared : dead).push_back(candidate);
  }
  for (size_t begin = 0; begin < dead.size(); begin += kBatch) {
    FRAZIL_TRY(CheckStop(context));
    const size_t end = std::min(begin + kBatch, dead.size());
    std::vector<std::string> paths;
    for (size_t i = begin; i < end; ++i) paths.push_back(dead[i].path);
    FRAZIL_TRY(table.io()->Delete(paths));
    result.deleted.insert(result.deleted.end(), dead.begin() + static_cast<std::ptrdiff_t>(begin),
                          dead.begin() + static_cast<std::ptrdiff_t>(end));
    if (context.on_progress) {
      table::ProcedureProgress progress;
      progress.phase = "deleting";
      progress.groups_done = static_cast<int64_t>(end);
      progress.groups = static_cast<int64_t>(dead.size());
      context.on_progress(progress);
    }
  }
  FRAZIL_TRY(table.io()->Delete({list}));
  return result;
}

Result<RemovalResult> ResumeRemovals(table::Table& table, int64_t store_now_ms, const FileSet& live,
                                     const table::ProcedureContext& context) {
  RemovalResult all;
  FRAZIL_ASSIGN(const auto lists, RemovalList::Find(*table.io(), table.metadata()->location));
  for (const io::FileInfo& list : lists) {
    if (list.modified_ms > store_now_ms - kAbandonedAfterMs) continue;
    FRAZIL_ASSIGN(const auto candidates, RemovalList::Read(*table.io(), list.path));
    FRAZIL_ASSIGN(RemovalResult one, RemoveListedFiles(table, list.path, candidates, live, context));
    Notice(context, fmt::format("took up what an earlier run had listed: {} files deleted, {} in use",
                                one.deleted.size(), one.spared.size()));
    std::move(one.deleted.begin(), one.deleted.end(), std::back_inserter(all.deleted));
    std::move(one.spared.begin(), one.spared.end(), std::back_inserter(all.spared));
  }
  return all;
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
