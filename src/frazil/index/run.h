#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "frazil/base/bytes.h"
#include "frazil/base/result.h"
#include "frazil/index/entry.h"
#include "frazil/index/mapping.h"
#include "frazil/index/run_filter.h"
#include "frazil/index/run_footer.h"
#include "frazil/index/run_page.h"

namespace frazil::index {

/// An immutable file (or buffer) of entries sorted by (hash, file, position); what the index is made of.
///
/// Layout, little-endian: pages of 4096 bytes, those of the filter, the fences, the file numbers, a footer.
///   page    16 bits of every entry's hash (see RunPage), then an entry's other bits, file number, position and, in runs
///           with row ids, row id (see RunLayout), one entry after the other; the last 8 bytes are the checksum of the
///           rest. 255, 240 or 227 entries, the denser the more; with row ids 194, 185 or 177 (fewer wide ones). All
///           pages are full but the last, and those after which a gap in the hashes is wider than a page can tell; so that
///           a look-up that is not in memory costs one page of the store. 16.1 to 18.1 bytes a key, 21.1 to 23.2 with row ids
///           (wide: 18.1 to 20.1, 26.1 to 28.1).
///   filter  maybe: pages of blocks of a RunFilter, the last 8 bytes a checksum too. 1.3 bytes a key.
///   fences  the top 64 bits of every page's first hash
///   file numbers   those that occur, 4 bytes each, ascending, filled up to 8
///   footer  magic, flags, counts, smallest and largest hash, the checksum of the pages' checksums, the one of fences
///           and file numbers, and its own
/// A page is read and checked when it is first touched; nothing is believed before (kCorruptData naming path and page).
/// Checked pages are believed while the run is open, also where the system drops them from memory and reads them again.
/// The pages of files are mapped read-only: memory is whatever the page cache has, besides memory_bytes(). Immutable;
/// thread-safe.
class Run {
 public:
  /// Maps a file. kCorruptData when footer or fences do not check, kNotFound when it is not there.
  static Result<std::shared_ptr<const Run>> Open(const std::string& path);
  /// A run in memory, in the bytes of a file; `name` for messages.
  static Result<std::shared_ptr<const Run>> FromBytes(Bytes bytes, std::string name);
  static Result<std::shared_ptr<const Run>> FromMapping(Mapping mapping, std::string name_or_path);
  Run(const Run&) = delete;
  Run& operator=(const Run&) = delete;

  const std::string& path() const { return path_; }
  int64_t num_entries() const { return footer_.num_entries; }
  int64_t num_pages() const { return static_cast<int64_t>(fences_.size()); }  ///< of entries
  int64_t size_bytes() const { return static_cast<int64_t>(bytes_.size()); }
  RunLayout layout() const { return footer_.layout; }
  bool in_memory() const { return !mapping_.is_file(); }
  /// Memory of the process: everything of a run in memory; of a file the fences, file numbers and one bit a page.
  int64_t memory_bytes() const;
  /// Numbers of files that entries of this run name, ascending.
  const std::vector<FileNumber>& file_numbers() const { return file_numbers_; }
  const Hash96& smallest() const { return footer_.smallest; }
  const Hash96& largest() const { return footer_.largest; }
  /// XXH3 of the footer, which vouches for all bytes: the run's identity in the manifest.
  uint64_t checksum() const { return footer_.Checksum(); }
  ByteView bytes() const { return bytes_; }

  bool has_filter() const { return footer_.filter_factor != 0; }

  /// Reads and checks every page.
  Status Verify() const;

  // ---- for probes and merges

  /// The filter, whose pages follow those of entries.
  RunFilter filter() const { return {.first = footer_.smallest.high, .factor = footer_.filter_factor}; }
  int64_t FilterPageOf(uint64_t block) const {
    return num_pages() + static_cast<int64_t>(block / RunFilter::kBlocksPerPage);
  }
  const std::byte* FilterBlock(uint64_t block) const {
    return PageAt(FilterPageOf(block)) + block % RunFilter::kBlocksPerPage * RunFilter::kBlockBytes;
  }

  /// By page of entries the top 64 bits of its first hash.
  std::span<const uint64_t> fences() const { return fences_; }
  /// The page's bytes; they mean something only once it is checked.
  const std::byte* PageAt(int64_t page) const { return bytes_.data() + page * static_cast<int64_t>(RunPage::kBytes); }
  bool IsChecked(int64_t page) const {
    return (checked_[static_cast<size_t>(page / 64)].load(std::memory_order_relaxed) >> (page % 64) & 1) != 0;
  }
  RunPageRange RangeOf(int64_t page) const {
    const auto i = static_cast<size_t>(page);
    return {fences_[i], i + 1 < fences_.size() ? fences_[i + 1] : footer_.largest.high, layout().max_distance()};
  }
  bool AllChecked() const { return num_checked_.load(std::memory_order_relaxed) == num_all_pages(); }
  /// Reads and checks the page unless that was done.
  Status Check(int64_t page) const { return IsChecked(page) ? Status() : CheckNow(page); }
  /// Copies pages and checks the copies, so that neither the mapping nor the page cache's order of use is touched.
  Status ReadPages(int64_t first_page, std::span<std::byte> out) const;
  /// Asks the system to begin reading a page that is not in memory.
  void WillNeed(int64_t page) const { mapping_.WillNeed(static_cast<size_t>(page) * RunPage::kBytes, RunPage::kBytes); }

  /// Entries in order, for checks and merges; reads some pages at a time. The run must outlive it. One thread a cursor.
  class Cursor {
   public:
    explicit Cursor(const Run& run) : run_(run) {}
    /// The next entry in `entry`; false at the end. kCorruptData.
    Result<bool> Next(Entry& entry);
    /// The entries of the next page that Next() has not given; none at the end. Valid until the next call.
    Result<std::span<const Entry>> NextPage();

   private:
    template <RunLayout kLayout>
    void Decode(const std::byte* page);

    const Run& run_;
    int64_t page_ = 0;
    Bytes chunk_;             // pages read ahead; empty for runs in memory
    int64_t chunk_page_ = 0;  // the first page in it
    int64_t chunk_end_ = 0;
    std::vector<Entry> entries_;
    size_t slot_ = 0;
  };

 private:
  Run(Mapping mapping, Bytes owned, std::string path);
  Status Init();
  int64_t num_all_pages() const { return num_pages() + footer_.num_filter_pages(); }
  Result<ByteView> ReadTail(size_t offset);
  Status CheckNow(int64_t page) const;
  Status CheckCopy(int64_t page, const std::byte* copy) const;
  template <RunLayout kLayout>
  bool IsInOrder(const std::byte* copy, int64_t page) const;

  std::string path_;
  Mapping mapping_;
  Bytes owned_;
  ByteView bytes_;    // of one of the two
  Mapping sections_;  // of a file: a copy of what lies behind the pages; in huge pages, for every look-up touches it
  RunFooter footer_;
  std::span<const uint64_t> fences_;
  std::vector<FileNumber> file_numbers_;
  mutable std::vector<std::atomic<uint64_t>> checked_;  // one bit a page
  mutable std::atomic<int64_t> num_checked_ = 0;
};

}  // namespace frazil::index
