#include "frazil/sql/duckdb_catalog.h"

#include <algorithm>
#include <map>
#include <mutex>

#include "duckdb/catalog/catalog.hpp"
#include "duckdb/catalog/catalog_entry/schema_catalog_entry.hpp"
#include "duckdb/catalog/catalog_entry/table_catalog_entry.hpp"
#include "duckdb/catalog/entry_lookup_info.hpp"
#include "duckdb/common/reference_map.hpp"
#include "duckdb/common/string_util.hpp"
#include "duckdb/main/attached_database.hpp"
#include "duckdb/parser/parsed_data/attach_info.hpp"
#include "duckdb/parser/parsed_data/create_index_info.hpp"
#include "duckdb/parser/parsed_data/create_schema_info.hpp"
#include "duckdb/parser/parsed_data/create_table_info.hpp"
#include "duckdb/parser/statement/create_statement.hpp"
#include "duckdb/planner/binder.hpp"
#include "duckdb/planner/logical_operator.hpp"
#include "duckdb/planner/tableref/bound_at_clause.hpp"
#include "duckdb/storage/database_size.hpp"
#include "duckdb/storage/statistics/base_statistics.hpp"
#include "duckdb/storage/table_storage_info.hpp"
#include "duckdb/transaction/transaction.hpp"
#include "duckdb/transaction/transaction_manager.hpp"
#include "frazil/base/number_text.h"
#include "frazil/sql/duckdb_error.h"
#include "frazil/sql/duckdb_scan.h"
#include "frazil/sql/duckdb_scan_identity.h"
#include "frazil/sql/duckdb_value.h"
#include "frazil/sql/engine.h"
#include "frazil/sql/hidden_column.h"
#include "frazil/sql/metadata_table.h"
#include "frazil/table/scan_planner.h"

