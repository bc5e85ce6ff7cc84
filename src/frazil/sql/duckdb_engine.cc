#include <atomic>
#include <mutex>

#include "duckdb.h"
#include "duckdb/catalog/catalog_search_path.hpp"
#include "duckdb/common/file_system.hpp"
#include "duckdb/execution/executor.hpp"
#include "duckdb/main/client_context.hpp"
#include "duckdb/main/client_data.hpp"
#include "duckdb/main/config.hpp"
#include "duckdb/main/connection.hpp"
#include "duckdb/main/database.hpp"
#include "duckdb/main/query_result.hpp"
#include "duckdb/storage/buffer_manager.hpp"
#include "frazil/base/stop_flag.h"
#include "frazil/sql/duckdb_catalog.h"
#include "frazil/sql/duckdb_error.h"
#include "frazil/sql/duckdb_file_system.h"
#include "frazil/sql/duckdb_metadata_answer.h"
#include "frazil/sql/duckdb_name_rewriter.h"
#include "frazil/sql/duckdb_predicate.h"
#include "frazil/sql/duckdb_query_result.h"
#include "frazil/sql/duckdb_result_columns.h"
#include "frazil/sql/duckdb_row_groups.h"
#include "frazil/sql/duckdb_settings.h"
#include "frazil/sql/duckdb_text_comparison.h"
#include "frazil/sql/duckdb_value.h"
#include "frazil/sql/engine.h"
#include "frazil/sql/query_text.h"
#include "frazil/sql/row_change.h"
#include "frazil/sql/session.h"
#include "frazil/sql/spark_macros.h"
#include "frazil/sql/token.h"

namespace frazil::sql {

namespace {

using duckdb::unique_ptr;

/// The interior changes with every release: headers and library must be of one version.
constexpr char kCompiledAgainst[] = "v1.5.5";
/// Of the engine's memory the row groups that are open while a query's rows are written may take one part.
constexpr int64_t kWritingShare = 5;
/// And as much again what comes of them: pages that are compressed, buffers that grow by being copied, rows on their way.
constexpr int64_t kRoomPerWritingByte = 2;

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
    Configure(options, config);
    duckdb::OptimizerExtension::Register(config, MetadataAnswers());
    duckdb::OptimizerExtension::Register(config, NotingResultColumns(column_types_));
    duckdb::OptimizerExtension::Register(config, RowGroupCounting());  // behind it: of the scans that are left
    duckdb::StorageExtension::Register(config, "frazil", MakeStorageExtension(resolver));
    database_ = std::make_unique<duckdb::DuckDB>(nullptr, &config);
    std::map<std::string, std::shared_ptr<io::FileIO>> stores;
    for (const auto& [name, catalog] : resolver.catalogs()) stores[name] = catalog->file_io();
    database_->GetFileSystem().RegisterSubSystem(MakeEngineFileSystem(std::move(stores)));
    connection_ = std::make_unique<duckdb::Connection>(*database_);
    memory_.emplace(duckdb::BufferManager::GetBufferManager(*database_->instance), budget_);
    for (const auto& [name, catalog] : resolver.catalogs()) {
      Must("ATTACH '' AS " + QuoteName(name) + " (TYPE frazil)");
    }
    for (const std::string& setting : ConnectionSettings()) Must(setting);
    Must(SparkMacros());
    if (on_written_) CountProgress(*connection_->context);
  }

  ~DuckEngine() override { CloseOpenRows(); }

  Result<std::unique_ptr<QueryResult>> Run(const std::string& query) override { return RunWithout(0, query); }

  Result<std::unique_ptr<QueryResult>> RunToWrite(const std::string& query) override {
    return RunWithout(kRoomPerWritingByte * writing_bytes_, query, NanoZones::kLeftOut);
  }

  Result<std::unique_ptr<QueryResult>> ShowSetting(const std::string& key) override {
    // Queries have less memory than was asked for while caches have some of it.
    const int64_t room = budget_ == nullptr ? 0 : -budget_->used_bytes();
    return RunWithout(room, ShowSettingQuery(key));
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
      memory_->Limit(room);
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
      return MakeQueryResult(open, *column_types_,
                             [this, query, tables = resolver_.PinnedText()](const duckdb::ErrorData& error) {
                               return ErrorOf(error, query, tables);
                             });
    } catch (const std::exception& exception) {
      return Failed(duckdb::ErrorData(exception), query);
    }
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
    WithTransaction([&] { RewriteNames(*statement, resolver_, *connection_->context); });
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
  const duckdb::shared_ptr<ResultColumnTypes> column_types_ = duckdb::make_shared_ptr<ResultColumnTypes>();
  std::unique_ptr<duckdb::DuckDB> database_;
  std::unique_ptr<duckdb::Connection> connection_;
  std::optional<QueryMemory> memory_;
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
