#include "frazil/maintain/verify_table.h"

#include <map>
#include <unordered_map>
#include <unordered_set>

#include "frazil/maintain/maintained_table.h"
#include "frazil/maintain/procedure_definition.h"
#include "frazil/maintain/reachable_files.h"
#include "frazil/table/scan_planner.h"
#include "frazil/table/vector_store.h"

namespace frazil::maintain {
namespace {

/// One run over one state.
class Verification {
 public:
  Verification(const table::Table& table, const table::ProcedureContext& context) : table_(table), context_(context) {}

  Result<std::vector<IntegrityCheck>> Run() {
    FRAZIL_TRY(CheckFilesExist());
    if (const spec::Snapshot* head = table_.metadata()->current_snapshot()) {
      const auto live = table::LoadLiveFiles(table_, head);
      if (live) {
        FRAZIL_TRY(CheckSizes(*live));
        CheckRowIds(*live);
        FRAZIL_TRY(CheckVectors(*live));
        CheckTotals(*live, *head);
      }
    }
    return std::move(checks_);
  }

 private:
  /// Of all snapshots, by open(): a listing may lag behind.
  Status CheckFilesExist() {
    IntegrityCheck check{"files exist", 0, {}};
    const spec::TableMetadata& metadata = *table_.metadata();
    std::map<std::string, FileKind> files;
    const TakeFile take = [&](const std::string& path, FileKind kind) -> Status {
      files.emplace(path, kind);
      return {};
    };
    ReachableWalk walk(table_);
    for (const spec::Snapshot& snapshot : metadata.snapshots) {
      if (const Status walked = walk.Walk(metadata, snapshot, take); !walked) {
        check.problems.push_back(fmt::format("snapshot {}: {}", snapshot.id, walked.error().ToString()));
      }
    }
    FRAZIL_TRY(take(table_.metadata_location(), FileKind::kMetadata));
    FRAZIL_TRY(WalkStatistics(
        metadata, [&](spec::SnapshotId, const std::string& path) { return take(path, FileKind::kStatistics); }));
    for (const auto& [path, kind] : files) {
      FRAZIL_TRY(CheckStop(context_));
      ++check.num_checked;
      FRAZIL_ASSIGN(const bool exists, table_.io()->Exists(path));
      if (!exists) check.problems.push_back(fmt::format("missing {}: {}", FileKindName(kind), path));
    }
    checks_.push_back(std::move(check));
    return {};
  }

  Status CheckSizes(const table::LiveFiles& live) {
    IntegrityCheck check{"file sizes", 0, {}};
    std::unordered_map<std::string, int64_t> sizes;
    for (const table::LiveDataFile& file : live.data_files) {
      sizes.emplace(file.file.file_path, file.file.file_size_in_bytes);
    }
    for (const table::LiveDelete& file : live.delete_files) {
      sizes.emplace(file.file.file_path, file.file.file_size_in_bytes);
    }
    for (const auto& [path, size] : sizes) {
      FRAZIL_TRY(CheckStop(context_));
      const auto file = table_.io()->Open(path);
      if (!file) continue;  // said already
      ++check.num_checked;
      if ((*file)->size_bytes() != size) {
        check.problems.push_back(
            fmt::format("{} bytes, but {} by its manifest: {}", (*file)->size_bytes(), size, path));
      }
    }
    checks_.push_back(std::move(check));
    return {};
  }

  /// That no two data files share row ids.
  void CheckRowIds(const table::LiveFiles& live) {
    if (table_.metadata()->format_version < 3) return;
    IntegrityCheck check{"row ids", 0, {}};
    std::map<int64_t, std::pair<int64_t, std::string>> ranges;  // first id -> end, path
    for (const table::LiveDataFile& file : live.data_files) {
      ++check.num_checked;
      if (!file.file.first_row_id) continue;
      const int64_t begin = file.file.first_row_id->value();
      const int64_t end = begin + file.file.record_count;
      if (end > table_.metadata()->next_row_id.value()) {
        check.problems.push_back("row ids beyond next-row-id: " + file.file.file_path);
      }
      const auto next = ranges.lower_bound(begin);
      const bool meets_next = next != ranges.end() && next->first < end && file.file.record_count > 0;
      const bool meets_previous = next != ranges.begin() && std::prev(next)->second.first > begin;
      if (meets_next || meets_previous) {
        check.problems.push_back(fmt::format("row ids shared with {}: {}",
                                             meets_next ? next->second.second : std::prev(next)->second.second,
                                             file.file.file_path));
      }
      ranges.emplace(begin, std::pair(end, file.file.file_path));
    }
    checks_.push_back(std::move(check));
  }

