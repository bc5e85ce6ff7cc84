#include "frazil/maintain/rewrite_plan.h"

#include <algorithm>
#include <set>
#include <tuple>

#include <fmt/format.h>

#include "frazil/maintain/rewrite_levels.h"
#include "frazil/table/file_names.h"
#include "frazil/table/partition_key.h"
#include "frazil/table/spec_schema.h"

namespace frazil::maintain {
namespace {

/// What the planner looks at of one file.
struct FileFacts {
  size_t task = 0;
  int64_t bytes = 0;
  int64_t rows = 0;
  int64_t deleted_rows = 0;
  int64_t vectors = 0;
  int64_t delete_files = 0;  ///< others that apply
  bool has_wrong_size = false;
  bool has_many_deletes = false;

  bool is_candidate() const { return has_wrong_size || has_many_deletes; }
};

/// Files that may go into one group: those of a partition of the output spec, or all of another spec.
struct Bucket {
  std::string name;
  bool is_move = false;
  bool is_landing = false;
  std::vector<FileFacts> files;
};

/// Files of a bucket that may go into groups together.
struct Candidates {
  std::vector<FileFacts> files;
  std::string reason;  ///< to rewrite them, whatever the options say; else empty
};

class Planner {
 public:
  Planner(const RewriteOptions& options, const OutputSizes& sizes, int64_t now_ms, RewritePlan& plan)
      : options_(options),
        sizes_(sizes),
        now_ms_(now_ms),
        plan_(plan),
        use_(UseOf(*plan.scan->metadata, now_ms, options.scans_per_hour)) {}

  void Run() {
    MakeBuckets();
    for (const Bucket& bucket : buckets_) PlanBucket(bucket);
    Order();
    Cap();
    Rank();
  }

 private:
  void MakeBuckets();
  void PlanBucket(const Bucket& bucket);
  std::vector<Candidates> ByLevel(const Bucket& bucket, std::vector<FileFacts> files,
                                  std::string& reason_to_wait) const;
  void AddGroups(const Bucket& bucket, const Candidates& candidates, PartitionVerdict& verdict);
  std::string ReasonToKeep(const Bucket& bucket, const RewritePlan::Group& group, bool has_many_deletes) const;
  RewritePlan::Group MakeGroup(const Bucket& bucket, std::span<const FileFacts> files) const;
  void Order();
  void Cap();
  void Rank();

