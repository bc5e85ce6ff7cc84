#include <atomic>
#include <mutex>

#include <arrow/c/bridge.h>
#include <arrow/record_batch.h>
#include <arrow/type.h>

#include "duckdb.h"
#include "duckdb/catalog/catalog_search_path.hpp"
#include "duckdb/common/arrow/arrow_converter.hpp"
#include "duckdb/common/file_system.hpp"
#include "duckdb/common/vector_operations/vector_operations.hpp"
#include "duckdb/execution/executor.hpp"
#include "duckdb/main/client_config.hpp"
#include "duckdb/main/client_context.hpp"
#include "duckdb/main/client_data.hpp"
#include "duckdb/main/config.hpp"
#include "duckdb/main/connection.hpp"
#include "duckdb/main/database.hpp"
#include "duckdb/main/database_manager.hpp"
#include "duckdb/main/query_result.hpp"
#include "duckdb/main/settings.hpp"
#include "duckdb/main/stream_query_result.hpp"
#include "duckdb/parser/expression/constant_expression.hpp"
#include "duckdb/parser/expression/subquery_expression.hpp"
#include "duckdb/parser/parsed_data/copy_info.hpp"
#include "duckdb/parser/parsed_data/create_table_info.hpp"
#include "duckdb/parser/parsed_data/create_view_info.hpp"
#include "duckdb/parser/parsed_expression_iterator.hpp"
#include "duckdb/parser/statement/copy_statement.hpp"
#include "duckdb/parser/statement/create_statement.hpp"
#include "duckdb/parser/statement/explain_statement.hpp"
#include "duckdb/parser/statement/select_statement.hpp"
#include "duckdb/parser/tableref/at_clause.hpp"
#include "duckdb/parser/tableref/basetableref.hpp"
#include "duckdb/parser/tableref/showref.hpp"
#include "duckdb/storage/buffer_manager.hpp"
#include "frazil/base/stop_flag.h"
#include "frazil/sql/duckdb_catalog.h"
#include "frazil/sql/duckdb_error.h"
#include "frazil/sql/duckdb_file_system.h"
#include "frazil/sql/duckdb_metadata_answer.h"
#include "frazil/sql/duckdb_predicate.h"
#include "frazil/sql/duckdb_result_columns.h"
#include "frazil/sql/duckdb_row_groups.h"
#include "frazil/sql/duckdb_spark_functions.h"
#include "frazil/sql/duckdb_text_comparison.h"
#include "frazil/sql/duckdb_value.h"
#include "frazil/sql/engine.h"
#include "frazil/sql/query_text.h"
#include "frazil/sql/row_change.h"
#include "frazil/sql/session.h"
#include "frazil/sql/spark_macros.h"
#include "frazil/sql/token.h"
#include "frazil/sql/type_text.h"

namespace frazil::sql {

namespace {

using duckdb::unique_ptr;

/// The interior changes with every release: headers and library must be of one version.
constexpr char kCompiledAgainst[] = "v1.5.5";

Error ArrowError(const arrow::Status& status) {
  return Error(ErrorCode::kInternal, "result as Arrow batches: " + status.ToString());
}

// --- names ------------------------------------------------------------------------------------------------------------

/// Gives every table of ours its full name, wherever it stands in a parsed statement, and Spark's functions DuckDB's.
class NameRewriter {
 public:
  NameRewriter(NameResolver& resolver, duckdb::ClientContext& context) : resolver_(resolver), context_(context) {}

  void Rewrite(duckdb::SQLStatement& statement) {
    switch (statement.type) {
      case duckdb::StatementType::SELECT_STATEMENT: Visit(*statement.Cast<duckdb::SelectStatement>().node); break;
      case duckdb::StatementType::EXPLAIN_STATEMENT: Rewrite(*statement.Cast<duckdb::ExplainStatement>().stmt); break;
      case duckdb::StatementType::COPY_STATEMENT: {
        auto& info = *statement.Cast<duckdb::CopyStatement>().info;
        if (info.select_statement) Visit(*info.select_statement);
        break;
      }
      case duckdb::StatementType::CREATE_STATEMENT: {
        auto& info = *statement.Cast<duckdb::CreateStatement>().info;
        if (info.type == duckdb::CatalogType::TABLE_ENTRY) {
          auto& table = info.Cast<duckdb::CreateTableInfo>();
          if (table.query) Visit(*table.query->node);
        } else if (info.type == duckdb::CatalogType::VIEW_ENTRY) {
          auto& view = info.Cast<duckdb::CreateViewInfo>();
          if (view.query) Visit(*view.query->node);
        }
        break;
      }
      default: break;
    }
  }

