#include "frazil/maintain/remove_orphan_files.h"

#include <algorithm>
#include <charconv>
#include <functional>
#include <set>

#include <fmt/ranges.h>

#include "frazil/base/log.h"
#include "frazil/maintain/candidate_collector.h"
#include "frazil/maintain/hidden_names.h"
#include "frazil/maintain/left_temporaries.h"
#include "frazil/maintain/maintained_table.h"
#include "frazil/maintain/procedure_definition.h"
#include "frazil/maintain/run_history.h"
#include "frazil/maintain/table_locations.h"
#include "frazil/spec/ascii.h"
#include "frazil/spec/single_value.h"

namespace frazil::maintain {
namespace {

constexpr char kOperation[] = "remove_orphan_files";
constexpr char kMeasuredFiles[] = "files";  ///< in the run history

constexpr int64_t kHourMs = int64_t{3600} * 1000;
constexpr int64_t kAgeFloorMs = 24 * kHourMs;
/// Some stores tell the time of a file in whole seconds, some file systems in two of them: then their now is a little before ours.
constexpr int64_t kStoreGrainMs = 2000;
constexpr int64_t kBreakerMinOrphans = 1000;
constexpr double kDefaultOrphanRatio = 0.5;
constexpr int64_t kTimesUsual = 10;
constexpr int64_t kRunsToLookAt = 20;
constexpr size_t kRunsToJudgeBy = 3;
constexpr size_t kMaxNamesInMessage = 5;
constexpr int64_t kListedBetweenStops = 1000;

/// Every table of a catalog.
Status ForEachTable(const catalog::Catalog& catalog, const catalog::Namespace& parent,
                    const std::function<Status(const catalog::TableName&)>& visit) {
  FRAZIL_ASSIGN(const auto namespaces, catalog.ListNamespaces(parent));
  for (const catalog::Namespace& levels : namespaces) {
    FRAZIL_ASSIGN(const auto tables, catalog.ListTables(levels));
    for (const catalog::TableName& name : tables) FRAZIL_TRY(visit(name));
    FRAZIL_TRY(ForEachTable(catalog, levels, visit));
  }
  return {};
}

/// Files of another table would all be orphans: neither lies in the other (rule 9).
class OtherTables {
 public:
  OtherTables(table::Table& table, const std::string& location, const table::ProcedureContext& context)
      : table_(table), folder_(PlaceOf(location)), context_(context) {}

  /// kInvalidArgument: one lies in the location, or around it.
  Status CheckNoneThere() {
    FRAZIL_TRY(ForEachTable(*table_.catalog(), {}, [this](const catalog::TableName& name) {
      return name == table_.name() ? Status() : Check(*table_.catalog(), name, name.ToString());
    }));
    for (const auto& [name, catalog] : context_.catalogs) {
      if (catalog == table_.catalog()) continue;
      const Status checked = ForEachTable(*catalog, {}, [&, prefix = name + "."](const catalog::TableName& other) {
        return CheckOfOther(*catalog, other, prefix + other.ToString());
      });
      if (!checked) {
        return tl::unexpected(Error(checked.error()).WithContext("looking for other tables in catalog " + name));
      }
    }
    return {};
  }

 private:
  static Result<std::optional<catalog::LoadedTable>> Load(const catalog::Catalog& catalog,
                                                          const catalog::TableName& name,
                                                          const std::string& full_name) {
    auto loaded = catalog.LoadTable(name);
    if (loaded) return std::optional<catalog::LoadedTable>(*std::move(loaded));
    if (loaded.error().code() == ErrorCode::kNotFound) {
      // Dropped meanwhile, or its metadata is gone: nothing of it can be told apart from orphans.
      const auto again = catalog.ListTables(name.levels);
      if (again && std::count(again->begin(), again->end(), name) == 0) return std::optional<catalog::LoadedTable>();
    }
    return tl::unexpected(
        Error(loaded.error())
            .WithContext(fmt::format("finding out where table {} lies; no file was deleted", full_name))
            .WithHint(fmt::format(
                "if {} is lost, DROP TABLE it: its files cannot be told from orphans while it is named", full_name)));
  }

