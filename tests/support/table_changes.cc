#include "tests/support/table_changes.h"

#include <algorithm>

#include "frazil/scan/deleted_rows.h"
#include "frazil/scan/file_reader.h"
#include "frazil/write/position_delete_file.h"

namespace frazil::test {
namespace {

using index::LiveRow;

/// Ids of the rows; few, so that they meet.
constexpr int kNumIds = 6;

bool IsV3(const table::Table& table) { return table.metadata()->format_version >= 3; }

Status Merge(const table::Table& base, const table::OwnDeletes& own, table::FileChanges& changes) {
  FRAZIL_ASSIGN(const table::LiveFiles live, table::LoadLiveFiles(base, base.metadata()->current_snapshot()));
  FRAZIL_ASSIGN(table::MergedDeletes merged, table::MergeDeletes(base, own, live, scan::ReadPositionDeletes(base.io()),
                                                                 write::WritePositionDeletes(base)));
  changes.added_delete_files = std::move(merged.added_delete_files);
  changes.removed_delete_files = std::move(merged.removed_delete_files);
  changes.removed_data_files = std::move(merged.removed_data_files);
  return {};
}

void DropDeletesOf(table::LiveFiles& live, const std::string& path) {
  std::erase_if(live.delete_files,
                [&](const table::LiveDelete& file) { return file.file.referenced_data_file == path; });
}

StoredRow StoredOf(const LiveRow& row) { return {row.row_id, row.last_updated, row.row}; }

/// One of them by the generator; none when there are none.
const table::LiveDataFile* AnyFile(TableChanges& changes, const table::LiveFiles& live) {
  if (live.data_files.empty()) return nullptr;
  return &live.data_files[static_cast<size_t>(changes.Pick(static_cast<int>(live.data_files.size())))];
}

}  // namespace

/// Files are written once, whatever the number of attempts.
class TableChanges::WriterChange : public table::SnapshotChange {
 public:
  WriterChange(TableChanges& owner, Wanted wanted) : owner_(owner), wanted_(std::move(wanted)) {}

  Result<table::FileChanges> Prepare(const table::Table& base, spec::SnapshotId snapshot_id) override {
    table::FileChanges changes;
    Effect effect;
    if (files_.empty()) {
      FRAZIL_ASSIGN(files_, WriteRows(base, wanted_.rows, false, wanted_.spec_id));
    }
    for (const spec::DataFile& file : files_) changes.added_data_files.push_back({.file = file, .sequence_number = {}});
    for (const LiveRow& row : wanted_.rows) effect.added_values.insert(row.row.value);
    table::OwnDeletes own;
    if (wanted_.deletes_one || !wanted_.replaced_ids.empty()) {
      FRAZIL_ASSIGN(std::vector<LiveRow> rows, index::ReadLiveRows(base));
      if (wanted_.deletes_one && !rows.empty()) {
        const auto chosen = static_cast<size_t>(owner_.Pick(static_cast<int>(rows.size())));
        rows = {rows[chosen]};
      } else {
        std::erase_if(rows, [&](const LiveRow& row) { return !wanted_.replaced_ids.contains(row.row.id); });
      }
      for (const LiveRow& row : rows) {
        FRAZIL_TRY(own[row.path].Add(spec::RowPosition(row.position)));
        effect.removed.insert(StoredOf(row));
      }
    }
    FRAZIL_TRY(Merge(base, own, changes));
    owner_.effects_[{snapshot_id, base.metadata()->current_snapshot_id}] = std::move(effect);
    return changes;
  }

