#include <algorithm>
#include <cctype>
#include <set>

#include "frazil/ingest/flink_job.h"
#include "frazil/ingest/flink_yaml.h"
#include "frazil/spec/ascii.h"

namespace frazil::ingest {
namespace {

using Options = std::map<std::string, std::string>;

std::string Take(Options& options, const std::string& key, std::string otherwise = "") {
  const auto found = options.find(key);
  if (found == options.end()) return otherwise;
  std::string value = std::move(found->second);
  options.erase(found);
  return value;
}

std::string Joined(const std::vector<std::string>& name) { return fmt::format("{}", fmt::join(name, ".")); }

/// Letters, digits, '-' and '_'.
std::string IdFrom(const std::string& name) {
  std::string id;
  for (const char c : name) id += std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' ? c : '-';
  return id;
}

class Importer {
 public:
  explicit Importer(const FlinkJob& job) : job_(job), settings_(job.settings) { import_.notes = job.notes; }

  FlinkImport Run() {
    yaml_.Line(0, "version", "1");
    if (!job_.catalogs.empty()) yaml_.Line(0, "catalogs");
    for (const FlinkCatalog& catalog : job_.catalogs) Catalog(catalog);
    interval_ = Interval();
    for (const FlinkInsert& insert : job_.inserts) Insert(insert);
    for (const auto& [key, value] : settings_) Note(fmt::format("SET '{}' = '{}' is not carried over", key, value));
    for (const FlinkTable& table : job_.tables) {
      if (used_.contains(&table)) continue;
      Note(fmt::format("line {}: table {} feeds no pipeline", table.line, Joined(table.name)));
    }
    import_.yaml = yaml_.text();
    return std::move(import_);
  }

 private:
  /// A column of the table, and where it comes from: a field, `$...`, or nothing that a pipeline can bring.
  struct Mapping {
    std::string column;
    std::string source;
  };

  void Note(std::string text) { import_.notes.push_back(std::move(text)); }
  void Catalog(const FlinkCatalog& catalog);
  std::string Interval();
  const FlinkTable* Find(const std::vector<std::string>& name, bool is_kafka);
  static bool IsKafka(const FlinkTable& table);
  void Insert(const FlinkInsert& insert);
  void Source(const FlinkTable& table, Options options);
  void FormatOptions(const FlinkTable& table, Options& options);
  static std::string TableName(const FlinkTable& target);
  void Sink(const FlinkInsert& insert, const FlinkTable& source, const FlinkTable* target,
            const std::vector<Mapping>& mappings);
  std::vector<Mapping> Mappings(const FlinkInsert& insert, const FlinkTable& source, const FlinkTable* target);
  std::string SourceOf(const FlinkTable& table, const std::string& alias, const FlinkExpression& expression, int line);
  std::string SourceOfColumn(const FlinkTable& table, const FlinkColumn& column, int line);
  std::string NewId(const std::string& wanted);

