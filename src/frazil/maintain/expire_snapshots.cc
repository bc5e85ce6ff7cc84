#include "frazil/maintain/expire_snapshots.h"

#include <algorithm>
#include <functional>
#include <iterator>
#include <numeric>
#include <set>
#include <span>
#include <unordered_set>

#include "frazil/maintain/candidate_collector.h"
#include "frazil/maintain/freed_lists.h"
#include "frazil/maintain/maintained_table.h"
#include "frazil/maintain/procedure_definition.h"
#include "frazil/maintain/run_history.h"
#include "frazil/maintain/snapshot_ancestry.h"
#include "frazil/maintain/writer_pins.h"
#include "frazil/table/metadata_commit.h"
#include "frazil/table/spec_schema.h"

namespace frazil::maintain {
namespace {

constexpr char kGcEnabled[] = "gc.enabled";
/// Refs that go on changing while it is planned end the expiry: not every catalog's requirements tell their retention.
constexpr int kMaxPlans = 5;

/// One attempt: what goes, decided on one state of the table.
struct ExpiryPlan {
  table::Table base;
  RetentionPlan retention;
  WriterPins pins;
};

Result<ExpiryPlan> Plan(const table::Table& base, const ExpireOptions& options, int64_t now_ms) {
  FRAZIL_ASSIGN(WriterPins pins, FindWriterPins(base));
  RetentionRules rules;
  rules.now_ms = now_ms;
  rules.older_than_ms = options.older_than_ms;
  rules.retain_last = options.retain_last;
  rules.expired_ids = options.snapshot_ids;
  rules.pinned = pins.snapshots;
  rules.only = options.only;
  FRAZIL_ASSIGN(RetentionPlan retention, PlanRetention(*base.metadata(), rules));
  return ExpiryPlan{base, std::move(retention), std::move(pins)};
}

std::vector<const spec::Snapshot*> Retained(const ExpiryPlan& plan) {
  const std::set<spec::SnapshotId> expired(plan.retention.expired.begin(), plan.retention.expired.end());
  std::vector<const spec::Snapshot*> retained;
  for (const spec::Snapshot& snapshot : plan.base.metadata()->snapshots) {
    if (!expired.contains(snapshot.id)) retained.push_back(&snapshot);
  }
  return retained;
}

std::string FreedBy(spec::SnapshotId id) { return fmt::format("freed by the expiry of snapshot {}", id); }

/// Tells the files that expired snapshots need and nobody else, some more than once. What cannot be read of an expired snapshot
/// stays, with a notice.
Status FreedFiles(const ExpiryPlan& plan, FileSet& live, const table::ProcedureContext& context,
                  const std::function<Status(RemovalCandidate file)>& take_freed) {
  const spec::TableMetadata& metadata = *plan.base.metadata();
  ReachableWalk retained(plan.base);
  const TakeFile keep = [&](const std::string& path, FileKind) { return live.Add(path); };
  for (const spec::Snapshot* snapshot : Retained(plan)) FRAZIL_TRY(retained.Walk(metadata, *snapshot, keep));
  const std::set<spec::SnapshotId> expired(plan.retention.expired.begin(), plan.retention.expired.end());
  FRAZIL_TRY(WalkStatistics(metadata, [&](spec::SnapshotId id, const std::string& path) {
    return expired.contains(id) ? Status() : live.Add(path);
  }));
  ReachableWalk walk(plan.base);
  walk.Skip(retained.manifests());
  for (const spec::SnapshotId id : plan.retention.expired) {
    FRAZIL_TRY(CheckStop(context));
    const std::string reason = FreedBy(id);
    Status taken;
    const TakeFile take = [&](const std::string& path, FileKind kind) -> Status {
      if (!live.Contains(path)) taken = take_freed({path, kind, reason});
      return taken;
    };
    const Status walked = walk.Walk(metadata, *metadata.FindSnapshot(id), take);
    FRAZIL_TRY(taken);
    if (!walked) Notice(context, fmt::format("files of snapshot {} stay: {}", id, walked.error().ToString()));
    FRAZIL_TRY(WalkStatistics(metadata, [&](spec::SnapshotId of, const std::string& path) {
      return of == id ? take(path, FileKind::kStatistics) : Status();
    }));
  }
  return {};
}

/// The newest schema that holds a field; the current one first. Null: none does.
spec::SchemaPtr SchemaOfField(const spec::TableMetadata& metadata, spec::FieldId id) {
  if (metadata.schema()->FindField(id) != nullptr) return metadata.schema();
  const auto newest = std::find_if(metadata.schemas.rbegin(), metadata.schemas.rend(),
                                   [&](const spec::SchemaPtr& schema) { return schema->FindField(id) != nullptr; });
  return newest == metadata.schemas.rend() ? nullptr : *newest;
}

/// Fields that live equality deletes of retained snapshots compare.
Result<std::set<spec::FieldId>> ComparedFields(const ExpiryPlan& plan,
                                               const std::vector<spec::ManifestFile>& manifests) {
  std::set<spec::FieldId> fields;
  for (const spec::ManifestFile& manifest : manifests) {
    if (manifest.content != spec::ManifestContent::kDeletes) continue;
    FRAZIL_TRY(plan.base.manifests().ForEachEntry(
        manifest, *plan.base.metadata(), [&](const spec::ManifestEntry& entry) -> Status {
          if (entry.is_live()) fields.insert(entry.data_file.equality_ids.begin(), entry.data_file.equality_ids.end());
          return {};
        }));
  }
  return fields;
}

/// Partition specs and schemas that no retained snapshot uses (spec section 9.4, step 7). A spec without fields stays, it
/// is that of landing files, and so do the schemas that give partition values and keys of equality deletes their types.
Status AddUnusedDefinitions(const ExpiryPlan& plan, std::vector<spec::TableUpdate>& updates) {
  const spec::TableMetadata& metadata = *plan.base.metadata();
  std::set<spec::SpecId> used_specs = {metadata.default_spec_id};
  std::set<spec::SchemaId> used_schemas = {metadata.current_schema_id};
  std::vector<spec::ManifestFile> manifests;
  std::unordered_set<std::string> paths;
  for (const spec::Snapshot* snapshot : Retained(plan)) {
    if (snapshot->schema_id) used_schemas.insert(*snapshot->schema_id);
    FRAZIL_ASSIGN(const table::ManifestList list, plan.base.manifests().List(*snapshot));
    for (const spec::ManifestFile& manifest : *list) {
      used_specs.insert(manifest.partition_spec_id);
      if (paths.insert(manifest.manifest_path).second) manifests.push_back(manifest);
    }
  }
  spec::update::RemovePartitionSpecs specs;
  for (const spec::PartitionSpec& spec : metadata.partition_specs) {
    if (!spec.fields().empty() && !used_specs.contains(spec.id())) {
      specs.spec_ids.push_back(spec.id());
    } else {
      used_schemas.insert(table::SchemaOfSpec(metadata, spec)->id());
    }
  }
  FRAZIL_ASSIGN(const std::set<spec::FieldId> compared, ComparedFields(plan, manifests));
  for (const spec::FieldId id : compared) {
    if (const spec::SchemaPtr schema = SchemaOfField(metadata, id)) used_schemas.insert(schema->id());
  }
  spec::update::RemoveSchemas schemas;
  for (const spec::SchemaPtr& schema : metadata.schemas) {
    if (!used_schemas.contains(schema->id())) schemas.schema_ids.push_back(schema->id());
  }
  if (!specs.spec_ids.empty()) updates.emplace_back(std::move(specs));
  if (!schemas.schema_ids.empty()) updates.emplace_back(std::move(schemas));
  return {};
}

Result<table::MetadataChange> ChangeFor(const ExpiryPlan& plan, const ExpireOptions& options) {
  const spec::TableMetadata& metadata = *plan.base.metadata();
  table::MetadataChange change;
  std::vector<spec::TableUpdate> definitions;
  if (options.clean_expired_metadata) FRAZIL_TRY(AddUnusedDefinitions(plan, definitions));
  const bool relies_on_refs = !plan.retention.expired.empty() || !definitions.empty();
  const std::set<std::string> removed_refs(plan.retention.removed_refs.begin(), plan.retention.removed_refs.end());
  for (const auto& [name, ref] : metadata.refs) {
    const bool is_removed = removed_refs.contains(name);
    if (is_removed) change.updates.emplace_back(spec::update::RemoveSnapshotRef{name});
    // The catalog refuses when a ref has moved since, or has another retention: it may be young again, or need what goes. It is
    // not set to what it was: in catalogs that only know where it stands, that would take back a retention given meanwhile.
    if (is_removed || relies_on_refs) {
      change.requirements.emplace_back(spec::requirement::AssertRefSnapshotId{name, ref.snapshot_id, ref});
    }
  }
  if (!plan.retention.expired.empty()) {
    change.updates.emplace_back(spec::update::RemoveSnapshots{plan.retention.expired});
  }
  std::move(definitions.begin(), definitions.end(), std::back_inserter(change.updates));
  // Only beside an expiry: the property is read where history is cut, and that is what expiry does.
  if (!plan.retention.expired.empty() && !plan.pins.property_updates.empty()) {
    change.updates.emplace_back(spec::update::SetProperties{plan.pins.property_updates});
  }
  return change;
}

/// The store's time, if lists of earlier runs are to be judged by it; else 0. Without a file of ours nobody tells it.
Result<int64_t> TimeForLists(const table::Table& table) {
  FRAZIL_ASSIGN(const auto lists, RemovalList::Find(*table.io(), table.metadata()->location,
                                                    RemovalOperationName(RemovalOperation::kExpire)));
  if (lists.empty()) return 0;
  FRAZIL_ASSIGN(const std::string probe, RemovalList::Write(*table.io(), *table.metadata(), RemovalList::kProbe, {}));
  const auto now_ms = StoreTimeMs(*table.io(), probe);
  static_cast<void>(table.io()->Delete({probe}));  // orphan removal finds one that stays
  return now_ms;
}

/// Why each snapshot goes, and with how many files.
std::vector<ExpiredSnapshot> Explain(const ExpiryPlan& plan, const std::map<std::string, int64_t>& num_by_reason,
                                     const ExpireOptions& options) {
  const spec::TableMetadata& metadata = *plan.base.metadata();
  std::set<spec::SnapshotId> on_branches;
  for (const auto& [name, ref] : metadata.refs) {
    if (ref.type != spec::RefType::kBranch) continue;
    for (const spec::Snapshot* snapshot : AncestorsOf(metadata, metadata.FindSnapshot(ref.snapshot_id))) {
      on_branches.insert(snapshot->id);
    }
  }
  std::vector<ExpiredSnapshot> snapshots;
  for (const spec::SnapshotId id : plan.retention.expired) {
    const spec::Snapshot& snapshot = *metadata.FindSnapshot(id);
    const bool is_named = std::count(options.snapshot_ids.begin(), options.snapshot_ids.end(), id) > 0;
    const auto files = num_by_reason.find(FreedBy(id));
    snapshots.push_back({.id = id,
                         .timestamp_ms = snapshot.timestamp_ms,
                         .operation = std::string(snapshot.operation ? spec::OperationName(*snapshot.operation) : ""),
                         .num_files = files == num_by_reason.end() ? 0 : files->second,
                         .reason = is_named                    ? "named by its id"
                                   : !on_branches.contains(id) ? "old enough, and no branch leads to it"
                                                               : "old enough, and not among the newest that are kept"});
  }
  return snapshots;
}

/// One run.
class Expiry {
 public:
  Expiry(table::Table& table, const ExpireOptions& options, const table::ProcedureContext& context,
         ExpireResult& result)
      : table_(table), options_(options), context_(context), clock_(ClockOf(context)), result_(result) {}

