#pragma once

#include <memory>
#include <mutex>
#include <vector>

#include <parquet/column_page.h>
#include <zstd.h>

#include "frazil/format/parquet_buffers.h"

namespace frazil::format {

/// Decompresses single zstd pages without making a context for each, as Arrow's codec does: for a page of a thousand rows
/// that takes as long as the work itself. Thread-safe; keeps as many contexts as threads ever used it at once, at most
/// kMaxIdle. Internal to the parquet_*.cc files.
class ParquetZstdPages {
 public:
  /// Pages come in memory of `buffers`, which must outlive this and them.
  explicit ParquetZstdPages(ParquetBuffers& buffers) : buffers_(buffers) {}

  /// The page that `compressed` holds. Throws parquet::ParquetException when it is not what it says.
  std::shared_ptr<parquet::DataPageV1> Decompress(const parquet::DataPageV1& compressed);

 private:
  static constexpr size_t kMaxIdle = 16;  // some 160 KB each

  struct Free {
    void operator()(ZSTD_DCtx* context) const { ZSTD_freeDCtx(context); }
  };
  using Context = std::unique_ptr<ZSTD_DCtx, Free>;

  Context Take();
  void GiveBack(Context context);

  ParquetBuffers& buffers_;
  std::mutex mutex_;
  std::vector<Context> idle_;  // guarded by mutex_
};

}  // namespace frazil::format
