#include "frazil/ingest/verify.h"

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
#include "frazil/table/marker.h"
#include "frazil/table/scan_planner.h"

namespace frazil::ingest {
namespace {

using Kind = VerifyDifference::Kind;

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

std::string ValueText(const arrow::Array& array, int64_t row) {
  if (array.IsNull(row)) return "null";
  const auto scalar = array.GetScalar(row);
  return scalar.ok() ? "'" + (*scalar)->ToString() + "'" : "?";
}

class Verification {
 public:
  Verification(const table::Table& table, RecordSource& source, RecordDecoder& decoder, const VerifyOptions& options)
      : table_(table), source_(source), decoder_(decoder), options_(options), sample_(options.sample_keys) {}

  Result<VerifyReport> Run() {
    FRAZIL_TRY(FindEnd());
    FRAZIL_ASSIGN(plan_, table::PlanScan(table_, table_.metadata()->current_snapshot(), expr::Expression::True()));
    schema_ = plan_.schema;
    FRAZIL_ASSIGN(auto key, index::CanonicalKey::Make(*schema_, 0));
    key_.emplace(std::move(key));
    FRAZIL_TRY(ReadSource());
    FRAZIL_TRY(ReadTable());
    for (size_t bucket = 0; bucket < VerifyBuckets::kNumBuckets; ++bucket) {
      FRAZIL_TRY(CheckStop());
      FRAZIL_TRY(CompareBucket(bucket));
    }
    return std::move(report_);
  }

 private:
  Status FindEnd();
  Status ReadSource();
  Status DivideChanges();
  Status ReadTable();
  Status CompareBucket(size_t bucket);
  void CompareKey(const arrow::RecordBatch& changes, int64_t change, const arrow::RecordBatch* rows,
                  const std::vector<int64_t>& of_key);

  Status CheckStop() const {
    if (options_.stop == nullptr || !*options_.stop) return {};
    return Fail(ErrorCode::kShuttingDown, "interrupted");
  }
  void ReportProgress() const {
    if (options_.on_progress) options_.on_progress(progress_);
  }
  Result<std::vector<Hash96>> HashesOf(const arrow::RecordBatch& rows, std::vector<bool>& has_no_key) const;
  std::string KeyText(const arrow::RecordBatch& rows, int64_t row) const;
  void Add(Kind kind, std::string key, std::string detail);

