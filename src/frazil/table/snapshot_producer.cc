#include "frazil/table/snapshot_producer.h"

#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "frazil/base/log.h"
#include "frazil/base/version.h"
#include "frazil/format/manifest_file.h"
#include "frazil/table/manifest_merge.h"
#include "frazil/table/manifest_rewrite.h"
#include "frazil/table/spec_schema.h"

namespace frazil::table {
namespace {

constexpr char kPartitionLimit[] = "write.summary.partition-limit";

spec::ManifestEntry AddedEntry(spec::DataFile file, spec::SnapshotId snapshot_id,
                               std::optional<spec::SequenceNumber> sequence_number) {
  spec::ManifestEntry entry;
  entry.status = spec::EntryStatus::kAdded;
  entry.snapshot_id = snapshot_id;
  entry.sequence_number = sequence_number;
  // Ids come from the manifest; one that was copied along would be wrong (spec section 5.3).
  file.first_row_id.reset();
  entry.data_file = std::move(file);
  return entry;
}

/// Gives every data manifest without one its range of row ids (spec section 3.7); returns how many ids were given.
int64_t AssignRowIds(std::vector<spec::ManifestFile>& manifests, spec::RowId next_row_id) {
  int64_t next = next_row_id.value();
  for (spec::ManifestFile& row : manifests) {
    if (row.content != spec::ManifestContent::kData || row.first_row_id) continue;
    row.first_row_id = spec::RowId{next};
    next += row.added_rows_count.value_or(0) + row.existing_rows_count.value_or(0);
  }
  return next - next_row_id.value();
}

/// Rows of added files that deletes of the same change hide: a rewrite carries those of sources that somebody else replaced
/// meanwhile, and they are no new rows.
int64_t NumDeadOnArrival(const FileChanges& changes) {
  std::unordered_set<std::string> added;
  for (const AddedDataFile& file : changes.added_data_files) added.insert(file.file.file_path);
  int64_t count = 0;
  for (const spec::DataFile& file : changes.added_delete_files) {
    if (file.referenced_data_file && added.contains(*file.referenced_data_file)) count += file.record_count;
  }
  return count;
}

}  // namespace

spec::Operation OperationOf(const FileChanges& changes) {
  if (changes.operation) return *changes.operation;
  const bool adds_data = !changes.added_data_files.empty();
  if (changes.manifest_rewrite) return spec::Operation::kReplace;
  const bool deletes = !changes.added_delete_files.empty() || !changes.removed_data_files.empty();
  if (adds_data && (deletes || !changes.removed_delete_files.empty())) return spec::Operation::kOverwrite;
  if (deletes) return spec::Operation::kDelete;
  return changes.removed_delete_files.empty() ? spec::Operation::kAppend : spec::Operation::kOverwrite;
}

Result<spec::Snapshot> SnapshotProducer::Produce(const spec::TableMetadata& metadata, const spec::Snapshot* parent,
                                                 const FileChanges& changes, int attempt_number, int64_t now_ms) {
  Attempt attempt{.metadata = metadata,
                  .parent = parent,
                  .changes = changes,
                  .sequence_number = spec::SequenceNumber{metadata.last_sequence_number.value() + 1},
                  .data = {},
                  .deletes = {},
                  .removed_files = {}};
  FRAZIL_TRY(ChangeCheck(changes, metadata).CheckShape());
  FRAZIL_TRY(BuildManifests(attempt));

  spec::Snapshot snapshot;
  snapshot.id = sink_.snapshot_id();
  if (parent != nullptr) snapshot.parent_id = parent->id;
  snapshot.sequence_number = attempt.sequence_number;
  // A clock behind that of the last writer must not make history run backwards.
  snapshot.timestamp_ms = std::max(now_ms, metadata.last_updated_ms);
  snapshot.operation = OperationOf(changes);
  snapshot.schema_id = metadata.current_schema_id;

  SnapshotSummary summary;
  FRAZIL_ASSIGN(snapshot.summary, Summarize(attempt, summary));
  const int64_t num_added = summary.added_records() - NumDeadOnArrival(changes);
  if (snapshot.operation == spec::Operation::kReplace && num_added > summary.removed_records()) {
    return Fail(ErrorCode::kInvalidArgument, "Invalid REPLACE operation: {} added records > {} replaced records",
                num_added, summary.removed_records());
  }

  std::vector<spec::ManifestFile> manifests = std::move(attempt.data);
  std::move(attempt.deletes.begin(), attempt.deletes.end(), std::back_inserter(manifests));
  format::ManifestListHeader header;
  header.format_version = metadata.format_version;
  header.snapshot_id = snapshot.id;
  header.parent_snapshot_id = snapshot.parent_id;
  header.sequence_number = attempt.sequence_number;
  if (metadata.format_version >= 3) {
    header.first_row_id = metadata.next_row_id;
    snapshot.first_row_id = metadata.next_row_id;
    snapshot.added_rows = AssignRowIds(manifests, metadata.next_row_id);
  }
  snapshot.manifest_list = sink_.names().ManifestList(snapshot.id, attempt_number);
  WrittenList& written = lists_.emplace_back();
  written.attempt = attempt_number;
  written.path = snapshot.manifest_list;
  for (const spec::ManifestFile& row : manifests) written.manifests.insert(row.manifest_path);
  FRAZIL_TRY(format::WriteManifestList(sink_.io(), snapshot.manifest_list, header, manifests));
  return snapshot;
}

Status SnapshotProducer::BuildManifests(Attempt& attempt) {
  const FileChanges& changes = attempt.changes;
  if (changes.manifest_rewrite) return RewriteManifests(attempt);
  FRAZIL_ASSIGN(attempt.data, AddedRows(attempt, spec::ManifestContent::kData, AddedDataEntries(changes)));
  FRAZIL_ASSIGN(attempt.deletes, AddedRows(attempt, spec::ManifestContent::kDeletes, AddedDeleteEntries(changes)));
  FRAZIL_TRY(FilterBase(attempt));
  FRAZIL_ASSIGN(attempt.data, MergeManifests(cache_, sink_, attempt.metadata, attempt.sequence_number, attempt.data,
                                             attempt.num_replaced));
  FRAZIL_ASSIGN(attempt.deletes, MergeManifests(cache_, sink_, attempt.metadata, attempt.sequence_number,
                                                attempt.deletes, attempt.num_replaced));
  for (auto* rows : {&attempt.data, &attempt.deletes}) {
    for (spec::ManifestFile& row : *rows) FRAZIL_TRY(CompleteCounts(attempt.metadata, row));
  }
  return {};
}

Status SnapshotProducer::RewriteManifests(Attempt& attempt) {
  if (attempt.parent == nullptr) return Fail(ErrorCode::kInvalidArgument, "a table without snapshot has no manifests");
  FRAZIL_ASSIGN(const ManifestList list, cache_.List(*attempt.parent));
  FRAZIL_ASSIGN(const ManifestRewritePlan plan,
                ManifestRewritePlan::Make(attempt.metadata, *list, *attempt.changes.manifest_rewrite));
  attempt.num_replaced = static_cast<int64_t>(plan.num_replaced());
  FRAZIL_ASSIGN(attempt.data, plan.Write(cache_, sink_, attempt.metadata, spec::ManifestContent::kData,
                                         attempt.sequence_number, attempt.num_entries_processed));
  FRAZIL_ASSIGN(attempt.deletes, plan.Write(cache_, sink_, attempt.metadata, spec::ManifestContent::kDeletes,
                                            attempt.sequence_number, attempt.num_entries_processed));
  for (auto* rows : {&attempt.data, &attempt.deletes}) {
    for (spec::ManifestFile& row : *rows) FRAZIL_TRY(CompleteCounts(attempt.metadata, row));
  }
  return {};
}

std::vector<spec::ManifestEntry> SnapshotProducer::AddedDataEntries(const FileChanges& changes) const {
  std::vector<spec::ManifestEntry> entries;
  for (const AddedDataFile& added : changes.added_data_files) {
    entries.push_back(AddedEntry(added.file, sink_.snapshot_id(), added.sequence_number));
  }
  return entries;
}

std::vector<spec::ManifestEntry> SnapshotProducer::AddedDeleteEntries(const FileChanges& changes) const {
  std::vector<spec::ManifestEntry> entries;
  for (const spec::DataFile& file : changes.added_delete_files) {
    entries.push_back(AddedEntry(file, sink_.snapshot_id(), std::nullopt));
  }
  return entries;
}

/// New manifests of added files. They do not depend on the base, so an attempt after a lost race takes them over.
Result<std::vector<spec::ManifestFile>> SnapshotProducer::AddedRows(const Attempt& attempt,
                                                                    spec::ManifestContent content,
                                                                    std::vector<spec::ManifestEntry> entries) {
  AddedManifests& added = content == spec::ManifestContent::kData ? added_data_ : added_deletes_;
  const spec::SchemaPtr schema = attempt.metadata.schema();
  const bool is_same = added.schema && added.schema->id() == schema->id() &&
                       added.format_version == attempt.metadata.format_version && added.entries == entries;
  if (!is_same) {
    std::map<spec::SpecId, std::vector<spec::ManifestEntry>> by_spec;
    for (const spec::ManifestEntry& entry : entries) by_spec[entry.data_file.spec_id].push_back(entry);
    added = {};
    for (const auto& [spec_id, group] : by_spec) {
      FRAZIL_ASSIGN(auto rows, sink_.Write(attempt.metadata, spec_id, content, group, attempt.sequence_number));
      std::move(rows.begin(), rows.end(), std::back_inserter(added.rows));
    }
    added.entries = std::move(entries);
    added.schema = schema;
    added.format_version = attempt.metadata.format_version;
  }
  std::vector<spec::ManifestFile> rows;
  for (const spec::ManifestFile& row : added.rows) rows.push_back(sink_.Renumbered(row, attempt.sequence_number));
  return rows;
}

/// Appends what stays of the base's manifests, and checks the change against them on the way.
Status SnapshotProducer::FilterBase(Attempt& attempt) {
  std::vector<spec::ManifestFile> base_data;
  std::vector<spec::ManifestFile> base_deletes;
  if (attempt.parent != nullptr) {
    FRAZIL_ASSIGN(const ManifestList list, cache_.List(*attempt.parent));
    for (const spec::ManifestFile& row : *list) {
      (row.content == spec::ManifestContent::kData ? base_data : base_deletes).push_back(row);
    }
  }
  ChangeCheck check(attempt.changes, attempt.metadata);
  ManifestFilter data_filter(cache_, sink_, attempt.metadata, attempt.sequence_number);
  FRAZIL_ASSIGN(auto data, data_filter.Filter(
                               base_data, [&](const spec::ManifestFile&) { return check.concerns_data(); },
                               [&](const spec::ManifestEntry& entry) { return check.JudgeData(entry); }));
  FRAZIL_TRY(check.CheckDataFiles());
  std::move(data.begin(), data.end(), std::back_inserter(attempt.data));

  // Deletes older than every data file apply to nothing. Files that are added now with an old sequence number of their
  // own count as well: an engine that forgot them dropped deletes that they still needed, and rows came back.
  spec::SequenceNumber min_sequence = attempt.metadata.last_sequence_number;
  for (const spec::ManifestFile& row : attempt.data) min_sequence = std::min(min_sequence, row.min_sequence_number);

  ManifestFilter delete_filter(cache_, sink_, attempt.metadata, attempt.sequence_number);
  FRAZIL_ASSIGN(auto deletes,
                delete_filter.Filter(
                    base_deletes,
                    [&](const spec::ManifestFile& row) {
                      return check.concerns_deletes() || row.min_sequence_number < min_sequence;
                    },
                    [&](const spec::ManifestEntry& entry) { return check.JudgeDelete(entry, min_sequence); }));
  FRAZIL_TRY(check.CheckDeleteFiles());
  std::move(deletes.begin(), deletes.end(), std::back_inserter(attempt.deletes));

  for (const ManifestFilter* filter : {&data_filter, &delete_filter}) {
    attempt.num_replaced += filter->num_replaced();
    attempt.removed_files.insert(attempt.removed_files.end(), filter->removed_files().begin(),
                                 filter->removed_files().end());
  }
  return {};
}

/// Lists of v1 tables may lack the counts, which the reservation of row ids needs.
Status SnapshotProducer::CompleteCounts(const spec::TableMetadata& metadata, spec::ManifestFile& row) {
  if (row.added_files_count && row.existing_files_count && row.deleted_files_count && row.added_rows_count &&
      row.existing_rows_count && row.deleted_rows_count) {
    return {};
  }
  int32_t files[3] = {};
  int64_t rows[3] = {};
  FRAZIL_TRY(cache_.ForEachEntry(row, metadata, [&](const spec::ManifestEntry& entry) -> Status {
    ++files[static_cast<size_t>(entry.status)];
    rows[static_cast<size_t>(entry.status)] += entry.data_file.record_count;
    return {};
  }));
  const auto existing = static_cast<size_t>(spec::EntryStatus::kExisting);
  const auto added = static_cast<size_t>(spec::EntryStatus::kAdded);
  const auto deleted = static_cast<size_t>(spec::EntryStatus::kDeleted);
  row.existing_files_count = files[existing];
  row.added_files_count = files[added];
  row.deleted_files_count = files[deleted];
  row.existing_rows_count = rows[existing];
  row.added_rows_count = rows[added];
  row.deleted_rows_count = rows[deleted];
  return {};
}

Result<std::map<std::string, std::string>> SnapshotProducer::Summarize(const Attempt& attempt,
                                                                       SnapshotSummary& summary) const {
  const spec::TableMetadata& metadata = attempt.metadata;
  const auto path_of = [&](const spec::DataFile& file) {
    const spec::PartitionSpec* spec = metadata.FindSpec(file.spec_id);
    return spec == nullptr ? std::string() : spec->Path(file.partition, *SchemaOfSpec(metadata, *spec));
  };
  for (const AddedDataFile& added : attempt.changes.added_data_files) summary.Added(added.file, path_of(added.file));
  for (const spec::DataFile& file : attempt.changes.added_delete_files) summary.Added(file, path_of(file));
  for (const spec::DataFile& file : attempt.removed_files) summary.Removed(file, path_of(file));
  FRAZIL_ASSIGN(const int64_t partition_limit, metadata.IntProperty(kPartitionLimit, 0));
  auto lines = summary.Build(attempt.parent, partition_limit);
  int64_t num_created = 0;
  int64_t num_kept = 0;
  for (const auto* rows : {&attempt.data, &attempt.deletes}) {
    for (const spec::ManifestFile& row : *rows)
      ++(row.added_snapshot_id == sink_.snapshot_id() ? num_created : num_kept);
  }
  lines["manifests-created"] = std::to_string(num_created);
  lines["manifests-kept"] = std::to_string(num_kept);
  lines["manifests-replaced"] = std::to_string(attempt.num_replaced);
  if (attempt.changes.manifest_rewrite) lines["entries-processed"] = std::to_string(attempt.num_entries_processed);
  // The caller's lines never take the place of a metric.
  for (const auto& [key, value] : attempt.changes.summary) lines.emplace(key, value);
  lines.emplace("engine-name", "frazil");
  lines.emplace("engine-version", kVersion);
  return lines;
}

int SnapshotProducer::AttemptOf(const std::string& manifest_list) const {
  const auto found =
      std::find_if(lists_.begin(), lists_.end(), [&](const WrittenList& list) { return list.path == manifest_list; });
  return found == lists_.end() ? 0 : found->attempt;
}

void SnapshotProducer::DeleteAllBut(const std::string& manifest_list) {
  const auto winner =
      std::find_if(lists_.begin(), lists_.end(), [&](const WrittenList& list) { return list.path == manifest_list; });
  // Without knowing what the committed snapshot uses nothing may go.
  if (!manifest_list.empty() && winner == lists_.end()) return;
  std::vector<std::string> paths;
  for (const WrittenList& list : lists_) {
    if (list.path != manifest_list) paths.push_back(list.path);
  }
  for (const std::string& path : sink_.paths()) {
    if (winner == lists_.end() || !winner->manifests.contains(path)) paths.push_back(path);
  }
  if (paths.empty()) return;
  if (const Status deleted = sink_.io().Delete(paths); !deleted) {
    Log::Warn("left behind, orphan removal will take them: {}", deleted.error().ToString());
  }
}

}  // namespace frazil::table
