#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include <arrow/type_fwd.h>

#include "frazil/base/result.h"
#include "frazil/spec/partition_spec.h"
#include "frazil/write/partitioner.h"
#include "frazil/write/sort_key.h"

namespace frazil::write {

class SortedRun;
class SpillFile;

/// Orders rows by (partition, sort order, as they came) in bounded memory: what does not fit is sorted in parts, written to
/// a file of its own and merged (maintenance.md section 3): wide rows a few at a time, and of as many parts as there is
/// memory for. Remembers where rows came from.
///
/// Add all rows, Sort() once, then Next() until none. One thread. Errors: kIo naming the folder.
class ExternalSorter {
 public:
  struct Options {
    spec::SchemaPtr schema;
    spec::PartitionSpec spec;
    bool splits_by_partition = false;  ///< else all rows belong to one partition
    spec::SortOrder sort_order;        ///< may be unsorted: then only partitions are brought together
    int64_t memory_bytes = 0;
    std::string temp_directory;  ///< empty: the system's
    /// Set by another thread: what is written to disk or merged ends soon, with kShuttingDown. May be null.
    const std::atomic<bool>* stop = nullptr;
  };
  static Result<std::unique_ptr<ExternalSorter>> Make(Options options);
  ~ExternalSorter();  ///< deletes the files

  /// The next rows of a source: the schema's columns (those of type unknown left out), then any others, the same each time.
  Status Add(uint32_t source, const arrow::RecordBatch& rows);
  /// Rows of a source so far.
  int64_t num_rows(uint32_t source) const { return source < num_rows_.size() ? num_rows_[source] : 0; }

  Status Sort();

  /// Which row of which source.
  struct Origin {
    uint32_t source = 0;
    int64_t ordinal = 0;
  };
  struct SortedRows {
    spec::PartitionTuple partition;  ///< of all; when they are split by partition
    std::shared_ptr<arrow::RecordBatch> rows;
    std::vector<Origin> origins;
  };
  Result<std::optional<SortedRows>> Next();

  int num_spilled_runs() const { return num_spilled_; }

 private:
  ExternalSorter(Options options, SortKey key, std::optional<Partitioner> partitioner);

  Result<std::vector<uint32_t>> PartitionsOf(const arrow::RecordBatch& rows);
  Status SpillBuffer();
  Result<std::unique_ptr<SortedRun>> SortBuffer();
  Result<std::unique_ptr<SortedRun>> Spill(const std::shared_ptr<SpillFile>& file, SortedRun& run);
  Status MergeDown();

  int64_t given_batch_bytes() const;
  int64_t spilled_batch_bytes() const;
  size_t most_merged_runs() const;

  const Options options_;
  const SortKey key_;
  std::optional<Partitioner> partitioner_;
  std::unordered_map<spec::PartitionTuple, uint32_t, spec::PartitionTupleHash, spec::PartitionTupleEqual> ordinals_;
  std::vector<spec::PartitionTuple> partitions_;  ///< by ordinal: in the order of their first row

  std::vector<Bytes> keys_;  ///< of the batch at hand; kept for their memory
  std::vector<int64_t> num_rows_;
  std::vector<std::shared_ptr<arrow::RecordBatch>> buffer_;  ///< rows with key, source and ordinal behind them
  int64_t buffer_bytes_ = 0;
  std::shared_ptr<SpillFile> spill_file_;
  std::vector<std::unique_ptr<SortedRun>> runs_;
  int64_t largest_spilled_batch_ = 0;
  std::unique_ptr<SortedRun> result_;
  std::shared_ptr<arrow::RecordBatch> pending_;  ///< of the result, from pending_begin_ on
  int64_t pending_begin_ = 0;
  int num_spilled_ = 0;
};

}  // namespace frazil::write
