#include "frazil/sql/duckdb_scan.h"

#include <algorithm>
#include <map>
#include <optional>

#include "duckdb/catalog/catalog.hpp"
#include "duckdb/catalog/catalog_entry/table_function_catalog_entry.hpp"
#include "duckdb/common/multi_file/multi_file_function.hpp"
#include "duckdb/common/multi_file/multi_file_reader.hpp"
#include "duckdb/function/function_binder.hpp"
#include "duckdb/parser/expression/constant_expression.hpp"
#include "duckdb/parser/tableref/table_function_ref.hpp"
#include "duckdb/planner/expression/bound_cast_expression.hpp"
#include "duckdb/planner/expression/bound_columnref_expression.hpp"
#include "duckdb/planner/expression/bound_constant_expression.hpp"
#include "duckdb/planner/expression/bound_function_expression.hpp"
#include "duckdb/planner/expression/bound_operator_expression.hpp"
#include "duckdb/planner/expression/bound_reference_expression.hpp"
#include "duckdb/planner/expression_iterator.hpp"
#include "duckdb/planner/filter/expression_filter.hpp"
#include "duckdb/planner/operator/logical_get.hpp"
#include "frazil/scan/deleted_rows.h"
#include "frazil/scan/row_source.h"
#include "frazil/spec/name_mapping.h"
#include "frazil/sql/duckdb_column_fit.h"
#include "frazil/sql/duckdb_error.h"
#include "frazil/sql/duckdb_file_reader.h"
#include "frazil/sql/duckdb_filter.h"
#include "frazil/sql/duckdb_scan_identity.h"
#include "frazil/sql/duckdb_value.h"
#include "frazil/sql/hidden_column.h"
#include "frazil/sql/partition_type.h"
#include "frazil/sql/scan_file_list.h"

namespace frazil::sql {

namespace {

using duckdb::column_t;
using duckdb::Expression;
using duckdb::idx_t;
using duckdb::LogicalType;
using duckdb::make_uniq;
using duckdb::optional_ptr;
using duckdb::unique_ptr;
using duckdb::Value;
using duckdb::vector;

/// Hides deleted rows; positions count from the start of the file, whatever row groups are skipped.
class VectorFilter final : public duckdb::DeleteFilter {
 public:
  explicit VectorFilter(format::DeletionVector deleted) : deleted_(std::move(deleted)) {}

  idx_t Filter(duckdb::row_t start, idx_t count, duckdb::SelectionVector& selection) override {
    thread_local std::vector<int64_t> positions;  // several threads read row groups of one file
    positions.clear();
    deleted_.PositionsIn(spec::RowPosition(start), spec::RowPosition(start + static_cast<int64_t>(count)), positions);
    if (positions.empty()) return count;  // selection stays the identity
    selection.Initialize(STANDARD_VECTOR_SIZE);
    idx_t kept = 0;
    duckdb::sel_t next = 0;
    for (int64_t position : positions) {
      auto deleted = static_cast<duckdb::sel_t>(position - start);
      for (; next < deleted; ++next) selection.set_index(kept++, next);
      next = deleted + 1;
    }
    for (; next < count; ++next) selection.set_index(kept++, next);
    return kept;
  }

