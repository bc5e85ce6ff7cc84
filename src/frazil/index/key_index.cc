#include <algorithm>

#include "frazil/base/sync_point.h"
#include "frazil/index/background_thread.h"
#include "frazil/index/canonical_key.h"
#include "frazil/index/checkpoint_rule.h"
#include "frazil/index/current_version.h"
#include "frazil/index/index_checkpoint.h"
#include "frazil/index/index_directory.h"
#include "frazil/index/index_follow.h"
#include "frazil/index/index_merge.h"
#include "frazil/index/index_verify.h"
#include "frazil/index/key_index.h"
#include "frazil/index/key_reading.h"
#include "frazil/spec/name_mapping.h"

namespace frazil::index {
namespace {

constexpr int64_t kSorterEntryBytes = 48;  ///< what EntrySorter needs for one
constexpr int64_t kMinSorterEntries = 1 << 16;
constexpr int64_t kDefaultSorterEntries = int64_t{4} << 20;
constexpr int64_t kDefaultVectorBytes = int64_t{256} << 20;
constexpr int64_t kShareOfBudget = 8;  ///< of the sorter, of runs in memory, and of vectors: each one part of so many
constexpr int64_t kMemoryEntryBytes = 29;
constexpr std::chrono::seconds kLookAtAge{10};  ///< of changes, so often
constexpr size_t kPilingUp = 2 * kMaxRuns;      ///< runs of a shard at which merges stop pausing
constexpr size_t kTooMany = 4 * kMaxRuns;       ///< and at which following waits for them

/// Whether rows of the same files come out the same with both: keys as well as what readers of single rows see.
bool ReadsAlike(const spec::TableMetadata& a, const spec::TableMetadata& b) {
  return a.schema()->SameAs(*b.schema()) &&
         a.Property(spec::kNameMappingProperty, "") == b.Property(spec::kNameMappingProperty, "");
}

class RunKeyIndex : public KeyIndex {
 public:
  RunKeyIndex(KeyIndexOptions options, std::string key_version)
      : options_(std::move(options)),
        key_version_(std::move(key_version)),
        checkpoint_rule_({.max_entries = checkpoint_entries(), .max_age_ms = options_.checkpoint_age_ms},
                         *options_.clock) {}

  ~RunKeyIndex() override {
    checkpoints_.reset();
    merges_.reset();
    // Only what the manifest lists counts from now on.
    if (is_writable() && has_read_manifest_) (void)directory_->DeleteUnlisted(nullptr);
  }

  Status Open() {
    FRAZIL_TRY(OpenDirectory());
    auto version = std::make_shared<IndexVersion>();
    version->shards.resize(options_.num_shards);
    if (directory_ != nullptr) FRAZIL_TRY(Load(version));
    version->deletes = std::make_shared<LiveDeletes>(ShareOfBudget(kDefaultVectorBytes), options_.budget);
    current_ = std::make_unique<CurrentVersion>(std::move(version), std::move(damage_at_opening_),
                                                is_writable() ? directory_.get() : nullptr);
    if (options_.budget != nullptr) {
      FRAZIL_ASSIGN(run_memory_, options_.budget->Reserve(0, "runs of the key index"));
    }
    if (options_.merge_in_background) {
      merges_ = std::make_unique<BackgroundThread>([this](MergePace& pace) { return current_->MergeOne(&pace); },
                                                   [this] { return current_->MostRuns() > kPilingUp; });
      if (is_writable()) {
        checkpoints_ = std::make_unique<BackgroundThread>([this](MergePace&) { return CheckpointInBackground(); },
                                                          [] { return false; }, kLookAtAge);
      }
    }
    return {};
  }

  std::optional<spec::SnapshotId> snapshot_id() const override { return Current()->snapshot; }
  std::shared_ptr<const KeyIndexView> View() const override { return Current(); }

