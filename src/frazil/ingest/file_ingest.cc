#include "frazil/ingest/file_ingest.h"

#include <future>

#include "frazil/ingest/batch_commit.h"
#include "frazil/ingest/identifier_fields.h"
#include "frazil/ingest/start_commit.h"
#include "frazil/ingest/start_index.h"

namespace frazil::ingest {
namespace {

/// How often a long read reports, in records.
constexpr int64_t kProgressEvery = 20'000;
/// Arrow's buffers double as they grow, and a batch being committed coexists with the next: a batch may take this part
/// of the memory limit.
constexpr int64_t kBatchShareOfLimit = 8;
/// A file has no partitions.
constexpr int32_t kPartition = 0;

class FileIngest {
 public:
  FileIngest(table::Table& table, FileSource& source, const FileIngestOptions& options)
      : table_(table),
        source_(source),
        options_(options),
        clock_(options.clock != nullptr ? *options.clock : Clock::System()),
        pipeline_{.id = source.id(), .writer = "frazil ingest", .source = source.identity(), .num_partitions = {}},
        index_options_{.directory = options.index_directory,
                       .dedupe = options.dedupe,
                       .executor = options.executor,
                       .budget = options.budget,
                       .on_notice = options.on_notice,
                       .on_progress = options.on_index_progress} {}

  Result<IngestProgress> Run() {
    FRAZIL_TRY(Start());
    FRAZIL_ASSIGN(JsonDecoder decoder, JsonDecoder::Make(schema_, options_.decoder));
    Status status = ReadAll(decoder);
    Status committed = WaitForCommit();
    progress_.ignored_members = decoder.ignored_members();
    Report();
    KeepIndex(started_, index_options_);
    // A commit that failed explains more than what was found behind it.
    FRAZIL_TRY(committed);
    FRAZIL_TRY(status);
    return progress_;
  }

 private:
  Status Start() {
    FRAZIL_TRY(CheckFormat(table_, "deletion vectors need version 3"));
    FRAZIL_ASSIGN(const table::EffectiveMarker effective, table::FindEffectiveMarker(table_, spec::kMainBranch));
    const bool is_in_property = effective.property && effective.property->marker.pipelines.contains(pipeline_.id);
    const std::string hint =
        std::string("decide with --reset-offsets earliest (read all again)") +
        (is_in_property ? " or --reset-offsets property (go on where the table property says)" : "");
    FRAZIL_ASSIGN(const StartPosition start, FindStartPosition(effective, pipeline_.id, options_.reset_offsets, hint));
    FRAZIL_TRY(source_.CheckSame(start.recorded_source));
    if (!start.notice.empty()) Notice(start.notice);
    if (start.next() > 0) Notice(fmt::format("going on after {} committed records of {}", start.next(), pipeline_.id));
    source_.StopOn(options_.stop);
    FRAZIL_TRY(source_.SkipTo(start.next()));
    // All was checked: a run that is refused leaves the table as it was.
    if (!options_.identifier_fields.empty()) {
      FRAZIL_TRY(EnsureIdentifierFields(table_, options_.identifier_fields, clock_));
    }
    FRAZIL_TRY(PrepareFormat(table_, clock_, {}));
    schema_ = table_.metadata()->schema();
    FRAZIL_ASSIGN(started_, OpenStartIndex(table_, index_options_, clock_));
    if (start.is_reset) {
      PipelineProgress progress;
      progress.next[kPartition] = {.next = start.next(), .leader_epoch = {}};
      FRAZIL_TRY(CommitStart(table_, pipeline_, progress, clock_));
    }
    progress_.committed_records = start.next();
    batch_start_ = start.next();
    return FollowFromStart(table_, started_, effective.marker.pipelines.empty(), index_options_, clock_);
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
    batch_.ranges[kPartition] = {.start = batch_start_, .end = end, .leader_epoch = {}};
    batch_start_ = end;
    const bool in_background = options_.executor != nullptr && options_.executor->num_threads() > 1;
    commit_ = std::async(in_background ? std::launch::async : std::launch::deferred, [this] { return Commit(); });
    return in_background ? Status() : WaitForCommit();
  }

  Status Commit() {
    FRAZIL_ASSIGN(const CollapsedBatch collapsed, Collapse(batch_, *schema_, *started_.key));
    BatchCommit commit(batch_, collapsed, pipeline_, *started_.index, schema_, clock_,
                       {.landing = LandingMode::kNever,
                        .executor = options_.executor,
                        .stages = nullptr,
                        .key = started_.key.get(),
                        .landed = &landed_});
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
    progress_.committed_records = batch_.ranges.at(kPartition).end;
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
  const StartIndexOptions index_options_;
  spec::SchemaPtr schema_;
  StartedIndex started_;
  LandedToStrikeOut landed_;
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
