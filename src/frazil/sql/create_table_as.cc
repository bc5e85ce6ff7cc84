#include "frazil/sql/create_table_as.h"
#include "frazil/base/version.h"
#include "frazil/spec/table_metadata_builder.h"
#include "frazil/sql/column_values.h"
#include "frazil/sql/create_request.h"
#include "frazil/sql/definition.h"
#include "frazil/sql/made_up_result.h"
#include "frazil/sql/query_row_writer.h"
#include "frazil/sql/query_schema.h"
#include "frazil/sql/query_text.h"
#include "frazil/sql/row_change.h"
#include "frazil/sql/store_assignment.h"
#include "frazil/table/snapshot_change.h"
#include "frazil/table/table_creation.h"

#include <arrow/record_batch.h>

namespace frazil::sql {
namespace {

/// Gives columns that the table had under the same name their old ids, and others fresh ones (spec section 1.3).
class ReplacementIds {
 public:
  ReplacementIds(const spec::TableMetadata& base, const spec::Schema& fresh)
      : fresh_(fresh), last_(base.last_column_id.value()) {
    for (const spec::SchemaPtr& schema : base.schemas) {
      for (const auto& [field, name] : schema->AllFields()) old_ids_[name] = field->id;
    }
    for (const auto& [field, name] : base.schema()->AllFields()) old_ids_[name] = field->id;
  }

  std::vector<spec::Field> Renumber(const std::vector<spec::Field>& fields) {
    std::vector<spec::Field> result = fields;
    // All fields of one level before the ones below, as Java does.
    for (spec::Field& field : result) {
      const std::string name = fresh_.FullName(field.id);
      const auto old = old_ids_.find(name);
      const spec::FieldId id = old != old_ids_.end() ? old->second : spec::FieldId{++last_};
      new_ids_[field.id] = id;
      field.id = id;
    }
    for (spec::Field& field : result) {
      if (field.type.is_primitive()) continue;
      std::vector<spec::Field> children = Renumber(field.type.fields());
      switch (field.type.id()) {
        case spec::TypeId::kStruct: field.type = spec::Type::StructOf(std::move(children)); break;
        case spec::TypeId::kList: field.type = spec::Type::ListOf(std::move(children[0])); break;
        default: field.type = spec::Type::MapOf(std::move(children[0]), std::move(children[1])); break;
      }
    }
    return result;
  }
  spec::FieldId Of(spec::FieldId fresh) const { return new_ids_.at(fresh); }

 private:
  const spec::Schema& fresh_;
  std::map<std::string, spec::FieldId> old_ids_;
  std::map<spec::FieldId, spec::FieldId> new_ids_;
  int32_t last_;
};

/// What makes `base` the table that `request` describes. Its history stays, its rows are left behind.
Result<std::vector<spec::TableUpdate>> ReplaceUpdates(const spec::TableMetadata& base,
                                                      const spec::CreateTableRequest& request) {
  ReplacementIds ids(base, *request.schema);
  FRAZIL_ASSIGN(spec::SchemaPtr schema, spec::Schema::Make(spec::SchemaId{0}, ids.Renumber(request.schema->fields())));
  std::vector<spec::PartitionField> partitioning;
  for (const spec::PartitionField& field : request.partition_spec.fields()) {
    partitioning.push_back({ids.Of(field.source_id), spec::FieldId{0}, field.name, field.transform});
  }
  std::vector<spec::TableUpdate> updates;
  std::map<std::string, std::string> properties = request.properties;
  if (const auto version = properties.find(spec::kFormatVersionProperty); version != properties.end()) {
    FRAZIL_ASSIGN(const int number, spec::ParseFormatVersion(version->second));
    if (number > base.format_version) updates.emplace_back(spec::update::UpgradeFormatVersion{number});
    properties.erase(version);
  }
  std::erase_if(properties, [](const auto& property) { return spec::IsReservedProperty(property.first); });
  if (base.refs.contains(spec::kMainBranch)) updates.emplace_back(spec::update::RemoveSnapshotRef{spec::kMainBranch});
  updates.emplace_back(spec::update::AddSchema{std::move(schema)});
  updates.emplace_back(spec::update::SetCurrentSchema{spec::SchemaId{-1}});
  updates.emplace_back(spec::update::AddPartitionSpec{spec::PartitionSpec(spec::SpecId{0}, std::move(partitioning))});
  updates.emplace_back(spec::update::SetDefaultSpec{spec::SpecId{-1}});
  updates.emplace_back(spec::update::AddSortOrder{spec::SortOrder()});
  updates.emplace_back(spec::update::SetDefaultSortOrder{spec::SortOrderId{-1}});
  if (!request.location.empty() && request.location != base.location) {
    updates.emplace_back(spec::update::SetLocation{request.location});
  }
  if (!properties.empty()) updates.emplace_back(spec::update::SetProperties{std::move(properties)});
  return updates;
}

struct Written {
  std::vector<spec::DataFile> files;
  int64_t num_rows = 0;
};

/// Writes the rows of a query as files of a table that need not be anywhere but in memory yet.
Result<Written> WriteRows(const std::string& query, const table::Table& staged, Engine& engine) {
  FRAZIL_ASSIGN(const auto columns, ColumnsOfQuery(query, engine));
  std::string values;
  std::string names;
  for (size_t i = 0; i < columns.size(); ++i) {
    FRAZIL_ASSIGN(const std::string value,
                  StoreAs(staged.metadata()->schema()->fields().at(i), fmt::format("frazil_source.c{}", i),
                          columns[i].type, staged.name().ToString()));
    values += (i == 0 ? "" : ", ") + value;
    names += fmt::format("{}c{}", i == 0 ? "" : ", ", i);
  }
  FRAZIL_ASSIGN(const std::string text,
                RewriteQuery(fmt::format("SELECT {} FROM ({}\n) AS frazil_source({})", values, query, names)));
  FRAZIL_ASSIGN(QueryRowWriter writer, QueryRowWriter::Make(staged, engine));
  FRAZIL_ASSIGN(auto rows, engine.RunToWrite(text));
  Written written;
  for (;;) {
    auto batch = rows->Next();
    if (!batch) return tl::unexpected<Error>(ExplainStoreError(std::move(batch).error()));
    if (!*batch) break;
    FRAZIL_TRY(writer.Write(**batch));
    written.num_rows += (*batch)->num_rows();
    engine.ReportWritten(written.num_rows);
  }
  FRAZIL_ASSIGN(written.files, writer.Finish());
  return written;
}

/// Definition and rows of a table change in one commit.
class Replacement final : public table::SnapshotChange {
 public:
  Replacement(const statement::CreateTableAs& create, const spec::CreateTableRequest& request, NameResolver& resolver,
              Engine& engine)
      : create_(create), request_(request), resolver_(resolver), engine_(engine) {}

