#include "frazil/format/parquet_buffers.h"

#include <algorithm>
#include <utility>

namespace frazil::format {
namespace {

#ifdef __SANITIZE_ADDRESS__
constexpr bool kUsesAgain = false;  // memory of exactly the asked-for size shows who reads behind its end
#else
constexpr bool kUsesAgain = true;
#endif
constexpr int64_t kLeastBytes = int64_t{64} << 10;  // so that hardly any has to grow

}  // namespace

class ParquetBuffers::TakenBuffer final : public arrow::MutableBuffer {
 public:
  TakenBuffer(ParquetBuffers& owner, Memory memory, int64_t size)
      : MutableBuffer(memory.bytes.get(), size), owner_(owner), memory_(std::move(memory)) {}
  ~TakenBuffer() override { owner_.GiveBack(std::move(memory_)); }

 private:
  ParquetBuffers& owner_;
  Memory memory_;
};

std::shared_ptr<arrow::Buffer> ParquetBuffers::Take(int64_t size) {
  return std::make_shared<TakenBuffer>(*this, TakeMemory(size), size);
}

ParquetBuffers::Memory ParquetBuffers::TakeMemory(int64_t size) {
  Memory memory;
  {
    const std::lock_guard lock(mutex_);
    if (!idle_.empty()) {
      memory = std::move(idle_.back());
      idle_.pop_back();
      idle_bytes_ -= memory.capacity;
    }
  }
  if (memory.bytes == nullptr || memory.capacity < size) {
    memory.capacity = kUsesAgain ? std::max(size, kLeastBytes) : size;
    memory.bytes = std::make_unique_for_overwrite<uint8_t[]>(static_cast<size_t>(memory.capacity));
  }
  return memory;
}

void ParquetBuffers::GiveBack(Memory memory) {
  const std::lock_guard lock(mutex_);
  if (!kUsesAgain || idle_bytes_ + memory.capacity > kMaxIdleBytes) return;
  idle_bytes_ += memory.capacity;
  idle_.push_back(std::move(memory));
}

}  // namespace frazil::format
