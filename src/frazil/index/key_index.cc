#include <algorithm>

#include "frazil/base/sync_point.h"
#include "frazil/index/canonical_key.h"
#include "frazil/index/current_version.h"
#include "frazil/index/index_checkpoint.h"
#include "frazil/index/index_directory.h"
#include "frazil/index/index_follow.h"
#include "frazil/index/index_merge.h"
#include "frazil/index/index_verify.h"
#include "frazil/index/key_index.h"
#include "frazil/index/key_reading.h"
#include "frazil/index/merge_thread.h"
#include "frazil/spec/name_mapping.h"

namespace frazil::index {
namespace {

constexpr int64_t kSorterEntryBytes = 48;  ///< what EntrySorter needs for one
constexpr int64_t kMinSorterEntries = 1 << 16;
constexpr int64_t kDefaultSorterEntries = int64_t{4} << 20;
constexpr int64_t kDefaultVectorBytes = int64_t{256} << 20;
constexpr int64_t kShareOfBudget = 8;  ///< of the sorter, of runs in memory, and of vectors: each one part of so many
constexpr int64_t kMemoryEntryBytes = 29;
constexpr size_t kPilingUp = 2 * kMaxRuns;  ///< runs of a shard at which merges stop pausing
constexpr size_t kTooMany = 4 * kMaxRuns;   ///< and at which following waits for them

/// Whether rows of the same files come out the same with both: keys as well as what readers of single rows see.
bool ReadsAlike(const spec::TableMetadata& a, const spec::TableMetadata& b) {
  return a.schema()->SameAs(*b.schema()) &&
         a.Property(spec::kNameMappingProperty, "") == b.Property(spec::kNameMappingProperty, "");
}

class RunKeyIndex : public KeyIndex {
 public:
  RunKeyIndex(KeyIndexOptions options, std::string key_version)
      : options_(std::move(options)), key_version_(std::move(key_version)) {}

