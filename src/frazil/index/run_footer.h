#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "frazil/base/bytes.h"
#include "frazil/base/result.h"
#include "frazil/index/entry.h"
#include "frazil/index/run_page.h"

namespace frazil::index {

/// The last bytes of a run: what it holds, where its sections lie, and the checksums that vouch for them (run.h).
struct RunFooter {
  static constexpr size_t kBytes = 96;

  RunLayout layout;
  int64_t num_entries = 0;
  int64_t num_pages = 0;  ///< of entries
  int64_t num_file_numbers = 0;
  Hash96 smallest;
  Hash96 largest;
  uint64_t pages_checksum = 0;     ///< of the checksums of all pages, those of the filter too (AddPageChecksum)
  uint64_t sections_checksum = 0;  ///< XXH3 of everything between the pages and the footer

  uint64_t filter_factor = 0;  ///< RunFilter; 0: there is none

  int64_t num_filter_pages() const;
  size_t fences_offset() const;
  size_t file_numbers_offset() const;
  size_t footer_offset() const;

  void AppendTo(Bytes& out) const;
  /// `bytes`: the last kBytes (or fewer, if there are no more) of a run of `run_size` bytes. kCorruptData naming `path`
  /// unless the footer checks and its counts give exactly this size.
  static Result<RunFooter> Decode(ByteView bytes, int64_t run_size, const std::string& path);
  /// XXH3 of the encoded footer, which vouches for everything else: the identity of the run.
  uint64_t Checksum() const;
};

/// Takes the checksum of the next page into `pages_checksum`.
uint64_t AddPageChecksum(uint64_t pages_checksum, uint64_t page_checksum);
uint64_t ChecksumOfBytes(ByteView bytes);

}  // namespace frazil::index
