#include "frazil/format/parquet_small_file.h"

#include <arrow/record_batch.h>
#include <parquet/arrow/reader.h>
#include <parquet/bloom_filter_reader.h>
#include <parquet/column_reader.h>
#include <parquet/file_reader.h>
#include <parquet/page_index.h>

#include "frazil/format/parquet_error.h"
#include "frazil/format/parquet_file.h"

namespace frazil::format {
namespace {

class OnePage final : public parquet::PageReader {
 public:
  explicit OnePage(std::shared_ptr<parquet::Page> page) : page_(std::move(page)) {}
  std::shared_ptr<parquet::Page> NextPage() override { return std::move(page_); }
  void set_max_page_header_size(uint32_t) override {}

 private:
  std::shared_ptr<parquet::Page> page_;
};

class SmallRowGroup final : public parquet::RowGroupReader::Contents {
 public:
  SmallRowGroup(std::unique_ptr<parquet::RowGroupMetaData> metadata, const ParquetPages& pages)
      : metadata_(std::move(metadata)), pages_(pages), properties_(ParquetReaderProperties()) {}

  std::unique_ptr<parquet::PageReader> GetColumnPageReader(int leaf) override {
    const auto found = pages_.find(leaf);
    return std::make_unique<OnePage>(found == pages_.end() ? nullptr : found->second);
  }
  const parquet::RowGroupMetaData* metadata() const override { return metadata_.get(); }
  const parquet::ReaderProperties* properties() const override { return &properties_; }

 private:
  const std::unique_ptr<parquet::RowGroupMetaData> metadata_;
  const ParquetPages pages_;
  const parquet::ReaderProperties properties_;
};

class SmallFile final : public parquet::ParquetFileReader::Contents {
 public:
  SmallFile(std::shared_ptr<parquet::FileMetaData> metadata, ParquetPages pages)
      : metadata_(std::move(metadata)), pages_(std::move(pages)) {}

  void Close() override {}
  std::shared_ptr<parquet::RowGroupReader> GetRowGroup(int row_group) override {
    return std::make_shared<parquet::RowGroupReader>(
        std::make_unique<SmallRowGroup>(metadata_->RowGroup(row_group), pages_));
  }
  std::shared_ptr<parquet::FileMetaData> metadata() const override { return metadata_; }
  std::shared_ptr<parquet::PageIndexReader> GetPageIndexReader() override { return nullptr; }
  parquet::BloomFilterReader& GetBloomFilterReader() override {
    throw parquet::ParquetException("single rows have no bloom filter");
  }

 private:
  const std::shared_ptr<parquet::FileMetaData> metadata_;
  const ParquetPages pages_;
};

}  // namespace

Result<std::shared_ptr<arrow::RecordBatch>> ReadSmallPages(const std::shared_ptr<parquet::FileMetaData>& metadata,
                                                           int row_group, ParquetPages pages, int64_t num_rows,
                                                           const std::string& path) {
  std::vector<int> leaves;
  for (const auto& [leaf, page] : pages) leaves.push_back(leaf);
  auto file = std::make_unique<parquet::ParquetFileReader>();
  file->Open(std::make_unique<SmallFile>(metadata, std::move(pages)));
  FRAZIL_ASSIGN(const std::unique_ptr<parquet::arrow::FileReader> reader,
                Check(parquet::arrow::FileReader::Make(arrow::default_memory_pool(), std::move(file),
                                                       ArrowReaderProperties(num_rows)),
                      ErrorCode::kCorruptData, path));
  FRAZIL_ASSIGN(const std::unique_ptr<arrow::RecordBatchReader> batches,
                Check(reader->GetRecordBatchReader({row_group}, leaves), ErrorCode::kCorruptData, path));
  std::shared_ptr<arrow::RecordBatch> rows;
  FRAZIL_TRY(Check(batches->ReadNext(&rows), ErrorCode::kCorruptData, path));
  if (rows == nullptr || rows->num_rows() != num_rows) {
    return Fail(ErrorCode::kCorruptData, "of {} rows {} came: {}", num_rows, rows == nullptr ? 0 : rows->num_rows(),
                path);
  }
  return rows;
}

}  // namespace frazil::format
