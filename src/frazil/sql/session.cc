#include "frazil/sql/session.h"

#include <arrow/array.h>
#include <arrow/record_batch.h>

#include "frazil/spec/ascii.h"
#include "frazil/spec/date_time.h"
#include "frazil/sql/call.h"
#include "frazil/sql/definition.h"
#include "frazil/sql/engine.h"
#include "frazil/sql/explain_write.h"
#include "frazil/sql/made_up_result.h"
#include "frazil/sql/name_resolver.h"
#include "frazil/sql/query_text.h"
#include "frazil/sql/row_change.h"
#include "frazil/sql/session_settings.h"
#include "frazil/sql/statement.h"
#include "frazil/sql/token.h"
#include "frazil/sql/type_text.h"

namespace frazil::sql {

namespace {

constexpr char kOverwriteModeSetting[] = "spark.sql.sources.partitionOverwriteMode";
constexpr char kTimeZoneSetting[] = "spark.sql.session.timeZone";

/// This part of the session's memory keeps footers and dictionaries of files that keys were looked up in.
constexpr int64_t kKeyIndexCacheShare = 16;
/// And these the manifests and vectors of each catalog for the statements to come.
constexpr int64_t kManifestShare = 8;
constexpr int64_t kVectorShare = 16;
/// Keys of the equality deletes of a table that is read; what does not fit goes to disk.
constexpr int64_t kEqualityKeyShare = 4;

}  // namespace

class Session::Impl {
 public:
  explicit Impl(SessionOptions options)
      : resolver_(std::move(options.catalogs), std::move(options.default_catalog),
                  std::move(options.default_namespace)) {}

  Status Start(const SessionOptions& options) {
    FRAZIL_TRY(resolver_.Catalog(resolver_.current_catalog()));
    if (options.key_index_directory != nullptr) {
      resolver_.SetKeyIndexes(std::make_shared<KeyIndexes>(
          options.key_index_directory, options.memory_limit_bytes / kKeyIndexCacheShare, options.budget));
    }
    resolver_.KeepFiles(options.memory_limit_bytes / kManifestShare, options.memory_limit_bytes / kVectorShare,
                        options.budget);
    resolver_.LimitEqualityKeys(options.memory_limit_bytes / kEqualityKeyShare, options.temp_directory);
    procedures_ = options.procedures;
    calls_.procedures = &procedures_;
    calls_.context.executor = options.executor;
    calls_.context.budget = options.budget;
    calls_.context.state_directory = options.state_directory;
    calls_.context.temp_directory = options.temp_directory;
    calls_.context.stop = &stop_;
    calls_.context.on_notice = options.on_notice;
    calls_.context.on_progress = options.on_progress;
    EngineOptions engine{.threads = options.threads,
                         .memory_limit_bytes = options.memory_limit_bytes,
                         .budget = options.budget,
                         .temp_directory = options.temp_directory,
                         .stop = &stop_,
                         .on_written = {}};
    if (options.on_writing) {
      on_writing_ = options.on_writing;
      engine.on_written = [this](int64_t num_rows, std::optional<double> query_part) {
        written_ = WritingProgress{num_rows, query_part};
        on_writing_(*written_);
      };
    }
    FRAZIL_ASSIGN(engine_, Engine::Make(engine, resolver_));
    return engine_->SetDefault(resolver_.current_catalog(), resolver_.current_namespace());
  }

  AnyResult Execute(const std::string& text) {
    resolver_.Forget();
    stop_ = false;
    auto pieces = SplitScript(text);
    if (pieces.empty()) return MessageResult("");
    if (pieces.size() > 1) return Fail(ErrorCode::kInvalidArgument, "one statement at a time: {} given", pieces.size());
    FRAZIL_TRY(CheckClosed(pieces[0].text));
    FRAZIL_ASSIGN(auto statement, ParseStatement(pieces[0].text));
    if (statement) {
      auto result = std::visit([this](const auto& ours) { return RunOurs(ours); }, *statement);
      EndProgress();
      return result;
    }
    FRAZIL_ASSIGN(std::string query, RewriteQuery(pieces[0].text));
    return engine_->Run(query);
  }

  Result<expr::ExpressionPtr> ParsePredicate(const spec::Schema& schema, const std::string& predicate) {
    return engine_->TranslatePredicate(schema, predicate, "t");
  }

  void Cancel() {
    stop_ = true;
    engine_->Interrupt();
  }

 private:
  void EndProgress() {
    if (!written_) return;
    written_->is_over = true;
    on_writing_(*written_);
    written_.reset();
  }