  /// Says what would go.
  Status Show() {
    FRAZIL_TRY(Begin());
    FRAZIL_ASSIGN(plan_, Plan(table_, options_, clock_.NowMs()));
    FileSet live(Room());
    CandidateCollector collector(context_.budget);
    FRAZIL_TRY(FreedFiles(*plan_, live, context_, [&](RemovalCandidate file) -> Status {
      collector.Add(std::move(file));
      return {};
    }));
    CollectedCandidates collected = std::move(collector).Take();
    std::map<std::string, int64_t> num_by_reason;
    for (const RemovalCandidate& file : collected.files) ++num_by_reason[file.reason];
    Report(num_by_reason);
    result_.num_left_out = collected.num_left_out;
    result_.room = std::move(collected.room);
    result_.freed = std::move(collected.files);
    for (const RemovalCandidate& file : result_.freed) ++result_.num_freed[file.kind];
    // Nothing is deleted by it: our clock is near enough to tell which lists nobody works on. What is not shown would never go
    // where people delete no more than they have seen.
    FileRemoval files(table_, RemovalOperation::kExpire, FileSet(), clock_.NowMs(), context_, options_.pace);
    FRAZIL_ASSIGN(result_.unfinished, files.Unfinished());
    // A run that was killed before its commit has listed what is in use, or freed by this one.
    std::erase_if(result_.unfinished.files, [&](const RemovalCandidate& file) {
      return live.Contains(file.path) ||
             std::ranges::binary_search(result_.freed, file.path, {}, &RemovalCandidate::path);
    });
    result_.num_resumed = static_cast<int64_t>(result_.unfinished.files.size());
    return {};
  }

