#include "frazil/sql/insert_query.h"

#include <algorithm>
#include <optional>

#include "frazil/sql/column_values.h"
#include "frazil/sql/query_text.h"
#include "frazil/sql/store_assignment.h"
#include "frazil/sql/token.h"

namespace frazil::sql {
namespace {

/// Where a column's value comes from.
struct Origin {
  std::optional<size_t> source;           ///< column of the source
  std::optional<std::string> expression;  ///< of PARTITION
};

class Composer {
 public:
  Composer(const statement::Insert& insert, const WriteTarget& target, Engine& engine)
      : insert_(insert),
        target_(target),
        engine_(engine),
        schema_(target.metadata().schema()),
        origins_(schema_->fields().size()) {}

  Result<InsertQuery> Make() {
    FRAZIL_TRY(PlacePartition());
    if (!insert_.by_name) FRAZIL_TRY(PlaceColumns());
    FRAZIL_ASSIGN(source_, WithDefaults());
    FRAZIL_ASSIGN(source_columns_, ColumnsOfQuery(source_, engine_));
    if (insert_.by_name) {
      FRAZIL_TRY(PlaceByName());
    } else if (source_columns_.size() != in_order_.size()) {
      return Fail(ErrorCode::kInvalidArgument, "INSERT INTO {} needs {} columns, the source has {}", target_.ToString(),
                  in_order_.size(), source_columns_.size());
    }
    InsertQuery query;
    std::string names;
    for (size_t i = 0; i < source_columns_.size(); ++i) names += fmt::format("{}c{}", i == 0 ? "" : ", ", i);
    query.from = fmt::format("({}\n) AS frazil_source({})", source_, names);
    std::string checks;
    for (size_t i = 0; i < origins_.size(); ++i) {
      const spec::Field& column = schema_->fields()[i];
      if (column.type.id() == spec::TypeId::kUnknown) {  // never stored
        if (origins_[i].source) {
          const std::string text =
              fmt::format("a void column holds nulls only: {} of {}", column.name, target_.ToString());
          checks +=
              fmt::format(" WHEN frazil_source.c{} IS NOT NULL THEN error({})", *origins_[i].source, QuoteText(text));
        }
        continue;
      }
      FRAZIL_ASSIGN(query.values.emplace_back(), ValueOf(column, origins_[i]));
      if (origins_[i].expression) {
        query.partition_condition +=
            fmt::format("{}{}{} IS NOT DISTINCT FROM {}", query.partition_condition.empty() ? "" : " AND ",
                        target_.Qualifier(""), QuoteName(column.name), query.values.back());
      }
    }
    if (!checks.empty() && !query.values.empty()) {
      query.values[0] = fmt::format("CASE{} ELSE {} END", checks, query.values[0]);
    }
    return query;
  }

 private:
  /// Values of PARTITION (a = 'x') are constants of identity partitions, as in Spark.
  Status PlacePartition() {
    const spec::PartitionSpec& spec = target_.metadata().default_spec();
    for (const statement::PartitionValue& item : insert_.partition) {
      FRAZIL_ASSIGN(const size_t at, FindColumn(*schema_, item.column, target_.ToString()));
      const spec::FieldId id = schema_->fields()[at].id;
      const bool is_partition =
          std::any_of(spec.fields().begin(), spec.fields().end(), [&](const spec::PartitionField& field) {
            return field.source_id == id && field.transform.kind() == spec::Transform::Kind::kIdentity;
          });
      if (!is_partition) {
        return Fail(ErrorCode::kInvalidArgument, "PARTITION takes columns that {} is partitioned by: {}",
                    target_.ToString(), item.column);
      }
      if (origins_[at].expression) {
        return Fail(ErrorCode::kInvalidArgument, "column is named twice in PARTITION: {}", item.column);
      }
      if (item.value) origins_[at].expression = item.value;
    }
    return {};
  }

