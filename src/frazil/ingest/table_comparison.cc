#include "frazil/ingest/table_comparison.h"

#include <algorithm>
#include <chrono>
#include <map>
#include <set>
#include <unordered_map>

#include <arrow/api.h>

#include "frazil/index/canonical_key.h"
#include "frazil/ingest/verify_buckets.h"
#include "frazil/scan/equality_deletes.h"
#include "frazil/scan/file_reader.h"
#include "frazil/table/scan_planner.h"

namespace frazil::ingest {
namespace {

using Kind = KeyDifference::Kind;
using Wanted = KeyDifference::Wanted;

constexpr char kDeletedColumn[] = "$deleted";  // no column of a table can be called that and have another meaning here

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
    for (size_t bucket = 0; bucket < VerifyBuckets::kNumBuckets; ++bucket) {
      FRAZIL_TRY(CheckStop());
      FRAZIL_TRY(CompareBucket(bucket));
    }
    return std::move(report_);
  }

 private:
  Status FindStart();
  Status ReadSource();
  Status DivideChanges();
  Status ReadTable();
  Status CompareBucket(size_t bucket);
  Status CompareKey(const std::shared_ptr<arrow::RecordBatch>& changes, int64_t change,
                    const std::shared_ptr<arrow::RecordBatch>& rows, const std::vector<int64_t>& of_key);

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
  std::unique_ptr<VerifyBuckets> changes_;
  std::unique_ptr<VerifyBuckets> rows_;
  ComparisonProgress progress_;
  ComparisonReport report_;
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
      if (decoded == Decoded::kPoison) {
        ++report_.poison;
        if (options_.on_poison) FRAZIL_TRY(options_.on_poison(record, decoder_.why()));
      }
      if (decoded == Decoded::kNeedsSchema) {
        report_.needs_schema = fmt::format("partition {}, offset {}", record.partition, record.offset);
        return {};
      }
      if (decoder_.buffered_bytes() >= std::min(kDecodeBytes, options_.memory_bytes)) FRAZIL_TRY(DivideChanges());
    }
    progress_.records = report_.records;
    ReportProgress();
    for (const auto& [partition, position] : source_.Positions()) {
      const auto end = options_.end.find(partition);
      if (end != options_.end.end() && position.next >= end->second.next) pending.erase(partition);
    }
  }
  return DivideChanges();
}

Status Comparison::DivideChanges() {
  if (decoder_.num_rows() == 0 && changes_) return {};
  FRAZIL_ASSIGN(const ChangeBatch batch, decoder_.Finish());
  std::vector<bool> has_no_key;
  FRAZIL_ASSIGN(const std::vector<Hash96> hashes, HashesOf(*batch.rows, has_no_key));
  std::vector<int> bucket_of(hashes.size(), -1);
  arrow::BooleanBuilder deleted;
  for (size_t row = 0; row < hashes.size(); ++row) {
    if (!deleted.Append(batch.kinds[row] == ChangeKind::kTombstone).ok()) {
      return Fail(ErrorCode::kResourceExhausted, "out of memory while comparing");
    }
    if (batch.kinds[row] == ChangeKind::kPoison || !sample_.Learn(hashes[row])) continue;
    bucket_of[row] = static_cast<int>(VerifyBuckets::BucketOf(hashes[row]));
  }
  const auto flags = deleted.Finish();
  const auto with_flags =
      batch.rows->AddColumn(batch.rows->num_columns(), arrow::field(kDeletedColumn, arrow::boolean()), *flags);
  if (!with_flags.ok()) return Fail(ErrorCode::kInternal, "cannot compare: {}", with_flags.status().message());
  if (!changes_) {
    changes_ =
        std::make_unique<VerifyBuckets>((*with_flags)->schema(), options_.memory_bytes / 2, options_.temp_directory);
  }
  return changes_->Add(**with_flags, bucket_of);
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

Status Comparison::CompareBucket(size_t bucket) {
  FRAZIL_ASSIGN(const auto changes, changes_->Take(bucket));
  std::vector<bool> has_no_key;
  FRAZIL_ASSIGN(const std::vector<Hash96> change_hashes, HashesOf(*changes, has_no_key));
  std::unordered_map<Hash96, int64_t, HashOfHash> last_change;
  for (size_t i = 0; i < change_hashes.size(); ++i) {
    if (sample_.Has(change_hashes[i])) last_change[change_hashes[i]] = static_cast<int64_t>(i);
  }

  std::shared_ptr<arrow::RecordBatch> rows;
  std::unordered_map<Hash96, std::vector<int64_t>, HashOfHash> rows_of;
  if (rows_) {
    FRAZIL_ASSIGN(rows, rows_->Take(bucket));
    FRAZIL_ASSIGN(const std::vector<Hash96> row_hashes, HashesOf(*rows, has_no_key));
    for (size_t i = 0; i < row_hashes.size(); ++i) {
      const auto row = static_cast<int64_t>(i);
      if (last_change.contains(row_hashes[i])) {
        rows_of[row_hashes[i]].push_back(row);
        ++report_.rows;
      } else if (is_history_whole_) {
        ++report_.rows;
        FRAZIL_TRY(Tell({.kind = Kind::kExtra, .wanted = Wanted::kNever, .rows = rows, .row = row, .num_rows = 1}));
      } else {
        ++report_.rows_not_judged;
      }
    }
  }
  report_.keys += static_cast<int64_t>(last_change.size());
  // In the order of the source, so that the same table always gives the same list.
  std::vector<std::pair<int64_t, Hash96>> in_order;
  for (const auto& [hash, change] : last_change) in_order.emplace_back(change, hash);
  std::sort(in_order.begin(), in_order.end());
  for (const auto& [change, hash] : in_order) FRAZIL_TRY(CompareKey(changes, change, rows, rows_of[hash]));
  return {};
}

Status Comparison::CompareKey(const std::shared_ptr<arrow::RecordBatch>& changes, int64_t change,
                              const std::shared_ptr<arrow::RecordBatch>& rows, const std::vector<int64_t>& of_key) {
  const auto& deleted = static_cast<const arrow::BooleanArray&>(*changes->column(changes->num_columns() - 1));
  KeyDifference difference{.wanted = deleted.Value(change) ? Wanted::kDeleted : Wanted::kValue,
                           .changes = changes,
                           .change = change,
                           .rows = of_key.empty() ? nullptr : rows,
                           .row = of_key.empty() ? -1 : of_key.front(),
                           .num_rows = of_key.size()};
  if (difference.wanted == Wanted::kDeleted) {
    difference.kind = Kind::kExtra;
    return of_key.empty() ? Status() : Tell(difference);
  }
  if (of_key.empty()) {
    difference.kind = Kind::kMissing;
    return Tell(difference);
  }
  if (of_key.size() > 1) {
    difference.kind = Kind::kExtra;
    FRAZIL_TRY(Tell(difference));
  }
  difference.kind = Kind::kDifferent;
  for (int i = 0; i < rows->num_columns(); ++i) {
    if (!HasSameValue(*rows, i, difference.row, *changes, change)) return Tell(difference);
  }
  return {};
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
