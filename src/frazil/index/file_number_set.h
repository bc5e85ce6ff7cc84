#pragma once

#include <array>
#include <bit>
#include <memory>
#include <vector>

#include "frazil/index/entry.h"

namespace frazil::index {

/// The file numbers that a run's entries name, gathered while millions of entries pass: one bit a number, in blocks of
/// 65536 numbers made when one occurs. One thread.
class FileNumberSet {
 public:
  void Add(FileNumber number) {
    const size_t block = number >> 16;
    if (block >= blocks_.size() || blocks_[block] == nullptr) [[unlikely]]
      MakeBlock(block);
    (*blocks_[block])[(number & 0xffff) / 64] |= uint64_t{1} << (number % 64);
  }

  /// All numbers, ascending.
  std::vector<FileNumber> Sorted() const {
    std::vector<FileNumber> numbers;
    for (size_t block = 0; block < blocks_.size(); ++block) {
      if (blocks_[block] == nullptr) continue;
      for (size_t i = 0; i < kWords; ++i) {
        for (uint64_t word = (*blocks_[block])[i]; word != 0; word &= word - 1) {
          numbers.push_back(
              static_cast<FileNumber>(block << 16 | i * 64 | static_cast<size_t>(std::countr_zero(word))));
        }
      }
    }
    return numbers;
  }

 private:
  static constexpr size_t kWords = 65536 / 64;
  using Block = std::array<uint64_t, kWords>;

  void MakeBlock(size_t block) {
    if (block >= blocks_.size()) blocks_.resize(block + 1);
    blocks_[block] = std::make_unique<Block>();
  }

  std::vector<std::unique_ptr<Block>> blocks_;
};

}  // namespace frazil::index
