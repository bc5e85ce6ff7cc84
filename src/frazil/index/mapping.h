#pragma once

#include <cstddef>
#include <string>

#include "frazil/base/bytes.h"
#include "frazil/base/result.h"

namespace frazil::index {

/// Pages of memory straight from the system: a file's, read-only, or the process's own. Owns them (and the file). A moved-
/// from or default one is empty. Reading is thread-safe.
class Mapping {
 public:
  Mapping() = default;
  ~Mapping();
  Mapping(Mapping&& other) noexcept;
  Mapping& operator=(Mapping&& other) noexcept;

  /// All bytes that the file has now. Nothing is read yet, and a fault later reads single pages: index look-ups are
  /// random. kNotFound, kIo; kCorruptData for an empty file.
  ///
  /// Memory is whatever the page cache has. The price: touching bytes that the file lost since, or that the disk cannot
  /// read, ends the process (SIGBUS). So bytes are read with Read() first, which says such things as errors.
  static Result<Mapping> OfFile(const std::string& path);

  /// Zeroed memory, in huge pages where the system grants them; pages count only once they are touched.
  /// kResourceExhausted.
  static Result<Mapping> Anonymous(size_t size);

  const std::byte* data() const { return data_; }
  std::byte* data() { return data_; }  ///< writable only in an Anonymous one
  size_t size() const { return size_; }
  bool is_file() const { return fd_ >= 0; }

  /// Another size of an Anonymous one; its bytes may move, what is new is zero. kResourceExhausted.
  Status Resize(size_t size);
  /// Gives the memory behind whole pages of an Anonymous one back; they read as zero afterwards.
  void Release(size_t offset, size_t size);

  /// Copies bytes through the system, not through the mapping. kCorruptData when the file became shorter, kIo.
  Status Read(size_t offset, std::span<std::byte> out, const std::string& path) const;
  /// Asks the system to begin reading bytes of a file that are not in memory; returns at once.
  void WillNeed(size_t offset, size_t size) const;

 private:
  std::byte* data_ = nullptr;
  size_t size_ = 0;
  int fd_ = -1;
};

}  // namespace frazil::index
