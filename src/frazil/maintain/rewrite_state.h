#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "frazil/format/deletion_vector.h"
#include "frazil/maintain/rewrite_group.h"
#include "frazil/maintain/shared_equality_deletes.h"
#include "frazil/table/delete_index.h"
#include "frazil/table/scan_planner.h"
#include "frazil/table/table.h"

namespace frazil::maintain {

/// What becomes of a finished group on some head.
struct GroupVerdict {
  /// Why it cannot be committed there; empty: it can.
  std::string drop_reason;
  /// Dropped since a commit of it went through before: the outputs are the table's.
  bool is_in_table = false;
  std::vector<std::string> removed_data_files;  ///< its sources that are live there
  /// By output: rows whose source row died since the group was planned.
  std::vector<format::DeletionVector> dead;
  /// Data sequence number of the outputs; none: the commit's own.
  std::optional<spec::SequenceNumber> sequence_number;
};

/// The state rule of conflict-free rewrites (maintenance.md section 1): an output row is live iff its source row is live
/// at the head, and what was not carried must still be dead there. Two states are compared, no history is walked.
///
/// One object per head. One thread.
class StateRule {
 public:
  struct Options {
    /// Outputs that keep their partition carry the sequence number of S0, so that later equality deletes apply to them.
    bool use_starting_sequence_number = true;
    std::shared_ptr<SharedEqualityDeletes> equality_deletes;  ///< null: of its own, without a budget
  };
  /// The live files of the head of `branch`. Keeps a reference to `base`.
  static Result<StateRule> Load(const table::Table& base, const std::string& branch, Options options);

  /// Errors only for what cannot be read.
  Result<GroupVerdict> Judge(const RewrittenGroup& group) const;

  const table::LiveFiles& live() const { return live_; }
  const table::DeleteIndex& deletes() const { return *deletes_; }
  const table::LiveDataFile* Find(const std::string& path) const;

 private:
  StateRule(const table::Table& base, Options options) : base_(&base), options_(std::move(options)) {}

  Result<std::string> JudgeSource(const RewrittenGroup& group, const RewrittenSource& source,
                                  const table::LiveDataFile& file, bool keeps_sequence, GroupVerdict& verdict) const;
  /// Positions that deletes by position hide at the head; none: the same as at S0.
  Result<std::optional<format::DeletionVector>> DeletedByPosition(const RewrittenSource& source,
                                                                  const table::LiveDataFile& file,
                                                                  const table::ApplicableDeletes& deletes) const;
  /// Whether `file` is a landing file whose rows the group moves into partitions.
  bool IsLandingMove(const RewrittenGroup& group, const table::LiveDataFile& file) const;
  /// Upserts of others whose equality deletes, by a partition, did not reach the landing file.
  std::vector<const table::LiveDelete*> DeletesThatMissed(const table::LiveDataFile& landing_file) const;
  bool OutputsHaveFields(const RewrittenGroup& group, const std::vector<spec::FieldId>& ids) const;

  const table::Table* base_;
  Options options_;
  table::LiveFiles live_;
  std::unique_ptr<table::DeleteIndex> deletes_;
  std::unordered_map<std::string, const table::LiveDataFile*> files_;
};

}  // namespace frazil::maintain
