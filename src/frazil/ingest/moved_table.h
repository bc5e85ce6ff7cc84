#pragma once

#include "frazil/base/result.h"
#include "frazil/table/table.h"

namespace frazil::ingest {

/// What to make of an error of reading or committing `table`. A file that is not there, while the table is another one by
/// now, was one that others expired and deleted meanwhile (or the catalog's answer was a stale one): kUnavailable, trying
/// again mends it. Every other error stays what it is; `table` is refreshed where it had to be asked.
inline Error UnlessItMoved(table::Table& table, Error error) {
  if (error.code() != ErrorCode::kNotFound) return error;
  const std::string read = table.metadata_location();
  if (!table.Refresh() || table.metadata_location() == read) return error;
  return {ErrorCode::kUnavailable, "the table changed while it was read: " + error.ToString()};
}

}  // namespace frazil::ingest
