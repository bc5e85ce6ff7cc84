#pragma once

#include <algorithm>
#include <iterator>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "frazil/index/row_table_test_support.h"
#include "tests/support/scenario.h"

namespace frazil::test {

/// What Spark's UPDATE, DELETE and MERGE with vectors do to one of the test tables, in one commit: rows of `updated` get
/// their new value and keep their `_row_id`, rows of `deleted` go, rows of `inserted` come. Keys that are not there are left
/// alone.
inline Status ForeignMerge(table::Table& table, const std::map<int64_t, std::string>& updated,
                           const std::set<int64_t>& deleted, const std::vector<index::TestRow>& inserted,
                           Clock& clock) {
  return index::CommitForeign(
      table,
      [&](const table::Table& base) -> Result<table::FileChanges> {
        FRAZIL_ASSIGN(const std::vector<index::LiveRow> rows, index::ReadLiveRows(base));
        std::vector<index::LiveRow> written = index::NewRows(inserted);
        for (index::LiveRow row : rows) {
          const auto update = updated.find(row.row.id);
          if (update == updated.end()) continue;
          row.row.value = update->second;
          row.last_updated.reset();  // it is this commit's
          written.push_back(std::move(row));
        }
        FRAZIL_ASSIGN(const table::OwnDeletes deletes, index::PositionsOf(base, [&](const index::LiveRow& row) {
                        return updated.contains(row.row.id) || deleted.contains(row.row.id);
                      }));
        FRAZIL_ASSIGN(const table::LiveFiles live, table::LoadLiveFiles(base, base.metadata()->current_snapshot()));
        FRAZIL_ASSIGN(table::MergedDeletes merged, table::MergeDeletes(base, deletes, live, nullptr));
        table::FileChanges changes;
        changes.added_delete_files = std::move(merged.added_delete_files);
        changes.removed_delete_files = std::move(merged.removed_delete_files);
        changes.removed_data_files = std::move(merged.removed_data_files);
        FRAZIL_ASSIGN(changes.added_data_files, index::WriteFiles(base, written, true));
        return changes;
      },
      clock);
}

/// Expiry by somebody else who keeps the head alone and cleans up as engines do by default: files that only the expired
/// snapshots named are deleted.
inline Status ForeignExpiry(table::Table& table, Clock& clock) {
  FRAZIL_ASSIGN(const std::set<std::string> orphans, OrphanFiles(table));  // not its business: an ingest may be at work
  FRAZIL_TRY(index::ExpireAllButHead(table, clock));
  FRAZIL_ASSIGN(const std::set<std::string> unreachable, OrphanFiles(table));
  std::vector<std::string> freed;
  std::set_difference(unreachable.begin(), unreachable.end(), orphans.begin(), orphans.end(),
                      std::back_inserter(freed));
  return freed.empty() ? Status() : table.io()->Delete(freed);
}

}  // namespace frazil::test
