#include "frazil/service/pipeline_config.h"

#include <algorithm>
#include <cctype>
#include <tuple>

#include "frazil/ingest/kafka_properties.h"
#include "frazil/ingest/registry_client.h"

namespace frazil::service {
namespace {

using ingest::RecordFormat;

tl::unexpected<Error> Wrong(const SettingSection& section, const std::string& key, ErrorCode code, std::string message,
                            std::string hint = "") {
  return tl::unexpected(section.At(key, Error(code, std::move(message)).WithHint(std::move(hint))));
}

/// One of several words. kInvalidArgument with all of them.
template <typename T>
Result<T> OneOf(const SettingSection& section, const std::string& key, const std::string& otherwise,
                const std::vector<std::pair<std::string, T>>& words) {
  const std::string text = section.Text(key, otherwise);
  std::string all;
  for (const auto& [word, value] : words) {
    if (word == text) return value;
    all += (all.empty() ? "" : ", ") + word;
  }
  return Wrong(section, key, ErrorCode::kInvalidArgument, "not one of the choices: '" + text + "'", all);
}

std::vector<std::string> Divided(const std::string& text, char separator) {
  std::vector<std::string> parts;
  for (size_t begin = 0; begin <= text.size();) {
    const size_t end = std::min(text.find(separator, begin), text.size());
    if (end > begin) parts.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return parts;
}

Result<RecordFormat> ReadFormat(const SettingSection& source, const std::string& key, const std::string& text) {
  if (text == "raw") return RecordFormat::kRaw;
  if (text == "json") return RecordFormat::kJson;
  if (text == "avro-confluent") return RecordFormat::kAvroConfluent;
  const std::string hint = key == "key.format" ? "raw, json or avro-confluent" : "json or avro-confluent";
  return Wrong(source, key, ErrorCode::kNotSupported, "format '" + text + "'", hint);
}

/// Flink's `key.fields` say which columns the key gives. Without a prefix and with `ALL` the value has them too, and the
/// key is asked only where the value is null: that is what columns do anyway.
Status ReadKeyFields(const SettingSection& source, ingest::RecordColumns& columns) {
  FRAZIL_ASSIGN(const bool value_has_key,
                OneOf<bool>(source, "value.fields-include", "ALL", {{"ALL", true}, {"EXCEPT_KEY", false}}));
  const std::string prefix = source.Text("key.fields-prefix");
  std::vector<std::string> fields;
  for (const std::string& part : Divided(source.Text("key.fields"), ';')) {
    FRAZIL_ASSIGN(const std::vector<std::string> names, ParseList(part));
    fields.insert(fields.end(), names.begin(), names.end());
  }
  if (!prefix.empty() && value_has_key) {
    return Wrong(source, "key.fields-prefix", ErrorCode::kInvalidArgument,
                 "a prefix needs value.fields-include EXCEPT_KEY, as in Flink");
  }
  if (!value_has_key && fields.empty()) {
    return Wrong(source, "value.fields-include", ErrorCode::kInvalidArgument, "EXCEPT_KEY needs key.fields",
                 "which columns the key gives");
  }
  if (!fields.empty() && !source.Has("key.format")) {
    return Wrong(source, "key.fields", ErrorCode::kInvalidArgument, "key.fields needs key.format",
                 "raw, json or avro-confluent");
  }
  const bool is_raw = columns.key_format == RecordFormat::kRaw;
  if (is_raw && fields.size() > 1) {
    return Wrong(source, "key.fields", ErrorCode::kInvalidArgument, "a raw key is one column");
  }
  for (const std::string& field : fields) {
    if (!field.starts_with(prefix)) {
      return Wrong(source, "key.fields", ErrorCode::kInvalidArgument,
                   fmt::format("'{}' does not begin with key.fields-prefix '{}'", field, prefix));
    }
    if (is_raw) {
      columns.source_of[field] = "$key";
    } else if (!value_has_key) {
      columns.source_of[field] = "$key." + field.substr(prefix.size());
    }
  }
  return {};
}

/// Flink's `[value.|key.]json.*`.
Status ReadJsonOptions(const SettingSection& source, ingest::RecordColumns& columns) {
  using ingest::JsonTimestamps;
  for (const std::string& group : {std::string("json"), std::string("key.json"), std::string("value.json")}) {
    for (const auto& [name, value] : source.Map(group)) {
      const std::string key = group + "." + name;
      if (name == "timestamp-format.standard") {
        FRAZIL_ASSIGN(columns.json_timestamps,
                      OneOf<JsonTimestamps>(source, key, "",
                                            {{"SQL", JsonTimestamps::kSql}, {"ISO-8601", JsonTimestamps::kIso8601}}));
      } else if (name == "ignore-parse-errors" && value != "false") {
        return Wrong(source, key, ErrorCode::kNotSupported, "records lost in silence", "on-error.decode: skip or dlq");
      } else if (name.starts_with("map-null-key.") || name.starts_with("encode.") || name.starts_with("decode.")) {
        continue;  // of writing, or of how Flink parses
      } else if (name != "ignore-parse-errors" && (name != "fail-on-missing-field" || value != "false")) {
        return Wrong(source, key, ErrorCode::kNotSupported, "format option '" + name + "'",
                     "timestamp-format.standard can be used; a field that is missing is null");
      }
    }
  }
  return {};
}

/// The key that a message of another module is about, with its place: the longest one that stands in it; of
/// `properties.*` others know only the rest.
Error AtNamedKey(const SettingSection& source, Error error) {
  constexpr std::string_view kProperties = "properties.";
  std::string named;
  for (const auto& [key, value] : source.All()) {
    std::string_view name = key;
    if (name.starts_with(kProperties)) name.remove_prefix(kProperties.size());
    if (key.size() > named.size() && error.message().find(name) != std::string::npos) named = key;
  }
  if (!named.empty()) return source.At(named, std::move(error));
  return std::move(error).WithContext("reading " + source.prefix());
}

constexpr std::string_view kHandedOn = "properties.";

/// What Flink hands on to Confluent's client below `properties.`, in Flink's own names.
std::string FlinkNameOf(std::string name) {
  for (const std::string_view prefix : {std::string_view("properties.schema.registry."), kHandedOn}) {
    if (!name.starts_with(prefix)) continue;
    name.erase(0, prefix.size());
    break;
  }
  static const std::map<std::string, std::string> kNames = {
      {"url", "url"},
      {"basic.auth.user.info", "basic-auth.user-info"},
      {"basic.auth.credentials.source", "basic-auth.credentials-source"},
      {"bearer.auth.token", "bearer-auth.token"},
      {"bearer.auth.credentials.source", "bearer-auth.credentials-source"}};
  const auto found = kNames.find(name);
  if (found != kNames.end()) return found->second;
  return name.starts_with("ssl.") ? name : std::string(kHandedOn) + name;
}

/// The options below one key, checked.
Result<std::map<std::string, std::string>> RegistryBelow(const Settings& settings, const std::string& key) {
  const SettingSection section(settings, key);
  std::map<std::string, std::string> options = section.All();
  for (const auto& [name, value] : section.All()) {  // Flink's own options go first
    if (!name.starts_with(kHandedOn)) continue;
    options.erase(name);
    options.emplace(FlinkNameOf(name), value);
  }
  for (const char* no_option : {"subject", "schema"}) options.erase(no_option);  // of new tables and of writers
  auto parsed = ingest::ParseRegistryOptions(options);
  if (!parsed && !options.contains("url")) {
    return tl::unexpected(std::move(parsed).error().WithHint(fmt::format("{}.url, beside the other options", key)));
  }
  if (!parsed) return tl::unexpected(AtNamedKey(section, std::move(parsed).error()));
  return options;
}

/// `registry: main`, else `<side>.avro-confluent.*`, else `avro-confluent.*`. Empty where records need none.
Result<std::map<std::string, std::string>> ReadRegistry(const Settings& settings, const SettingSection& source,
                                                        const std::string& side, RecordFormat format) {
  if (format != RecordFormat::kAvroConfluent) return std::map<std::string, std::string>{};
  for (const std::string& key : {side + ".avro-confluent", std::string("avro-confluent")}) {
    if (!source.Map(key).empty()) return RegistryBelow(settings, source.prefix() + "." + key);
  }
  const std::string name = source.Text("registry");
  const std::vector<std::string> names = NamesBelow(settings, "schema-registries");
  if (!name.empty()) {
    if (std::find(names.begin(), names.end(), name) == names.end()) {
      return Wrong(source, "registry", ErrorCode::kInvalidArgument, "no such schema registry: '" + name + "'",
                   names.empty() ? "schema-registries is empty" : fmt::format("known: {}", fmt::join(names, ", ")));
    }
    return RegistryBelow(settings, "schema-registries." + name);
  }
  // Value and key are read from one registry nearly always.
  const std::string other = side == "key" ? "value.avro-confluent" : "key.avro-confluent";
  if (!source.Map(other).empty()) return RegistryBelow(settings, source.prefix() + "." + other);
  if (names.size() == 1) return RegistryBelow(settings, "schema-registries." + names[0]);
  return tl::unexpected(Error(ErrorCode::kInvalidArgument,
                              "schema registry is missing: " + source.prefix() + "." + side + ".avro-confluent.url")
                            .WithHint("or registry: NAME of schema-registries"));
}

/// Flink's `<side>.avro-confluent.subject` (without a side: that of values), else Confluent's usual one.
std::string SubjectOf(const SettingSection& source, const std::string& side, const std::string& topic) {
  const std::string usual = topic + "-" + side;
  return source.Text(side + ".avro-confluent.subject",
                     side == "value" ? source.Text("avro-confluent.subject", usual) : usual);
}

Status ReadSource(const Settings& settings, PipelineConfig& config) {
  const SettingSection source(settings, "pipelines." + config.id + ".source");
  Result<ingest::KafkaSourceConfig> kafka = ingest::ParseKafkaSource(source.All());
  if (!kafka) return tl::unexpected(AtNamedKey(source, std::move(kafka).error()));
  config.topic = kafka->topic;
  config.kafka_properties = std::move(kafka->properties);
  if (Status known = ingest::CheckKafkaProperties(config.kafka_properties); !known) {
    return tl::unexpected(AtNamedKey(source, std::move(known).error()));
  }
  config.startup = std::move(kafka->startup);
  config.is_bounded = kafka->is_bounded;
  if (config.is_bounded) config.bound = std::move(kafka->bound);
  const std::string discovery = "scan.topic-partition-discovery.interval";
  if (source.Text(discovery) == "0") {  // never, as Flink writes it
    config.discovery_interval = std::chrono::milliseconds(0);
  } else {
    FRAZIL_ASSIGN(config.discovery_interval, source.Duration(discovery, config.discovery_interval));
  }

  ingest::RecordColumns& columns = config.columns;
  const std::string format_key = source.Has("value.format") ? "value.format" : "format";
  FRAZIL_ASSIGN(columns.value_format, ReadFormat(source, format_key, source.Text(format_key, "avro-confluent")));
  if (columns.value_format == RecordFormat::kRaw) {
    return Wrong(source, format_key, ErrorCode::kNotSupported, "raw values", "json or avro-confluent");
  }
  if (source.Has("key.format")) {
    FRAZIL_ASSIGN(columns.key_format, ReadFormat(source, "key.format", source.Text("key.format")));
  }
  FRAZIL_TRY(ReadKeyFields(source, columns));
  FRAZIL_TRY(ReadJsonOptions(source, columns));
  FRAZIL_ASSIGN(config.registry, ReadRegistry(settings, source, "value", columns.value_format));
  FRAZIL_ASSIGN(const auto of_keys, ReadRegistry(settings, source, "key", columns.key_format));
  if (!config.registry.empty() && !of_keys.empty() && config.registry != of_keys) {
    return tl::unexpected(
        Error(ErrorCode::kNotSupported, "one schema registry for keys and another for values: " + source.prefix())
            .WithHint("the options below key.avro-confluent, credentials included, have to be those below "
                      "value.avro-confluent; or write them once, below avro-confluent"));
  }
  if (config.registry.empty()) config.registry = of_keys;
  config.value_subject = SubjectOf(source, "value", config.topic);
  config.key_subject = SubjectOf(source, "key", config.topic);
  return {};
}

/// `[catalog.]namespace.table`; `catalog` is set where the name begins with one.
Result<catalog::TableName> ReadTableName(const SettingSection& section, const std::string& key,
                                         const std::vector<std::string>& catalogs, std::string& catalog) {
  Result<catalog::TableName> name = catalog::TableName::Parse(section.Text(key));
  if (!name) return tl::unexpected(section.At(key, std::move(name).error()));
  catalog::Namespace& levels = name->levels;
  if (levels.size() > 1 && std::find(catalogs.begin(), catalogs.end(), levels[0]) != catalogs.end()) {
    catalog = levels[0];
    levels.erase(levels.begin());
  }
  return name;
}

Status ReadSink(const Settings& settings, const std::vector<std::string>& catalogs, PipelineConfig& config) {
  const SettingSection sink(settings, "pipelines." + config.id + ".sink");
  FRAZIL_TRY(sink.Required("table"));
  FRAZIL_ASSIGN(config.table, ReadTableName(sink, "table", catalogs, config.catalog));
  FRAZIL_ASSIGN(config.identifier_fields, sink.List("identifier-fields"));
  for (const auto& [column, source] : sink.Map("columns")) config.columns.source_of[column] = source;
  FRAZIL_ASSIGN(config.columns.ignored_fields, sink.List("ignored-fields"));
  FRAZIL_ASSIGN(config.columns.adds_columns, sink.Boolean("evolve-schema-enabled", true));
  FRAZIL_ASSIGN(config.create_if_missing, sink.Boolean("create-if-missing", false));
  config.schema = sink.Text("schema");
  FRAZIL_ASSIGN(config.partition_by, sink.List("partition-by"));
  config.table_properties = sink.Map("table-properties");
  if (config.create_if_missing && config.identifier_fields.empty()) {
    return Wrong(sink, "create-if-missing", ErrorCode::kInvalidArgument, "a new table needs identifier-fields");
  }
  FRAZIL_ASSIGN(const bool is_upsert, sink.Boolean("upsert-enabled", true));
  if (!is_upsert) return Wrong(sink, "upsert-enabled", ErrorCode::kNotSupported, "appending without upserts");
  using ingest::LandingMode;
  FRAZIL_ASSIGN(config.landing,
                OneOf<LandingMode>(
                    sink, "landing", "auto",
                    {{"auto", LandingMode::kAuto}, {"never", LandingMode::kNever}, {"always", LandingMode::kAlways}}));
  return {};
}

Status ReadCommit(const Settings& settings, PipelineConfig& config) {
  constexpr std::chrono::milliseconds kShortest{10'000};
  const SettingSection commit(settings, "pipelines." + config.id + ".commit");
  FRAZIL_ASSIGN(config.commit_interval, commit.Duration("interval", config.commit_interval));
  if (config.commit_interval < kShortest) {
    return Wrong(commit, "interval", ErrorCode::kInvalidArgument, "too short: '" + commit.Text("interval") + "'",
                 "at least 10s; frazil's own SQL need not wait for it");
  }
  FRAZIL_ASSIGN(config.commit_max_bytes, commit.Bytes("max-bytes", config.commit_max_bytes));
  FRAZIL_ASSIGN(config.commit_max_records, commit.Number("max-records", config.commit_max_records));
  if (config.commit_max_records < 1 || config.commit_max_bytes < 1) {
    return Wrong(commit, config.commit_max_records < 1 ? "max-records" : "max-bytes", ErrorCode::kInvalidArgument,
                 "must be at least 1");
  }
  return {};
}

Status ReadOnError(const Settings& settings, const std::vector<std::string>& catalogs, PipelineConfig& config) {
  using Policy = ingest::PoisonRule::Policy;
  const SettingSection on_error(settings, "pipelines." + config.id + ".on-error");
  FRAZIL_ASSIGN(config.poison.policy,
                OneOf<Policy>(on_error, "decode", "fail",
                              {{"fail", Policy::kFail}, {"skip", Policy::kSkip}, {"dlq", Policy::kDeadLetterTopic}}));
  FRAZIL_ASSIGN(config.poison.max_per_minute, on_error.Number("max-per-minute", config.poison.max_per_minute));
  config.dead_letter_topic = on_error.Text("dlq-topic");
  const bool has_table = on_error.Has("dlq-table");
  if (has_table && !config.dead_letter_topic.empty()) {
    return Wrong(on_error, "dlq-table", ErrorCode::kInvalidArgument, "dead letters go to a topic or to a table");
  }
  const bool wants_letters = config.poison.policy == Policy::kDeadLetterTopic;
  if (wants_letters && config.dead_letter_topic.empty() && !has_table) {
    return Wrong(on_error, "decode", ErrorCode::kInvalidArgument, "dead letters need a place",
                 "on-error.dlq-topic or on-error.dlq-table");
  }
  if (!wants_letters && (!config.dead_letter_topic.empty() || has_table)) {
    return Wrong(on_error, has_table ? "dlq-table" : "dlq-topic", ErrorCode::kInvalidArgument,
                 "nothing would be sent there", "it needs on-error.decode: dlq");
  }
  if (!has_table) return {};
  config.poison.policy = Policy::kDeadLetterTable;
  FRAZIL_ASSIGN(config.dead_letter_table, ReadTableName(on_error, "dlq-table", catalogs, config.dead_letter_catalog));
  if (config.dead_letter_table->ToString() == config.table.ToString() && config.dead_letter_catalog == config.catalog) {
    return Wrong(on_error, "dlq-table", ErrorCode::kInvalidArgument, "it is the pipeline's own table");
  }
  return {};
}

}  // namespace

std::string PipelineConfig::TableText() const { return (catalog.empty() ? "" : catalog + ".") + table.ToString(); }

ingest::PipelineOptions PipelineConfig::ToOptions() const {
  ingest::PipelineOptions options;
  options.id = id;
  options.startup = startup;
  options.poison = poison;
  options.commit_interval = commit_interval;
  options.commit_max_bytes = commit_max_bytes;
  options.commit_max_records = commit_max_records;
  options.landing = landing;
  options.discovery_interval = discovery_interval;
  options.is_bounded = is_bounded;
  options.bound = bound;
  return options;
}

Result<PipelineConfig> ReadPipelineConfig(const Settings& settings, const std::string& id,
                                          const std::vector<std::string>& catalogs) {
  const auto is_plain = [](unsigned char c) { return std::isalnum(c) != 0 || c == '-' || c == '_'; };
  if (id.empty() || !std::all_of(id.begin(), id.end(), is_plain)) {
    return Fail(ErrorCode::kInvalidArgument, "a pipeline's name is letters, digits, '-' and '_': '{}'", id);
  }
  PipelineConfig config;
  config.id = id;
  FRAZIL_TRY(ReadSource(settings, config));
  FRAZIL_TRY(ReadSink(settings, catalogs, config));
  FRAZIL_TRY(ReadCommit(settings, config));
  FRAZIL_TRY(ReadOnError(settings, catalogs, config));
  return config;
}

Result<std::vector<PipelineConfig>> ReadPipelineConfigs(const Settings& settings,
                                                        const std::vector<std::string>& catalogs,
                                                        const std::string& default_catalog) {
  const auto identity_of = [&](const PipelineConfig& config) {
    return std::tuple(config.catalog.empty() ? default_catalog : config.catalog, config.table.levels,
                      config.table.name);
  };
  std::vector<PipelineConfig> configs;
  for (const std::string& id : NamesBelow(settings, "pipelines")) {
    FRAZIL_ASSIGN(configs.emplace_back(), ReadPipelineConfig(settings, id, catalogs));
    for (size_t i = 0; i + 1 < configs.size(); ++i) {
      if (identity_of(configs[i]) != identity_of(configs.back())) continue;
      return Fail(ErrorCode::kInvalidArgument, "pipelines '{}' and '{}' feed the same table: {}", configs[i].id, id,
                  configs.back().TableText());
    }
  }
  return configs;
}

}  // namespace frazil::service