 private:
  const format::DeletionVector deleted_;
};

duckdb::MultiFileColumnDefinition DefinitionOf(const spec::Field& field) {
  auto type = DuckTypeOf(field.type);
  duckdb::MultiFileColumnDefinition definition(field.name, type ? *type : LogicalType(LogicalType::VARCHAR));
  definition.identifier = Value::INTEGER(field.id.value());
  definition.default_expression = make_uniq<duckdb::ConstantExpression>(
      type ? ToDuckValue(field.type, field.initial_default) : Value(definition.type));
  if (type) {
    for (const spec::Field& child : field.type.fields()) definition.children.push_back(DefinitionOf(child));
  }
  return definition;
}

/// The file's own column with that id.
std::optional<idx_t> FindLocalColumn(const vector<duckdb::MultiFileColumnDefinition>& columns, spec::FieldId id) {
  for (idx_t i = 0; i < columns.size(); ++i) {
    if (!columns[i].identifier.IsNull() && columns[i].GetIdentifierFieldId() == id.value()) return i;
  }
  return std::nullopt;
}

unique_ptr<Expression> Reference(const LogicalType& type, idx_t index) {
  return make_uniq<duckdb::BoundReferenceExpression>(type, index);
}

unique_ptr<Expression> Constant(Value value) { return make_uniq<duckdb::BoundConstantExpression>(std::move(value)); }

unique_ptr<Expression> Add(duckdb::ClientContext& context, unique_ptr<Expression> left, unique_ptr<Expression> right) {
  vector<unique_ptr<Expression>> children;
  children.push_back(std::move(left));
  children.push_back(std::move(right));
  duckdb::ErrorData error;
  auto sum = duckdb::FunctionBinder(context).BindScalarFunction(DEFAULT_SCHEMA, "+", std::move(children), error, true);
  if (error.HasError()) error.Throw();
  return sum;
}

void ReturnInput(duckdb::DataChunk& input, duckdb::ExpressionState&, duckdb::Vector& result) {
  result.Reference(input.data[0]);
}

constexpr char kOpaque[] = "frazil_opaque";

bool IsComputedPerRow(column_t column) {
  return column == IdOf(HiddenColumn::kRowId) || column == IdOf(HiddenColumn::kLastUpdatedSequenceNumber) ||
         column == IdOf(HiddenColumn::kPos);
}

/// Filters on columns that are computed from several columns of the file cannot run inside the Parquet reader: wrapped
/// in a function, DuckDB evaluates them above the scan.
void KeepAboveScan(unique_ptr<Expression>& expression, const duckdb::MultiFilePushdownInfo& info) {
  if (expression->GetExpressionClass() == duckdb::ExpressionClass::BOUND_FUNCTION &&
      expression->Cast<duckdb::BoundFunctionExpression>().function.name == kOpaque) {
    return;
  }
  if (expression->GetExpressionClass() == duckdb::ExpressionClass::BOUND_COLUMN_REF) {
    const auto& reference = expression->Cast<duckdb::BoundColumnRefExpression>();
    if (reference.binding.table_index != info.table_index || reference.binding.column_index >= info.column_ids.size() ||
        !IsComputedPerRow(info.column_ids[reference.binding.column_index])) {
      return;
    }
    LogicalType type = reference.return_type;
    duckdb::ScalarFunction identity(kOpaque, {type}, type, ReturnInput);
    vector<unique_ptr<Expression>> children;
    children.push_back(std::move(expression));
    expression = make_uniq<duckdb::BoundFunctionExpression>(type, std::move(identity), std::move(children), nullptr);
    return;
  }
  duckdb::ExpressionIterator::EnumerateChildren(*expression,
                                                [&](unique_ptr<Expression>& child) { KeepAboveScan(child, info); });
}

struct ScanFunctionInfo final : duckdb::TableFunctionInfo {
  ScanFunctionInfo(std::shared_ptr<const PinnedTable> pinned_table, duckdb::TableCatalogEntry& table_entry)
      : pinned(std::move(pinned_table)), entry(table_entry) {}
  std::shared_ptr<const PinnedTable> pinned;
  duckdb::TableCatalogEntry& entry;
};

/// Tells DuckDB's multi-file scan what an Iceberg table knows: schema by field id, deletes, constants per file.
class TableReader final : public duckdb::MultiFileReader {
 public:
  explicit TableReader(std::shared_ptr<const PinnedTable> pinned, duckdb::TableCatalogEntry& entry)
      : pinned_(std::move(pinned)), entry_(entry) {
    function_name = kTableScanName;
  }
  static unique_ptr<MultiFileReader> Create(const duckdb::TableFunction& function) {
    const auto& info = function.function_info->Cast<ScanFunctionInfo>();
    return make_uniq<TableReader>(info.pinned, info.entry);
  }
  unique_ptr<MultiFileReader> Copy() const override { return make_uniq<TableReader>(pinned_, entry_); }
  duckdb::TableCatalogEntry& entry() const { return entry_; }

  duckdb::shared_ptr<duckdb::MultiFileList> CreateFileList(duckdb::ClientContext&, const vector<std::string>&,
                                                           const duckdb::FileGlobInput&) override {
    return duckdb::make_shared_ptr<ScanFileList>(pinned_, expr::Expression::True());
  }