 private:
  void Visit(duckdb::QueryNode& node) {
    duckdb::ParsedExpressionIterator::EnumerateQueryNodeChildren(
        node,
        [this](unique_ptr<duckdb::ParsedExpression>& child) {
          TranslateSparkFunctions(child);
          VisitExpression(*child);
        },
        [this](duckdb::TableRef& reference) { VisitTable(reference); });
  }

  void VisitExpression(duckdb::ParsedExpression& expression) {
    duckdb::ParsedExpressionIterator::VisitExpressionMutable<duckdb::SubqueryExpression>(
        expression, [this](duckdb::SubqueryExpression& subquery) {
          Visit(*subquery.subquery->node);
          if (subquery.child) VisitExpression(*subquery.child);
        });
  }

  void VisitTable(duckdb::TableRef& reference) {
    if (reference.type == duckdb::TableReferenceType::SHOW_REF) {
      auto& show = reference.Cast<duckdb::ShowRef>();
      if (show.query) Visit(*show.query);
      return;
    }
    if (reference.type != duckdb::TableReferenceType::BASE_TABLE) return;
    auto& table = reference.Cast<duckdb::BaseTableRef>();
    NameParts parts = PartsOf(table);
    if (parts.size() < 2) return;  // a CTE, or a table on the search path
    auto found = ValueOrThrow(resolver_.TryFind(parts));
    if (!found) {
      if (parts.size() <= 3 && IsEngineName(parts[0])) return;
      ThrowError(resolver_.Find(parts).error());
    }
    if (found->version) {
      if (table.at_clause) {
        ThrowError(Error(ErrorCode::kInvalidArgument, "two versions asked for in one place: " + NameText(parts)));
      }
      table.at_clause = duckdb::make_uniq<duckdb::AtClause>(
          "version", duckdb::make_uniq<duckdb::ConstantExpression>(duckdb::Value(*found->version)));
    }
    table.catalog_name = found->catalog;
    table.schema_name = catalog::NamespaceText(found->name.levels);
    table.table_name = found->name.name;
    if (!found->metadata_table.empty()) {
      table.table_name += kMetadataSeparator + found->metadata_table;
      if (table.alias.empty()) table.alias = found->metadata_table;
    }
  }

  static NameParts PartsOf(const duckdb::BaseTableRef& table) {
    if (auto folded = UnfoldName(table.table_name)) return *folded;
    NameParts parts;
    for (const std::string& part : {table.catalog_name, table.schema_name, table.table_name}) {
      if (!part.empty()) parts.push_back(part);
    }
    return parts;
  }

  /// A schema or database that DuckDB itself has.
  bool IsEngineName(const std::string& name) {
    for (const char* own : {"temp", "main", "memory", "system", "information_schema", "pg_catalog"}) {
      if (duckdb::StringUtil::CIEquals(name, own)) return true;
    }
    if (resolver_.catalogs().count(name) > 0) return false;
    return duckdb::DatabaseManager::Get(context_).GetDatabase(context_, name) != nullptr;
  }

  NameResolver& resolver_;
  duckdb::ClientContext& context_;
};

// --- results ----------------------------------------------------------------------------------------------------------

/// The rows of the running query. The engine closes them when the next one begins.
struct OpenRows {
  unique_ptr<duckdb::QueryResult> rows;
  bool is_ended_early = false;

