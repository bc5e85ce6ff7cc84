#include "frazil/maintain/table_health.h"

#include <algorithm>
#include <functional>
#include <map>

#include "frazil/maintain/helpful_command.h"
#include "frazil/maintain/maintained_table.h"
#include "frazil/maintain/puffin_use.h"
#include "frazil/maintain/verify_table.h"
#include "frazil/table/scan_planner.h"

namespace frazil::maintain {
namespace {

constexpr int64_t kMiB = int64_t{1} << 20;
constexpr int64_t kSmallFileBytes = 32 * kMiB;
constexpr int64_t kMinFilesToJudge = 16;
constexpr double kSmallShareWarn = 0.3, kSmallShareCritical = 0.6;
constexpr double kDeletedWarn = 0.2, kDeletedCritical = 0.3;
constexpr int64_t kEqualityCritical = 10;
constexpr int64_t kSnapshotsWarn = 500, kSnapshotsCritical = 5000;
constexpr int64_t kManifestsWarn = 100, kManifestsCritical = 1000;
constexpr int64_t kSmallManifestBytes = kMiB;
constexpr int64_t kMetadataWarn = 20 * kMiB, kMetadataCritical = 100 * kMiB;
constexpr int64_t kDefaultTargetBytes = 512 * kMiB;

Severity Grade(double value, double warn, double critical) {
  return value >= critical ? Severity::kCritical : value >= warn ? Severity::kWarn : Severity::kOk;
}

std::string Percent(int64_t part, int64_t whole) {
  return whole == 0 ? "0 %" : fmt::format("{:.1f} %", 100.0 * static_cast<double>(part) / static_cast<double>(whole));
}
double Share(int64_t part, int64_t whole) {
  return whole == 0 ? 0 : static_cast<double>(part) / static_cast<double>(whole);
}
std::string MiBText(int64_t bytes) { return fmt::format("{:.1f} MiB", static_cast<double>(bytes) / kMiB); }

class Examination {
 public:
  Examination(const table::Table& table, const table::ProcedureContext& context)
      : table_(table), metadata_(*table.metadata()), context_(context), name_(table.name().ToString()) {}

  Result<std::vector<HealthFinding>> Run() {
    FRAZIL_TRY(Integrity());
    const spec::Snapshot* head = metadata_.current_snapshot();
    if (head != nullptr) {
      FRAZIL_TRY(Judge("live files", [&] { return LiveFiles(*head); }));
      FRAZIL_TRY(Judge("manifests", [&] { return Manifests(*head); }));
    }
    FRAZIL_TRY(Judge("snapshots", [&] { return Snapshots(); }));
    FRAZIL_TRY(Judge("metadata size", [&] { return MetadataSize(); }));
    return std::move(findings_);
  }

 private:
  /// One check. What it cannot read is a finding, and the others go on: a table like that is what the doctor is for.
  Status Judge(const char* check, const std::function<Status()>& look) {
    const Status done = look();
    if (done) return {};
    const ErrorCode code = done.error().code();
    if (code == ErrorCode::kShuttingDown || code == ErrorCode::kResourceExhausted) return done;
    Add({check, Severity::kCritical, "cannot be judged: " + done.error().ToString(), "queries may fail like that",
         VerifyCommand(), "the list of what is wrong"});
    return {};
  }

  Status LiveFiles(const spec::Snapshot& head) {
    FRAZIL_ASSIGN(const table::LiveFiles live, table::LoadLiveFiles(table_, &head, table::FileMetrics::kDropped));
    FRAZIL_TRY(Judge("small files", [&] { return SmallFiles(live); }));
    FRAZIL_TRY(Judge("deleted rows", [&] { return DeletedRows(live); }));
    FRAZIL_TRY(Judge("split Puffins", [&] { return Vectors(live); }));
    EqualityDeletes(live);
    return {};
  }

  std::string VerifyCommand() const { return fmt::format("frazil sql -e \"CALL system.verify('{}')\"", name_); }

  void Add(HealthFinding finding) {
    if (finding.severity == Severity::kOk) finding.effect = finding.command = finding.gain = "";
    findings_.push_back(std::move(finding));
  }

  Status Integrity() {
    FRAZIL_ASSIGN(const auto checks, VerifyTable(table_, context_));
    int64_t num_problems = 0;
    std::string first;
    for (const IntegrityCheck& check : checks) {
      num_problems += static_cast<int64_t>(check.problems.size());
      if (first.empty() && !check.problems.empty()) first = check.problems[0];
    }
    Add({"integrity", num_problems > 0 ? Severity::kCritical : Severity::kOk,
         num_problems > 0 ? fmt::format("{} problems, the first: {}", num_problems, first)
                          : "every file is there, vectors and totals are right",
         "queries that need the file fail", VerifyCommand(), "the list of what is wrong"});
    return {};
  }

