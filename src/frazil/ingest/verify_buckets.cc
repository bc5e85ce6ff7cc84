#include "frazil/ingest/verify_buckets.h"

#include <filesystem>
#include <utility>

#include <arrow/api.h>
#include <arrow/compute/api_vector.h>
#include <arrow/io/file.h>
#include <arrow/ipc/api.h>
#include <arrow/util/byte_size.h>

#include "frazil/base/uuid.h"

namespace frazil::ingest {
namespace {

Status CheckArrow(const arrow::Status& status, const std::string& place) {
  if (status.ok()) return {};
  const ErrorCode code = status.IsOutOfMemory() ? ErrorCode::kResourceExhausted : ErrorCode::kIo;
  return Fail(code, "cannot keep rows to compare: {}: {}", status.message(), place);
}

}  // namespace

struct VerifyBuckets::Bucket {
  std::vector<std::shared_ptr<arrow::RecordBatch>> held;
  std::string path;
  std::shared_ptr<arrow::io::FileOutputStream> file;
  std::shared_ptr<arrow::ipc::RecordBatchWriter> writer;
};

VerifyBuckets::VerifyBuckets(std::shared_ptr<arrow::Schema> schema, int64_t memory_bytes,
                             const std::string& temp_directory)
    : schema_(std::move(schema)),
      memory_bytes_(memory_bytes),
      folder_(
          ((temp_directory.empty() ? std::filesystem::temp_directory_path() : std::filesystem::path(temp_directory)) /
           ("frazil-verify-" + Uuid::Random().ToString()))
              .string()),
      buckets_(kNumBuckets) {}

VerifyBuckets::~VerifyBuckets() {
  for (Bucket& bucket : buckets_) {
    if (bucket.writer) static_cast<void>(bucket.writer->Close());
  }
  std::error_code ignored;
  std::filesystem::remove_all(folder_, ignored);
}

Status VerifyBuckets::Add(const arrow::RecordBatch& rows, const std::vector<int>& bucket_of) {
  std::vector<std::vector<int64_t>> rows_of(kNumBuckets);
  for (size_t row = 0; row < bucket_of.size(); ++row) {
    if (bucket_of[row] >= 0) rows_of[static_cast<size_t>(bucket_of[row])].push_back(static_cast<int64_t>(row));
  }
  const auto all = arrow::RecordBatch::Make(schema_, rows.num_rows(), rows.columns());
  for (size_t i = 0; i < kNumBuckets; ++i) {
    if (rows_of[i].empty()) continue;
    const arrow::Int64Array indices(static_cast<int64_t>(rows_of[i].size()), arrow::Buffer::Wrap(rows_of[i]));
    auto taken =
        arrow::compute::Take(arrow::Datum(all), arrow::Datum(indices), arrow::compute::TakeOptions::NoBoundsCheck());
    FRAZIL_TRY(CheckArrow(taken.status(), "in memory"));
    held_bytes_ += arrow::util::TotalBufferSize(*taken->record_batch());
    buckets_[i].held.push_back(taken->record_batch());
  }
  return held_bytes_ > memory_bytes_ ? Spill() : Status{};
}

Status VerifyBuckets::Spill() {
  std::filesystem::create_directories(folder_);
  for (size_t i = 0; i < kNumBuckets; ++i) {
    Bucket& bucket = buckets_[i];
    if (bucket.held.empty()) continue;
    if (!bucket.writer) {
      bucket.path = folder_ + "/" + std::to_string(i);
      auto file = arrow::io::FileOutputStream::Open(bucket.path);
      FRAZIL_TRY(CheckArrow(file.status(), bucket.path));
      bucket.file = *file;
      auto writer = arrow::ipc::MakeStreamWriter(bucket.file, schema_);
      FRAZIL_TRY(CheckArrow(writer.status(), bucket.path));
      bucket.writer = *writer;
    }
    for (const auto& batch : bucket.held) FRAZIL_TRY(CheckArrow(bucket.writer->WriteRecordBatch(*batch), bucket.path));
    bucket.held.clear();
  }
  held_bytes_ = 0;
  return {};
}

Status VerifyBuckets::Visit(size_t index, const Visitor& visit) {
  Bucket& bucket = buckets_[index];
  if (bucket.writer) {
    FRAZIL_TRY(CheckArrow(bucket.writer->Close(), bucket.path));
    FRAZIL_TRY(CheckArrow(bucket.file->Close(), bucket.path));
    bucket.writer.reset();
    auto file = arrow::io::ReadableFile::Open(bucket.path);
    FRAZIL_TRY(CheckArrow(file.status(), bucket.path));
    auto reader = arrow::ipc::RecordBatchStreamReader::Open(*file);
    FRAZIL_TRY(CheckArrow(reader.status(), bucket.path));
    for (;;) {
      std::shared_ptr<arrow::RecordBatch> batch;
      FRAZIL_TRY(CheckArrow((*reader)->ReadNext(&batch), bucket.path));
      if (batch == nullptr) break;
      FRAZIL_TRY(visit(batch));
    }
  }
  for (auto& held : bucket.held) {
    const std::shared_ptr<arrow::RecordBatch> batch = std::exchange(held, nullptr);
    FRAZIL_TRY(visit(batch));
  }
  bucket.held.clear();
  return {};
}

Result<std::shared_ptr<arrow::RecordBatch>> VerifyBuckets::Take(size_t index) {
  std::vector<std::shared_ptr<arrow::RecordBatch>> batches;
  FRAZIL_TRY(Visit(index, [&](const auto& batch) -> Status {
    batches.push_back(batch);
    return {};
  }));
  auto table = arrow::Table::FromRecordBatches(schema_, batches);
  FRAZIL_TRY(CheckArrow(table.status(), "in memory"));
  auto whole = (*table)->CombineChunksToBatch();
  FRAZIL_TRY(CheckArrow(whole.status(), "in memory"));
  return *whole;
}

}  // namespace frazil::ingest
