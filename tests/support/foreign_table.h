#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <arrow/type_fwd.h>

#include "frazil/base/result.h"
#include "frazil/catalog/catalog.h"
#include "frazil/io/memory_file_io.h"
#include "frazil/spec/manifest.h"
#include "frazil/spec/table_metadata.h"
#include "frazil/sql/session.h"

namespace frazil::test {

/// How a data file says which column is which.
enum class FieldIds { kWritten, kNone };

/// A table in memory as other engines of any age may have left it, built file by file: schema history, partition specs,
/// Parquet and Avro files, deletes of every kind, any metrics. Nothing of the product writes it except bytes.
///
/// Data is given as one JSON list a column (Arrow's spelling). What cannot be written fails the test.
class ForeignTable {
 public:
  /// `format_version` 2 or 3.
  ForeignTable(int format_version, std::vector<spec::Field> fields);
  ~ForeignTable();

  /// The table's columns from now on; older schemas stay.
  void Evolve(std::vector<spec::Field> fields);
  /// Adds a spec and makes it the default.
  void Partition(std::vector<spec::PartitionField> fields);
  void Set(const std::string& key, const std::string& value) { metadata_.properties[key] = value; }
  void Upgrade() { metadata_.format_version = 3; }

  /// A file of these fields; spec is the default one, `partition` its values.
  spec::DataFile Parquet(const std::vector<spec::Field>& fields, const std::vector<std::string>& columns,
                         FieldIds ids = FieldIds::kWritten, spec::PartitionTuple partition = {});
  spec::DataFile Avro(const std::vector<spec::Field>& fields, const std::vector<std::string>& columns,
                      spec::PartitionTuple partition = {}, FieldIds ids = FieldIds::kWritten);
  /// A Parquet file of any Arrow columns, field ids in their metadata; `int96`: timestamps the old way.
  spec::DataFile ParquetOf(const arrow::Table& table, bool int96 = false, int64_t row_group_rows = 1 << 20);
  /// A file somebody else wrote.
  spec::DataFile File(const std::string& name, ByteView bytes, spec::FileFormat format, int64_t record_count);

  /// A v2 position delete file of (path, position); ascending.
  spec::DataFile PositionDeletes(const std::vector<std::pair<std::string, int64_t>>& rows,
                                 spec::FileFormat format = spec::FileFormat::kParquet,
                                 spec::PartitionTuple partition = {});
  spec::DataFile EqualityDeletes(const std::vector<spec::Field>& fields, const std::vector<std::string>& columns,
                                 std::vector<int> ids, spec::FileFormat format = spec::FileFormat::kParquet,
                                 spec::PartitionTuple partition = {});
  /// `positions` ascending.
  spec::DataFile Vector(const spec::DataFile& data_file, const std::vector<int64_t>& positions);

  /// A snapshot that adds the files, all with its sequence number, or with `sequence_number`. `removed`: paths of files
  /// that are not in it any more.
  void Commit(const std::vector<spec::DataFile>& added, std::optional<int64_t> sequence_number = {},
              const std::vector<std::string>& removed = {});

  /// Rows of the current snapshot as "a|b|null", sorted, with the columns of that name (also `_row_id`,
  /// `_last_updated_sequence_number`, `_pos`), by scan::FileReader.
  Result<std::vector<std::string>> ReadByFile(const std::vector<std::string>& columns) const;
  /// The same by scan::RowFetcher, row by row.
  Result<std::vector<std::string>> ReadByFetch(const std::vector<std::string>& columns) const;
  /// The same by SQL; `where` may be empty.
  Result<std::vector<std::string>> ReadBySql(const std::vector<std::string>& columns,
                                             const std::string& where = "") const;
  /// Any query of the table, called t; rows sorted.
  Result<std::vector<std::string>> Query(const std::string& query) const;
  /// All ways give these rows, in whatever order.
  void ExpectRows(const std::vector<std::string>& columns, std::vector<std::string> rows) const;

  /// For many queries.
  Result<std::unique_ptr<sql::Session>> MakeSession() const;
  static Result<std::vector<std::string>> Query(sql::Session& session, const std::string& query);

  /// Called with every row of the manifest lists before it is written, to make it lie.
  std::function<void(spec::ManifestFile&)> change_manifest;

  /// Registered in a catalog of its own, as it is now, as lake.db.t.
  std::shared_ptr<catalog::Catalog> MakeCatalog() const;
  const std::shared_ptr<io::MemoryFileIO>& file_io() const { return io_; }
  spec::TableMetadata& metadata() { return metadata_; }

 private:
  spec::DataFile Described(std::string path, spec::FileFormat format, int64_t record_count,
                           spec::PartitionTuple partition);
  std::string NewPath(const std::string& extension);
  spec::ManifestFile WriteManifest(spec::SpecId spec_id, spec::ManifestContent content,
                                   const std::vector<spec::ManifestEntry>& entries, spec::SnapshotId snapshot_id);

  std::shared_ptr<io::MemoryFileIO> io_;
  spec::TableMetadata metadata_;
  std::vector<spec::ManifestEntry> live_;  ///< of the current snapshot
  int num_files_ = 0;
};

/// Gives a Parquet file the counts and bounds that its footer tells.
void AddMetrics(const io::FileIO& io, spec::DataFile& file);

/// A column or member; `required` false.
spec::Field Column(int id, std::string name, spec::Type type);
spec::Field Column(int id, std::string name, spec::TypeId type);

}  // namespace frazil::test
