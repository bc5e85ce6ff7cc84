#include "frazil/table/metadata_commit.h"

#include <iterator>

#include "frazil/base/log.h"
#include "frazil/table/commit_backoff.h"
#include "frazil/table/snapshot_change.h"

namespace frazil::table {
namespace {

Error UnknownAfter(const Error& loss) {
  return Error(ErrorCode::kCommitUnknown, "the outcome of a metadata commit is unknown").WithContext(loss.ToString());
}

}  // namespace

Status CommitMetadata(Table& table, const std::function<Result<MetadataChange>(const spec::TableMetadata& base)>& make,
                      Clock& clock) {
  FRAZIL_TRY(table.Refresh());
  FRAZIL_ASSIGN(CommitBackoff backoff, CommitBackoff::ForCommits(*table.metadata(), clock));
  bool may_still_arrive = false;  // an earlier attempt that nobody answered
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
    // Whoever gives up with a definite answer deletes what the change names.
    const Error end = may_still_arrive && !is_unknown ? UnknownAfter(loss) : loss;
    if (!is_unknown && loss.code() != ErrorCode::kCommitConflict) return tl::unexpected(end);
    if (is_unknown) {
      Log::Warn("no answer to a commit to {}, so the table is asked: {}", table.name().ToString(), loss.ToString());
    }
    may_still_arrive = may_still_arrive || is_unknown;
    const bool tries_again = backoff.Wait();
    const Status refreshed = table.Refresh();
    // Metadata that moved may have moved by us: nothing in it tells.
    if (is_unknown && (!refreshed || table.metadata_location() != base_location)) {
      return tl::unexpected(UnknownAfter(loss));
    }
    FRAZIL_TRY(refreshed);
    if (!tries_again) return tl::unexpected(end);
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