  Status SmallFiles(const table::LiveFiles& live) {
    FRAZIL_ASSIGN(const int64_t target, metadata_.IntProperty("write.target-file-size-bytes", kDefaultTargetBytes));
    const int64_t small_bytes = std::min(kSmallFileBytes, target / 4 * 3);
    table::PartitionMap<std::pair<int64_t, int64_t>> partitions;  // files, bytes
    int64_t num_small = 0;
    for (const table::LiveDataFile& file : live.data_files) {
      num_small += file.file.file_size_in_bytes < small_bytes ? 1 : 0;
      auto& [files, bytes] = partitions[{file.file.spec_id, file.file.partition}];
      ++files;
      bytes += file.file.file_size_in_bytes;
    }
    int64_t num_needed = 0;
    for (const auto& [key, sums] : partitions) num_needed += std::max<int64_t>(1, (sums.second + target - 1) / target);
    const auto num_files = static_cast<int64_t>(live.data_files.size());
    // A partition without enough rows for a large file has no other choice.
    const auto has_too_many = [&](int64_t files) {
      return files >= kMinFilesToJudge && files > num_needed + num_needed / 2;
    };
    Severity severity = Severity::kOk;
    std::optional<CompactAdvice> advice;
    if (has_too_many(num_files)) severity = Grade(Share(num_small, num_files), kSmallShareWarn, kSmallShareCritical);
    if (severity != Severity::kOk) {
      FRAZIL_ASSIGN(advice, AdviseCompaction(table_, context_,
                                             [&](const CompactAdvice& tried) { return !has_too_many(tried.files); }));
    }
    Add({"small files", advice ? severity : Severity::kOk,
         fmt::format("{} of {} data files are below {} ({})", num_small, num_files, MiBText(small_bytes),
                     Percent(num_small, num_files)),
         "each scan opens every one of them", "frazil compact " + name_ + (advice ? advice->options : ""),
         fmt::format("about {} data files instead of {}", advice ? advice->files : num_files, num_files)});
    return {};
  }

  Status DeletedRows(const table::LiveFiles& live) {
    std::map<std::string, int64_t> records;
    int64_t num_rows = 0;
    for (const table::LiveDataFile& file : live.data_files) {
      records[file.file.file_path] = file.file.record_count;
      num_rows += file.file.record_count;
    }
    int64_t num_deleted = 0;
    int64_t num_heavy = 0;
    for (const table::LiveDelete& file : live.delete_files) {
      if (file.file.content != spec::FileContent::kPositionDeletes) continue;
      num_deleted += file.file.record_count;
      const auto known = records.find(file.file.referenced_data_file.value_or(""));
      if (known != records.end() && Share(file.file.record_count, known->second) >= kDeletedCritical) ++num_heavy;
    }
    const Severity severity = Grade(Share(num_deleted, num_rows), kDeletedWarn, kDeletedCritical);
    std::optional<CompactAdvice> advice;
    if (severity != Severity::kOk) {
      FRAZIL_ASSIGN(advice, AdviseCompaction(table_, context_, [](const CompactAdvice& tried) {
                      return Share(tried.deleted_rows, tried.rows) < kDeletedWarn;
                    }));
    }
    Add({"deleted rows", severity,
         fmt::format("{} of {} rows are deleted by position ({}), {} files have {:.0f} % or more", num_deleted,
                     num_rows, Percent(num_deleted, num_rows), num_heavy, kDeletedCritical * 100),
         "scans read and decode rows that are gone",
         "frazil compact " + name_ + (advice ? advice->options : std::string(" --option rewrite-all=true")),
         fmt::format("{} rows less to read", num_deleted - (advice ? advice->deleted_rows : 0))});
    return {};
  }

  Status Vectors(const table::LiveFiles& live) {
    FRAZIL_ASSIGN(const auto puffins, FindPuffins(table_, live));
    int64_t num_split = 0;
    int64_t num_dangling = 0;
    for (const PuffinUse& puffin : puffins) {
      num_split += puffin.has_dead_blobs ? 1 : 0;
      num_dangling += puffin.num_dangling;
    }
    Add({"split Puffins", num_split + num_dangling > 0 ? Severity::kWarn : Severity::kOk,
         fmt::format("{} of {} Puffins hold vectors that were replaced; {} vectors are of no live data file", num_split,
                     puffins.size(), num_dangling),
         "an expiry by Spark may delete a Puffin whose other vectors are in use",
         fmt::format("frazil sql -e \"CALL system.rewrite_deletion_vectors('{}')\"", name_),
         "every Puffin is wholly live"});
    return {};
  }

