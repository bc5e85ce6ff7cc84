#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "frazil/base/bytes.h"
#include "frazil/base/result.h"
#include "frazil/index/entry.h"

namespace frazil::index {

/// An immutable file (or buffer) of entries sorted by hash; what the index is made of.
///
/// Layout, little-endian: pages of 4096 bytes, a fence section, a footer.
///   page    hashes (12 bytes each), locations (file number, position: 8 bytes each), then, in runs with row ids, an
///           8-byte row id each; its last 8 bytes are the XXH3 of the rest. 203 or 145 entries, so that a look-up that
///           is not in memory costs one page of the store; 20.2 or 28.2 bytes a key.
///   fences  the top 64 bits of every page's first hash, checked by one checksum in the footer
///   footer  magic, version, counts, sizes, smallest and largest hash, the file numbers that occur, its own checksum
/// A page is checked when it is first touched; nothing is believed before (kCorruptData naming path and page).
/// Files are mapped read-only: memory is whatever the page cache has. Immutable; thread-safe.
class Run {
 public:
  /// Maps a file. kCorruptData when footer or fences do not check, kNotFound when it is not there.
  static Result<std::shared_ptr<const Run>> Open(const std::string& path);
  /// A run in memory, as RunWriter made it; `name` for messages.
  static Result<std::shared_ptr<const Run>> FromBytes(Bytes bytes, std::string name);
  ~Run();
  Run(const Run&) = delete;
  Run& operator=(const Run&) = delete;

  const std::string& path() const;
  int64_t num_entries() const;
  int64_t num_pages() const;
  int64_t size_bytes() const;
  bool has_row_ids() const;
  bool in_memory() const;  ///< its bytes count as memory of the process
  /// Numbers of files that entries of this run name, ascending.
  const std::vector<FileNumber>& file_numbers() const;
  /// XXH3 of the footer: the run's identity in the manifest.
  uint64_t checksum() const;
  ByteView bytes() const;

  /// Checks every page.
  Status Verify() const;

  /// Entries in order, page by page; for merges and checks. Stays valid while the run lives. One thread a cursor.
  class Cursor {
   public:
    explicit Cursor(const Run& run) : run_(run) {}
    /// The next entry in `entry`; false at the end. kCorruptData.
    Result<bool> Next(Entry& entry);

   private:
    const Run& run_;
    int64_t page_ = 0;
    int64_t slot_ = 0;
  };

 private:
  friend class RunProber;
  class Impl;
  explicit Run(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace frazil::index
