#include <algorithm>

#include <arrow/record_batch.h>

#include "frazil/cli/commands.h"
#include "frazil/cli/key_text.h"
#include "frazil/cli/named_table.h"
#include "frazil/cli/option_check.h"
#include "frazil/cli/output.h"
#include "frazil/spec/ascii.h"
#include "frazil/spec/hex.h"
#include "frazil/spec/ids.h"
#include "frazil/spec/single_value.h"
#include "frazil/sql/token.h"

namespace frazil::cli {
namespace {

struct GetOptions {
  std::string table;
  std::string key;
  std::vector<std::string> columns;
};

/// A result whose rows are at hand: of a look-up there are few, and whether there are any decides how it ends.
class RowsAtHand final : public sql::QueryResult {
 public:
  static Result<std::unique_ptr<RowsAtHand>> Read(std::unique_ptr<sql::QueryResult> result) {
    auto rows = std::make_unique<RowsAtHand>();
    for (;;) {
      FRAZIL_ASSIGN(std::shared_ptr<arrow::RecordBatch> batch, result->Next());
      if (batch == nullptr) break;
      if (batch->num_rows() > 0) rows->batches_.push_back(std::move(batch));
    }
    rows->result_ = std::move(result);
    return rows;
  }

  bool empty() const { return batches_.empty(); }
  const std::vector<sql::ResultColumn>& columns() const override { return result_->columns(); }
  std::shared_ptr<arrow::Schema> schema() const override { return result_->schema(); }
  Result<std::shared_ptr<arrow::RecordBatch>> Next() override {
    return next_ == batches_.size() ? nullptr : batches_[next_++];
  }
  const std::string& message() const override { return result_->message(); }

 private:
  std::unique_ptr<sql::QueryResult> result_;
  std::vector<std::shared_ptr<arrow::RecordBatch>> batches_;
  size_t next_ = 0;
};

/// The value as a SQL literal that DuckDB reads as the type of the column that it is compared with.
std::string Literal(const KeyValue& key) {
  if (const auto* bytes = std::get_if<Bytes>(&key.value)) return "from_hex('" + ToHex(*bytes) + "')";
  return sql::QuoteText(spec::FormatValue(key.field.type, key.value));
}

std::string QueryOf(const catalog::TableName& table, const std::vector<std::string>& columns,
                    const std::vector<KeyValue>& key) {
  std::vector<std::string> selected;
  for (const std::string& column : columns) selected.push_back(column == "*" ? column : sql::QuoteName(column));
  std::vector<std::string> conditions;
  for (const KeyValue& part : key) conditions.push_back(sql::QuoteName(part.field.name) + " = " + Literal(part));
  std::vector<std::string> name;
  for (const std::string& level : table.levels) name.push_back(sql::QuoteName(level));
  name.push_back(sql::QuoteName(table.name));
  return fmt::format("SELECT {} FROM {} WHERE {}",
                     selected.empty() ? "*" : fmt::format("{}", fmt::join(selected, ", ")), fmt::join(name, "."),
                     fmt::join(conditions, " AND "));
}

Result<spec::SchemaPtr> LoadSchema(Context& context, const catalog::TableName& name) {
  FRAZIL_ASSIGN(const NamedTable table, FindNamedTable(context, name));
  FRAZIL_ASSIGN(const auto loaded, table.catalog->LoadTable(table.name));
  return loaded.metadata->schema();
}

/// As the table spells them.
Result<std::vector<std::string>> FindColumns(const std::vector<std::string>& columns, const spec::Schema& schema,
                                             const std::string& table) {
  std::vector<std::string> names{"_file",
                                 "_pos",
                                 "_spec_id",
                                 "_partition",
                                 "_deleted",
                                 spec::kRowIdColumn,
                                 spec::kLastUpdatedSequenceNumberColumn};
  for (const spec::Field& field : schema.fields()) names.push_back(field.name);
  std::vector<std::string> found;
  for (const std::string& column : columns) {
    const auto is_it = [&](const std::string& name) { return spec::EqualsAnyCase(name, column); };
    const auto at = std::ranges::find_if(names, is_it);
    if (column == "*" || at != names.end()) {
      found.push_back(column == "*" ? column : *at);
      continue;
    }
    Error error(ErrorCode::kInvalidArgument, fmt::format("no such column of {}: '{}'", table, column));
    const std::string nearest = spec::NearestName(column, names);
    return tl::unexpected(nearest.empty() ? std::move(error)
                                          : std::move(error).WithHint("did you mean " + nearest + "?"));
  }
  return found;
}

Result<ExitCode> RunGet(Context& context, const GetOptions& options) {
  FRAZIL_ASSIGN(const OutputFormat format, ParseOutputFormat(context.options().output));
  FRAZIL_ASSIGN(const catalog::TableName name, catalog::TableName::Parse(options.table));
  FRAZIL_ASSIGN(const spec::SchemaPtr schema, LoadSchema(context, name));
  FRAZIL_ASSIGN(const std::vector<KeyPart> parts, ParseKeyText(options.key));
  FRAZIL_ASSIGN(const std::vector<KeyValue> key, KeyOf(parts, *schema, name.ToString()));
  FRAZIL_ASSIGN(const std::vector<std::string> columns, FindColumns(options.columns, *schema, name.ToString()));
  FRAZIL_ASSIGN(const std::unique_ptr<sql::Session> session, context.NewSession());
  FRAZIL_ASSIGN(std::unique_ptr<sql::QueryResult> result, session->Execute(QueryOf(name, columns, key)));
  FRAZIL_ASSIGN(const std::unique_ptr<RowsAtHand> rows, RowsAtHand::Read(std::move(result)));
  if (rows->empty()) {
    return Fail(ErrorCode::kNotFound, "row not found in {}: {}", name.ToString(), options.key);
  }
  FRAZIL_TRY(WriteResult(*rows, format, context.options().quiet));
  return ExitCode::kOk;
}

}  // namespace

void AddGetCommand(CLI::App& program, Action& action) {
  CLI::App* command = program.add_subcommand("get", "Look up the row of a key");
  auto options = std::make_shared<GetOptions>();
  command->add_option("table", options->table, "[catalog.]namespace.table")->required()->check(IsTableName());
  command->add_option("--key", options->key, "All identifier fields: name=value,name='a, b'")
      ->required()
      ->check(Parsed(ParseKeyText));
  command
      ->add_option("--columns", options->columns,
                   "Columns to print, also _row_id, _last_updated_sequence_number, _file, _pos; * for the table's")
      ->delimiter(',');
  command->footer(
      "Values: numbers, 'text', 2024-02-29, '2024-02-29 12:00:00+01:00', 0x00ff, true. The key index of this machine "
      "is\n"
      "used when there is one; otherwise files that cannot hold the key are skipped. No such row: exit code 1.\n"
      "Examples:\n"
      "  frazil get demo.products --key sku=A-100\n"
      "  frazil get db.users --key \"app_id=7,user_id='o''brien'\" --columns '*,_row_id' -o json");
  command->callback([&action, options] { action = [options](Context& context) { return RunGet(context, *options); }; });
}

}  // namespace frazil::cli