  const RewriteOptions& options_;
  const OutputSizes& sizes_;
  const int64_t now_ms_;
  RewritePlan& plan_;
  const TableUse use_;
  std::vector<Bucket> buckets_;
};

FileFacts FactsOf(size_t task_index, const table::FileScanTask& task, const RewriteOptions& options,
                  const OutputSizes& sizes) {
  FileFacts facts;
  facts.task = task_index;
  facts.bytes = task.data_file.file.file_size_in_bytes;
  facts.rows = task.data_file.file.record_count;
  facts.deleted_rows = CountDeletedRows(task);
  facts.has_wrong_size = facts.bytes < sizes.min() || facts.bytes > sizes.max();
  facts.vectors = task.deletes.vector != nullptr ? 1 : 0;
  facts.delete_files = static_cast<int64_t>(task.deletes.equality_deletes.size());
  if (facts.vectors == 0) facts.delete_files += static_cast<int64_t>(task.deletes.position_deletes.size());
  facts.has_many_deletes = facts.vectors + facts.delete_files >= options.delete_file_threshold ||
                           (facts.deleted_rows > 0 &&
                            static_cast<double>(facts.deleted_rows) >=
                                options.delete_ratio_threshold * static_cast<double>(std::max<int64_t>(1, facts.rows)));
  return facts;
}

void Planner::MakeBuckets() {
  const spec::TableMetadata& metadata = *plan_.scan->metadata;
  table::PartitionMap<size_t> by_partition;
  std::map<spec::SpecId, size_t> by_spec;
  for (size_t i = 0; i < plan_.scan->tasks.size(); ++i) {
    const table::FileScanTask& task = plan_.scan->tasks[i];
    const spec::DataFile& file = task.data_file.file;
    const spec::PartitionSpec* spec = metadata.FindSpec(file.spec_id);
    if (options_.landing_only && !IsLandingMove(metadata, file, plan_.output_spec)) continue;
    size_t bucket = 0;
    if (file.spec_id == plan_.output_spec.id()) {
      bucket = by_partition.try_emplace({file.spec_id, file.partition}, buckets_.size()).first->second;
    } else {
      bucket = by_spec.try_emplace(file.spec_id, buckets_.size()).first->second;
    }
    if (bucket == buckets_.size()) {
      Bucket& added = buckets_.emplace_back();
      added.is_move = file.spec_id != plan_.output_spec.id();
      if (!added.is_move) {
        if (spec != nullptr) added.name = spec->Path(file.partition, *table::SchemaOfSpec(metadata, *spec));
        if (added.name.empty()) added.name = kUnpartitioned;
      } else {
        added.is_landing = spec != nullptr && spec->is_unpartitioned();
        added.name = added.is_landing ? "landing" : fmt::format("spec {}", file.spec_id);
      }
    }
    FileFacts facts = FactsOf(i, task, options_, sizes_);
    // Where it lies is wrong, whatever its size.
    if (buckets_[bucket].is_move) facts.has_wrong_size = true;
    buckets_[bucket].files.push_back(facts);
  }
}

RewritePlan::Group Planner::MakeGroup(const Bucket& bucket, std::span<const FileFacts> files) const {
  RewritePlan::Group group;
  group.partition = bucket.name;
  group.is_move = bucket.is_move;
  GroupSize size;
  for (const FileFacts& file : files) {
    group.tasks.push_back(file.task);
    group.input_bytes += file.bytes;
    group.input_rows += file.rows;
    const double live =
        1.0 - static_cast<double>(file.deleted_rows) / static_cast<double>(std::max<int64_t>(1, file.rows));
    group.live_bytes += static_cast<int64_t>(static_cast<double>(file.bytes) * live);
    size.vectors += file.vectors;
    size.delete_files += file.delete_files;
  }
  const auto output_bytes =
      static_cast<int64_t>(static_cast<double>(group.live_bytes) * options_.compression_factor.value_or(1));
  group.expected_files = sizes_.CountFor(output_bytes);
  group.roll_at_bytes = bucket.is_move ? sizes_.target() : sizes_.RollAt(output_bytes);
  size.input_files = static_cast<int64_t>(files.size());
  size.output_files = group.expected_files;
  size.input_bytes = group.input_bytes;
  size.output_bytes = group.live_bytes;
  group.worth = WorthOf(size, use_);
  return group;
}

/// Why a group is worth it; empty: it is not.
std::string Planner::ReasonToKeep(const Bucket& bucket, const RewritePlan::Group& group, bool has_many_deletes) const {
  const auto num_files = static_cast<int64_t>(group.tasks.size());
  if (options_.rewrite_all) return "rewrite-all";
  if (options_.landing_only) return "landing files are drained";
  if (has_many_deletes) return "deleted rows or delete files above the threshold";
  if (group.input_bytes > sizes_.max()) return fmt::format("{} bytes in {} files", group.input_bytes, num_files);
  if (num_files >= 2 && num_files >= options_.min_input_files) {
    return fmt::format("{} files{}", num_files, bucket.is_move ? " of another spec" : " of a wrong size");
  }
  if (num_files >= 2 && group.input_bytes > sizes_.target()) {
    return fmt::format("{} files with {} bytes, more than one target", num_files, group.input_bytes);
  }
  return "";
}

void Planner::PlanBucket(const Bucket& bucket) {
  PartitionVerdict verdict;
  verdict.partition = bucket.name;
  verdict.files = static_cast<int64_t>(bucket.files.size());
  std::vector<FileFacts> candidates;
  for (const FileFacts& file : bucket.files) {
    verdict.bytes += file.bytes;
    verdict.rows += file.rows;
    verdict.deleted_rows += file.deleted_rows;
    if (options_.rewrite_all || file.is_candidate()) candidates.push_back(file);
  }
  verdict.candidate_files = static_cast<int64_t>(candidates.size());
  std::string reason_to_wait;
  if (options_.leveled && !options_.rewrite_all && !candidates.empty()) {
    for (const Candidates& level : ByLevel(bucket, std::move(candidates), reason_to_wait)) {
      AddGroups(bucket, level, verdict);
    }
  } else {
    AddGroups(bucket, {std::move(candidates), ""}, verdict);
  }
  if (!verdict.is_chosen) {
    verdict.reason =
        verdict.candidate_files == 0
            ? fmt::format("every file has between {} and {} bytes and few deleted rows", sizes_.min(), sizes_.max())
        : !reason_to_wait.empty()
            ? std::move(reason_to_wait)
            : fmt::format(
                  "{} files to rewrite with {} bytes: fewer than min-input-files = {} and no more than one "
                  "target of {} bytes",
                  verdict.candidate_files, verdict.bytes, options_.min_input_files, sizes_.target());
  }
  plan_.partitions.push_back(std::move(verdict));
}

std::vector<Candidates> Planner::ByLevel(const Bucket& bucket, std::vector<FileFacts> files,
                                         std::string& reason_to_wait) const {
  if (bucket.is_landing) {
    const int64_t fill = options_.landing_fill_bytes > 0 ? options_.landing_fill_bytes : sizes_.target() / 32;
    std::vector<size_t> tasks;
    for (const FileFacts& file : files) tasks.push_back(file.task);
    LandingVerdict verdict =
        JudgeLanding(*plan_.scan, tasks, plan_.output_spec,
                     {.fill_bytes = fill, .max_age_ms = options_.landing_max_age_ms, .now_ms = now_ms_});
    if (verdict.moves) return {{std::move(files), std::move(verdict.reason)}};
    reason_to_wait = std::move(verdict.reason);
    return {};
  }
  int64_t all_bytes = 0;
  for (const FileFacts& file : files) all_bytes += file.bytes;
  if (bucket.is_move || all_bytes > sizes_.target()) return {{std::move(files), ""}};
  std::vector<FileFacts> by_size = files;
  std::stable_sort(by_size.begin(), by_size.end(),
                   [](const FileFacts& left, const FileFacts& right) { return left.bytes < right.bytes; });
  std::vector<int64_t> bytes;
  for (const FileFacts& file : by_size) bytes.push_back(file.bytes);
  const size_t num_merged = CountWorthMerging(bytes, options_.min_input_files);
  std::set<size_t> merged;  // their tasks
  for (size_t i = 0; i < num_merged; ++i) merged.insert(by_size[i].task);
  std::vector<Candidates> levels(1);
  for (FileFacts& file : files) {
    if (merged.contains(file.task)) {
      levels[0].files.push_back(file);
    } else if (file.has_many_deletes) {
      levels.push_back({{file}, ""});  // alone: it shrinks, which is all that is wanted of it
    }
  }
  if (num_merged == 0 && static_cast<int64_t>(files.size()) >= options_.min_input_files) {
    reason_to_wait = fmt::format(
        "{} files to rewrite with {} bytes: a larger one waits for as many bytes of smaller ones, of at least "
        "min-input-files = {}",
        files.size(), all_bytes, options_.min_input_files);
  }
  return levels;
}

void Planner::AddGroups(const Bucket& bucket, const Candidates& level, PartitionVerdict& verdict) {
  const std::vector<FileFacts>& candidates = level.files;
  // Bin-packing with the order kept: a group is closed when the next file does not fit.
  for (size_t begin = 0, end = 0; begin < candidates.size(); begin = end) {
    int64_t bytes = 0;
    bool has_many_deletes = false;
    for (; end < candidates.size(); ++end) {
      if (end > begin && (bytes + candidates[end].bytes > options_.max_file_group_size_bytes ||
                          static_cast<int64_t>(end - begin) >= options_.max_file_group_input_files)) {
        break;
      }
      bytes += candidates[end].bytes;
      has_many_deletes |= candidates[end].has_many_deletes;
    }
    RewritePlan::Group group = MakeGroup(bucket, std::span(candidates).subspan(begin, end - begin));
    std::string reason = level.reason.empty() ? ReasonToKeep(bucket, group, has_many_deletes) : level.reason;
    if (reason.empty()) continue;
    ++verdict.groups;
    verdict.is_chosen = true;
    verdict.reason = std::move(reason);
    group.verdict = plan_.partitions.size();  // where it will be
    plan_.groups.push_back(std::move(group));
  }
}

void Planner::Order() {
  const auto by = [&](auto key, bool descending) {
    std::stable_sort(plan_.groups.begin(), plan_.groups.end(), [&](const auto& left, const auto& right) {
      return descending ? key(left) > key(right) : key(left) < key(right);
    });
  };
  const auto bytes = [](const RewritePlan::Group& group) { return group.input_bytes; };
  const auto files = [](const RewritePlan::Group& group) { return static_cast<int64_t>(group.tasks.size()); };
  switch (options_.job_order) {
    case RewriteJobOrder::kNone:
      if (options_.leveled) by([](const RewritePlan::Group& group) { return group.worth.ratio(); }, true);
      break;
    case RewriteJobOrder::kBytesAscending: by(bytes, false); break;
    case RewriteJobOrder::kBytesDescending: by(bytes, true); break;
    case RewriteJobOrder::kFilesAscending: by(files, false); break;
    case RewriteJobOrder::kFilesDescending: by(files, true); break;
  }
}

/// max-files-to-rewrite: groups are cut, not left out, as Spark does it.
void Planner::Cap() {
  if (!options_.max_files_to_rewrite) return;
  int64_t room = *options_.max_files_to_rewrite;
  std::vector<RewritePlan::Group> kept;
  for (RewritePlan::Group& group : plan_.groups) {
    if (room <= 0) break;
    if (static_cast<int64_t>(group.tasks.size()) > room) {
      std::vector<FileFacts> files;
      for (size_t i = 0; i < static_cast<size_t>(room); ++i) {
        files.push_back(FactsOf(group.tasks[i], plan_.scan->tasks[group.tasks[i]], options_, sizes_));
      }
      Bucket bucket{.name = group.partition, .is_move = group.is_move, .files = {}};
      const size_t verdict = group.verdict;
      group = MakeGroup(bucket, files);
      group.verdict = verdict;
    }
    room -= static_cast<int64_t>(group.tasks.size());
    kept.push_back(std::move(group));
  }
  plan_.groups = std::move(kept);
}

/// Tells the partitions what became of their groups.
void Planner::Rank() {
  for (PartitionVerdict& verdict : plan_.partitions) verdict.groups = 0;
  for (size_t i = 0; i < plan_.groups.size(); ++i) {
    PartitionVerdict& verdict = plan_.partitions[plan_.groups[i].verdict];
    if (verdict.rank == 0) verdict.rank = static_cast<int64_t>(i) + 1;
    verdict.worth += plan_.groups[i].worth;
    ++verdict.groups;
  }
  for (PartitionVerdict& verdict : plan_.partitions) {
    if (!verdict.is_chosen || verdict.groups > 0) continue;
    verdict.is_chosen = false;
    verdict.reason = fmt::format("max-files-to-rewrite = {} leaves it to another run: {}",
                                 options_.max_files_to_rewrite.value_or(0), verdict.reason);
  }
}

Status CheckOptions(const RewriteOptions& options) {
  if (options.min_input_files < 1) {
    return Fail(ErrorCode::kInvalidArgument, "min-input-files must be at least 1: {}", options.min_input_files);
  }
  if (options.max_file_group_size_bytes < 1) {
    return Fail(ErrorCode::kInvalidArgument, "max-file-group-size-bytes must be at least 1: {}",
                options.max_file_group_size_bytes);
  }
  if (options.max_file_group_input_files < 1) {
    return Fail(ErrorCode::kInvalidArgument, "max-file-group-input-files must be at least 1: {}",
                options.max_file_group_input_files);
  }
  if (options.delete_file_threshold < 1) {
    return Fail(ErrorCode::kInvalidArgument, "delete-file-threshold must be at least 1: {}",
                options.delete_file_threshold);
  }
  if (!(options.delete_ratio_threshold > 0 && options.delete_ratio_threshold <= 1)) {
    return Fail(ErrorCode::kInvalidArgument, "delete-ratio-threshold must be above 0 and at most 1: {}",
                options.delete_ratio_threshold);
  }
  if (options.max_files_to_rewrite && *options.max_files_to_rewrite < 1) {
    return Fail(ErrorCode::kInvalidArgument, "max-files-to-rewrite must be at least 1: {}",
                *options.max_files_to_rewrite);
  }
  if (options.max_concurrent_file_group_rewrites < 1) {
    return Fail(ErrorCode::kInvalidArgument, "max-concurrent-file-group-rewrites must be at least 1: {}",
                options.max_concurrent_file_group_rewrites);
  }
  const bool sorts = options.strategy == RewriteOptions::Strategy::kSort;
  if (!sorts && options.compression_factor) {
    return Fail(ErrorCode::kInvalidArgument, "option compression-factor needs the strategy sort: {}",
                *options.compression_factor);
  }
  if (!sorts && options.shuffle_partitions_per_file) {
    return Fail(ErrorCode::kInvalidArgument, "option shuffle-partitions-per-file needs the strategy sort: {}",
                *options.shuffle_partitions_per_file);
  }
  if (options.partial_progress && options.partial_progress_max_commits < 1) {
    return Fail(ErrorCode::kInvalidArgument, "partial-progress.max-commits must be at least 1: {}",
                options.partial_progress_max_commits);
  }
  return {};
}

}  // namespace

bool IsLandingMove(const spec::TableMetadata& metadata, const spec::DataFile& file, const spec::PartitionSpec& to) {
  return table::IsLandingFile(metadata, file) && !to.is_unpartitioned();
}

int64_t CountDeletedRows(const table::FileScanTask& task) {
  int64_t count = 0;
  if (task.deletes.vector != nullptr) {
    count = task.deletes.vector->file.record_count;
  } else {
    for (const table::LiveDelete* file : task.deletes.position_deletes) {
      if (table::IsScopedTo(file->file, task.data_file.file.file_path)) count += file->file.record_count;
    }
  }
  return std::min(count, task.data_file.file.record_count);
}

Result<OutputSizes> OutputSizes::Make(const RewriteOptions& options, const spec::TableMetadata& metadata) {
  OutputSizes sizes;
  sizes.target_ = options.target_file_size_bytes;
  if (sizes.target_ == 0) {
    FRAZIL_ASSIGN(sizes.target_, metadata.IntProperty("write.target-file-size-bytes", int64_t{512} << 20));
  }
  if (sizes.target_ < 1) {
    return Fail(ErrorCode::kInvalidArgument, "target-file-size-bytes must be at least 1: {}", sizes.target_);
  }
  const auto share = [&](double of) { return static_cast<int64_t>(static_cast<double>(sizes.target_) * of); };
  sizes.min_ = options.min_file_size_bytes.value_or(share(0.75));
  // A file of the target size is never small.
  if (options.small_file_threshold_bytes > 0) sizes.min_ = std::min(options.small_file_threshold_bytes, share(0.75));
  sizes.max_ = options.max_file_size_bytes > 0 ? options.max_file_size_bytes : share(1.8);
  if (sizes.target_ <= sizes.min_ && sizes.target_ > 1) {
    return Fail(ErrorCode::kInvalidArgument, "target-file-size-bytes must be above min-file-size-bytes: {} and {}",
                sizes.target_, sizes.min_);
  }
  if (sizes.target_ >= sizes.max_ && sizes.target_ > 1) {
    return Fail(ErrorCode::kInvalidArgument, "target-file-size-bytes must be below max-file-size-bytes: {} and {}",
                sizes.target_, sizes.max_);
  }
  return sizes;
}

int64_t OutputSizes::CountFor(int64_t bytes) const {
  if (bytes < target_) return 1;
  const int64_t fewer = bytes / target_;
  const int64_t more = (bytes + target_ - 1) / target_;
  if (bytes % target_ > min_) return more;
  const auto enlarged = static_cast<int64_t>(1.1 * static_cast<double>(target_));
  return bytes / fewer < std::min(enlarged, WriteMax()) ? fewer : more;
}

int64_t OutputSizes::RollAt(int64_t bytes) const {
  constexpr int64_t kOverhead = 5120;
  return std::min(std::max(bytes / CountFor(bytes) + kOverhead, target_), WriteMax());
}

Result<RewritePlan> PlanRewrite(const table::Table& table, const RewriteOptions& options, const Clock& clock) {
  const spec::TableMetadata& metadata = *table.metadata();
  FRAZIL_TRY(CheckOptions(options));
  FRAZIL_ASSIGN(const OutputSizes sizes, OutputSizes::Make(options, metadata));
  RewritePlan plan;
  if (options.output_spec_id) {
    const spec::PartitionSpec* spec = metadata.FindSpec(spec::SpecId(*options.output_spec_id));
    if (spec == nullptr) {
      return Fail(ErrorCode::kInvalidArgument, "output-spec-id is no partition spec of the table: {}",
                  *options.output_spec_id);
    }
    plan.output_spec = *spec;
  } else {
    plan.output_spec = metadata.default_spec();
  }
  if (options.strategy == RewriteOptions::Strategy::kSort) {
    plan.sort_order = options.sort_order ? *options.sort_order : metadata.default_sort_order();
    if (!plan.sort_order.is_sorted()) {
      return tl::unexpected(
          Error(ErrorCode::kInvalidArgument, "the strategy sort needs a sort order: the table has none")
              .WithHint("give sort_order, or ALTER TABLE ... WRITE ORDERED BY"));
    }
  }
  plan.branch = options.branch;
  const spec::Snapshot* head = metadata.FindRef(options.branch);
  const auto ref = metadata.refs.find(options.branch);
  if (options.branch != spec::kMainBranch && (head == nullptr || ref->second.type != spec::RefType::kBranch)) {
    return Fail(ErrorCode::kNotFound, "there is no branch of this name to rewrite: {}", options.branch);
  }
  if (head == nullptr) return plan;
  FRAZIL_ASSIGN(table::ScanPlan scan, table::PlanScan(table, head, options.where, metadata.schema()));
  plan.scan = std::make_shared<const table::ScanPlan>(std::move(scan));
  Planner(options, sizes, clock.NowMs(), plan).Run();
  return plan;
}

}  // namespace frazil::maintain
