#include "frazil/table/metadata_commit.h"

#include <iterator>

#include "frazil/base/log.h"
#include "frazil/table/commit_backoff.h"
#include "frazil/table/snapshot_change.h"

namespace frazil::table {

Status CommitMetadata(Table& table, const std::function<Result<MetadataChange>(const spec::TableMetadata& base)>& make,
                      Clock& clock) {
  FRAZIL_TRY(table.Refresh());
  FRAZIL_ASSIGN(CommitBackoff backoff, CommitBackoff::ForCommits(*table.metadata(), clock));
  for (;;) {
    FRAZIL_ASSIGN(MetadataChange change, make(*table.metadata()));
    if (change.updates.empty()) return {};
    const std::string base_location = table.metadata_location();
    std::vector<spec::TableRequirement> requirements = spec::RequirementsFor(change.updates, table.metadata().get());
    std::move(change.requirements.begin(), change.requirements.end(), std::back_inserter(requirements));
    auto committed = table.catalog()->CommitTable(table.name(), requirements, change.updates);
    if (committed) {
      table.Adopt(*std::move(committed));
      return {};
    }
    const Error loss = std::move(committed).error();
    const bool is_unknown = loss.code() == ErrorCode::kCommitUnknown || loss.code() == ErrorCode::kUnavailable;
    if (!is_unknown && loss.code() != ErrorCode::kCommitConflict) return tl::unexpected(loss);
    if (is_unknown) {
      Log::Warn("no answer to a commit to {}, so the table is asked: {}", table.name().ToString(), loss.ToString());
    }
    const bool tries_again = backoff.Wait();
    const Status refreshed = table.Refresh();
    // Metadata that moved may have moved by us: nothing in it tells.
    if (is_unknown && (!refreshed || table.metadata_location() != base_location)) {
      return tl::unexpected(
          Error(ErrorCode::kCommitUnknown, "the outcome of a metadata commit is unknown").WithContext(loss.ToString()));
    }
    FRAZIL_TRY(refreshed);
    if (!tries_again) return tl::unexpected(loss);
  }
}

Status CommitUpdates(Table& table,
                     const std::function<Result<std::vector<spec::TableUpdate>>(const spec::TableMetadata& base)>& make,
                     Clock& clock) {
  return CommitMetadata(
      table,
      [&](const spec::TableMetadata& base) -> Result<MetadataChange> {
        FRAZIL_ASSIGN(auto updates, make(base));
        return MetadataChange{std::move(updates), {}};
      },
      clock);
}

}  // namespace frazil::table
