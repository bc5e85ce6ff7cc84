#include "frazil/maintain/rewrite_group.h"

#include <algorithm>
#include <map>

#include <arrow/api.h>

#include "frazil/base/uuid.h"
#include "frazil/maintain/rewrite_copy.h"
#include "frazil/maintain/rewrite_output.h"
#include "frazil/scan/deleted_rows.h"
#include "frazil/scan/file_reader.h"
#include "frazil/scan/row_source.h"
#include "frazil/write/external_sorter.h"

namespace frazil::maintain {
namespace {

constexpr int64_t kReadBytes = int64_t{32} << 20;       ///< pages, decoded batches, footers of one source
constexpr int64_t kRowGroupBytes = int64_t{128} << 20;  ///< the default of write.parquet.row-group-size-bytes
constexpr int64_t kSmallestRowGroup = int64_t{8} << 20;
constexpr double kReadShare = 0.5;  ///< of the work on rows that are sorted; the rest is to write them
constexpr int64_t kMostSortBytes = int64_t{512} << 20;  ///< what does not fit is sorted in runs on disk

/// One call of RewriteGroup.
class GroupRewrite {
 public:
  GroupRewrite(const table::Table& table, const RewritePlan& plan, const RewritePlan::Group& group,
               std::shared_ptr<scan::EqualityDeletes> equality, const RewriteResources& resources)
      : table_(table), plan_(plan), group_(group), equality_(std::move(equality)), resources_(resources) {}

  Result<RewrittenGroup> Run();

 private:
  Status DescribePlan();
  Result<RewrittenSource> Describe(const table::FileScanTask& task) const;
  Status MakePlaces();
  Status MakeOutputs();
  Status CopySources();
  Status WriteCopies(CopyQueue& queue);
  Status ReadSource(uint32_t index);
  Status Take(uint32_t index, const arrow::RecordBatch& rows);
  Status WriteSorted();
  Status CheckStop() const;
  void Advance(uint32_t source, int64_t rows, double share) const;
  bool is_sorted() const { return group_.is_move || plan_.sort_order.is_sorted(); }
  MemoryBudget* budget() const { return resources_.admission == nullptr ? nullptr : resources_.admission->budget(); }
  const spec::PartitionTuple& PartitionOf(uint32_t index) const {
    return plan_.scan->tasks[group_.tasks[index]].data_file.file.partition;
  }

  const table::Table& table_;
  const RewritePlan& plan_;
  const RewritePlan::Group& group_;
  const std::shared_ptr<scan::EqualityDeletes> equality_;
  const RewriteResources& resources_;