  Result<table::FileChanges> Prepare(const table::Table& base, spec::SnapshotId) override {
    table::FileChanges changes;
    changes.summary = {{"engine-name", "frazil"}, {"engine-version", kVersion}};
    FRAZIL_ASSIGN(changes.other_updates, ReplaceUpdates(*base.metadata(), request_));
    spec::TableMetadataBuilder builder(base.metadata(), "");
    for (const spec::TableUpdate& update : changes.other_updates) FRAZIL_TRY(builder.Apply(update));
    FRAZIL_ASSIGN(const spec::TableMetadataPtr next, std::move(builder).Build(Clock::System().NowMs()));
    const table::Table staged(base.catalog(), base.name(), {next, base.metadata_location()});
    FRAZIL_ASSIGN(const Written& written, Write(staged));
    for (const spec::DataFile& file : written.files) changes.added_data_files.push_back({file, std::nullopt});
    return changes;
  }

  Result<int64_t> Commit(table::Table& table) {
    auto outcome = table::CommitSnapshot(table, *this);
    if (!outcome && outcome.error().code() == ErrorCode::kCommitUnknown) {
      return tl::unexpected<Error>(std::move(outcome).error());
    }
    const auto committed =
        outcome && outcome->committed_attempt > 0 ? static_cast<size_t>(outcome->committed_attempt) : size_t{0};
    // Committed, but nobody can say which attempt: all files stay.
    if (outcome && outcome->snapshot_id && committed == 0) return written_.back().num_rows;
    for (size_t i = 0; i < written_.size(); ++i) {
      if (i + 1 != committed) DropFiles(table, written_[i].files, "CREATE OR REPLACE TABLE");
    }
    if (!outcome) return tl::unexpected<Error>(std::move(outcome).error());
    return committed == 0 ? 0 : written_[committed - 1].num_rows;
  }

 private:
  /// Asked again on every base: the query may read the table that is replaced.
  Result<Written> Write(const table::Table& staged) {
    Written written;
    if (!create_.query.empty()) {
      if (!written_.empty() && !IsRepeatable(create_.query)) {
        return Fail(ErrorCode::kCommitConflict,
                    "somebody else changed the table, and the source cannot be read twice: {}",
                    staged.name().ToString());
      }
      resolver_.Forget();
      FRAZIL_ASSIGN(written, WriteRows(create_.query, staged, engine_));
    }
    written_.push_back(written);
    return written;
  }

  const statement::CreateTableAs& create_;
  const spec::CreateTableRequest& request_;
  NameResolver& resolver_;
  Engine& engine_;
  std::vector<Written> written_;  ///< by attempt
};

/// The rows of a new table.
class FirstRows final : public table::SnapshotChange {
 public:
  FirstRows(const std::string& query, Engine& engine) : query_(query), engine_(engine) {}

  Result<table::FileChanges> Prepare(const table::Table& staged, spec::SnapshotId) override {
    FRAZIL_ASSIGN(written_, WriteRows(query_, staged, engine_));
    table::FileChanges changes;
    changes.summary = {{"engine-name", "frazil"}, {"engine-version", kVersion}};
    for (const spec::DataFile& file : written_.files) changes.added_data_files.push_back({file, std::nullopt});
    return changes;
  }
  const Written& written() const { return written_; }