namespace frazil::sql {

namespace {

using duckdb::CatalogEntry;
using duckdb::CatalogTransaction;
using duckdb::LogicalType;
using duckdb::optional_ptr;
using duckdb::unique_ptr;

[[noreturn]] void Refuse(const std::string& what) {
  ThrowError(Error(ErrorCode::kNotSupported, what + " is not supported on an Iceberg catalog"));
}

[[noreturn]] void RefuseIndex() {
  ThrowError(Error(ErrorCode::kNotSupported, "CREATE INDEX is not supported on an Iceberg catalog")
                 .WithHint("an index of the identifier fields is kept beside the table: ALTER TABLE ... SET IDENTIFIER "
                           "FIELDS, then frazil index rebuild"));
}

int64_t FloorDivide(int64_t number, int64_t by) { return number / by - (number % by < 0 ? 1 : 0); }

/// `AT (VERSION => ...)` or `AT (TIMESTAMP => ...)` as a question to the table's metadata. As in Spark a time without a zone is
/// one of the session's.
table::SnapshotSelector SelectorOf(optional_ptr<duckdb::ClientContext> context, const duckdb::BoundAtClause& at,
                                   const spec::TableMetadata& metadata) {
  table::SnapshotSelector selector;
  const duckdb::Value& value = at.GetValue();
  if (value.IsNull()) ThrowError(Error(ErrorCode::kInvalidArgument, "version or time to read at is NULL"));
  if (duckdb::StringUtil::CIEquals(at.Unit(), "version")) {
    std::string text = value.ToString();
    if (metadata.refs.count(text) > 0) {
      selector.ref = text;
      return selector;
    }
    if (const auto id = ReadNumber<int64_t>(text)) {
      selector.snapshot_id = spec::SnapshotId(*id);
    } else {
      selector.ref = text;
    }
    return selector;
  }
  // Spark takes bare numbers as seconds since 1970.
  if (value.type().IsIntegral()) {
    selector.timestamp_ms = value.GetValue<int64_t>() * 1000;
    return selector;
  }
  duckdb::Value moment = value;
  // Of text that is none the cast of zones makes a null, and says that it succeeded.
  if (!context || !moment.TryCastAs(*context, LogicalType::TIMESTAMP_TZ) || moment.IsNull()) {
    ThrowError(Error(ErrorCode::kInvalidArgument, "not a time to read at: " + value.ToString()));
  }
  selector.timestamp_ms = FloorDivide(moment.GetValueUnsafe<duckdb::timestamp_tz_t>().value, 1000);
  return selector;
}

/// The version before kLiveRowsMark; none without the mark.
std::optional<std::string> VersionOfLiveRows(const duckdb::BoundAtClause& at) {
  if (!duckdb::StringUtil::CIEquals(at.Unit(), "version") || at.GetValue().IsNull()) return std::nullopt;
  std::string text = at.GetValue().ToString();
  if (!text.ends_with(kLiveRowsMark)) return std::nullopt;
  text.pop_back();
  return text;
}

// --- tables about tables ----------------------------------------------------------------------------------------------

constexpr duckdb::column_t kFirstHidden = UINT64_C(9223372036854777000);

struct MetadataData final : duckdb::TableFunctionData {
  MetadataData(std::shared_ptr<const MetadataTable> in_table, duckdb::TableCatalogEntry& in_entry)
      : table(std::move(in_table)), entry(in_entry) {}
  std::shared_ptr<const MetadataTable> table;
  duckdb::TableCatalogEntry& entry;  ///< outlives the query
};

struct MetadataProgress final : duckdb::GlobalTableFunctionState {
  std::vector<std::optional<size_t>> wanted;  ///< columns of the table; none: any value will do
  std::unique_ptr<DatumRows> rows;
  std::vector<DatumRow> batch;
  size_t next_row = 0;
};

/// The columns that `*` has first, then the hidden ones by their place among all.
std::vector<size_t> VisibleColumns(const MetadataTable& table) {
  std::vector<size_t> visible;
  for (size_t i = 0; i < table.columns.size(); ++i) {
    if (!table.hidden.contains(table.columns[i].name)) visible.push_back(i);
  }
  return visible;
}

unique_ptr<duckdb::GlobalTableFunctionState> BeginMetadata(duckdb::ClientContext&,
                                                           duckdb::TableFunctionInitInput& input) {
  const MetadataTable& table = *input.bind_data->Cast<MetadataData>().table;
  auto progress = duckdb::make_uniq<MetadataProgress>();
  const std::vector<size_t> visible = VisibleColumns(table);
  for (const duckdb::column_t id : input.column_ids) {
    std::optional<size_t> wanted;
    if (id < visible.size()) wanted = visible[id];
    if (id >= kFirstHidden && id - kFirstHidden < table.columns.size()) wanted = id - kFirstHidden;
    progress->wanted.push_back(wanted);
  }
  progress->rows = ValueOrThrow(table.open());
  return progress;
}

void ScanMetadata(duckdb::ClientContext&, duckdb::TableFunctionInput& input, duckdb::DataChunk& output) {
  const MetadataTable& table = *input.bind_data->Cast<MetadataData>().table;
  auto& progress = input.global_state->Cast<MetadataProgress>();
  if (progress.next_row == progress.batch.size()) {
    progress.batch = ValueOrThrow(progress.rows->Next());
    progress.next_row = 0;
  }
  const duckdb::idx_t count = std::min<duckdb::idx_t>(STANDARD_VECTOR_SIZE, progress.batch.size() - progress.next_row);
  for (duckdb::idx_t row = 0; row < count; ++row, ++progress.next_row) {
    for (size_t i = 0; i < progress.wanted.size(); ++i) {
      if (!progress.wanted[i]) continue;
      const size_t column = *progress.wanted[i];
      output.SetValue(i, row, ToDuckValue(table.columns[column].type, progress.batch[progress.next_row][column]));
    }
  }
  output.SetCardinality(count);
}

duckdb::virtual_column_map_t HiddenMetadataColumns(const MetadataTable& table) {
  duckdb::virtual_column_map_t columns;
  for (size_t i = 0; i < table.columns.size(); ++i) {
    if (!table.hidden.contains(table.columns[i].name)) continue;
    columns.insert({kFirstHidden + i,
                    duckdb::TableColumn(table.columns[i].name, ValueOrThrow(DuckTypeOf(table.columns[i].type)))});
  }
  columns.insert({duckdb::COLUMN_IDENTIFIER_EMPTY, duckdb::TableColumn("", LogicalType::BOOLEAN)});
  return columns;
}

duckdb::virtual_column_map_t VirtualMetadataColumns(duckdb::ClientContext&, optional_ptr<duckdb::FunctionData> data) {
  return HiddenMetadataColumns(*data->Cast<MetadataData>().table);
}

/// Without it DuckDB takes the scan for one of no table, and hidden columns cannot be named.
duckdb::BindInfo MetadataBindInfo(const optional_ptr<duckdb::FunctionData> data) {
  return duckdb::BindInfo(data->Cast<MetadataData>().entry);
}

const void* MetadataState(const duckdb::FunctionData& data) { return data.Cast<MetadataData>().table.get(); }

// --- entries ----------------------------------------------------------------------------------------------------------

/// What DuckDB may ask of any table, answered for tables that it only reads: none of its own storage lies behind them.
class ReadOnlyEntry : public duckdb::TableCatalogEntry {
 public:
  using TableCatalogEntry::TableCatalogEntry;