  bool Bind(duckdb::MultiFileOptions&, duckdb::MultiFileList&, vector<LogicalType>& types, vector<std::string>& names,
            duckdb::MultiFileReaderBindData& bind_data) override {
    for (const spec::Field& field : pinned_->schema->fields()) {
      bind_data.schema.push_back(DefinitionOf(field));
      types.push_back(bind_data.schema.back().type);
      names.push_back(field.name);
    }
    bind_data.mapping = duckdb::MultiFileColumnMappingMode::BY_FIELD_ID;
    return true;
  }

  unique_ptr<duckdb::MultiFileList> ComplexFilterPushdown(duckdb::ClientContext&, duckdb::MultiFileList& files,
                                                          const duckdb::MultiFileOptions&,
                                                          duckdb::MultiFilePushdownInfo& info,
                                                          vector<unique_ptr<Expression>>& filters) override {
    auto filter = TranslateFilters(filters, info, *pinned_->schema);
    for (auto& expression : filters) KeepAboveScan(expression, info);
    if (filter->op() == expr::Op::kTrue) return nullptr;
    return files.Cast<ScanFileList>().WithFilter(std::move(filter));
  }
  unique_ptr<duckdb::MultiFileList> DynamicFilterPushdown(duckdb::ClientContext&, const duckdb::MultiFileList&,
                                                          const duckdb::MultiFileOptions&, const vector<std::string>&,
                                                          const vector<LogicalType>&, const vector<column_t>&,
                                                          duckdb::TableFilterSet&) override {
    return nullptr;
  }

  unique_ptr<duckdb::MultiFileReaderGlobalState> InitializeGlobalState(
      duckdb::ClientContext&, const duckdb::MultiFileOptions&, const duckdb::MultiFileReaderBindData&,
      const duckdb::MultiFileList& list, const vector<duckdb::MultiFileColumnDefinition>&,
      const vector<duckdb::ColumnIndex>& columns) override {
    for (const duckdb::ColumnIndex& column : columns) CheckReadable(column.GetPrimaryIndex());
    return make_uniq<duckdb::MultiFileReaderGlobalState>(vector<LogicalType>(), &list);
  }

  duckdb::shared_ptr<duckdb::BaseFileReader> CreateReader(duckdb::ClientContext& context,
                                                          duckdb::GlobalTableFunctionState& global,
                                                          const duckdb::OpenFileInfo& file, idx_t index,
                                                          const duckdb::MultiFileBindData& bind_data) override {
    const auto& list = bind_data.file_list->Cast<ScanFileList>();
    const table::FileScanTask& task = list.plan().tasks[index];
    OkOrThrow(scan::CheckNotEncrypted(task.data_file.file));
    if (KeyLookup* lookup = list.key_lookup(); lookup != nullptr) {
      auto reader = duckdb::make_shared_ptr<ScanFileReader>(file, pinned_, list.plan(), task);
      reader->ReadRows(lookup->index->fetcher, lookup->positions[index], lookup->num_pages);
      return reader;
    }
    if (task.data_file.file.file_format == spec::FileFormat::kParquet) {
      return MultiFileReader::CreateReader(context, global, file, index, bind_data);
    }
    return duckdb::make_shared_ptr<ScanFileReader>(file, pinned_, list.plan(), task);
  }
  using MultiFileReader::CreateReader;

  duckdb::ReaderInitializeType InitializeReader(duckdb::MultiFileReaderData& data,
                                                const duckdb::MultiFileBindData& bind_data,
                                                const vector<duckdb::MultiFileColumnDefinition>& global_columns,
                                                const vector<duckdb::ColumnIndex>& global_ids,
                                                optional_ptr<duckdb::TableFilterSet> filters,
                                                duckdb::ClientContext& context,
                                                duckdb::MultiFileGlobalState& state) override {
    const auto& list = bind_data.file_list->Cast<ScanFileList>();
    const table::FileScanTask& task = list.plan().tasks[data.reader->file_list_idx.GetIndex()];
    if (data.reader->GetReaderType() != kScanFileReader) {
      PrepareColumns(task, data.reader->columns);
      if (Fits(data.reader->columns, global_ids)) {
        return MultiFileReader::InitializeReader(data, bind_data, global_columns, global_ids, filters, context, state);
      }
      auto reader = duckdb::make_shared_ptr<ScanFileReader>(data.reader->file, pinned_, list.plan(), task);
      reader->file_list_idx = data.reader->file_list_idx;
      data.reader = std::move(reader);
    }
    MapDirectly(data, task.data_file, global_ids, filters, bind_data.virtual_columns);
    return duckdb::ReaderInitializeType::INITIALIZED;
  }