  Status Run(RunRecorder& recorder) {
    FRAZIL_TRY(Begin());
    // The last change is the one that was committed.
    if (Status committed = table::CommitMetadata(
            table_, [this](const spec::TableMetadata&) { return Change(); }, clock_);
        !committed) {
      if (lists_ && !MayBeCommitted(committed.error())) lists_->Drop();
      return committed;
    }
    Report(lists_->num_by_reason());
    result_.num_files_taken_out = lists_->num_taken_out();
    const std::vector<std::string>& lists = lists_->paths();
    const auto store_now_ms = lists.empty() ? TimeForLists(table_) : StoreTimeMs(*table_.io(), lists.front());
    if (!store_now_ms) Leave(lists);
    FRAZIL_TRY(store_now_ms);
    FileRemoval files(table_, RemovalOperation::kExpire, *std::move(live_), *store_now_ms, context_, options_.pace);
    for (size_t i = 0; i < lists.size(); ++i) {
      const Status deleted = DeleteListed(files, lists[i], recorder);
      if (!deleted) Leave(std::span(lists).subspan(i + 1));
      FRAZIL_TRY(deleted);
    }
    lists_.reset();  // their room
    RemovalResult resumed;
    return files.Resume(resumed, options_.only_files, [&](RemovalResult& done) {
      result_.num_resumed += static_cast<int64_t>(done.deleted.size());
      recorder.RecordDeleted(done.deleted);
      done = {};
    });
  }

