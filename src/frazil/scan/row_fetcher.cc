#include "frazil/scan/row_fetcher.h"

#include <algorithm>
#include <atomic>
#include <map>
#include <mutex>
#include <optional>
#include <thread>

#include <arrow/api.h>
#include <arrow/compute/api.h>

#include "frazil/expr/evaluate.h"
#include "frazil/format/shared_lru_cache.h"
#include "frazil/scan/equality_deletes.h"
#include "frazil/scan/fetch_gate.h"
#include "frazil/scan/file_columns.h"
#include "frazil/scan/row_source.h"
#include "frazil/spec/name_mapping.h"

namespace frazil::scan {
namespace {

using Batch = std::shared_ptr<arrow::RecordBatch>;

/// A file whose footer is at hand. Thread-safe.
class OpenFile {
 public:
  OpenFile(format::ParquetRowReader rows, std::string name_mapping)
      : rows_(std::move(rows)), name_mapping_(std::move(name_mapping)) {}

  const format::ParquetRowReader& rows() const { return rows_; }
  /// The table's when the file was opened: its columns got their ids by it.
  const std::string& name_mapping() const { return name_mapping_; }

  /// FileColumns::Make; those that were made last are kept, for nearly all ask for the same.
  Result<FileColumns> Columns(const table::ScanPlan& plan, const table::FileScanTask& task,
                              const ReadColumns& columns) const {
    std::shared_ptr<const Made> last;
    {
      const std::lock_guard lock(mutex_);
      last = last_;
    }
    if (last != nullptr && last->schema == plan.schema && last->asked == columns) return last->made.In(plan, task);
    FRAZIL_ASSIGN(FileColumns made,
                  FileColumns::Make(plan, task, columns, [&](spec::FieldId id) { return rows_.file().HasField(id); }));
    last = std::make_shared<const Made>(Made{.schema = plan.schema, .asked = columns, .made = made});
    const std::lock_guard lock(mutex_);
    last_ = std::move(last);
    return made;
  }

 private:
  struct Made {
    spec::SchemaPtr schema;
    ReadColumns asked;
    FileColumns made;  ///< its plan may be gone
  };

  const format::ParquetRowReader rows_;
  const std::string name_mapping_;
  mutable std::mutex mutex_;
  mutable std::shared_ptr<const Made> last_;  // guarded by mutex_
};

Status CheckArrow(const arrow::Status& status, const std::string& path) {
  if (status.ok()) return {};
  return Fail(ErrorCode::kCorruptData, "cannot read rows: {}: {}", status.message(), path);
}

Result<Batch> Concatenate(const std::shared_ptr<arrow::Schema>& schema, const arrow::RecordBatchVector& batches,
                          const std::string& path) {
  if (batches.size() == 1) return batches.front();
  auto all = batches.empty() ? arrow::RecordBatch::MakeEmpty(schema) : arrow::ConcatenateRecordBatches(batches);
  FRAZIL_TRY(CheckArrow(all.status(), path));
  return all.MoveValueUnsafe();
}

/// The rows of files that are not Parquet: all are read, the wanted ones are kept.
Result<Batch> PickRows(RowSource& source, const FileColumns& columns, std::span<const int64_t> positions,
                       const std::string& path) {
  FRAZIL_TRY(source.Start(columns.wanted()));
  arrow::RecordBatchVector picked;
  for (size_t next = 0; next < positions.size();) {
    FRAZIL_ASSIGN(const std::optional<format::ParquetBatch> batch, source.Next());
    if (!batch) {
      return Fail(ErrorCode::kInvalidArgument, "no row at position {} of: {}", positions[next], path);
    }
    FRAZIL_ASSIGN(const Batch rows, columns.Complete(*batch->rows, RowPositions::From(batch->first_row)));
    for (; next < positions.size() && positions[next] < batch->first_row + rows->num_rows(); ++next) {
      picked.push_back(rows->Slice(positions[next] - batch->first_row, 1));
    }
  }
  return Concatenate(columns.schema(), picked, path);
}

/// The columns of a filter with their types.
void AddColumnsOf(const expr::Expression& filter, std::map<spec::FieldId, spec::Type>& columns) {
  for (const expr::ExpressionPtr& child : filter.children()) AddColumnsOf(*child, columns);
  if (filter.op() > expr::Op::kNot) columns.emplace(filter.field(), filter.type());  // a leaf
}

/// Whether equality deletes mean the same with both.
bool ReadsAlike(const spec::TableMetadata& a, const spec::TableMetadata& b) {
  if (&a == &b) return true;
  const auto is_same = [](const spec::SchemaPtr& x, const spec::SchemaPtr& y) {
    return x == y || (x->id() == y->id() && x->SameAs(*y));
  };
  return std::ranges::equal(a.schemas, b.schemas, is_same) &&
         a.Property(spec::kNameMappingProperty, "") == b.Property(spec::kNameMappingProperty, "");
}

}  // namespace

class RowCache::Impl {
 public:
  Impl(int64_t max_bytes, MemoryBudget* budget)
      : files(max_bytes / 4, budget),
        pages(std::make_shared<format::ParquetPageCache>(max_bytes - max_bytes / 4, budget)) {}

