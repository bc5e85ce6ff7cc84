#pragma once

#include <cstdint>
#include <string>

#include "frazil/base/bytes.h"
#include "frazil/base/result.h"
#include "frazil/io/file_io.h"

namespace frazil::table {

/// The bytes of a row map's file: in memory, or mapped where the file is large and of this machine (then memory is what
/// the page cache has; a file that is cut short by others meanwhile ends the process with SIGBUS, as any mapping does).
/// Immutable; thread-safe.
class RowMapBytes {
 public:
  /// `min_mapped_bytes`: smaller files are read. kNotFound, kIo.
  static Result<RowMapBytes> Read(const io::InputFile& file, int64_t min_mapped_bytes);
  RowMapBytes() = default;
  ~RowMapBytes();
  RowMapBytes(RowMapBytes&& other) noexcept { *this = std::move(other); }
  RowMapBytes& operator=(RowMapBytes&& other) noexcept;

  ByteView view() const { return mapped_ != nullptr ? ByteView(mapped_, size_) : ByteView(owned_); }
  bool is_mapped() const { return mapped_ != nullptr; }

 private:
  Bytes owned_;
  const std::byte* mapped_ = nullptr;
  size_t size_ = 0;
};

}  // namespace frazil::table
