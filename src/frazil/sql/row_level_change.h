#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "frazil/spec/manifest.h"
#include "frazil/sql/engine.h"
#include "frazil/sql/query_row_writer.h"
#include "frazil/sql/write_target.h"
#include "frazil/table/snapshot_change.h"
#include "frazil/table/vector_store.h"

namespace frazil::sql {

/// What becomes of a row that a row-level query answers.
enum class RowAction : int32_t {
  kNone = 0,             ///< the row was only matched
  kDelete = 1,           ///< goes
  kUpdate = 2,           ///< goes, and comes back with other values and its `_row_id`
  kInsert = 3,           ///< comes
  kDeleteUnmatched = 4,  ///< MERGE ... NOT MATCHED BY SOURCE; counted apart
  kUpdateUnmatched = 5,
};

/// A query whose answer is the change. Columns: the row's data file (string) and position in it (long), both null for
/// an insert; its row id (long); a RowAction (int; null: the row is passed over); then, if `has_values`, a value for
/// each stored column of the table.
struct RowLevelQuery {
  std::string text;  ///< in DuckDB's SQL, tables by full name
  bool has_values = false;
  /// A row of the target that is answered twice is an error (MERGE with several source rows for one target row).
  bool forbids_repeats = false;
};

/// The table properties that a kind of statement follows.
struct RowLevelProperties {
  const char* mode;             ///< merge-on-read or copy-on-write
  const char* isolation_level;  ///< serializable or snapshot
};
inline constexpr RowLevelProperties kDeleteProperties{"write.delete.mode", "write.delete.isolation-level"};
inline constexpr RowLevelProperties kUpdateProperties{"write.update.mode", "write.update.isolation-level"};
inline constexpr RowLevelProperties kMergeProperties{"write.merge.mode", "write.merge.isolation-level"};

/// Whether rows are changed by writing their files anew, instead of by vectors or position deletes.
bool IsCopyOnWrite(const spec::TableMetadata& metadata, const RowLevelProperties& properties);
/// kInvalidArgument for a property whose value is none.
Status CheckProperties(const spec::TableMetadata& metadata, const RowLevelProperties& properties);

/// A DELETE, UPDATE or MERGE of one table as a commit: the query is asked on the base, and its answer is committed by
/// deletion vectors (merge on read) or by writing the touched files anew (copy on write).
///
/// After a lost race the answer is kept where the same statement, run now, would answer the same: the files it touches
/// are still there and nobody else changed its rows; with isolation level `serializable` (the default) also nobody added
/// rows. Else it is asked again on the new state, so that what is committed is always what the statement means on its base
/// (spec section 8.3 names these checks; other engines fail where we ask again).
class RowLevelChange final : public table::SnapshotChange {
 public:
  struct Options {
    std::string statement;  ///< "UPDATE", ...: for messages
    RowLevelProperties properties;
    /// The statement looks at other rows of the table than the one it decides on (subqueries), or cannot be asked twice.
    bool reads_other_rows = false;
    bool is_repeatable = true;
  };
  struct Counts {
    int64_t num_deleted = 0;
    int64_t num_updated = 0;
    int64_t num_inserted = 0;
    int64_t num_unmatched_updated = 0;  ///< of the updated ones: had no row of the source
    int64_t num_unmatched_deleted = 0;
    int64_t num_copied = 0;  ///< rows that copy on write only moved
    /// Data files that lost their last row, and so went whole: no vector was needed for them (merge on read only).
    int64_t num_files_removed_whole = 0;
  };
  using MakeQuery = std::function<Result<RowLevelQuery>(const table::Table& base)>;

  RowLevelChange(const WriteTarget& target, NameResolver& resolver, Engine& engine, Options options, MakeQuery make)
      : target_(target), resolver_(resolver), engine_(engine), options_(std::move(options)), make_(std::move(make)) {}

  Result<table::FileChanges> Prepare(const table::Table& base, spec::SnapshotId snapshot_id) override;

  /// Commits and cleans up; the counts of what became true.
  Result<Counts> Commit();

 private:
  /// One answer of the query, and what was written for it.
  struct Answer {
    std::optional<spec::SnapshotId> head;  ///< of the state it was asked on
    spec::SequenceNumber sequence_number;
    int schema_id = 0;
    int spec_id = 0;
    int format_version = 0;
    table::OwnDeletes removed;
    int64_t num_removed = 0;
    table::OwnDeletes matched;  ///< every row that was answered, while repeats matter
    std::vector<spec::DataFile> added;
    Counts counts;
  };
  struct Attempt {
    size_t answer = 0;
    std::vector<std::string> written;  ///< delete files
    int64_t num_newly_deleted = 0;
    int64_t num_files_removed_whole = 0;
  };

  Result<Answer> Ask(const table::Table& base, const spec::Snapshot* head);
  Status Take(const arrow::RecordBatch& batch, bool forbids_repeats, Answer& answer, QueryRowWriter* writer) const;
  Status CopySurvivors(const table::Table& base, const spec::Snapshot* head, Answer& answer,
                       QueryRowWriter& writer) const;
  bool MayKeep(const Answer& answer, const table::Table& base, const spec::Snapshot* head,
               const table::LiveFiles& live) const;
  Result<bool> MergeOnRead(const table::Table& base, const table::LiveFiles& live, const Answer& answer,
                           Attempt& attempt, table::FileChanges& changes) const;
  bool IsCopyOnWrite(const spec::TableMetadata& metadata) const {
    return sql::IsCopyOnWrite(metadata, options_.properties);
  }
  void DropAllBut(int committed_attempt);

  const WriteTarget& target_;
  NameResolver& resolver_;
  Engine& engine_;
  const Options options_;
  const MakeQuery make_;
  std::vector<Answer> answers_;
  std::vector<Attempt> attempts_;
  std::vector<std::string> dropped_;  ///< delete files that no attempt uses
};

}  // namespace frazil::sql