  Status PlaceColumns() {
    if (insert_.columns.empty()) {
      for (size_t i = 0; i < origins_.size(); ++i) {
        if (!origins_[i].expression) in_order_.push_back(i);
      }
    }
    for (const std::string& name : insert_.columns) {
      FRAZIL_ASSIGN(const size_t at, FindColumn(*schema_, name, target_.ToString()));
      if (origins_[at].expression || std::find(in_order_.begin(), in_order_.end(), at) != in_order_.end()) {
        return Fail(ErrorCode::kInvalidArgument, "column is named twice: {}", name);
      }
      in_order_.push_back(at);
    }
    for (size_t i = 0; i < in_order_.size(); ++i) origins_[in_order_[i]].source = i;
    return {};
  }

  Status PlaceByName() {
    for (size_t i = 0; i < source_columns_.size(); ++i) {
      FRAZIL_ASSIGN(const size_t at, FindColumn(*schema_, source_columns_[i].name, target_.ToString()));
      if (origins_[at].source || origins_[at].expression) {
        return Fail(ErrorCode::kInvalidArgument, "column is given twice: {}", source_columns_[i].name);
      }
      origins_[at].source = i;
    }
    return {};
  }

  /// The source with the keyword DEFAULT in its VALUES replaced; anything else as written.
  Result<std::string> WithDefaults() const {
    const std::vector<Token> tokens = Tokenize(insert_.source);
    if (insert_.by_name || tokens.empty() || !IsWord(tokens[0], "values")) return insert_.source;
    std::string text;
    int depth = 0;
    size_t item = 0;
    auto next = [&](size_t at, int step) {
      do at += static_cast<size_t>(step);
      while (at < tokens.size() && IsBlank(tokens[at]));
      return at < tokens.size() ? tokens[at].text : std::string_view();
    };
    for (size_t i = 0; i < tokens.size(); ++i) {
      const Token& token = tokens[i];
      const bool is_symbol = token.kind == TokenKind::kSymbol;
      if (is_symbol && (token.text == "(" || token.text == "[" || token.text == "{") && ++depth == 1) item = 0;
      if (is_symbol && (token.text == ")" || token.text == "]" || token.text == "}")) --depth;
      if (is_symbol && token.text == "," && depth == 1) ++item;
      if (depth == 1 && IsWord(token, "default") && i > 0 && (next(i, -1) == "(" || next(i, -1) == ",") &&
          (next(i, 1) == ")" || next(i, 1) == ",") && item < in_order_.size()) {
        FRAZIL_ASSIGN(const std::string value, DefaultOf(schema_->fields()[in_order_[item]], target_.ToString()));
        text += value;
      } else {
        text += token.text;
      }
    }
    return text;
  }

  Result<std::string> ValueOf(const spec::Field& column, const Origin& origin) const {
    if (origin.source) {
      return StoreAs(column, fmt::format("frazil_source.c{}", *origin.source), source_columns_[*origin.source].type,
                     target_.ToString());
    }
    if (!origin.expression || IsDefaultKeyword(*origin.expression)) return DefaultOf(column, target_.ToString());
    const std::string value = fmt::format("({}\n)", *origin.expression);
    FRAZIL_ASSIGN(const auto types, ColumnsOfQuery("SELECT " + value, engine_));
    return StoreAs(column, value, types.at(0).type, target_.ToString());
  }

  const statement::Insert& insert_;
  const WriteTarget& target_;
  Engine& engine_;
  const spec::SchemaPtr schema_;
  std::vector<Origin> origins_;   ///< by column
  std::vector<size_t> in_order_;  ///< columns that the source's columns feed, unless by name
  std::string source_;
  std::vector<ResultColumn> source_columns_;
};

}  // namespace

std::string InsertQuery::ToString() const {
  std::string text;
  for (const std::string& value : values) text += (text.empty() ? "SELECT " : ", ") + value;
  return text + " FROM " + from;
}

Result<InsertQuery> MakeInsertQuery(const statement::Insert& insert, const WriteTarget& target, Engine& engine) {
  return Composer(insert, target, engine).Make();
}

}  // namespace frazil::sql