  void Close() {
    if (!rows) return;
    is_ended_early = true;
    rows.reset();
  }
};

/// The type in which values of `type` leave the engine: Arrow has no variants, JSON says the same.
duckdb::LogicalType ResultTypeOf(const duckdb::LogicalType& type) {
  switch (type.id()) {
    case duckdb::LogicalTypeId::VARIANT: return duckdb::LogicalType::JSON();
    case duckdb::LogicalTypeId::LIST:
      return duckdb::LogicalType::LIST(ResultTypeOf(duckdb::ListType::GetChildType(type)));
    case duckdb::LogicalTypeId::MAP:
      return duckdb::LogicalType::MAP(ResultTypeOf(duckdb::MapType::KeyType(type)),
                                      ResultTypeOf(duckdb::MapType::ValueType(type)));
    case duckdb::LogicalTypeId::STRUCT: {
      duckdb::child_list_t<duckdb::LogicalType> members = duckdb::StructType::GetChildTypes(type);
      for (auto& [name, member] : members) member = ResultTypeOf(member);
      return duckdb::LogicalType::STRUCT(std::move(members));
    }
    default: return type;
  }
}

class EngineResult final : public QueryResult {
 public:
  using Explain = std::function<Error(const duckdb::ErrorData&)>;

  /// `explain` says what an error means that comes while rows are read; it is not asked once `open` is closed.
  static Result<std::unique_ptr<QueryResult>> Make(const std::shared_ptr<OpenRows>& open,
                                                   const ResultColumnTypes& column_types, Explain explain) {
    auto result = std::unique_ptr<EngineResult>(new EngineResult);
    auto& rows = open->rows;
    result->explain_ = std::move(explain);
    bool has_rows = rows->properties.return_type == duckdb::StatementReturnType::QUERY_RESULT;
    if (!has_rows) {
      auto chunk = rows->Fetch();
      if (rows->HasError()) return tl::unexpected<Error>(result->explain_(rows->GetErrorObject()));
      if (rows->properties.return_type == duckdb::StatementReturnType::CHANGED_ROWS && chunk && chunk->size() == 1) {
        result->message_ = chunk->GetValue(0, 0).ToString() + " rows";
      }
      rows.reset();
      return result;
    }
    for (size_t i = 0; i < rows->names.size(); ++i) {
      result->types_.push_back(ResultTypeOf(rows->types[i]));
      result->columns_.push_back({rows->names[i], SqlTypeName(result->types_[i])});
    }
    ArrowSchema schema;
    duckdb::ArrowConverter::ToArrowSchema(&schema, result->types_, rows->names, rows->client_properties);
    auto imported = arrow::ImportSchema(&schema);
    if (!imported.ok()) return tl::unexpected<Error>(ArrowError(imported.status()));
    result->schema_ = *imported;
    if (column_types.with_zones.size() == rows->names.size()) result->PutZones(column_types, *rows);
    result->open_ = open;
    return result;
  }

  const std::vector<ResultColumn>& columns() const override { return columns_; }
  std::shared_ptr<arrow::Schema> schema() const override { return schema_; }
  const std::string& message() const override { return message_; }

  Result<std::shared_ptr<arrow::RecordBatch>> Next() override {
    if (!open_) return std::shared_ptr<arrow::RecordBatch>();
    if (open_->is_ended_early) return Fail(ErrorCode::kInvalidArgument, "result was ended by a later statement");
    auto& rows = open_->rows;
    if (!rows) return std::shared_ptr<arrow::RecordBatch>();
    try {
      while (true) {
        RunUntilReady(*rows);
        auto chunk = rows->HasError() ? nullptr : rows->Fetch();
        if (rows->HasError()) return tl::unexpected<Error>(explain_(rows->GetErrorObject()));
        if (!chunk) {
          rows.reset();
          return std::shared_ptr<arrow::RecordBatch>();
        }
        if (chunk->size() == 0) continue;
        if (rows->types != types_) chunk = Converted(*chunk);
        ArrowArray array;
        duckdb::ArrowConverter::ToArrowArray(*chunk, &array, rows->client_properties, {});
        auto batch = arrow::ImportRecordBatch(&array, schema_);
        if (!batch.ok()) return tl::unexpected<Error>(ArrowError(batch.status()));
        return *batch;
      }
    } catch (const std::exception& exception) {
      return tl::unexpected<Error>(explain_(duckdb::ErrorData(exception)));
    }
  }

 private:
  EngineResult() = default;

  void PutZones(const ResultColumnTypes& column_types, const duckdb::QueryResult& rows) {
    arrow::FieldVector fields;
    for (int i = 0; i < schema_->num_fields(); ++i) {
      const auto& field = schema_->field(i);
      const auto& type = column_types.with_zones[static_cast<size_t>(i)];
      if (type && type->is_primitive()) columns_[static_cast<size_t>(i)].type = kNanosWithZone;
      fields.push_back(type ? field->WithType(WithZones(field->type(), *type, rows.client_properties.time_zone))
                            : field);
    }
    schema_ = arrow::schema(std::move(fields));
  }