  unique_ptr<duckdb::BaseStatistics> GetStatistics(duckdb::ClientContext&, duckdb::column_t) override {
    return nullptr;
  }
  duckdb::TableFunction GetScanFunction(duckdb::ClientContext& context, unique_ptr<duckdb::FunctionData>& data,
                                        const duckdb::EntryLookupInfo&) override {
    return GetScanFunction(context, data);
  }
  using TableCatalogEntry::GetScanFunction;
  duckdb::TableStorageInfo GetStorageInfo(duckdb::ClientContext&) override { return {}; }
  duckdb::vector<duckdb::column_t> GetRowIdColumns() const override { return {}; }
  duckdb::DataTable& GetStorage() override { Refuse("this use of a table's storage"); }
  void BindUpdateConstraints(duckdb::Binder&, duckdb::LogicalGet&, duckdb::LogicalProjection&, duckdb::LogicalUpdate&,
                             duckdb::ClientContext&) override {
    Refuse("this form of UPDATE");
  }
};

class TableEntry final : public ReadOnlyEntry {
 public:
  TableEntry(duckdb::Catalog& in_catalog, duckdb::SchemaCatalogEntry& in_schema, duckdb::CreateTableInfo& info,
             std::shared_ptr<const PinnedTable> pinned)
      : ReadOnlyEntry(in_catalog, in_schema, info), pinned_(std::move(pinned)) {}

  duckdb::TableFunction GetScanFunction(duckdb::ClientContext& context,
                                        unique_ptr<duckdb::FunctionData>& data) override {
    return MakeTableScan(context, pinned_, *this, data);
  }
  duckdb::virtual_column_map_t GetVirtualColumns() const override {
    return HiddenColumnsOf(*pinned_->metadata, *pinned_->schema, pinned_->has_deleted_rows);
  }

 private:
  std::shared_ptr<const PinnedTable> pinned_;
};

class MetadataEntry final : public ReadOnlyEntry {
 public:
  MetadataEntry(duckdb::Catalog& in_catalog, duckdb::SchemaCatalogEntry& in_schema, duckdb::CreateTableInfo& info,
                std::shared_ptr<const MetadataTable> table)
      : ReadOnlyEntry(in_catalog, in_schema, info), table_(std::move(table)) {}

