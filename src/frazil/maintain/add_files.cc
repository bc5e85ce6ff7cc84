// CALL system.add_files (spec section 9.8): Parquet files that others wrote become part of the table where they lie.

#include <algorithm>
#include <mutex>
#include <set>

#include <fmt/ranges.h>

#include "frazil/maintain/file_place.h"
#include "frazil/maintain/hidden_names.h"
#include "frazil/maintain/imported_file.h"
#include "frazil/maintain/maintained_table.h"
#include "frazil/maintain/procedure_definition.h"
#include "frazil/spec/ascii.h"
#include "frazil/spec/name_mapping.h"
#include "frazil/spec/single_value.h"
#include "frazil/table/live_file_visit.h"
#include "frazil/table/name_mapping_update.h"
#include "frazil/table/scan_planner.h"
#include "frazil/table/snapshot_change.h"
#include "frazil/table/snapshot_summary.h"

namespace frazil::maintain {
namespace {

constexpr size_t kMaxNamesInMessage = 5;

/// The path in "`parquet`.`/some/folder`", the way Spark writes a folder as a table.
Result<std::string> SourceFolder(const std::string& text) {
  std::vector<std::string> parts(1);
  bool is_quoted = false;
  for (const char c : text) {
    if (c == '`') {
      is_quoted = !is_quoted;
    } else if (c == '.' && !is_quoted) {
      parts.emplace_back();
    } else {
      parts.back() += c;
    }
  }
  if (parts.size() == 2 && spec::EqualsAnyCase(parts[0], "parquet") && !parts[1].empty()) {
    std::string folder = parts[1];
    while (folder.size() > 1 && folder.ends_with('/')) folder.pop_back();
    return folder;
  }
  const bool is_other_format =
      parts.size() == 2 && (spec::EqualsAnyCase(parts[0], "orc") || spec::EqualsAnyCase(parts[0], "avro"));
  Error error(ErrorCode::kNotSupported,
              fmt::format("add_files takes Parquet files, not {}: {}", is_other_format ? parts[0] : "a table", text));
  return tl::unexpected(std::move(error).WithHint("source_table => '`parquet`.`/some/folder`'"));
}

/// Files of the folder, or the one file of that name.
Result<std::vector<io::FileInfo>> FindFiles(const io::FileIO& io, const spec::TableMetadata& metadata,
                                            const std::string& folder) {
  if (const auto file = io.Open(folder)) return std::vector<io::FileInfo>{{folder, (*file)->size_bytes(), 0}};
  FRAZIL_ASSIGN(std::vector<io::FileInfo> files, io.List(folder));
  // As Hive and Spark see it.
  const HiddenNames hidden(std::span(metadata.FindSpec(metadata.default_spec_id), 1));
  std::erase_if(files, [&](const io::FileInfo& file) {
    return hidden.IsHidden(std::string_view(file.path).substr(std::min(folder.size(), file.path.size())));
  });
  if (files.empty()) return Fail(ErrorCode::kNotFound, "no files to add: {}", folder);
  std::sort(files.begin(), files.end(), [](const auto& left, const auto& right) { return left.path < right.path; });
  return files;
}

/// Folders and partition fields must be the same: a value in a path that the table does not take would be lost.
Status CheckFolders(const spec::TableMetadata& metadata, const std::string& folder, const std::string& path) {
  const spec::PartitionSpec& spec = *metadata.FindSpec(metadata.default_spec_id);
  for (const auto& [name, value] : PartitionFolders(folder, path)) {
    const bool is_known = std::any_of(spec.fields().begin(), spec.fields().end(), [&, &name = name](const auto& field) {
      return spec::EqualsAnyCase(field.name, name);
    });
    if (!is_known) {
      return Fail(ErrorCode::kInvalidArgument,
                  "files lie in folders {}=..., and the table is not partitioned by it: {}", name, path);
    }
  }
  return {};
}

Status CheckSpec(const spec::TableMetadata& metadata) {
  const spec::PartitionSpec& spec = *metadata.FindSpec(metadata.default_spec_id);
  for (const spec::PartitionField& field : spec.fields()) {
    if (field.transform == spec::Transform::Identity()) continue;
    return tl::unexpected(
        Error(ErrorCode::kNotSupported, "files cannot be added to a partition that is no column itself: " + field.name)
            .WithHint("INSERT INTO ... SELECT * FROM 'folder/*.parquet' writes the rows into their partitions"));
  }
  return {};
}

/// `partition_filter`: field name -> text of the value.
class PartitionFilter {
 public:
  static Result<PartitionFilter> Make(const spec::TableMetadata& metadata,
                                      const std::map<std::string, std::string>& texts) {
    const spec::PartitionSpec& spec = *metadata.FindSpec(metadata.default_spec_id);
    PartitionFilter filter;
    for (const auto& [name, text] : texts) {
      size_t place = 0;
      while (place < spec.fields().size() && !spec::EqualsAnyCase(spec.fields()[place].name, name)) ++place;
      if (place == spec.fields().size()) {
        return Fail(ErrorCode::kInvalidArgument, "partition_filter names no partition field of the table: {}", name);
      }
      auto value = spec::ParseValue(spec.ResultType(place, *metadata.schema()), text);
      if (!value) return tl::unexpected(std::move(value).error().WithContext("reading partition_filter"));
      filter.values_.emplace_back(place, *std::move(value));
    }
    return filter;
  }