  /// What Fetch() would do first. When a thread fails DuckDB interrupts the others, and Fetch() that sees this before the
  /// failure ends the query, the failure with it, and tells of a cancel. From here the query is still there to be asked.
  static void RunUntilReady(duckdb::QueryResult& rows) {
    if (rows.type != duckdb::QueryResultType::STREAM_RESULT || rows.HasError()) return;
    auto& stream = rows.Cast<duckdb::StreamQueryResult>();
    while (stream.IsOpen()) {
      const duckdb::StreamExecutionResult state = stream.ExecuteTask();
      if (duckdb::StreamQueryResult::IsChunkReady(state)) return;
      if (state == duckdb::StreamExecutionResult::BLOCKED) stream.WaitForTask();
    }
  }

  unique_ptr<duckdb::DataChunk> Converted(duckdb::DataChunk& chunk) const {
    auto converted = duckdb::make_uniq<duckdb::DataChunk>();
    converted->Initialize(duckdb::Allocator::DefaultAllocator(), types_);
    for (size_t i = 0; i < types_.size(); ++i) {
      if (chunk.data[i].GetType() == types_[i]) {
        converted->data[i].Reference(chunk.data[i]);
      } else {
        duckdb::VectorOperations::DefaultCast(chunk.data[i], converted->data[i], chunk.size());
      }
    }
    converted->SetCardinality(chunk.size());
    return converted;
  }

  std::vector<ResultColumn> columns_;
  duckdb::vector<duckdb::LogicalType> types_;
  std::shared_ptr<arrow::Schema> schema_;
  std::string message_;
  Explain explain_;
  std::shared_ptr<OpenRows> open_;
};

// --- the engine -------------------------------------------------------------------------------------------------------

/// Of the engine's memory the row groups that are open while a query's rows are written may take one part.
constexpr int64_t kWritingShare = 5;
/// And as much again what comes of them: pages that are compressed, buffers that grow by being copied, rows on their way.
constexpr int64_t kRoomPerWritingByte = 2;
/// DuckDB's threads each hold pages of all columns, parts of hash tables, a CSV buffer of 32 MB between a few of them.
constexpr int64_t kLeastMemoryPerThread = int64_t{48} << 20;

/// While it lives DuckDB need not keep the order of rows. No statements: each would make DuckDB forget a cancel.
class Unordered {
 public:
  explicit Unordered(duckdb::ClientContext& context) : config_(duckdb::DBConfig::GetConfig(context)) {
    duckdb::Value keeps_order;
    keeps_order_ = context.TryGetCurrentSetting(Setting::Name, keeps_order) && keeps_order.GetValue<bool>();
    if (keeps_order_) config_.SetOption(Setting::SettingIndex, duckdb::Value::BOOLEAN(false));
  }
  ~Unordered() {
    if (keeps_order_) config_.SetOption(Setting::SettingIndex, duckdb::Value::BOOLEAN(true));
  }
  Unordered(const Unordered&) = delete;

 private:
  using Setting = duckdb::PreserveInsertionOrderSetting;