  /// By number of the fetcher, whose store it is, and path: data files never change.
  format::SharedLruCache<std::pair<uint64_t, std::string>, OpenFile> files;
  const std::shared_ptr<format::ParquetPageCache> pages;
};

RowCache::RowCache(int64_t max_bytes, MemoryBudget* budget) : impl_(std::make_unique<Impl>(max_bytes, budget)) {}
RowCache::~RowCache() = default;

class RowFetcher::Impl {
 public:
  Impl(std::shared_ptr<io::FileIO> io, std::shared_ptr<RowCache> cache)
      : io_(std::move(io)), cache_(std::move(cache)), number_(NextNumber()) {}

  Result<Batch> Fetch(const table::ScanPlan& plan, const table::FileScanTask& task, std::span<const int64_t> positions,
                      const ReadColumns& columns, FetchCounts* counts) {
    // Reading of a local file is work of the processor. From elsewhere it is mostly waiting, which as many as want may do.
    std::optional<FetchGate::Pass> pass;
    if (io::LocalPath(task.data_file.file.file_path)) pass.emplace(gate_.Enter());
    if (task.deletes.equality_deletes.empty()) return FetchAny(plan, task, positions, columns, counts);
    FRAZIL_ASSIGN(const EqualityFilter filter, EqualityDeletesOf(plan)->For(plan, task));
    if (filter.empty()) return FetchAny(plan, task, positions, columns, counts);
    FRAZIL_ASSIGN(const FileColumns key_columns, FileColumns::MakeForKeys(plan, task, filter.columns()));
    FRAZIL_ASSIGN(const Batch keys, Read(plan, task, positions, key_columns, counts));
    std::vector<bool> deleted(positions.size());
    filter.Mark(keys->columns(), deleted);
    std::vector<int64_t> left;
    for (size_t i = 0; i < positions.size(); ++i) {
      if (!deleted[i]) left.push_back(positions[i]);
    }
    return FetchAny(plan, task, left, columns, counts);
  }

  Result<std::optional<LocatedRows>> Locate(const table::ScanPlan& plan, const table::FileScanTask& task,
                                            double largest_share) {
    const spec::DataFile& file = task.data_file.file;
    std::map<spec::FieldId, spec::Type> columns;
    AddColumnsOf(*plan.filter, columns);
    if (columns.empty() || file.file_format != spec::FileFormat::kParquet) return std::nullopt;
    FRAZIL_ASSIGN(const std::shared_ptr<const OpenFile> open, Open(*plan.metadata, file, nullptr));
    const format::ParquetReader& parquet = open->rows().file();
    const auto most_rows = static_cast<size_t>(largest_share * static_cast<double>(parquet.num_rows()));
    LocatedRows located;
    for (size_t i = 0; i < parquet.row_groups().size(); ++i) {
      // The footer is at hand, indexes are not.
      FRAZIL_ASSIGN(const spec::DataFile row_group, parquet.RowGroupAsFile(static_cast<int>(i), columns));
      if (!expr::FileMayMatch(plan.filter, row_group, *plan.schema)) continue;
      FRAZIL_ASSIGN(std::vector<format::ParquetRowRange> ranges, parquet.RowRanges(static_cast<int>(i), columns));
      if (ranges.empty() && parquet.row_groups()[i].num_rows > 0) return std::nullopt;
      for (const format::ParquetRowRange& range : ranges) {
        if (!expr::FileMayMatch(plan.filter, range.metrics, *plan.schema)) continue;
        if (located.positions.size() + static_cast<size_t>(range.num_rows) > most_rows) return std::nullopt;
        for (int64_t row = 0; row < range.num_rows; ++row) located.positions.push_back(range.first_row + row);
      }
    }
    located.bytes_per_row = std::max<int64_t>(1, parquet.DecodedBytes() / std::max<int64_t>(1, parquet.num_rows()));
    return located;
  }

 private:
  static uint64_t NextNumber() {
    static std::atomic<uint64_t> next = 0;
    return next++;
  }