  const table::LiveFiles& live_files() const override {
    if (!live_files_) {
      live_files_.emplace();
      const std::shared_ptr<const IndexVersion> version = Current();
      for (const table::FileScanTask& task : version->plan().tasks) live_files_->data_files.push_back(task.data_file);
      if (version->plan().deletes != nullptr) live_files_->delete_files = version->plan().deletes->deletes();
    }
    return *live_files_;
  }

  Status FollowTo(const table::Table& table, const spec::Snapshot* snapshot,
                  const std::map<std::string, KnownKeys>& known) override {
    return Follow(table, snapshot, known, nullptr).map([](bool) {});
  }

  Result<bool> FollowToIf(const table::Table& table, const spec::Snapshot* snapshot, const Accept& accept) override {
    return Follow(table, snapshot, {}, accept);
  }

  Result<KeyHits> LookUp(std::span<const Hash96> sorted) override {
    for (size_t attempt = 0;; ++attempt) {
      const std::shared_ptr<const IndexVersion> version = Current();
      std::optional<uint32_t> damaged_shard;
      auto hits = version->LookUp(sorted, options_.executor, &damaged_shard);
      if (hits) return KeyHits{.view = version, .hits = *std::move(hits)};
      if (!damaged_shard || !table_ || attempt > version->shards.size()) return tl::unexpected(hits.error());
      current_->SetDamage(*damaged_shard, hits.error().ToString());
      const spec::Snapshot* snapshot =
          version->snapshot ? table_->metadata()->FindSnapshot(*version->snapshot) : nullptr;
      if (version->snapshot && snapshot == nullptr) return tl::unexpected(hits.error());
      FRAZIL_TRY(Advance(*table_, snapshot, {}, nullptr));
    }
  }

  Status Checkpoint() override { return WriteCheckpoint(options_.executor); }

  Status WaitForMerges() override {
    if (checkpoints_ != nullptr) FRAZIL_TRY(checkpoints_->WaitUntilIdle());
    if (merges_ != nullptr) return merges_->WaitUntilIdle();
    return MergeAll();
  }
  Status Verify(const table::Table& table, const std::function<void(int64_t, int64_t)>& on_progress) override {
    const std::shared_ptr<const IndexVersion> version = Current();
    if (version->files == nullptr) return Fail(ErrorCode::kInternal, "the index has not followed the table yet");
    FRAZIL_ASSIGN(CanonicalKey key, CanonicalKey::Make(*version->files->schema, options_.seed));
    std::optional<NewFiles> written;
    if (is_writable()) written.emplace(*directory_);
    EntrySorter sorter({.num_shards = static_cast<uint32_t>(version->shards.size()),
                        .max_entries_in_memory = SorterEntries(),
                        .name_run = [&](uint32_t) { return written ? written->NewRunPath() : std::string(); },
                        .local = local_files(),
                        .executor = options_.executor});
    return VerifyVersion(*version, table.io(), key, sorter, options_.executor, on_progress);
  }

  KeyIndexStatus status() const override {
    const std::shared_ptr<const IndexVersion> version = Current();
    KeyIndexStatus status;
    status.directory = options_.directory;
    status.snapshot_id = version->snapshot;
    status.num_live_rows = version->num_live_rows;
    status.num_files = version->dictionary.size();
    status.num_live_files = static_cast<int64_t>(live_.size());
    status.num_shards = static_cast<int64_t>(version->shards.size());
    for (const RunList& runs : version->shards) {
      for (const std::shared_ptr<const Run>& run : runs) {
        status.num_entries += run->num_entries();
        (run->in_memory() ? status.num_memory_runs : status.num_runs) += 1;
        (run->in_memory() ? status.memory_bytes : status.run_bytes) += run->size_bytes();
      }
    }
    std::set<const table::RowMap*> row_maps;
    version->dictionary.ForEach([&](const FileState& state) {
      status.memory_bytes += static_cast<int64_t>(sizeof(FileState) + sizeof(IndexedFile) + state.file->path.size());
      if (state.forwarding != nullptr) row_maps.insert(state.forwarding->row_map.get());
    });
    status.num_row_maps = static_cast<int64_t>(row_maps.size());
    for (const table::RowMap* row_map : row_maps) status.memory_bytes += row_map->memory_bytes();
    status.memory_bytes += version->deletes->memory_bytes();
    status.entries_forwarded = current_->entries_forwarded();
    status.rebuilt_shards = rebuilt_shards_;
    return status;
  }