 private:
  SetRoom Room() const { return {.budget = context_.budget, .temp_directory = context_.temp_directory}; }

  Status Begin() {
    FRAZIL_TRY(table_.Refresh());
    if (table_.metadata()->BoolProperty(kGcEnabled, true)) return {};
    return Fail(ErrorCode::kInvalidArgument,
                "Cannot expire snapshots: GC is disabled (deleting files may corrupt other tables)");
  }

  /// What an attempt commits, with the lists of what it frees.
  Result<table::MetadataChange> Change() {
    for (int tries = 0; tries < kMaxPlans; ++tries) {
      if (lists_) lists_->Drop();
      FRAZIL_ASSIGN(plan_, Plan(table_, options_, clock_.NowMs()));
      lists_.reset();
      live_.emplace(Room());
      lists_.emplace(plan_->base, Room(), options_.only_files);
      FRAZIL_TRY(
          FreedFiles(*plan_, *live_, context_, [this](RemovalCandidate file) { return lists_->Add(std::move(file)); }));
      FRAZIL_TRY(lists_->Finish());
      FRAZIL_ASSIGN(table::MetadataChange change, ChangeFor(*plan_, options_));
      // Not every catalog can require the retention of a ref, and reading manifests takes its time.
      FRAZIL_TRY(table_.Refresh());
      if (table_.metadata()->refs == plan_->base.metadata()->refs) return change;
    }
    return tl::unexpected(
        Error(ErrorCode::kCommitConflict,
              fmt::format("branches or tags changed each of the {} times that the expiry was planned: {}", kMaxPlans,
                          table_.name().ToString()))
            .WithHint("run it again"));
  }

