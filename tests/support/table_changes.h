#pragma once

#include <map>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "frazil/base/clock.h"
#include "frazil/index/row_table_test_support.h"
#include "tests/support/foreign_commit.h"
#include "tests/support/stored_rows.h"

namespace frazil::test {

/// Random changes that writers and other engines make to a table of (id, value, part) with a landing spec, drawn from one
/// generator. Each value is written once, so that rows can be told apart. One thread at a time.
class TableChanges {
 public:
  TableChanges(std::mt19937_64& random, Clock& clock, spec::SpecId landing)
      : random_(random), clock_(clock), landing_(landing) {}

  using Change = Status (TableChanges::*)(table::Table& table);
  using Named = std::pair<const char*, Change>;
  /// Of a writer: appends, landing files, vectors, upserts; tries again after a lost race.
  static const std::vector<Named>& OfWriter();
  /// Of engines that know none of our rules: equality deletes and their conversion, copy-on-write, un-delete, rollback, a
  /// path that is removed and added again, an upgrade to v3, a compaction, tags. Fails where the catalog does.
  static const std::vector<Named>& OfOthers();

  Status Insert(table::Table& table);

  int Pick(int count) { return static_cast<int>(random_() % static_cast<uint64_t>(count)); }

  /// What a commit of the writer is to do to the rows of its parent.
  struct Effect {
    std::set<StoredRow> removed;
    std::set<std::string> added_values;
  };
  /// Of a snapshot prepared on a parent; null: not one of the writer's.
  const Effect* EffectOf(spec::SnapshotId snapshot, std::optional<spec::SnapshotId> parent) const;

 private:
  class WriterChange;
  struct Wanted {
    std::vector<index::LiveRow> rows;
    spec::SpecId spec_id{0};
    std::set<int64_t> replaced_ids;
    bool deletes_one = false;
  };

  std::vector<index::LiveRow> Fresh(int count);
  Status Write(table::Table& table, Wanted wanted);
  Status InsertLanding(table::Table& table);
  Status Upsert(table::Table& table);
  Status Delete(table::Table& table);
  Status EqualityDelete(table::Table& table);
  Status ConvertEqualityDelete(table::Table& table);
  Status CopyOnWrite(table::Table& table);
  Status Compact(table::Table& table);
  Status Undelete(table::Table& table);
  Status Rollback(table::Table& table);
  Status AddAgain(table::Table& table);
  Status Upgrade(table::Table& table);
  Status Tag(table::Table& table);
  Status Untag(table::Table& table);
  Status Replace(table::Table& table, bool several, spec::Operation operation);

  std::mt19937_64& random_;
  Clock& clock_;
  const spec::SpecId landing_;
  int next_value_ = 0;
  std::map<std::pair<spec::SnapshotId, std::optional<spec::SnapshotId>>, Effect> effects_;
};

}  // namespace frazil::test
