#include "frazil/cli/config_keys.h"

#include <algorithm>
#include <array>

#include "frazil/spec/schema.h"

namespace frazil::cli {
namespace {

constexpr ConfigKey kKeys[] = {
    {"version", "1", "Of this file's form"},
    {"default-catalog", "local", "Catalog that names without one mean"},
    {"catalogs.*.**", "", "Properties of a catalog, PyIceberg's names: type, uri, warehouse"},

    {"schema-registries.*.url", "", "Confluent-compatible registry; several with commas; may carry a path"},
    {"schema-registries.*.**", "", "As Flink's avro-confluent: basic-auth.user-info, bearer-auth.token, ssl.*"},

    {"pipelines.*.source.connector", "kafka", "kafka or upsert-kafka (Flink)"},
    {"pipelines.*.source.topic", "", "Topic"},
    {"pipelines.*.source.registry", "", "Name below schema-registries"},
    {"pipelines.*.source.properties.**", "", "Kafka client properties, Java's or librdkafka's names"},
    {"pipelines.*.source.scan.startup.mode", "group-offsets",
     "Of a new pipeline: earliest-offset (upsert-kafka's default), latest-offset, group-offsets, timestamp, "
     "specific-offsets"},
    {"pipelines.*.source.scan.startup.specific-offsets", "", "partition:0,offset:42;partition:1,offset:300"},
    {"pipelines.*.source.scan.startup.timestamp-millis", "", "Milliseconds since 1970 UTC"},
    {"pipelines.*.source.scan.bounded.mode", "unbounded",
     "unbounded, latest-offset (end where the topic ends now), timestamp, specific-offsets"},
    {"pipelines.*.source.scan.bounded.specific-offsets", "", "partition:0,offset:42;partition:1,offset:300"},
    {"pipelines.*.source.scan.bounded.timestamp-millis", "", "Milliseconds since 1970 UTC"},
    {"pipelines.*.source.scan.topic-partition-discovery.interval", "5min", "How often new partitions are looked for"},
    {"pipelines.*.source.key.format", "by the topic", "raw, json, avro-confluent"},
    {"pipelines.*.source.key.fields", "", "Columns that the key gives, with ';' (raw keys: exactly one)"},
    {"pipelines.*.source.key.fields-prefix", "", "Prefix of the columns that the key gives"},
    {"pipelines.*.source.value.format", "avro-confluent", "json, avro-confluent"},
    {"pipelines.*.source.format", "avro-confluent", "The same as value.format"},
    {"pipelines.*.source.value.fields-include", "ALL", "ALL or EXCEPT_KEY"},
    {"pipelines.*.source.avro-confluent.**", "", "As value.avro-confluent"},
    {"pipelines.*.source.key.avro-confluent.**", "", "As value.avro-confluent, of the key"},
    {"pipelines.*.source.value.avro-confluent.**", "", "Registry: url, basic-auth.*, bearer-auth.*, subject"},
    {"pipelines.*.source.json.**", "", "timestamp-format.standard"},
    {"pipelines.*.source.key.json.**", "", "timestamp-format.standard"},
    {"pipelines.*.source.value.json.**", "", "timestamp-format.standard"},

    {"pipelines.*.sink.table", "", "[catalog.]namespace.table"},
    {"pipelines.*.sink.identifier-fields", "those of the table", "Primary key"},
    {"pipelines.*.sink.columns.**", "the field of the same name",
     "Column: field by path, $timestamp, $partition, $offset, $headers.x, $key, $key.x"},
    {"pipelines.*.sink.ignored-fields", "", "Fields of the value that become no columns"},
    {"pipelines.*.sink.evolve-schema-enabled", "true", "New fields of the value become columns"},
    {"pipelines.*.sink.create-if-missing", "false", "Create namespace and table"},
    {"pipelines.*.sink.schema", "from the registry", "With create-if-missing: \"id bigint, name string\""},
    {"pipelines.*.sink.partition-by", "", "With create-if-missing: [\"bucket(32, app_id)\", \"days(at)\"]"},
    {"pipelines.*.sink.table-properties.**", "", "With create-if-missing"},
    {"pipelines.*.sink.upsert-enabled", "true", "Always true"},
    {"pipelines.*.sink.landing", "auto", "auto, never, always: small commits as few files, moved to partitions later"},

    {"pipelines.*.commit.interval", "5min", "Freshness of other engines; at least 10s"},
    {"pipelines.*.commit.max-bytes", "256MB", "Commit earlier when as many bytes of rows have gathered"},
    {"pipelines.*.commit.max-records", "2000000", "Commit earlier when as many records have gathered"},

    {"pipelines.*.on-error.decode", "fail", "A record that cannot be taken: fail, skip, dlq"},
    {"pipelines.*.on-error.dlq-topic", "", "Topic that dead letters go to"},
    {"pipelines.*.on-error.dlq-table", "", "Table that they go to in its place; made when missing"},
    {"pipelines.*.on-error.max-per-minute", "100", "More of them stop the pipeline"},

    {"limits.memory", "60 % of the machine", "Memory of everything together"},
    {"limits.threads", "CPUs", "Threads"},
    {"limits.temp-dir", "FRAZIL_HOME/tmp", "Where queries spill"},

    {"http.listen", "127.0.0.1:8780", "Address and port; port 0: any free one; empty: no HTTP"},
    {"http.auth.token", "FRAZIL_HOME/state/http.token", "Needed by all but reads from this machine"},
    {"metrics.detail", "table", "table, or partition: offsets by partition too"},
    {"metrics.allow", ".*", "Regular expression of the metric names to show"},
};

/// Designed, not built.
constexpr std::array<std::string_view, 10> kLater = {"maintenance",
                                                     "alerts",
                                                     "lineage",
                                                     "profiles",
                                                     "http.ui",
                                                     "limits.temp-bytes",
                                                     "limits.s3-requests-per-second",
                                                     "pipelines.*.commit.freshness-slo",
                                                     "pipelines.*.sink.order-by",
                                                     "pipelines.*.sink.branch"};

/// Flink's, which have no meaning here: what to do instead.
struct ForeignKey {
  std::string_view pattern;
  const char* hint;
};
constexpr ForeignKey kForeign[] = {
    {"pipelines.*.source.scan.parallelism", "one worker reads a topic, with limits.threads: remove it"},
    {"pipelines.*.source.scan.watermark.**", "a table of upserts needs no watermarks: remove it"},
    {"pipelines.*.source.topic-pattern", "a pipeline reads one topic: name it with topic"},
};

std::vector<std::string_view> Parts(std::string_view key) {
  std::vector<std::string_view> parts;
  for (size_t begin = 0; begin <= key.size();) {
    const size_t end = std::min(key.find('.', begin), key.size());
    parts.push_back(key.substr(begin, end - begin));
    begin = end + 1;
  }
  return parts;
}

/// `is_prefix`: whatever lies below the pattern belongs to it as well.
bool Matches(std::string_view pattern, std::string_view key, bool is_prefix) {
  const std::vector<std::string_view> wanted = Parts(pattern);
  const std::vector<std::string_view> given = Parts(key);
  for (size_t i = 0; i < wanted.size(); ++i) {
    if (i >= given.size() || given[i].empty()) return false;
    if (wanted[i] == "**") return true;
    if (wanted[i] != "*" && wanted[i] != given[i]) return false;
  }
  return is_prefix || wanted.size() == given.size();
}

/// The pattern with the user's names in place of `*`, so that it can be compared with what was typed.
std::string WithNamesOf(std::string_view pattern, const std::vector<std::string_view>& given) {
  std::string text;
  const std::vector<std::string_view> parts = Parts(pattern);
  for (size_t i = 0; i < parts.size(); ++i) {
    if (parts[i] == "**") break;
    text += (i == 0 ? "" : ".") + std::string(parts[i] == "*" && i < given.size() ? given[i] : parts[i]);
  }
  return text;
}

}  // namespace

std::span<const ConfigKey> AllConfigKeys() { return kKeys; }

const ConfigKey* FindConfigKey(std::string_view key) {
  const auto* found = std::find_if(std::begin(kKeys), std::end(kKeys),
                                   [&](const ConfigKey& known) { return Matches(known.pattern, key, false); });
  return found == std::end(kKeys) ? nullptr : found;
}

Status CheckConfigKey(const std::string& key) {
  if (FindConfigKey(key) != nullptr) return {};
  for (const ForeignKey& foreign : kForeign) {
    if (!Matches(foreign.pattern, key, false)) continue;
    return tl::unexpected(
        Error(ErrorCode::kNotSupported, fmt::format("configuration setting '{}'", key)).WithHint(foreign.hint));
  }
  for (const std::string_view later : kLater) {
    if (Matches(later, key, true)) return Fail(ErrorCode::kNotSupported, "configuration setting '{}'", key);
  }
  // "pipelines.<name>." is the same in all candidates and would drown the slip in the rest.
  const std::vector<std::string_view> given = Parts(key);
  const bool is_named = given.size() > 2 && (given[0] == "pipelines" || given[0] == "schema-registries");
  const std::string prefix = is_named ? fmt::format("{}.{}.", given[0], given[1]) : "";
  std::vector<std::string> known;
  for (const ConfigKey& entry : kKeys) {
    const std::string name = WithNamesOf(entry.pattern, given);
    if (name.starts_with(prefix)) known.push_back(name.substr(prefix.size()));
  }
  const std::string nearest = spec::NearestName(key.substr(prefix.size()), known);
  Error error(ErrorCode::kInvalidArgument, fmt::format("unknown setting '{}'", key));
  return tl::unexpected(std::move(error).WithHint(nearest.empty() ? "frazil config list shows all settings"
                                                                  : "did you mean " + prefix + nearest + "?"));
}

}  // namespace frazil::cli
