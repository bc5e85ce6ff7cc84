#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "frazil/base/clock.h"
#include "frazil/base/result.h"
#include "frazil/catalog/catalog.h"
#include "frazil/index/key_index.h"
#include "frazil/index/row_table_test_support.h"
#include "frazil/ingest/batch_commit.h"
#include "frazil/ingest/change_batch.h"
#include "frazil/io/file_io.h"
#include "frazil/table/table.h"

namespace frazil::test {

/// One change of the stream that a scenario's pipeline reads; no value: a tombstone.
struct Change {
  int64_t id = 0;
  std::optional<std::string> value;
  std::string part;
};

/// A batch of changes as the JSON decoder makes it of lines.
ingest::ChangeBatch BatchOf(const std::vector<Change>& changes, int64_t start);
/// The JSON line of a change, for FileSource; tombstones have "op": "d".
std::string JsonLine(const Change& change);
inline constexpr char kOpColumn[] = "op";

/// What is wrong with a table's head, one line each; empty: all invariants of the format and of frazil hold.
///
/// One live row a key, `_row_id`s unique and below next-row-id, one live vector a data file and that data file is live,
/// no equality deletes, each Puffin path wholly live, an index built from nothing finds exactly the live rows.
std::vector<std::string> Violations(const table::Table& table);

/// Files below the table's location that no metadata reaches any more: neither from the current metadata file and its
/// log nor from any snapshot in it.
Result<std::set<std::string>> OrphanFiles(const table::Table& table);
/// Files that the current metadata reaches and that are not there.
Result<std::vector<std::string>> MissingFiles(const table::Table& table);

/// A pipeline as a process holds it: a table handle, a followed index, and how far the table is. Forgets nothing but by
/// Restart(). One thread.
class Pipeline {
 public:
  explicit Pipeline(table::Table table, Clock& clock, std::string id = "pipeline");

  /// Collapses, resolves, writes and commits the changes that follow the committed ones.
  Result<table::CommitOutcome> Commit(const std::vector<Change>& changes);
  /// A new process: everything is forgotten but what the table says.
  Status Restart();

  int64_t next() const { return next_; }  ///< changes of the stream that are in the table, as far as it knows
  void set_next(int64_t next) { next_ = next; }
  void set_landing(ingest::LandingMode landing) { landing_ = landing; }
  /// Batches of so many rows a thread are shared.
  void ShareLanding(int num_threads, int64_t min_rows) {
    executor_ = std::make_unique<Executor>(num_threads);
    min_landing_rows_ = min_rows;
  }
  table::Table& table() { return table_; }
  index::KeyIndex& index() { return *index_; }

 private:
  table::Table table_;
  Clock& clock_;
  ingest::PipelineIdentity identity_;
  std::unique_ptr<index::KeyIndex> index_;
  int64_t next_ = 0;
  ingest::LandingMode landing_ = ingest::LandingMode::kNever;
  int64_t min_landing_rows_ = ingest::BatchFiles::kMinLandingRows;
  std::unique_ptr<Executor> executor_;
};

/// A table, a pipeline that feeds it, and what should be in it. Checks everything after every step, in gtest's way:
///
///   Given({{1, "a"}, {2, "b"}}).Commit().Upsert({1, "c"}).Delete({2}).Commit().ExpectRows({{1, "c"}});
///
/// Commits go through the real code: decoder, Collapse, BatchCommit with a followed index. What others do to the table
/// goes past it. One thread.
class Scenario {
 public:
  struct Options {
    index::Partitioning partitioning = index::Partitioning::kNone;
    std::map<std::string, std::string> properties;
    /// Where the table lives; null: in memory.
    std::shared_ptr<catalog::Catalog> catalog;
  };
  Scenario();
  explicit Scenario(Options options);

  // The pipeline. Changes are buffered until Commit().
  Scenario& Upsert(const index::TestRow& row);
  Scenario& Upsert(const std::vector<index::TestRow>& rows);
  Scenario& Delete(const std::set<int64_t>& ids);
  Scenario& Commit();
  /// A new process: everything is forgotten but what the table says.
  Scenario& Restart();

  // Others.
  Scenario& ForeignInsert(const std::vector<index::TestRow>& rows);
  Scenario& ForeignDelete(const std::set<int64_t>& ids);
  Scenario& ForeignRewrite();
  Scenario& ExpireAllButHead();
  /// Back by `steps` snapshots; what is lost is replayed by the pipeline, as it would from its source.
  Scenario& Rollback(int steps);

  Scenario& ExpectRows(const std::vector<index::TestRow>& rows);
  Scenario& ExpectDataFiles(size_t count);
  Scenario& ExpectVectors(size_t count);
  /// All steps check this too; here for reading.
  Scenario& ExpectOneLiveVectorPerFile();

  Pipeline& pipeline() { return *pipeline_; }
  table::Table& table() { return pipeline_->table(); }
  Clock& clock() { return *clock_; }
  /// id -> `_row_id` of the live rows.
  std::map<int64_t, int64_t> RowIds();

 private:
  struct Expected {
    index::TestRow row;
    std::optional<int64_t> row_id;  ///< none: a new one, to be learnt
  };
  using State = std::map<int64_t, Expected>;

  void ApplyToOracle(const Change& change);
  void Check();

  std::unique_ptr<ManualClock> clock_;  // stays where it is when a scenario moves
  std::unique_ptr<Pipeline> pipeline_;
  std::vector<Change> stream_;  ///< everything the source holds
  State oracle_;
  std::map<spec::SnapshotId, std::pair<State, int64_t>> history_;  ///< and how much of the stream was in
  int64_t largest_row_id_ = -1;
};

/// A table with these rows still to be committed.
Scenario Given(const std::vector<index::TestRow>& rows, Scenario::Options options = {});

}  // namespace frazil::test
