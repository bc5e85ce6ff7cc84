#include "frazil/ingest/batch_files.h"

#include <algorithm>
#include <span>

#include <arrow/api.h>
#include <arrow/util/byte_size.h>

#include "frazil/table/uncommitted_files.h"
#include "frazil/write/gather.h"
#include "frazil/write/row_order.h"

namespace frazil::ingest {
namespace {

/// More rows than this part of the batch are not patched: the file would be mostly dead.
constexpr size_t kMaxPatchedPart = 4;

/// The table's columns of some rows, and `_row_id` behind them.
Result<std::shared_ptr<arrow::RecordBatch>> RowsWithIds(const arrow::RecordBatch& batch, std::span<const int64_t> rows,
                                                        std::span<const std::optional<spec::RowId>> row_ids) {
  FRAZIL_ASSIGN(const std::shared_ptr<arrow::RecordBatch> gathered, write::Gather(batch, rows));
  arrow::Int64Builder builder;
  arrow::Status status = builder.Reserve(static_cast<int64_t>(row_ids.size()));
  for (const std::optional<spec::RowId>& row_id : row_ids) {
    if (!status.ok()) break;
    if (row_id) {
      builder.UnsafeAppend(row_id->value());
    } else {
      builder.UnsafeAppendNull();
    }
  }
  std::shared_ptr<arrow::Array> column;
  if (status.ok()) status = builder.Finish(&column);
  if (!status.ok()) return Fail(ErrorCode::kResourceExhausted, "row ids: {}", status.message());
  auto with_ids =
      gathered->AddColumn(gathered->num_columns(), arrow::field(spec::kRowIdColumn, arrow::int64()), column);
  if (!with_ids.ok()) return Fail(ErrorCode::kInternal, "row ids: {}", with_ids.status().message());
  return with_ids.MoveValueUnsafe();
}

/// What `num_rows` of the batch weigh in memory, on average.
int64_t BytesOf(const arrow::RecordBatch& batch, size_t num_rows) {
  if (batch.num_rows() == 0) return 0;
  const auto share = static_cast<double>(num_rows) / static_cast<double>(batch.num_rows());
  return static_cast<int64_t>(static_cast<double>(arrow::util::TotalBufferSize(batch)) * share);
}

/// Rows `begin` to `end` of a sorted batch, as files of their own.
struct Part {
  std::vector<write::PartitionRange> partitions;
  std::vector<spec::DataFile> files;
  std::vector<write::RowLocation> locations;  ///< by row of the part
};

/// Encoding a file keeps one thread busy, so a large landing batch becomes a file a thread.
std::vector<Part> LandingParts(int64_t num_rows, int64_t min_rows, const Executor* executor) {
  const int64_t num_threads = executor == nullptr ? 1 : executor->num_threads();
  const int64_t num_parts = std::clamp<int64_t>(num_rows / min_rows, 1, num_threads);
  std::vector<Part> parts(static_cast<size_t>(num_parts));
  for (int64_t i = 0; i < num_parts; ++i) {
    parts[static_cast<size_t>(i)].partitions = {
        {.tuple = {}, .begin = num_rows * i / num_parts, .end = num_rows * (i + 1) / num_parts}};
  }
  return parts;
}

/// Rows of a batch in the order in which they are written, and what their row ids are.
struct SortedRows {
  const arrow::RecordBatch& batch;
  std::vector<int64_t> rows;
  std::vector<std::optional<spec::RowId>> row_ids;
};

/// Writes the part's rows. Files of a part that failed are deleted.
Status WritePart(const table::Table& base, const spec::SchemaPtr& schema, Executor* executor,
                 const write::RowWriterOptions& options, const SortedRows& sorted, Part& part) {
  const int64_t begin = part.partitions.front().begin;
  const int64_t end = part.partitions.back().end;
  const auto first = static_cast<size_t>(begin);
  const auto count = static_cast<size_t>(end - begin);
  FRAZIL_ASSIGN(const std::shared_ptr<arrow::RecordBatch> batch,
                RowsWithIds(sorted.batch, std::span(sorted.rows).subspan(first, count),
                            std::span(sorted.row_ids).subspan(first, count)));
  std::vector<write::PartitionRange> partitions = part.partitions;
  for (write::PartitionRange& partition : partitions) {
    partition.begin -= begin;
    partition.end -= begin;
  }
  FRAZIL_ASSIGN(const std::unique_ptr<write::RowWriter> writer,
                write::RowWriter::Make(base.io(), base.metadata(), schema, executor, options));
  FRAZIL_TRY(writer->WriteGrouped(*batch, partitions, &part.locations));
  FRAZIL_ASSIGN(part.files, writer->Finish());
  return {};
}

template <typename T>
std::vector<T> Permuted(const std::vector<T>& values, const std::vector<uint32_t>& permutation) {
  if (permutation.empty()) return values;
  std::vector<T> result;
  result.reserve(values.size());
  for (const uint32_t i : permutation) result.push_back(values[i]);
  return result;
}

}  // namespace

Result<bool> BatchFiles::CanUse(const WrittenFiles& written, const table::Table& base) const {
  const spec::TableMetadata& metadata = *base.metadata();
  const int64_t age_ms = clock_.NowMs() - written.written_at_ms;
  if (age_ms > table::kMaxUncommittedAgeMs) return false;
  for (const spec::DataFile& file : written.files) {
    if (age_ms <= table::kLookAfterMs) break;
    const auto opened = base.io()->Open(file.file_path);
    if (!opened && opened.error().code() != ErrorCode::kNotFound) return tl::unexpected(opened.error());
    if (!opened || (*opened)->size_bytes() != file.file_size_in_bytes) return false;
  }
  // A spec without fields can be added again; another one that is gone took the meaning of the tuples with it.
  return written.spec.fields().empty() || FindSpecByContent(metadata, written.spec) != nullptr;
}

void BatchFiles::AddFiles(const WrittenFiles& written, const spec::TableMetadata& metadata, CommittedRows& committed) {
  const spec::PartitionSpec* known = FindSpecByContent(metadata, written.spec);
  const spec::SpecId id = known != nullptr ? known->id() : NextSpecId(metadata);
  if (known == nullptr) committed.added_spec = written.spec.WithId(id);
  for (spec::DataFile file : written.files) {
    file.spec_id = id;
    committed.files.push_back(std::move(file));
  }
}

Result<CommittedRows> BatchFiles::For(const table::Table& base, const Resolution& resolution) {
  const spec::TableMetadata& metadata = *base.metadata();
  CommittedRows committed;
  if (resolution.rows.empty()) return committed;
  std::vector<size_t> changed;  // into the rows
  bool is_usable = false;
  if (main_) {
    FRAZIL_ASSIGN(is_usable, CanUse(*main_, base));
  }
  if (is_usable) {
    for (size_t i = 0; i < main_->rows.size(); ++i) {
      if (main_->rows[i].row_id != resolution.row_ids[i]) changed.push_back(i);
    }
    if (changed.size() * kMaxPatchedPart > main_->rows.size()) main_.reset();
  } else {
    main_.reset();
  }
  if (!main_) {
    patch_.reset();
    FRAZIL_ASSIGN(main_, Write(base, resolution.rows, resolution.row_ids, std::nullopt));
    AddFiles(*main_, metadata, committed);
    return committed;
  }

  std::vector<int64_t> struck_out_in_file(main_->files.size(), 0);
  std::vector<int64_t> patch_rows;
  std::vector<std::optional<spec::RowId>> patch_ids;
  for (const size_t i : changed) {
    const WrittenRow& row = main_->rows[i];
    FRAZIL_TRY(
        committed.struck_out[main_->files[row.location.file].file_path].Add(spec::RowPosition(row.location.position)));
    ++struck_out_in_file[row.location.file];
    patch_rows.push_back(row.row);
    patch_ids.push_back(resolution.row_ids[i]);
  }
  AddFiles(*main_, metadata, committed);
  // A file of which nothing is left is not committed at all.
  for (size_t i = 0; i < main_->files.size(); ++i) {
    if (struck_out_in_file[i] < main_->files[i].record_count) continue;
    const std::string& path = main_->files[i].file_path;
    committed.struck_out.erase(path);
    std::erase_if(committed.files, [&](const spec::DataFile& file) { return file.file_path == path; });
  }
  if (patch_rows.empty()) return committed;
  FRAZIL_ASSIGN(const bool is_same_patch, IsSamePatch(base, patch_rows, patch_ids));
  if (!is_same_patch) {
    FRAZIL_ASSIGN(patch_, Write(base, patch_rows, patch_ids, main_->spec));
  }
  AddFiles(*patch_, metadata, committed);
  return committed;
}

Result<bool> BatchFiles::IsSamePatch(const table::Table& base, const std::vector<int64_t>& rows,
                                     const std::vector<std::optional<spec::RowId>>& row_ids) const {
  if (!patch_ || patch_->rows.size() != rows.size()) return false;
  for (size_t i = 0; i < rows.size(); ++i) {
    if (patch_->rows[i].row != rows[i] || patch_->rows[i].row_id != row_ids[i]) return false;
  }
  return CanUse(*patch_, base);
}

Result<BatchFiles::WrittenFiles> BatchFiles::Write(const table::Table& base, const std::vector<int64_t>& rows,
                                                   const std::vector<std::optional<spec::RowId>>& row_ids,
                                                   const std::optional<spec::PartitionSpec>& wanted_spec) {
  const spec::TableMetadata& metadata = *base.metadata();
  const spec::SortOrder& sort_order = metadata.default_sort_order();
  FRAZIL_ASSIGN(write::RowSorter sorter, write::RowSorter::Make(metadata.default_spec(), sort_order, schema_));
  FRAZIL_ASSIGN(write::RowOrder order, sorter.Sort(*batch_.rows, rows));

  WrittenFiles written;
  written.written_at_ms = clock_.NowMs();
  FRAZIL_ASSIGN(const LandingMode landing, FindLandingMode(metadata, landing_));
  written.is_landing = wanted_spec
                           ? wanted_spec->fields().empty() && !metadata.default_spec().fields().empty()
                           : ShouldLand(landing, metadata, BytesOf(*batch_.rows, rows.size()), order.partitions.size());
  written.spec = written.is_landing ? spec::PartitionSpec(NextSpecId(metadata), {}) : metadata.default_spec();
  std::vector<Part> parts;
  if (written.is_landing) {
    if (const spec::PartitionSpec* known = FindSpecByContent(metadata, written.spec)) written.spec = *known;
    parts = LandingParts(static_cast<int64_t>(rows.size()), min_landing_rows_, executor_);
  } else {
    parts.emplace_back().partitions = std::move(order.partitions);
  }
  // Sorted by partition first, rows that land do not have the table's own order.
  write::RowWriterOptions options{.spec = written.spec, .sort_order_id = {}, .is_landing = written.is_landing};
  if (!written.is_landing && sort_order.is_sorted()) options.sort_order_id = sort_order.id;

  const SortedRows sorted{.batch = *batch_.rows,
                          .rows = Permuted(rows, order.permutation),
                          .row_ids = Permuted(row_ids, order.permutation)};
  // Either parts or the partitions of the only part share the threads.
  Executor* const inner = parts.size() > 1 ? nullptr : executor_;
  const Status status = ParallelFor(
      executor_, parts.size(), [&](size_t i) { return WritePart(base, schema_, inner, options, sorted, parts[i]); });
  for (const Part& part : parts) {
    for (const spec::DataFile& file : part.files) written_.insert(file.file_path);
  }
  FRAZIL_TRY(status);

  written.rows.resize(rows.size());
  size_t i = 0;
  for (Part& part : parts) {
    const auto first_file = static_cast<uint32_t>(written.files.size());
    for (write::RowLocation location : part.locations) {
      location.file += first_file;
      const size_t original = order.permutation.empty() ? i : order.permutation[i];
      written.rows[original] = {.row = rows[original], .row_id = row_ids[original], .location = location};
      ++i;
    }
    std::move(part.files.begin(), part.files.end(), std::back_inserter(written.files));
  }
  LearnKeys(written);
  return written;
}

/// The index learns the keys of our own files from here instead of reading them back.
void BatchFiles::LearnKeys(const WrittenFiles& written) {
  std::vector<index::KnownKeys*> keys_of_file;
  for (const spec::DataFile& file : written.files) {
    index::KnownKeys& keys = known_keys_[file.file_path];
    keys.hashes.resize(static_cast<size_t>(file.record_count));
    keys.stored_row_ids.resize(static_cast<size_t>(file.record_count));
    keys_of_file.push_back(&keys);
  }
  for (const WrittenRow& row : written.rows) {
    index::KnownKeys& keys = *keys_of_file[row.location.file];
    const auto position = static_cast<size_t>(row.location.position);
    keys.hashes[position] = hash_of_row_[static_cast<size_t>(row.row)];
    keys.stored_row_ids[position] = row.row_id;
  }
}

}  // namespace frazil::ingest
