#pragma once

#include <compare>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "frazil/index/row_table_test_support.h"

namespace frazil::test {

/// A live row with all that a rewrite must keep.
struct StoredRow {
  std::optional<int64_t> row_id;
  std::optional<int64_t> last_updated;
  index::TestRow row;
  auto operator<=>(const StoredRow&) const = default;
  std::string ToString() const;
};

/// What a snapshot of a test table (index::TestSchema) holds, by the rules of the specification (4.5, 5.2) written down
/// once more, and in haste: each file is decoded once, and rows and deletes meet in memory. An oracle beside scan and
/// maintenance; it shares with them the decoders of manifests, vectors and Parquet. One thread.
class StoredRows {
 public:
  /// Sorted. `missed`, unless null, gets those rows among them that lie in landing files and that younger equality deletes,
  /// scoped by a partition, did not reach: moving them into partitions deletes them.
  Result<std::vector<StoredRow>> Of(const table::Table& table, const spec::Snapshot* snapshot,
                                    std::vector<StoredRow>* missed = nullptr);

 private:
  struct File {
    std::vector<StoredRow> rows;  ///< lineage as stored
  };
  Result<const File*> Read(const table::Table& table, const table::LiveDataFile& file);
  Result<const std::set<int64_t>*> Keys(const table::Table& table, const spec::DataFile& file);
  /// Keys of equality deletes by partition that are younger than a landing file; none for other files.
  Result<std::set<int64_t>> MissedKeys(const table::Table& table, const table::LiveDataFile& file,
                                       const std::vector<table::LiveDelete>& deletes);
  Result<std::set<int64_t>> Dead(const table::Table& table, const table::LiveDataFile& file,
                                 const std::vector<table::LiveDelete>& deletes);

  std::map<std::string, File> files_;
  std::map<std::string, std::set<int64_t>> keys_;          ///< of equality deletes, by path
  std::map<std::string, std::vector<int64_t>> positions_;  ///< of deletes by position, by path, offset and data file
};

}  // namespace frazil::test