  void FinalizeBind(duckdb::MultiFileReaderData& data, const duckdb::MultiFileOptions& options,
                    const duckdb::MultiFileReaderBindData& bind_data,
                    const vector<duckdb::MultiFileColumnDefinition>& global_columns,
                    const vector<duckdb::ColumnIndex>& global_ids, duckdb::ClientContext& context,
                    optional_ptr<duckdb::MultiFileReaderGlobalState> state) override {
    MultiFileReader::FinalizeBind(data, options, bind_data, global_columns, global_ids, context, state);
    const auto& list = state->file_list->Cast<ScanFileList>();
    const table::FileScanTask& task = list.plan().tasks[data.reader->file_list_idx.GetIndex()];
    if (!task.deletes.empty()) {
      auto deleted =
          ValueOrThrow(scan::DeletedRows(pinned_->table->io(), list.plan(), task, *pinned_->equality_deletes));
      if (!deleted.empty()) data.reader->deletion_filter = make_uniq<VectorFilter>(std::move(deleted));
    }
    AddConstants(task.data_file, data, global_ids);
    tasks_of_readers_.Set(data.reader.get(), &task.data_file);
  }

  duckdb::ReaderInitializeType CreateMapping(duckdb::ClientContext& context, duckdb::MultiFileReaderData& data,
                                             const vector<duckdb::MultiFileColumnDefinition>& global_columns,
                                             const vector<duckdb::ColumnIndex>& global_ids,
                                             optional_ptr<duckdb::TableFilterSet> filters, duckdb::MultiFileList& list,
                                             const duckdb::MultiFileReaderBindData& bind_data,
                                             const duckdb::virtual_column_map_t& virtual_columns) override {
    duckdb::TableFilterSet kept;
    if (filters) {
      for (auto& [index, filter] : filters->filters) {
        const duckdb::ColumnIndex& column = global_ids[index];
        // What is left here on computed columns came from joins and top-N, which check again: it only saves work.
        if (IsComputedPerRow(column.GetPrimaryIndex())) continue;
        kept.filters[index] = FilterInTableType(*filter, column, data.reader->GetColumns(), global_columns);
      }
    }
    return MultiFileReader::CreateMapping(context, data, global_columns, global_ids,
                                          filters ? optional_ptr<duckdb::TableFilterSet>(&kept) : filters, list,
                                          bind_data, virtual_columns, bind_data.mapping);
  }
  using MultiFileReader::CreateMapping;

  unique_ptr<Expression> GetConstantVirtualColumn(duckdb::MultiFileReaderData& data, idx_t column,
                                                  const LogicalType& type) override {
    if (column < IdOf(HiddenColumn::kFile) || column > IdOf(HiddenColumn::kLastUpdatedSequenceNumber)) {
      return MultiFileReader::GetConstantVirtualColumn(data, column, type);
    }
    const table::LiveDataFile& file = *tasks_of_readers_.Get(data.reader.get());
    bool has_stored = FindLocalColumn(data.reader->GetColumns(), spec::kLastUpdatedSequenceNumberColumnId).has_value();
    auto constant = HiddenConstant(static_cast<HiddenColumn>(column), file, type, has_stored);
    return constant ? Constant(*std::move(constant)) : nullptr;
  }