  /// Whatever equality deletes say.
  Result<Batch> FetchAny(const table::ScanPlan& plan, const table::FileScanTask& task,
                         std::span<const int64_t> positions, const ReadColumns& columns, FetchCounts* counts) {
    const spec::DataFile& file = task.data_file.file;
    if (file.file_format != spec::FileFormat::kParquet) {
      FRAZIL_ASSIGN(const std::unique_ptr<RowSource> source, OpenRowSource(*io_, *plan.metadata, file));
      FRAZIL_ASSIGN(const FileColumns made,
                    FileColumns::Make(plan, task, columns, [&](spec::FieldId id) { return source->HasField(id); }));
      return PickRows(*source, made, positions, file.file_path);
    }
    FRAZIL_ASSIGN(const std::shared_ptr<const OpenFile> open, Open(*plan.metadata, file, counts));
    FRAZIL_ASSIGN(const FileColumns made, open->Columns(plan, task, columns));
    return ReadParquet(*open, positions, made, counts);
  }

  Result<Batch> Read(const table::ScanPlan& plan, const table::FileScanTask& task, std::span<const int64_t> positions,
                     const FileColumns& columns, FetchCounts* counts) {
    const spec::DataFile& file = task.data_file.file;
    if (file.file_format != spec::FileFormat::kParquet) {
      FRAZIL_ASSIGN(const std::unique_ptr<RowSource> source, OpenRowSource(*io_, *plan.metadata, file));
      return PickRows(*source, columns, positions, file.file_path);
    }
    FRAZIL_ASSIGN(const std::shared_ptr<const OpenFile> open, Open(*plan.metadata, file, counts));
    return ReadParquet(*open, positions, columns, counts);
  }

  static Result<Batch> ReadParquet(const OpenFile& open, std::span<const int64_t> positions, const FileColumns& columns,
                                   FetchCounts* counts) {
    FRAZIL_ASSIGN(const Batch read, open.rows().ReadRows(columns.wanted(), positions, counts));
    return columns.Complete(*read, RowPositions::Listed(positions));
  }

  Result<std::shared_ptr<const OpenFile>> Open(const spec::TableMetadata& metadata, const spec::DataFile& file,
                                               FetchCounts* counts) {
    std::string mapping = metadata.Property(spec::kNameMappingProperty, "");
    auto& files = cache_->impl_->files;
    if (auto found = files.Find({number_, file.file_path}); found != nullptr && found->name_mapping() == mapping) {
      return found;
    }
    FRAZIL_ASSIGN(std::shared_ptr<const format::ParquetReader> parquet, OpenParquetFile(*io_, metadata, file));
    if (counts != nullptr) ++counts->reads;
    const auto opened = std::make_shared<const OpenFile>(
        format::ParquetRowReader(std::move(parquet), cache_->impl_->pages), std::move(mapping));
    return files.Insert({number_, file.file_path}, opened, opened->rows().memory_bytes());
  }

  /// Those of one snapshot are kept: readers of a new snapshot come in its order. Their keys are of the types that the
  /// columns had when they were read, so other schemas begin anew, also at the same snapshot.
  std::shared_ptr<EqualityDeletes> EqualityDeletesOf(const table::ScanPlan& plan) {
    const std::lock_guard lock(mutex_);
    if (equality_deletes_ == nullptr || equality_snapshot_ != plan.snapshot_id ||
        !ReadsAlike(*equality_metadata_, *plan.metadata)) {
      equality_deletes_ = std::make_shared<EqualityDeletes>(io_);
      equality_snapshot_ = plan.snapshot_id;
    }
    equality_metadata_ = plan.metadata;
    return equality_deletes_;
  }

  const std::shared_ptr<io::FileIO> io_;
  FetchGate gate_{std::max(1U, std::thread::hardware_concurrency())};
  const std::shared_ptr<RowCache> cache_;
  const uint64_t number_;  // of this fetcher in the cache; never used twice
  std::mutex mutex_;
  std::shared_ptr<EqualityDeletes> equality_deletes_;  // guarded by mutex_
  std::optional<spec::SnapshotId> equality_snapshot_;  // guarded by mutex_
  spec::TableMetadataPtr equality_metadata_;           // guarded by mutex_
};

RowFetcher::RowFetcher(std::shared_ptr<io::FileIO> io, std::shared_ptr<RowCache> cache)
    : impl_(std::make_unique<Impl>(std::move(io), std::move(cache))) {}
RowFetcher::~RowFetcher() = default;

Result<std::shared_ptr<arrow::RecordBatch>> RowFetcher::Fetch(const table::ScanPlan& plan,
                                                              const table::FileScanTask& task,
                                                              std::span<const int64_t> positions,
                                                              const ReadColumns& columns, FetchCounts* counts) {
  return impl_->Fetch(plan, task, positions, columns, counts);
}

Result<std::optional<LocatedRows>> RowFetcher::Locate(const table::ScanPlan& plan, const table::FileScanTask& task,
                                                      double largest_share) {
  return impl_->Locate(plan, task, largest_share);
}

}  // namespace frazil::scan
