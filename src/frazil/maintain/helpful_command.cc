#include "frazil/maintain/helpful_command.h"

#include "frazil/maintain/maintained_table.h"
#include "frazil/maintain/rewrite_plan.h"
#include "frazil/maintain/snapshot_retention.h"
#include "frazil/maintain/writer_pins.h"
#include "frazil/table/scan_planner.h"

namespace frazil::maintain {

const std::vector<std::map<std::string, std::string>>& CompactionsToTry() {
  static const std::vector<std::map<std::string, std::string>> all = {
      {},
      {{"min-input-files", "2"}},
      {{"delete-ratio-threshold", "0.2"}},
      {{"delete-ratio-threshold", "0.1"}, {"min-input-files", "2"}},
      {{"delete-ratio-threshold", "0.1"}, {"min-input-files", "2"}, {"leveled", "false"}},
  };
  return all;
}

Result<CompactAdvice> TryCompaction(const table::Table& table, const table::ProcedureContext& context,
                                    const std::map<std::string, std::string>& options) {
  std::map<std::string, std::string> all = options;
  all.try_emplace("leveled", "true");  // as the command does
  FRAZIL_ASSIGN(const RewriteOptions parsed, RewriteOptions::Parse(all));
  FRAZIL_ASSIGN(const RewritePlan plan, PlanRewrite(table, parsed, ClockOf(context)));
  CompactAdvice advice;
  for (const auto& [key, value] : options) advice.options += fmt::format(" --option {}={}", key, value);
  if (plan.scan == nullptr) return advice;
  for (const table::FileScanTask& task : plan.scan->tasks) {
    ++advice.files;
    advice.rows += task.data_file.file.record_count;
    advice.deleted_rows += CountDeletedRows(task);
  }
  for (const RewritePlan::Group& group : plan.groups) {
    advice.files += group.expected_files - static_cast<int64_t>(group.tasks.size());
    for (const size_t task : group.tasks) {
      const int64_t deleted = CountDeletedRows(plan.scan->tasks[task]);
      advice.rows -= deleted;
      advice.deleted_rows -= deleted;
    }
  }
  return advice;
}

Result<std::optional<ExpiryAdvice>> AdviseExpiry(const table::Table& table, const table::ProcedureContext& context,
                                                 int64_t max_snapshots) {
  constexpr int64_t kHourMs = int64_t{3600} * 1000;
  // Readers of old snapshots have a day, an hour, or the newest hundred.
  struct Attempt {
    const char* options;
    std::optional<int64_t> age_ms;
  };
  const Attempt attempts[] = {{"", std::nullopt},
                              {" --older-than 1d --retain-last 100", 24 * kHourMs},
                              {" --older-than 1h --retain-last 100", kHourMs},
                              {" --older-than 0s --retain-last 100", 0}};
  FRAZIL_ASSIGN(const WriterPins pins, FindWriterPins(table));
  for (const Attempt& attempt : attempts) {
    RetentionRules rules;
    rules.now_ms = ClockOf(context).NowMs();
    rules.pinned = pins.snapshots;
    if (attempt.age_ms) {
      rules.older_than_ms = rules.now_ms - *attempt.age_ms;
      rules.retain_last = 100;
    }
    FRAZIL_ASSIGN(const RetentionPlan plan, PlanRetention(*table.metadata(), rules));
    const auto left = static_cast<int64_t>(table.metadata()->snapshots.size() - plan.expired.size());
    if (left < max_snapshots) return ExpiryAdvice{attempt.options, left};
  }
  return std::nullopt;
}

}  // namespace frazil::maintain