  void EqualityDeletes(const table::LiveFiles& live) {
    table::PartitionMap<int64_t> by_partition;
    int64_t num_files = 0;
    int64_t most = 0;
    for (const table::LiveDelete& file : live.delete_files) {
      if (file.file.content != spec::FileContent::kEqualityDeletes) continue;
      ++num_files;
      most = std::max(most, ++by_partition[{file.file.spec_id, file.file.partition}]);
    }
    const bool warns = num_files > 0 && metadata_.format_version >= 3;
    Add({"equality deletes",
         most > kEqualityCritical ? Severity::kCritical
         : warns                  ? Severity::kWarn
                                  : Severity::kOk,
         fmt::format("{} equality delete files, at most {} in a partition", num_files, most),
         "every scan compares every row with their keys",
         fmt::format("frazil compact {} --option rewrite-all=true --option remove-dangling-deletes=true", name_),
         "none are left to apply"});
  }

  Status Manifests(const spec::Snapshot& head) {
    FRAZIL_ASSIGN(const table::ManifestList list, table_.manifests().List(head));
    int64_t bytes = 0;
    for (const spec::ManifestFile& manifest : *list) bytes += manifest.manifest_length;
    const auto num_manifests = static_cast<int64_t>(list->size());
    const int64_t average = num_manifests == 0 ? 0 : bytes / num_manifests;
    const Severity by_count = Grade(static_cast<double>(num_manifests), kManifestsWarn + 1, kManifestsCritical + 1);
    const bool can_gain = std::max<int64_t>(1, bytes / (8 * kMiB)) < num_manifests / 2;
    Add({"manifests",
         !can_gain                       ? Severity::kOk
         : average < kSmallManifestBytes ? by_count
                                         : std::min(by_count, Severity::kWarn),
         fmt::format("{} manifests of {} on average", num_manifests, MiBText(average)),
         "planning a scan reads each of them",
         fmt::format("frazil sql -e \"CALL system.rewrite_manifests('{}')\"", name_),
         fmt::format("{} manifests, sorted by partition", std::max<int64_t>(1, bytes / (8 * kMiB)))});
    return {};
  }

  Status Snapshots() {
    const auto num_snapshots = static_cast<int64_t>(metadata_.snapshots.size());
    int64_t oldest_ms = metadata_.last_updated_ms;
    for (const spec::Snapshot& snapshot : metadata_.snapshots) oldest_ms = std::min(oldest_ms, snapshot.timestamp_ms);
    const int64_t days = std::max<int64_t>(0, ClockOf(context_).NowMs() - oldest_ms) / (24 * 3600 * 1000);
    const Severity severity = Grade(static_cast<double>(num_snapshots), kSnapshotsWarn, kSnapshotsCritical);
    std::optional<ExpiryAdvice> advice;
    if (severity != Severity::kOk) {
      FRAZIL_ASSIGN(advice, AdviseExpiry(table_, context_, kSnapshotsWarn));
    }
    // Where all are needed by branches, tags and writers nothing can be done about it here.
    Add({"snapshots", advice ? severity : Severity::kOk,
         fmt::format("{} snapshots, the oldest {} days old", num_snapshots, days),
         "each commit writes all of them again, and their files take room",
         fmt::format("frazil expire {}{} --yes", name_, advice ? advice->options : ""),
         fmt::format("{} snapshots instead of {}, and the files that only those needed are freed",
                     advice ? advice->snapshots : num_snapshots, num_snapshots)});
    return {};
  }

  Status MetadataSize() {
    FRAZIL_ASSIGN(const auto file, table_.io()->Open(table_.metadata_location()));
    const int64_t bytes = file->size_bytes();
    std::optional<ExpiryAdvice> advice;
    if (bytes >= kMetadataWarn) {
      // Half as many halve it.
      FRAZIL_ASSIGN(advice, AdviseExpiry(table_, context_, static_cast<int64_t>(metadata_.snapshots.size()) / 2));
    }
    // Where all snapshots are needed and there is one schema and one spec, an expiry would change nothing.
    const bool can_gain = advice || metadata_.schemas.size() > 1 || metadata_.partition_specs.size() > 1;
    Add({"metadata size",
         can_gain ? Grade(static_cast<double>(bytes), kMetadataWarn, kMetadataCritical) : Severity::kOk,
         fmt::format("the metadata file has {}, {} schemas, {} specs", MiBText(bytes), metadata_.schemas.size(),
                     metadata_.partition_specs.size()),
         "each commit writes it, each query reads it",
         fmt::format("frazil expire {}{} --clean-metadata --yes", name_, advice ? advice->options : ""),
         "a smaller file"});
    return {};
  }

  const table::Table& table_;
  const spec::TableMetadata& metadata_;
  const table::ProcedureContext& context_;
  const std::string name_;
  std::vector<HealthFinding> findings_;
};

}  // namespace

std::string_view SeverityName(Severity severity) {
  switch (severity) {
    case Severity::kOk: return "ok";
    case Severity::kWarn: return "warn";
    case Severity::kCritical: return "critical";
  }
  return "";
}

Result<std::vector<HealthFinding>> ExamineTable(const table::Table& table, const table::ProcedureContext& context) {
  return Examination(table, context).Run();
}

}  // namespace frazil::maintain