 private:
  // ---- opening

  bool is_writable() const { return directory_ != nullptr && options_.mode == KeyIndexOptions::Mode::kReadWrite; }
  std::shared_ptr<io::FileIO> local_files() const {
    return directory_ == nullptr ? nullptr : directory_->shared_files();
  }

  Status OpenDirectory() {
    if (options_.directory.empty()) return {};
    const auto access = options_.mode == KeyIndexOptions::Mode::kReadWrite ? IndexDirectory::Access::kReadWrite
                                                                           : IndexDirectory::Access::kReadOnly;
    FRAZIL_ASSIGN(directory_, IndexDirectory::Open(options_.directory, access, options_.local_files));
    return {};
  }

  Status BeginAnew(const std::string& why) {
    Notice(fmt::format("the key index is built again from the table: {}", why));
    if (!is_writable()) return {};
    FRAZIL_TRY(directory_->Clear());
    has_read_manifest_ = true;
    checkpoint_rule_.Demand();
    return {};
  }

  Status Load(std::shared_ptr<IndexVersion>& version) {
    auto manifest = directory_->ReadManifest();
    if (!manifest) {
      if (manifest.error().code() != ErrorCode::kCorruptData) return tl::unexpected(std::move(manifest).error());
      return BeginAnew(manifest.error().ToString());
    }
    has_read_manifest_ = true;
    // Runs of a checkpoint that failed or was killed before its manifest was there.
    if (is_writable()) (void)directory_->DeleteUnlisted(nullptr);
    if (!*manifest) {
      checkpoint_rule_.Demand();  // so that others know soon that there is one
      return {};
    }
    if ((*manifest)->table_uuid != options_.table_uuid) {
      return BeginAnew(fmt::format("it belongs to another table, {}", (*manifest)->table_uuid));
    }
    if ((*manifest)->key_version != key_version_) {
      return BeginAnew(fmt::format("its keys are of another version, {}", (*manifest)->key_version));
    }
    if (options_.from_nothing) return {};
    LoadedVersion loaded = LoadVersion(**manifest, *directory_, options_.budget);
    // The process that writes may have replaced the files that a manifest lists right after it was read.
    for (int attempt = 0; !is_writable() && loaded.has_missing_files && attempt < 5; ++attempt) {
      auto newer = directory_->ReadManifest();
      if (!newer || !*newer || (*newer)->key_version != key_version_) break;
      loaded = LoadVersion(**newer, *directory_, options_.budget);
    }
    version = std::move(loaded.version);
    incomplete_ = std::move(loaded.incomplete);
    damage_at_opening_ = std::move(loaded.damaged_shards);
    for (const std::string& why : loaded.lost_row_maps) {
      Notice(fmt::format("the files of a rewrite are read again, since the index lost its row map: {}", why));
    }
    version->dictionary.ForEach([&](const FileState& state) {
      if (state.is_live) live_[state.file->path] = state.file->number;
    });
    return {};
  }

  // ---- following

  std::shared_ptr<const IndexVersion> Current() const { return current_->Get(); }

  bool IsAt(const table::Table& table, const spec::Snapshot* snapshot) const {
    const std::shared_ptr<const IndexVersion> version = Current();
    const auto id = snapshot == nullptr ? std::nullopt : std::optional(snapshot->id);
    return version->files != nullptr && version->snapshot == id && incomplete_.empty() && current_->damage().empty() &&
           ReadsAlike(*version->files->metadata, *table.metadata());
  }

