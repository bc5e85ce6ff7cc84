#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "frazil/base/clock.h"
#include "frazil/base/executor.h"
#include "frazil/base/memory_budget.h"
#include "frazil/base/result.h"
#include "frazil/ingest/duplicate_keys.h"
#include "frazil/ingest/landing.h"
#include "frazil/ingest/landing_drain.h"
#include "frazil/ingest/record_decoder.h"
#include "frazil/ingest/record_source.h"
#include "frazil/ingest/start_position.h"
#include "frazil/table/table.h"
#include "frazil/table/writer_lease.h"

namespace frazil::ingest {

/// What happens to a record that cannot be taken (ingest.md rule 12).
struct PoisonRule {
  enum class Policy { kFail, kSkip, kDeadLetterTopic, kDeadLetterTable } policy = Policy::kFail;
  /// More than this in a minute stops the pipeline: it is not the records that are wrong then.
  int64_t max_per_minute = 100;
};

/// Where dead letters go; kept by the pipeline, called on its thread. A record counts as handled only after Flush().
class DeadLetters {
 public:
  virtual ~DeadLetters() = default;
  virtual Status Add(const SourceRecord& record, const std::string& why) = 0;
  /// Everything added is durable. Called before the commit that passes the records.
  virtual Status Flush() = 0;
};

struct PipelineOptions {
  std::string id;      ///< the marker's pipeline id: the configured name
  std::string writer;  ///< who we are, for people: "frazil run on <host>"
  StartupMode startup;
  ResetOffsets reset_offsets = ResetOffsets::kRefuse;
  Dedupe dedupe = Dedupe::kRefuse;
  /// What becomes the table's identifier fields when it has none (EnsureIdentifierFields); empty: it has them.
  std::vector<std::string> identifier_fields;
  bool upgrade_table = false;  ///< a v2 table becomes v3 (take-over from Flink); else refused with that hint
  PoisonRule poison;
  /// Freshness target of other engines; at least 10 s. Stretched while a commit would write more than 5 times as many
  /// vector bytes as row bytes.
  std::chrono::milliseconds commit_interval{300'000};
  int64_t commit_max_bytes = int64_t{256} << 20;  ///< of buffered rows; memory may cut earlier
  int64_t commit_max_records = 2'000'000;
  LandingMode landing = LandingMode::kAuto;
  /// Moves the rows of all landing files into their partitions; called where what others do has turned landing off, on a
  /// thread of its own. Empty: people are told to do it.
  LandingDrain::Run drain_landing;
  /// How often the source is asked for new partitions; zero: never, the next start finds them.
  std::chrono::milliseconds discovery_interval{10'000};
  /// End when every partition stands at the bound, which the start finds (`scan.bounded.mode`).
  bool is_bounded = false;
  /// kLatest: where it ends then. kTimestamp: its first record of that time or later, else its end. kSpecificOffsets: these,
  /// which may be to come; of every partition.
  StartupMode bound{.kind = StartupMode::Kind::kLatest};
  /// How often orphan removal is told that we are at work.
  std::chrono::milliseconds lease_renew_every = table::WriterLease::kRenewEvery;
  std::string index_directory;                        ///< empty: in memory
  Executor* executor = nullptr;                       ///< null or one thread: everything on the calling thread
  MemoryBudget* budget = nullptr;                     ///< null: no limit
  Clock* clock = nullptr;                             ///< null: the system's
  std::function<void(const std::string&)> on_notice;  ///< one line for people
};

enum class PipelineState { kStarting, kRunning, kPaused, kWaiting, kDraining, kStopped, kFailed };

/// Where a pipeline stands; a snapshot of counters for status, metrics and the exit report.
struct PipelineStatus {
  PipelineState state = PipelineState::kStarting;
  std::string reason;  ///< why it waits or failed, one line
  int64_t records = 0;
  int64_t bytes = 0;
  int64_t poison = 0;
  std::map<std::string, int64_t> poison_reasons;  ///< by kind, bounded
  std::string first_poison;
  int64_t dead_letters = 0;
  int64_t inserts = 0;
  int64_t updates = 0;
  int64_t deletes = 0;
  int64_t commits = 0;
  int64_t commit_conflicts = 0;
  int64_t commit_retries = 0;
  int64_t commit_failures = 0;
  int64_t starts = 0;  ///< more than one: another writer moved the marker, or the table was rolled back
  double last_commit_seconds = 0;
  std::map<double, int64_t> commit_seconds_histogram;  ///< upper bound (the last one infinite) -> count, not cumulative
  double commit_seconds_sum = 0;
  double longest_commit_seconds = 0;
  int64_t data_files = 0;
  int64_t vectors = 0;
  int64_t row_bytes = 0;
  int64_t vector_bytes = 0;
  std::optional<int64_t> last_commit_ms;    ///< by our clock
  std::optional<int64_t> valid_through_ms;  ///< every record up to this timestamp is in the table
  int64_t commit_interval_ms = 0;           ///< as stretched
  int64_t buffered_records = 0;
  int64_t buffered_bytes = 0;
  double backpressure_seconds = 0;
  std::optional<int64_t> lag_records;  ///< none: the source does not say
  /// Every record of the source up to this timestamp was read; none: not known. What follows is none when nothing waits.
  std::optional<int64_t> read_through_ms;
  std::optional<int64_t> oldest_buffered_ms;         ///< timestamp of the oldest record that waits for a commit
  std::optional<int64_t> oldest_committing_ms;       ///< of the batch that is being committed
  std::map<std::string, int64_t> registry_requests;  ///< "success", "failure" -> requests to the schema registry
  SourcePositions read;                              ///< next to read
  SourcePositions committed;                         ///< next not in the table
  std::map<std::string, double> stage_cpu_seconds;   ///< "decode", "collapse", "look-up", "write", "vectors", "commit"
};

/// Upserts the records of a partitioned source into one table, exactly once, until told to stop (ingest.md).
///
/// It owns every change of its table. Decoding goes on while a batch is resolved, written and committed. A source,
/// registry, catalog or store that goes away is waited for with the reason in the status; nothing is lost.
/// Run() on one thread; the other members from any.
class Pipeline {
 public:
  /// None may be null except `dead_letters`.
  Pipeline(table::Table table, std::unique_ptr<RecordSource> source, std::unique_ptr<RecordDecoder> decoder,
           std::unique_ptr<DeadLetters> dead_letters, PipelineOptions options);
  ~Pipeline();

  /// Runs until Stop() (drains, then ok), the end of a bounded source (ok) or an error that waiting does not mend:
  /// kFenced (evidence and command), kInvalidTable, kNotSupported, a poison record under kFail.
  Status Run();

  /// Commits what is buffered and ends; what is not committed by `deadline` is replayed at the next start.
  void Stop(std::chrono::milliseconds deadline);
  void Pause();  ///< stops reading after committing what is buffered
  void Resume();
  void Drain();  ///< commits what is buffered now, then goes on
  PipelineStatus status() const;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace frazil::ingest
