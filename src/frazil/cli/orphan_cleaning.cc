#include "frazil/cli/orphan_cleaning.h"

#include "frazil/base/number_text.h"
#include "frazil/cli/moment_text.h"
#include "frazil/cli/units.h"

namespace frazil::cli {
namespace {

constexpr char kOlderThan[] = "--older-than";
constexpr char kLocation[] = "--location";
constexpr char kMaxOrphanRatio[] = "--max-orphan-ratio";

/// As the procedure has it, by the store's clock: rule 5 of maintenance.md section 5.
constexpr int64_t kSafeAgeMs = int64_t{24} * 3600 * 1000;

Result<maintain::OrphanOptions> OptionsOf(const OrphanRequest& request, const std::optional<ShownOrphans>& shown) {
  maintain::OrphanOptions options;
  options.location = request.location;
  options.pace.max_per_second = request.max_deletes_per_second;
  options.dry_run = !request.yes;
  options.ignores_age_floor = request.force;
  std::string ratio = request.max_orphan_ratio;
  if (shown) {
    options.only = shown->paths;
    options.location = TextOf(shown->conditions, kLocation);
    if (ratio.empty()) ratio = TextOf(shown->conditions, kMaxOrphanRatio);
    options.older_than_ms = shown->older_than_ms;
  } else if (const auto age = ParseDuration(request.older_than)) {
    options.age_ms = age->count();
  } else if (!request.older_than.empty()) {
    FRAZIL_ASSIGN(options.older_than_ms, ParseMoment(request.older_than, Clock::System().NowMs()));
  }
  if (const auto number = ReadNumber<double>(ratio)) options.max_orphan_ratio = *number;
  return options;
}

/// Whether --older-than is a day ago at least. Only a moment is measured by our clock: an age is one of the store's.
Result<bool> IsSafe(const std::string& older_than) {
  if (older_than.empty()) return true;
  if (const auto age = ParseDuration(older_than)) return age->count() >= kSafeAgeMs;
  const int64_t now_ms = Clock::System().NowMs();
  FRAZIL_ASSIGN(const int64_t older_than_ms, ParseMoment(older_than, now_ms));
  return older_than_ms <= now_ms - kSafeAgeMs;
}

}  // namespace

ShownConditions OrphanRequest::Conditions() const {
  ShownConditions conditions;
  if (!older_than.empty()) conditions[kOlderThan] = older_than;
  if (!location.empty()) conditions[kLocation] = location;
  return conditions;
}

Status CheckAge(const OrphanRequest& request, const std::optional<ShownOrphans>& shown) {
  if (!request.yes || request.force) return {};
  const std::string older_than = shown ? TextOf(shown->conditions, kOlderThan) : request.older_than;
  FRAZIL_ASSIGN(const bool is_safe, IsSafe(older_than));
  if (is_safe) return {};
  return tl::unexpected(
      Error(ErrorCode::kInvalidArgument,
            fmt::format("orphans younger than 24 hours are not deleted: --older-than {}", older_than))
          .WithHint("younger files may belong to a commit that is under way; clean-orphans --yes --force "
                    "deletes them all the same"));
}

Result<maintain::OrphanResult> CleanOrphans(Context& context, MaintenanceSession& session, table::Table& table,
                                            const OrphanRequest& request, const std::optional<ShownOrphans>& shown) {
  FRAZIL_ASSIGN(const maintain::OrphanOptions options, OptionsOf(request, shown));
  FRAZIL_ASSIGN(maintain::OrphanResult result, maintain::RemoveOrphanFiles(table, options, session.context()));
  session.EndProgress();
  const CandidateList list(session.context().state_directory, *table.metadata());
  if (options.dry_run) {
    ShownConditions conditions = request.Conditions();
    if (!request.max_orphan_ratio.empty()) conditions[kMaxOrphanRatio] = request.max_orphan_ratio;
    // An empty list too: then nothing was seen, and nothing goes.
    FRAZIL_TRY(list.Write(conditions, result.older_than_ms, result.orphans));
    return result;
  }
  FRAZIL_TRY(list.Forget());
  if (options.only && result.orphans.size() < options.only->size()) {
    context.Say(
        fmt::format("{} of the files that were listed stay or are gone: somebody needs them, may be writing them, or "
                    "has deleted them",
                    options.only->size() - result.orphans.size()));
  }
  if (result.num_not_asked_for > 0) {
    context.Say(
        fmt::format("{} more are orphans, but were not in the list: list them again", result.num_not_asked_for));
  }
  return result;
}

}  // namespace frazil::cli
