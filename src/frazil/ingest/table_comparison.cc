#include "frazil/ingest/table_comparison.h"

#include <algorithm>
#include <chrono>
#include <future>
#include <map>
#include <set>
#include <unordered_map>
#include <utility>

#include <arrow/api.h>

#include "frazil/index/canonical_key.h"
#include "frazil/ingest/verify_buckets.h"
#include "frazil/scan/equality_deletes.h"
#include "frazil/scan/file_reader.h"
#include "frazil/table/scan_planner.h"
#include "frazil/write/gather.h"

namespace frazil::ingest {
namespace {

using Kind = KeyDifference::Kind;
using Wanted = KeyDifference::Wanted;

// Beside the table's columns, behind them. What they are called does not matter: they are found by number.
constexpr const char* kChangeColumns[] = {"$deleted", "$partition", "$timestamp"};
enum ChangeColumn { kDeleted, kPartition, kTimestamp, kNumChangeColumns };

/// What is decoded before it is divided: enough rows a bucket to be worth a batch.
constexpr int64_t kDecodeBytes = int64_t{32} << 20;

struct HashOfHash {
  size_t operator()(const Hash96& hash) const { return hash.high ^ hash.low; }
};

/// The smallest hashes of a number of keys: a sample that does not depend on order, and whose keys are complete, since
/// the bound only ever falls.
class KeySample {
 public:
  explicit KeySample(int64_t num_keys) : num_keys_(static_cast<size_t>(num_keys)) {}

  /// Whether a row of this key may belong to the sample; keys are learnt from the source.
  bool Learn(const Hash96& hash) {
    if (num_keys_ == 0) return true;
    if (keys_.size() == num_keys_ && hash > *keys_.rbegin()) return false;
    keys_.insert(hash);
    if (keys_.size() > num_keys_) keys_.erase(std::prev(keys_.end()));
    return true;
  }
  /// Whether it does belong, once the whole source has been read.
  bool Has(const Hash96& hash) const { return num_keys_ == 0 || keys_.size() < num_keys_ || hash <= *keys_.rbegin(); }

 private:
  const size_t num_keys_;
  std::set<Hash96> keys_;
};

/// Of one key, the last record of each partition, rows of a batch each.
struct LastChange {
  LastOfPartition last;  ///< the one that counts
  std::vector<LastOfPartition> others;

  void Take(const LastOfPartition& record) {
    if (record.partition == last.partition) {
      last = record;
    } else {
      const auto known = std::find_if(others.begin(), others.end(),
                                      [&](const auto& other) { return other.partition == record.partition; });
      if (known == others.end()) {
        others.push_back(record);
      } else {
        *known = record;
      }
    }
    if (others.empty()) return;
    const auto newest = std::max_element(others.begin(), others.end());
    if (last < *newest) std::swap(last, *newest);
  }
  bool is_order_unproven() const {
    return std::any_of(others.begin(), others.end(), [this](const LastOfPartition& other) {
      return other.timestamp_ms == last.timestamp_ms || other.timestamp_ms == RowOrigins::kNoTimestamp;
    });
  }
};
using LastChanges = std::unordered_map<Hash96, LastChange, HashOfHash>;

class Comparison {
 public:
  Comparison(const table::Table& table, RecordSource& source, RecordDecoder& decoder, const ComparisonOptions& options)
      : table_(table), source_(source), decoder_(decoder), options_(options), sample_(options.sample_keys) {}

  Result<ComparisonReport> Run() {
    FRAZIL_TRY(FindStart());
    FRAZIL_ASSIGN(plan_, table::PlanScan(table_, table_.metadata()->current_snapshot(), expr::Expression::True()));
    schema_ = plan_.schema;
    FRAZIL_ASSIGN(auto key, index::CanonicalKey::Make(*schema_, 0));
    key_.emplace(std::move(key));
    FRAZIL_TRY(ReadSource());
    if (report_.needs_schema) return std::move(report_);
    FRAZIL_TRY(ReadTable());
    FRAZIL_TRY(CompareBuckets());
    return std::move(report_);
  }