  void Report(const std::map<std::string, int64_t>& num_by_reason) {
    result_.expired = plan_->retention.expired;
    result_.snapshots = Explain(*plan_, num_by_reason, options_);
    result_.removed_refs = plan_->retention.removed_refs;
    result_.num_not_asked_for = plan_->retention.num_out_of_scope;
    for (const spec::SnapshotId id : plan_->retention.kept_pins) {
      result_.kept.push_back(fmt::format("snapshot {} is kept: it is {}", id, plan_->pins.snapshots.at(id)));
      Notice(context_, result_.kept.back());
    }
  }

  /// Deletes what one of the lists names; the next one has its memory then.
  Status DeleteListed(FileRemoval& files, const std::string& list, RunRecorder& recorder) {
    auto candidates = RemovalList::Read(*table_.io(), *table_.metadata(), list);
    if (!candidates && candidates.error().code() == ErrorCode::kNotFound) {
      Notice(context_,
             "another run has ended a list of what was to be deleted; what it took for live stays as "
             "orphans: " +
                 list);
      return {};
    }
    FRAZIL_TRY(candidates);
    RemovalResult removal;
    const Status done = files.Remove(list, *std::move(candidates), removal);
    for (const auto& [kind, count] : removal.CountByKind()) result_.num_freed[kind] += count;
    recorder.RecordDeleted(removal.deleted);
    return done;
  }

  /// Says of lists that this run does not come to them, so that the next one takes them up at once. Best effort: after an hour it
  /// takes them for abandoned.
  void Leave(std::span<const std::string> lists) {
    if (lists.empty()) return;
    for (const std::string& list : lists) {
      const auto files = RemovalList::Read(*table_.io(), *table_.metadata(), list);
      const bool is_left =
          files && RemovalList::Write(*table_.io(), *table_.metadata(),
                                      RemovalList::Left(RemovalOperationName(RemovalOperation::kExpire)), *files);
      if (is_left) static_cast<void>(table_.io()->Delete({list}));
    }
    Notice(context_, fmt::format("{} more lists of freed files are left to the next run", lists.size()));
  }