  duckdb::TableFunction GetScanFunction(duckdb::ClientContext&, unique_ptr<duckdb::FunctionData>& data) override {
    data = duckdb::make_uniq<MetadataData>(table_, *this);
    duckdb::TableFunction scan("frazil_metadata", {}, ScanMetadata, nullptr, BeginMetadata);
    scan.projection_pushdown = true;
    scan.get_virtual_columns = VirtualMetadataColumns;
    scan.get_bind_info = MetadataBindInfo;
    TellApart<MetadataState>(scan);
    return scan;
  }
  duckdb::virtual_column_map_t GetVirtualColumns() const override { return HiddenMetadataColumns(*table_); }

 private:
  std::shared_ptr<const MetadataTable> table_;
};

/// A namespace, nested ones by their dotted name. Several threads of one query may look tables up at once: an entry that one
/// of them was given stays as long as the statement.
class NamespaceEntry final : public duckdb::SchemaCatalogEntry {
 public:
  NamespaceEntry(duckdb::Catalog& in_catalog, duckdb::CreateSchemaInfo& info, NameResolver& resolver,
                 catalog::Namespace levels)
      : SchemaCatalogEntry(in_catalog, info), resolver_(resolver), levels_(std::move(levels)) {}

  void Forget() {
    std::lock_guard lock(mutex_);
    entries_.clear();
  }

  optional_ptr<CatalogEntry> LookupEntry(CatalogTransaction transaction,
                                         const duckdb::EntryLookupInfo& lookup) override {
    if (lookup.GetCatalogType() != duckdb::CatalogType::TABLE_ENTRY) return nullptr;
    return Bind(transaction.context, lookup.GetEntryName(), lookup.GetAtClause());
  }
  void Scan(duckdb::ClientContext& context, duckdb::CatalogType kind,
            const std::function<void(CatalogEntry&)>& callback) override {
    if (kind != duckdb::CatalogType::TABLE_ENTRY) return;
    auto source = ValueOrThrow(resolver_.Catalog(catalog.GetName()));
    auto tables = source->ListTables(levels_);
    if (!tables) return;
    for (const catalog::TableName& table : *tables) {
      if (auto entry = Bind(context, table.name, nullptr)) callback(*entry);
    }
  }
  void Scan(duckdb::CatalogType, const std::function<void(CatalogEntry&)>&) override {}

  optional_ptr<CatalogEntry> CreateIndex(CatalogTransaction, duckdb::CreateIndexInfo&,
                                         duckdb::TableCatalogEntry&) override {
    RefuseIndex();
  }
  optional_ptr<CatalogEntry> CreateFunction(CatalogTransaction, duckdb::CreateFunctionInfo&) override {
    Refuse("CREATE FUNCTION");
  }
  optional_ptr<CatalogEntry> CreateTable(CatalogTransaction, duckdb::BoundCreateTableInfo&) override {
    Refuse("this form of CREATE TABLE");
  }
  optional_ptr<CatalogEntry> CreateView(CatalogTransaction, duckdb::CreateViewInfo&) override { Refuse("CREATE VIEW"); }
  optional_ptr<CatalogEntry> CreateSequence(CatalogTransaction, duckdb::CreateSequenceInfo&) override {
    Refuse("CREATE SEQUENCE");
  }
  optional_ptr<CatalogEntry> CreateTableFunction(CatalogTransaction, duckdb::CreateTableFunctionInfo&) override {
    Refuse("CREATE FUNCTION");
  }
  optional_ptr<CatalogEntry> CreateCopyFunction(CatalogTransaction, duckdb::CreateCopyFunctionInfo&) override {
    Refuse("CREATE FUNCTION");
  }
  optional_ptr<CatalogEntry> CreatePragmaFunction(CatalogTransaction, duckdb::CreatePragmaFunctionInfo&) override {
    Refuse("CREATE FUNCTION");
  }
  optional_ptr<CatalogEntry> CreateCollation(CatalogTransaction, duckdb::CreateCollationInfo&) override {
    Refuse("CREATE COLLATION");
  }
  optional_ptr<CatalogEntry> CreateCoordinateSystem(CatalogTransaction, duckdb::CreateCoordinateSystemInfo&) override {
    Refuse("CREATE COORDINATE SYSTEM");
  }
  optional_ptr<CatalogEntry> CreateType(CatalogTransaction, duckdb::CreateTypeInfo&) override { Refuse("CREATE TYPE"); }
  void DropEntry(duckdb::ClientContext&, duckdb::DropInfo&) override { Refuse("this form of DROP"); }
  void Alter(CatalogTransaction, duckdb::AlterInfo&) override { Refuse("ALTER"); }

