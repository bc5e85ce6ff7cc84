#include "frazil/maintain/rewrite_journal.h"

#include <set>

#include <fmt/format.h>

#include "frazil/base/log.h"
#include "frazil/format/manifest_file.h"
#include "frazil/maintain/left_temporaries.h"
#include "frazil/maintain/rewrite_journal_json.h"
#include "frazil/table/spec_schema.h"
#include "frazil/table/uncommitted_files.h"

namespace frazil::maintain {
namespace {

constexpr char kEntry[] = ".entry";
constexpr char kRowMap[] = ".puffin";
constexpr char kOutputs[] = ".avro";
constexpr char kSent[] = ".sent";

Status WriteRowMap(io::FileIO& files, const std::string& folder, const std::string& path, const RewrittenGroup& group,
                   MemoryBudget* budget) {
  table::RowMapWriter writer(folder, budget);
  for (const spec::DataFile& output : group.outputs) writer.AddOutput({output.file_path, output.record_count});
  for (const RewrittenSource& source : group.sources) {
    const uint32_t index = writer.AddSource(source.identity, source.dropped.Clone());
    FRAZIL_TRY(source.carried.TellTo(writer, index, 0, source.dropped));
  }
  FRAZIL_TRY(writer.Write(files, path));
  return {};
}

Status WriteOutputs(io::FileIO& files, const std::string& path, const RewrittenGroup& group,
                    const spec::TableMetadata& metadata) {
  const spec::SpecId spec_id = group.outputs.front().spec_id;
  FRAZIL_ASSIGN(const spec::PartitionSpec* spec, table::FindSpec(metadata, spec_id, path));
  format::ManifestWriterOptions options;
  options.format_version = std::max(2, metadata.format_version);
  options.snapshot_id = group.snapshot_id;
  options.schema = table::SchemaOfSpec(metadata, *spec);
  options.partition_spec = *spec;
  FRAZIL_ASSIGN(const auto writer, format::ManifestWriter::Make(files, path, std::move(options)));
  for (const spec::DataFile& output : group.outputs) {
    spec::ManifestEntry entry;
    entry.status = spec::EntryStatus::kAdded;
    entry.snapshot_id = group.snapshot_id;
    entry.data_file = output;
    FRAZIL_TRY(writer->Add(entry));
  }
  FRAZIL_TRY(writer->Finish(group.sequence_number));
  return {};
}

/// The rows of a source by the row map, which has them position by position. They go into `places` from `next` on.
Status ReadRows(const table::RowMap& row_map, uint32_t index, const std::shared_ptr<SortedPlaces>& places,
                int64_t num_carried, MemoryBudget* budget, int64_t& next, RewrittenSource& source) {
  constexpr int64_t kStep = 65'536;
  source.identity = row_map.sources()[index];
  const int64_t first = next;
  std::vector<int64_t> positions;
  std::vector<int64_t> dropped;
  std::vector<std::optional<table::RowMap::Target>> targets;
  for (int64_t begin = 0; begin < source.identity.record_count; begin += kStep) {
    positions.clear();
    dropped.clear();
    for (int64_t p = begin; p < std::min(begin + kStep, source.identity.record_count); ++p) positions.push_back(p);
    targets.clear();
    row_map.FindAll(index, positions, targets);
    for (size_t i = 0; i < positions.size(); ++i) {
      if (targets[i]) {
        if (next == num_carried) return Fail(ErrorCode::kCorruptData, "more rows were carried than are in the outputs");
        places->Set(next++, {targets[i]->output, targets[i]->position.value()});
      } else {
        dropped.push_back(positions[i]);
      }
    }
    FRAZIL_TRY(source.dropped.AddAll(dropped));
  }
  source.carried = CarriedRows::Smallest(places, first, next - first, budget);
  return {};
}

}  // namespace

RewriteJournal::RewriteJournal(const std::string& state_directory, const table::Table& table, MemoryBudget* budget)
    : budget_(budget) {
  if (state_directory.empty()) return;
  folder_ = state_directory + "/" + table.metadata()->table_uuid.ToString() + "/journal/";
  files_ = io::MakeLocalFileIO();
}

Status RewriteJournal::Lock() {
  if (files_ == nullptr) return {};
  const std::string folder = folder_.substr(0, folder_.size() - 1);
  auto taken = index::FolderLock::Take(folder);
  if (taken) {
    lock_ = *std::move(taken);
    return {};
  }
  if (taken.error().code() != ErrorCode::kFenced) return tl::unexpected(std::move(taken).error());
  const std::string holder = index::FolderLock::HolderOf(folder);
  return tl::unexpected(Error(ErrorCode::kFenced, fmt::format("the table is being rewritten by {}: {}",
                                                              holder.empty() ? "another process" : holder, folder))
                            .WithHint("run it again when that run has ended"));
}

Status RewriteJournal::Add(const table::Table& table, const RewrittenGroup& group) {
  if (files_ == nullptr) return {};
  JournalEntry entry;
  entry.table_uuid = table.metadata()->table_uuid;
  if (!group.outputs.empty()) {
    entry.spec_id = group.outputs.front().spec_id;
    FRAZIL_TRY(WriteOutputs(*files_, folder_ + group.id + kOutputs, group, *table.metadata()));
  }
  FRAZIL_TRY(WriteRowMap(*files_, folder_, folder_ + group.id + kRowMap, group, budget_));
  FRAZIL_ASSIGN(const Bytes bytes, EncodeJournalEntry(entry, group));
  return files_->WriteFile(folder_ + group.id + kEntry, bytes);
}

Status RewriteJournal::MarkSent(const RewrittenGroup& group) {
  if (files_ == nullptr) return {};
  const std::string path = folder_ + group.id + kSent;
  FRAZIL_ASSIGN(const bool is_marked, files_->Exists(path));
  return is_marked ? Status() : files_->WriteFile(path, {});
}

void RewriteJournal::Remove(const std::string& id) {
  if (files_ == nullptr) return;
  // The entry first: without it the others are nothing.
  for (const char* suffix : {kEntry, kSent, kRowMap, kOutputs}) {
    if (const Status deleted = files_->Delete({folder_ + id + suffix}); !deleted) {
      Log::Warn("left behind in the journal: {}", deleted.error().ToString());
      return;
    }
  }
}

Status RewriteJournal::CheckOutputs(const table::Table& table, const RewrittenGroup& group) {
  for (const spec::DataFile& output : group.outputs) {
    FRAZIL_ASSIGN(const std::unique_ptr<io::InputFile> file, table.io()->Open(output.file_path));
    if (file->size_bytes() != output.file_size_in_bytes) {
      return Fail(ErrorCode::kCorruptData, "an uncommitted file has {} bytes, not {}: {}", file->size_bytes(),
                  output.file_size_in_bytes, output.file_path);
    }
  }
  return {};
}

Result<RewriteJournal::Found> RewriteJournal::Read(const table::Table& table, const std::string& id,
                                                   const Clock& clock) const {
  const spec::TableMetadata& metadata = *table.metadata();
  FRAZIL_ASSIGN(const Bytes bytes, files_->ReadFile(folder_ + id + kEntry));
  FRAZIL_ASSIGN(JournalEntry entry, DecodeJournalEntry(bytes));
  Found found;
  found.group = std::move(entry.group);
  RewrittenGroup& group = found.group;
  if (entry.table_uuid != metadata.table_uuid || group.id != id) {
    return Fail(ErrorCode::kCorruptData, "the journal holds a group of another table: {}", id);
  }
  if (clock.NowMs() - group.begun_at_ms > table::kMaxUncommittedAgeMs) {
    return Fail(ErrorCode::kNotFound, "a finished file group is too old to be committed: {}", id);
  }
  FRAZIL_ASSIGN(const auto row_map, table::RowMap::Read(*files_, folder_ + id + kRowMap));
  if (row_map->sources().size() != group.sources.size()) {
    return Fail(ErrorCode::kCorruptData, "journal entry and row map differ: {}", id);
  }
  int64_t num_rows = 0;
  for (const table::RowMap::Output& output : row_map->outputs()) num_rows += output.record_count;
  FRAZIL_ASSIGN(const std::shared_ptr<SortedPlaces> places, SortedPlaces::Make(num_rows, folder_, budget_));
  int64_t next = 0;
  for (uint32_t i = 0; i < group.sources.size(); ++i) {
    FRAZIL_TRY(ReadRows(*row_map, i, places, num_rows, budget_, next, group.sources[i]));
  }
  if (!row_map->outputs().empty()) {
    spec::ManifestFile row;
    row.manifest_path = folder_ + id + kOutputs;
    row.partition_spec_id = entry.spec_id;
    row.sequence_number = group.sequence_number;
    row.added_snapshot_id = group.snapshot_id;
    FRAZIL_ASSIGN(const std::unique_ptr<io::InputFile> file, files_->Open(row.manifest_path));
    row.manifest_length = file->size_bytes();
    FRAZIL_ASSIGN(const std::vector<spec::ManifestEntry> outputs,
                  format::ReadManifest(*files_, row, metadata.partition_specs, *metadata.schema()));
    for (const spec::ManifestEntry& output : outputs) group.outputs.push_back(output.data_file);
  }
  if (row_map->outputs().size() != group.outputs.size()) {
    return Fail(ErrorCode::kCorruptData, "journal entry and outputs differ: {}", id);
  }
  FRAZIL_TRY(CheckOutputs(table, group));
  FRAZIL_ASSIGN(found.was_sent, files_->Exists(folder_ + id + kSent));
  return found;
}

std::vector<RewriteJournal::Found> RewriteJournal::Load(const table::Table& table, const Clock& clock,
                                                        std::vector<std::string>& notices) {
  std::vector<Found> found;
  if (files_ == nullptr) return found;
  auto listed = files_->List(folder_);
  if (!listed) {
    notices.push_back("the journal of rewrites cannot be read: " + listed.error().ToString());
    return found;
  }
  std::set<std::string> ids;
  std::set<std::string> half_written;  // of runs that were killed while they wrote or removed a group
  for (const io::FileInfo& file : *listed) {
    const std::string name = file.path.substr(file.path.rfind('/') + 1);
    const size_t dot = name.rfind('.');
    if (dot == std::string::npos) continue;  // the lock
    (name.ends_with(kEntry) ? ids : half_written).insert(name.substr(0, dot));
  }
  for (const std::string& id : half_written) {
    if (!ids.contains(id)) Remove(id);
  }
  RemoveLeftTemporaries(folder_);
  for (const std::string& id : ids) {
    if (auto group = Read(table, id, clock)) {
      found.push_back(*std::move(group));
    } else {
      notices.push_back("a finished file group is not used: " + group.error().ToString());
      if (group.error().code() != ErrorCode::kResourceExhausted) Remove(id);
    }
  }
  return found;
}

}  // namespace frazil::maintain
