#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "frazil/table/table.h"

namespace frazil::maintain {

/// What an operation would take, from metadata and footers alone: files it replaces, their bytes, and time by what was measured.
struct ForeseenWork {
  int64_t files = 0;
  int64_t bytes = 0;
  double cpu_seconds = 0;
  double seconds = 0;
};

/// Of so many small files that are read and written again by one thread and one commit; nothing of none.
ForeseenWork ForeseeRewriteOf(int64_t files, int64_t bytes);

// What CALL system.<procedure>('table') would rewrite now, with its defaults.
Result<ForeseenWork> ForeseeRewriteManifests(const table::Table& table);
Result<ForeseenWork> ForeseeRewritePositionDeleteFiles(const table::Table& table);
Result<ForeseenWork> ForeseeRewriteDeletionVectors(const table::Table& table);

/// For the run history, by the names of what is measured; empty where it could not be foreseen.
std::map<std::string, int64_t> PredictionOf(const Result<ForeseenWork>& work);

}  // namespace frazil::maintain