  Status Open() {
    FRAZIL_TRY(OpenDirectory());
    auto version = std::make_shared<IndexVersion>();
    version->shards.resize(options_.num_shards);
    if (directory_ != nullptr) FRAZIL_TRY(Load(version));
    version->deletes = std::make_shared<LiveDeletes>(ShareOfBudget(kDefaultVectorBytes), options_.budget);
    current_ = std::make_unique<CurrentVersion>(std::move(version), std::move(damage_at_opening_),
                                                is_writable() ? directory_.get() : nullptr);
    next_checkpoint_at_ = checkpoint_entries();
    if (options_.budget != nullptr) {
      FRAZIL_ASSIGN(run_memory_, options_.budget->Reserve(0, "runs of the key index"));
    }
    if (options_.merge_in_background) {
      merges_ = std::make_unique<MergeThread>([this](MergePace& pace) { return current_->MergeOne(&pace); },
                                              [this] { return current_->MostRuns() > kPilingUp; });
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
    if (!IsAt(table, snapshot)) {
      SyncPoint::Hit("key_index.follow.before");
      FRAZIL_TRY(Advance(table, snapshot, known));
      SyncPoint::Hit("key_index.follow.after");
      CheckpointIfDue();
      Merge();
    }
    table_ = table;
    return {};
  }

  int64_t NumRowsWithOtherKeys(const table::Table& table) const override {
    const std::shared_ptr<const IndexVersion> version = Current();
    const auto key = CanonicalKey::Make(*table.metadata()->schema(), options_.seed);
    if (key && KeyReading(*table.metadata(), *key) == version->key_reading) return 0;
    int64_t rows = 0;
    version->dictionary.ForEach([&](const FileState& state) {
      if (state.is_live && !state.file->has_own_keys) rows += state.file->record_count;
    });
    return rows;
  }

  Result<KeyHits> LookUp(std::span<const Hash96> sorted) override {
    for (size_t attempt = 0;; ++attempt) {
      const std::shared_ptr<const IndexVersion> version = Current();
      std::optional<uint32_t> damaged_shard;
      auto hits = version->LookUp(sorted, &damaged_shard);
      if (hits) return KeyHits{.view = version, .hits = *std::move(hits)};
      if (!damaged_shard || !table_ || attempt > version->shards.size()) return tl::unexpected(hits.error());
      current_->SetDamage(*damaged_shard, hits.error().ToString());
      const spec::Snapshot* snapshot =
          version->snapshot ? table_->metadata()->FindSnapshot(*version->snapshot) : nullptr;
      if (version->snapshot && snapshot == nullptr) return tl::unexpected(hits.error());
      FRAZIL_TRY(Advance(*table_, snapshot, {}));
    }
  }

  Status Checkpoint() override {
    if (!is_writable() || Current()->files == nullptr || Current() == checkpointed_) return {};
    SyncPoint::Hit("key_index.checkpoint.before");
    FRAZIL_TRY(current_->FlushMemoryRuns(options_.executor));
    FRAZIL_TRY(WriteManifest({}));
    SyncPoint::Hit("key_index.checkpoint.after");
    return {};
  }

  Status WaitForMerges() override {
    if (merges_ != nullptr) return merges_->WaitUntilIdle();
    return MergeAll();
  }

  Status Verify(const table::Table& table, const std::function<void(int64_t, int64_t)>& on_progress) override {
    const std::shared_ptr<const IndexVersion> version = Current();
    if (version->files == nullptr) return Fail(ErrorCode::kInternal, "the index has not followed the table yet");
    FRAZIL_ASSIGN(CanonicalKey key, CanonicalKey::Make(*version->files->schema, options_.seed));
    std::set<std::string> written;
    EntrySorter sorter({.num_shards = static_cast<uint32_t>(version->shards.size()),
                        .max_entries_in_memory = SorterEntries(),
                        .name_run = [&](uint32_t) { return NameTemporaryRun(written); },
                        .local = local_files(),
                        .executor = options_.executor});
    const Status status = VerifyVersion(*version, table.io(), key, sorter, options_.executor, on_progress);
    if (!written.empty()) (void)directory_->files().Delete({written.begin(), written.end()});
    return status;
  }

  KeyIndexStatus status() const override {
    const std::shared_ptr<const IndexVersion> version = Current();
    KeyIndexStatus status;
    status.directory = options_.directory;
    status.snapshot_id = version->snapshot;
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
    return is_writable() ? directory_->Clear() : Status();
  }

  Status Load(std::shared_ptr<IndexVersion>& version) {
    auto manifest = directory_->ReadManifest();
    if (!manifest) {
      if (manifest.error().code() != ErrorCode::kCorruptData) return tl::unexpected(std::move(manifest).error());
      return BeginAnew(manifest.error().ToString());
    }
    if (!*manifest) return {};
    if ((*manifest)->table_uuid != options_.table_uuid) {
      return BeginAnew(fmt::format("it belongs to another table, {}", (*manifest)->table_uuid));
    }
    if ((*manifest)->key_version != key_version_) {
      return BeginAnew(fmt::format("its keys are of another version, {}", (*manifest)->key_version));
    }
    LoadedVersion loaded = LoadVersion(**manifest, *directory_);
    // The process that writes may have replaced the files that a manifest lists right after it was read.
    for (int attempt = 0; !is_writable() && loaded.has_missing_files && attempt < 5; ++attempt) {
      auto newer = directory_->ReadManifest();
      if (!newer || !*newer || (*newer)->key_version != key_version_) break;
      loaded = LoadVersion(**newer, *directory_);
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

  Status Advance(const table::Table& table, const spec::Snapshot* snapshot,
                 const std::map<std::string, KnownKeys>& known) {
    FRAZIL_ASSIGN(CanonicalKey key, CanonicalKey::Make(*table.metadata()->schema(), options_.seed));
    if (key.version() != key_version_) {
      return tl::unexpected(Error(ErrorCode::kInvalidArgument,
                                  fmt::format("the table's keys are of another version than the index's, {} and {}",
                                              key.version(), key_version_))
                                .WithHint("open the index again"));
    }
    const std::shared_ptr<const IndexVersion> from = Current();
    const std::vector<bool> damaged_shards = SayDamage();
    const bool is_repair =
        !incomplete_.empty() || std::find(damaged_shards.begin(), damaged_shards.end(), true) != damaged_shards.end();
    IndexFollow follow(*from, live_, incomplete_, damaged_shards,
                       {.key = std::make_shared<const CanonicalKey>(std::move(key)),
                        .executor = options_.executor,
                        .directory = is_writable() ? directory_.get() : nullptr,
                        .on_notice = options_.on_notice,
                        .on_progress = options_.on_progress});
    FRAZIL_TRY(follow.Compare(table, snapshot, known));
    FRAZIL_ASSIGN(std::vector<RunList> added, ReadKeys(follow));
    const std::shared_ptr<IndexVersion> next = follow.MakeVersion();
    FRAZIL_TRY(ReserveForRuns(*next, added));
    for (const RunList& runs : added) {
      for (const std::shared_ptr<const Run>& run : runs) entries_since_checkpoint_ += run->num_entries();
    }
    current_->Advance(next, std::move(added), damaged_shards);
    follow.UpdateNumbers(live_);
    incomplete_.clear();
    live_files_.reset();
    // What was read again must not be lost to the next restart.
    if (is_repair) next_checkpoint_at_ = 0;
    return {};
  }

  /// Shards that are to be filled again.
  std::vector<bool> SayDamage() {
    std::vector<bool> damaged_shards(Current()->shards.size());
    for (const auto& [shard, why] : current_->damage()) {
      damaged_shards[shard] = true;
      const std::string line = fmt::format("shard {}: {}", shard, why);
      if (std::find(rebuilt_shards_.begin(), rebuilt_shards_.end(), line) != rebuilt_shards_.end()) continue;
      rebuilt_shards_.push_back(line);
      Notice("the key index lost entries and reads them from the table again, " + line);
    }
    return damaged_shards;
  }

  Result<std::vector<RunList>> ReadKeys(IndexFollow& follow) {
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
    const bool to_files = is_writable() && max_entries > checkpoint_entries();
    EntrySorter sorter({.num_shards = static_cast<uint32_t>(Current()->shards.size()),
                        .max_entries_in_memory = in_memory,
                        .name_run = [&](uint32_t) { return to_files ? directory_->NewRunPath() : std::string(); },
                        .local = local_files(),
                        .executor = options_.executor});
    FRAZIL_TRY(follow.Scan(sorter));
    return sorter.Finish();
  }

  Status ReserveForRuns(const IndexVersion& next, const std::vector<RunList>& added) {
    if (options_.budget == nullptr) return {};
    const auto resize = [&] { return run_memory_.Resize(MemoryBytes(Current()->shards) + MemoryBytes(added)); };
    if (resize() || !is_writable()) return resize();
    // Files of the version that is being made must survive the checkpoint of the one before.
    std::set<std::string> kept;
    for (const RunList& runs : added) {
      for (const std::shared_ptr<const Run>& run : runs) kept.insert(run->path());
    }
    next.dictionary.ForEach([&](const FileState& state) {
      if (state.forwarding != nullptr) kept.insert(directory_->PathOf(state.forwarding->file_name));
    });
    if (Current()->files != nullptr) {
      FRAZIL_TRY(current_->FlushMemoryRuns(options_.executor));
      FRAZIL_TRY(WriteManifest(kept));
    }
    return resize();
  }

  // ---- checkpoints

  int64_t checkpoint_entries() const {
    if (options_.budget == nullptr) return options_.checkpoint_entries;
    return std::min(options_.checkpoint_entries, options_.budget->limit_bytes() / kShareOfBudget / kMemoryEntryBytes);
  }

  static int64_t MemoryEntries(const std::vector<RunList>& shards) {
    int64_t count = 0;
    for (const RunList& runs : shards) {
      for (const std::shared_ptr<const Run>& run : runs) count += run->in_memory() ? run->num_entries() : 0;
    }
    return count;
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
    if (!is_writable() || entries_since_checkpoint_ < next_checkpoint_at_) return;
    if (Status status = Checkpoint(); !status) {
      if (!is_checkpoint_failing_) {
        Notice("the key index stays in memory for now, its checkpoint failed: " + status.error().ToString());
      }
      is_checkpoint_failing_ = true;
      next_checkpoint_at_ = entries_since_checkpoint_ + checkpoint_entries() / 4 + 1;
    }
  }

  Status WriteManifest(std::set<std::string> also_kept) {
    FRAZIL_ASSIGN(checkpointed_, current_->WriteManifest(options_.table_uuid, key_version_, std::move(also_kept)));
    is_checkpoint_failing_ = false;
    entries_since_checkpoint_ = 0;
    next_checkpoint_at_ = checkpoint_entries();
    if (options_.budget != nullptr) (void)run_memory_.Resize(MemoryBytes(checkpointed_->shards));  // less than before
    return {};
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

  std::string NameTemporaryRun(std::set<std::string>& written) {
    if (!is_writable()) return "";
    return *written.insert(directory_->NewRunPath()).first;
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
  std::shared_ptr<const IndexVersion> checkpointed_;
  bool is_checkpoint_failing_ = false;
  int64_t next_checkpoint_at_ = 0;
  int64_t entries_since_checkpoint_ = 0;  ///< that came to be read from the table again after a crash

  std::map<uint32_t, std::string> damage_at_opening_;
  std::unique_ptr<CurrentVersion> current_;
  std::unique_ptr<MergeThread> merges_;  // last: its thread uses the others
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