  Status Check(const catalog::Catalog& catalog, const catalog::TableName& name, const std::string& full_name) const {
    FRAZIL_ASSIGN(const auto other, Load(catalog, name, full_name));
    return other ? CheckPlaces(*other->metadata, full_name) : Status();
  }

  /// Another catalog may have the table itself: as long as it is at the same metadata file, it is the same for our purpose.
  Status CheckOfOther(const catalog::Catalog& catalog, const catalog::TableName& name, const std::string& full_name) {
    for (int tries = 0; tries < kMaxLooksAtOther; ++tries) {
      FRAZIL_ASSIGN(const auto other, Load(catalog, name, full_name));
      if (!other || other->metadata->table_uuid != table_.metadata()->table_uuid) {
        return other ? CheckPlaces(*other->metadata, full_name) : Status();
      }
      if (other->metadata_location == table_.metadata_location()) return {};
      // Somebody commits just now, or they have parted.
      FRAZIL_TRY(table_.Refresh());
    }
    return tl::unexpected(
        Error(
            ErrorCode::kInvalidArgument,
            fmt::format("cannot remove orphan files: {} is the same table in another state, whose files are not known "
                        "here",
                        full_name))
            .WithHint("one table belongs into one catalog"));
  }

  Status CheckPlaces(const spec::TableMetadata& other, const std::string& full_name) const {
    for (const std::string& theirs : FoldersOf(other)) {
      if (IsInside(PlaceOf(theirs), folder_)) {
        return Fail(ErrorCode::kInvalidArgument, "cannot remove orphan files: table {} lies in the location: {}",
                    full_name, theirs);
      }
      if (IsInside(folder_, PlaceOf(theirs))) {
        return Fail(ErrorCode::kInvalidArgument, "cannot remove orphan files: the location lies in table {}: {}",
                    full_name, theirs);
      }
    }
    return {};
  }

  static constexpr int kMaxLooksAtOther = 4;

  table::Table& table_;
  const FilePlace folder_;
  const table::ProcedureContext& context_;
};

std::string_view NameOf(std::string_view path) { return path.substr(path.rfind('/') + 1); }

/// One run.
class OrphanRun {
 public:
  /// `location`: where no other table lies.
  OrphanRun(table::Table& table, std::string location, const OrphanOptions& options,
            const table::ProcedureContext& context)
      : table_(table),
        options_(options),
        context_(context),
        location_(std::move(location)),
        live_({.budget = context.budget, .temp_directory = context.temp_directory},
              EqualNames(options.equal_schemes, {{"s3n,s3a", "s3"}}), EqualNames(options.equal_authorities)),
        walk_(table),
        collector_(context.budget) {
    while (location_.size() > 1 && location_.ends_with('/')) location_.pop_back();
    folder_ = PlaceOf(location_);
  }