  duckdb::DBConfig& config_;
  bool keeps_order_ = false;
};

class DuckEngine final : public Engine {
 public:
  DuckEngine(const EngineOptions& options, NameResolver& resolver)
      : resolver_(resolver),
        on_written_(options.on_written),
        budget_(options.budget),
        stop_(options.stop),
        writing_bytes_(options.memory_limit_bytes / kWritingShare),
        temp_directory_(options.temp_directory) {
    duckdb::DBConfig config;
    const int64_t most_threads = std::max<int64_t>(1, options.memory_limit_bytes / kLeastMemoryPerThread);
    config.SetOptionByName("threads", duckdb::Value::BIGINT(std::min<int64_t>(options.threads, most_threads)));
    config.SetOptionByName("memory_limit", duckdb::Value(std::to_string(options.memory_limit_bytes) + "B"));
    config.SetOptionByName("temp_directory", duckdb::Value(options.temp_directory));
    config.SetOptionByName("autoinstall_known_extensions", duckdb::Value::BOOLEAN(false));
    config.SetOptionByName("autoload_known_extensions", duckdb::Value::BOOLEAN(false));
    duckdb::OptimizerExtension::Register(config, MetadataAnswers());
    duckdb::OptimizerExtension::Register(config, NotingResultColumns(column_types_));
    duckdb::OptimizerExtension::Register(config, RowGroupCounting());  // behind it: of the scans that are left
    duckdb::StorageExtension::Register(config, "frazil", MakeStorageExtension(resolver));
    database_ = std::make_unique<duckdb::DuckDB>(nullptr, &config);
    std::map<std::string, std::shared_ptr<io::FileIO>> stores;
    for (const auto& [name, catalog] : resolver.catalogs()) stores[name] = catalog->file_io();
    database_->GetFileSystem().RegisterSubSystem(MakeEngineFileSystem(std::move(stores)));
    connection_ = std::make_unique<duckdb::Connection>(*database_);
    given_bytes_ = asked_bytes_ = static_cast<int64_t>(buffers().GetMaxMemory());
    for (const auto& [name, catalog] : resolver.catalogs()) {
      Must("ATTACH '' AS " + QuoteName(name) + " (TYPE frazil)");
    }
    Must("SET TimeZone = 'UTC'");
    Must(fmt::format("SET default_null_order = '{}'", kSparkNullOrder));
    Must(SparkMacros());
    if (on_written_) {
      // Counts; what is shown is up to who watches.
      auto& settings = duckdb::ClientConfig::GetConfig(*connection_->context);
      settings.enable_progress_bar = true;
      settings.print_progress_bar = false;
      settings.wait_time = 0;
    }
  }

  ~DuckEngine() override { CloseOpenRows(); }

  Result<std::unique_ptr<QueryResult>> Run(const std::string& query) override { return RunWithout(0, query); }

  Result<std::unique_ptr<QueryResult>> RunToWrite(const std::string& query) override {
    return RunWithout(kRoomPerWritingByte * writing_bytes_, query, NanoZones::kLeftOut);
  }

  Result<std::unique_ptr<QueryResult>> ShowSetting(const std::string& key) override {
    // Queries have less memory than was asked for while caches have some of it.
    const int64_t room = budget_ == nullptr ? 0 : -budget_->used_bytes();
    return RunWithout(room, fmt::format("SELECT {0} AS key, current_setting({0})::VARCHAR AS value", QuotedText(key)));
  }

  int64_t writing_bytes() const override { return writing_bytes_; }
  const std::string& temp_directory() const override { return temp_directory_; }
  const std::atomic<bool>* stop() const override { return stop_; }

  Status SetDefault(const std::string& catalog, const catalog::Namespace& levels) override {
    try {
      WithTransaction([&] {
        duckdb::ClientData::Get(*connection_->context)
            .catalog_search_path->Set(duckdb::CatalogSearchEntry(catalog, catalog::NamespaceText(levels)),
                                      duckdb::CatalogSetPathType::SET_DIRECTLY);
      });
      return {};
    } catch (const std::exception& exception) {
      return tl::unexpected<Error>(FromDuckError(duckdb::ErrorData(exception), "", ""));
    }
  }

  Result<expr::ExpressionPtr> TranslatePredicate(const spec::Schema& schema, const std::string& predicate,
                                                 const std::string& table) override {
    CloseOpenRows();
    try {
      return TranslatePredicateText(*connection_, schema, predicate, table);
    } catch (const std::exception& exception) {
      return tl::unexpected<Error>(FromDuckError(duckdb::ErrorData(exception), "", ""));
    }
  }

  void ReportWritten(int64_t num_rows) override {
    if (!on_written_) return;
    const double percent = connection_->context->GetQueryProgress().GetPercentage();
    on_written_(num_rows, percent < 0 ? std::nullopt : std::optional(percent / 100));
  }

  void Interrupt() override {
    // As one: else the next query could be interrupted without having been asked to.
    const std::lock_guard lock(interrupt_mutex_);
    is_interrupt_asked_ = true;
    connection_->Interrupt();
  }

 private:
  /// Whether timestamptz_ns columns of the result have a zone, for people, or are as DuckDB has them, for data files.
  enum class NanoZones { kShown, kLeftOut };

