#pragma once

#include <string>
#include <utility>

#include "frazil/base/result.h"
#include "frazil/ingest/wait_loop.h"
#include "frazil/table/table.h"

namespace frazil::ingest {

/// What to make of errors of reading or committing a table that others change and clean meanwhile. One thread.
class MovedTable {
 public:
  explicit MovedTable(table::Table& table) : table_(table) {}

  /// A file that is not there, while the table is another one by now, was one that others expired and deleted (or the
  /// catalog's answer was a stale one): kUnavailable, trying again mends it. The same error once more is no such thing: what
  /// was expired is not needed by a newer head. Every other error stays what it is; the table is refreshed where it had to be
  /// asked.
  Error Judge(Error error) {
    if (error.code() != ErrorCode::kNotFound) return error;
    const std::string read = table_.metadata_location();
    if (const Status asked = table_.Refresh(); !asked) {
      return IsMendedByWaiting(asked.error()) ? asked.error() : std::move(error);
    }
    std::string text = error.ToString();
    if (table_.metadata_location() == read || text == last_) return error;
    last_ = std::move(text);
    return {ErrorCode::kUnavailable, "the table changed while it was read: " + last_};
  }

 private:
  table::Table& table_;
  std::string last_;
};

}  // namespace frazil::ingest