  unique_ptr<Expression> GetVirtualColumnExpression(
      duckdb::ClientContext& context, duckdb::MultiFileReaderData& data,
      const vector<duckdb::MultiFileColumnDefinition>& local_columns, idx_t& column, const LogicalType& type,
      duckdb::MultiFileLocalIndex next_index, optional_ptr<duckdb::MultiFileColumnDefinition>& global_column) override {
    if (!IsComputedPerRow(column)) {
      return MultiFileReader::GetVirtualColumnExpression(context, data, local_columns, column, type, next_index,
                                                         global_column);
    }
    auto hidden = static_cast<HiddenColumn>(column);
    // DuckDB appends the column that `column` names; the row's ordinal in the file is the only one Parquet offers.
    column = COLUMN_IDENTIFIER_FILE_ROW_NUMBER;
    idx_t index = next_index.GetIndex();
    if (hidden == HiddenColumn::kPos) return Reference(type, index);

    const table::LiveDataFile& file = *tasks_of_readers_.Get(data.reader.get());
    bool is_row_id = hidden == HiddenColumn::kRowId;
    auto stored =
        FindLocalColumn(local_columns, is_row_id ? spec::kRowIdColumnId : spec::kLastUpdatedSequenceNumberColumnId);
    unique_ptr<Expression> stored_value;
    if (stored) {
      LogicalType stored_type = local_columns[*stored].type;
      data.reader->column_ids.push_back(duckdb::MultiFileLocalColumnId(*stored));
      data.reader->column_indexes.push_back(duckdb::ColumnIndex(*stored));
      stored_value = duckdb::BoundCastExpression::AddCastToType(context, Reference(stored_type, index), type);
      ++index;
    }
    unique_ptr<Expression> inherited =
        is_row_id ? Add(context, Reference(type, index), Constant(Value::BIGINT(file.file.first_row_id->value())))
                  : Constant(Value::BIGINT(file.sequence_number.value()));
    if (!stored_value) return inherited;
    auto effective = make_uniq<duckdb::BoundOperatorExpression>(duckdb::ExpressionType::OPERATOR_COALESCE, type);
    effective->children.push_back(std::move(stored_value));
    effective->children.push_back(std::move(inherited));
    return effective;
  }

 private:
  /// Which planned file an open reader reads: the hooks for hidden columns are not told.
  class ReaderTasks {
   public:
    void Set(const duckdb::BaseFileReader* reader, const table::LiveDataFile* file) {
      std::lock_guard lock(mutex_);
      files_[reader] = file;
    }
    const table::LiveDataFile* Get(const duckdb::BaseFileReader* reader) {
      std::lock_guard lock(mutex_);
      return files_.at(reader);
    }

   private:
    std::mutex mutex_;
    std::map<const duckdb::BaseFileReader*, const table::LiveDataFile*> files_;
  };

  void CheckReadable(column_t column) const {
    if (column == IdOf(HiddenColumn::kDeleted)) {
      ThrowError(Error(ErrorCode::kNotSupported, "hidden column _deleted cannot be read yet"));
    }
    if (column >= pinned_->schema->fields().size()) return;
    const spec::Field& field = pinned_->schema->fields()[column];
    if (DuckTypeOf(field.type)) return;
    ThrowError(Error(ErrorCode::kNotSupported,
                     fmt::format("SQL cannot read a column of type {} yet: {} of {}", field.type.ToString(), field.name,
                                 pinned_->table->name().ToString()))
                   .WithHint("the other columns can be read by name"));
  }

  /// Field ids for all columns of a Parquet file; refuses what nobody could map.
  void PrepareColumns(const table::FileScanTask& task, vector<duckdb::MultiFileColumnDefinition>& columns) const {
    auto mapping = ValueOrThrow(scan::NameMappingFor(*pinned_->metadata, task.data_file.file));
    bool has_mapping = !pinned_->metadata->Property(spec::kNameMappingProperty, "").empty();
    if (!HasFieldIds(columns) && !has_mapping) ThrowError(scan::NoFieldIds(task.data_file.file.file_path));
    AssignFieldIds(columns, mapping);
  }

  /// Whether DuckDB's own reader gives exactly the table's values of the wanted columns.
  bool Fits(const vector<duckdb::MultiFileColumnDefinition>& columns, const vector<duckdb::ColumnIndex>& ids) const {
    return std::ranges::all_of(ids, [&](const duckdb::ColumnIndex& id) {
      if (id.GetPrimaryIndex() >= pinned_->schema->fields().size()) return true;
      const spec::Field& field = pinned_->schema->fields()[id.GetPrimaryIndex()];
      const duckdb::MultiFileColumnDefinition* column = FindColumn(columns, field.id);
      return column == nullptr || FitsParquetReader(field, *column);
    });
  }

  static bool HashesAsWritten(const spec::Field& field) {
    switch (field.type.id()) {
      case spec::TypeId::kBinary:
      case spec::TypeId::kFixed:
      case spec::TypeId::kFloat:
      case spec::TypeId::kDouble: return false;
      default: return true;
    }
  }