  const FlinkJob& job_;
  Options settings_;
  std::string interval_;
  bool skips_errors_ = false;  ///< of the source at hand
  std::set<const FlinkTable*> used_;
  std::set<std::string> ids_;
  std::set<std::string> tables_;
  FlinkYaml yaml_;
  FlinkImport import_;
};

// Flink's names of catalog classes, as far as they are ones of ours.
std::string CatalogType(Options& options) {
  const std::string implementation = Take(options, "catalog-impl");
  if (implementation.ends_with(".GlueCatalog")) return "glue";
  if (implementation.ends_with(".JdbcCatalog")) return "jdbc";
  if (implementation.ends_with(".RESTCatalog")) return "rest";
  if (!implementation.empty()) return implementation;
  return Take(options, "catalog-type", "hive");
}

void Importer::Catalog(const FlinkCatalog& catalog) {
  Options options = catalog.options;
  const std::string type = Take(options, "type");
  if (type != "iceberg") {
    return Note(fmt::format("line {}: catalog {} is no Iceberg catalog: {}", catalog.line, catalog.name, type));
  }
  std::string catalog_type = CatalogType(options);
  std::string uri = Take(options, "uri");
  if (catalog_type == "jdbc") {
    catalog_type = "sql";
    if (uri.starts_with("jdbc:sqlite:")) uri = "sqlite:///" + uri.substr(12);
  }
  yaml_.Line(1, catalog.name);
  yaml_.Line(2, "type", catalog_type);
  if (!uri.empty()) yaml_.Line(2, "uri", uri);
  for (const char* key : {"property-version", "cache-enabled", "cache.expiration-interval-ms", "default-database",
                          "hive-conf-dir", "hadoop-conf-dir", "clients"}) {
    if (!options.contains(key)) continue;
    Note(fmt::format("line {}: '{}' of catalog {} is not carried over: {}", catalog.line, key, catalog.name,
                     Take(options, key)));
  }
  for (const auto& [key, value] : options) yaml_.Line(2, key, value);
  if (catalog_type != "sql") {
    Note(fmt::format("line {}: catalog {} is of type {}: check that this version of frazil opens it", catalog.line,
                     catalog.name, catalog_type));
  }
}

/// A pipeline commits as often as the job made checkpoints.
std::string Importer::Interval() {
  const std::string text = Take(settings_, "execution.checkpointing.interval");
  Take(settings_, "execution.runtime-mode");
  Take(settings_, "table.dynamic-table-options.enabled");
  Take(settings_, "execution.checkpointing.mode");
  if (text.empty()) return "";
  size_t digits = 0;
  while (digits < text.size() && std::isdigit(static_cast<unsigned char>(text[digits])) != 0) ++digits;
  std::string unit = text.substr(digits);
  std::erase(unit, ' ');
  const std::string number = text.substr(0, digits);
  static const std::map<std::string, std::string> kUnits = {
      {"", "ms"},       {"ms", "ms"},  {"s", "s"},     {"sec", "s"},      {"second", "s"},
      {"seconds", "s"}, {"m", "min"},  {"min", "min"}, {"minute", "min"}, {"minutes", "min"},
      {"h", "h"},       {"hour", "h"}, {"hours", "h"}};
  const auto found = kUnits.find(unit);
  if (number.empty() || found == kUnits.end()) {
    Note(fmt::format("'execution.checkpointing.interval' is not understood: {}", text));
    return "";
  }
  return number + found->second;
}

bool Importer::IsKafka(const FlinkTable& table) {
  const auto connector = table.options.find("connector");
  return connector != table.options.end() && (connector->second == "kafka" || connector->second == "upsert-kafka");
}

/// By the whole name, else by the last part where only one table has it.
const FlinkTable* Importer::Find(const std::vector<std::string>& name, bool is_kafka) {
  const FlinkTable* near = nullptr;
  bool is_doubtful = false;
  for (const FlinkTable& table : job_.tables) {
    if (IsKafka(table) != is_kafka) continue;
    if (table.name == name) return &table;
    if (table.name.back() != name.back()) continue;
    is_doubtful = near != nullptr;
    near = &table;
  }
  return is_doubtful ? nullptr : near;
}

std::string Importer::NewId(const std::string& wanted) {
  std::string id = IdFrom(wanted);
  for (int i = 2; !ids_.insert(id).second; ++i) id = fmt::format("{}-{}", IdFrom(wanted), i);
  return id;
}

void Importer::Insert(const FlinkInsert& insert) {
  const std::string target_name = Joined(insert.target);
  const auto refuse = [&](const std::string& why) {
    Note(fmt::format("line {}: INSERT INTO {} makes no pipeline: {}", insert.line, target_name, why));
  };
  const FlinkTable* source = Find(insert.source, true);
  const FlinkTable* target = Find(insert.target, false);
  if (source != nullptr) used_.insert(source);
  if (target != nullptr) used_.insert(target);
  if (insert.is_overwrite) return refuse("INSERT OVERWRITE");
  if (insert.source.empty()) return refuse(insert.rest.empty() ? "no table after FROM" : insert.rest);
  if (source == nullptr) return refuse("no Kafka table " + Joined(insert.source));
  if (!insert.rest.empty()) return refuse("records are filtered or joined: " + insert.rest);
  if (!tables_.insert(target_name).second) return refuse("one pipeline feeds one table");
  const std::vector<Mapping> mappings = Mappings(insert, *source, target);

  if (import_.num_pipelines++ == 0) yaml_.Line(0, "pipelines");
  const std::string name = Take(settings_, "pipeline.name");
  yaml_.Line(1, NewId(name.empty() ? insert.target.back() : name));
  yaml_.Line(2, "source");
  Options options = source->options;
  for (const auto& [key, value] : insert.source_hints) options[key] = value;
  Source(*source, std::move(options));
  yaml_.Line(2, "sink");
  Sink(insert, *source, target, mappings);
  if (!interval_.empty()) {
    yaml_.Line(2, "commit");
    yaml_.Line(3, "interval", interval_);
  }
  if (skips_errors_) {
    yaml_.Line(2, "on-error");
    yaml_.Line(3, "decode", "skip");
  }
}

void Importer::Source(const FlinkTable& table, Options options) {
  const auto note = [&](const std::string& key, const std::string& why) {
    if (!options.contains(key)) return;
    Note(fmt::format("line {}: '{}' of table {} is not carried over{}", table.line, key, Joined(table.name), why));
    options.erase(key);
  };
  if (table.has_watermark) {
    Note(fmt::format("line {}: WATERMARK of table {} has no meaning here", table.line, Joined(table.name)));
  }
  // What the key gives is said by sink.columns.
  for (const char* key : {"key.fields", "key.fields-prefix", "value.fields-include"}) options.erase(key);
  // Whoever upserts from a compacted topic starts where it starts.
  const bool is_upsert_kafka = Take(options, "connector") == "upsert-kafka";
  if (is_upsert_kafka) options.try_emplace("scan.startup.mode", "earliest-offset");
  note("topic-pattern", ": name the topic");
  if (const auto topic = options.find("topic");
      topic != options.end() && topic->second.find(';') != std::string::npos) {
    Note(fmt::format(
        "line {}: table {} reads several topics, a pipeline reads one: write a pipeline, into a table of its "
        "own, for each of '{}'",
        table.line, Joined(table.name), topic->second));
  }
  note("scan.parallelism", ": one worker writes a table");
  note("properties.transaction.timeout.ms", "");
  std::vector<std::string> others;
  for (const auto& [key, value] : options) {
    if (key.starts_with("sink.") || key.starts_with("scan.watermark.")) others.push_back(key);
  }
  for (const std::string& key : others) note(key, "");
  // Older versions of Flink had longer names for the registry's options.
  for (const char* side : {"", "key.", "value."}) {
    for (const char* name : {"url", "subject"}) {
      const std::string old = fmt::format("{}avro-confluent.schema-registry.{}", side, name);
      if (std::string value = Take(options, old); !value.empty()) {
        options.try_emplace(fmt::format("{}avro-confluent.{}", side, name), std::move(value));
      }
    }
  }
  FormatOptions(table, options);
  for (const auto& [key, value] : options) yaml_.Line(3, key, value);
}

/// What Flink's formats know and a pipeline says elsewhere, or not at all.
void Importer::FormatOptions(const FlinkTable& table, Options& options) {
  skips_errors_ = false;
  for (const std::string side : {"", "key.", "value."}) {
    if (Take(options, side + "json.ignore-parse-errors") == "true") skips_errors_ = true;
    if (Take(options, side + "json.fail-on-missing-field") == "true") {
      Note(fmt::format(
          "line {}: '{}json.fail-on-missing-field' of table {} is not carried over: a field that is missing "
          "is null",
          table.line, side, Joined(table.name)));
    }
    if (Take(options, side + "raw.endianness", "big-endian") != "big-endian") {
      Note(fmt::format("line {}: '{}raw.endianness' of table {} is not carried over: numbers are big-endian",
                       table.line, side, Joined(table.name)));
    }
    const std::string charset = Take(options, side + "raw.charset");
    if (charset.empty() || spec::EqualsAnyCase(charset, "UTF-8")) continue;
    Note(fmt::format("line {}: '{}raw.charset' of table {} is not carried over: text is UTF-8, not {}", table.line,
                     side, Joined(table.name), charset));
  }
  if (!skips_errors_) return;
  Note(
      fmt::format("line {}: 'ignore-parse-errors' of table {} becomes on-error.decode: skip, which counts the records "
                  "and stops when there are very many",
                  table.line, Joined(table.name)));
}

std::string Importer::SourceOfColumn(const FlinkTable& table, const FlinkColumn& column, int line) {
  if (column.computed) return SourceOf(table, "", *column.computed, line);
  if (column.metadata) {
    const std::string& key = *column.metadata;
    if (key == "timestamp" || key == "partition" || key == "offset") return "$" + key;
    Note(fmt::format("line {}: metadata column {} of table {} is not carried over: '{}'", line, column.name,
                     Joined(table.name), key));
    return "";
  }
  const auto option = [&](const char* name) {
    const auto found = table.options.find(name);
    return found == table.options.end() ? std::string() : found->second;
  };
  // Keys that values do not repeat.
  const std::string key_fields = option("key.fields");
  std::vector<std::string> keys = table.options.contains("key.fields") ? std::vector<std::string>{} : table.primary_key;
  for (size_t begin = 0; begin < key_fields.size();) {
    const size_t end = std::min(key_fields.find(';', begin), key_fields.size());
    keys.push_back(key_fields.substr(begin, end - begin));
    begin = end + 1;
  }
  const bool is_key = std::find(keys.begin(), keys.end(), column.name) != keys.end();
  if (!is_key || !table.options.contains("key.format")) return column.name;
  const std::string prefix = option("key.fields-prefix");
  if (option("key.format") == "raw") return "$key";
  if (option("value.fields-include") != "EXCEPT_KEY") return column.name;
  return "$key." + (column.name.starts_with(prefix) ? column.name.substr(prefix.size()) : column.name);
}

std::string Importer::SourceOf(const FlinkTable& table, const std::string& alias, const FlinkExpression& expression,
                               int line) {
  if (expression.field.empty()) return "";
  if (expression.field.starts_with("$")) return expression.field;
  const size_t dot = expression.field.find('.');
  const std::string head = expression.field.substr(0, dot);
  for (const FlinkColumn& column : table.columns) {
    if (!spec::EqualsAnyCase(column.name, head)) continue;
    const std::string source = SourceOfColumn(table, column, line);
    return dot == std::string::npos || source.empty() ? source : source + expression.field.substr(dot);
  }
  // "t.a": the table's name before the column's.
  if (dot != std::string::npos && (head == table.name.back() || head == alias)) {
    FlinkExpression inner = expression;
    inner.field = expression.field.substr(dot + 1);
    return SourceOf(table, alias, inner, line);
  }
  return "";  // no column, but a word with a value: CURRENT_TIMESTAMP, NULL, TRUE
}

std::vector<Importer::Mapping> Importer::Mappings(const FlinkInsert& insert, const FlinkTable& source,
                                                  const FlinkTable* target) {
  // SELECT's items by position: that is how INSERT takes them.
  std::vector<FlinkInsert::Item> items;
  for (const FlinkInsert::Item& item : insert.items) {
    if (!item.is_star) {
      items.push_back(item);
      continue;
    }
    for (const FlinkColumn& column : source.columns) {
      items.push_back({.expression = {.field = column.name, .is_cast = false, .text = column.name}, .alias = ""});
    }
  }
  std::vector<std::string> columns = insert.target_columns;
  if (columns.empty() && target != nullptr) {
    for (const FlinkColumn& column : target->columns) columns.push_back(column.name);
  }
  if (columns.empty()) {
    Note(fmt::format(
        "line {}: the columns of {} are not in the script: they are taken by name, where Flink takes them by "
        "position",
        insert.line, Joined(insert.target)));
  } else if (columns.size() != items.size()) {
    Note(fmt::format("line {}: INSERT INTO {} selects {} values for {} columns", insert.line, Joined(insert.target),
                     items.size(), columns.size()));
  }
  std::vector<Mapping> mappings;
  for (size_t i = 0; i < items.size(); ++i) {
    const FlinkExpression& expression = items[i].expression;
    std::string column = i < columns.size() ? columns[i] : items[i].alias;
    if (column.empty()) column = expression.field.substr(expression.field.rfind('.') + 1);
    std::string from = SourceOf(source, insert.source_alias, expression, insert.line);
    if (from.empty()) {
      Note(fmt::format("line {}: column {} is computed and stays null: {}", insert.line, column.empty() ? "?" : column,
                       expression.text));
      continue;
    }
    if (expression.is_cast) {
      Note(fmt::format("line {}: column {} takes the type of the table instead of: {}", insert.line, column,
                       expression.text));
    }
    mappings.push_back({std::move(column), std::move(from)});
  }
  return mappings;
}

/// What the table is called in its catalog: `'connector' = 'iceberg'` says it in options (the database is `default`,
/// and the table has Flink's name, where it does not).
std::string Importer::TableName(const FlinkTable& target) {
  const auto option = [&](const char* name, const std::string& otherwise) {
    const auto found = target.options.find(name);
    return found == target.options.end() ? otherwise : found->second;
  };
  if (option("connector", "") != "iceberg") return Joined(target.name);
  const std::string catalog = option("catalog-name", "");
  const std::string database =
      option("catalog-database", target.name.size() > 1 ? target.name[target.name.size() - 2] : "default");
  return (catalog.empty() ? "" : catalog + ".") + database + "." + option("catalog-table", target.name.back());
}

void Importer::Sink(const FlinkInsert& insert, const FlinkTable& source, const FlinkTable* target,
                    const std::vector<Mapping>& mappings) {
  yaml_.Line(3, "table", target == nullptr ? Joined(insert.target) : TableName(*target));
  std::vector<std::string> identifiers = target == nullptr ? std::vector<std::string>{} : target->primary_key;
  if (identifiers.empty()) {
    for (const std::string& key : source.primary_key) {
      const std::string from = SourceOf(source, "", {.field = key, .is_cast = false, .text = key}, insert.line);
      const auto named =
          std::find_if(mappings.begin(), mappings.end(), [&](const Mapping& m) { return m.source == from; });
      if (named != mappings.end()) identifiers.push_back(named->column);
    }
    if (identifiers.size() != source.primary_key.size()) identifiers.clear();
  }
  if (identifiers.empty()) {
    Note(fmt::format("line {}: no PRIMARY KEY for {}: the table must have identifier fields", insert.line,
                     Joined(insert.target)));
  } else {
    yaml_.List(3, "identifier-fields", identifiers);
  }
  if (target != nullptr) {
    Note(fmt::format("line {}: table {} has to be there, or sink.create-if-missing: true and sink.schema make it",
                     target->line, Joined(target->name)));
    if (!target->partitioned_by.empty()) yaml_.List(3, "partition-by", target->partitioned_by);
  }
  Options hints = insert.target_hints;
  const std::string upserts = Take(hints, "upsert-enabled",
                                   target != nullptr && target->options.contains("write.upsert.enabled")
                                       ? target->options.at("write.upsert.enabled")
                                       : "false");
  yaml_.Line(3, "upsert-enabled", "true");
  if (upserts != "true") {
    Note(fmt::format("line {}: INSERT INTO {} appended; a pipeline upserts by its identifier fields", insert.line,
                     Joined(insert.target)));
  }
  for (const auto& [key, value] : hints) {
    Note(fmt::format("line {}: option of INSERT INTO {} is not carried over: '{}' = '{}'", insert.line,
                     Joined(insert.target), key, value));
  }
  if (target != nullptr && !target->options.empty()) {
    Options properties = target->options;
    for (const char* key :
         {"connector", "write.upsert.enabled", "format-version", "catalog-name", "catalog-database", "catalog-table"}) {
      properties.erase(key);
    }
    // A table that brings its own catalog, where others are made by CREATE CATALOG.
    for (const char* key :
         {"catalog-type", "catalog-impl", "uri", "warehouse", "clients", "hive-conf-dir", "hadoop-conf-dir"}) {
      if (Take(properties, key).empty()) continue;
      Note(fmt::format("line {}: '{}' of table {} is not carried over: describe the catalog below catalogs",
                       target->line, key, Joined(target->name)));
    }
    if (!properties.empty()) yaml_.Line(3, "table-properties");
    for (const auto& [key, value] : properties) yaml_.Line(4, key, value);
  }
  // A SELECT takes what it names: what producers add later was no column of the job either.
  yaml_.Line(3, "evolve-schema-enabled", "false");
  yaml_.Line(3, "columns");
  for (const Mapping& mapping : mappings) yaml_.Line(4, mapping.column, mapping.source);
}

}  // namespace

FlinkImport ImportFlinkJob(const FlinkJob& job) { return Importer(job).Run(); }

}  // namespace frazil::ingest
