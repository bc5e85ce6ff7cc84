#pragma once

#include <compare>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "frazil/base/clock.h"
#include "frazil/format/deletion_vector.h"
#include "frazil/maintain/rewrite_admission.h"
#include "frazil/maintain/rewrite_plan.h"
#include "frazil/maintain/rewrite_rows.h"
#include "frazil/scan/equality_deletes.h"
#include "frazil/spec/manifest.h"
#include "frazil/table/row_map.h"
#include "frazil/table/table.h"

namespace frazil::maintain {

/// Identity of an equality delete file: the same path added again later is another one.
struct EqualityDeleteId {
  std::string path;
  spec::SequenceNumber sequence_number;
  auto operator<=>(const EqualityDeleteId&) const = default;
};

/// A file that a group replaces, as it was when the group was planned (maintenance.md section 1: the state rule).
struct RewrittenSource {
  table::RowMap::Source identity;
  int64_t size_bytes = 0;
  /// Delete files that hid rows by position: one vector, or position delete files (v2).
  std::vector<spec::DeleteFileId> position_deletes;
  format::DeletionVector dropped_by_position;   ///< D0
  format::DeletionVector dropped;               ///< everything that was not carried; holds D0
  std::set<EqualityDeleteId> equality_deletes;  ///< Q0: applied
  CarriedRows carried;
};

/// A file group whose outputs are written and not committed: all that is needed to commit it on any head.
struct RewrittenGroup {
  std::string id;                                    ///< a UUID
  std::string partition;                             ///< for people
  std::string branch = spec::kMainBranch;            ///< that it is of
  spec::SnapshotId snapshot_id;                      ///< S0
  spec::SequenceNumber sequence_number{0};           ///< of S0
  spec::SchemaId schema_id{0};                       ///< that the outputs were written with
  std::set<EqualityDeleteId> live_equality_deletes;  ///< all of S0
  std::vector<RewrittenSource> sources;
  std::vector<spec::DataFile> outputs;
  /// Every output has the spec and partition of every source.
  bool keeps_partition = false;
  int64_t begun_at_ms = 0;  ///< no output is older

  int64_t input_bytes() const;
  int64_t output_bytes() const;
  int64_t num_rows() const;
};

/// Of a file whose footer nobody has seen.
inline constexpr double kUnknownExpansion = 5;

/// What carrying out groups needs. Pointers may be null and outlive the call.
struct RewriteResources {
  RewriteAdmission* admission = nullptr;  ///< null: no limit to memory
  Clock* clock = nullptr;
  std::string temp_directory;
  const std::atomic<bool>* stop = nullptr;
  /// Smaller files are decoded and encoded row by row: opening each of their columns would cost more.
  int64_t min_copied_file_bytes = int64_t{256} << 10;
  /// So many bytes of the group's files, and rows, are done more; any thread. May be empty.
  std::function<void(int64_t bytes, int64_t rows)> on_progress;
};

/// Streams the files of one group, without their deleted rows, into its outputs (maintenance.md sections 1, 3): the rows
/// in the table's current schema, each with its exact `_row_id` and `_last_updated_sequence_number` in stored columns.
/// Rows that are not sorted go column by column where their file allows it (maintain/rewrite_copy.h), the others follow.
/// Equality delete files are read once for all groups of a plan. On failure the outputs are deleted.
Result<RewrittenGroup> RewriteGroup(const table::Table& table, const RewritePlan& plan, const RewritePlan::Group& group,
                                    const std::shared_ptr<scan::EqualityDeletes>& equality_deletes,
                                    const RewriteResources& resources);

/// How many times its size a file of the group takes in memory, decoded, by the footer of its largest file: files are
/// compressed by very different factors, and manifests do not tell. Read where rows are sorted only.
double ExpansionOf(const io::FileIO& io, const RewritePlan& plan, const RewritePlan::Group& group);

/// Bytes that RewriteGroup needs at most, roughly: read and encode buffers, and the rows that are sorted.
int64_t EstimateMemory(const RewritePlan& plan, const RewritePlan::Group& group, double expansion = kUnknownExpansion);

}  // namespace frazil::maintain
