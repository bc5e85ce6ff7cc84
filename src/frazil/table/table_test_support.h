#pragma once

#include <functional>
#include <initializer_list>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "frazil/base/test_support.h"
#include "frazil/catalog/memory_catalog.h"
#include "frazil/io/memory_file_io.h"
#include "frazil/table/scan_planner.h"
#include "frazil/table/snapshot_change.h"
#include "frazil/table/vector_store.h"

namespace frazil::table {

/// A table of (id long, part string) in memory. Data files are entries only: nothing at this level reads their rows.
class TestTable {
 public:
  using Decide = std::function<Status(std::string_view operation)>;

  using Properties = std::initializer_list<std::pair<const std::string, std::string>>;

  explicit TestTable(Properties properties = {}, bool partitioned = false)
      : TestTable(std::map<std::string, std::string>(properties), partitioned) {}
  explicit TestTable(const std::map<std::string, std::string>& properties, bool partitioned = false)
      : io(std::make_shared<io::MemoryFileIO>()),
        inner(catalog::MakeMemoryCatalog("test", "memory:/warehouse", io, clock)),
        catalog(catalog::MakeFaultInjectingCatalog(inner,
                                                   [this](std::string_view operation, const catalog::TableName&) {
                                                     return decide ? decide(operation) : Status();
                                                   })),
        name{{"db"}, "t"},
        table(Create(*this, properties, partitioned)) {}
  TestTable(const TestTable&) = delete;

  /// Another handle, past the faults.
  Table Other() const { return *Table::Load(inner, name); }

  const spec::TableMetadata& metadata() const { return *table.metadata(); }
  const spec::Snapshot& head() const { return *table.metadata()->current_snapshot(); }
  LiveFiles Live() { return *LoadLiveFiles(table, metadata().current_snapshot()); }
  std::vector<spec::ManifestFile> Manifests(spec::ManifestContent content) {
    std::vector<spec::ManifestFile> rows;
    const ManifestList list = *table.manifests().List(head());
    for (const spec::ManifestFile& row : *list) {
      if (row.content == content) rows.push_back(row);
    }
    return rows;
  }
  std::vector<spec::ManifestEntry> Entries(const spec::ManifestFile& row) {
    return **table.manifests().Entries(row, metadata());
  }
  /// Manifests and lists that lie in the metadata folder.
  std::set<std::string> AvroFiles() const {
    std::set<std::string> paths;
    const std::vector<io::FileInfo> files = *io->List("memory:/warehouse");
    for (const io::FileInfo& file : files) {
      if (file.path.ends_with(".avro")) paths.insert(file.path);
    }
    return paths;
  }
  /// Those that any snapshot reaches.
  std::set<std::string> ReachableAvroFiles() {
    std::set<std::string> paths;
    const Table now = Other();
    for (const spec::Snapshot& snapshot : now.metadata()->snapshots) {
      paths.insert(snapshot.manifest_list);
      const ManifestList list = *now.manifests().List(snapshot);
      for (const spec::ManifestFile& row : *list) paths.insert(row.manifest_path);
    }
    return paths;
  }

  Decide decide;
  ManualClock clock{1'700'000'000'000};
  std::shared_ptr<io::MemoryFileIO> io;
  std::shared_ptr<catalog::Catalog> inner;
  std::shared_ptr<catalog::Catalog> catalog;
  catalog::TableName name;
  Table table;

 private:
  static Table Create(TestTable& self, const std::map<std::string, std::string>& properties, bool partitioned) {
    using spec::FieldId;
    spec::CreateTableRequest request;
    request.schema = *spec::Schema::Make(spec::SchemaId{0},
                                         {{FieldId{1}, "id", true, spec::Type::Primitive(spec::TypeId::kLong)},
                                          {FieldId{2}, "part", false, spec::Type::Primitive(spec::TypeId::kString)}});
    if (partitioned) {
      request.partition_spec =
          spec::PartitionSpec(spec::SpecId{0}, {{FieldId{2}, FieldId{1000}, "part", spec::Transform::Identity()}});
    }
    request.properties = properties;
    EXPECT_THAT(self.inner->CreateNamespace({"db"}, {}), IsOk());
    auto created = self.inner->CreateTable(self.name, std::move(request));
    EXPECT_THAT(created, IsOk());
    return Table(self.catalog, self.name, *created);
  }
};

inline spec::DataFile DataFileOf(const std::string& path, int64_t num_rows, spec::PartitionTuple partition = {}) {
  spec::DataFile file;
  file.file_path = path;
  file.record_count = num_rows;
  file.file_size_in_bytes = 100 * num_rows;
  file.partition = std::move(partition);
  return file;
}

/// Does the same on every base.
class FixedChange : public SnapshotChange {
 public:
  explicit FixedChange(FileChanges changes) : changes_(std::move(changes)) {}
  Result<FileChanges> Prepare(const Table&, spec::SnapshotId) override {
    ++num_calls;
    return changes_;
  }
  int num_calls = 0;

