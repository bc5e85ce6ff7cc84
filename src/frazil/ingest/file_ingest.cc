#include "frazil/ingest/file_ingest.h"

#include <future>

#include "frazil/index/index_directory.h"
#include "frazil/index/key_seed.h"
#include "frazil/ingest/batch_commit.h"
#include "frazil/ingest/start_commit.h"

namespace frazil::ingest {
namespace {

/// How often a long read reports, in records.
constexpr int64_t kProgressEvery = 20'000;
/// Arrow's buffers double as they grow, and a batch being committed coexists with the next: a batch may take this part
/// of the memory limit.
constexpr int64_t kBatchShareOfLimit = 8;

class FileIngest {
 public:
  FileIngest(table::Table& table, FileSource& source, const FileIngestOptions& options)
      : table_(table),
        source_(source),
        options_(options),
        clock_(options.clock != nullptr ? *options.clock : Clock::System()),
        pipeline_{.id = source.id(), .writer = "frazil ingest", .source = source.identity()} {}

  Result<IngestProgress> Run() {
    FRAZIL_TRY(Start());
    FRAZIL_ASSIGN(JsonDecoder decoder, JsonDecoder::Make(schema_, options_.decoder));
    Status status = ReadAll(decoder);
    Status committed = WaitForCommit();
    progress_.ignored_members = decoder.ignored_members();
    Report();
    KeepIndex();
    // A commit that failed explains more than what was found behind it.
    FRAZIL_TRY(committed);
    FRAZIL_TRY(status);
    return progress_;
  }

 private:
  Status Start() {
    if (const int version = table_.metadata()->format_version; version < 3) {
      return tl::unexpected(Error(ErrorCode::kNotSupported, fmt::format("upserts into a table of format version {}: {}",
                                                                        version, table_.name().ToString()))
                                .WithHint("deletion vectors need version 3"));
    }
    FRAZIL_TRY(AssignRowIds(table_, clock_));
    schema_ = table_.metadata()->schema();
    FRAZIL_TRY(OpenIndex());

    FRAZIL_ASSIGN(const table::EffectiveMarker effective, table::FindEffectiveMarker(table_, spec::kMainBranch));
    FRAZIL_ASSIGN(const StartPosition start, FindStartPosition(effective, pipeline_.id, options_.reset_offsets));
    FRAZIL_TRY(source_.CheckSame(start.recorded_source));
    if (!start.notice.empty()) Notice(start.notice);
    if (start.next > 0) Notice(fmt::format("going on after {} committed records of {}", start.next, pipeline_.id));
    source_.StopOn(options_.stop);
    FRAZIL_TRY(source_.SkipTo(start.next));
    if (start.is_reset) FRAZIL_TRY(CommitStart(table_, pipeline_, start.next, clock_));
    progress_.committed_records = start.next;
    batch_start_ = start.next;
    return FollowFromStart(effective.marker.pipelines.empty());
  }

  Status OpenIndex() {
    // An index that lives as long as this run needs no seed that others know.
    auto seed = static_cast<uint64_t>(RandomSnapshotNumber());
    if (!options_.index_directory.empty()) {
      const std::optional<uint64_t> local = index::SeedOfIndex(options_.index_directory, table_.metadata()->table_uuid);
      FRAZIL_ASSIGN(seed, index::EnsureKeySeed(table_, local, clock_));
    }
    FRAZIL_ASSIGN(index::CanonicalKey key, index::CanonicalKey::Make(*schema_, seed));
    key_ = std::make_unique<index::CanonicalKey>(std::move(key));
    index::KeyIndexOptions options;
    options.directory = options_.index_directory;
    options.table_uuid = table_.metadata()->table_uuid.ToString();
    options.schema = schema_;
    options.seed = seed;
    options.executor = options_.executor;
    options.budget = options_.budget;
    options.on_notice = options_.on_notice;
    options.on_progress = options_.on_index_progress;
    auto opened = index::OpenKeyIndex(options);
    if (!opened && opened.error().code() == ErrorCode::kIo && !options.directory.empty()) {
      Notice("the key index is built in memory for this run, since its folder cannot be used: " +
             opened.error().ToString());
      options.directory.clear();
      opened = index::OpenKeyIndex(options);
    }
    FRAZIL_ASSIGN(index_, std::move(opened));
    return {};
  }

  /// Brings the index to the head. When it begins from nothing, or nobody has ingested into the table yet, it is the moment
  /// to say that keys have several rows. Later ones are the work of others while we were there, and the next change of
  /// such a key replaces all its rows.
  Status FollowFromStart(bool is_first_ingest) {
    const bool is_asked = is_first_ingest || !index_->snapshot_id() || options_.dedupe != Dedupe::kRefuse;
    FRAZIL_TRY(index_->FollowTo(table_, table_.metadata()->current_snapshot(), {}));
    if (!is_asked) return {};
    FRAZIL_ASSIGN(const DuplicateKeys found, FindDuplicateKeys(table_, *index_));
    if (found.num_keys == 0) return {};
    for (const std::string& example : found.examples) Notice("duplicate key: " + example);
    if (options_.dedupe == Dedupe::kRefuse) {
      // What a long build has kept already must not make the next start believe that all was well.
      index_.reset();
      ForgetIndex();
      return tl::unexpected(
          Error(ErrorCode::kInvalidTable, fmt::format("{} keys have several live rows, {} besides the newest: {}",
                                                      found.num_keys, found.num_older_rows, table_.name().ToString()))
              .WithHint("--dedupe newest keeps the newest row of each key and deletes the others"));
    }
    FRAZIL_ASSIGN(const int64_t num_deleted, DeleteOlderDuplicates(table_, *index_, clock_));
    Notice(fmt::format("deleted {} rows that were not the newest of their key", num_deleted));
    return {};
  }