  /// A filter that DuckDB evaluates on values of the table's type where it would be wrong on those of the file's type: it
  /// does not cast expressions. Nor does it ask Bloom filters for them, which it must not where it hashes other bytes than
  /// writers do: of binary values their text, of a floating zero one of the two.
  unique_ptr<duckdb::TableFilter> FilterInTableType(
      const duckdb::TableFilter& filter, const duckdb::ColumnIndex& id,
      const vector<duckdb::MultiFileColumnDefinition>& local_columns,
      const vector<duckdb::MultiFileColumnDefinition>& global_columns) const {
    const column_t column = id.GetPrimaryIndex();
    if (column >= pinned_->schema->fields().size()) return filter.Copy();
    const spec::Field& field = pinned_->schema->fields()[column];
    const duckdb::MultiFileColumnDefinition* local = FindColumn(local_columns, field.id);
    if (local == nullptr || (CastsFiltersExactly(field, *local) && HashesAsWritten(field))) return filter.Copy();
    return make_uniq<duckdb::ExpressionFilter>(filter.ToExpression(*Reference(global_columns[column].type, 0)));
  }

  /// Rows of a ScanFileReader are those of the scan already.
  void MapDirectly(duckdb::MultiFileReaderData& data, const table::LiveDataFile& file,
                   const vector<duckdb::ColumnIndex>& ids, optional_ptr<duckdb::TableFilterSet> filters,
                   const duckdb::virtual_column_map_t& virtual_columns) const {
    auto& reader = data.reader->Cast<ScanFileReader>();
    for (idx_t i = 0; i < ids.size(); ++i) {
      const column_t column = ids[i].GetPrimaryIndex();
      if (column < pinned_->schema->fields().size()) {
        reader.AddTableColumn(column);
      } else {
        const LogicalType& type = virtual_columns.at(column).type;
        auto constant = HiddenConstant(static_cast<HiddenColumn>(column), file, type, /*has_stored=*/true);
        if (constant) {
          reader.AddConstant(*std::move(constant));
        } else if (column == IdOf(HiddenColumn::kRowId)) {
          reader.AddRowId();
        } else if (column == IdOf(HiddenColumn::kLastUpdatedSequenceNumber)) {
          reader.AddLastUpdatedSequenceNumber();
        } else {
          reader.AddPosition();
        }
      }
      data.expressions.push_back(Reference(reader.columns.back().type, i));
    }
    if (filters) reader.SetFilters(*filters);
  }

  /// The value that a hidden column has in all rows of a file; none when it differs from row to row.
  std::optional<Value> HiddenConstant(HiddenColumn column, const table::LiveDataFile& file, const LogicalType& type,
                                      bool has_stored_sequence_number) const {
    switch (column) {
      case HiddenColumn::kFile: return Value(file.file.file_path);
      case HiddenColumn::kSpecId: return Value::INTEGER(file.file.spec_id.value());
      case HiddenColumn::kPartition: {
        spec::Type partition = UnifiedPartitionType(*pinned_->metadata);
        if (partition.fields().empty()) return Value(type);
        return ToDuckValue(partition,
                           UnifiedPartition(partition, *pinned_->metadata, file.file.spec_id, file.file.partition));
      }
      case HiddenColumn::kPos: return std::nullopt;
      case HiddenColumn::kRowId:
        // A file that no v3 snapshot has covered has no ids, even if it stores some (spec section 5.2).
        if (!file.file.first_row_id) return Value(type);
        return std::nullopt;
      case HiddenColumn::kLastUpdatedSequenceNumber:
        if (!file.file.first_row_id) return Value(type);
        if (has_stored_sequence_number) return std::nullopt;
        return Value::BIGINT(file.sequence_number.value());
      default: return Value(type);  // what count(*) asks for: anything
    }
  }