 private:
  const std::string& query_;
  Engine& engine_;
  Written written_;
};

/// The table is there with its rows or not at all.
AnyResult CreateWithRows(const statement::CreateTableAs& create, const statement::CreateTable& definition,
                         const TableReference& place, NameResolver& resolver, Engine& engine) {
  FRAZIL_ASSIGN(spec::CreateTableRequest request, CreateRequestOf(definition));
  FRAZIL_ASSIGN(const auto catalog, resolver.Catalog(place.catalog));
  FRAZIL_TRY(CreateNamespaceIfDefault(*catalog, place.name.levels));
  FirstRows rows(create.query, engine);
  auto created = table::CreateTable(catalog, place.name, std::move(request), rows);
  if (created) {
    return MessageResult(
        fmt::format("created table {0}, inserted {1} rows into {0}", place.ToString(), rows.written().num_rows));
  }
  if (created.error().code() == ErrorCode::kCommitUnknown) return tl::unexpected<Error>(std::move(created).error());
  std::vector<std::string> paths;
  for (const spec::DataFile& file : rows.written().files) paths.push_back(file.file_path);
  DropFiles(*catalog->file_io(), paths, "CREATE TABLE AS");
  if (create.table.if_not_exists && created.error().code() == ErrorCode::kAlreadyExists) {
    return MessageResult("table exists already: " + place.ToString());
  }
  return tl::unexpected<Error>(std::move(created).error());
}

}  // namespace

Result<TableToCreate> FindTableToCreate(const statement::CreateTableAs& create, NameResolver& resolver,
                                        Engine& engine) {
  TableToCreate found;
  FRAZIL_ASSIGN(found.existing, resolver.TryFind(create.table.name));
  FRAZIL_ASSIGN(found.place, resolver.Place(create.table.name));
  const auto& existing = found.existing;
  found.is_there = existing && create.table.if_not_exists;
  if (found.is_there) return found;
  if (existing && !create.may_replace) {
    return Fail(ErrorCode::kAlreadyExists, "table exists already: {}", found.place.ToString());
  }
  if (!existing && !create.may_create) return tl::unexpected<Error>(resolver.Find(create.table.name).error());
  if (existing && (!existing->metadata_table.empty() || existing->version)) {
    return Fail(ErrorCode::kInvalidArgument, "not a table that can be replaced: {}", NameText(create.table.name));
  }
  found.definition = create.table;
  if (!create.query.empty()) {
    if (!found.definition.columns.empty()) {
      return Fail(ErrorCode::kInvalidArgument, "the query gives the columns, none can be defined: {}",
                  found.place.ToString());
    }
    FRAZIL_ASSIGN(const std::string probe, RewriteQuery(fmt::format("SELECT * FROM ({}\n) LIMIT 0", create.query)));
    FRAZIL_ASSIGN(auto rows, engine.Run(probe));
    FRAZIL_ASSIGN(found.definition.columns, DefinitionsOf(*rows));
  }
  if (found.definition.columns.empty()) {
    return Fail(ErrorCode::kInvalidArgument, "table needs columns: {}", found.place.ToString());
  }
  return found;
}

AnyResult Run(const statement::CreateTableAs& create, NameResolver& resolver, Engine& engine) {
  FRAZIL_ASSIGN(const TableToCreate found, FindTableToCreate(create, resolver, engine));
  const auto& [place, existing, is_there, definition] = found;
  if (is_there) return MessageResult("table exists already: " + place.ToString());
  if (!existing && create.query.empty()) return Run(definition, resolver);
  if (!existing) return CreateWithRows(create, definition, place, resolver, engine);
  FRAZIL_ASSIGN(const spec::CreateTableRequest request, CreateRequestOf(definition));
  Replacement replacement(create, request, resolver, engine);
  FRAZIL_ASSIGN(const int64_t num_rows, replacement.Commit(*existing->table));
  return MessageResult(create.query.empty()
                           ? fmt::format("replaced table {}", place.ToString())
                           : fmt::format("replaced table {}, inserted {} rows", place.ToString(), num_rows));
}

AnyResult Run(const statement::CreateTableLike& create, NameResolver& resolver) {
  FRAZIL_ASSIGN(const TableReference source, resolver.Find(create.like));
  if (!source.metadata_table.empty()) {
    return Fail(ErrorCode::kInvalidArgument, "metadata tables cannot be copied: {}", NameText(create.like));
  }
  FRAZIL_ASSIGN(const TableReference place, resolver.Place(create.table.name));
  FRAZIL_ASSIGN(auto catalog, resolver.Catalog(place.catalog));
  const spec::TableMetadata& metadata = *source.table->metadata();
  spec::CreateTableRequest request;
  request.location = create.table.location.value_or("");
  request.schema = metadata.schema();
  request.partition_spec = metadata.default_spec();
  request.properties = create.table.properties;
  if (create.table.comment) request.properties["comment"] = *create.table.comment;
  auto created = catalog->CreateTable(place.name, std::move(request));
  if (created) return MessageResult("created table " + place.ToString());
  if (create.table.if_not_exists && created.error().code() == ErrorCode::kAlreadyExists) {
    return MessageResult("table exists already: " + place.ToString());
  }
  return tl::unexpected<Error>(std::move(created).error());
}

}  // namespace frazil::sql