  void ForgetIndex() {
    if (options_.index_directory.empty()) return;
    const auto folder =
        index::IndexDirectory::Open(options_.index_directory, index::IndexDirectory::Access::kReadWrite);
    if (folder) (void)(*folder)->Clear();  // best effort: the next first ingest asks again anyway
  }

  /// What is not kept is read from the table at the next start, so failing is no failure of the run.
  void KeepIndex() {
    if (Status kept = index_->Checkpoint(); !kept) {
      Notice("the key index of this run could not be kept, the next start reads the table: " + kept.error().ToString());
    }
  }

  Status ReadAll(JsonDecoder& decoder) {
    const int64_t max_batch_bytes = options_.budget == nullptr ? std::numeric_limits<int64_t>::max()
                                                               : options_.budget->limit_bytes() / kBatchShareOfLimit;
    for (;;) {
      if (options_.stop != nullptr && options_.stop->load()) {
        FRAZIL_TRY(WaitForCommit());
        return Fail(ErrorCode::kShuttingDown, "stopped; {} records are committed", progress_.committed_records);
      }
      FRAZIL_ASSIGN(const std::optional<std::string_view> line, source_.Next());
      if (!line) break;
      const int64_t ordinal = source_.next_ordinal() - 1;
      ++progress_.records;
      if (Status status = decoder.Decode(*line); !status) {
        if (options_.on_poison == PoisonPolicy::kFail) {
          // What came before the record is good: it is committed, so that a mended file goes on at this record.
          FRAZIL_TRY(Cut(decoder, ordinal));
          FRAZIL_TRY(WaitForCommit());
          return tl::unexpected(std::move(status).error().WithContext(
              fmt::format("record {} (line {}) of {}", ordinal, ordinal + 1, pipeline_.id)));
        }
        if (progress_.poison++ == 0) {
          progress_.first_poison = fmt::format("record {}: {}", ordinal, status.error().ToString());
        }
      }
      if (progress_.records % kProgressEvery == 0) Report();
      const bool is_full =
          source_.next_ordinal() - batch_start_ >= options_.commit_every || decoder.buffered_bytes() >= max_batch_bytes;
      if (is_full) FRAZIL_TRY(Cut(decoder, source_.next_ordinal()));
    }
    return Cut(decoder, source_.next_ordinal());
  }

  /// Freezes the buffer and commits it, in the background where there is a thread for that. A batch is never sent while
  /// its predecessor's outcome is unknown.
  Status Cut(JsonDecoder& decoder, int64_t end) {
    if (end == batch_start_) return {};
    FRAZIL_TRY(WaitForCommit());
    FRAZIL_ASSIGN(batch_, decoder.Finish());
    batch_.start = batch_start_;
    batch_.end = end;
    batch_start_ = end;
    const bool in_background = options_.executor != nullptr && options_.executor->num_threads() > 1;
    commit_ = std::async(in_background ? std::launch::async : std::launch::deferred, [this] { return Commit(); });
    return in_background ? Status() : WaitForCommit();
  }

  Status Commit() {
    FRAZIL_ASSIGN(std::vector<KeyChange> changes, Collapse(batch_, *schema_, *key_));
    BatchCommit commit(batch_, std::move(changes), pipeline_, *index_, schema_, options_.executor, clock_);
    FRAZIL_TRY(commit.Run(table_));
    done_.inserts += commit.resolution().num_inserts;
    done_.updates += commit.resolution().num_updates;
    done_.deletes += commit.resolution().num_deletes;
    ++done_.commits;
    return {};
  }

  Status WaitForCommit() {
    if (!commit_.valid()) return {};
    FRAZIL_TRY(commit_.get());
    progress_.inserts = done_.inserts;
    progress_.updates = done_.updates;
    progress_.deletes = done_.deletes;
    progress_.commits = done_.commits;
    progress_.committed_records = batch_.end;
    batch_ = ChangeBatch();
    Report();
    return {};
  }

  void Report() {
    progress_.bytes = source_.bytes_read();
    if (options_.on_progress) options_.on_progress(progress_);
  }

  void Notice(const std::string& line) {
    if (options_.on_notice) options_.on_notice(line);
  }

  table::Table& table_;
  FileSource& source_;
  const FileIngestOptions& options_;
  Clock& clock_;
  const PipelineIdentity pipeline_;
  spec::SchemaPtr schema_;
  std::unique_ptr<index::CanonicalKey> key_;
  std::unique_ptr<index::KeyIndex> index_;
  IngestProgress progress_;
  int64_t batch_start_ = 0;  // of the buffer that is being filled
  ChangeBatch batch_;        // the one being committed
  IngestProgress done_;      // touched by the commit; read after it was waited for
  std::future<Status> commit_;
};

}  // namespace

Result<IngestProgress> IngestFile(table::Table& table, FileSource& source, const FileIngestOptions& options) {
  return FileIngest(table, source, options).Run();
}

}  // namespace frazil::ingest