  Status Run() {
    // The first file written tells the store's time; without orphans it goes again.
    FRAZIL_ASSIGN(const std::string probe,
                  RemovalList::Write(*table_.io(), *table_.metadata(), RemovalList::kProbe, {}));
    const auto now = StoreTimeMs(*table_.io(), probe);
    FRAZIL_TRY(table_.io()->Delete({probe}));
    FRAZIL_ASSIGN(const int64_t store_now_ms, now);
    FRAZIL_TRY(DecideAge(store_now_ms));
    // Before the listing, so that no more of it is remembered than what may be an orphan, and once more after it: a file that
    // was committed in between must be seen as live.
    FRAZIL_TRY(Look());
    FRAZIL_TRY(Compare());
    FRAZIL_TRY(Look());
    TakeFound();
    result_.num_live = live_.Count();
    FRAZIL_TRY(CheckBreaker());
    if (result_.num_left_out > 0) {
      Notice(context_, fmt::format("{} more are orphans than there is memory for: run it again for them, or raise "
                                   "--memory-limit",
                                   result_.num_left_out));
    }
    if (options_.dry_run) {
      result_.orphans = std::move(found_);
      return {};
    }
    FileRemoval files(table_, RemovalOperation::kOrphans, std::move(live_), store_now_ms, context_, options_.pace,
                      location_);
    if (!found_.empty()) {
      FRAZIL_ASSIGN(const std::string list, RemovalList::Write(*table_.io(), *table_.metadata(), "orphans", found_));
      RemovalResult removal;
      const Status done = files.Remove(list, std::move(found_), removal);
      result_.orphans = std::move(removal.deleted);
      FRAZIL_TRY(done);
    }
    // What earlier runs had listed is found again if it is asked for.
    files.ForgetUnfinished();
    return {};
  }

  OrphanResult TakeResult() { return std::move(result_); }

 private:
  Status DecideAge(int64_t store_now_ms) {
    older_than_ms_ = options_.older_than_ms.value_or(store_now_ms - options_.age_ms);
    const int64_t youngest_ms = store_now_ms - kAgeFloorMs;
    // A dry run deletes nothing that a writer may still be writing.
    const bool has_floor = !options_.dry_run && !options_.ignores_age_floor;
    if (has_floor && older_than_ms_ > youngest_ms + kStoreGrainMs) {
      return tl::unexpected(
          Error(ErrorCode::kInvalidArgument, "Cannot remove orphan files with an interval less than 24 hours")
              .WithHint("younger files may belong to a commit that is under way"));
    }
    if (has_floor) older_than_ms_ = std::min(older_than_ms_, youngest_ms);
    result_.older_than_ms = older_than_ms_;
    FRAZIL_ASSIGN(const auto lease_start, LeasedSinceMs(*table_.io(), Locations(), store_now_ms));
    if (lease_start && *lease_start < older_than_ms_) {
      Notice(context_, "a writer holds a lease on the table: files changed since it began are kept");
      older_than_ms_ = *lease_start;
    }
    return {};
  }

  /// Adds what is live now.
  Status Look() {
    // Claims before the truth: who commits and then drops its claim is seen in one of them.
    FRAZIL_TRY(AddJournalled(context_.state_directory, *table_.metadata(), live_));
    FRAZIL_TRY(table_.Refresh());
    const bool is_news = looked_at_.empty() || table_.metadata_location() != looked_at_;
    if (is_news) FRAZIL_TRY(AddEverythingLive(table_, walk_, live_));
    looked_at_ = table_.metadata_location();
    return {};
  }

  Status Compare() {
    const HiddenNames hidden(table_.metadata()->partition_specs);
    for (const std::string& location : LocationsOf(*table_.metadata())) {
      for (const char* name : {"/_frazil/rowmaps", "/_frazil/leases"}) our_folders_.push_back(PlaceOf(location + name));
    }
    const auto judge = [&](const io::FileInfo& file) -> Status {
      Judge(file, hidden);
      return ++result_.num_listed % kListedBetweenStops == 0 ? CheckStop(context_) : Status();
    };
    if (options_.listed) {
      for (const io::FileInfo& file : *options_.listed) FRAZIL_TRY(judge(file));
    } else {
      FRAZIL_TRY(table_.io()->ForEachFile(location_, judge));
      for (const io::FileInfo& file : FindLeftTemporaries(location_)) {
        if (IsOldEnough(file)) AddOrphan(file, "half a file of a process that was killed");
      }
    }
    if (!other_name_.empty()) {
      return tl::unexpected(
          Error(ErrorCode::kInvalidArgument,
                fmt::format("cannot remove orphan files: the table's own metadata file lies in the location under a "
                            "name that the table does not know: {}",
                            other_name_))
              .WithHint(fmt::format("a link, or a copy? The table calls its folder {}", table_.metadata()->location)));
    }
    if (other_roots_.empty()) return {};
    return tl::unexpected(
        Error(ErrorCode::kInvalidArgument,
              fmt::format("Unable to determine whether certain files are orphan, conflicting authorities/schemes: {}",
                          fmt::join(other_roots_, ", ")))
            .WithHint("name them in equal_schemes or equal_authorities, or set prefix_mismatch_mode"));
  }

