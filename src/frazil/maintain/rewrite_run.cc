#include "frazil/maintain/rewrite_run.h"

#include <algorithm>
#include <atomic>
#include <ctime>
#include <map>

#include <fmt/format.h>

#include "frazil/base/log.h"
#include "frazil/base/sync_point.h"
#include "frazil/base/version.h"
#include "frazil/maintain/maintained_table.h"
#include "frazil/maintain/rewrite_dangling.h"
#include "frazil/table/marker_copy.h"
#include "frazil/table/uncommitted_files.h"

namespace frazil::maintain {
namespace {

/// A store that is away fails each of very many groups alike.
constexpr int64_t kMaxToldFailures = 10;

/// Nothing but a snapshot, which gives every live row its id.
class EmptyChange : public table::SnapshotChange {
 public:
  explicit EmptyChange(std::string branch) : branch_(std::move(branch)) {}

  Result<table::FileChanges> Prepare(const table::Table& base, spec::SnapshotId snapshot_id) override {
    table::FileChanges changes;
    changes.summary = {{"engine-name", "frazil"}, {"engine-version", kVersion}};
    FRAZIL_TRY(table::CopyMarker(base, branch_, snapshot_id, changes));
    return changes;
  }

 private:
  const std::string branch_;
};

double CpuSeconds() {
  timespec time{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
}

}  // namespace

RewriteRun::RewriteRun(table::Table& table, const RewriteOptions& options, const table::ProcedureContext& context)
    : table_(table),
      options_(options),
      context_(context),
      journal_(context.state_directory, table, context.budget),
      equality_deletes_(context.budget, context.temp_directory) {}

void RewriteRun::Progress(const std::string& phase) {
  progress_.phase = phase;
  if (context_.on_progress) context_.on_progress(progress_);
}

void RewriteRun::Notice(const std::string& line) const { maintain::Notice(context_, line); }

Status RewriteRun::AssignRowIds() {
  const spec::Snapshot* head = table_.metadata()->FindRef(options_.branch);
  if (table_.metadata()->format_version < 3 || head == nullptr || head->first_row_id) return {};
  EmptyChange change(options_.branch);
  FRAZIL_TRY(table::CommitSnapshot(table_, change, {.branch = options_.branch, .allow_empty = true}, clock()));
  return {};
}

Status RewriteRun::CommitLeftGroups() {
  std::vector<std::string> notices;
  const std::vector<RewriteJournal::Found> found = journal_.Load(table_, clock(), notices);
  for (const std::string& line : notices) Notice(line);
  if (found.empty()) return {};
  Notice(fmt::format("{} file groups that an earlier run finished are committed first", found.size()));
  TakeLease();
  std::map<std::string, std::pair<std::vector<const RewrittenGroup*>, std::vector<bool>>> by_branch;
  for (const RewriteJournal::Found& left : found) {
    auto& [groups, keep_outputs] = by_branch[left.group.branch];
    groups.push_back(&left.group);
    keep_outputs.push_back(left.was_sent);
  }
  for (auto& [branch, left] : by_branch) {
    const auto ref = table_.metadata()->refs.find(branch);
    if (ref == table_.metadata()->refs.end() || ref->second.type != spec::RefType::kBranch) {
      for (const RewrittenGroup* group : left.first) Drop(*group, "the branch is gone: " + branch);
      continue;
    }
    const Status committed = Commit(std::move(left.first), std::move(left.second));
    if (committed) continue;
    if (branch == options_.branch || committed.error().code() == ErrorCode::kShuttingDown) return committed;
    Notice(fmt::format("file groups of branch {} wait for the next run: {}", branch, committed.error().ToString()));
  }
  return {};
}

void RewriteRun::TakeLease() {
  if (lease_ != nullptr) return;
  auto lease =
      table::WriterLease::Take(table_.io(), table_.metadata()->location, "rewrite of " + table_.name().ToString());
  if (lease) {
    lease_ = *std::move(lease);
    return;
  }
  Notice("orphan removal is not told of this rewrite, a lease cannot be written: " + lease.error().ToString());
}

Status RewriteRun::Execute(const RewritePlan& plan, size_t begin, size_t end, std::vector<RewrittenGroup>& finished) {
  const size_t num_threads = context_.executor == nullptr ? 1 : static_cast<size_t>(context_.executor->num_threads());
  const size_t lanes =
      std::min({end - begin, static_cast<size_t>(options_.max_concurrent_file_group_rewrites), num_threads});
  RewriteAdmission admission(context_.budget, lanes);
  const RewriteResources resources{
      .admission = &admission, .clock = &clock(), .temp_directory = context_.temp_directory, .stop = context_.stop};
  const auto& deletes = plan.scan->deletes->deletes();
  const bool has_equality_deletes = std::any_of(deletes.begin(), deletes.end(), [](const table::LiveDelete& file) {
    return file.file.content == spec::FileContent::kEqualityDeletes;
  });
  auto equality = std::make_shared<scan::EqualityDeletes>(table_.io(), 0);
  if (has_equality_deletes) {
    FRAZIL_ASSIGN(equality, equality_deletes_.Of(table_.io(), *plan.scan->deletes));
  }
  std::atomic<size_t> next = begin;
  std::mutex mutex;
  const auto run_lane = [&](size_t) -> Status {
    for (;;) {
      const size_t index = next.fetch_add(1);
      if (index >= end) return {};
      int64_t bytes_told = 0;
      int64_t rows_told = 0;
      RewriteResources told = resources;
      told.on_progress = [&](int64_t bytes, int64_t rows) {
        std::lock_guard lock(mutex);
        bytes_told += bytes;
        rows_told += rows;
        progress_.bytes_done += bytes;
        progress_.rows_done += rows;
        Progress("rewriting");
      };
      auto group = RewriteGroup(table_, plan, plan.groups[index], equality, told);
      std::lock_guard lock(mutex);
      progress_.bytes_done -= bytes_told;
      progress_.rows_done -= rows_told;
      if (!group) {
        if (!options_.partial_progress || group.error().code() == ErrorCode::kShuttingDown) {
          next = end;
          return tl::unexpected(std::move(group).error());
        }
        GiveUp(static_cast<int64_t>(plan.groups[index].tasks.size()), std::move(group).error());
        continue;
      }
      FRAZIL_TRY(journal_.Add(table_, *group));
      SyncPoint::Hit("rewrite.group.after");
      ++progress_.groups_done;
      progress_.bytes_done += group->input_bytes();
      progress_.rows_done += group->num_rows();
      finished.push_back(*std::move(group));
      Progress("rewriting");
    }
  };
  return ParallelFor(context_.executor, lanes, run_lane);
}

void RewriteRun::Drop(const RewrittenGroup& group, const std::string& reason) {
  journal_.Remove(group.id);
  ++result_.dropped_groups;
  result_.failed_data_files += static_cast<int64_t>(group.sources.size());
  result_.dropped_reasons.push_back(fmt::format("{}: {}", group.partition, reason));
  Notice("a file group was dropped, the next run plans it again: " + result_.dropped_reasons.back());
}

void RewriteRun::GiveUp(int64_t num_files, Error error) {
  result_.failed_data_files += num_files;
  if (++result_.failed_groups <= kMaxToldFailures) {
    Notice("a file group failed, the next run plans it again: " + error.ToString());
  }
  const bool is_first = !result_.first_error || (result_.first_error->code() == ErrorCode::kCommitConflict &&
                                                 error.code() != ErrorCode::kCommitConflict);
  if (is_first) result_.first_error = std::move(error);
}

Result<std::vector<std::string>> RewriteRun::FindVanished(const std::vector<const RewrittenGroup*>& groups) const {
  std::vector<std::string> vanished(groups.size());
  // A machine that slept may not know it by its own clock, but the store's tells how far apart its heartbeats lie.
  const bool was_covered = lease_ != nullptr && lease_->Renew() && !lease_->HasLapsed();
  for (size_t i = 0; i < groups.size(); ++i) {
    const int64_t age_ms = clock().NowMs() - groups[i]->begun_at_ms;
    if (was_covered && age_ms <= table::kLookAfterMs) continue;
    if (!was_covered && age_ms > table::kMaxUncommittedAgeMs) {
      vanished[i] = "its files waited too long without a lease, somebody may be about to delete them";
      continue;
    }
    const Status there = RewriteJournal::CheckOutputs(table_, *groups[i]);
    if (there) continue;
    const ErrorCode code = there.error().code();
    if (code != ErrorCode::kNotFound && code != ErrorCode::kCorruptData) return tl::unexpected(there.error());
    vanished[i] = there.error().ToString();
  }
  return vanished;
}

Status RewriteRun::Commit(std::vector<const RewrittenGroup*> groups, std::vector<bool> keep_outputs) {
  Progress("committing");
  for (const RewrittenGroup* group : groups) FRAZIL_TRY(journal_.MarkSent(*group));
  SyncPoint::Hit("rewrite.commit.before");
  RewriteCommit commit(groups, keep_outputs,
                       {.branch = groups.front()->branch,
                        .use_starting_sequence_number = options_.use_starting_sequence_number,
                        .temp_directory = context_.temp_directory,
                        .budget = context_.budget,
                        .find_vanished = [this](const auto& all) { return FindVanished(all); }});
  FRAZIL_ASSIGN(const RewriteCommit::Outcome outcome, commit.Run(table_, clock()));
  SyncPoint::Hit("rewrite.commit.after");
  for (size_t i = 0; i < groups.size(); ++i) {
    if (outcome.is_committed[i]) {
      journal_.Remove(groups[i]->id);
      ++result_.groups;
      result_.rows_carried += groups[i]->num_rows();
      result_.written_bytes += groups[i]->output_bytes();
      continue;
    }
    Drop(*groups[i], outcome.drop_reasons[i]);
  }
  if (outcome.snapshot_id) ++result_.commits;
  result_.rewritten_data_files += outcome.num_removed_data_files;
  result_.added_data_files += outcome.num_added_data_files;
  result_.rewritten_bytes += outcome.removed_bytes;
  result_.removed_delete_files += outcome.num_removed_delete_files;
  return {};
}

/// Outputs that will not be committed by this run nor by a later one.
void RewriteRun::Discard(const std::vector<RewrittenGroup>& groups) {
  if (!context_.state_directory.empty()) return;  // the journal has them
  std::vector<std::string> paths;
  for (const RewrittenGroup& group : groups) {
    for (const spec::DataFile& output : group.outputs) paths.push_back(output.file_path);
  }
  if (paths.empty()) return;
  if (const Status deleted = table_.io()->Delete(paths); !deleted) {
    Log::Warn("left behind, orphan removal will take them: {}", deleted.error().ToString());
  }
}

Status RewriteRun::RunPlan(const RewritePlan& plan) {
  TakeLease();
  progress_.groups = static_cast<int64_t>(plan.groups.size());
  for (const RewritePlan::Group& group : plan.groups) progress_.bytes += group.input_bytes;
  const auto max_commits = static_cast<size_t>(options_.partial_progress_max_commits);
  const size_t per_commit =
      options_.partial_progress ? (plan.groups.size() + max_commits - 1) / max_commits : plan.groups.size();
  const int max_failed = options_.partial_progress_max_failed_commits.value_or(options_.partial_progress_max_commits);
  int num_failed = 0;
  for (size_t begin = 0; begin < plan.groups.size(); begin += per_commit) {
    const size_t end = std::min(begin + per_commit, plan.groups.size());
    std::vector<RewrittenGroup> finished;
    if (Status executed = Execute(plan, begin, end, finished); !executed) {
      Discard(finished);
      return executed;
    }
    if (finished.empty()) continue;
    std::vector<const RewrittenGroup*> groups;
    for (const RewrittenGroup& group : finished) groups.push_back(&group);
    const Status committed = Commit(groups, std::vector<bool>(groups.size()));
    if (committed) continue;
    if (committed.error().code() != ErrorCode::kCommitUnknown) Discard(finished);
    if (!options_.partial_progress) return committed;
    for (const RewrittenGroup& group : finished) {
      GiveUp(static_cast<int64_t>(group.sources.size()), committed.error());
    }
    if (++num_failed > max_failed) {
      return tl::unexpected(Error(committed.error())
                                .WithContext(fmt::format("{} commits failed, partial-progress.max-failed-commits is {}",
                                                         num_failed, max_failed)));
    }
  }
  return {};
}

Status RewriteRun::RemoveDanglingDeletes() {
  DanglingDeletesChange change(options_.branch);
  FRAZIL_ASSIGN(const table::CommitOutcome outcome,
                table::CommitSnapshot(table_, change, {.branch = options_.branch}, clock()));
  if (!outcome.snapshot_id) return {};
  ++result_.commits;
  result_.removed_delete_files += change.num_removed();
  return {};
}

Result<RewriteResult> RewriteRun::Run() {
  const double cpu_before = CpuSeconds();
  const Status done = Work();
  result_.peak_memory_bytes = MemoryBudget::PeakResidentBytes();
  result_.cpu_seconds = CpuSeconds() - cpu_before;
  FRAZIL_TRY(done);
  return result_;
}

Status RewriteRun::Work() {
  FRAZIL_TRY(journal_.Lock());
  FRAZIL_TRY(table_.Refresh());
  FRAZIL_TRY(AssignRowIds());  // the branch may be missing: planning says so
  FRAZIL_TRY(CommitLeftGroups());
  Progress("planning");
  FRAZIL_ASSIGN(const RewritePlan plan, PlanRewrite(table_, options_, clock()));
  if (!plan.groups.empty()) FRAZIL_TRY(RunPlan(plan));
  if (options_.remove_dangling_deletes && table_.metadata()->FindRef(options_.branch) != nullptr) {
    FRAZIL_TRY(RemoveDanglingDeletes());
  }
  return {};
}

std::optional<Error> RewriteResult::Failure() const {
  if (failed_groups > 0) {
    return Error(*first_error)
        .WithContext(fmt::format("{} of {} file groups failed, this is the first reason", failed_groups,
                                 groups + dropped_groups + failed_groups));
  }
  if (groups > 0 || dropped_groups == 0) return std::nullopt;
  return Error(ErrorCode::kCommitConflict,
               fmt::format("others changed what was rewritten, {} of {} file groups were dropped: {}", dropped_groups,
                           dropped_groups, dropped_reasons.front()));
}

Result<RewriteResult> RewriteDataFiles(table::Table& table, const RewriteOptions& options,
                                       const table::ProcedureContext& context) {
  return RewriteRun(table, options, context).Run();
}

Result<int64_t> DiscardUnfinishedRewrites(table::Table& table, const table::ProcedureContext& context) {
  RewriteJournal journal(context.state_directory, table);
  FRAZIL_TRY(journal.Lock());
  FRAZIL_TRY(table.Refresh());
  const Clock& clock = ClockOf(context);
  std::vector<std::string> notices;
  const std::vector<RewriteJournal::Found> found = journal.Load(table, clock, notices);
  if (context.on_notice) std::for_each(notices.begin(), notices.end(), context.on_notice);
  for (const RewriteJournal::Found& left : found) {
    journal.Remove(left.group.id);
    if (left.was_sent) continue;  // nobody knows whether its commit came through; orphan removal does
    std::vector<std::string> paths;
    for (const spec::DataFile& output : left.group.outputs) paths.push_back(output.file_path);
    if (const Status deleted = table.io()->Delete(paths); !deleted) {
      Log::Warn("left behind, orphan removal will take them: {}", deleted.error().ToString());
    }
  }
  return static_cast<int64_t>(found.size());
}

Result<RewritePlanReport> ExplainRewrite(const table::Table& table, const RewriteOptions& options,
                                         const table::ProcedureContext& context) {
  // What rewriting cost where it was measured: decode, encode, zstd on text.
  constexpr double kBytesPerCpuSecond = 70e6;
  constexpr double kCpuSecondsPerFile = 0.001;  // opening, footer, decoders
  constexpr double kSecondsPerCommit = 0.1;     // what is synced one after the other
  const Clock& clock = ClockOf(context);
  FRAZIL_ASSIGN(RewritePlan plan, PlanRewrite(table, options, clock));
  RewritePlanReport report;
  report.partitions = std::move(plan.partitions);
  report.groups = static_cast<int64_t>(plan.groups.size());
  std::vector<const RewritePlan::Group*> by_memory;
  for (const RewritePlan::Group& group : plan.groups) {
    report.input_files += static_cast<int64_t>(group.tasks.size());
    report.input_bytes += group.input_bytes;
    report.expected_output_files += group.expected_files;
    report.expected_output_bytes += group.live_bytes;
    by_memory.push_back(&group);
  }
  report.expected_cpu_seconds = static_cast<double>(report.input_bytes) / kBytesPerCpuSecond +
                                kCpuSecondsPerFile * static_cast<double>(report.input_files);
  // So many of the largest at a time.
  std::stable_sort(by_memory.begin(), by_memory.end(), [&](const auto* left, const auto* right) {
    return EstimateMemory(plan, *left) > EstimateMemory(plan, *right);
  });
  const size_t threads = context.executor == nullptr ? 1 : static_cast<size_t>(context.executor->num_threads());
  const size_t lanes =
      std::min({by_memory.size(), static_cast<size_t>(options.max_concurrent_file_group_rewrites), threads});
  for (size_t i = 0; i < lanes; ++i) {
    report.expected_peak_memory_bytes +=
        EstimateMemory(plan, *by_memory[i], ExpansionOf(*table.io(), plan, *by_memory[i]));
  }
  report.expected_seconds = report.expected_cpu_seconds / static_cast<double>(std::max<size_t>(lanes, 1));
  const auto max_commits = static_cast<size_t>(options.partial_progress ? options.partial_progress_max_commits : 1);
  report.expected_seconds += kSecondsPerCommit * static_cast<double>(std::min(by_memory.size(), max_commits));
  // The process is there already.
  if (report.groups > 0) report.expected_peak_memory_bytes += MemoryBudget::ResidentBytes();
  if (context.budget != nullptr) {
    report.expected_peak_memory_bytes = std::min(report.expected_peak_memory_bytes, context.budget->limit_bytes());
  }
  return report;
}

}  // namespace frazil::maintain
