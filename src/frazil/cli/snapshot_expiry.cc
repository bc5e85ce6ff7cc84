#include "frazil/cli/snapshot_expiry.h"

#include <algorithm>

#include <fmt/ranges.h>

#include "frazil/base/number_text.h"
#include "frazil/cli/moment_text.h"

namespace frazil::cli {
namespace {

constexpr char kOlderThan[] = "--older-than";
constexpr char kRetainLast[] = "--retain-last";
constexpr char kSnapshotIds[] = "--snapshot-id";
constexpr char kCleanMetadata[] = "--clean-metadata";

std::vector<spec::SnapshotId> IdsIn(const std::string& text) {
  std::vector<spec::SnapshotId> ids;
  std::string_view rest = text;
  while (!rest.empty()) {
    const size_t end = std::min(rest.find(','), rest.size());
    if (const auto id = ReadNumber<int64_t>(rest.substr(0, end))) ids.emplace_back(*id);
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  return ids;
}

Result<maintain::ExpireOptions> OptionsOf(const ExpiryRequest& request, const std::optional<ShownExpiry>& shown) {
  const ShownConditions conditions = shown ? shown->conditions : request.Conditions();
  maintain::ExpireOptions options;
  options.dry_run = !request.yes;
  options.pace.max_per_second = request.max_deletes_per_second;
  options.retain_last = ReadNumber<int64_t>(TextOf(conditions, kRetainLast));
  options.snapshot_ids = IdsIn(TextOf(conditions, kSnapshotIds));
  options.clean_expired_metadata = !TextOf(conditions, kCleanMetadata).empty();
  if (shown) {
    options.older_than_ms = shown->older_than_ms;
    options.only = shown->scope;
    options.only_files = shown->files;
    std::erase_if(options.snapshot_ids, [&](spec::SnapshotId id) { return !shown->scope.snapshots.contains(id); });
  } else if (!request.older_than.empty()) {
    FRAZIL_ASSIGN(options.older_than_ms, ParseMoment(request.older_than, Clock::System().NowMs()));
  }
  return options;
}

}  // namespace

ShownConditions ExpiryRequest::Conditions() const {
  ShownConditions conditions;
  if (!older_than.empty()) conditions[kOlderThan] = older_than;
  if (retain_last > 0) conditions[kRetainLast] = std::to_string(retain_last);
  if (clean_metadata) conditions[kCleanMetadata] = "true";
  if (!snapshot_ids.empty()) {
    std::vector<int64_t> sorted = snapshot_ids;
    std::sort(sorted.begin(), sorted.end());
    conditions[kSnapshotIds] = fmt::format("{}", fmt::join(sorted, ","));
  }
  return conditions;
}

Result<maintain::ExpireResult> ExpireSnapshots(Context& context, MaintenanceSession& session, table::Table& table,
                                               const ExpiryRequest& request, const std::optional<ShownExpiry>& shown) {
  FRAZIL_ASSIGN(const maintain::ExpireOptions options, OptionsOf(request, shown));
  auto done = options.dry_run ? maintain::ShowExpirable(table, options, session.context())
                              : maintain::ExpireSnapshots(table, options, session.context());
  FRAZIL_TRY(done);
  maintain::ExpireResult result = *std::move(done);
  session.EndProgress();
  const ExpiryList list(session.context().state_directory, *table.metadata());
  if (options.dry_run) {
    // An empty list too: then nothing was seen, and nothing goes.
    FRAZIL_TRY(list.Write(request.Conditions(), options.older_than_ms, result));
    if (result.num_not_asked_for > 0) {
      context.Say(fmt::format("{} more could go than there is memory to list: list them when these are gone",
                              result.num_not_asked_for));
    }
    if (result.num_left_out > 0) {
      context.Say(
          fmt::format("{} more files are freed than there is memory to list: --yes leaves them as orphans for "
                      "clean-orphans; raise --memory-limit, or expire without listing first",
                      result.num_left_out));
    }
    return result;
  }
  FRAZIL_TRY(list.Forget());
  if (result.num_not_asked_for > 0) {
    context.Say(fmt::format("{} more could go since the list was made: list them again", result.num_not_asked_for));
  }
  if (result.num_files_taken_out > 0) {
    context.Say(
        fmt::format("{} files that only expired snapshots needed were not in the list and stay, as orphans: "
                    "clean-orphans finds them",
                    result.num_files_taken_out));
  }
  return result;
}

}  // namespace frazil::cli