  void Judge(const io::FileInfo& file, const HiddenNames& hidden) {
    const FilePlace place = PlaceOf(file.path);
    if (NameOf(place.path) == NameOf(looked_at_) && !live_.Contains(file.path)) other_name_ = file.path;
    // Of unknown age, or not of this folder after all: kept.
    if (!IsOldEnough(file) || !IsInside(place, folder_) || HasDots(place)) return;
    const bool is_hidden = hidden.IsHidden(std::string_view(place.path).substr(folder_.path.size()));
    if (is_hidden && !IsOurs(place)) return;
    if (!IsKept(place)) {
      AddOrphan(file, "orphan");
    } else if (live_.Find(place) == FileSet::Match::kOtherRoot &&
               options_.prefix_mismatch_mode == PrefixMismatchMode::kError) {
      other_roots_.insert(live_.RootOf(place) + " - " + place.root());
    }
  }

  bool IsKept(const FilePlace& place) const {
    const FileSet::Match match = live_.Find(place);
    return match == FileSet::Match::kSame ||
           (match == FileSet::Match::kOtherRoot && options_.prefix_mismatch_mode != PrefixMismatchMode::kDelete);
  }

  void TakeFound() {
    CollectedCandidates collected = std::move(collector_).Take();
    found_ = std::move(collected.files);
    result_.num_left_out = collected.num_left_out;
    result_.room = std::move(collected.room);
    std::erase_if(found_, [this](const RemovalCandidate& file) { return IsKept(PlaceOf(file.path)); });
  }

  bool IsOldEnough(const io::FileInfo& file) const { return file.modified_ms > 0 && file.modified_ms < older_than_ms_; }

  /// Row maps whose commit never came or whose snapshot has expired, and leases of writers that were killed: hidden from
  /// other engines, so that nobody but us ever deletes them.
  bool IsOurs(const FilePlace& place) const {
    return std::any_of(our_folders_.begin(), our_folders_.end(),
                       [&](const FilePlace& folder) { return IsInside(place, folder); });
  }

  /// Of the table now and before, and that which is cleaned.
  std::set<std::string> Locations() const {
    std::set<std::string> locations = LocationsOf(*table_.metadata());
    locations.insert(location_);
    return locations;
  }

  void AddOrphan(const io::FileInfo& file, const char* what) {
    if (options_.only && !options_.only->contains(file.path)) {
      ++result_.num_not_asked_for;
      return;
    }
    result_.orphan_bytes += file.size_bytes;
    const std::string size = options_.listed ? "in a given list" : fmt::format("of {} bytes", file.size_bytes);
    const std::string changed =
        spec::FormatValue(spec::Type::Primitive(spec::TypeId::kTimestamp), file.modified_ms * 1000);
    collector_.Add(
        {file.path, FileKind::kUnknown, fmt::format("{} {}, last changed {}", what, size, changed), file.modified_ms});
  }

  Status CheckBreaker() const {
    const int64_t num_found = static_cast<int64_t>(found_.size()) + result_.num_left_out;
    if (num_found <= kBreakerMinOrphans) return {};
    const double limit =
        options_.max_orphan_ratio.value_or(kDefaultOrphanRatio) * static_cast<double>(result_.num_live);
    if (static_cast<double>(num_found) > limit)
      return TooMany(num_found, fmt::format("beside {} live ones", result_.num_live));
    if (options_.max_orphan_ratio) return {};
    const std::optional<int64_t> usual = MostOfEarlierRuns();
    if (!usual || num_found <= kTimesUsual * *usual) return {};
    return TooMany(num_found, fmt::format("where earlier runs deleted {} at most", *usual));
  }

