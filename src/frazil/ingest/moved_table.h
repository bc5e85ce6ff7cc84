#pragma once

#include <algorithm>
#include <string>
#include <utility>

#include "frazil/base/result.h"
#include "frazil/catalog/missing_metadata.h"
#include "frazil/ingest/wait_loop.h"
#include "frazil/table/table.h"

namespace frazil::ingest {

/// What it means that a table could not be loaded: one that the catalog has and whose metadata file is not there lies in a store
/// that is away, as where nothing is mounted: kUnavailable. Other errors stay what they are.
inline Error JudgeUnloadable(Error error) {
  if (!catalog::IsMissingMetadata(error)) return error;
  return Error(ErrorCode::kUnavailable, "the table's metadata file is not in its store: " + error.message())
      .WithHint("is the store mounted?");
}

/// What to make of errors of reading or committing a table that others change and clean meanwhile. One thread.
class MovedTable {
 public:
  explicit MovedTable(table::Table& table) : table_(table) {}

  /// A file that is not there, while the table is another one by now, was one that others expired and deleted (or the
  /// catalog's answer was a stale one): kUnavailable, trying again mends it. The same error once more is no such thing: what
  /// was expired is not needed by a newer head. Nor is a table without its metadata file: where nothing else is in its
  /// folder the store is away, kUnavailable; beside others it is lost. Every other error stays what it is; the table is
  /// refreshed where it had to be asked.
  Error Judge(Error error) {
    if (error.code() != ErrorCode::kNotFound && !catalog::IsMissingMetadata(error)) return error;
    const std::string read = table_.metadata_location();
    if (const Status asked = table_.Refresh(); !asked) {
      const Error why = JudgeUnloadable(asked.error());
      if (!IsMendedByWaiting(why)) return error;
      // The catalog's answer may have been a stale one; but not twice.
      const bool is_lost =
          catalog::IsMissingMetadata(asked.error()) && HasOtherMetadata(read) && !IsNew(asked.error().ToString());
      return is_lost ? std::move(error) : why;
    }
    if (table_.metadata_location() == read || !IsNew(error.ToString())) return error;
    return {ErrorCode::kUnavailable, "the table changed while it was read: " + last_};
  }

 private:
  /// Beside `location`; leases may have been written since the store went away.
  bool HasOtherMetadata(const std::string& location) const {
    const auto files = table_.io()->List(location.substr(0, location.rfind('/')));
    return files && std::any_of(files->begin(), files->end(), [](const io::FileInfo& file) {
             return file.path.find("/_frazil/") == std::string::npos;
           });
  }

  /// Other than the last one.
  bool IsNew(std::string text) {
    if (text == last_) return false;
    last_ = std::move(text);
    return true;
  }

  table::Table& table_;
  std::string last_;
};

}  // namespace frazil::ingest
