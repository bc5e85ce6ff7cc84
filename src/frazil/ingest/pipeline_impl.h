#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "frazil/ingest/commit_lane.h"
#include "frazil/ingest/commit_schedule.h"
#include "frazil/ingest/landing_drain.h"
#include "frazil/ingest/late_partitions.h"
#include "frazil/ingest/open_batch.h"
#include "frazil/ingest/pipeline.h"
#include "frazil/ingest/pipeline_control.h"
#include "frazil/ingest/pipeline_status.h"
#include "frazil/ingest/poison_guard.h"
#include "frazil/ingest/start_index.h"
#include "frazil/ingest/wait_loop.h"
#include "frazil/table/writer_lease.h"

namespace frazil::ingest {

/// How long a look for records may wait, and how soon a request from outside is noticed.
inline constexpr std::chrono::milliseconds kPollTimeout{50};
/// How often the source is asked for its ends when nothing else asks.
inline constexpr int64_t kBoundsEveryMs = 10'000;

// Internal: the parts of a pipeline, and the thread that starts, reads and hands batches over. Its life is in pipeline.cc,
// what it does with records in pipeline_reading.cc, with batches in pipeline_committing.cc.
class Pipeline::Impl {
 public:
  Impl(table::Table table, std::unique_ptr<RecordSource> source, std::unique_ptr<RecordDecoder> decoder,
       std::unique_ptr<DeadLetters> dead_letters, PipelineOptions options);

  Status Run();
  PipelineControl& control() { return control_; }
  PipelineStatus status() const { return board_.Read(); }

 private:
  // Life.
  Status RunFromStart();
  Status Start();
  Status StartOnce();
  /// Before the table is changed: a bound by offsets has to be of the partitions that there are.
  Status CheckBound();
  Status FindBoundedEnds(const SourcePositions& positions);
  std::map<int32_t, PartitionBounds> BoundsToRead(const SourcePositions& next) const;
  /// What the table has to be like; changes it.
  Status PrepareTable();
  Status WaitPaused();
  Result<std::unique_ptr<table::WriterLease>> NewLease() const;
  /// Of a paused pipeline: what waits for it; not known, while the source does not answer.
  void LookAtLag();
  Status TakeLease();
  /// Says, while no batch is being committed, that no file waits for its commit.
  void AdvanceLease();
  /// Says once what others' writes mean for landing files; starts to drain them when they have turned landing off.
  Status LookAfterLanding();
  void TellOfReplacedPartitions(const std::vector<spec::SequenceNumber>& landed);
  /// What became of a drain of landing files that has ended.
  void TellOfDrain();
  Status Finish();
  bool IsAtBoundedEnd() const;

  // Reading.
  Status PollOnce();
  Status TakeRecords(std::span<const SourceRecord> records);
  /// Adds what was taken to the counts, up to the record that it failed at.
  Status TakeEach(std::span<const SourceRecord> records, int64_t& num_taken, int64_t& bytes);
  /// Decodes until a record is no row; returns how many were passed, those among them that wait or are not to be read.
  /// `outcome`: of the record behind those, else kRow. Adds the rows to `num_taken` and `bytes`.
  size_t DecodeRows(std::span<const SourceRecord> records, Result<Decoded>& outcome, int64_t& num_taken,
                    int64_t& bytes);
  /// Behind the end of a bounded run.
  bool IsBeyondEnd(const SourceRecord& record) const;
  /// A record that is no row, or whose decoder waits for the registry.
  Status TakeRecord(const SourceRecord& record, Result<Decoded> decoded);
  Status TakePoison(const SourceRecord& record, const std::string& why);
  /// False: the record is poison after all.
  Result<bool> Evolve(const SourceRecord& record);
  Status CheckLimits();
  SourcePositions PositionsToCover() const;
  void TellOfTombstones();
  Status CheckTombstones();
  /// Asks the source for its bounds.
  Result<bool> IsAtEnd();
  Status KeepHouse();
  Status LookAtBounds();
  Status ReleaseLatePartitions();
  Status LookAtEmptyPartitions();
  void ShowBuffer();

  // Committing.
  bool IsDue() const;
  Status CutIfDue();
  enum class CutMode { kIfProgress, kEvenIfEmpty };
  Status Cut(CutMode mode = CutMode::kIfProgress);
  Status FlushDeadLetters();
  bool MayWaitForLetters(const Error& error) const;
  /// That the batch came from the topic that the marker names.
  Status CheckSource();
  Status AwaitLane(bool is_backpressure);
  Status Settle();

  /// Tries until it works, time does not mend it, or somebody says stop.
  Status Patiently(WaitLoop::Until until, const std::function<Status()>& attempt);
  /// For what asks nobody but table and store.
  Status PatientlyOnTable(const std::function<Status()>& attempt);
  Status Patiently(WaitLoop::Until until, const std::function<Status()>& attempt,
                   const std::function<bool(const Error&)>& is_mended);
  void Notice(const std::string& line);

  const PipelineOptions options_;
  Clock& clock_;
  table::Table table_;
  const std::unique_ptr<RecordSource> source_;
  const std::unique_ptr<RecordDecoder> decoder_;
  const std::unique_ptr<DeadLetters> dead_letters_;
  PipelineIdentity pipeline_;
  PipelineControl control_;
  StatusBoard board_;
  PoisonGuard guard_;
  CommitSchedule schedule_;
  OpenBatch batch_;
  const StartIndexOptions index_options_;
  StartedIndex started_;
  std::mutex notice_mutex_;

  std::map<int32_t, PartitionBounds> bounds_;  ///< as last seen
  LatePartitions late_;
  bool told_of_moved_keys_ = false;
  bool told_of_tombstones_ = false;
  std::map<int32_t, int64_t> bounded_ends_;
  bool is_first_start_ = true;
  bool was_followed_ = false;
  bool must_start_again_ = false;  ///< the error that comes out of RunFromStart() asks for it
  int64_t starts_without_commit_ = 0;
  bool is_finishing_ = false;
  bool is_landing_off_ = false;                 ///< and people were told
  std::set<spec::SnapshotId> told_overwrites_;  ///< see OverwritesOfPartitions()
  std::optional<spec::SnapshotId> told_up_to_;  ///< of those behind it
  int64_t looked_at_bounds_ms_ = 0;
  int64_t looked_at_property_ms_ = 0;
  int64_t progress_since_ms_ = 0;
  int64_t committed_ms_ = 0;  ///< the age of the marker: from before this process, too
  int64_t read_ms_ = 0;       ///< the source answered; at the start the marker says it
  std::optional<std::chrono::milliseconds> tombstone_retention_;
  std::optional<WaitLoop> poll_wait_;    ///< while the source does not answer
  std::optional<WaitLoop> bounds_wait_;  ///< while records may come, but not the bounds
  int64_t looked_for_partitions_ms_ = 0;
  int64_t looked_at_empty_ms_ = 0;
  std::unique_ptr<table::WriterLease> lease_;  ///< while it runs; null: it cannot be written

  LandingDrain drain_;
  CommitLane lane_;  // last: it is waited for before what it uses goes
};

}  // namespace frazil::ingest
