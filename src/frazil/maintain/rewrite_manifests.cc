#include "frazil/maintain/foreseen_work.h"
#include "frazil/maintain/maintained_table.h"
#include "frazil/maintain/procedure_definition.h"
#include "frazil/maintain/run_history.h"
#include "frazil/table/manifest_rewrite.h"
#include "frazil/table/marker_copy.h"
#include "frazil/table/snapshot_change.h"
#include "frazil/table/snapshot_summary.h"

namespace frazil::maintain {
namespace {

/// Regroups the manifests of whatever the head is.
class RewriteManifestsChange final : public table::SnapshotChange {
 public:
  explicit RewriteManifestsChange(table::ManifestRewrite rewrite) : rewrite_(std::move(rewrite)) {}

  Result<table::FileChanges> Prepare(const table::Table& base, spec::SnapshotId snapshot_id) override {
    table::FileChanges changes;
    const spec::Snapshot* head = base.metadata()->current_snapshot();
    if (head == nullptr) return changes;
    FRAZIL_ASSIGN(const table::ManifestList list, base.manifests().List(*head));
    FRAZIL_ASSIGN(const auto plan, table::ManifestRewritePlan::Make(*base.metadata(), *list, rewrite_));
    // One manifest of the right size and nothing else: there is nothing to gain.
    if (plan.empty()) return changes;
    changes.manifest_rewrite = rewrite_;
    FRAZIL_TRY(table::CopyMarker(base, spec::kMainBranch, snapshot_id, changes));
    return changes;
  }

 private:
  const table::ManifestRewrite rewrite_;
};

Result<table::ManifestRewrite> RewriteOf(const Arguments& arguments, const spec::TableMetadata& metadata) {
  table::ManifestRewrite rewrite;
  rewrite.spec_id = metadata.default_spec_id;
  if (const auto id = arguments.Number("spec_id")) rewrite.spec_id = spec::SpecId{static_cast<int32_t>(*id)};
  const spec::PartitionSpec* spec = metadata.FindSpec(rewrite.spec_id);
  if (spec == nullptr) return Fail(ErrorCode::kInvalidArgument, "Invalid spec id {}", rewrite.spec_id);
  for (const std::string& name : arguments.Texts("sort_by").value_or(std::vector<std::string>())) {
    std::vector<std::string> names;
    size_t place = 0;
    while (place < spec->fields().size() && spec->fields()[place].name != name) {
      names.push_back(spec->fields()[place++].name);
    }
    if (place == spec->fields().size()) {
      const std::string nearest = spec::NearestName(name, names);
      Error error(ErrorCode::kInvalidArgument,
                  fmt::format("sort_by names no partition field of spec {}: {}", rewrite.spec_id, name));
      return tl::unexpected(nearest.empty() ? std::move(error)
                                            : std::move(error).WithHint("did you mean " + nearest + "?"));
    }
    rewrite.sort_by.push_back(place);
  }
  return rewrite;
}

}  // namespace

Result<ForeseenWork> ForeseeRewriteManifests(const table::Table& table) {
  const spec::Snapshot* head = table.metadata()->current_snapshot();
  if (head == nullptr) return ForeseenWork();
  FRAZIL_ASSIGN(const table::ManifestList list, table.manifests().List(*head));
  FRAZIL_ASSIGN(const auto plan, table::ManifestRewritePlan::Make(
                                     *table.metadata(), *list,
                                     {.spec_id = table.metadata()->default_spec_id, .sort_by = {}, .budget = nullptr}));
  return ForeseeRewriteOf(static_cast<int64_t>(plan.num_replaced()), plan.replaced_bytes());
}

ProcedureDefinition RewriteManifestsDefinition() {
  using table::ProcedureType;
  ProcedureDefinition definition;
  definition.name = "rewrite_manifests";
  definition.parameters = {TableParameter(),
                           {"use_caching", ProcedureType::kBoolean},
                           {"spec_id", ProcedureType::kInt},
                           {"sort_by", ProcedureType::kStringList}};
  definition.columns = {{"rewritten_manifests_count", ProcedureType::kInt},
                        {"added_manifests_count", ProcedureType::kInt}};
  definition.run = [](const table::ProcedureContext& context,
                      const Arguments& arguments) -> Result<std::vector<table::ProcedureRow>> {
    FRAZIL_ASSIGN(table::Table table, OpenTable(context, arguments.RequiredText("table")));
    FRAZIL_ASSIGN(table::ManifestRewrite rewrite, RewriteOf(arguments, *table.metadata()));
    rewrite.budget = context.budget;
    RewriteManifestsChange change(std::move(rewrite));
    RunRecorder recorder(context, table, "rewrite_manifests");
    if (recorder.is_on() && !arguments.Number("spec_id"))
      recorder.Predict(PredictionOf(ForeseeRewriteManifests(table)));
    const Result<table::CommitOutcome> outcome = table::CommitSnapshot(table, change, {}, ClockOf(context));
    int64_t num_rewritten = 0;
    int64_t num_added = 0;
    const spec::Snapshot* snapshot =
        outcome && outcome->snapshot_id ? table.metadata()->FindSnapshot(*outcome->snapshot_id) : nullptr;
    if (snapshot != nullptr) {
      num_rewritten = table::SummaryNumber(snapshot->summary, "manifests-replaced").value_or(0);
      num_added = table::SummaryNumber(snapshot->summary, "manifests-created").value_or(0);
    }
    recorder.Measure({{"input_files", num_rewritten}, {"output_files", num_added}});
    recorder.Finish(outcome);
    FRAZIL_TRY(outcome);
    return std::vector<table::ProcedureRow>{{num_rewritten, num_added}};
  };
  return definition;
}

}  // namespace frazil::maintain