 private:
  optional_ptr<CatalogEntry> Bind(optional_ptr<duckdb::ClientContext> context, const std::string& entry_name,
                                  optional_ptr<duckdb::BoundAtClause> at) {
    std::string key = entry_name + (at ? "@" + at->Unit() + "=" + at->GetValue().ToSQLString() : "");
    std::lock_guard lock(mutex_);
    if (auto found = entries_.find(key); found != entries_.end()) return found->second.get();
    size_t separator = entry_name.find(kMetadataSeparator);
    auto table = resolver_.Load(catalog.GetName(), {levels_, entry_name.substr(0, separator)});
    if (!table && table.error().code() == ErrorCode::kNotFound) return nullptr;
    auto loaded = ValueOrThrow(std::move(table));

    auto pinned = std::make_shared<PinnedTable>();
    pinned->catalog = catalog.GetName();
    pinned->table = loaded;
    pinned->metadata = loaded->metadata();
    table::SnapshotSelector selector;
    if (at) {
      const auto version = VersionOfLiveRows(*at);
      pinned->has_deleted_rows = !version;
      if (!version) {
        selector = SelectorOf(context, *at, *pinned->metadata);
      } else if (!version->empty()) {
        selector = SelectorOf(context, {"version", duckdb::Value(*version)}, *pinned->metadata);
      }
    }
    pinned->snapshot = ValueOrThrow(table::SelectSnapshot(*pinned->metadata, selector));
    pinned->schema = table::SchemaToRead(*pinned->metadata, selector, pinned->snapshot);
    pinned->equality_deletes = resolver_.NewEqualityDeletes(loaded->io());
    pinned->vectors = resolver_.VectorsOf(catalog.GetName());
    pinned->key_indexes = resolver_.key_indexes();

    duckdb::CreateTableInfo info(*this, entry_name);
    unique_ptr<duckdb::TableCatalogEntry> entry;
    if (separator == std::string::npos) {
      info.columns = ColumnsOf(*pinned);
      entry = duckdb::make_uniq<TableEntry>(catalog, *this, info, std::move(pinned));
    } else {
      auto about = std::make_shared<const MetadataTable>(
          ValueOrThrow(MakeMetadataTable(loaded, entry_name.substr(separator + 1), pinned->snapshot)));
      for (const size_t i : VisibleColumns(*about)) {
        const spec::Field& column = about->columns[i];
        info.columns.AddColumn(duckdb::ColumnDefinition(column.name, ValueOrThrow(DuckTypeOf(column.type))));
      }
      entry = duckdb::make_uniq<MetadataEntry>(catalog, *this, info, std::move(about));
    }
    return (entries_[key] = std::move(entry)).get();
  }

  NameResolver& resolver_;
  const catalog::Namespace levels_;
  std::mutex mutex_;  ///< of entries_, also while a table is loaded: nobody loads it twice
  std::map<std::string, unique_ptr<duckdb::TableCatalogEntry>> entries_;
};

catalog::Namespace SplitLevels(const std::string& text) {
  catalog::Namespace levels;
  size_t from = 0;
  for (size_t dot = text.find('.'); dot != std::string::npos; dot = text.find('.', from)) {
    levels.push_back(text.substr(from, dot - from));
    from = dot + 1;
  }
  levels.push_back(text.substr(from));
  return levels;
}

class AttachedCatalog final : public duckdb::Catalog {
 public:
  AttachedCatalog(duckdb::AttachedDatabase& database, NameResolver& resolver)
      : Catalog(database), resolver_(resolver) {}