  bool ReplacesPartitions() const {
    return spec::EqualsAnyCase(settings_.Find(kOverwriteModeSetting).value_or("static"), "dynamic");
  }
  AnyResult RunOurs(const statement::Insert& insert) { return Run(insert, resolver_, *engine_, ReplacesPartitions()); }
  AnyResult RunOurs(const statement::ExplainWrite& explain) {
    return Run(explain, resolver_, *engine_, ReplacesPartitions());
  }
  AnyResult RunOurs(const statement::Delete& remove) { return Run(remove, resolver_, *engine_); }
  AnyResult RunOurs(const statement::Update& update) { return Run(update, resolver_, *engine_); }
  AnyResult RunOurs(const statement::Merge& merge) { return Run(merge, resolver_, *engine_); }
  AnyResult RunOurs(statement::CreateTableAs create) {
    for (ColumnDefinition& column : create.table.columns) FRAZIL_TRY(PlaceInZone(column.type, column.default_value));
    return Run(create, resolver_, *engine_);
  }
  AnyResult RunOurs(const statement::Call& call) { return Run(call, calls_, resolver_, *engine_); }
  AnyResult RunOurs(const statement::Vacuum& vacuum) { return Run(vacuum, calls_, resolver_, *engine_); }
  AnyResult RunOurs(const statement::NotBuilt& missing) {
    return tl::unexpected<Error>(
        Error(ErrorCode::kNotSupported, "statement is not supported yet: " + missing.what).WithHint(missing.hint));
  }
  AnyResult RunOurs(const statement::DescribeHistory& describe) {
    FRAZIL_ASSIGN(TableReference found, resolver_.Find(describe.name));
    NameParts parts = {found.catalog};
    parts.insert(parts.end(), found.name.levels.begin(), found.name.levels.end());
    parts.push_back(found.name.name);
    parts.push_back("history");
    std::string name;
    for (const std::string& part : parts) name += (name.empty() ? "`" : ".`") + part + "`";
    FRAZIL_ASSIGN(std::string query, RewriteQuery("SELECT * FROM " + name));
    return engine_->Run(query);
  }
  AnyResult RunOurs(const statement::Use& use) {
    FRAZIL_ASSIGN(NamespaceReference place, resolver_.PlaceNamespace(use.name));
    FRAZIL_ASSIGN(bool exists, resolver_.NamespaceExists(place.catalog, place.levels));
    if (!exists && use.name.size() == 1 && resolver_.catalogs().count(use.name[0]) > 0) {
      place = {use.name[0], {"default"}};
    } else if (!exists && place.levels != catalog::Namespace{"default"}) {
      // Says it with the nearest name.
      return Run(statement::DescribeNamespace{use.name}, resolver_);
    }
    std::string text = place.catalog + "." + catalog::NamespaceText(place.levels);
    FRAZIL_TRY(engine_->SetDefault(place.catalog, place.levels));
    resolver_.Use(std::move(place));
    return MessageResult("using " + text);
  }
  AnyResult RunOurs(const statement::SetSetting& set) {
    if (set.key == kOverwriteModeSetting && !spec::EqualsAnyCase(set.value, "static") &&
        !spec::EqualsAnyCase(set.value, "dynamic")) {
      return Fail(ErrorCode::kInvalidArgument, "{} is static or dynamic, not: {}", set.key, set.value);
    }
    if (set.key == kTimeZoneSetting) FRAZIL_TRY(engine_->Run("SET TimeZone = " + QuotedText(set.value)));
    settings_.Set(set.key, set.value);
    return MessageResult("");
  }
  AnyResult RunOurs(const statement::ResetSettings& reset) {
    if (reset.key.empty() || reset.key == kTimeZoneSetting) FRAZIL_TRY(engine_->Run("SET TimeZone = 'UTC'"));
    if (reset.key.empty()) {
      settings_.ResetAll();
    } else {
      settings_.Reset(reset.key);
    }
    return MessageResult("");
  }
  AnyResult RunOurs(const statement::ShowSettings& show) {
    const bool is_dotted = show.key.find('.') != std::string::npos;
    if (show.may_be_table) {
      FRAZIL_ASSIGN(const bool is_table, IsTable(show.key));
      const bool is_unset = is_dotted && !settings_.Find(show.key) && !DefaultOf(show.key);
      if (is_table || is_unset) return ShowColumns(show.key);
    }
    if (show.key == kTimeZoneSetting) {
      return engine_->Run(fmt::format("SELECT {} AS key, current_setting('TimeZone') AS value", QuotedText(show.key)));
    }
    if (!show.key.empty() && !is_dotted) {
      auto shown = engine_->ShowSetting(show.key);
      if (!shown && show.may_be_table) return ShowColumns(show.key);
      return shown;
    }
    MadeUpTable table;
    for (const char* name : {"key", "value"}) {
      table.columns.push_back({spec::FieldId(0), name, false, spec::Type::Primitive(spec::TypeId::kString)});
    }
    if (!show.key.empty()) {
      table.rows.push_back({TextDatum(show.key),
                            TextDatum(settings_.Find(show.key).value_or(DefaultOf(show.key).value_or("<undefined>")))});
    } else {
      for (const auto& [key, value] : settings_.all()) table.rows.push_back({TextDatum(key), TextDatum(value)});
    }
    return TableResult(table);
  }
  /// Of a setting that is followed; none: of others.
  static std::optional<std::string> DefaultOf(const std::string& key) {
    if (key == kTimeZoneSetting) return "UTC";
    return key == kOverwriteModeSetting ? std::optional<std::string>("static") : std::nullopt;
  }
  AnyResult ShowColumns(const std::string& table) {
    FRAZIL_ASSIGN(const std::string query, RewriteQuery("SHOW " + table));
    return engine_->Run(query);
  }
  Result<bool> IsTable(const std::string& dotted) {
    NameParts parts(1);
    for (const char letter : dotted) {
      if (letter == '.') {
        parts.emplace_back();
      } else {
        parts.back() += letter;
      }
    }
    FRAZIL_ASSIGN(const auto found, resolver_.TryFind(parts));
    return found.has_value();
  }
  AnyResult RunOurs(statement::CreateTable create) {
    for (ColumnDefinition& column : create.columns) FRAZIL_TRY(PlaceInZone(column.type, column.default_value));
    return Run(create, resolver_);
  }
  AnyResult RunOurs(statement::AddColumns add) {
    for (auto& column : add.columns) {
      FRAZIL_TRY(PlaceInZone(column.definition.type, column.definition.default_value));
    }
    return Run(add, resolver_);
  }
  AnyResult RunOurs(statement::ReplaceColumns replace) {
    for (ColumnDefinition& column : replace.columns) FRAZIL_TRY(PlaceInZone(column.type, column.default_value));
    return Run(replace, resolver_);
  }
  AnyResult RunOurs(statement::AlterColumns alter) {
    for (statement::AlteredColumn& column : alter.columns) {
      if (!column.default_value) continue;
      FRAZIL_ASSIGN(const auto found, resolver_.TryFind(alter.table));
      const spec::Field* field =
          found ? found->table->metadata()->schema()->FindFieldAnyCase(NameText(column.path)) : nullptr;
      if (field != nullptr) FRAZIL_TRY(PlaceInZone(column.type.value_or(field->type), column.default_value));
    }
    return Run(alter, resolver_);
  }
  template <typename Definition>
  AnyResult RunOurs(const Definition& definition) {
    return Run(definition, resolver_);
  }