  /// Runs a query that leaves `room` bytes of the engine's memory to others.
  Result<std::unique_ptr<QueryResult>> RunWithout(int64_t room, const std::string& query,
                                                  NanoZones zones = NanoZones::kShown) {
    CloseOpenRows();
    {
      const std::lock_guard lock(interrupt_mutex_);
      is_interrupt_asked_ = false;
    }
    FRAZIL_TRY(CheckStop(stop_, "query"));  // came between two of its queries
    try {
      column_types_->with_zones.clear();
      LimitMemory(room);
      for (const auto& [name, catalog] : resolver_.catalogs()) {
        // What a failed statement left behind must not be seen by this one.
        WithTransaction([&, catalog_name = name] { ForgetBoundTables(*connection_->context, catalog_name); });
      }
      auto statements = connection_->ExtractStatements(query);
      if (statements.empty()) return Fail(ErrorCode::kInvalidArgument, "empty statement");
      for (size_t i = 0; i + 1 < statements.size(); ++i) {
        auto done = Send(std::move(statements[i]));
        if (done->HasError()) return Failed(done->GetErrorObject(), query);
      }
      auto rows = statements.back()->type == duckdb::StatementType::COPY_STATEMENT
                      ? SendUnordered(std::move(statements.back()))
                      : SendAsSpark(std::move(statements.back()));
      if (rows->HasError()) return Failed(rows->GetErrorObject(), query);
      // DuckDB forgets an interrupt that comes before it begins to plan.
      const bool has_rows = rows->properties.return_type == duckdb::StatementReturnType::QUERY_RESULT;
      if (has_rows && is_interrupt_asked_) return Fail(ErrorCode::kShuttingDown, "query cancelled");
      auto open = std::make_shared<OpenRows>();
      open->rows = std::move(rows);
      open_ = open;
      if (zones == NanoZones::kLeftOut) column_types_->with_zones.clear();
      return EngineResult::Make(open, *column_types_,
                                [this, query, tables = resolver_.PinnedText()](const duckdb::ErrorData& error) {
                                  return ErrorOf(error, query, tables);
                                });
    } catch (const std::exception& exception) {
      return Failed(duckdb::ErrorData(exception), query);
    }
  }

  duckdb::BufferManager& buffers() { return duckdb::BufferManager::GetBufferManager(*database_->instance); }

  /// Half of what was asked for is always the query's.
  void LimitMemory(int64_t room) {
    const auto limit = static_cast<int64_t>(buffers().GetMaxMemory());
    if (limit != given_bytes_) asked_bytes_ = given_bytes_ = limit;  // SET memory_limit
    if (budget_ != nullptr) room += budget_->used_bytes();
    const int64_t wanted = std::max(asked_bytes_ / 2, asked_bytes_ - room);
    if (wanted == given_bytes_) return;
    try {
      buffers().SetMemoryLimit(static_cast<duckdb::idx_t>(wanted));
    } catch (const duckdb::OutOfMemoryException&) {
      return;  // temporary tables hold more and cannot be spilled: it stays as it is
    }
    given_bytes_ = wanted;
  }

  /// A result that is still read refers to tables that the next query binds anew.
  void CloseOpenRows() {
    if (auto open = open_.lock()) open->Close();
  }

  template <typename Body>
  void WithTransaction(const Body& body) {
    connection_->context->RunFunctionInTransaction(body, false);
  }

  unique_ptr<duckdb::QueryResult> Send(unique_ptr<duckdb::SQLStatement> statement) {
    WithTransaction([&] { NameRewriter(resolver_, *connection_->context).Rewrite(*statement); });
    return connection_->SendQuery(std::move(statement));
  }

  /// As Send(), for statements whose rows have no order but that of an ORDER BY: to write files in the order of the rows
  /// DuckDB holds back what it has written out of turn, far beyond its memory limit.
  unique_ptr<duckdb::QueryResult> SendUnordered(unique_ptr<duckdb::SQLStatement> statement) {
    const Unordered unordered(*connection_->context);
    return Send(std::move(statement));
  }

