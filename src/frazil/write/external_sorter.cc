#include "frazil/write/external_sorter.h"

#include <algorithm>

#include <arrow/api.h>
#include <arrow/util/byte_size.h>

#include "frazil/write/sorted_run.h"

namespace frazil::write {
namespace {

/// Rows are sorted in one piece, and text of a column in one piece has offsets of 32 bits.
constexpr int64_t kMostBuffered = int64_t{1} << 30;

constexpr size_t kMaxMergedRuns = 64;
constexpr int64_t kSortBytesARow = 32;  ///< its prefix, number, place and size

Status CheckArrow(const arrow::Status& status) {
  if (status.ok()) return {};
  return Fail(ErrorCode::kResourceExhausted, "cannot sort rows: {}", status.message());
}

/// The rows with their key, source and ordinal behind the columns.
Result<std::shared_ptr<arrow::RecordBatch>> WithSortColumns(const arrow::RecordBatch& rows,
                                                            const std::vector<Bytes>& keys, uint32_t source,
                                                            int64_t first_ordinal) {
  arrow::BinaryBuilder key_builder;
  arrow::UInt32Builder source_builder;
  arrow::Int64Builder ordinal_builder;
  arrow::Status status = key_builder.Reserve(rows.num_rows()) & source_builder.Reserve(rows.num_rows()) &
                         ordinal_builder.Reserve(rows.num_rows());
  for (size_t i = 0; i < keys.size() && status.ok(); ++i) {
    status = key_builder.Append(AsText(keys[i]));
    source_builder.UnsafeAppend(source);
    ordinal_builder.UnsafeAppend(first_ordinal + static_cast<int64_t>(i));
  }
  arrow::ArrayVector columns = rows.columns();
  for (arrow::ArrayBuilder* builder :
       std::initializer_list<arrow::ArrayBuilder*>{&key_builder, &source_builder, &ordinal_builder}) {
    std::shared_ptr<arrow::Array> column;
    if (status.ok()) status = builder->Finish(&column);
    columns.push_back(std::move(column));
  }
  FRAZIL_TRY(CheckArrow(status));
  arrow::FieldVector fields = rows.schema()->fields();
  fields.push_back(arrow::field("key", arrow::binary()));
  fields.push_back(arrow::field("source", arrow::uint32()));
  fields.push_back(arrow::field("ordinal", arrow::int64()));
  return arrow::RecordBatch::Make(arrow::schema(std::move(fields)), rows.num_rows(), std::move(columns));
}

}  // namespace

ExternalSorter::ExternalSorter(Options options, SortKey key, std::optional<Partitioner> partitioner)
    : options_(std::move(options)), key_(std::move(key)), partitioner_(std::move(partitioner)) {}
ExternalSorter::~ExternalSorter() = default;

Result<std::unique_ptr<ExternalSorter>> ExternalSorter::Make(Options options) {
  FRAZIL_ASSIGN(SortKey key, SortKey::Make(options.sort_order, *options.schema));
  std::optional<Partitioner> partitioner;
  if (options.splits_by_partition) {
    FRAZIL_ASSIGN(partitioner, Partitioner::Make(options.spec, options.schema));
  }
  return std::unique_ptr<ExternalSorter>(
      new ExternalSorter(std::move(options), std::move(key), std::move(partitioner)));
}

Result<std::vector<uint32_t>> ExternalSorter::PartitionsOf(const arrow::RecordBatch& rows) {
  std::vector<uint32_t> partition_of(static_cast<size_t>(rows.num_rows()));
  FRAZIL_ASSIGN(const std::vector<PartitionRows> split, partitioner_->Split(rows));
  for (const PartitionRows& part : split) {
    const auto [found, is_new] = ordinals_.try_emplace(part.tuple, static_cast<uint32_t>(partitions_.size()));
    if (is_new) partitions_.push_back(part.tuple);
    for (const int64_t row : part.rows) partition_of[static_cast<size_t>(row)] = found->second;
  }
  return partition_of;
}

Status ExternalSorter::Add(uint32_t source, const arrow::RecordBatch& rows) {
  if (num_rows_.size() <= source) num_rows_.resize(source + 1);
  keys_.resize(static_cast<size_t>(rows.num_rows()));
  for (Bytes& key : keys_) key.clear();
  if (partitioner_) {
    FRAZIL_ASSIGN(const std::vector<uint32_t> partition_of, PartitionsOf(rows));
    for (size_t i = 0; i < keys_.size(); ++i) AppendBig(keys_[i], partition_of[i]);
  }
  FRAZIL_TRY(key_.AppendTo(rows, keys_));
  FRAZIL_ASSIGN(std::shared_ptr<arrow::RecordBatch> batch, WithSortColumns(rows, keys_, source, num_rows_[source]));
  num_rows_[source] += rows.num_rows();
  buffer_bytes_ += arrow::util::TotalBufferSize(*batch) + rows.num_rows() * kSortBytesARow;
  buffer_.push_back(std::move(batch));
  // Sorting needs the rows in one piece: a second copy.
  if (buffer_bytes_ > std::min(options_.memory_bytes / 2, kMostBuffered)) return SpillBuffer();
  return {};
}

// While runs are merged, half of the memory is for the batches at hand, one a run, and a quarter for the rows that are
// given, twice: brought together and put in order.
int64_t ExternalSorter::given_batch_bytes() const {
  return std::clamp(options_.memory_bytes / 8, int64_t{64} << 10, int64_t{8} << 20);
}
int64_t ExternalSorter::spilled_batch_bytes() const {
  return std::clamp(options_.memory_bytes / 64, int64_t{64} << 10, int64_t{1} << 20);
}
size_t ExternalSorter::most_merged_runs() const {
  const int64_t batch_bytes = std::max(largest_spilled_batch_, int64_t{1});
  return std::clamp(static_cast<size_t>(options_.memory_bytes / 2 / batch_bytes), size_t{2}, kMaxMergedRuns);
}

Result<std::unique_ptr<SortedRun>> ExternalSorter::SortBuffer() {
  buffer_bytes_ = 0;
  return SortInMemory(std::exchange(buffer_, {}), given_batch_bytes());
}

Result<std::unique_ptr<SortedRun>> ExternalSorter::Spill(const std::shared_ptr<SpillFile>& file, SortedRun& run) {
  FRAZIL_ASSIGN(SpillFile::Spilled spilled, SpillFile::Append(file, run, spilled_batch_bytes(), options_.stop));
  largest_spilled_batch_ = std::max(largest_spilled_batch_, spilled.largest_batch_bytes);
  ++num_spilled_;
  return std::move(spilled.run);
}

Status ExternalSorter::SpillBuffer() {
  FRAZIL_ASSIGN(const std::unique_ptr<SortedRun> sorted, SortBuffer());
  if (spill_file_ == nullptr) {
    FRAZIL_ASSIGN(spill_file_, SpillFile::Create(options_.temp_directory));
  }
  FRAZIL_ASSIGN(std::unique_ptr<SortedRun> run, Spill(spill_file_, *sorted));
  runs_.push_back(std::move(run));
  return {};
}

/// Merges neighbouring runs until they can be merged at once. Their order is kept: it decides among equal keys.
Status ExternalSorter::MergeDown() {
  const size_t most = most_merged_runs();
  while (runs_.size() > most) {
    FRAZIL_ASSIGN(const std::shared_ptr<SpillFile> file, SpillFile::Create(options_.temp_directory));
    std::vector<std::unique_ptr<SortedRun>> merged;
    for (size_t begin = 0; begin < runs_.size(); begin += most) {
      std::vector<std::unique_ptr<SortedRun>> part;
      for (size_t i = begin; i < std::min(begin + most, runs_.size()); ++i) part.push_back(std::move(runs_[i]));
      if (part.size() > 1) {
        const std::unique_ptr<SortedRun> merge = MergeRuns(std::move(part), given_batch_bytes());
        FRAZIL_ASSIGN(std::unique_ptr<SortedRun> run, Spill(file, *merge));
        merged.push_back(std::move(run));
      } else {
        merged.push_back(std::move(part.front()));
      }
    }
    runs_ = std::move(merged);
  }
  return {};
}

Status ExternalSorter::Sort() {
  if (runs_.empty()) {
    if (buffer_.empty()) return {};
    FRAZIL_ASSIGN(result_, SortBuffer());
    return {};
  }
  if (!buffer_.empty()) FRAZIL_TRY(SpillBuffer());
  spill_file_.reset();  // the runs have it
  FRAZIL_TRY(MergeDown());
  result_ = MergeRuns(std::exchange(runs_, {}), given_batch_bytes());
  return {};
}

Result<std::optional<ExternalSorter::SortedRows>> ExternalSorter::Next() {
  if (pending_ == nullptr || pending_begin_ == pending_->num_rows()) {
    if (result_ == nullptr) return std::nullopt;
    FRAZIL_ASSIGN(pending_, result_->Next());
    pending_begin_ = 0;
    if (pending_ == nullptr) {
      result_.reset();
      return std::nullopt;
    }
  }
  int64_t end = pending_->num_rows();
  SortedRows sorted;
  if (partitioner_) {
    const auto partition_at = [&](int64_t row) { return LoadBig<uint32_t>(AsBytes(KeyAt(*pending_, row)).data()); };
    const uint32_t partition = partition_at(pending_begin_);
    for (end = pending_begin_ + 1; end < pending_->num_rows() && partition_at(end) == partition;) ++end;
    sorted.partition = partitions_[partition];
  }
  const int num_columns = pending_->num_columns() - kNumSortColumns;
  const auto& sources = static_cast<const arrow::UInt32Array&>(*pending_->column(num_columns + 1));
  const auto& ordinals = static_cast<const arrow::Int64Array&>(*pending_->column(num_columns + 2));
  for (int64_t row = pending_begin_; row < end; ++row) {
    sorted.origins.push_back({sources.Value(row), ordinals.Value(row)});
  }
  arrow::ArrayVector columns;
  arrow::FieldVector fields;
  for (int i = 0; i < num_columns; ++i) {
    columns.push_back(pending_->column(i)->Slice(pending_begin_, end - pending_begin_));
    fields.push_back(pending_->schema()->field(i));
  }
  sorted.rows = arrow::RecordBatch::Make(arrow::schema(std::move(fields)), end - pending_begin_, std::move(columns));
  pending_begin_ = end;
  return sorted;
}

}  // namespace frazil::write
