#pragma once

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "frazil/format/deletion_vector.h"
#include "frazil/spec/manifest.h"
#include "frazil/table/delete_index.h"
#include "frazil/table/scan_planner.h"
#include "frazil/table/table.h"

namespace frazil::table {

/// Reads the vector that a live delete entry names and checks it against the entry: length, CRC, cardinality =
/// record_count, positions below `data_file_record_count` (spec section 4.1, reader checks). kCorruptData or
/// kInvalidTable naming Puffin, field and data file.
Result<format::DeletionVector> ReadVector(const io::FileIO& io, const spec::DataFile& entry,
                                          int64_t data_file_record_count);

/// Everything deleted by position in one data file: its vector, or its position delete files (v2).
/// Reading position delete files needs Parquet, so `read_positions` is given by the level above; null: kNotSupported
/// naming the file when there are any.
using PositionDeleteReader =
    std::function<Result<std::vector<int64_t>>(const LiveDelete& file, const std::string& data_file_path)>;
Result<format::DeletionVector> ReadPositions(const io::FileIO& io, const LiveDataFile& data_file,
                                             const ApplicableDeletes& deletes,
                                             const PositionDeleteReader& read_positions);

/// Writes the deleted positions of one data file of a v2 table as a position delete file of its own (spec section 4.6).
/// Parquet again, so it is given by the level above; null: kNotSupported.
using PositionDeleteWriter =
    std::function<Result<spec::DataFile>(const spec::DataFile& data_file, const format::DeletionVector& positions)>;

/// The positions one change deletes, per data file path.
using OwnDeletes = std::map<std::string, format::DeletionVector>;

/// Result of merging own deletes onto a base: what to add to and remove from FileChanges.
struct MergedDeletes {
  std::vector<spec::DataFile> added_delete_files;
  std::vector<spec::DeleteFileId> removed_delete_files;
  std::vector<std::string> removed_data_files;  ///< every row deleted: the file itself goes
  std::vector<std::string> puffin_paths;        ///< delete files written by this call; delete when the attempt loses
  int64_t num_newly_deleted = 0;
  int64_t num_removed_with_data_files = 0;  ///< of removed_delete_files: those of ReplacedFiles::removed
};

/// A Puffin of vectors takes no more when it has `frazil.write.dv.max-blobs-per-puffin` blobs or so many bytes. All but one
/// that is written of a partition are full, so packing them again finds nothing to do.
inline constexpr int64_t kFullPuffinBytes = int64_t{16} << 20;
Result<int64_t> MaxBlobsPerPuffin(const spec::TableMetadata& metadata);
bool IsFullPuffin(int64_t num_blobs, int64_t bytes, int64_t max_blobs);

/// Merges `own` with the live deletes of `base` (ingest.md rule 2, spec 4.4): one vector per data file; a file whose
/// every row is deleted is removed with its vector; vectors are grouped into Puffins by (spec, partition), until they are full;
/// when one blob of a Puffin is replaced its live siblings are
/// rewritten with it, so a path is wholly live or wholly dead (decisions.md). No vector is written where nothing changes.
/// `own` must name live data files of the base: kCommitConflict naming the path otherwise.
/// On a v2 table each touched data file gets one position delete file instead of a vector, which takes the place of those
/// that were for it alone.
Result<MergedDeletes> MergeDeletes(const Table& base, const OwnDeletes& own, const LiveFiles& live,
                                   const PositionDeleteReader& read_positions,
                                   const PositionDeleteWriter& write_positions = nullptr);

/// Data files that one commit puts in the place of others.
struct ReplacedFiles {
  std::vector<spec::DataFile> added;
  std::vector<std::string> removed;  ///< live ones, by path
};

/// MergeDeletes for a rewrite: `own` may name added files, which are not live yet, and the vectors and own position
/// deletes of removed files go. Their siblings are rewritten as there, so that a path is wholly live or wholly dead.
Result<MergedDeletes> CarryDeletes(const Table& base, const OwnDeletes& own, const ReplacedFiles& replaced,
                                   const LiveFiles& live, const PositionDeleteReader& read_positions,
                                   const PositionDeleteWriter& write_positions = nullptr);

/// Writes deletes anew that hide the same rows afterwards: the live vectors of `puffins`, packed as above, and for each of
/// `data_files` (live ones) one vector, on v2 one position delete file, in place of its vector and the position delete
/// files that are for it alone. One Puffin's vectors are in memory at a time. Vectors of files that are gone are left out.
Result<MergedDeletes> RepackDeletes(const Table& base, const std::set<std::string>& puffins,
                                    const std::set<std::string>& data_files, const LiveFiles& live,
                                    const PositionDeleteReader& read_positions,
                                    const PositionDeleteWriter& write_positions = nullptr);

}  // namespace frazil::table