  /// Columns that the file lacks and its partition knows (spec section 6.12).
  void AddConstants(const table::LiveDataFile& file, duckdb::MultiFileReaderData& data,
                    const vector<duckdb::ColumnIndex>& global_ids) const {
    const spec::PartitionSpec* spec = pinned_->metadata->FindSpec(file.file.spec_id);
    for (idx_t i = 0; i < global_ids.size(); ++i) {
      column_t column = global_ids[i].GetPrimaryIndex();
      if (column >= pinned_->schema->fields().size()) continue;
      const spec::Field& field = pinned_->schema->fields()[column];
      if (FindLocalColumn(data.reader->GetColumns(), field.id)) continue;
      bool known = false;
      for (size_t p = 0; spec != nullptr && p < spec->fields().size() && !known; ++p) {
        const spec::PartitionField& partition = spec->fields()[p];
        if (partition.source_id != field.id || partition.transform.kind() != spec::Transform::Kind::kIdentity) continue;
        const spec::Value& value = file.file.partition[p];
        if (!spec::IsNull(value) && !spec::ValueFits(field.type, value)) continue;
        data.constant_map.Add(duckdb::MultiFileGlobalIndex(i), ToDuckValue(field.type, value));
        known = true;
      }
      if (!known && field.required && spec::IsNull(field.initial_default)) {
        ThrowError(
            Error(ErrorCode::kInvalidTable, fmt::format("data file lacks required column {} of {}: {}", field.name,
                                                        pinned_->table->name().ToString(), file.file.file_path)));
      }
    }
  }