  table::Table& table_;
  const ExpireOptions& options_;
  const table::ProcedureContext& context_;
  Clock& clock_;
  ExpireResult& result_;
  std::optional<ExpiryPlan> plan_;
  std::optional<FileSet> live_;
  std::optional<FreedLists> lists_;  ///< of the files that plan_ frees
};

}  // namespace

int64_t ExpireResult::num_freed_files() const {
  return std::accumulate(num_freed.begin(), num_freed.end(), int64_t{0},
                         [](int64_t sum, const auto& kind) { return sum + kind.second; });
}

Result<ExpireResult> ExpireSnapshots(table::Table& table, const ExpireOptions& options,
                                     const table::ProcedureContext& context) {
  ExpireResult result;
  Expiry expiry(table, options, context, result);
  if (options.dry_run) {
    FRAZIL_TRY(expiry.Show());
    return result;
  }
  RunRecorder recorder(context, table, "expire_snapshots");
  if (options.only) recorder.Predict({{"snapshots", static_cast<int64_t>(options.only->snapshots.size())}});
  if (options.only_files) recorder.Predict({{"files", static_cast<int64_t>(options.only_files->size())}});
  const Status done = expiry.Run(recorder);
  recorder.Measure({{"snapshots", static_cast<int64_t>(result.expired.size())},
                    {"files", result.num_freed_files()},
                    {"files_of_earlier_runs", result.num_resumed}});
  recorder.Finish(done ? "ok" : done.error().ToString());
  FRAZIL_TRY(done);
  return result;
}

Result<ExpireResult> ShowExpirable(table::Table& table, ExpireOptions options, table::ProcedureContext context) {
  options.dry_run = true;
  for (;;) {
    FRAZIL_ASSIGN(ExpireResult result, ExpireSnapshots(table, options, context));
    const auto num_tried = static_cast<std::ptrdiff_t>(result.expired.size()) / 2;
    if (result.num_left_out == 0 || num_tried == 0) return result;
    options.only = ExpiryScope{.snapshots = {result.expired.begin(), result.expired.begin() + num_tried},
                               .refs = {result.removed_refs.begin(), result.removed_refs.end()}};
    context.on_notice = nullptr;  // they were told
  }
}

ProcedureDefinition ExpireSnapshotsDefinition() {
  using table::ProcedureType;
  ProcedureDefinition definition;
  definition.name = "expire_snapshots";
  definition.parameters = {TableParameter(),
                           {"older_than", ProcedureType::kTimestamp},
                           {"retain_last", ProcedureType::kInt},
                           {"max_concurrent_deletes", ProcedureType::kInt},
                           {"stream_results", ProcedureType::kBoolean},
                           {"snapshot_ids", ProcedureType::kLongList},
                           {"clean_expired_metadata", ProcedureType::kBoolean},
                           {"max_deletes_per_second", ProcedureType::kInt}};
  definition.columns = {{"deleted_data_files_count", ProcedureType::kLong},
                        {"deleted_position_delete_files_count", ProcedureType::kLong},
                        {"deleted_equality_delete_files_count", ProcedureType::kLong},
                        {"deleted_manifest_files_count", ProcedureType::kLong},
                        {"deleted_manifest_lists_count", ProcedureType::kLong},
                        {"deleted_statistics_files_count", ProcedureType::kLong}};
  definition.run = [](const table::ProcedureContext& context,
                      const Arguments& arguments) -> Result<std::vector<table::ProcedureRow>> {
    ExpireOptions options;
    options.older_than_ms = arguments.TimeMs("older_than");
    options.retain_last = arguments.Number("retain_last");
    if (options.retain_last.value_or(1) < 1) {
      return Fail(ErrorCode::kInvalidArgument, "Number of snapshots to retain must be at least 1, cannot be: {}",
                  *options.retain_last);
    }
    if (const auto deletes = arguments.Number("max_concurrent_deletes"); deletes.value_or(1) < 1) {
      return Fail(ErrorCode::kInvalidArgument, "max_concurrent_deletes should have value > 0, value: {}", *deletes);
    }
    for (const int64_t id : arguments.Numbers("snapshot_ids").value_or(std::vector<int64_t>())) {
      options.snapshot_ids.emplace_back(id);
    }
    options.clean_expired_metadata = arguments.Truth("clean_expired_metadata", false);
    FRAZIL_ASSIGN(options.pace, PaceOf(arguments));
    FRAZIL_ASSIGN(table::Table table, OpenTable(context, arguments.RequiredText("table")));
    FRAZIL_ASSIGN(const ExpireResult result, ExpireSnapshots(table, options, context));
    std::map<FileKind, int64_t> counts = result.num_freed;
    return std::vector<table::ProcedureRow>{{counts[FileKind::kDataFile], counts[FileKind::kPositionDeletes],
                                             counts[FileKind::kEqualityDeletes], counts[FileKind::kManifest],
                                             counts[FileKind::kManifestList], counts[FileKind::kStatistics]}};
  };
  return definition;
}

}  // namespace frazil::maintain