 private:
  TableChanges& owner_;
  const Wanted wanted_;
  std::vector<spec::DataFile> files_;
};

const std::vector<TableChanges::Named>& TableChanges::OfWriter() {
  static const std::vector<Named> all = {{"insert", &TableChanges::Insert},
                                         {"insert landing", &TableChanges::InsertLanding},
                                         {"delete", &TableChanges::Delete},
                                         {"delete", &TableChanges::Delete},
                                         {"upsert", &TableChanges::Upsert}};
  return all;
}

const std::vector<TableChanges::Named>& TableChanges::OfOthers() {
  static const std::vector<Named> all = {{"equality delete", &TableChanges::EqualityDelete},
                                         {"equality delete", &TableChanges::EqualityDelete},
                                         {"convert equality deletes", &TableChanges::ConvertEqualityDelete},
                                         {"copy on write", &TableChanges::CopyOnWrite},
                                         {"compact", &TableChanges::Compact},
                                         {"undelete", &TableChanges::Undelete},
                                         {"roll back", &TableChanges::Rollback},
                                         {"add again", &TableChanges::AddAgain},
                                         {"upgrade", &TableChanges::Upgrade},
                                         {"tag", &TableChanges::Tag},
                                         {"untag", &TableChanges::Untag}};
  return all;
}

const TableChanges::Effect* TableChanges::EffectOf(spec::SnapshotId snapshot,
                                                   std::optional<spec::SnapshotId> parent) const {
  const auto found = effects_.find({snapshot, parent});
  return found == effects_.end() ? nullptr : &found->second;
}

std::vector<LiveRow> TableChanges::Fresh(int count) {
  std::vector<index::TestRow> rows;
  for (int i = 0; i < count; ++i) {
    const int64_t id = Pick(kNumIds);
    rows.push_back({id, "v" + std::to_string(next_value_++), id % 2 == 0 ? "a" : "b"});
  }
  return index::NewRows(rows);
}

Status TableChanges::Write(table::Table& table, Wanted wanted) {
  WriterChange change(*this, std::move(wanted));
  FRAZIL_TRY(table::CommitSnapshot(table, change, {}, clock_));
  return {};
}

Status TableChanges::Insert(table::Table& table) { return Write(table, {.rows = Fresh(1 + Pick(3))}); }
Status TableChanges::InsertLanding(table::Table& table) {
  return Write(table, {.rows = Fresh(2), .spec_id = landing_});
}
Status TableChanges::Delete(table::Table& table) { return Write(table, {.rows = {}, .deletes_one = true}); }
Status TableChanges::Upsert(table::Table& table) {
  std::vector<LiveRow> rows = Fresh(1);
  const int64_t id = rows[0].row.id;
  return Write(table,
               {.rows = std::move(rows), .spec_id = Pick(2) == 0 ? spec::SpecId{0} : landing_, .replaced_ids = {id}});
}

Status TableChanges::EqualityDelete(table::Table& table) {
  const int64_t id = Pick(kNumIds);
  const bool is_global = Pick(3) == 0;
  const spec::PartitionTuple partition =
      is_global ? spec::PartitionTuple() : spec::PartitionTuple{std::string(id % 2 == 0 ? "a" : "b")};
  return CommitFiles(
      table,
      [&](table::LiveFiles& live) -> Status {
        FRAZIL_ASSIGN(spec::DataFile file,
                      WriteEqualityDelete(table, {id}, is_global ? landing_ : spec::SpecId{0}, partition));
        live.delete_files.push_back({std::move(file), spec::SequenceNumber{0}});
        return {};
      },
      clock_);
}

/// Equality deletes become vectors, and are gone.
Status TableChanges::ConvertEqualityDelete(table::Table& table) {
  if (!IsV3(table)) return {};
  return index::CommitForeign(
      table,
      [&](const table::Table& base) -> Result<table::FileChanges> {
        FRAZIL_ASSIGN(const table::ScanPlan plan, table::PlanScan(base, base.metadata()->current_snapshot(), nullptr));
        table::OwnDeletes own;
        scan::EqualityDeletes equality(base.io());
        for (const table::FileScanTask& task : plan.tasks) {
          if (task.deletes.equality_deletes.empty()) continue;
          FRAZIL_ASSIGN(own[task.data_file.file.file_path], scan::DeletedRows(base.io(), plan, task, equality));
        }
        table::FileChanges changes;
        FRAZIL_TRY(Merge(base, own, changes));
        if (plan.deletes == nullptr) return changes;
        for (const table::LiveDelete& file : plan.deletes->deletes()) {
          if (file.file.content == spec::FileContent::kEqualityDeletes) {
            changes.removed_delete_files.push_back(spec::IdOf(file.file));
          }
        }
        return changes;
      },
      clock_);
}

Status TableChanges::Replace(table::Table& table, bool several, spec::Operation operation) {
  return CommitFiles(
      table,
      [&](table::LiveFiles& live) -> Status {
        std::set<std::string> paths;
        for (int i = several ? 2 : 1; i > 0; --i) {
          if (const table::LiveDataFile* file = AnyFile(*this, live)) paths.insert(file->file.file_path);
        }
        FRAZIL_ASSIGN(std::vector<LiveRow> rows, index::ReadLiveRows(table));
        std::erase_if(rows, [&](const LiveRow& row) { return !paths.contains(row.path); });
        for (const std::string& path : paths) DropDeletesOf(live, path);
        std::erase_if(live.data_files,
                      [&](const table::LiveDataFile& file) { return paths.contains(file.file.file_path); });
        FRAZIL_ASSIGN(const std::vector<spec::DataFile> files, WriteRows(table, rows, IsV3(table), spec::SpecId{0}));
        for (const spec::DataFile& file : files) live.data_files.push_back({.file = file});
        return {};
      },
      clock_, operation);
}
Status TableChanges::CopyOnWrite(table::Table& table) { return Replace(table, false, spec::Operation::kOverwrite); }
Status TableChanges::Compact(table::Table& table) { return Replace(table, true, spec::Operation::kReplace); }

/// A vector or position delete file goes: its rows live again.
Status TableChanges::Undelete(table::Table& table) {
  return CommitFiles(
      table,
      [&](table::LiveFiles& live) -> Status {
        if (const table::LiveDataFile* file = AnyFile(*this, live)) DropDeletesOf(live, file->file.file_path);
        return {};
      },
      clock_);
}

Status TableChanges::Rollback(table::Table& table) {
  return table::CommitUpdates(
      table,
      [&](const spec::TableMetadata& base) -> Result<std::vector<spec::TableUpdate>> {
        const auto& snapshot = base.snapshots[static_cast<size_t>(Pick(static_cast<int>(base.snapshots.size())))];
        return std::vector<spec::TableUpdate>{spec::update::SetSnapshotRef{
            spec::kMainBranch, {.snapshot_id = snapshot.id, .type = spec::RefType::kBranch}}};
      },
      clock_);
}

/// A file is removed and the same path added again, with all its rows.
Status TableChanges::AddAgain(table::Table& table) {
  return CommitFiles(
      table,
      [&](table::LiveFiles& live) -> Status {
        if (live.data_files.empty()) return {};
        table::LiveDataFile& file =
            live.data_files[static_cast<size_t>(Pick(static_cast<int>(live.data_files.size())))];
        DropDeletesOf(live, file.file.file_path);
        file.sequence_number = spec::SequenceNumber{0};
        file.file_sequence_number = spec::SequenceNumber{0};
        file.file.first_row_id.reset();
        return {};
      },
      clock_);
}

Status TableChanges::Upgrade(table::Table& table) {
  return table::CommitUpdates(
      table,
      [](const spec::TableMetadata& base) -> Result<std::vector<spec::TableUpdate>> {
        if (base.format_version >= 3) return std::vector<spec::TableUpdate>();
        return std::vector<spec::TableUpdate>{spec::update::UpgradeFormatVersion{3}};
      },
      clock_);
}

Status TableChanges::Tag(table::Table& table) {
  return table::CommitUpdates(
      table,
      [&](const spec::TableMetadata& base) -> Result<std::vector<spec::TableUpdate>> {
        const auto& snapshot = base.snapshots[static_cast<size_t>(Pick(static_cast<int>(base.snapshots.size())))];
        return std::vector<spec::TableUpdate>{spec::update::SetSnapshotRef{
            "tag" + std::to_string(Pick(2)), {.snapshot_id = snapshot.id, .type = spec::RefType::kTag}}};
      },
      clock_);
}

Status TableChanges::Untag(table::Table& table) {
  return table::CommitUpdates(
      table,
      [&](const spec::TableMetadata& base) -> Result<std::vector<spec::TableUpdate>> {
        const std::string name = "tag" + std::to_string(Pick(2));
        if (!base.refs.contains(name)) return std::vector<spec::TableUpdate>();
        return std::vector<spec::TableUpdate>{spec::update::RemoveSnapshotRef{name}};
      },
      clock_);
}

}  // namespace frazil::test