  Status CheckVectors(const table::LiveFiles& live) {
    IntegrityCheck check{"deletion vectors", 0, {}};
    std::unordered_map<std::string, int64_t> records;
    for (const table::LiveDataFile& file : live.data_files) records[file.file.file_path] = file.file.record_count;
    std::unordered_set<std::string> seen;
    for (const table::LiveDelete& file : live.delete_files) {
      if (!file.file.is_deletion_vector()) continue;
      FRAZIL_TRY(CheckStop(context_));
      ++check.num_checked;
      const std::string data_file = file.file.referenced_data_file.value_or("");
      if (!seen.insert(data_file).second) check.problems.push_back("two vectors for one data file: " + data_file);
      const auto known = records.find(data_file);
      if (known == records.end()) {
        check.problems.push_back(
            fmt::format("vector of a data file that is not live ({}): {}", file.file.file_path, data_file));
        continue;
      }
      if (const auto vector = table::ReadVector(*table_.io(), file.file, known->second); !vector) {
        check.problems.push_back(vector.error().ToString());
      }
    }
    checks_.push_back(std::move(check));
    return {};
  }

  void CheckTotals(const table::LiveFiles& live, const spec::Snapshot& head) {
    IntegrityCheck check{"snapshot totals", 0, {}};
    int64_t records = 0;
    for (const table::LiveDataFile& file : live.data_files) records += file.file.record_count;
    const std::map<std::string, int64_t> counted = {
        {"total-data-files", static_cast<int64_t>(live.data_files.size())},
        {"total-delete-files", static_cast<int64_t>(live.delete_files.size())},
        {"total-records", records}};
    for (const auto& [key, count] : counted) {
      const auto said = head.summary.find(key);
      if (said == head.summary.end()) continue;
      ++check.num_checked;
      if (said->second != std::to_string(count)) {
        check.problems.push_back(fmt::format("{} is {} in the summary, {} by the manifests: {}", key, said->second,
                                             count, head.manifest_list));
      }
    }
    checks_.push_back(std::move(check));
  }

  const table::Table& table_;
  const table::ProcedureContext& context_;
  std::vector<IntegrityCheck> checks_;
};

}  // namespace

Result<std::vector<IntegrityCheck>> VerifyTable(const table::Table& table, const table::ProcedureContext& context) {
  return Verification(table, context).Run();
}

ProcedureDefinition VerifyDefinition() {
  using table::ProcedureType;
  ProcedureDefinition definition;
  definition.name = "verify";
  definition.parameters = {TableParameter()};
  definition.columns = {{"check", ProcedureType::kString},
                        {"checked_count", ProcedureType::kLong},
                        {"problem_count", ProcedureType::kLong},
                        {"first_problem", ProcedureType::kString}};
  definition.run = [](const table::ProcedureContext& context,
                      const Arguments& arguments) -> Result<std::vector<table::ProcedureRow>> {
    FRAZIL_ASSIGN(const table::Table table, OpenTable(context, arguments.RequiredText("table")));
    FRAZIL_ASSIGN(const auto checks, VerifyTable(table, context));
    std::vector<table::ProcedureRow> rows;
    for (const IntegrityCheck& check : checks) {
      table::ProcedureValue first;
      if (!check.problems.empty()) first = check.problems[0];
      rows.push_back({check.name, check.num_checked, static_cast<int64_t>(check.problems.size()), first});
    }
    return rows;
  };
  return definition;
}

}  // namespace frazil::maintain