  Result<bool> Follow(const table::Table& table, const spec::Snapshot* snapshot,
                      const std::map<std::string, KnownKeys>& known, const Accept& accept) {
    if (!IsAt(table, snapshot)) {
      SyncPoint::Hit("key_index.follow.before");
      FRAZIL_ASSIGN(const bool is_accepted, Advance(table, snapshot, known, accept));
      if (!is_accepted) return false;
      SyncPoint::Hit("key_index.follow.after");
      Merge();
    }
    CheckpointIfDue();
    table_ = table;
    return true;
  }

  /// False: `accept` (null: everything is accepted) did not agree.
  Result<bool> Advance(const table::Table& table, const spec::Snapshot* snapshot,
                       const std::map<std::string, KnownKeys>& known, const Accept& accept) {
    FRAZIL_ASSIGN(CanonicalKey key, CanonicalKey::Make(*table.metadata()->schema(), options_.seed));
    if (key.version() != key_version_) {
      return tl::unexpected(Error(ErrorCode::kInvalidArgument,
                                  fmt::format("the table's keys are of another version than the index's, {} and {}",
                                              key.version(), key_version_))
                                .WithHint("open the index again"));
    }
    const std::shared_ptr<const IndexVersion> from = Current();
    const std::map<uint32_t, std::string> damage = current_->damage();
    std::vector<bool> damaged_shards(from->shards.size());
    for (const auto& [shard, why] : damage) damaged_shards[shard] = true;
    std::optional<NewFiles> new_files;  // gone again after an error
    if (is_writable()) new_files.emplace(*directory_);
    IndexFollow follow(*from, live_, incomplete_, damaged_shards,
                       {.key = std::make_shared<const CanonicalKey>(std::move(key)),
                        .executor = options_.executor,
                        .new_files = new_files ? &*new_files : nullptr,
                        .budget = options_.budget,
                        .on_notice = options_.on_notice,
                        .on_progress = options_.on_progress});
    const auto is_accepted = [&] {
      if (accept == nullptr) return true;
      FollowCost cost = follow.cost();
      if (!damage.empty()) cost.damage = fmt::format("shard {}: {}", damage.begin()->first, damage.begin()->second);
      return accept(cost);
    };
    FRAZIL_TRY(follow.Compare(table, snapshot, known));
    if (!is_accepted()) return false;
    FRAZIL_TRY(follow.Plan(table));
    if (!is_accepted()) return false;
    SayDamage(damage);
    FRAZIL_ASSIGN(std::vector<RunList> added, ReadKeys(follow, new_files ? &*new_files : nullptr));
    FollowCost cost = follow.cost();
    cost.vectors = 0;  // the same ones change again and again
    const std::shared_ptr<IndexVersion> next = follow.MakeVersion();
    FRAZIL_TRY(ReserveForRuns(added));
    CheckpointRule::Change change{.entries = 0, .cost = cost.InRows()};
    for (const RunList& runs : added) {
      for (const std::shared_ptr<const Run>& run : runs) change.entries += run->num_entries();
    }
    current_->Advance(next, std::move(added), damaged_shards);
    if (new_files) new_files->Keep();
    // A table without a snapshot has nothing to write: the first checkpoint is that of its first commit.
    if (snapshot != nullptr) checkpoint_rule_.Count(change, cost.ReaderReach());
    // What was read again must not be lost to the next restart.
    if (!damage.empty() || !incomplete_.empty()) checkpoint_rule_.Demand();
    follow.UpdateNumbers(live_);
    incomplete_.clear();
    live_files_.reset();
    return true;
  }

  void SayDamage(const std::map<uint32_t, std::string>& damage) {
    for (const auto& [shard, why] : damage) {
      const std::string line = fmt::format("shard {}: {}", shard, why);
      if (std::find(rebuilt_shards_.begin(), rebuilt_shards_.end(), line) != rebuilt_shards_.end()) continue;
      rebuilt_shards_.push_back(line);
      Notice("the key index cannot use what it has on disk and reads it from the table again, " + line);
    }
  }

