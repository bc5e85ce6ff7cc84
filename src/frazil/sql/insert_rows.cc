#include <algorithm>
#include <set>

#include <arrow/record_batch.h>
#include <arrow/type.h>

#include "frazil/base/log.h"
#include "frazil/base/version.h"
#include "frazil/format/parquet_schema.h"
#include "frazil/sql/arrow_shape.h"
#include "frazil/sql/made_up_result.h"
#include "frazil/sql/query_text.h"
#include "frazil/sql/row_change.h"
#include "frazil/table/snapshot_change.h"
#include "frazil/write/row_writer.h"

namespace frazil::sql {

namespace {

class AddFiles final : public table::SnapshotChange {
 public:
  explicit AddFiles(std::vector<spec::DataFile> files) : files_(std::move(files)) {}

  Result<table::FileChanges> Prepare(const table::Table&, spec::SnapshotId) override {
    table::FileChanges changes;
    for (const spec::DataFile& file : files_) changes.added_data_files.push_back({file, std::nullopt});
    changes.summary = {{"engine-name", "frazil"}, {"engine-version", kVersion}};
    return changes;
  }
  const std::vector<spec::DataFile>& files() const { return files_; }

 private:
  std::vector<spec::DataFile> files_;
};

/// For each column of the table the place in the source that feeds it; none: its default.
Result<std::vector<std::optional<size_t>>> MatchColumns(const statement::Insert& insert, const spec::Schema& schema,
                                                        const std::string& table) {
  std::vector<std::optional<size_t>> sources(schema.fields().size());
  if (insert.columns.empty()) {
    for (size_t i = 0; i < sources.size(); ++i) sources[i] = i;
    return sources;
  }
  for (size_t i = 0; i < insert.columns.size(); ++i) {
    const spec::Field* field = schema.FindFieldAnyCase(insert.columns[i]);
    size_t at = 0;
    while (at < schema.fields().size() && &schema.fields()[at] != field) ++at;
    if (at == schema.fields().size()) {
      std::vector<std::string> names;
      for (const spec::Field& known : schema.fields()) names.push_back(known.name);
      Error error(ErrorCode::kInvalidArgument, fmt::format("column '{}' not found in {}", insert.columns[i], table));
      std::string near = spec::NearestName(insert.columns[i], names);
      if (near.empty()) return tl::unexpected<Error>(std::move(error));
      return tl::unexpected<Error>(std::move(error).WithHint(fmt::format("did you mean {}?", near)));
    }
    if (sources[at]) return Fail(ErrorCode::kInvalidArgument, "column is named twice: {}", insert.columns[i]);
    sources[at] = i;
  }
  return sources;
}

/// "SELECT CAST(...) AS column, ... FROM (<source>)": the rows in the table's columns and types.
Result<std::string> SourceQuery(const statement::Insert& insert, const spec::Schema& schema, const std::string& table) {
  FRAZIL_ASSIGN(auto sources, MatchColumns(insert, schema, table));
  std::string select;
  for (size_t i = 0; i < schema.fields().size(); ++i) {
    const spec::Field& field = schema.fields()[i];
    if (field.type.id() == spec::TypeId::kUnknown) continue;  // never stored
    auto type = SqlCastType(field.type);
    if (!type) {
      return Fail(ErrorCode::kNotSupported, "INSERT cannot write a column of type {} yet: {} of {}",
                  field.type.ToString(), field.name, table);
    }
    std::string value;
    if (sources[i]) {
      value = fmt::format("CAST(frazil_source.c{} AS {})", *sources[i], *type);
    } else if (!spec::IsNull(field.write_default)) {
      value = fmt::format("CAST({} AS {})", SqlLiteral(field.type, field.write_default), *type);
    } else if (field.required) {
      return Fail(ErrorCode::kInvalidArgument, "required column has no value and no default: {} of {}", field.name,
                  table);
    } else {
      value = fmt::format("CAST(NULL AS {})", *type);
    }
    select += fmt::format("{}{} AS c{}", select.empty() ? "" : ", ", value, i);
  }
  size_t count = insert.columns.empty() ? schema.fields().size() : insert.columns.size();
  std::string names;
  for (size_t i = 0; i < count; ++i) names += fmt::format("{}c{}", i == 0 ? "" : ", ", i);
  return fmt::format("SELECT {} FROM ({}\n) AS frazil_source({})", select, insert.source, names);
}

/// DuckDB accepts fewer names than columns: the counts must be compared before.
Status CheckColumnCount(const statement::Insert& insert, size_t expected, const std::string& table, Engine& engine) {
  FRAZIL_ASSIGN(std::string probe, RewriteQuery(fmt::format("SELECT * FROM ({}\n) LIMIT 0", insert.source)));
  FRAZIL_ASSIGN(auto result, engine.Run(probe));
  if (result->columns().size() == expected) return {};
  return Fail(ErrorCode::kInvalidArgument, "INSERT INTO {} needs {} columns, the source has {}", table, expected,
              result->columns().size());
}

struct Written {
  std::vector<spec::DataFile> files;
  int64_t num_rows = 0;
};

Result<Written> WriteRows(QueryResult& rows, const table::Table& table, const spec::SchemaPtr& schema) {
  FRAZIL_ASSIGN(auto target, format::ToArrowSchema(*schema));
  FRAZIL_ASSIGN(auto writer, write::RowWriter::Make(table.io(), table.metadata(), schema, nullptr));
  Written written;
  while (true) {
    FRAZIL_ASSIGN(auto batch, rows.Next());
    if (!batch) break;
    FRAZIL_ASSIGN(auto shaped, ShapeBatch(*batch, target));
    FRAZIL_TRY(writer->Write(*shaped));
    written.num_rows += batch->num_rows();
  }
  FRAZIL_ASSIGN(written.files, writer->Finish());
  return written;
}

}  // namespace

Result<std::unique_ptr<QueryResult>> Run(const statement::Insert& insert, NameResolver& resolver, Engine& engine) {
  FRAZIL_ASSIGN(TableReference target, resolver.Find(insert.table));
  if (!target.metadata_table.empty()) {
    return Fail(ErrorCode::kInvalidArgument, "metadata tables cannot be written: {}", NameText(insert.table));
  }
  if (target.version)
    return Fail(ErrorCode::kNotSupported, "writing to a branch is not supported yet: {}", NameText(insert.table));
  table::Table& table = *target.table;
  spec::SchemaPtr schema = table.metadata()->schema();
  FRAZIL_ASSIGN(std::string query, SourceQuery(insert, *schema, target.ToString()));
  FRAZIL_TRY(CheckColumnCount(insert, insert.columns.empty() ? schema->fields().size() : insert.columns.size(),
                              target.ToString(), engine));
  FRAZIL_ASSIGN(query, RewriteQuery(query));
  FRAZIL_ASSIGN(auto rows, engine.Run(query));
  FRAZIL_ASSIGN(Written written, WriteRows(*rows, table, schema));
  rows.reset();
  if (written.files.empty()) return MessageResult(fmt::format("inserted 0 rows into {}", target.ToString()));

  AddFiles change(std::move(written.files));
  auto outcome = table::CommitSnapshot(table, change);
  if (!outcome) {
    if (outcome.error().code() != ErrorCode::kCommitUnknown) {
      std::vector<std::string> paths;
      for (const spec::DataFile& file : change.files()) paths.push_back(file.file_path);
      if (Status deleted = table.io()->Delete(paths); !deleted) {
        Log::Warn("files of a failed INSERT are left: {}", deleted.error().ToString());
      }
    }
    return tl::unexpected<Error>(std::move(outcome).error());
  }
  return MessageResult(fmt::format("inserted {} rows into {}", written.num_rows, target.ToString()));
}

}  // namespace frazil::sql
