#include "frazil/write/sorted_run.h"

#include <algorithm>
#include <cstring>
#include <numeric>
#include <optional>
#include <queue>

#include <fcntl.h>
#include <unistd.h>

#include <arrow/api.h>
#include <arrow/io/file.h>
#include <arrow/ipc/api.h>
#include <arrow/util/compression.h>

#include "frazil/base/bytes.h"
#include "frazil/base/stop_flag.h"
#include "frazil/format/parquet_row_bytes.h"
#include "frazil/io/unnamed_file.h"
#include "frazil/write/gather.h"

namespace frazil::write {
namespace {

constexpr int64_t kBatchRows = 8192;
constexpr int64_t kMergedRows = 32'768;  ///< gathered from all runs at once

Status CheckArrow(const arrow::Status& status, const std::string& what) {
  if (status.ok()) return {};
  const ErrorCode code = status.IsOutOfMemory() ? ErrorCode::kResourceExhausted : ErrorCode::kIo;
  return Fail(code, "cannot sort rows: {}: {}", status.message(), what);
}

Result<std::shared_ptr<arrow::RecordBatch>> Concatenate(
    const std::vector<std::shared_ptr<arrow::RecordBatch>>& batches) {
  if (batches.size() == 1) return batches.front();
  int64_t num_rows = 0;
  for (const auto& batch : batches) num_rows += batch->num_rows();
  arrow::ArrayVector columns;
  for (int i = 0; i < batches.front()->num_columns(); ++i) {
    arrow::ArrayVector parts;
    for (const auto& batch : batches) parts.push_back(batch->column(i));
    auto whole = arrow::Concatenate(parts);
    FRAZIL_TRY(CheckArrow(whole.status(), "in memory"));
    columns.push_back(whole.MoveValueUnsafe());
  }
  return arrow::RecordBatch::Make(batches.front()->schema(), num_rows, std::move(columns));
}

/// What is spilled is read once, soon after: LZ4 takes less time than the disk would for what it saves. On the thread that
/// sorts, so that no more buffers are at hand than one.
arrow::Result<arrow::ipc::IpcWriteOptions> SpillOptions() {
  auto options = arrow::ipc::IpcWriteOptions::Defaults();
  options.use_threads = false;
  ARROW_ASSIGN_OR_RAISE(options.codec, arrow::util::Codec::Create(arrow::Compression::LZ4_FRAME));
  return options;
}

/// First eight bytes of a key, so that most comparisons need no more.
uint64_t PrefixOf(std::string_view key) {
  std::byte bytes[8] = {};
  std::memcpy(bytes, key.data(), std::min<size_t>(key.size(), sizeof(bytes)));
  return LoadBig<uint64_t>(bytes);
}

class MemoryRun : public SortedRun {
 public:
  MemoryRun(std::shared_ptr<arrow::RecordBatch> rows, std::vector<int64_t> order, int64_t batch_bytes)
      : rows_(std::move(rows)),
        row_bytes_(format::RowBytes(*rows_)),
        order_(std::move(order)),
        batch_bytes_(batch_bytes) {}

  Result<std::shared_ptr<arrow::RecordBatch>> Next() override {
    if (next_ == order_.size()) return nullptr;
    const size_t begin = next_;
    const size_t last = std::min<size_t>(order_.size(), begin + kBatchRows);
    int64_t bytes = 0;
    for (; next_ < last; ++next_) {
      bytes += row_bytes_[static_cast<size_t>(order_[next_])];
      if (bytes > batch_bytes_ && next_ > begin) break;
    }
    return Gather(*rows_, std::span(order_).subspan(begin, next_ - begin));
  }

 private:
  const std::shared_ptr<arrow::RecordBatch> rows_;
  const std::vector<int64_t> row_bytes_;
  const std::vector<int64_t> order_;
  const int64_t batch_bytes_;
  size_t next_ = 0;
};

class MergedRun : public SortedRun {
 public:
  MergedRun(std::vector<std::unique_ptr<SortedRun>> runs, int64_t batch_bytes) : batch_bytes_(batch_bytes) {
    for (auto& run : runs) inputs_.push_back({.run = std::move(run), .rows = nullptr, .row_bytes = {}});
  }

