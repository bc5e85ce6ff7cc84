#include "frazil/format/parquet_zstd_pages.h"

#include <utility>

#include <arrow/buffer.h>
#include <parquet/exception.h>

namespace frazil::format {

std::shared_ptr<parquet::DataPageV1> ParquetZstdPages::Decompress(const parquet::DataPageV1& compressed) {
  const int64_t size = compressed.uncompressed_size();
  if (size < 0) throw parquet::ParquetException("a page of less than no bytes");
  std::shared_ptr<arrow::Buffer> bytes = buffers_.Take(size);
  if (size > 0) {
    Context context = Take();
    const size_t written = ZSTD_decompressDCtx(context.get(), bytes->mutable_data(), static_cast<size_t>(size),
                                               compressed.data(), static_cast<size_t>(compressed.size()));
    GiveBack(std::move(context));
    if (ZSTD_isError(written) || written != static_cast<size_t>(size)) {
      throw parquet::ParquetException("a page cannot be decompressed");
    }
  }
  return std::make_shared<parquet::DataPageV1>(std::move(bytes), compressed.num_values(), compressed.encoding(),
                                               compressed.definition_level_encoding(),
                                               compressed.repetition_level_encoding(), size);
}

ParquetZstdPages::Context ParquetZstdPages::Take() {
  {
    const std::lock_guard lock(mutex_);
    if (!idle_.empty()) {
      Context context = std::move(idle_.back());
      idle_.pop_back();
      return context;
    }
  }
  Context context(ZSTD_createDCtx());
  if (context == nullptr) throw std::bad_alloc();
  return context;
}

void ParquetZstdPages::GiveBack(Context context) {
  const std::lock_guard lock(mutex_);
  if (idle_.size() < kMaxIdle) idle_.push_back(std::move(context));
}

}  // namespace frazil::format