  /// How many files the newest runs have deleted at most; none: too few are known. History is a help, never a reason to fail.
  std::optional<int64_t> MostOfEarlierRuns() const {
    if (context_.state_directory.empty()) return std::nullopt;
    auto history = RunHistory::Open(context_.state_directory, *table_.metadata());
    const auto runs = history ? history->Latest(kRunsToLookAt, kOperation)
                              : Result<std::vector<RunRecord>>(tl::unexpected(history.error()));
    if (!runs) {
      Log::Warn("what earlier runs deleted is not known: {}", runs.error().ToString());
      return std::nullopt;
    }
    std::vector<int64_t> counts;
    for (const RunRecord& run : *runs) {
      const auto files = run.measured.find(kMeasuredFiles);
      if (run.outcome == "ok" && files != run.measured.end()) counts.push_back(files->second);
    }
    if (counts.size() < kRunsToJudgeBy) return std::nullopt;
    return *std::max_element(counts.begin(), counts.end());
  }

  Status TooMany(int64_t num_found, const std::string& measure) const {
    std::vector<std::string> names;
    for (size_t i = 0; i < std::min(kMaxNamesInMessage, found_.size()); ++i) {
      names.push_back(found_[i].path);
    }
    return tl::unexpected(
        Error(ErrorCode::kResourceExhausted, fmt::format("too many orphan files {}, nothing is deleted: {}, such as {}",
                                                         measure, num_found, fmt::join(names, ", ")))
            .WithHint("look at some; if they are orphans, pass max_orphan_ratio"));
  }

  table::Table& table_;
  const OrphanOptions& options_;
  const table::ProcedureContext& context_;
  std::string location_;
  int64_t older_than_ms_ = 0;
  FileSet live_;
  ReachableWalk walk_;
  std::string looked_at_;  ///< metadata file
  FilePlace folder_;
  std::vector<FilePlace> our_folders_;
  std::set<std::string> other_roots_;
  std::string other_name_;  ///< the table's metadata file as it was listed, if that is not how the table calls it
  CandidateCollector collector_;
  std::vector<RemovalCandidate> found_;
  OrphanResult result_;
};

Result<PrefixMismatchMode> ParseMismatchMode(const std::string& text) {
  if (spec::EqualsAnyCase(text, "error")) return PrefixMismatchMode::kError;
  if (spec::EqualsAnyCase(text, "ignore")) return PrefixMismatchMode::kIgnore;
  if (spec::EqualsAnyCase(text, "delete")) return PrefixMismatchMode::kDelete;
  return Fail(ErrorCode::kInvalidArgument, "prefix_mismatch_mode must be ERROR, IGNORE or DELETE: {}", text);
}

Result<double> ParseRatio(const std::string& text) {
  double ratio = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), ratio);
  if (error != std::errc() || end != text.data() + text.size() || !(ratio >= 0)) {
    return Fail(ErrorCode::kInvalidArgument, "max_orphan_ratio must be a number of at least 0: {}", text);
  }
  return ratio;
}

