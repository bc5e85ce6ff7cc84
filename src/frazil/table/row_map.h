#pragma once

#include <compare>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "frazil/base/memory_budget.h"
#include "frazil/base/result.h"
#include "frazil/format/deletion_vector.h"
#include "frazil/io/file_io.h"
#include "frazil/spec/ids.h"

namespace frazil::table {

/// Summary key that names the row map of a rewrite (decisions.md, "Places").
inline constexpr char kRowMapSummaryKey[] = "frazil.row-map";

/// Where the rows of the files that one rewrite replaced went (maintenance.md section 1, "Row map").
///
/// For every source file: which of its positions were carried, and the output file and position of each. Three kinds:
///   order kept        segments (source start, output, output start, length) over the rows that were not dropped; the new
///                     position is output start + p - source start - rank of the dropped positions between
///   merge of sorted   the source of every output row, run-length coded; the rows of one source keep their order
///   full sort         position -> (output, position), an array per source
/// Written as a Puffin file (row_map_format.h): one blob a source, with the dropped positions as a deletion vector, every
/// blob checksummed. Read whole, or mapped where the file is large and of this machine. Immutable; thread-safe.
class RowMap {
 public:
  /// A replaced file and its identity (state rule 1): another file under the same path is another source.
  struct Source {
    std::string path;
    spec::SequenceNumber sequence_number;  ///< data sequence number
    std::optional<spec::RowId> first_row_id;
    int64_t record_count = 0;
    bool operator==(const Source&) const = default;
  };
  struct Output {
    std::string path;
    int64_t record_count = 0;
    bool operator==(const Output&) const = default;
  };
  struct Target {
    uint32_t output = 0;  ///< index into outputs()
    spec::RowPosition position;
    auto operator<=>(const Target&) const = default;
  };

  /// More rows than any data file has: what a damaged count may cost at most is bounded by it.
  static constexpr int64_t kMaxRecords = int64_t{1} << 40;
  /// Arrays of full sorts are large: files of this machine from here on are mapped, everything else is read.
  static constexpr int64_t kMinMappedBytes = int64_t{64} << 20;

  /// kCorruptData naming the path: lengths, counts and checksums are never trusted, every target lies inside its output,
  /// no two rows share one and every row of an output has a source. kNotFound.
  static Result<std::shared_ptr<const RowMap>> Read(const io::FileIO& io, const std::string& path);
  ~RowMap();

  const std::vector<Source>& sources() const;
  const std::vector<Output>& outputs() const;
  /// Index of a source by path; none: not a source of this rewrite.
  std::optional<uint32_t> FindSource(const std::string& path) const;

  /// Where a row of a source went; none: it was dropped (or the position is outside the file).
  std::optional<Target> Find(uint32_t source, spec::RowPosition position) const;
  /// The same for many positions, ascending: walks instead of searching. `out` gets one a position.
  void FindAll(uint32_t source, std::span<const int64_t> positions, std::vector<std::optional<Target>>& out) const;
  /// Rows of a source that went to each output, by output.
  std::vector<int64_t> CountCarried(uint32_t source) const;

  int64_t memory_bytes() const;
  int64_t size_bytes() const;  ///< of the file

 private:
  friend class RowMapWriter;
  class Impl;
  explicit RowMap(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

/// Builds a row map while a rewrite writes its outputs, and writes it. One thread. What it has in memory a row is reserved;
/// kResourceExhausted when that does not fit.
class RowMapWriter {
 public:
  /// `temp_folder`: for what is told in no order; empty: the system's. `budget`: null is no limit.
  explicit RowMapWriter(std::string temp_folder = "", MemoryBudget* budget = nullptr);
  ~RowMapWriter();

  /// `dropped`: positions that were deleted when the rewrite was planned (D0), so not carried. Returns its index.
  uint32_t AddSource(RowMap::Source source, format::DeletionVector dropped);
  /// Returns its index. `record_count` below zero: as many as will be told.
  uint32_t AddOutput(RowMap::Output output);

  // Each source is told in exactly one of these ways.

  /// The rows of `source` from `source_start` on that were not dropped, `length` of them, lie in order in `output` from
  /// `output_start` on. Called for ascending, adjoining source ranges; a source may be cut over several outputs.
  Status AddOrderKept(uint32_t source, int64_t source_start, uint32_t output, int64_t output_start, int64_t length);
  /// The next `length` rows of `output` come from `source`, in its order (merge of sorted inputs): of its rows that were
  /// not dropped those that follow the ones told before, wherever they went.
  Status AddMerged(uint32_t output, uint32_t source, int64_t length);
  /// One row (full sort).
  Status AddSorted(uint32_t source, spec::RowPosition position, uint32_t output, spec::RowPosition output_position);

  /// Checks that every row that was not dropped was told exactly once and that they fill the outputs (kInternal), writes
  /// the file and returns its size in bytes.
  Result<int64_t> Write(io::FileIO& io, const std::string& path) const;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace frazil::table
