#pragma once

#include <memory>
#include <string>
#include <vector>

#include "frazil/base/clock.h"
#include "frazil/base/result.h"
#include "frazil/index/folder_lock.h"
#include "frazil/io/file_io.h"
#include "frazil/maintain/rewrite_group.h"
#include "frazil/table/table.h"

namespace frazil::maintain {

/// Finished groups of a table's rewrites that are not committed yet, in `<state>/<table-uuid>/journal/` (maintenance.md
/// section 2): they survive a crash or a lost commit, are checked by the state rule and committed by the next run.
///
/// Per group three files: the outputs as a manifest (`<id>.avro`), sources and rows as a row map (`<id>.puffin`) and the
/// rest as `<id>.entry`, which is written last: without it the group does not exist. One run at a time, which holds
/// Lock(); one thread.
class RewriteJournal {
 public:
  /// With an empty state directory nothing is kept. `budget`: of where rows went; null: no limit.
  RewriteJournal(const std::string& state_directory, const table::Table& table, MemoryBudget* budget = nullptr);

  /// Keeps other runs of the machine out until this object goes: what one of them finished, another one would commit and
  /// clean up as its own. kFenced naming the holder.
  Status Lock();

  Status Add(const table::Table& table, const RewrittenGroup& group);
  /// Says that a commit of the group is about to be sent: from now on nobody who finds it here may delete its outputs.
  Status MarkSent(const RewrittenGroup& group);
  /// After it was committed, or its outputs are gone. Best effort.
  void Remove(const std::string& id);

  /// Whether the outputs are as they were written: kNotFound or kCorruptData naming one that is not.
  static Status CheckOutputs(const table::Table& table, const RewrittenGroup& group);

  struct Found {
    RewrittenGroup group;
    bool was_sent = false;
  };
  /// What an earlier process left. Groups that are too old, unreadable, of which a file is missing or has another size are
  /// left out and forgotten, each with a line in `notices`; their files stay for orphan removal. One that does not fit into
  /// memory waits for a later run. What was only half
  /// written into the journal goes, or orphan removal would spare the outputs it names for ever. Only under Lock().
  std::vector<Found> Load(const table::Table& table, const Clock& clock, std::vector<std::string>& notices);

 private:
  Result<Found> Read(const table::Table& table, const std::string& id, const Clock& clock) const;

  std::string folder_;
  MemoryBudget* const budget_;
  std::unique_ptr<index::FolderLock> lock_;
  std::shared_ptr<io::FileIO> files_;
};

}  // namespace frazil::maintain