 private:
  Status FindStart();
  Status ReadSource();
  Status DivideChanges();
  Status Divide(const ChangeBatch& batch);
  Status AwaitDivided();
  Status ReadTable();
  Result<bool> IsPoisonAfterAll(const SourceRecord& record);
  Status TakePoison(const SourceRecord& record, const std::string& why);
  Status CompareBuckets();

  /// Of one bucket, made on any thread.
  struct Bucket {
    std::vector<KeyDifference> differences;
    int64_t keys = 0;
    int64_t moved_keys = 0;
    int64_t rows = 0;
    int64_t rows_not_judged = 0;
  };
  Result<Bucket> CompareBucket(size_t number);
  Result<std::shared_ptr<arrow::RecordBatch>> ReadChanges(size_t bucket, LastChanges& last_changes);
  static void CompareKey(const KeyDifference& found, const std::vector<int64_t>& of_key,
                         const arrow::BooleanArray& deleted, std::vector<KeyDifference>& differences);

  Status CheckStop() const {
    if (options_.stop == nullptr || !*options_.stop) return {};
    return Fail(ErrorCode::kShuttingDown, "interrupted");
  }
  void ReportProgress() const {
    if (options_.on_progress) options_.on_progress(progress_);
  }
  Result<std::vector<Hash96>> HashesOf(const arrow::RecordBatch& rows, std::vector<bool>& has_no_key) const;
  Status Tell(const KeyDifference& difference) const { return options_.on_difference(difference); }

