#pragma once

#include <array>
#include <limits>
#include <memory>
#include <span>
#include <vector>

#include "frazil/index/index_version.h"

namespace frazil::index {

/// Says where the rows of entries lie in one version, or that they are dead. One thread; the version must outlive it.
///
/// Made for millions of entries that name a few thousand files in no order: what a look-up or a merge asks of a file stands
/// in an array by file number, filled when the first entry names the file, vector included. Vectors that are asked often
/// are laid out as bits, which the resolvers of one index share.
class EntryResolver {
 public:
  static constexpr int64_t kNoRowId = -1;

  struct Place {
    const IndexedFile* file = nullptr;  ///< live; a data file or an equality delete file. Null: the row is dead
    uint32_t position = 0;
    int64_t row_id = kNoRowId;  ///< none: the file that the entry names has no row ids
  };

  /// Once the vectors at hand take `max_vector_bytes`, rows of further files are taken for alive: good enough for merges,
  /// which may keep dead entries.
  explicit EntryResolver(const IndexVersion& version, int64_t max_vector_bytes = std::numeric_limits<int64_t>::max())
      : version_(version), max_vector_bytes_(max_vector_bytes) {}

  /// Errors: of reading a vector.
  Result<Place> Resolve(FileNumber number, uint32_t position, int64_t row_id);
  /// The same for many at once; `places` gets one an entry.
  Status Resolve(std::span<const ProbeHit> hits, std::vector<Place>& places);
  Status Resolve(std::span<const Entry> entries, std::vector<Place>& places);

 private:
  static constexpr size_t kFilesOfBlock = 16;

  /// What is asked of one number again and again.
  struct File {
    bool is_known = false;  ///< the rest is filled in
    bool is_live = false;
    bool has_deletes = false;
    const FileState* state = nullptr;  ///< null: gone for good
    const IndexedFile* file = nullptr;
    int64_t first_row_id = kNoRowId;

    // Of a live one with deletes, once a row was asked for:
    bool is_read = false;
    LiveDeletes::Positions deleted;
    int64_t asks_left = 0;  ///< before bits are made of it
    LiveDeletes::Bits bits;
    size_t num_bits = 0;
  };
  using Block = std::array<File, kFilesOfBlock>;

  template <typename EntryOrHit>
  Status ResolveAll(std::span<const EntryOrHit> entries, std::vector<Place>& places);
  /// Lets go of all vectors; those that are asked for again are read again.
  void DropVectors();
  File& FileOf(FileNumber number) {
    const size_t block = number / kFilesOfBlock;
    if (block < blocks_.size() && blocks_[block] != nullptr) [[likely]] {
      File& file = (*blocks_[block])[number % kFilesOfBlock];
      if (file.is_known) [[likely]]
        return file;
    }
    return FillIn(number);
  }
  File& FillIn(FileNumber number);
  /// Without a look at vectors. The file where the row lies; null: nowhere.
  File* Locate(FileNumber number, uint32_t position, int64_t row_id, Place& place);
  Result<bool> IsDeleted(File& file, uint32_t position);
  Status ReadDeletes(File& file);
  void LayOut(File& file);
  static void UseBits(File& file, LiveDeletes::Bits bits);

  const IndexVersion& version_;
  const int64_t max_vector_bytes_;
  int64_t bit_bytes_left_ = int64_t{256} << 20;
  std::vector<std::unique_ptr<Block>> blocks_;
  std::vector<File*> files_;  ///< of the entries at hand
  std::vector<File*> held_;   ///< that have a vector
  int64_t held_bytes_ = 0;
  bool is_tight_ = false;        ///< the budget has no room for all vectors
  std::vector<uint32_t> order_;  ///< of the entries at hand, file by file
};

}  // namespace frazil::index