  const table::Table& table_;
  RecordSource& source_;
  RecordDecoder& decoder_;
  const VerifyOptions& options_;
  KeySample sample_;
  table::ScanPlan plan_;
  spec::SchemaPtr schema_;
  std::optional<index::CanonicalKey> key_;
  SourcePositions start_;
  bool is_history_whole_ = true;  ///< the source begins at 0: a key that it does not have never was
  std::unique_ptr<VerifyBuckets> changes_;
  std::unique_ptr<VerifyBuckets> rows_;
  VerifyProgress progress_;
  VerifyReport report_;
};

/// Where the table stands, and where the source begins.
Status Verification::FindEnd() {
  const spec::Snapshot* head = table_.metadata()->current_snapshot();
  FRAZIL_ASSIGN(const table::EffectiveMarker effective, table::FindEffectiveMarker(table_, spec::kMainBranch));
  const auto found = effective.marker.pipelines.find(options_.pipeline_id);
  if (head == nullptr || found == effective.marker.pipelines.end()) {
    std::string known;
    for (const auto& [id, marker] : effective.marker.pipelines) known += (known.empty() ? "" : ", ") + id;
    return Fail(ErrorCode::kInvalidArgument, "the table has no progress of pipeline '{}' (it knows: {})",
                options_.pipeline_id, known.empty() ? "none" : known);
  }
  report_.snapshot_id = head->id;
  report_.positions = found->second.partitions;
  FRAZIL_ASSIGN(const auto bounds, source_.Bounds());
  for (const auto& [partition, position] : report_.positions) {
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

Status Verification::ReadSource() {
  constexpr size_t kPollRecords = 10'000;
  constexpr std::chrono::milliseconds kPollTime{500};
  if (!start_.empty()) FRAZIL_TRY(source_.Assign(start_));
  std::set<int32_t> pending;
  for (const auto& [partition, position] : start_) pending.insert(partition);
  while (!pending.empty()) {
    FRAZIL_TRY(CheckStop());
    FRAZIL_ASSIGN(const auto records, source_.Poll(kPollRecords, kPollTime));
    for (const SourceRecord& record : records) {
      const auto end = report_.positions.find(record.partition);
      if (end == report_.positions.end() || record.offset >= end->second.next) continue;
      ++report_.records;
      FRAZIL_ASSIGN(const Decoded decoded, decoder_.Decode(record));
      if (decoded == Decoded::kPoison) ++report_.poison;
      if (decoded == Decoded::kNeedsSchema) {
        return Fail(ErrorCode::kInvalidTable,
                    "the table's schema does not fit a record that its marker passed: partition {}, offset {}",
                    record.partition, record.offset);
      }
      if (decoder_.buffered_bytes() >= std::min(kDecodeBytes, options_.memory_bytes)) FRAZIL_TRY(DivideChanges());
    }
    progress_.records = report_.records;
    ReportProgress();
    for (const auto& [partition, position] : source_.Positions()) {
      const auto end = report_.positions.find(partition);
      if (end != report_.positions.end() && position.next >= end->second.next) pending.erase(partition);
    }
  }
  return DivideChanges();
}

Status Verification::DivideChanges() {
  if (decoder_.num_rows() == 0 && changes_) return {};
  FRAZIL_ASSIGN(const ChangeBatch batch, decoder_.Finish());
  std::vector<bool> has_no_key;
  FRAZIL_ASSIGN(const std::vector<Hash96> hashes, HashesOf(*batch.rows, has_no_key));
  std::vector<int> bucket_of(hashes.size(), -1);
  arrow::BooleanBuilder deleted;
  for (size_t row = 0; row < hashes.size(); ++row) {
    if (!deleted.Append(batch.kinds[row] == ChangeKind::kTombstone).ok()) {
      return Fail(ErrorCode::kResourceExhausted, "out of memory while verifying");
    }
    if (batch.kinds[row] == ChangeKind::kPoison || !sample_.Learn(hashes[row])) continue;
    bucket_of[row] = static_cast<int>(VerifyBuckets::BucketOf(hashes[row]));
  }
  const auto flags = deleted.Finish();
  const auto with_flags =
      batch.rows->AddColumn(batch.rows->num_columns(), arrow::field(kDeletedColumn, arrow::boolean()), *flags);
  if (!with_flags.ok()) return Fail(ErrorCode::kInternal, "cannot verify: {}", with_flags.status().message());
  if (!changes_) {
    changes_ =
        std::make_unique<VerifyBuckets>((*with_flags)->schema(), options_.memory_bytes / 2, options_.temp_directory);
  }
  return changes_->Add(**with_flags, bucket_of);
}

Status Verification::ReadTable() {
  auto equality_deletes = std::make_shared<scan::EqualityDeletes>(table_.io());
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
          Add(Kind::kExtra, KeyText(*rows, static_cast<int64_t>(row)), "a row without a key");
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

Status Verification::CompareBucket(size_t bucket) {
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
        Add(Kind::kExtra, KeyText(*rows, row), "the source has no record of this key");
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
  for (const auto& [change, hash] : in_order) CompareKey(*changes, change, rows.get(), rows_of[hash]);
  return {};
}

void Verification::CompareKey(const arrow::RecordBatch& changes, int64_t change, const arrow::RecordBatch* rows,
                              const std::vector<int64_t>& of_key) {
  const auto& deleted = static_cast<const arrow::BooleanArray&>(*changes.column(changes.num_columns() - 1));
  if (deleted.Value(change)) {
    for (const int64_t row : of_key) Add(Kind::kExtra, KeyText(*rows, row), "the source deleted this key");
    return;
  }
  if (of_key.empty()) {
    Add(Kind::kMissing, KeyText(changes, change), "the table has no row of this key");
    return;
  }
  if (of_key.size() > 1) {
    Add(Kind::kExtra, KeyText(changes, change), fmt::format("the table has {} rows of this key", of_key.size()));
  }
  const int64_t row = of_key.front();
  std::string detail;
  for (int i = 0; i < rows->num_columns(); ++i) {
    const std::string& name = rows->schema()->field(i)->name();
    const std::shared_ptr<arrow::Array> wanted = changes.GetColumnByName(name);
    const std::shared_ptr<arrow::Array>& found = rows->column(i);
    const auto options = arrow::EqualOptions::Defaults().nans_equal(true);
    if (wanted && found->RangeEquals(row, row + 1, change, *wanted, options)) continue;
    detail += fmt::format("{}{}: the table has {}, the source {}", detail.empty() ? "" : "; ", name,
                          ValueText(*found, row), wanted ? ValueText(*wanted, change) : "no such column");
  }
  if (!detail.empty()) Add(Kind::kDifferent, KeyText(changes, change), std::move(detail));
}

Result<std::vector<Hash96>> Verification::HashesOf(const arrow::RecordBatch& rows,
                                                   std::vector<bool>& has_no_key) const {
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

std::string Verification::KeyText(const arrow::RecordBatch& rows, int64_t row) const {
  std::string text;
  for (const spec::FieldId id : key_->field_ids()) {
    const std::string& name = schema_->FindField(id)->name;
    const auto column = rows.GetColumnByName(name);
    const auto value = column->GetScalar(row);
    text += fmt::format("{}{}={}", text.empty() ? "" : ", ", name, value.ok() ? (*value)->ToString() : "?");
  }
  return text;
}

void Verification::Add(Kind kind, std::string key, std::string detail) {
  ++(kind == Kind::kMissing ? report_.missing : kind == Kind::kExtra ? report_.extra : report_.different);
  if (report_.differences.size() < options_.max_listed) {
    report_.differences.push_back({kind, std::move(key), std::move(detail)});
  }
}

}  // namespace

Result<VerifyReport> VerifyTable(const table::Table& table, RecordSource& source, RecordDecoder& decoder,
                                 const VerifyOptions& options) {
  return Verification(table, source, decoder, options).Run();
}

}  // namespace frazil::ingest