  const std::shared_ptr<const PinnedTable> pinned_;
  duckdb::TableCatalogEntry& entry_;
  ReaderTasks tasks_of_readers_;
};

duckdb::virtual_column_map_t ScanVirtualColumns(duckdb::ClientContext&, optional_ptr<duckdb::FunctionData> data) {
  auto& bind_data = data->Cast<duckdb::MultiFileBindData>();
  const PinnedTable& pinned = bind_data.file_list->Cast<ScanFileList>().pinned();
  bind_data.virtual_columns = HiddenColumnsOf(*pinned.metadata, *pinned.schema);
  return bind_data.virtual_columns;
}

duckdb::BindInfo ScanBindInfo(const optional_ptr<duckdb::FunctionData> data) {
  auto& bind_data = data->Cast<duckdb::MultiFileBindData>();
  return duckdb::BindInfo(bind_data.multi_file_reader->Cast<TableReader>().entry());
}

/// What EXPLAIN shows of a scan.
duckdb::InsertionOrderPreservingMap<std::string> ScanToString(duckdb::TableFunctionToStringInput& input) {
  duckdb::InsertionOrderPreservingMap<std::string> shown;
  const auto& list = input.bind_data->Cast<duckdb::MultiFileBindData>().file_list->Cast<ScanFileList>();
  const table::ScanPlan& plan = list.plan();
  size_t num_vectors = 0, num_with_equality = 0;
  for (const table::FileScanTask& task : plan.tasks) {
    num_vectors += task.deletes.vector != nullptr;
    num_with_equality += !task.deletes.equality_deletes.empty();
  }
  shown["Table"] = list.pinned().table->name().ToString();
  if (plan.snapshot_id) shown["Snapshot"] = std::to_string(plan.snapshot_id->value());
  if (const KeyLookup* lookup = list.key_lookup(); lookup != nullptr) {
    const auto count = [](auto number, const char* what) {
      return fmt::format("{} {}{}", number, what, number == 1 ? "" : "s");
    };
    shown["Key index lookup"] = count(lookup->num_keys, "key") + ", " + count(lookup->num_rows, "row");
    if (lookup->num_pages > 0) shown["Key index lookup"] += ", " + count(lookup->num_pages.load(), "page");
  }
  shown["Files"] = fmt::format("{} ({} pruned)", plan.tasks.size(), plan.counts.skipped_files);
  shown["Manifests"] = fmt::format("{} ({} pruned)", plan.counts.total_manifests, plan.counts.skipped_manifests);
  shown["Vectors"] = std::to_string(num_vectors);
  if (num_with_equality > 0) shown["Files with equality deletes"] = std::to_string(num_with_equality);
  return shown;
}

/// A pushed filter leaves files out: such a scan is equal to none but itself.
const void* ScannedState(const duckdb::FunctionData& bind_data) {
  const auto& list = bind_data.Cast<duckdb::MultiFileBindData>().file_list->Cast<ScanFileList>();
  if (list.filter() != nullptr) return &list;
  return &list.pinned();
}

bool HasOpaque(const Expression& expression) {
  if (expression.GetExpressionClass() == duckdb::ExpressionClass::BOUND_FUNCTION &&
      expression.Cast<duckdb::BoundFunctionExpression>().function.name == kOpaque) {
    return true;
  }
  bool found = false;
  duckdb::ExpressionIterator::EnumerateChildren(expression,
                                                [&](const Expression& child) { found = found || HasOpaque(child); });
  return found;
}

bool MayPushExpression(duckdb::ClientContext&, const duckdb::LogicalGet&, Expression& expression) {
  return !HasOpaque(expression);
}

}  // namespace

duckdb::virtual_column_map_t HiddenColumnsOf(const spec::TableMetadata& metadata, const spec::Schema& schema) {
  duckdb::virtual_column_map_t columns;
  auto add = [&](HiddenColumn column, const std::string& name, LogicalType type) {
    if (schema.FindField(name) == nullptr) columns.insert({IdOf(column), duckdb::TableColumn(name, std::move(type))});
  };
  add(HiddenColumn::kFile, "_file", LogicalType::VARCHAR);
  add(HiddenColumn::kPos, "_pos", LogicalType::BIGINT);
  add(HiddenColumn::kSpecId, "_spec_id", LogicalType::INTEGER);
  spec::Type partition = UnifiedPartitionType(metadata);
  auto partition_type = DuckTypeOf(partition);
  add(HiddenColumn::kPartition, "_partition",
      partition.fields().empty() || !partition_type ? LogicalType(LogicalType::VARCHAR) : *partition_type);
  add(HiddenColumn::kDeleted, "_deleted", LogicalType::BOOLEAN);
  add(HiddenColumn::kRowId, spec::kRowIdColumn, LogicalType::BIGINT);
  add(HiddenColumn::kLastUpdatedSequenceNumber, spec::kLastUpdatedSequenceNumberColumn, LogicalType::BIGINT);
  columns.insert({duckdb::COLUMN_IDENTIFIER_EMPTY, duckdb::TableColumn("", LogicalType::BOOLEAN)});
  return columns;
}

duckdb::ColumnList ColumnsOf(const PinnedTable& pinned) {
  duckdb::ColumnList columns;
  for (const spec::Field& field : pinned.schema->fields()) {
    auto type = DuckTypeOf(field.type);
    columns.AddColumn(duckdb::ColumnDefinition(field.name, type ? *type : LogicalType(LogicalType::VARCHAR)));
  }
  return columns;
}

duckdb::TableFunction MakeTableScan(duckdb::ClientContext& context, std::shared_ptr<const PinnedTable> pinned,
                                    duckdb::TableCatalogEntry& entry, unique_ptr<duckdb::FunctionData>& bind_data) {
  auto& parquet = duckdb::Catalog::GetSystemCatalog(context).GetEntry<duckdb::TableFunctionCatalogEntry>(
      context, DEFAULT_SCHEMA, "parquet_scan");
  duckdb::TableFunction scan = parquet.functions.GetFunctionByArguments(context, {LogicalType::VARCHAR});
  scan.name = kTableScanName;
  scan.function_info = duckdb::make_shared_ptr<ScanFunctionInfo>(std::move(pinned), entry);
  scan.get_multi_file_reader = TableReader::Create;
  scan.get_virtual_columns = ScanVirtualColumns;
  scan.get_bind_info = ScanBindInfo;
  scan.to_string = ScanToString;
  scan.pushdown_expression = MayPushExpression;
  // These answer from Parquet footers, which know of neither deletes nor field ids.
  scan.statistics = nullptr;
  scan.statistics_extended = nullptr;
  scan.get_partition_stats = nullptr;
  scan.get_row_id_columns = nullptr;
  scan.late_materialization = false;
  TellApart<ScannedState>(scan);
  scan.named_parameters.erase("schema");

  vector<Value> inputs = {Value("")};
  duckdb::named_parameter_map_t parameters;
  parameters["can_have_nan"] = Value::BOOLEAN(true);  // NaN is in no statistics, and larger than everything
  vector<LogicalType> input_types;
  vector<std::string> input_names;
  duckdb::TableFunctionRef reference;
  duckdb::TableFunctionBindInput input(inputs, parameters, input_types, input_names, nullptr, nullptr, scan, reference);
  vector<LogicalType> types;
  vector<std::string> names;
  bind_data = scan.bind(context, input, types, names);
  return scan;
}

}  // namespace frazil::sql
