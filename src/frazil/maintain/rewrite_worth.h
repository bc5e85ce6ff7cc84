#pragma once

#include <cstdint>
#include <string>

#include "frazil/spec/table_metadata.h"

namespace frazil::maintain {

// Which file groups come first where maintenance decides itself: those that save most for what they take (maintenance.md
// section 4). Figures are seconds of one core. They rank groups, they do not choose them: what is chosen is left alone once it
// is done, by sizes and deletes.

/// How a table is used while what a rewrite made lies in it.
struct TableUse {
  double horizon_seconds = 0;
  double scans = 0;    ///< in that time, of every file
  double commits = 0;  ///< of its writers
};

/// A week. Commits are as frequent as those that the table knows of; maintenance's own do not count. Nobody records scans.
TableUse UseOf(const spec::TableMetadata& metadata, int64_t now_ms, double scans_per_hour);

/// What a group is, before and after.
struct GroupSize {
  int64_t input_files = 0;
  int64_t output_files = 0;
  int64_t input_bytes = 0;
  int64_t output_bytes = 0;
  int64_t vectors = 0;       ///< that hide rows of it
  int64_t delete_files = 0;  ///< that apply to it otherwise, for each file
};

struct RewriteWorth {
  double open_seconds = 0;     ///< opening files that will not be there any more, at each scan
  double dead_seconds = 0;     ///< decoding deleted rows, at each scan
  double deletes_seconds = 0;  ///< reading vectors and delete files, at each scan
  double merge_seconds = 0;    ///< writers merge new vectors into those that there are, at each commit
  double storage_seconds = 0;  ///< of deleted rows, by what an hour of a core costs
  double cost_seconds = 0;     ///< reading and writing, and requests

  double benefit_seconds() const {
    return open_seconds + dead_seconds + deletes_seconds + merge_seconds + storage_seconds;
  }
  double ratio() const { return cost_seconds > 0 ? benefit_seconds() / cost_seconds : 0; }
  RewriteWorth& operator+=(const RewriteWorth& other);
  /// "saves 12.0 s a week (files 10.0, deleted rows 1.0, delete files 0.5, writers 0.0, storage 0.5) for 2.0 s".
  std::string ToString() const;
};

RewriteWorth WorthOf(const GroupSize& size, const TableUse& use);

}  // namespace frazil::maintain
