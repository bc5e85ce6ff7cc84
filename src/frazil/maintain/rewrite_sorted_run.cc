#include "frazil/maintain/rewrite_sorted_run.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <queue>

#include <fcntl.h>
#include <unistd.h>

#include <arrow/api.h>
#include <arrow/io/file.h>
#include <arrow/ipc/api.h>

#include "frazil/base/bytes.h"
#include "frazil/write/gather.h"

namespace frazil::maintain {
namespace {

constexpr int64_t kBatchRows = 8192;
constexpr int64_t kSpilledBatchRows = 2048;  ///< a merge holds one of every run

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

/// First eight bytes of a key, so that most comparisons need no more.
uint64_t PrefixOf(std::string_view key) {
  std::byte bytes[8] = {};
  std::memcpy(bytes, key.data(), std::min<size_t>(key.size(), sizeof(bytes)));
  return LoadBig<uint64_t>(bytes);
}

class MemoryRun : public SortedRun {
 public:
  MemoryRun(std::shared_ptr<arrow::RecordBatch> rows, std::vector<int64_t> order)
      : rows_(std::move(rows)), order_(std::move(order)) {}

  Result<std::shared_ptr<arrow::RecordBatch>> Next() override {
    if (next_ == order_.size()) return nullptr;
    const size_t count = std::min<size_t>(kBatchRows, order_.size() - next_);
    const std::span<const int64_t> rows = std::span(order_).subspan(next_, count);
    next_ += count;
    return write::Gather(*rows_, rows);
  }

 private:
  const std::shared_ptr<arrow::RecordBatch> rows_;
  const std::vector<int64_t> order_;
  size_t next_ = 0;
};

class FileRun : public SortedRun {
 public:
  FileRun(std::string path, std::shared_ptr<arrow::ipc::RecordBatchStreamReader> reader)
      : path_(std::move(path)), reader_(std::move(reader)) {}

  Result<std::shared_ptr<arrow::RecordBatch>> Next() override {
    std::shared_ptr<arrow::RecordBatch> rows;
    FRAZIL_TRY(CheckArrow(reader_->ReadNext(&rows), path_));
    return rows;
  }

 private:
  const std::string path_;
  const std::shared_ptr<arrow::ipc::RecordBatchStreamReader> reader_;
};

class MergedRun : public SortedRun {
 public:
  explicit MergedRun(std::vector<std::unique_ptr<SortedRun>> runs) {
    for (auto& run : runs) inputs_.push_back({.run = std::move(run), .rows = nullptr});
  }

  Result<std::shared_ptr<arrow::RecordBatch>> Next() override {
    if (!is_started_) {
      for (size_t i = 0; i < inputs_.size(); ++i) FRAZIL_TRY(Refill(i));
      is_started_ = true;
    }
    if (heap_.empty()) return nullptr;
    // Rows are picked until one of the batches at hand is used up, then gathered from all of them at once.
    std::vector<std::shared_ptr<arrow::RecordBatch>> parts;
    std::vector<int64_t> first_row(inputs_.size());
    int64_t num_rows = 0;
    for (size_t i = 0; i < inputs_.size(); ++i) {
      if (inputs_[i].rows == nullptr) continue;
      first_row[i] = num_rows - inputs_[i].next;
      num_rows += inputs_[i].rows->num_rows() - inputs_[i].next;
      parts.push_back(inputs_[i].rows->Slice(inputs_[i].next));
    }
    std::vector<int64_t> picked;
    for (;;) {
      const size_t input = heap_.top().input;
      heap_.pop();
      Input& from = inputs_[input];
      picked.push_back(first_row[input] + from.next);
      if (++from.next == from.rows->num_rows()) {
        FRAZIL_ASSIGN(const std::shared_ptr<arrow::RecordBatch> whole, Concatenate(parts));
        FRAZIL_ASSIGN(std::shared_ptr<arrow::RecordBatch> rows, write::Gather(*whole, picked));
        FRAZIL_TRY(Refill(input));
        return rows;
      }
      Push(input);
    }
  }