  /// As Send(), but text may be compared with numbers.
  unique_ptr<duckdb::QueryResult> SendAsSpark(unique_ptr<duckdb::SQLStatement> statement) {
    constexpr int kMaxComparisons = 32;
    const bool is_query = statement->type == duckdb::StatementType::SELECT_STATEMENT ||
                          statement->type == duckdb::StatementType::EXPLAIN_STATEMENT;
    bool may_send_again = IsRepeatable(statement->query);
    for (int i = 0; is_query && i < kMaxComparisons; ++i) {
      auto rows = Send(statement->Copy());
      if (may_send_again && rows->HasError() && IsStray(rows->GetErrorObject())) {
        may_send_again = false;  // no row was given yet: the second time tells the rows or the error
        continue;
      }
      if (!rows->HasError() || !CastTextWhereCompared(*statement, rows->GetErrorObject())) return rows;
    }
    return Send(std::move(statement));
  }

  Result<std::unique_ptr<QueryResult>> Failed(const duckdb::ErrorData& error, const std::string& query) const {
    return tl::unexpected<Error>(ErrorOf(error, query, resolver_.PinnedText()));
  }

  /// An interrupt that nobody asked for.
  bool IsStray(const duckdb::ErrorData& error) const {
    return error.Type() == duckdb::ExceptionType::INTERRUPT && !is_interrupt_asked_;
  }

  /// As FromDuckError(). An interrupt is also how DuckDB stops the threads of a query of which one has failed: then that
  /// error is the one to tell.
  Error ErrorOf(const duckdb::ErrorData& error, const std::string& query, const std::string& tables) const {
    if (!IsStray(error)) return FromDuckError(error, query, tables);
    duckdb::ClientContext& context = *connection_->context;
    if (context.ExecutionIsFinished() && context.GetExecutor().HasError()) {  // false when no query is active
      const duckdb::ErrorData cause = context.GetExecutor().GetError();
      if (cause.Type() != duckdb::ExceptionType::INTERRUPT) return FromDuckError(cause, query, tables);
    }
    return Error(ErrorCode::kInternal, "query was stopped by an error in one of its threads that DuckDB does not tell")
        .WithHint("run the statement again, or SET threads = 1 before it");
  }

  void Must(const std::string& query) {
    auto result = connection_->Query(query);
    if (result->HasError()) result->ThrowError();
  }

  NameResolver& resolver_;
  const std::function<void(int64_t, std::optional<double>)> on_written_;
  MemoryBudget* const budget_;
  const std::atomic<bool>* const stop_;
  const int64_t writing_bytes_;
  const std::string temp_directory_;
  int64_t asked_bytes_ = 0;  ///< the limit that --memory-limit or the last SET memory_limit gave DuckDB
  int64_t given_bytes_ = 0;  ///< and what it has of that now
  const duckdb::shared_ptr<ResultColumnTypes> column_types_ = duckdb::make_shared_ptr<ResultColumnTypes>();
  std::unique_ptr<duckdb::DuckDB> database_;
  std::unique_ptr<duckdb::Connection> connection_;
  std::weak_ptr<OpenRows> open_;
  std::mutex interrupt_mutex_;
  std::atomic<bool> is_interrupt_asked_ = false;  ///< since the running query began
};

}  // namespace

Result<std::unique_ptr<Engine>> Engine::Make(const EngineOptions& options, NameResolver& resolver) {
  if (DuckDbVersion() != kCompiledAgainst) {
    return Fail(ErrorCode::kInternal, "loaded libduckdb has another version than the one compiled against ({}): {}",
                kCompiledAgainst, DuckDbVersion());
  }
  for (const auto& [name, catalog] : resolver.catalogs()) {
    for (const char* taken : {"memory", "temp", "system"}) {
      if (name == taken)
        return Fail(ErrorCode::kInvalidArgument, "name cannot be a catalog's, DuckDB has it: {}", name);
    }
  }
  try {
    return std::unique_ptr<Engine>(std::make_unique<DuckEngine>(options, resolver));
  } catch (const std::exception& exception) {
    return tl::unexpected<Error>(FromDuckError(duckdb::ErrorData(exception), "", ""));
  }
}

std::string DuckDbVersion() { return duckdb_library_version(); }

std::string SqlLiteral(const spec::Type& type, const spec::Value& value) {
  return ToDuckValue(type, value).ToSQLString();
}

Result<std::string> SqlCastType(const spec::Type& type) {
  FRAZIL_ASSIGN(auto duck_type, DuckTypeOf(type));
  return duck_type.ToString();
}

}  // namespace frazil::sql