  bool Matches(const spec::PartitionTuple& tuple) const {
    return std::all_of(values_.begin(), values_.end(),
                       [&](const auto& wanted) { return spec::SameValue(tuple[wanted.first], wanted.second); });
  }

 private:
  std::vector<std::pair<size_t, spec::Value>> values_;
};

class AddFilesChange : public table::SnapshotChange {
 public:
  AddFilesChange(std::vector<spec::DataFile> files, spec::TableMetadataPtr planned_on, std::string name_mapping)
      : files_(std::move(files)), planned_on_(std::move(planned_on)), name_mapping_(std::move(name_mapping)) {}

  Result<table::FileChanges> Prepare(const table::Table& base, spec::SnapshotId) override {
    const spec::TableMetadata& metadata = *base.metadata();
    if (metadata.current_schema_id != planned_on_->current_schema_id ||
        metadata.default_spec_id != planned_on_->default_spec_id) {
      return Fail(ErrorCode::kCommitConflict, "columns or partitioning changed while files were read: {}",
                  base.name().ToString());
    }
    FRAZIL_TRY(CheckNew(base));
    table::FileChanges changes;
    for (const spec::DataFile& file : files_) changes.added_data_files.push_back({.file = file, .sequence_number = {}});
    if (!metadata.properties.contains(spec::kNameMappingProperty)) {
      changes.other_updates.emplace_back(spec::update::SetProperties{{{spec::kNameMappingProperty, name_mapping_}}});
    }
    return changes;
  }

 private:
  /// A path is in a table once: deletes and key index go by paths.
  Status CheckNew(const table::Table& base) const {
    const spec::Snapshot* const head = base.metadata()->current_snapshot();
    if (head == nullptr) return {};
    std::set<std::string> added;
    for (const spec::DataFile& file : files_) added.insert(PlaceOf(file.file_path).path);
    std::vector<std::string> doubles;
    FRAZIL_TRY(table::VisitLiveDataFiles(base, *head, [&](const spec::DataFile& file) -> Status {
      if (added.contains(PlaceOf(file.file_path).path)) doubles.push_back(file.file_path);
      return {};
    }));
    if (doubles.empty()) return {};
    const size_t count = doubles.size();
    doubles.resize(std::min(count, kMaxNamesInMessage));
    return Fail(ErrorCode::kInvalidArgument,
                "files are in the table already, nothing was added: {} of them, such as {}", count,
                fmt::join(doubles, ", "));
  }