Result<OrphanOptions> OptionsOf(const table::ProcedureContext& context, const Arguments& arguments) {
  OrphanOptions options;
  options.older_than_ms = arguments.TimeMs("older_than");
  options.location = arguments.Text("location").value_or("");
  options.dry_run = arguments.Truth("dry_run", false);
  options.equal_schemes = arguments.Map("equal_schemes");
  options.equal_authorities = arguments.Map("equal_authorities");
  if (const auto deletes = arguments.Number("max_concurrent_deletes"); deletes.value_or(1) < 1) {
    return Fail(ErrorCode::kInvalidArgument, "max_concurrent_deletes should have value > 0, value: {}", *deletes);
  }
  if (const auto view = arguments.Text("file_list_view")) {
    if (!context.read_file_list)
      return Fail(ErrorCode::kNotSupported, "file_list_view is not supported here: {}", *view);
    auto listed = context.read_file_list(*view);
    if (!listed)
      return tl::unexpected(std::move(listed).error().WithContext("reading file_list_view => '" + *view + "'"));
    options.listed = *std::move(listed);
  }
  if (const auto mode = arguments.Text("prefix_mismatch_mode")) {
    FRAZIL_ASSIGN(options.prefix_mismatch_mode, ParseMismatchMode(*mode));
  }
  if (const auto ratio = arguments.Text("max_orphan_ratio")) {
    FRAZIL_ASSIGN(options.max_orphan_ratio, ParseRatio(*ratio));
  }
  FRAZIL_ASSIGN(options.pace, PaceOf(arguments));
  return options;
}

}  // namespace

Result<OrphanResult> RemoveOrphanFiles(table::Table& table, const OrphanOptions& options,
                                       const table::ProcedureContext& context) {
  FRAZIL_TRY(table.Refresh());
  if (!table.metadata()->BoolProperty("gc.enabled", true)) {
    return Fail(ErrorCode::kInvalidArgument,
                "Cannot delete orphan files: GC is disabled (deleting files may corrupt other tables)");
  }
  const std::string location = options.location.empty() ? table.metadata()->location : options.location;
  FRAZIL_TRY(OtherTables(table, location, context).CheckNoneThere());
  // Of the moment when it was looked: the table may have moved meanwhile, to where others lie.
  OrphanRun run(table, location, options, context);
  if (options.dry_run) {
    FRAZIL_TRY(run.Run());
    return run.TakeResult();
  }
  RunRecorder recorder(context, table, kOperation);
  if (options.only) recorder.Predict({{"files", static_cast<int64_t>(options.only->size())}});
  const Status done = run.Run();
  OrphanResult result = run.TakeResult();
  recorder.Measure({{kMeasuredFiles, static_cast<int64_t>(result.orphans.size())}});
  recorder.Deleted(result.orphans);
  recorder.Finish(done ? "ok" : done.error().ToString());
  FRAZIL_TRY(done);
  return result;
}

ProcedureDefinition RemoveOrphanFilesDefinition() {
  using table::ProcedureType;
  ProcedureDefinition definition;
  definition.name = kOperation;
  definition.parameters = {TableParameter(),
                           {"older_than", ProcedureType::kTimestamp},
                           {"location", ProcedureType::kString},
                           {"dry_run", ProcedureType::kBoolean},
                           {"max_concurrent_deletes", ProcedureType::kInt},
                           {"file_list_view", ProcedureType::kString},
                           {"equal_schemes", ProcedureType::kStringMap},
                           {"equal_authorities", ProcedureType::kStringMap},
                           {"prefix_mismatch_mode", ProcedureType::kString},
                           {"prefix_listing", ProcedureType::kBoolean},
                           {"stream_results", ProcedureType::kBoolean},
                           {"max_orphan_ratio", ProcedureType::kString},
                           {"max_deletes_per_second", ProcedureType::kInt}};
  definition.columns = {{"orphan_file_location", ProcedureType::kString}};
  definition.run = [](const table::ProcedureContext& context,
                      const Arguments& arguments) -> Result<std::vector<table::ProcedureRow>> {
    FRAZIL_ASSIGN(const OrphanOptions options, OptionsOf(context, arguments));
    FRAZIL_ASSIGN(table::Table table, OpenTable(context, arguments.RequiredText("table")));
    FRAZIL_ASSIGN(const OrphanResult result, RemoveOrphanFiles(table, options, context));
    std::vector<table::ProcedureRow> rows;
    for (const RemovalCandidate& orphan : result.orphans) rows.push_back({orphan.path});
    return rows;
  };
  return definition;
}

}  // namespace frazil::maintain