  /// Rows are picked until there are enough or one of the batches at hand is used up. Those of one batch follow each other
  /// in it, so only they are brought together, and then put in order.
  Result<std::shared_ptr<arrow::RecordBatch>> Next() override {
    if (!is_started_) {
      for (size_t i = 0; i < inputs_.size(); ++i) FRAZIL_TRY(Refill(i));
      is_started_ = true;
    }
    if (heap_.empty()) return nullptr;
    picked_.clear();
    std::optional<size_t> used_up;
    for (int64_t bytes = 0; !used_up && !heap_.empty() && picked_.size() < kMergedRows;) {
      const size_t index = heap_.top().input;
      Input& from = inputs_[index];
      bytes += from.row_bytes[static_cast<size_t>(from.next)];
      if (bytes > batch_bytes_ && !picked_.empty()) break;
      heap_.pop();
      picked_.push_back(index);
      if (++from.next == from.rows->num_rows()) {
        used_up = index;
      } else {
        Push(index);
      }
    }
    FRAZIL_ASSIGN(std::shared_ptr<arrow::RecordBatch> rows, TakePicked());
    if (used_up) FRAZIL_TRY(Refill(*used_up));
    return rows;
  }

 private:
  struct Input {
    std::unique_ptr<SortedRun> run;
    std::shared_ptr<arrow::RecordBatch> rows;
    std::vector<int64_t> row_bytes;
    int64_t taken = 0;  ///< rows that were given
    int64_t next = 0;   ///< behind the rows that are picked
  };
  struct Head {
    uint64_t prefix;
    std::string_view key;
    size_t input;
    bool operator<(const Head& other) const {  // the heap gives the largest
      if (prefix != other.prefix) return prefix > other.prefix;
      const int order = key.compare(other.key);
      return order != 0 ? order > 0 : input > other.input;
    }
  };

  void Push(size_t input) {
    const std::string_view key = KeyAt(*inputs_[input].rows, inputs_[input].next);
    heap_.push({PrefixOf(key), key, input});
  }

  Result<std::shared_ptr<arrow::RecordBatch>> TakePicked() {
    std::vector<std::shared_ptr<arrow::RecordBatch>> parts;
    std::vector<int64_t> next_row(inputs_.size());  // of the parts together
    int64_t num_rows = 0;
    for (size_t i = 0; i < inputs_.size(); ++i) {
      Input& from = inputs_[i];
      if (from.next == from.taken) continue;
      next_row[i] = num_rows;
      num_rows += from.next - from.taken;
      parts.push_back(from.rows->Slice(from.taken, from.next - from.taken));
      from.taken = from.next;
    }
    if (parts.size() == 1) return parts.front();
    FRAZIL_ASSIGN(const std::shared_ptr<arrow::RecordBatch> whole, Concatenate(parts));
    std::vector<int64_t> order;
    order.reserve(picked_.size());
    for (const size_t input : picked_) order.push_back(next_row[input]++);
    return Gather(*whole, order);
  }

  Status Refill(size_t index) {
    Input& input = inputs_[index];
    input.rows.reset();
    FRAZIL_ASSIGN(input.rows, input.run->Next());
    input.next = input.taken = 0;
    if (input.rows == nullptr) {
      input.run.reset();
      input.row_bytes = {};
    } else {
      input.row_bytes = format::RowBytes(*input.rows);
      Push(index);
    }
    return {};
  }

  const int64_t batch_bytes_;
  std::vector<Input> inputs_;
  std::vector<size_t> picked_;  ///< the input of each row
  std::priority_queue<Head> heap_;
  bool is_started_ = false;
};

}  // namespace

std::string_view KeyAt(const arrow::RecordBatch& rows, int64_t row) {
  return static_cast<const arrow::BinaryArray&>(*rows.column(rows.num_columns() - kNumSortColumns)).GetView(row);
}

Result<std::unique_ptr<SortedRun>> SortInMemory(std::vector<std::shared_ptr<arrow::RecordBatch>> batches,
                                                int64_t batch_bytes) {
  FRAZIL_ASSIGN(std::shared_ptr<arrow::RecordBatch> rows, Concatenate(batches));
  batches.clear();
  struct Entry {
    uint64_t prefix;
    int64_t row;
  };
  std::vector<Entry> entries(static_cast<size_t>(rows->num_rows()));
  for (int64_t i = 0; i < rows->num_rows(); ++i) entries[static_cast<size_t>(i)] = {PrefixOf(KeyAt(*rows, i)), i};
  std::sort(entries.begin(), entries.end(), [&](const Entry& left, const Entry& right) {
    if (left.prefix != right.prefix) return left.prefix < right.prefix;
    const int order = KeyAt(*rows, left.row).compare(KeyAt(*rows, right.row));
    return order != 0 ? order < 0 : left.row < right.row;
  });
  std::vector<int64_t> order;
  order.reserve(entries.size());
  for (const Entry& entry : entries) order.push_back(entry.row);
  return std::make_unique<MemoryRun>(std::move(rows), std::move(order), batch_bytes);
}

std::unique_ptr<SortedRun> MergeRuns(std::vector<std::unique_ptr<SortedRun>> runs, int64_t batch_bytes) {
  return std::make_unique<MergedRun>(std::move(runs), batch_bytes);
}

class SpillFile::Run : public SortedRun {
 public:
  Run(std::shared_ptr<SpillFile> file, int64_t begin, int64_t end,
      std::shared_ptr<arrow::ipc::RecordBatchStreamReader> reader)
      : file_(std::move(file)), begin_(begin), end_(end), reader_(std::move(reader)) {}
  ~Run() override {
    // Where the file system cannot, it is given back with the file.
    (void)::fallocate(file_->fd_, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, begin_, end_ - begin_);
  }

