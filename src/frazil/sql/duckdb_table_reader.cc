#include "frazil/sql/duckdb_table_reader.h"

#include <algorithm>
#include <optional>

#include "duckdb/common/multi_file/multi_file_function.hpp"
#include "duckdb/function/function_binder.hpp"
#include "duckdb/parser/expression/constant_expression.hpp"
#include "duckdb/planner/expression/bound_cast_expression.hpp"
#include "duckdb/planner/expression/bound_constant_expression.hpp"
#include "duckdb/planner/expression/bound_operator_expression.hpp"
#include "duckdb/planner/expression/bound_reference_expression.hpp"
#include "frazil/scan/row_source.h"
#include "frazil/spec/name_mapping.h"
#include "frazil/sql/duckdb_column_fit.h"
#include "frazil/sql/duckdb_error.h"
#include "frazil/sql/duckdb_file_reader.h"
#include "frazil/sql/duckdb_filter.h"
#include "frazil/sql/duckdb_opaque.h"
#include "frazil/sql/duckdb_row_filter.h"
#include "frazil/sql/duckdb_value.h"
#include "frazil/sql/hidden_column.h"

namespace frazil::sql {
namespace {

using duckdb::column_t;
using duckdb::ColumnIndex;
using duckdb::Expression;
using duckdb::idx_t;
using duckdb::LogicalType;
using duckdb::make_uniq;
using duckdb::MultiFileColumnDefinition;
using duckdb::optional_ptr;
using duckdb::unique_ptr;
using duckdb::Value;
using duckdb::vector;

MultiFileColumnDefinition DefinitionOf(const spec::Field& field) {
  auto type = DuckTypeOf(field.type);
  MultiFileColumnDefinition definition(field.name, type ? *type : LogicalType(LogicalType::VARCHAR));
  definition.identifier = Value::INTEGER(field.id.value());
  definition.default_expression = make_uniq<duckdb::ConstantExpression>(
      type ? ToDuckValue(field.type, field.initial_default) : Value(definition.type));
  if (type) {
    for (const spec::Field& child : field.type.fields()) definition.children.push_back(DefinitionOf(child));
  }
  return definition;
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

bool AsksForDeletedRows(const vector<ColumnIndex>& columns) {
  return std::ranges::any_of(
      columns, [](const ColumnIndex& column) { return column.GetPrimaryIndex() == IdOf(HiddenColumn::kDeleted); });
}

}  // namespace

void TableReader::OpenFiles::Set(const duckdb::BaseFileReader* reader, OpenFile file) {
  std::lock_guard lock(mutex_);
  files_[reader] = std::move(file);
}

TableReader::OpenFile TableReader::OpenFiles::Get(const duckdb::BaseFileReader* reader) {
  std::lock_guard lock(mutex_);
  return files_.at(reader);
}

TableReader::TableReader(std::shared_ptr<const PinnedTable> pinned, duckdb::TableCatalogEntry& entry)
    : pinned_(std::move(pinned)), entry_(entry) {
  function_name = kTableScanName;
}

unique_ptr<duckdb::MultiFileReader> TableReader::Copy() const { return make_uniq<TableReader>(pinned_, entry_); }

duckdb::shared_ptr<duckdb::MultiFileList> TableReader::CreateFileList(duckdb::ClientContext&,
                                                                      const vector<std::string>&,
                                                                      const duckdb::FileGlobInput&) {
  return duckdb::make_shared_ptr<ScanFileList>(pinned_, expr::Expression::True(), RowsOfScan::kLive);
}

bool TableReader::Bind(duckdb::MultiFileOptions&, duckdb::MultiFileList&, vector<LogicalType>& types,
                       vector<std::string>& names, duckdb::MultiFileReaderBindData& bind_data) {
  for (const spec::Field& field : pinned_->schema->fields()) {
    bind_data.schema.push_back(DefinitionOf(field));
    types.push_back(bind_data.schema.back().type);
    names.push_back(field.name);
  }
  bind_data.mapping = duckdb::MultiFileColumnMappingMode::BY_FIELD_ID;
  return true;
}

unique_ptr<duckdb::MultiFileList> TableReader::ComplexFilterPushdown(duckdb::ClientContext&,
                                                                     duckdb::MultiFileList& files,
                                                                     const duckdb::MultiFileOptions&,
                                                                     duckdb::MultiFilePushdownInfo& info,
                                                                     vector<unique_ptr<Expression>>& filters) {
  auto filter = TranslateFilters(filters, info, *pinned_->schema);
  for (auto& expression : filters) KeepAboveScan(expression, info);
  const bool wants_deleted = std::ranges::find(info.column_ids, IdOf(HiddenColumn::kDeleted)) != info.column_ids.end();
  if (filter->op() == expr::Op::kTrue && !wants_deleted) return nullptr;
  return files.Cast<ScanFileList>().WithFilter(std::move(filter),
                                               wants_deleted ? RowsOfScan::kLiveAndDeleted : RowsOfScan::kLive);
}

unique_ptr<duckdb::MultiFileList> TableReader::DynamicFilterPushdown(
    duckdb::ClientContext&, const duckdb::MultiFileList&, const duckdb::MultiFileOptions&, const vector<std::string>&,
    const vector<LogicalType>&, const vector<column_t>&, duckdb::TableFilterSet&) {
  return nullptr;
}

unique_ptr<duckdb::MultiFileReaderGlobalState> TableReader::InitializeGlobalState(
    duckdb::ClientContext&, const duckdb::MultiFileOptions&, const duckdb::MultiFileReaderBindData&,
    const duckdb::MultiFileList& list, const vector<MultiFileColumnDefinition>&, const vector<ColumnIndex>& columns) {
  for (const ColumnIndex& column : columns) CheckReadable(column.GetPrimaryIndex());
  return make_uniq<duckdb::MultiFileReaderGlobalState>(vector<LogicalType>(), &list);
}

duckdb::shared_ptr<duckdb::BaseFileReader> TableReader::CreateReader(duckdb::ClientContext& context,
                                                                     duckdb::GlobalTableFunctionState& global,
                                                                     const duckdb::OpenFileInfo& file, idx_t index,
                                                                     const duckdb::MultiFileBindData& bind_data) {
  const auto& list = bind_data.file_list->Cast<ScanFileList>();
  const table::FileScanTask& task = list.plan().tasks[index];
  OkOrThrow(scan::CheckNotEncrypted(task.data_file.file));
  if (KeyLookup* lookup = list.key_lookup(); lookup != nullptr) {
    auto reader = duckdb::make_shared_ptr<ScanFileReader>(file, pinned_, list.plan(), task);
    reader->ReadRows(lookup->index->fetcher, {.positions = lookup->positions[index]}, lookup->num_pages);
    return reader;
  }
  if (task.data_file.file.file_format == spec::FileFormat::kParquet) {
    return MultiFileReader::CreateReader(context, global, file, index, bind_data);
  }
  return duckdb::make_shared_ptr<ScanFileReader>(file, pinned_, list.plan(), task);
}

duckdb::ReaderInitializeType TableReader::InitializeReader(
    duckdb::MultiFileReaderData& data, const duckdb::MultiFileBindData& bind_data,
    const vector<MultiFileColumnDefinition>& global_columns, const vector<ColumnIndex>& global_ids,
    optional_ptr<duckdb::TableFilterSet> filters, duckdb::ClientContext& context, duckdb::MultiFileGlobalState& state) {
  const auto& list = bind_data.file_list->Cast<ScanFileList>();
  const table::FileScanTask& task = list.plan().tasks[data.reader->file_list_idx.GetIndex()];
  if (data.reader->GetReaderType() != kScanFileReader) {
    PrepareColumns(task, data.reader->columns);
    const bool may_be_few = list.IsWorthLocating(task) && CanFetch(list, task, global_ids);
    auto few = may_be_few ? ValueOrThrow(list.FewRowsOf(task)) : std::nullopt;
    if (!few && Fits(data.reader->columns, global_ids)) {
      return MultiFileReader::InitializeReader(data, bind_data, global_columns, global_ids, filters, context, state);
    }
    auto reader = duckdb::make_shared_ptr<ScanFileReader>(data.reader->file, pinned_, list.plan(), task);
    reader->file_list_idx = data.reader->file_list_idx;
    if (few) reader->ReadRows(list.fetcher(), *std::move(few), list.num_fetched_pages());
    data.reader = std::move(reader);
  }
  MapDirectly(data, task.data_file, global_ids, filters, bind_data.virtual_columns);
  return duckdb::ReaderInitializeType::INITIALIZED;
}

void TableReader::FinalizeBind(duckdb::MultiFileReaderData& data, const duckdb::MultiFileOptions& options,
                               const duckdb::MultiFileReaderBindData& bind_data,
                               const vector<MultiFileColumnDefinition>& global_columns,
                               const vector<ColumnIndex>& global_ids, duckdb::ClientContext& context,
                               optional_ptr<duckdb::MultiFileReaderGlobalState> state) {
  MultiFileReader::FinalizeBind(data, options, bind_data, global_columns, global_ids, context, state);
  const auto& list = state->file_list->Cast<ScanFileList>();
  const table::FileScanTask& task = list.plan().tasks[data.reader->file_list_idx.GetIndex()];
  OpenFile open{&task.data_file, nullptr};
  if (!task.deletes.empty()) {
    auto deleted = ValueOrThrow(list.DeletedRowsOf(task));
    if (AsksForDeletedRows(global_ids)) {
      open.deleted = std::move(deleted);
    } else if (!deleted->empty()) {
      data.reader->deletion_filter = HideRows(std::move(deleted));
    }
  }
  AddConstants(task.data_file, data, global_ids);
  open_files_.Set(data.reader.get(), std::move(open));
}

duckdb::ReaderInitializeType TableReader::CreateMapping(
    duckdb::ClientContext& context, duckdb::MultiFileReaderData& data,
    const vector<MultiFileColumnDefinition>& global_columns, const vector<ColumnIndex>& global_ids,
    optional_ptr<duckdb::TableFilterSet> filters, duckdb::MultiFileList& list,
    const duckdb::MultiFileReaderBindData& bind_data, const duckdb::virtual_column_map_t& virtual_columns) {
  duckdb::TableFilterSet kept;
  if (filters) {
    for (auto& [index, filter] : filters->filters) {
      const ColumnIndex& id = global_ids[index];
      const column_t column = id.GetPrimaryIndex();
      // What is left here on computed columns came from joins and top-N, which check again: it only saves work.
      if (IsComputedPerRow(column)) continue;
      if (column >= pinned_->schema->fields().size()) {
        kept.filters[index] = filter->Copy();
        continue;
      }
      kept.filters[index] = FilterForFile(*filter, pinned_->schema->fields()[column], global_columns[column].type,
                                          data.reader->GetColumns());
    }
  }
  return MultiFileReader::CreateMapping(context, data, global_columns, global_ids,
                                        filters ? optional_ptr<duckdb::TableFilterSet>(&kept) : filters, list,
                                        bind_data, virtual_columns, bind_data.mapping);
}

unique_ptr<Expression> TableReader::GetConstantVirtualColumn(duckdb::MultiFileReaderData& data, idx_t column,
                                                             const LogicalType& type) {
  if (column < IdOf(HiddenColumn::kFile) || column > IdOf(HiddenColumn::kLastUpdatedSequenceNumber)) {
    return MultiFileReader::GetConstantVirtualColumn(data, column, type);
  }
  const OpenFile open = open_files_.Get(data.reader.get());
  if (column == IdOf(HiddenColumn::kDeleted)) {
    return open.deleted == nullptr ? Constant(Value::BOOLEAN(false)) : nullptr;
  }
  const bool has_stored = FindColumn(data.reader->GetColumns(), spec::kLastUpdatedSequenceNumberColumnId) != nullptr;
  auto constant = HiddenConstant(static_cast<HiddenColumn>(column), *pinned_->metadata, *open.file, type, has_stored);
  return constant ? Constant(*std::move(constant)) : nullptr;
}

unique_ptr<Expression> TableReader::GetVirtualColumnExpression(duckdb::ClientContext& context,
                                                               duckdb::MultiFileReaderData& data,
                                                               const vector<MultiFileColumnDefinition>& local_columns,
                                                               idx_t& column, const LogicalType& type,
                                                               duckdb::MultiFileLocalIndex next_index,
                                                               optional_ptr<MultiFileColumnDefinition>& global_column) {
  if (!IsComputedPerRow(column)) {
    return MultiFileReader::GetVirtualColumnExpression(context, data, local_columns, column, type, next_index,
                                                       global_column);
  }
  auto hidden = static_cast<HiddenColumn>(column);
  // DuckDB appends the column that `column` names; the row's ordinal in the file is the only one Parquet offers.
  column = COLUMN_IDENTIFIER_FILE_ROW_NUMBER;
  idx_t index = next_index.GetIndex();
  if (hidden == HiddenColumn::kPos) return Reference(type, index);
  OpenFile open = open_files_.Get(data.reader.get());
  if (hidden == HiddenColumn::kDeleted) {
    // The appended column would have the type of ours.
    data.reader->cast_map[data.reader->columns.size()] = LogicalType::BIGINT;
    return IsDeleted(std::move(open.deleted), Reference(LogicalType::BIGINT, index));
  }

  const bool is_row_id = hidden == HiddenColumn::kRowId;
  const MultiFileColumnDefinition* stored =
      FindColumn(local_columns, is_row_id ? spec::kRowIdColumnId : spec::kLastUpdatedSequenceNumberColumnId);
  unique_ptr<Expression> stored_value;
  if (stored != nullptr) {
    const auto place = static_cast<idx_t>(stored - local_columns.data());
    data.reader->column_ids.push_back(duckdb::MultiFileLocalColumnId(place));
    data.reader->column_indexes.push_back(ColumnIndex(place));
    stored_value = duckdb::BoundCastExpression::AddCastToType(context, Reference(stored->type, index), type);
    ++index;
  }
  unique_ptr<Expression> inherited =
      is_row_id ? Add(context, Reference(type, index), Constant(Value::BIGINT(open.file->file.first_row_id->value())))
                : Constant(Value::BIGINT(open.file->sequence_number.value()));
  if (!stored_value) return inherited;
  auto effective = make_uniq<duckdb::BoundOperatorExpression>(duckdb::ExpressionType::OPERATOR_COALESCE, type);
  effective->children.push_back(std::move(stored_value));
  effective->children.push_back(std::move(inherited));
  return effective;
}

void TableReader::CheckReadable(column_t column) const {
  if (column >= pinned_->schema->fields().size()) return;
  const spec::Field& field = pinned_->schema->fields()[column];
  if (DuckTypeOf(field.type)) return;
  ThrowError(
      Error(ErrorCode::kNotSupported, fmt::format("SQL cannot read a column of type {} yet: {} of {}",
                                                  field.type.ToString(), field.name, pinned_->table->name().ToString()))
          .WithHint("the other columns can be read by name"));
}

/// Field ids for all columns of a Parquet file; refuses what nobody could map.
void TableReader::PrepareColumns(const table::FileScanTask& task, vector<MultiFileColumnDefinition>& columns) const {
  if (HasFieldIds(columns)) {
    AssignFieldIds(columns, {});
    return;
  }
  if (pinned_->metadata->Property(spec::kNameMappingProperty, "").empty()) {
    ThrowError(scan::NoFieldIds(task.data_file.file.file_path));
  }
  AssignFieldIds(columns, ValueOrThrow(scan::NameMappingFor(*pinned_->metadata, task.data_file.file)));
}

/// Whether DuckDB's own reader gives exactly the table's values of the wanted columns.
bool TableReader::Fits(const vector<MultiFileColumnDefinition>& columns, const vector<ColumnIndex>& ids) const {
  return std::ranges::all_of(ids, [&](const ColumnIndex& id) {
    if (id.GetPrimaryIndex() >= pinned_->schema->fields().size()) return true;
    const spec::Field& field = pinned_->schema->fields()[id.GetPrimaryIndex()];
    const MultiFileColumnDefinition* column = FindColumn(columns, field.id);
    return column == nullptr || FitsParquetReader(field, *column);
  });
}

/// Whether rows with these columns can come from elsewhere than DuckDB's reader.
bool TableReader::CanFetch(const ScanFileList& list, const table::FileScanTask& task,
                           const vector<ColumnIndex>& ids) const {
  const auto holds_variant = [](const auto& self, const spec::Type& type) -> bool {
    return type.id() == spec::TypeId::kVariant ||
           std::ranges::any_of(type.fields(), [&](const spec::Field& child) { return self(self, child.type); });
  };
  scan::ReadColumns columns;
  for (const ColumnIndex& id : ids) {
    const auto& fields = pinned_->schema->fields();
    if (id.GetPrimaryIndex() >= fields.size()) continue;
    const spec::Field& field = fields[id.GetPrimaryIndex()];
    if (holds_variant(holds_variant, field.type)) return false;
    if (std::ranges::find(columns.fields, field.id) == columns.fields.end()) columns.fields.push_back(field.id);
  }
  // Types that a file has its columns in and our reader does not know, DuckDB's may.
  return list.fetcher()->Fetch(list.plan(), task, {}, columns, nullptr).has_value();
}

/// Rows of a ScanFileReader are those of the scan already.
void TableReader::MapDirectly(duckdb::MultiFileReaderData& data, const table::LiveDataFile& file,
                              const vector<ColumnIndex>& ids, optional_ptr<duckdb::TableFilterSet> filters,
                              const duckdb::virtual_column_map_t& virtual_columns) const {
  auto& reader = data.reader->Cast<ScanFileReader>();
  for (idx_t i = 0; i < ids.size(); ++i) {
    const column_t column = ids[i].GetPrimaryIndex();
    if (column < pinned_->schema->fields().size()) {
      reader.AddTableColumn(column);
    } else {
      const LogicalType& type = virtual_columns.at(column).type;
      const auto hidden = static_cast<HiddenColumn>(column);
      auto constant = HiddenConstant(hidden, *pinned_->metadata, file, type, /*has_stored=*/true);
      if (constant) {
        reader.AddConstant(*std::move(constant));
      } else if (hidden == HiddenColumn::kRowId) {
        reader.AddRowId();
      } else if (hidden == HiddenColumn::kLastUpdatedSequenceNumber) {
        reader.AddLastUpdatedSequenceNumber();
      } else if (hidden == HiddenColumn::kDeleted) {
        reader.AddIsDeleted();
      } else {
        reader.AddPosition();
      }
    }
    data.expressions.push_back(Reference(reader.columns.back().type, i));
  }
  if (filters) reader.SetFilters(*filters);
}

/// Columns that the file lacks and its partition knows (spec section 6.12).
void TableReader::AddConstants(const table::LiveDataFile& file, duckdb::MultiFileReaderData& data,
                               const vector<ColumnIndex>& global_ids) const {
  const spec::PartitionSpec* spec = pinned_->metadata->FindSpec(file.file.spec_id);
  for (idx_t i = 0; i < global_ids.size(); ++i) {
    column_t column = global_ids[i].GetPrimaryIndex();
    if (column >= pinned_->schema->fields().size()) continue;
    const spec::Field& field = pinned_->schema->fields()[column];
    if (FindColumn(data.reader->GetColumns(), field.id) != nullptr) continue;
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
      ThrowError(Error(ErrorCode::kInvalidTable, fmt::format("data file lacks required column {} of {}: {}", field.name,
                                                             pinned_->table->name().ToString(), file.file.file_path)));
    }
  }
}

}  // namespace frazil::sql
