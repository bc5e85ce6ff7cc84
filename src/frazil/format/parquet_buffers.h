#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include <arrow/buffer.h>

namespace frazil::format {

/// Memory for what is needed during one read of few rows only: bytes of the file, pages as they come out of them. Whoever
/// reads next gets what was given back last, which is still in the processor's caches; an allocator would give each of many
/// threads memory of its own that is not. Thread-safe. Keeps at most kMaxIdleBytes. Internal to the parquet_*.cc files.
class ParquetBuffers {
 public:
  ParquetBuffers() = default;
  ParquetBuffers(const ParquetBuffers&) = delete;
  ParquetBuffers& operator=(const ParquetBuffers&) = delete;

  /// A writable buffer of `size` bytes, not below 0, of no known content; it gives its memory back at its end and must not
  /// outlive this. Throws std::bad_alloc.
  std::shared_ptr<arrow::Buffer> Take(int64_t size);

 private:
  static constexpr int64_t kMaxIdleBytes = int64_t{4} << 20;

  struct Memory {
    std::unique_ptr<uint8_t[]> bytes;
    int64_t capacity = 0;
  };
  class TakenBuffer;

  Memory TakeMemory(int64_t size);
  void GiveBack(Memory memory);

  std::mutex mutex_;
  std::vector<Memory> idle_;  // given back last stands last; guarded by mutex_
  int64_t idle_bytes_ = 0;    // guarded by mutex_
};

}  // namespace frazil::format