  std::optional<RewriteAdmission::Room> room_;
  RewrittenGroup result_;
  bool has_lineage_ = false;
  int64_t next_position_ = 0;  ///< of the source that is being read: behind the last row that was seen
  std::unique_ptr<RewriteOutputs> outputs_;
  std::unique_ptr<write::ExternalSorter> sorter_;  ///< null: rows keep their order
  std::shared_ptr<SortedPlaces> places_;           ///< of sorted rows
  std::vector<uint32_t> read_sources_;             ///< those that are not copied
};

Status GroupRewrite::CheckStop() const {
  if (resources_.stop != nullptr && resources_.stop->load()) {
    return Fail(ErrorCode::kShuttingDown, "a rewrite was asked to stop: {}", table_.name().ToString());
  }
  return {};
}

/// `rows` of a source were handled, which is a `share` of the work on them.
void GroupRewrite::Advance(uint32_t source, int64_t rows, double share) const {
  if (!resources_.on_progress) return;
  const RewrittenSource& from = result_.sources[source];
  const double part =
      share * static_cast<double>(rows) / static_cast<double>(std::max<int64_t>(from.identity.record_count, 1));
  resources_.on_progress(static_cast<int64_t>(part * static_cast<double>(from.size_bytes)),
                         static_cast<int64_t>(share * static_cast<double>(rows)));
}

Status GroupRewrite::DescribePlan() {
  const spec::TableMetadata& metadata = *plan_.scan->metadata;
  result_.id = Uuid::Random().ToString();
  result_.partition = group_.partition;
  result_.branch = plan_.branch;
  result_.snapshot_id = *plan_.scan->snapshot_id;
  result_.sequence_number = metadata.FindSnapshot(result_.snapshot_id)->sequence_number;
  result_.schema_id = plan_.scan->schema->id();
  for (const table::LiveDelete& file : plan_.scan->deletes->deletes()) {
    if (file.file.content != spec::FileContent::kEqualityDeletes) continue;
    result_.live_equality_deletes.insert({file.file.file_path, file.sequence_number});
  }
  size_t num_with_ids = 0;
  for (const size_t task : group_.tasks) {
    num_with_ids += plan_.scan->tasks[task].data_file.file.first_row_id.has_value();
  }
  // Rows without ids get new ones with the commit, rows that have theirs keep them: one file cannot say both.
  if (num_with_ids != 0 && num_with_ids != group_.tasks.size()) {
    return Fail(ErrorCode::kInvalidTable, "{} of {} files that are rewritten together have row ids: {}", num_with_ids,
                group_.tasks.size(), table_.name().ToString());
  }
  has_lineage_ = num_with_ids != 0;
  return {};
}

Result<RewrittenSource> GroupRewrite::Describe(const table::FileScanTask& task) const {
  const table::LiveDataFile& file = task.data_file;
  RewrittenSource source;
  source.identity = {file.file.file_path, file.sequence_number, file.file.first_row_id, file.file.record_count};
  source.size_bytes = file.file.file_size_in_bytes;
  if (task.deletes.vector != nullptr) source.position_deletes.push_back(spec::IdOf(task.deletes.vector->file));
  for (const table::LiveDelete* deletes : task.deletes.position_deletes) {
    if (task.deletes.vector == nullptr) source.position_deletes.push_back(spec::IdOf(deletes->file));
  }
  std::sort(source.position_deletes.begin(), source.position_deletes.end());
  for (const table::LiveDelete* deletes : task.deletes.equality_deletes) {
    source.equality_deletes.insert({deletes->file.file_path, deletes->sequence_number});
  }
  FRAZIL_ASSIGN(source.dropped_by_position,
                table::ReadPositions(*table_.io(), file, task.deletes, scan::ReadPositionDeletes(table_.io())));
  return source;
}

/// Before the group takes its room, which may be all there is: places outlive it, until the commit.
Status GroupRewrite::MakePlaces() {
  int64_t most_rows = 0;
  for (const RewrittenSource& source : result_.sources) {
    most_rows += source.identity.record_count - source.dropped_by_position.cardinality();
  }
  FRAZIL_ASSIGN(places_, SortedPlaces::Make(most_rows, resources_.temp_directory, budget()));
  return {};
}

/// Room for this group: as much as it wants, or what is left, in smaller row groups and sorted runs.
Status GroupRewrite::MakeOutputs() {
  RewriteOutputs::Options options;
  options.schema = plan_.scan->schema;
  options.spec = plan_.output_spec;
  options.has_lineage = has_lineage_;
  options.roll_at_bytes = group_.roll_at_bytes;
  if (plan_.sort_order.is_sorted() && plan_.sort_order.id.value() > 0) options.sort_order_id = plan_.sort_order.id;
  int64_t room = EstimateMemory(plan_, group_, ExpansionOf(*table_.io(), plan_, group_));
  if (resources_.admission != nullptr) {
    FRAZIL_ASSIGN(RewriteAdmission::Room admitted,
                  resources_.admission->Enter(room, kReadBytes + 2 * kSmallestRowGroup));
    room_.emplace(std::move(admitted));
    room = room_->bytes();
  }
  const int64_t shared = room - kReadBytes;
  options.row_group_bytes = std::clamp(shared / (is_sorted() ? 4 : 2), kSmallestRowGroup, kRowGroupBytes);
  options.copied_row_group_bytes = std::max(shared, kSmallestRowGroup);
  if (is_sorted()) {
    FRAZIL_ASSIGN(sorter_, write::ExternalSorter::Make({.schema = plan_.scan->schema,
                                                        .spec = plan_.output_spec,
                                                        .splits_by_partition = group_.is_move,
                                                        .sort_order = plan_.sort_order,
                                                        .memory_bytes = std::max(shared / 2, kSmallestRowGroup),
                                                        .temp_directory = resources_.temp_directory,
                                                        .stop = resources_.stop}));
  }
  FRAZIL_ASSIGN(outputs_, RewriteOutputs::Make(table_.io(), plan_.scan->metadata, std::move(options)));
  return {};
}

/// `rows`: the table's columns, the lineage columns if any, `_pos` last.
Status GroupRewrite::Take(uint32_t index, const arrow::RecordBatch& rows) {
  RewrittenSource& source = result_.sources[index];
  const int last = rows.num_columns() - 1;
  const auto& positions = static_cast<const arrow::Int64Array&>(*rows.column(last));
  arrow::ArrayVector columns(rows.columns().begin(), rows.columns().end() - 1);
  arrow::FieldVector fields(rows.schema()->fields().begin(), rows.schema()->fields().end() - 1);
  const auto carried = arrow::RecordBatch::Make(arrow::schema(std::move(fields)), rows.num_rows(), std::move(columns));
  std::vector<int64_t> dropped;
  for (int64_t i = 0; i < rows.num_rows(); ++i) {
    for (; next_position_ < positions.Value(i); ++next_position_) dropped.push_back(next_position_);
    ++next_position_;
  }
  FRAZIL_TRY(source.dropped.AddAll(dropped));
  if (sorter_ != nullptr) return sorter_->Add(index, *carried);
  FRAZIL_ASSIGN(const RewriteOutputs::Place place, outputs_->Write(PartitionOf(index), *carried));
  source.carried.Add(place.output, place.start, rows.num_rows());
  return {};
}

Status GroupRewrite::WriteCopies(CopyQueue& queue) {
  FRAZIL_TRY(CheckStop());
  std::vector<uint32_t> sources;
  const std::vector<format::ParquetCopiedRows> rows = queue.Take(outputs_->row_group_room_bytes(), sources);
  FRAZIL_ASSIGN(RewriteOutputs::Place place, outputs_->WriteRowGroup(PartitionOf(sources.front()), rows));
  for (size_t i = 0; i < rows.size(); ++i) {
    result_.sources[sources[i]].carried.Add(place.output, place.start, rows[i].num_rows);
    place.start += rows[i].num_rows;
    Advance(sources[i], rows[i].num_rows, 1);
  }
  return {};
}

/// Writes what can be copied column by column, and leaves the rest to ReadSource().
Status GroupRewrite::CopySources() {
  CopyQueue queue;
  for (uint32_t i = 0; i < result_.sources.size(); ++i) {
    const table::FileScanTask& task = plan_.scan->tasks[group_.tasks[i]];
    FRAZIL_ASSIGN(const auto plan,
                  PlanCopy(*table_.io(), *plan_.scan, task, outputs_->file_schema(), resources_.min_copied_file_bytes));
    if (plan == nullptr) {
      read_sources_.push_back(i);
      continue;
    }
    FRAZIL_ASSIGN(result_.sources[i].dropped, scan::DeletedRows(table_.io(), *plan_.scan, task, *equality_));
    for (size_t row_group = 0; row_group < plan->source().file->row_groups().size(); ++row_group) {
      queue.Add(i, plan, row_group, result_.sources[i].dropped);
      while (queue.Fills(outputs_->row_group_room_bytes())) FRAZIL_TRY(WriteCopies(queue));
    }
  }
  while (!queue.empty()) FRAZIL_TRY(WriteCopies(queue));
  return {};
}

Status GroupRewrite::ReadSource(uint32_t index) {
  const table::FileScanTask& task = plan_.scan->tasks[group_.tasks[index]];
  scan::ReadColumns columns = scan::ReadColumns::All(*plan_.scan->schema);
  // Columns of type unknown are never stored.
  std::erase_if(columns.fields, [&](spec::FieldId id) {
    const auto& fields = plan_.scan->schema->fields();
    const auto field = std::find_if(fields.begin(), fields.end(), [&](const spec::Field& f) { return f.id == id; });
    return field->type.id() == spec::TypeId::kUnknown;
  });
  columns.row_lineage = has_lineage_;
  columns.position = true;
  FRAZIL_ASSIGN(const auto reader, scan::FileReader::Open(table_.io(), *plan_.scan, task, columns, equality_));
  next_position_ = 0;
  for (;;) {
    FRAZIL_TRY(CheckStop());
    FRAZIL_ASSIGN(const std::shared_ptr<arrow::RecordBatch> rows, reader->Next());
    if (rows == nullptr) break;
    const int64_t before = next_position_;
    FRAZIL_TRY(Take(index, *rows));
    Advance(index, next_position_ - before, sorter_ == nullptr ? 1 : kReadShare);
  }
  RewrittenSource& source = result_.sources[index];
  std::vector<int64_t> dropped;
  for (; next_position_ < source.identity.record_count; ++next_position_) dropped.push_back(next_position_);
  return source.dropped.AddAll(dropped);
}

/// Rows as the sorter gives them, which knows for each where it came from. Where a source's rows lie is learnt in the
/// order of the outputs and told in the order of the source.
Status GroupRewrite::WriteSorted() {
  std::vector<int64_t> first_rows = {0};  // of each source
  for (uint32_t i = 0; i < result_.sources.size(); ++i) first_rows.push_back(first_rows.back() + sorter_->num_rows(i));
  if (first_rows.back() > places_->num_rows()) {
    return Fail(ErrorCode::kCorruptData, "files of {} have {} rows, the table says that at most {} live",
                table_.name().ToString(), first_rows.back(), places_->num_rows());
  }
  FRAZIL_TRY(sorter_->Sort());
  for (;;) {
    FRAZIL_TRY(CheckStop());
    FRAZIL_ASSIGN(const std::optional<write::ExternalSorter::SortedRows> rows, sorter_->Next());
    if (!rows) break;
    const spec::PartitionTuple& partition = group_.is_move ? rows->partition : PartitionOf(0);
    FRAZIL_ASSIGN(const RewriteOutputs::Place place, outputs_->Write(partition, *rows->rows));
    std::map<uint32_t, int64_t> num_rows;  // by source
    for (size_t i = 0; i < rows->origins.size(); ++i) {
      const write::ExternalSorter::Origin& origin = rows->origins[i];
      ++num_rows[origin.source];
      places_->Set(first_rows[origin.source] + origin.ordinal, {place.output, place.start + static_cast<int64_t>(i)});
    }
    for (const auto& [source, count] : num_rows) Advance(source, count, 1 - kReadShare);
  }
  for (size_t i = 0; i < result_.sources.size(); ++i) {
    result_.sources[i].carried =
        CarriedRows::Smallest(places_, first_rows[i], first_rows[i + 1] - first_rows[i], budget());
  }
  return {};
}

Result<RewrittenGroup> GroupRewrite::Run() {
  result_.begun_at_ms = (resources_.clock == nullptr ? Clock::System() : *resources_.clock).NowMs();
  FRAZIL_TRY(DescribePlan());
  for (const size_t task : group_.tasks) {
    FRAZIL_ASSIGN(RewrittenSource source, Describe(plan_.scan->tasks[task]));
    result_.sources.push_back(std::move(source));
  }
  if (is_sorted()) FRAZIL_TRY(MakePlaces());
  FRAZIL_TRY(MakeOutputs());
  if (sorter_ == nullptr) {
    FRAZIL_TRY(CopySources());
    for (const uint32_t source : read_sources_) FRAZIL_TRY(ReadSource(source));
  } else {
    for (uint32_t i = 0; i < result_.sources.size(); ++i) FRAZIL_TRY(ReadSource(i));
    FRAZIL_TRY(WriteSorted());
  }
  FRAZIL_ASSIGN(result_.outputs, outputs_->Finish());
  result_.keeps_partition = !group_.is_move;
  return std::move(result_);
}

}  // namespace

int64_t RewrittenGroup::input_bytes() const {
  int64_t bytes = 0;
  for (const RewrittenSource& source : sources) bytes += source.size_bytes;
  return bytes;
}

int64_t RewrittenGroup::output_bytes() const {
  int64_t bytes = 0;
  for (const spec::DataFile& output : outputs) bytes += output.file_size_in_bytes;
  return bytes;
}

int64_t RewrittenGroup::num_rows() const {
  int64_t rows = 0;
  for (const spec::DataFile& output : outputs) rows += output.record_count;
  return rows;
}

double ExpansionOf(const io::FileIO& io, const RewritePlan& plan, const RewritePlan::Group& group) {
  if (!group.is_move && !plan.sort_order.is_sorted()) return kUnknownExpansion;  // a few rows at a time
  const auto file_of = [&](size_t task) -> const spec::DataFile& { return plan.scan->tasks[task].data_file.file; };
  const size_t largest = *std::max_element(group.tasks.begin(), group.tasks.end(), [&](size_t left, size_t right) {
    return file_of(left).file_size_in_bytes < file_of(right).file_size_in_bytes;
  });
  const spec::DataFile& file = file_of(largest);
  if (file.file_format != spec::FileFormat::kParquet || file.file_size_in_bytes <= 0) return kUnknownExpansion;
  const auto parquet = scan::OpenParquetFile(io, *plan.scan->metadata, file);
  if (!parquet) return kUnknownExpansion;  // whoever reads it will say what is wrong
  return std::max(1.0, static_cast<double>((*parquet)->DecodedBytes()) / static_cast<double>(file.file_size_in_bytes));
}

int64_t EstimateMemory(const RewritePlan& plan, const RewritePlan::Group& group, double expansion) {
  // Columns are encoded in memory until a row group is full; what is read is a few pages a column.
  const int64_t row_group = std::min(kRowGroupBytes, group.live_bytes + kSmallestRowGroup);
  int64_t bytes = kReadBytes + 2 * row_group;
  if (group.is_move || plan.sort_order.is_sorted()) {
    // The decoded rows and the sorted copy.
    const double sorted = 2 * expansion * static_cast<double>(group.live_bytes) + kSmallestRowGroup;
    bytes += static_cast<int64_t>(std::min(sorted, static_cast<double>(kMostSortBytes)));
  }
  return bytes;
}

Result<RewrittenGroup> RewriteGroup(const table::Table& table, const RewritePlan& plan, const RewritePlan::Group& group,
                                    const std::shared_ptr<scan::EqualityDeletes>& equality_deletes,
                                    const RewriteResources& resources) {
  return GroupRewrite(table, plan, group, equality_deletes, resources).Run();
}

}  // namespace frazil::maintain
