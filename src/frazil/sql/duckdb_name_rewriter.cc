#include "frazil/sql/duckdb_name_rewriter.h"

#include "duckdb/main/database_manager.hpp"
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
#include "frazil/sql/duckdb_catalog.h"
#include "frazil/sql/duckdb_error.h"
#include "frazil/sql/duckdb_spark_functions.h"
#include "frazil/sql/query_text.h"

namespace frazil::sql {

namespace {

using duckdb::unique_ptr;

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

}  // namespace

void RewriteNames(duckdb::SQLStatement& statement, NameResolver& resolver, duckdb::ClientContext& context) {
  NameRewriter(resolver, context).Rewrite(statement);
}

}  // namespace frazil::sql
