#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "frazil/maintain/rewrite_data_files.h"

namespace frazil::maintain {

// What the doctor advises is tried on the plan first: the mildest command of which the plan says that the finding is gone.

/// A `frazil compact` and what would be there after it.
struct CompactAdvice {
  std::string options;       ///< " --option ..."; empty: none are needed
  int64_t files = 0;         ///< data files
  int64_t rows = 0;          ///< of them, deleted ones too
  int64_t deleted_rows = 0;  ///< hidden by position
};

/// `helps` looks at what would be left. None: no compaction helps.
template <typename Helps>
Result<std::optional<CompactAdvice>> AdviseCompaction(const table::Table& table, const table::ProcedureContext& context,
                                                      const Helps& helps);

/// What `frazil compact` with these options of rewrite_data_files would leave.
Result<CompactAdvice> TryCompaction(const table::Table& table, const table::ProcedureContext& context,
                                    const std::map<std::string, std::string>& options);

/// Sets of options from mild to thorough: as they are, fewer files at a time, files with fewer deleted rows, everything at once.
const std::vector<std::map<std::string, std::string>>& CompactionsToTry();

template <typename Helps>
Result<std::optional<CompactAdvice>> AdviseCompaction(const table::Table& table, const table::ProcedureContext& context,
                                                      const Helps& helps) {
  for (const auto& options : CompactionsToTry()) {
    FRAZIL_ASSIGN(CompactAdvice advice, TryCompaction(table, context, options));
    if (helps(advice)) return advice;
  }
  return std::nullopt;
}

/// A `frazil expire` after which fewer than `max_snapshots` are left.
struct ExpiryAdvice {
  std::string options;  ///< " --older-than ..."; empty: the table's own retention does
  int64_t snapshots = 0;
};
/// None: writers and refs need more.
Result<std::optional<ExpiryAdvice>> AdviseExpiry(const table::Table& table, const table::ProcedureContext& context,
                                                 int64_t max_snapshots);

}  // namespace frazil::maintain
