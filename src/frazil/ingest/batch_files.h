#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "frazil/base/clock.h"
#include "frazil/base/executor.h"
#include "frazil/base/result.h"
#include "frazil/index/key_index.h"
#include "frazil/ingest/change_batch.h"
#include "frazil/ingest/key_resolver.h"
#include "frazil/ingest/landing.h"
#include "frazil/spec/manifest.h"
#include "frazil/table/table.h"
#include "frazil/table/vector_store.h"
#include "frazil/write/row_writer.h"

namespace frazil::ingest {

/// The rows of a batch as one attempt of its commit adds them.
struct CommittedRows {
  std::vector<spec::DataFile> files;
  /// Rows of these files that another file of the same commit replaces, by path.
  table::OwnDeletes struck_out;
  /// A spec that the table does not have yet; its files carry the id that it will get.
  std::optional<spec::PartitionSpec> added_spec;
};

/// The data files of one batch over all attempts of its commit (ingest.md rules 7 and 8).
///
/// They are written by the first attempt, sorted by (partition, sort order), and used again by later ones. When some rows
/// get another `_row_id` on a newer base, those are struck out by a vector and written again to a patch file; when many
/// do, all are written anew. Files that may be too old to be safe from others' orphan removal are written anew as well.
/// One thread.
class BatchFiles {
 public:
  /// Rows of a landing file below which it is not worth sharing among threads: every file more costs its readers.
  static constexpr int64_t kMinLandingRows = 250'000;

  /// The batch and the hashes of its rows' keys must outlive it. `executor` may be null.
  BatchFiles(const ChangeBatch& batch, const std::vector<Hash96>& hash_of_row, spec::SchemaPtr schema,
             LandingMode landing, int64_t min_landing_rows, Executor* executor, Clock& clock)
      : batch_(batch),
        hash_of_row_(hash_of_row),
        schema_(std::move(schema)),
        landing_(landing),
        min_landing_rows_(min_landing_rows),
        executor_(executor),
        clock_(clock) {}

  /// What to add to `base` for the rows of `resolution`.
  Result<CommittedRows> For(const table::Table& base, const Resolution& resolution);

  /// Keys of every file written so far, for the index.
  const std::map<std::string, index::KnownKeys>& known_keys() const { return known_keys_; }
  /// Every file written so far, used or not.
  const std::set<std::string>& written() const { return written_; }

 private:
  /// Where a row of the batch was written.
  struct WrittenRow {
    int64_t row = 0;  ///< of the batch
    std::optional<spec::RowId> row_id;
    write::RowLocation location;
  };
  /// Files written together.
  struct WrittenFiles {
    spec::PartitionSpec spec;  ///< by content; its id is that of the base it was written for
    bool is_landing = false;
    std::vector<spec::DataFile> files;
    std::vector<WrittenRow> rows;  ///< in the order of Resolution::rows
    int64_t written_at_ms = 0;
  };

  /// Whether files of an earlier attempt may be committed on `base`.
  Result<bool> CanUse(const WrittenFiles& written, const table::Table& base) const;
  Result<bool> IsSamePatch(const table::Table& base, const std::vector<int64_t>& rows,
                           const std::vector<std::optional<spec::RowId>>& row_ids) const;
  Result<WrittenFiles> Write(const table::Table& base, const std::vector<int64_t>& rows,
                             const std::vector<std::optional<spec::RowId>>& row_ids,
                             const std::optional<spec::PartitionSpec>& wanted_spec);
  void LearnKeys(const WrittenFiles& written);
  static void AddFiles(const WrittenFiles& written, const spec::TableMetadata& metadata, CommittedRows& committed);

  const ChangeBatch& batch_;
  const std::vector<Hash96>& hash_of_row_;
  const spec::SchemaPtr schema_;
  const LandingMode landing_;
  const int64_t min_landing_rows_;
  Executor* const executor_;
  Clock& clock_;

  std::optional<WrittenFiles> main_;   ///< all rows
  std::optional<WrittenFiles> patch_;  ///< those that got another id since
  std::map<std::string, index::KnownKeys> known_keys_;
  std::set<std::string> written_;
};

}  // namespace frazil::ingest