  void Forget() {
    std::lock_guard lock(mutex_);
    for (auto& [name, entry] : namespaces_) entry->Forget();
  }

  void Initialize(bool) override {}
  std::string GetCatalogType() override { return "frazil"; }
  std::string GetDefaultSchema() const override { return "default"; }
  optional_ptr<duckdb::SchemaCatalogEntry> LookupSchema(CatalogTransaction, const duckdb::EntryLookupInfo& lookup,
                                                        duckdb::OnEntryNotFound if_missing) override {
    const std::string& name = lookup.GetEntryName();
    if (NamespaceEntry* known = Known(name)) return known;
    catalog::Namespace levels = SplitLevels(name);
    bool is_current = resolver_.current_catalog() == GetName() && resolver_.current_namespace() == levels;
    if (!is_current && !ValueOrThrow(resolver_.NamespaceExists(GetName(), levels))) {
      if (if_missing == duckdb::OnEntryNotFound::RETURN_NULL) return nullptr;
      ThrowError(Error(ErrorCode::kNotFound, "namespace not found: " + name));
    }
    return &Add(levels);
  }
  void ScanSchemas(duckdb::ClientContext&, std::function<void(duckdb::SchemaCatalogEntry&)> callback) override {
    auto source = ValueOrThrow(resolver_.Catalog(GetName()));
    for (const catalog::Namespace& levels : ValueOrThrow(source->ListNamespaces({}))) callback(Add(levels));
  }

  optional_ptr<CatalogEntry> CreateSchema(CatalogTransaction, duckdb::CreateSchemaInfo&) override {
    Refuse("CREATE SCHEMA");
  }
  void DropSchema(duckdb::ClientContext&, duckdb::DropInfo&) override { Refuse("DROP SCHEMA"); }
  duckdb::PhysicalOperator& PlanCreateTableAs(duckdb::ClientContext&, duckdb::PhysicalPlanGenerator&,
                                              duckdb::LogicalCreateTable&, duckdb::PhysicalOperator&) override {
    Refuse("CREATE TABLE AS SELECT");
  }
  duckdb::PhysicalOperator& PlanInsert(duckdb::ClientContext&, duckdb::PhysicalPlanGenerator&, duckdb::LogicalInsert&,
                                       optional_ptr<duckdb::PhysicalOperator>) override {
    Refuse("this form of INSERT");
  }
  duckdb::PhysicalOperator& PlanDelete(duckdb::ClientContext&, duckdb::PhysicalPlanGenerator&, duckdb::LogicalDelete&,
                                       duckdb::PhysicalOperator&) override {
    Refuse("this form of DELETE");
  }
  duckdb::PhysicalOperator& PlanUpdate(duckdb::ClientContext&, duckdb::PhysicalPlanGenerator&, duckdb::LogicalUpdate&,
                                       duckdb::PhysicalOperator&) override {
    Refuse("this form of UPDATE");
  }
  duckdb::PhysicalOperator& PlanMergeInto(duckdb::ClientContext&, duckdb::PhysicalPlanGenerator&,
                                          duckdb::LogicalMergeInto&, duckdb::PhysicalOperator&) override {
    Refuse("this form of MERGE INTO");
  }
  unique_ptr<duckdb::LogicalOperator> BindCreateIndex(duckdb::Binder&, duckdb::CreateStatement&,
                                                      duckdb::TableCatalogEntry&,
                                                      unique_ptr<duckdb::LogicalOperator>) override {
    RefuseIndex();
  }
  unique_ptr<duckdb::LogicalOperator> BindAlterAddIndex(duckdb::Binder&, duckdb::TableCatalogEntry&,
                                                        unique_ptr<duckdb::LogicalOperator>,
                                                        unique_ptr<duckdb::CreateIndexInfo>,
                                                        unique_ptr<duckdb::AlterTableInfo>) override {
    RefuseIndex();
  }
  duckdb::ErrorData SupportsCreateTable(duckdb::BoundCreateTableInfo&) override { Refuse("this form of CREATE TABLE"); }
  duckdb::vector<duckdb::MetadataBlockInfo> GetMetadataInfo(duckdb::ClientContext&) override { return {}; }
  duckdb::DatabaseSize GetDatabaseSize(duckdb::ClientContext&) override { return {}; }
  bool InMemory() override { return true; }
  std::string GetDBPath() override { return ""; }
  bool SupportsTimeTravel() const override { return true; }