  /// A default that is a moment without a zone means the session's zone, as literals of queries do.
  Status PlaceInZone(const spec::Type& type, std::optional<Literal>& value) {
    const bool has_nanos = type.id() == spec::TypeId::kTimestampTzNs;
    if ((type.id() != spec::TypeId::kTimestampTz && !has_nanos) || !value || !value->text) return {};
    const auto precision = has_nanos ? spec::Precision::kNanos : spec::Precision::kMicros;
    const auto local =
        spec::ParseTimestamp(*value->text, precision, spec::SeparatorRule::kAny, spec::OffsetRule::kNone);
    if (!local) return {};
    const int64_t per_micro = has_nanos ? 1000 : 1;
    const int64_t local_micros = spec::FloorDiv(*local, per_micro);
    FRAZIL_ASSIGN(auto rows,
                  engine_->Run(fmt::format("SELECT epoch_us(CAST(make_timestamp({}) AS TIMESTAMPTZ))", local_micros)));
    FRAZIL_ASSIGN(const auto batch, rows->Next());
    if (!batch || batch->num_rows() != 1 || batch->column(0)->type_id() != arrow::Type::INT64) return {};
    const int64_t offset = local_micros - static_cast<const arrow::Int64Array&>(*batch->column(0)).Value(0);
    int64_t moment = 0;
    if (__builtin_sub_overflow(*local, offset * per_micro, &moment)) return {};  // in its zone it is out of range
    value->text = spec::FormatTimestamp(moment, precision, ' ') + "+00:00";
    return {};
  }

  std::atomic<bool> stop_ = false;  ///< the running statement is to end
  NameResolver resolver_;
  std::unique_ptr<Engine> engine_;
  SessionSettings settings_;
  table::ProcedureSet procedures_;
  CallEnvironment calls_;
  std::function<void(const WritingProgress&)> on_writing_;
  std::optional<WritingProgress> written_;  ///< by the running statement
};

Session::Session(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Session::~Session() = default;

Result<std::unique_ptr<Session>> Session::Make(SessionOptions options) {
  SessionOptions copy = options;
  auto impl = std::make_unique<Impl>(std::move(options));
  FRAZIL_TRY(impl->Start(copy));
  return std::unique_ptr<Session>(new Session(std::move(impl)));
}

Result<std::unique_ptr<QueryResult>> Session::Execute(const std::string& statement) {
  return impl_->Execute(statement);
}
void Session::Cancel() { impl_->Cancel(); }
Result<expr::ExpressionPtr> Session::ParsePredicate(const spec::Schema& schema, const std::string& predicate) {
  return impl_->ParsePredicate(schema, predicate);
}

}  // namespace frazil::sql