 private:
  FileChanges changes_;
};

inline FileChanges Adding(const std::vector<spec::DataFile>& files) {
  FileChanges changes;
  for (const spec::DataFile& file : files) changes.added_data_files.push_back({.file = file, .sequence_number = {}});
  return changes;
}

inline Result<CommitOutcome> Commit(Table& table, FileChanges changes, Clock& clock,
                                    const CommitOptions& options = {}) {
  FixedChange change(std::move(changes));
  return CommitSnapshot(table, change, options, clock);
}
inline Result<CommitOutcome> Commit(TestTable& test, FileChanges changes, const CommitOptions& options = {}) {
  return Commit(test.table, std::move(changes), test.clock, options);
}
inline Result<CommitOutcome> Append(TestTable& test, const std::vector<spec::DataFile>& files) {
  return Commit(test, Adding(files));
}

inline format::DeletionVector Positions(const std::vector<int64_t>& positions) {
  format::DeletionVector vector;
  EXPECT_THAT(vector.AddAll(positions), IsOk());
  return vector;
}

/// Deletes positions by merging them into the vectors of each base.
class DeleteChange : public SnapshotChange {
 public:
  explicit DeleteChange(const std::map<std::string, std::vector<int64_t>>& positions) {
    for (const auto& [path, own] : positions) own_.emplace(path, Positions(own));
  }
  Result<FileChanges> Prepare(const Table& base, spec::SnapshotId) override {
    FRAZIL_ASSIGN(const LiveFiles live, LoadLiveFiles(base, base.metadata()->current_snapshot()));
    FRAZIL_ASSIGN(MergedDeletes merged, MergeDeletes(base, own_, live, nullptr));
    FileChanges changes;
    changes.added_delete_files = std::move(merged.added_delete_files);
    changes.removed_delete_files = std::move(merged.removed_delete_files);
    changes.removed_data_files = std::move(merged.removed_data_files);
    return changes;
  }

 private:
  OwnDeletes own_;
};

inline Result<CommitOutcome> Delete(TestTable& test, const std::map<std::string, std::vector<int64_t>>& positions) {
  DeleteChange change(positions);
  return CommitSnapshot(test.table, change, {}, test.clock);
}

/// An entry of a vector whose Puffin does not exist: for what commits check.
inline spec::DataFile VectorEntry(const std::string& puffin, int64_t offset, const spec::DataFile& data_file,
                                  int64_t cardinality) {
  spec::DataFile entry;
  entry.content = spec::FileContent::kPositionDeletes;
  entry.file_format = spec::FileFormat::kPuffin;
  entry.file_path = puffin;
  entry.spec_id = data_file.spec_id;
  entry.partition = data_file.partition;
  entry.record_count = cardinality;
  entry.file_size_in_bytes = 1000;
  entry.referenced_data_file = data_file.file_path;
  entry.content_offset = offset;
  entry.content_size_in_bytes = 40;
  return entry;
}

/// The live positions deleted in a data file of the head.
inline std::vector<int64_t> DeletedIn(TestTable& test, const std::string& path) {
  auto plan = PlanScan(test.table, test.metadata().current_snapshot(), nullptr);
  EXPECT_THAT(plan, IsOk());
  for (const FileScanTask& task : plan->tasks) {
    if (task.data_file.file.file_path != path) continue;
    auto positions = ReadPositions(*test.table.io(), task.data_file, task.deletes, nullptr);
    EXPECT_THAT(positions, IsOk());
    return positions->ToPositions();
  }
  ADD_FAILURE() << "not live: " << path;
  return {};
}

/// First row id by path of the head's live data files.
inline std::map<std::string, int64_t> RowIds(TestTable& test) {
  std::map<std::string, int64_t> ids;
  for (const LiveDataFile& file : test.Live().data_files) {
    ids[file.file.file_path] = file.file.first_row_id ? file.file.first_row_id->value() : -1;
  }
  return ids;
}

}  // namespace frazil::table