 private:
  NamespaceEntry* Known(const std::string& name) {
    std::lock_guard lock(mutex_);
    const auto found = namespaces_.find(name);
    return found == namespaces_.end() ? nullptr : found->second.get();
  }

  NamespaceEntry& Add(const catalog::Namespace& levels) {
    std::string name = catalog::NamespaceText(levels);
    std::lock_guard lock(mutex_);
    auto& slot = namespaces_[name];
    if (!slot) {
      duckdb::CreateSchemaInfo info;
      info.schema = name;
      info.catalog = GetName();
      slot = duckdb::make_uniq<NamespaceEntry>(*this, info, resolver_, levels);
    }
    return *slot;
  }

  NameResolver& resolver_;
  std::mutex mutex_;  ///< of namespaces_
  std::map<std::string, unique_ptr<NamespaceEntry>> namespaces_;
};

/// Queries only read, each through what it pinned: there is nothing to begin, commit or undo.
class NoTransactions final : public duckdb::TransactionManager {
 public:
  explicit NoTransactions(duckdb::AttachedDatabase& database) : TransactionManager(database) {}
  duckdb::Transaction& StartTransaction(duckdb::ClientContext& context) override {
    auto transaction = duckdb::make_uniq<duckdb::Transaction>(*this, context);
    duckdb::Transaction& result = *transaction;
    std::lock_guard lock(mutex_);
    running_[result] = std::move(transaction);
    return result;
  }
  duckdb::ErrorData CommitTransaction(duckdb::ClientContext&, duckdb::Transaction& transaction) override {
    End(transaction);
    return {};
  }
  void RollbackTransaction(duckdb::Transaction& transaction) override { End(transaction); }
  void Checkpoint(duckdb::ClientContext&, bool) override {}

 private:
  void End(duckdb::Transaction& transaction) {
    std::lock_guard lock(mutex_);
    running_.erase(transaction);
  }
  std::mutex mutex_;
  duckdb::reference_map_t<duckdb::Transaction, unique_ptr<duckdb::Transaction>> running_;
};

struct ExtensionState final : duckdb::StorageExtensionInfo {
  explicit ExtensionState(NameResolver& names) : resolver(names) {}
  NameResolver& resolver;
};

unique_ptr<duckdb::Catalog> Attach(optional_ptr<duckdb::StorageExtensionInfo> info, duckdb::ClientContext&,
                                   duckdb::AttachedDatabase& database, const std::string&, duckdb::AttachInfo&,
                                   duckdb::AttachOptions&) {
  return duckdb::make_uniq<AttachedCatalog>(database, static_cast<ExtensionState&>(*info).resolver);
}

unique_ptr<duckdb::TransactionManager> MakeTransactions(optional_ptr<duckdb::StorageExtensionInfo>,
                                                        duckdb::AttachedDatabase& database, duckdb::Catalog&) {
  return duckdb::make_uniq<NoTransactions>(database);
}

}  // namespace

duckdb::shared_ptr<duckdb::StorageExtension> MakeStorageExtension(NameResolver& resolver) {
  auto extension = duckdb::make_shared_ptr<duckdb::StorageExtension>();
  extension->attach = Attach;
  extension->create_transaction_manager = MakeTransactions;
  extension->storage_info = duckdb::make_shared_ptr<ExtensionState>(resolver);
  return extension;
}

void ForgetBoundTables(duckdb::ClientContext& context, const std::string& catalog) {
  duckdb::Catalog::GetCatalog(context, catalog).Cast<AttachedCatalog>().Forget();
}

}  // namespace frazil::sql