  const std::vector<spec::DataFile> files_;
  const spec::TableMetadataPtr planned_on_;
  const std::string name_mapping_;
};

/// The mapping that the table has, or that it gets: each column by the name it has today.
Result<std::string> MappingJsonOf(const spec::TableMetadata& metadata) {
  std::string json = metadata.Property(spec::kNameMappingProperty, "");
  if (!json.empty()) return json;
  FRAZIL_ASSIGN(const spec::SchemaPtr nothing, spec::Schema::Make(spec::SchemaId{0}, {}));
  return table::UpdateNameMapping("[]", *nothing, *metadata.schema());
}

struct FileToAdd {
  io::FileInfo file;
  spec::PartitionTuple partition;
};

Result<std::vector<spec::DataFile>> ReadFooters(const table::Table& table, const std::vector<FileToAdd>& files,
                                                const ImportRules& rules, const table::ProcedureContext& context) {
  std::vector<spec::DataFile> imported(files.size());
  std::mutex mutex;
  table::ProcedureProgress progress;
  progress.phase = "reading footers";
  progress.groups = static_cast<int64_t>(files.size());
  FRAZIL_TRY(ParallelFor(context.executor, files.size(), [&](size_t i) -> Status {
    FRAZIL_TRY(CheckStop(context));
    FRAZIL_ASSIGN(imported[i], ImportedFile(*table.io(), files[i].file, rules, files[i].partition));
    const std::lock_guard lock(mutex);
    ++progress.groups_done;
    progress.rows_done += imported[i].record_count;
    if (context.on_progress) context.on_progress(progress);
    return {};
  }));
  // Of no use to anybody.
  std::erase_if(imported, [](const spec::DataFile& file) { return file.record_count == 0; });
  return imported;
}

Result<std::vector<table::ProcedureRow>> AddFiles(const table::ProcedureContext& context, const Arguments& arguments) {
  if (const auto lanes = arguments.Number("parallelism"); lanes.value_or(1) < 1) {
    return Fail(ErrorCode::kInvalidArgument, "Parallelism should be larger than 0: {}", *lanes);
  }
  FRAZIL_ASSIGN(const std::string folder, SourceFolder(arguments.RequiredText("source_table")));
  FRAZIL_ASSIGN(table::Table table, OpenTable(context, arguments.RequiredText("table")));
  const spec::TableMetadataPtr metadata = table.metadata();
  FRAZIL_TRY(CheckSpec(*metadata));
  FRAZIL_ASSIGN(const PartitionFilter filter, PartitionFilter::Make(*metadata, arguments.Map("partition_filter")));
  FRAZIL_ASSIGN(const std::vector<io::FileInfo> found, FindFiles(*table.io(), *metadata, folder));
  std::vector<FileToAdd> files;
  for (const io::FileInfo& file : found) {
    FRAZIL_TRY(CheckFolders(*metadata, folder, file.path));
    FRAZIL_ASSIGN(spec::PartitionTuple partition, PartitionOfPath(*metadata, folder, file.path));
    if (filter.Matches(partition)) files.push_back({file, std::move(partition)});
  }
  FRAZIL_ASSIGN(const std::string mapping, MappingJsonOf(*metadata));
  ImportRules rules{.metadata = metadata, .name_mapping = {}};
  FRAZIL_ASSIGN(rules.name_mapping, spec::ParseNameMapping(mapping));
  FRAZIL_ASSIGN(std::vector<spec::DataFile> imported, ReadFooters(table, files, rules, context));
  if (imported.empty()) return std::vector<table::ProcedureRow>{{int64_t{0}, int64_t{0}}};
  AddFilesChange change(std::move(imported), metadata, mapping);
  FRAZIL_ASSIGN(const table::CommitOutcome outcome, table::CommitSnapshot(table, change, {}, ClockOf(context)));
  const spec::Snapshot* snapshot = outcome.snapshot_id ? table.metadata()->FindSnapshot(*outcome.snapshot_id) : nullptr;
  if (snapshot == nullptr) return std::vector<table::ProcedureRow>{{table::ProcedureValue(), table::ProcedureValue()}};
  return std::vector<table::ProcedureRow>{
      {table::SummaryNumber(snapshot->summary, "added-data-files").value_or(0),
       table::SummaryNumber(snapshot->summary, "changed-partition-count").value_or(0)}};
}

}  // namespace

ProcedureDefinition AddFilesDefinition() {
  using table::ProcedureType;
  ProcedureDefinition definition;
  definition.name = "add_files";
  definition.parameters = {TableParameter(),
                           {"source_table", ProcedureType::kString, true},
                           {"partition_filter", ProcedureType::kStringMap},
                           {"check_duplicate_files", ProcedureType::kBoolean},
                           {"parallelism", ProcedureType::kInt}};
  definition.columns = {{"added_files_count", ProcedureType::kLong}, {"changed_partition_count", ProcedureType::kLong}};
  definition.run = AddFiles;
  return definition;
}

}  // namespace frazil::maintain