  /// `new_files`: null: runs stay in memory.
  Result<std::vector<RunList>> ReadKeys(IndexFollow& follow, NewFiles* new_files) {
    const int64_t max_entries = follow.max_entries();
    if (max_entries == 0) return std::vector<RunList>(Current()->shards.size());
    int64_t in_memory = std::min(max_entries, SorterEntries());
    MemoryBudget::Reservation reservation;
    while (options_.budget != nullptr) {
      auto reserved = options_.budget->Reserve(in_memory * kSorterEntryBytes, "sorting keys of the index");
      if (reserved) {
        reservation = *std::move(reserved);
        break;
      }
      if (in_memory <= kMinSorterEntries) return tl::unexpected(std::move(reserved).error());
      in_memory /= 2;
    }
    // What would soon be written anyway is written at once.
    const bool to_files = new_files != nullptr && max_entries > checkpoint_entries();
    EntrySorter sorter({.num_shards = static_cast<uint32_t>(Current()->shards.size()),
                        .max_entries_in_memory = in_memory,
                        .name_run = [&](uint32_t) { return to_files ? new_files->NewRunPath() : std::string(); },
                        .local = local_files(),
                        .executor = options_.executor});
    FRAZIL_TRY(follow.Scan(sorter));
    return sorter.Finish();
  }

  Status ReserveForRuns(const std::vector<RunList>& added) {
    if (options_.budget == nullptr) return {};
    const auto resize = [&] { return run_memory_.Resize(MemoryBytes(Current()->shards) + MemoryBytes(added)); };
    if (resize() || !is_writable()) return resize();
    FRAZIL_TRY(Checkpoint());
    return resize();
  }

  // ---- checkpoints

  int64_t checkpoint_entries() const {
    if (options_.budget == nullptr) return options_.checkpoint_entries;
    return std::min(options_.checkpoint_entries, options_.budget->limit_bytes() / kShareOfBudget / kMemoryEntryBytes);
  }

  static int64_t MemoryBytes(const std::vector<RunList>& shards) {
    int64_t bytes = 0;
    for (const RunList& runs : shards) {
      for (const std::shared_ptr<const Run>& run : runs) bytes += run->in_memory() ? run->size_bytes() : 0;
    }
    return bytes;
  }

  /// The index goes on without: what is not durable is read from the table after a restart.
  void CheckpointIfDue() {
    if (!is_writable()) return;
    const CheckpointRule::Due due = checkpoint_rule_.due();
    if (checkpoints_ != nullptr && due == CheckpointRule::Due::kSoon) {
      checkpoints_->Wake();
    } else if (due != CheckpointRule::Due::kNo) {
      NoteFailure(Checkpoint());
    }
    std::optional<std::string> failure;
    {
      const std::lock_guard lock(checkpointed_mutex_);
      if (!is_failure_said_) failure = checkpoint_failure_;
      is_failure_said_ |= failure.has_value();
    }
    if (failure) Notice("the key index stays in memory for now, its checkpoint failed: " + *failure);
    // Files may have taken the place of runs in memory. To make a reservation smaller never fails.
    if (options_.budget != nullptr) (void)run_memory_.Resize(MemoryBytes(Current()->shards));
  }

  Status WriteCheckpoint(Executor* executor) {
    if (!is_writable() || Current()->files == nullptr) return {};
    {
      const std::lock_guard lock(checkpointed_mutex_);
      if (Current() == checkpointed_) return {};
    }
    SyncPoint::Hit("key_index.checkpoint.before");
    const CheckpointRule::Taken taken = checkpoint_rule_.Begin();
    auto written = current_->Checkpoint(options_.table_uuid, key_version_, executor);
    if (!written) {
      checkpoint_rule_.Failed();
      return tl::unexpected(std::move(written).error());
    }
    checkpoint_rule_.Done(taken);
    {
      const std::lock_guard lock(checkpointed_mutex_);
      checkpointed_ = *std::move(written);
      checkpoint_failure_.reset();
      is_failure_said_ = false;
    }
    SyncPoint::Hit("key_index.checkpoint.after");
    return {};
  }