  Result<std::shared_ptr<arrow::RecordBatch>> Next() override {
    std::shared_ptr<arrow::RecordBatch> rows;
    FRAZIL_TRY(CheckArrow(reader_->ReadNext(&rows), file_->directory_));
    return rows;
  }

 private:
  const std::shared_ptr<SpillFile> file_;
  const int64_t begin_;
  const int64_t end_;
  const std::shared_ptr<arrow::ipc::RecordBatchStreamReader> reader_;
};

SpillFile::SpillFile(std::string directory) : directory_(std::move(directory)) {}
SpillFile::~SpillFile() = default;

Result<std::shared_ptr<SpillFile>> SpillFile::Create(const std::string& directory) {
  FRAZIL_ASSIGN(const io::UnnamedFile unnamed, io::UnnamedFile::Create(directory, "sorted rows"));
  const std::string& path = unnamed.folder();
  const std::shared_ptr<SpillFile> file(new SpillFile(path));
  FRAZIL_ASSIGN(file->fd_, unnamed.Duplicate());
  auto output = arrow::io::FileOutputStream::Open(file->fd_);
  FRAZIL_TRY(CheckArrow(output.status(), path));
  file->output_ = output.MoveValueUnsafe();
  FRAZIL_ASSIGN(const int read_fd, unnamed.Duplicate());
  auto input = arrow::io::ReadableFile::Open(read_fd);
  FRAZIL_TRY(CheckArrow(input.status(), path));
  file->input_ = input.MoveValueUnsafe();
  return file;
}

Result<SpillFile::Spilled> SpillFile::Append(const std::shared_ptr<SpillFile>& file, SortedRun& run,
                                             int64_t batch_bytes, const std::atomic<bool>* stop) {
  const std::string& path = file->directory_;
  const auto begin = file->output_->Tell();
  FRAZIL_TRY(CheckArrow(begin.status(), path));
  std::shared_ptr<arrow::ipc::RecordBatchWriter> writer;
  Spilled spilled;
  for (;;) {
    FRAZIL_TRY(CheckStop(stop, "sorting of rows"));
    FRAZIL_ASSIGN(const std::shared_ptr<arrow::RecordBatch> rows, run.Next());
    if (rows == nullptr) break;
    if (writer == nullptr) {
      const auto options = SpillOptions();
      FRAZIL_TRY(CheckArrow(options.status(), path));
      auto made = arrow::ipc::MakeStreamWriter(file->output_, rows->schema(), *options);
      FRAZIL_TRY(CheckArrow(made.status(), path));
      writer = made.MoveValueUnsafe();
    }
    const std::vector<int64_t> row_bytes = format::RowBytes(*rows);
    for (int64_t first = 0, last = 0; first < rows->num_rows(); first = last) {
      last = format::EndOfRows(row_bytes, first, batch_bytes, kBatchRows);
      FRAZIL_TRY(CheckArrow(writer->WriteRecordBatch(*rows->Slice(first, last - first)), path));
      spilled.largest_batch_bytes =
          std::max(spilled.largest_batch_bytes,
                   std::accumulate(row_bytes.begin() + first, row_bytes.begin() + last, int64_t{0}));
    }
  }
  if (writer == nullptr) return Fail(ErrorCode::kInternal, "a sorted run without rows");
  FRAZIL_TRY(CheckArrow(writer->Close(), path));
  const auto end = file->output_->Tell();
  FRAZIL_TRY(CheckArrow(end.status(), path));
  auto stream = arrow::io::RandomAccessFile::GetStream(file->input_, *begin, *end - *begin);
  FRAZIL_TRY(CheckArrow(stream.status(), path));
  auto options = arrow::ipc::IpcReadOptions::Defaults();
  options.use_threads = false;
  auto reader = arrow::ipc::RecordBatchStreamReader::Open(*stream, options);
  FRAZIL_TRY(CheckArrow(reader.status(), path));
  spilled.run = std::make_unique<Run>(file, *begin, *end, reader.MoveValueUnsafe());
  return spilled;
}

}  // namespace frazil::write