 private:
  struct Input {
    std::unique_ptr<SortedRun> run;
    std::shared_ptr<arrow::RecordBatch> rows;
    int64_t next = 0;
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

  Status Refill(size_t input) {
    FRAZIL_ASSIGN(inputs_[input].rows, inputs_[input].run->Next());
    inputs_[input].next = 0;
    if (inputs_[input].rows == nullptr) {
      inputs_[input].run.reset();
    } else {
      Push(input);
    }
    return {};
  }

  std::vector<Input> inputs_;
  std::priority_queue<Head> heap_;
  bool is_started_ = false;
};

}  // namespace

std::string_view KeyAt(const arrow::RecordBatch& rows, int64_t row) {
  return static_cast<const arrow::BinaryArray&>(*rows.column(rows.num_columns() - kNumSortColumns)).GetView(row);
}

Result<std::unique_ptr<SortedRun>> SortInMemory(std::vector<std::shared_ptr<arrow::RecordBatch>> batches) {
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
  return std::make_unique<MemoryRun>(std::move(rows), std::move(order));
}

Result<std::unique_ptr<SortedRun>> SpillRun(SortedRun& run, const std::string& directory) {
  std::error_code error;
  std::filesystem::path folder = directory;
  if (directory.empty()) folder = std::filesystem::temp_directory_path(error);
  if (!error) std::filesystem::create_directories(folder, error);
  if (error) return Fail(ErrorCode::kIo, "no folder for sorted runs: {}: {}", error.message(), directory);
  std::string path = folder / "frazil-sort-XXXXXX";
  const int fd = ::mkostemp(path.data(), O_CLOEXEC);
  if (fd < 0) return Fail(ErrorCode::kIo, "no file for sorted rows: {}: {}", std::strerror(errno), path);
  ::unlink(path.c_str());  // it goes with its last descriptor, also when the process is killed
  auto file = arrow::io::FileOutputStream::Open(fd);
  FRAZIL_TRY(CheckArrow(file.status(), path));
  std::shared_ptr<arrow::ipc::RecordBatchWriter> writer;
  for (;;) {
    FRAZIL_ASSIGN(const std::shared_ptr<arrow::RecordBatch> rows, run.Next());
    if (rows == nullptr) break;
    if (writer == nullptr) {
      auto made = arrow::ipc::MakeStreamWriter(*file, rows->schema());
      FRAZIL_TRY(CheckArrow(made.status(), path));
      writer = made.MoveValueUnsafe();
    }
    for (int64_t begin = 0; begin < rows->num_rows(); begin += kSpilledBatchRows) {
      FRAZIL_TRY(CheckArrow(writer->WriteRecordBatch(*rows->Slice(begin, kSpilledBatchRows)), path));
    }
  }
  FRAZIL_TRY(CheckArrow(writer->Close(), path));
  // The writer's descriptor is closed with it; the reader's begins at the front.
  const int read_fd = ::fcntl(fd, F_DUPFD_CLOEXEC, 0);
  if (read_fd < 0) return Fail(ErrorCode::kIo, "cannot read sorted rows again: {}: {}", std::strerror(errno), path);
  FRAZIL_TRY(CheckArrow((*file)->Close(), path));
  ::lseek(read_fd, 0, SEEK_SET);
  auto input = arrow::io::ReadableFile::Open(read_fd);
  FRAZIL_TRY(CheckArrow(input.status(), path));
  auto reader = arrow::ipc::RecordBatchStreamReader::Open(*input);
  FRAZIL_TRY(CheckArrow(reader.status(), path));
  return std::make_unique<FileRun>(path, reader.MoveValueUnsafe());
}

std::unique_ptr<SortedRun> MergeRuns(std::vector<std::unique_ptr<SortedRun>> runs) {
  return std::make_unique<MergedRun>(std::move(runs));
}

}  // namespace frazil::maintain