  Result<bool> CheckpointInBackground() {
    if (checkpoint_rule_.due() == CheckpointRule::Due::kNo) return false;
    NoteFailure(WriteCheckpoint(nullptr));  // the other cores are for those who wait
    merges_->Wake();
    return false;
  }

  void NoteFailure(const Status& status) {
    if (status) return;
    const std::lock_guard lock(checkpointed_mutex_);
    checkpoint_failure_ = status.error().ToString();
  }

  // ---- merging

  /// Errors wait for WaitForMerges(): the index is right without merges.
  void Merge() {
    if (merges_ == nullptr) {
      (void)MergeAll();
    } else if (merges_->Wake(); current_->MostRuns() > kTooMany) {
      (void)merges_->WaitUntilIdle();
    }
  }

  Status MergeAll() {
    for (;;) {
      FRAZIL_ASSIGN(const bool did_one, current_->MergeOne(nullptr));
      if (!did_one) return {};
    }
  }

  // ---- memory

  int64_t ShareOfBudget(int64_t fallback) const {
    return options_.budget == nullptr ? fallback : options_.budget->limit_bytes() / kShareOfBudget;
  }
  int64_t SorterEntries() const {
    return std::max(kMinSorterEntries, ShareOfBudget(kDefaultSorterEntries * kSorterEntryBytes) / kSorterEntryBytes);
  }

  void Notice(const std::string& line) const {
    if (options_.on_notice) options_.on_notice(line);
  }

  const KeyIndexOptions options_;
  const std::string key_version_;
  std::unique_ptr<IndexDirectory> directory_;

  // Of the owner's thread.
  std::optional<table::Table> table_;  ///< as last followed
  LiveNumbers live_;
  std::set<FileNumber> incomplete_;
  mutable std::optional<table::LiveFiles> live_files_;
  std::vector<std::string> rebuilt_shards_;
  MemoryBudget::Reservation run_memory_;
  bool has_read_manifest_ = false;

  CheckpointRule checkpoint_rule_;
  std::mutex checkpointed_mutex_;  // guards what follows, up to the next empty line
  std::shared_ptr<const IndexVersion> checkpointed_;
  std::optional<std::string> checkpoint_failure_;  ///< of the newest attempts, all of which failed
  bool is_failure_said_ = false;

  std::map<uint32_t, std::string> damage_at_opening_;
  std::unique_ptr<CurrentVersion> current_;
  std::unique_ptr<BackgroundThread> merges_;       // last: their threads use the others
  std::unique_ptr<BackgroundThread> checkpoints_;  ///< null: FollowTo writes them
};

}  // namespace

Result<std::unique_ptr<KeyIndex>> OpenKeyIndex(KeyIndexOptions options) {
  if (options.schema == nullptr) return Fail(ErrorCode::kInvalidArgument, "a key index needs a schema");
  if (options.num_shards == 0 || options.num_shards > 256 || (options.num_shards & (options.num_shards - 1)) != 0) {
    return Fail(ErrorCode::kInvalidArgument, "the number of shards of a key index is not a power of two up to 256: {}",
                options.num_shards);
  }
  FRAZIL_ASSIGN(const CanonicalKey key, CanonicalKey::Make(*options.schema, options.seed));
  auto index = std::make_unique<RunKeyIndex>(std::move(options), key.version());
  FRAZIL_TRY(index->Open());
  return std::unique_ptr<KeyIndex>(std::move(index));
}

}  // namespace frazil::index