  const table::Table& table_;
  RecordSource& source_;
  RecordDecoder& decoder_;
  const ComparisonOptions& options_;
  KeySample sample_;
  table::ScanPlan plan_;
  spec::SchemaPtr schema_;
  std::optional<index::CanonicalKey> key_;
  SourcePositions start_;
  bool is_history_whole_ = true;  ///< the source begins at 0: a key that it does not have never was
  RowOrigins origins_;            ///< of what the decoder holds
  std::unique_ptr<VerifyBuckets> changes_;
  std::unique_ptr<VerifyBuckets> rows_;
  ComparisonProgress progress_;
  ComparisonReport report_;
  std::future<Status> dividing_;  // last: it is waited for before what it uses goes
};

/// Where the source begins.
Status Comparison::FindStart() {
  FRAZIL_ASSIGN(const auto bounds, source_.Bounds());
  for (const auto& [partition, position] : options_.end) {
    const auto bound = bounds.find(partition);
    if (bound == bounds.end() || bound->second.end < position.next) {
      return Fail(ErrorCode::kFenced, "the source ends before the table: partition {} at {}, the table at {}",
                  partition, bound == bounds.end() ? 0 : bound->second.end, position.next);
    }
    const int64_t from = bound->second.log_start;
    is_history_whole_ = is_history_whole_ && from == 0;
    if (from >= position.next) continue;
    start_[partition] = {.next = from, .leader_epoch = std::nullopt};
    progress_.records_to_read += position.next - from;
  }
  return {};
}

Status Comparison::ReadSource() {
  constexpr size_t kPollRecords = 10'000;
  constexpr std::chrono::milliseconds kPollTime{500};
  if (!start_.empty()) FRAZIL_TRY(source_.Assign(start_));
  std::set<int32_t> pending;
  for (const auto& [partition, position] : start_) pending.insert(partition);
  while (!pending.empty()) {
    FRAZIL_TRY(CheckStop());
    FRAZIL_ASSIGN(const auto records, source_.Poll(kPollRecords, kPollTime));
    for (const SourceRecord& record : records) {
      const auto end = options_.end.find(record.partition);
      if (end == options_.end.end() || record.offset >= end->second.next) continue;
      ++report_.records;
      if (record.timestamp_ms) {
        report_.newest_timestamp_ms = std::max(report_.newest_timestamp_ms.value_or(INT64_MIN), *record.timestamp_ms);
      }
      FRAZIL_ASSIGN(const Decoded decoded, decoder_.Decode(record));
      if (decoded == Decoded::kRow) origins_.Add(record.partition, record.timestamp_ms);
      if (decoded == Decoded::kPoison) FRAZIL_TRY(TakePoison(record, decoder_.why()));
      if (decoded == Decoded::kNeedsSchema) {
        FRAZIL_ASSIGN(const bool is_poison, IsPoisonAfterAll(record));
        if (is_poison) continue;
        report_.needs_schema = fmt::format("partition {}, offset {}", record.partition, record.offset);
        return {};
      }
      if (decoder_.buffered_bytes() >= std::min(kDecodeBytes, options_.memory_bytes / 4)) FRAZIL_TRY(DivideChanges());
    }
    progress_.records = report_.records;
    ReportProgress();
    for (const auto& [partition, position] : source_.Positions()) {
      const auto end = options_.end.find(partition);
      if (end != options_.end.end() && position.next >= end->second.next) pending.erase(partition);
    }
  }
  FRAZIL_TRY(DivideChanges());
  return AwaitDivided();
}

Status Comparison::TakePoison(const SourceRecord& record, const std::string& why) {
  ++report_.poison;
  return options_.on_poison ? options_.on_poison(record, why) : Status();
}

/// A record whose schema the table cannot have: what the pipeline made of it, too (Pipeline::Impl::Evolve).
Result<bool> Comparison::IsPoisonAfterAll(const SourceRecord& record) {
  const auto wanted = decoder_.WantedUpdates(*table_.metadata());
  if (wanted) return false;
  if (wanted.error().code() != ErrorCode::kInvalidArgument) return tl::unexpected(wanted.error());
  FRAZIL_TRY(TakePoison(record, wanted.error().ToString()));
  return true;
}

/// What was decoded goes into its buckets, on another thread where there is one, while decoding goes on.
Status Comparison::DivideChanges() {
  FRAZIL_TRY(AwaitDivided());
  if (decoder_.num_rows() == 0 && changes_) return {};
  FRAZIL_ASSIGN(ChangeBatch batch, decoder_.Finish());
  batch.origins = std::exchange(origins_, {});
  if (options_.executor == nullptr || options_.executor->num_threads() < 2) return Divide(batch);
  dividing_ = std::async(std::launch::async, [this, batch = std::move(batch)] { return Divide(batch); });
  return {};
}

Status Comparison::AwaitDivided() { return dividing_.valid() ? dividing_.get() : Status(); }

Status Comparison::Divide(const ChangeBatch& batch) {
  std::vector<bool> has_no_key;
  FRAZIL_ASSIGN(const std::vector<Hash96> hashes, HashesOf(*batch.rows, has_no_key));
  std::vector<int> bucket_of(hashes.size(), -1);
  arrow::BooleanBuilder deleted;
  arrow::Int32Builder partitions;
  arrow::Int64Builder timestamps;
  for (size_t row = 0; row < hashes.size(); ++row) {
    if (!deleted.Append(batch.kinds[row] == ChangeKind::kTombstone).ok()) {
      return Fail(ErrorCode::kResourceExhausted, "out of memory while comparing");
    }
    if (batch.kinds[row] == ChangeKind::kPoison || !sample_.Learn(hashes[row])) continue;
    bucket_of[row] = static_cast<int>(VerifyBuckets::BucketOf(hashes[row]));
  }
  if (!partitions.AppendValues(batch.origins.partitions).ok() ||
      !timestamps.AppendValues(batch.origins.timestamps_ms).ok()) {
    return Fail(ErrorCode::kResourceExhausted, "out of memory while comparing");
  }
  std::vector<std::shared_ptr<arrow::Array>> columns = batch.rows->columns();
  arrow::FieldVector fields = batch.rows->schema()->fields();
  for (const auto& column : {deleted.Finish(), partitions.Finish(), timestamps.Finish()}) {
    if (!column.ok()) return Fail(ErrorCode::kResourceExhausted, "out of memory while comparing");
    fields.push_back(arrow::field(kChangeColumns[fields.size() - static_cast<size_t>(batch.rows->num_columns())],
                                  (*column)->type()));
    columns.push_back(*column);
  }
  const auto changes = arrow::RecordBatch::Make(arrow::schema(fields), batch.rows->num_rows(), std::move(columns));
  if (!changes_) {
    changes_ = std::make_unique<VerifyBuckets>(changes->schema(), options_.memory_bytes / 2, options_.temp_directory);
  }
  return changes_->Add(*changes, bucket_of);
}

Status Comparison::ReadTable() {
  auto equality_deletes =
      std::make_shared<scan::EqualityDeletes>(table_.io(), options_.memory_bytes / 4, options_.temp_directory);
  for (const table::FileScanTask& task : plan_.tasks) {
    FRAZIL_ASSIGN(const auto reader,
                  scan::FileReader::Open(table_.io(), plan_, task, scan::ReadColumns::All(*schema_), equality_deletes));
    for (;;) {
      FRAZIL_TRY(CheckStop());
      FRAZIL_ASSIGN(const std::shared_ptr<arrow::RecordBatch> rows, reader->Next());
      if (!rows) break;
      std::vector<bool> has_no_key;
      FRAZIL_ASSIGN(const std::vector<Hash96> hashes, HashesOf(*rows, has_no_key));
      std::vector<int> bucket_of(hashes.size(), -1);
      for (size_t row = 0; row < hashes.size(); ++row) {
        if (!has_no_key.empty() && has_no_key[row]) {
          FRAZIL_TRY(Tell({.kind = Kind::kExtra,
                           .wanted = Wanted::kHasNoKey,
                           .rows = rows,
                           .row = static_cast<int64_t>(row),
                           .num_rows = 1}));
        } else if (sample_.Has(hashes[row])) {
          bucket_of[row] = static_cast<int>(VerifyBuckets::BucketOf(hashes[row]));
        }
      }
      if (!rows_) {
        rows_ = std::make_unique<VerifyBuckets>(rows->schema(), options_.memory_bytes / 2, options_.temp_directory);
      }
      FRAZIL_TRY(rows_->Add(*rows, bucket_of));
      progress_.rows += rows->num_rows();
      ReportProgress();
    }
  }
  return {};
}

/// As many buckets at a time as there are threads; told is in the buckets' order.
Status Comparison::CompareBuckets() {
  const auto at_once = static_cast<size_t>(options_.executor == nullptr ? 1 : options_.executor->num_threads());
  for (size_t begin = 0; begin < VerifyBuckets::kNumBuckets; begin += at_once) {
    FRAZIL_TRY(CheckStop());
    std::vector<Bucket> buckets(std::min(at_once, VerifyBuckets::kNumBuckets - begin));
    FRAZIL_TRY(ParallelFor(options_.executor, buckets.size(), [&](size_t i) -> Status {
      FRAZIL_ASSIGN(buckets[i], CompareBucket(begin + i));
      return {};
    }));
    for (const Bucket& bucket : buckets) {
      report_.keys += bucket.keys;
      report_.moved_keys += bucket.moved_keys;
      report_.rows += bucket.rows;
      report_.rows_not_judged += bucket.rows_not_judged;
      for (const KeyDifference& difference : bucket.differences) FRAZIL_TRY(options_.on_difference(difference));
    }
  }
  return {};
}

/// The last changes of a bucket's keys, in one batch that has little else: what later ones replaced is dropped while
/// reading, so that a key with millions of records costs no memory.
Result<std::shared_ptr<arrow::RecordBatch>> Comparison::ReadChanges(size_t bucket, LastChanges& last_changes) {
  constexpr int64_t kFewRows = 8'192;
  std::vector<std::shared_ptr<arrow::RecordBatch>> kept;
  int64_t num_kept = 0;
  int64_t num_live = 0;
  const auto keep_live = [&]() -> Status {
    std::vector<LastOfPartition*> live;
    live.reserve(static_cast<size_t>(num_live));
    for (auto& [hash, change] : last_changes) {
      live.push_back(&change.last);
      for (LastOfPartition& other : change.others) live.push_back(&other);
    }
    std::sort(live.begin(), live.end(), [](const auto* a, const auto* b) { return a->row < b->row; });
    std::vector<std::shared_ptr<arrow::RecordBatch>> gathered;
    std::vector<int64_t> rows;
    size_t next = 0;
    int64_t base = 0;
    for (auto& batch : kept) {
      rows.clear();
      for (; next < live.size() && live[next]->row < base + batch->num_rows(); ++next) {
        rows.push_back(live[next]->row - base);
      }
      base += batch->num_rows();
      FRAZIL_ASSIGN(auto some, write::Gather(*batch, rows));
      batch.reset();
      gathered.push_back(std::move(some));
    }
    for (size_t i = 0; i < live.size(); ++i) live[i]->row = static_cast<int64_t>(i);
    num_kept = num_live;
    kept.clear();
    if (gathered.empty()) return {};
    auto whole = arrow::ConcatenateRecordBatches(gathered);
    if (!whole.ok()) return Fail(ErrorCode::kResourceExhausted, "rows to compare: {}", whole.status().message());
    kept.push_back(whole.MoveValueUnsafe());
    return {};
  };
  std::vector<bool> has_no_key;
  FRAZIL_TRY(changes_->Visit(bucket, [&](const std::shared_ptr<arrow::RecordBatch>& batch) -> Status {
    FRAZIL_ASSIGN(const std::vector<Hash96> hashes, HashesOf(*batch, has_no_key));
    const int first = batch->num_columns() - kNumChangeColumns;
    const auto& partitions = static_cast<const arrow::Int32Array&>(*batch->column(first + kPartition));
    const auto& timestamps = static_cast<const arrow::Int64Array&>(*batch->column(first + kTimestamp));
    for (size_t i = 0; i < hashes.size(); ++i) {
      if (!sample_.Has(hashes[i])) continue;
      const auto row = static_cast<int64_t>(i);
      const LastOfPartition record{
          .partition = partitions.Value(row), .timestamp_ms = timestamps.Value(row), .row = num_kept + row};
      const auto [change, is_new] = last_changes.try_emplace(hashes[i], LastChange{.last = record, .others = {}});
      const size_t num_others = change->second.others.size();
      if (!is_new) change->second.Take(record);
      num_live += static_cast<int64_t>(is_new ? 1 : change->second.others.size() - num_others);
    }
    kept.push_back(batch);
    num_kept += batch->num_rows();
    return num_kept > 2 * num_live + kFewRows ? keep_live() : Status();
  }));
  FRAZIL_TRY(keep_live());
  if (!kept.empty()) return std::move(kept.front());
  return changes_->Take(bucket);  // nothing, with its columns
}

Result<Comparison::Bucket> Comparison::CompareBucket(size_t number) {
  Bucket bucket;
  LastChanges last_changes;
  FRAZIL_ASSIGN(const auto changes, ReadChanges(number, last_changes));
  std::shared_ptr<arrow::RecordBatch> rows;
  std::unordered_map<Hash96, std::vector<int64_t>, HashOfHash> rows_of;
  if (rows_) {
    FRAZIL_ASSIGN(rows, rows_->Take(number));
    std::vector<bool> has_no_key;
    FRAZIL_ASSIGN(const std::vector<Hash96> row_hashes, HashesOf(*rows, has_no_key));
    for (size_t i = 0; i < row_hashes.size(); ++i) {
      const auto row = static_cast<int64_t>(i);
      if (last_changes.contains(row_hashes[i])) {
        rows_of[row_hashes[i]].push_back(row);
        ++bucket.rows;
      } else if (is_history_whole_) {
        ++bucket.rows;
        bucket.differences.push_back(
            {.kind = Kind::kExtra, .wanted = Wanted::kNever, .rows = rows, .row = row, .num_rows = 1});
      } else {
        ++bucket.rows_not_judged;
      }
    }
  }
  bucket.keys = static_cast<int64_t>(last_changes.size());
  // In the order of the source, so that the same table always gives the same list.
  std::vector<std::pair<const LastChange*, const Hash96*>> in_order;
  in_order.reserve(last_changes.size());
  for (const auto& [hash, change] : last_changes) {
    in_order.emplace_back(&change, &hash);
    if (!change.others.empty()) ++bucket.moved_keys;
  }
  std::sort(in_order.begin(), in_order.end(),
            [](const auto& a, const auto& b) { return a.first->last.row < b.first->last.row; });
  const auto& deleted =
      static_cast<const arrow::BooleanArray&>(*changes->column(changes->num_columns() - kNumChangeColumns + kDeleted));
  const std::vector<int64_t> no_rows;
  for (const auto& [change, hash] : in_order) {
    const auto found = rows_of.find(*hash);
    CompareKey({.changes = changes,
                .change = change->last.row,
                .rows = rows,
                .is_order_unproven = change->is_order_unproven()},
               found == rows_of.end() ? no_rows : found->second, deleted, bucket.differences);
  }
  return bucket;
}

/// `found`: the change, and the rows that `of_key` is of.
void Comparison::CompareKey(const KeyDifference& found, const std::vector<int64_t>& of_key,
                            const arrow::BooleanArray& deleted, std::vector<KeyDifference>& differences) {
  KeyDifference difference = found;
  difference.wanted = deleted.Value(found.change) ? Wanted::kDeleted : Wanted::kValue;
  difference.num_rows = of_key.size();
  if (of_key.empty()) {
    if (difference.wanted == Wanted::kDeleted) return;
    difference.kind = Kind::kMissing;
    difference.rows.reset();
    differences.push_back(std::move(difference));
    return;
  }
  difference.row = of_key.front();
  if (difference.wanted == Wanted::kDeleted || of_key.size() > 1) {
    difference.kind = Kind::kExtra;
    differences.push_back(difference);
    if (difference.wanted == Wanted::kDeleted) return;
  }
  const arrow::RecordBatch& rows = *difference.rows;
  for (int i = 0; i < rows.num_columns(); ++i) {
    if (HasSameValue(rows, i, difference.row, *difference.changes, difference.change)) continue;
    difference.kind = Kind::kDifferent;
    differences.push_back(std::move(difference));
    return;
  }
}

Result<std::vector<Hash96>> Comparison::HashesOf(const arrow::RecordBatch& rows, std::vector<bool>& has_no_key) const {
  std::vector<std::shared_ptr<arrow::Array>> columns;
  for (const spec::FieldId id : key_->field_ids()) {
    const std::string& name = schema_->FindField(id)->name;
    columns.push_back(rows.GetColumnByName(name));
    if (!columns.back()) return Fail(ErrorCode::kInternal, "a column of the key is not there: {}", name);
  }
  FRAZIL_ASSIGN(index::CanonicalKey::NullableHashes hashes, key_->HashNullableRows(columns));
  has_no_key = std::move(hashes.has_no_key);
  return std::move(hashes.hashes);
}

}  // namespace

bool HasSameValue(const arrow::RecordBatch& rows, int column, int64_t row, const arrow::RecordBatch& changes,
                  int64_t change) {
  const std::shared_ptr<arrow::Array> wanted = changes.GetColumnByName(rows.schema()->field(column)->name());
  const auto options = arrow::EqualOptions::Defaults().nans_equal(true);
  return wanted && rows.column(column)->RangeEquals(row, row + 1, change, *wanted, options);
}

Result<ComparisonReport> CompareTable(const table::Table& table, RecordSource& source, RecordDecoder& decoder,
                                      const ComparisonOptions& options) {
  return Comparison(table, source, decoder, options).Run();
}

}  // namespace frazil::ingest
