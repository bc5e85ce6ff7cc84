#include "frazil/ingest/kafka_properties.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <string_view>

#include "frazil/ingest/kafka_jaas.h"
#include "frazil/spec/ascii.h"

namespace frazil::ingest {
namespace {

enum class Treatment {
  kRenamed,      ///< `text` is librdkafka's name
  kNoEffect,     ///< `text` says why
  kRefused,      ///< `text` says what to write instead
  kUnsupported,  ///< `text` says what to use instead
  kHandled,      ///< translated below, together with others
};

struct Rule {
  std::string_view name;  ///< of the Java client; a trailing * stands for anything
  Treatment treatment;
  std::string_view text;
};

// What the Java client (and Flink's use of it) knows and librdkafka does not, or means otherwise. All other names are the
// same in both, or librdkafka's own.
constexpr auto kRules = std::to_array<Rule>({
    {"auto.include.jmx.reporter", Treatment::kNoEffect, "frazil has metrics of its own at /metrics"},
    {"auto.commit.interval.ms", Treatment::kNoEffect, "group offsets are stored after each commit to the table"},
    {"auto.offset.reset", Treatment::kHandled, ""},
    {"client.id.prefix", Treatment::kNoEffect, "there is one client a pipeline; client.id names it"},
    {"commit.offsets.on.checkpoint", Treatment::kNoEffect, "group offsets are stored after each commit to the table"},
    {"config.providers", Treatment::kRefused, "write ${file:...} or ${NAME} in frazil's configuration"},
    {"default.api.timeout.ms", Treatment::kNoEffect, "socket.timeout.ms bounds every request"},
    {"enable.auto.commit", Treatment::kHandled, ""},
    {"exclude.internal.topics", Treatment::kNoEffect, "the topic is named"},
    {"fetch.max.wait.ms", Treatment::kRenamed, "fetch.wait.max.ms"},
    {"interceptor.classes", Treatment::kRefused, "a Java class cannot run here: remove it"},
    {"internal.leave.group.on.close", Treatment::kNoEffect, "the consumer group has no members"},
    {"isolation.level", Treatment::kHandled, ""},
    {"key.deserializer", Treatment::kNoEffect, "key.format says how keys are read"},
    {"max.poll.records", Treatment::kNoEffect, "records are taken in batches; commit.max-records bounds a commit"},
    {"metadata.max.age.ms", Treatment::kRenamed, "topic.metadata.refresh.interval.ms"},
    {"metric.reporters", Treatment::kRefused,
     "a Java class cannot run here: frazil has metrics of its own at /metrics"},
    {"metrics.*", Treatment::kNoEffect, "frazil has metrics of its own at /metrics"},
    {"partition.assignment.strategy", Treatment::kNoEffect, "a pipeline reads every partition of its topic itself"},
    {"partition.discovery.interval.ms", Treatment::kNoEffect, "scan.topic-partition-discovery.interval says it"},
    {"receive.buffer.bytes", Treatment::kRenamed, "socket.receive.buffer.bytes"},
    {"register.consumer.metrics", Treatment::kNoEffect, "frazil has metrics of its own at /metrics"},
    {"request.timeout.ms", Treatment::kRenamed, "socket.timeout.ms"},
    {"sasl.client.callback.handler.class", Treatment::kRefused,
     "a Java class cannot run here: use SCRAM, PLAIN, or OAUTHBEARER with sasl.oauthbearer.token.endpoint.url"},
    {"sasl.jaas.config", Treatment::kHandled, ""},
    {"sasl.kerberos.*", Treatment::kUnsupported, "Kerberos: use SCRAM, PLAIN or OAUTHBEARER"},
    {"sasl.login.callback.handler.class", Treatment::kHandled, ""},
    {"sasl.login.*", Treatment::kRefused, "a token is fetched from sasl.oauthbearer.token.endpoint.url: remove it"},
    {"sasl.mechanism", Treatment::kHandled, ""},
    {"sasl.oauthbearer.jwks.*", Treatment::kRefused, "it is the broker's setting: remove it"},
    {"security.protocol", Treatment::kHandled, ""},
    {"security.providers", Treatment::kRefused, "a Java class cannot run here: remove it"},
    {"send.buffer.bytes", Treatment::kRenamed, "socket.send.buffer.bytes"},
    {"socket.connection.setup.timeout.max.ms", Treatment::kNoEffect, "socket.connection.setup.timeout.ms bounds it"},
    {"ssl.enabled.protocols", Treatment::kNoEffect, "OpenSSL agrees on the newest protocol with the broker"},
    {"ssl.endpoint.identification.algorithm", Treatment::kHandled, ""},
    {"ssl.engine.factory.class", Treatment::kRefused, "a Java class cannot run here: remove it"},
    {"ssl.keymanager.algorithm", Treatment::kNoEffect, "OpenSSL does the work"},
    {"ssl.keystore.*", Treatment::kHandled, ""},
    {"ssl.key.password", Treatment::kHandled, ""},
    {"ssl.protocol", Treatment::kNoEffect, "OpenSSL agrees on the newest protocol with the broker"},
    {"ssl.provider", Treatment::kNoEffect, "OpenSSL does the work"},
    {"ssl.secure.random.implementation", Treatment::kNoEffect, "OpenSSL does the work"},
    {"ssl.trustmanager.algorithm", Treatment::kNoEffect, "OpenSSL does the work"},
    {"ssl.truststore.*", Treatment::kHandled, ""},
    {"throw.on.fetch.stable.offset.unsupported", Treatment::kNoEffect, "offsets are the table's"},
    {"value.deserializer", Treatment::kNoEffect, "value.format says how values are read"},
});

bool Matches(std::string_view pattern, std::string_view name) {
  if (pattern.ends_with('*')) return name.starts_with(pattern.substr(0, pattern.size() - 1));
  return pattern == name;
}

const Rule* FindRule(std::string_view name) {
  const auto found = std::find_if(kRules.begin(), kRules.end(), [&](const Rule& r) { return Matches(r.name, name); });
  return found == kRules.end() ? nullptr : &*found;
}

/// Flink's distributions carry the client under names of their own.
std::string_view LastPart(std::string_view class_name) { return class_name.substr(class_name.rfind('.') + 1); }

class Translation {
 public:
  explicit Translation(const KafkaProperties& java) : java_(java) {}

  Result<KafkaClientConfig> Run() {
    for (const auto& [name, value] : java_) FRAZIL_TRY(Simple(name, value));
    FRAZIL_TRY(Offsets());
    FRAZIL_TRY(Sasl());
    FRAZIL_TRY(KeyStore());
    FRAZIL_TRY(TrustStore());
    return std::move(config_);
  }

 private:
  const std::string* Get(const std::string& name) const {
    const auto found = java_.find(name);
    return found == java_.end() ? nullptr : &found->second;
  }
  void Put(const std::string& name, std::string value) { config_.values[name] = std::move(value); }
  void NoEffect(std::string_view name, std::string_view why) {
    config_.notices.push_back(fmt::format("properties.{} has no effect: {}", name, why));
  }

  Status Simple(const std::string& name, const std::string& value) {
    const Rule* rule = FindRule(name);
    if (rule == nullptr) {
      Put(name, value);
      return {};
    }
    switch (rule->treatment) {
      case Treatment::kRenamed:
        // -1 is Java's "as the operating system does", 0 is librdkafka's.
        Put(std::string(rule->text), name.ends_with("buffer.bytes") && value == "-1" ? "0" : value);
        break;
      case Treatment::kNoEffect: NoEffect(name, rule->text); break;
      case Treatment::kRefused:
        return tl::unexpected(Error(ErrorCode::kInvalidArgument, fmt::format("properties.{} cannot be used", name))
                                  .WithHint(std::string(rule->text)));
      case Treatment::kUnsupported: return Fail(ErrorCode::kNotSupported, "properties.{}: {}", name, rule->text);
      case Treatment::kHandled: break;
    }
    return {};
  }

  Status Offsets() {
    if (const std::string* value = Get("enable.auto.commit"); value != nullptr && spec::EqualsAnyCase(*value, "true")) {
      NoEffect("enable.auto.commit", "group offsets are stored after each commit to the table");
    }
    if (const std::string* value = Get("isolation.level");
        value != nullptr && !spec::EqualsAnyCase(*value, "read_committed")) {
      return tl::unexpected(
          Error(ErrorCode::kInvalidArgument, fmt::format("properties.isolation.level cannot be {}", *value))
              .WithHint("only read_committed never shows rows of an aborted transaction: remove it"));
    }
    if (const std::string* value = Get("ssl.endpoint.identification.algorithm")) {
      Put("ssl.endpoint.identification.algorithm", value->empty() ? "none" : spec::ToLower(*value));
    }
    if (const std::string* value = Get("security.protocol")) Put("security.protocol", spec::ToLower(*value));
    return {};
  }

  Status Sasl() {
    std::string mechanism = "GSSAPI";  // Java's default
    const bool is_sasl =
        config_.values.contains("security.protocol") && config_.values["security.protocol"].starts_with("sasl_");
    if (const std::string* value = Get("sasl.mechanism")) mechanism = *value;
    if (const std::string* value = Get("sasl.mechanisms")) mechanism = *value;
    if (mechanism == "AWS_MSK_IAM") {
      return Fail(ErrorCode::kNotSupported,
                  "properties.sasl.mechanism AWS_MSK_IAM: use SCRAM-SHA-512, which MSK offers on another port");
    }
    if (is_sasl && mechanism == "GSSAPI") {
      return Fail(ErrorCode::kNotSupported,
                  "Kerberos (properties.sasl.mechanism GSSAPI): use SCRAM-SHA-512, "
                  "SCRAM-SHA-256, PLAIN or OAUTHBEARER");
    }
    if (Get("sasl.mechanism") != nullptr || Get("sasl.mechanisms") != nullptr) {
      config_.values.erase("sasl.mechanisms");
      Put("sasl.mechanism", mechanism);
    }
    const std::string* jaas = Get("sasl.jaas.config");
    if (jaas != nullptr) FRAZIL_TRY(Jaas(*jaas));
    const bool has_endpoint = Get("sasl.oauthbearer.token.endpoint.url") != nullptr;
    if (has_endpoint) config_.values.try_emplace("sasl.oauthbearer.method", "oidc");
    if (const std::string* handler = Get("sasl.login.callback.handler.class")) {
      const std::string_view last = LastPart(*handler);
      if (!has_endpoint || !last.starts_with("OAuthBearerLoginCallbackHandler")) {
        return tl::unexpected(
            Error(ErrorCode::kInvalidArgument, "properties.sasl.login.callback.handler.class cannot be used")
                .WithHint("a Java class cannot run here: OAUTHBEARER gets its token from "
                          "sasl.oauthbearer.token.endpoint.url"));
      }
    }
    return {};
  }

  Status Jaas(const std::string& text) {
    FRAZIL_ASSIGN(const JaasModule module, ParseJaas(text));
    const std::string_view kind = LastPart(module.class_name);
    if (kind == "PlainLoginModule" || kind == "ScramLoginModule") {
      return Take(module, {{"username", "sasl.username"}, {"password", "sasl.password"}});
    }
    if (kind == "OAuthBearerLoginModule") {
      return Take(module, {{"clientId", "sasl.oauthbearer.client.id"},
                           {"clientSecret", "sasl.oauthbearer.client.secret"},
                           {"scope", "sasl.oauthbearer.scope"}});
    }
    return tl::unexpected(Error(ErrorCode::kNotSupported,
                                fmt::format("login module of properties.sasl.jaas.config: {}", module.class_name))
                              .WithHint("PlainLoginModule, ScramLoginModule (SCRAM-SHA-256, SCRAM-SHA-512) and "
                                        "OAuthBearerLoginModule can be used"));
  }

  Status Take(const JaasModule& module, const std::map<std::string, std::string>& names) {
    for (const auto& [option, value] : module.options) {
      const auto known = names.find(option);
      if (known == names.end()) {
        return Fail(ErrorCode::kNotSupported, "option of {} in properties.sasl.jaas.config: {}",
                    LastPart(module.class_name), option);
      }
      Put(known->second, value);
    }
    return {};
  }

  /// PKCS12, PEM or JKS, in capitals; by the file's ending where nothing is said.
  std::string StoreType(const std::string& prefix, const std::string& location) const {
    if (const std::string* type = Get(prefix + ".type")) {
      std::string upper = *type;
      for (char& c : upper) c = c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
      return upper;
    }
    const std::string lower = spec::ToLower(location);
    if (lower.ends_with(".p12") || lower.ends_with(".pfx")) return "PKCS12";
    if (lower.ends_with(".pem") || lower.ends_with(".crt") || lower.ends_with(".cer")) return "PEM";
    return "JKS";
  }

  Status KeyStore() {
    const std::string* key_password = Get("ssl.key.password");
    const std::string* location = Get("ssl.keystore.location");
    const std::string* store_password = Get("ssl.keystore.password");
    if (const std::string* chain = Get("ssl.keystore.certificate.chain")) Put("ssl.certificate.pem", *chain);
    if (const std::string* key = Get("ssl.keystore.key")) Put("ssl.key.pem", *key);
    if (location == nullptr) {
      if (key_password != nullptr) Put("ssl.key.password", *key_password);
      return {};
    }
    const std::string type = StoreType("ssl.keystore", *location);
    if (type == "PKCS12") {
      Put("ssl.keystore.location", *location);
      if (store_password != nullptr) Put("ssl.keystore.password", *store_password);
    } else if (type == "PEM") {  // key and certificates in one file
      Put("ssl.key.location", *location);
      Put("ssl.certificate.location", *location);
      if (key_password != nullptr) Put("ssl.key.password", *key_password);
    } else {
      return tl::unexpected(
          Error(ErrorCode::kInvalidArgument,
                fmt::format("properties.ssl.keystore.location cannot be a {} store: {}", type, *location))
              .WithHint(
                  "keytool -importkeystore -srckeystore FILE -destkeystore keystore.p12 -deststoretype PKCS12, and "
                  "properties.ssl.keystore.type: PKCS12"));
    }
    return {};
  }

  Status TrustStore() {
    if (const std::string* certificates = Get("ssl.truststore.certificates")) Put("ssl.ca.pem", *certificates);
    const std::string* location = Get("ssl.truststore.location");
    if (location == nullptr) return {};
    const std::string type = StoreType("ssl.truststore", *location);
    if (type != "PEM") {
      return tl::unexpected(
          Error(ErrorCode::kInvalidArgument,
                fmt::format("properties.ssl.truststore.location cannot be a {} store: {}", type, *location))
              .WithHint("keytool -list -rfc -keystore FILE > ca.pem, and properties.ssl.truststore.type: PEM"));
    }
    Put("ssl.ca.location", *location);
    return {};
  }

  const KafkaProperties& java_;
  KafkaClientConfig config_;
};

// ---- the source section

Result<int64_t> ParseNumber(const std::string& option, std::string_view text) {
  int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size() || number < 0) {
    return Fail(ErrorCode::kInvalidArgument, "{} has to be a whole number that is not negative: {}", option, text);
  }
  return number;
}

/// `partition:0,offset:42;partition:1,offset:300`
Result<std::map<int32_t, int64_t>> ParseSpecificOffsets(const std::string& option, std::string_view text) {
  std::map<int32_t, int64_t> offsets;
  while (!text.empty()) {
    std::string_view entry = spec::Trim(text.substr(0, text.find(';')));
    text.remove_prefix(std::min(text.size(), entry.empty() ? 1 : text.find(';')));
    if (!text.empty() && text.front() == ';') text.remove_prefix(1);
    if (entry.empty()) continue;
    const size_t comma = entry.find(',');
    std::string_view partition = spec::Trim(entry.substr(0, comma));
    std::string_view offset = comma == std::string_view::npos ? "" : spec::Trim(entry.substr(comma + 1));
    if (!partition.starts_with("partition:") || !offset.starts_with("offset:")) {
      return Fail(ErrorCode::kInvalidArgument,
                  "{} has to be of the form partition:0,offset:42;partition:1,offset:300: {}", option, entry);
    }
    FRAZIL_ASSIGN(const int64_t number, ParseNumber(option, partition.substr(10)));
    FRAZIL_ASSIGN(const int64_t position, ParseNumber(option, offset.substr(7)));
    if (number > INT32_MAX || !offsets.emplace(static_cast<int32_t>(number), position).second) {
      return Fail(ErrorCode::kInvalidArgument, "{} names a partition twice, or one that cannot be: {}", option, number);
    }
  }
  return offsets;
}

class SourceReader {
 public:
  explicit SourceReader(const KafkaProperties& options) : rest_(options) {}

  Result<KafkaSourceConfig> Run() {
    const std::string connector = Take("connector");
    if (connector != "" && connector != "kafka" && connector != "upsert-kafka") {
      return Fail(ErrorCode::kInvalidArgument, "connector has to be kafka or upsert-kafka: {}", connector);
    }
    if (rest_.contains("topic-pattern")) {
      return Fail(ErrorCode::kNotSupported, "topic-pattern: a pipeline reads one topic; name it with topic");
    }
    config_.topic = Take("topic");
    if (config_.topic.empty()) return Fail(ErrorCode::kInvalidArgument, "topic is missing");
    if (config_.topic.find(';') != std::string::npos) {
      return Fail(ErrorCode::kNotSupported, "several topics in one pipeline: {}", config_.topic);
    }
    // What is upserted is complete only from the beginning on, so that is where Flink begins.
    FRAZIL_TRY(Startup(connector == "upsert-kafka" ? "earliest-offset" : "group-offsets"));
    FRAZIL_TRY(Bounded());
    for (const auto& [name, value] : rest_) {
      if (name.starts_with("properties.")) {
        config_.properties[name.substr(11)] = value;
      } else if (name.starts_with("scan.startup.") || name.starts_with("scan.bounded.")) {
        return Fail(ErrorCode::kInvalidArgument, "{} does not fit the mode", name);
      } else {
        config_.others[name] = value;
      }
    }
    if (config_.properties["bootstrap.servers"].empty()) {
      return Fail(ErrorCode::kInvalidArgument, "properties.bootstrap.servers is missing");
    }
    FRAZIL_TRY(GroupOffsets());
    FRAZIL_TRY(TranslateKafkaProperties(config_.properties));
    return std::move(config_);
  }

 private:
  std::string Take(const std::string& name) {
    const auto node = rest_.extract(name);
    return node.empty() ? "" : node.mapped();
  }

  Status Startup(const std::string& otherwise) {
    using Kind = StartupMode::Kind;
    const std::string given = Take("scan.startup.mode");
    const std::string& mode = given.empty() ? otherwise : given;
    StartupMode& startup = config_.startup;
    if (mode == "group-offsets") {
      startup.kind = Kind::kGroupOffsets;
    } else if (mode == "earliest-offset") {
      startup.kind = Kind::kEarliest;
    } else {
      FRAZIL_ASSIGN(const bool is_known, TakePlace("scan.startup", mode, startup));
      if (is_known) return {};
      return Fail(ErrorCode::kInvalidArgument,
                  "scan.startup.mode has to be earliest-offset, latest-offset, group-offsets, timestamp or "
                  "specific-offsets: {}",
                  mode);
    }
    return {};
  }

  /// The modes in which reading can begin as well as end; false: `mode` is none of them.
  Result<bool> TakePlace(const std::string& prefix, const std::string& mode, StartupMode& place) {
    using Kind = StartupMode::Kind;
    if (mode == "latest-offset") {
      place.kind = Kind::kLatest;
    } else if (mode == "timestamp") {
      place.kind = Kind::kTimestamp;
      const std::string option = prefix + ".timestamp-millis";
      FRAZIL_ASSIGN(place.timestamp_ms, ParseNumber(option, Take(option)));
    } else if (mode == "specific-offsets") {
      place.kind = Kind::kSpecificOffsets;
      const std::string option = prefix + ".specific-offsets";
      FRAZIL_ASSIGN(place.specific_offsets, ParseSpecificOffsets(option, Take(option)));
    } else {
      return false;
    }
    return true;
  }

  Status Bounded() {
    const std::string mode = Take("scan.bounded.mode");
    if (mode == "" || mode == "unbounded") return {};
    FRAZIL_ASSIGN(config_.is_bounded, TakePlace("scan.bounded", mode, config_.bound));
    if (config_.is_bounded) return {};
    if (mode == "group-offsets") {
      // A pipeline tells its own group what it has committed: it would end where it begins.
      return Fail(ErrorCode::kNotSupported,
                  "scan.bounded.mode {}: latest-offset, timestamp and specific-offsets can be used", mode);
    }
    return Fail(ErrorCode::kInvalidArgument,
                "scan.bounded.mode has to be unbounded, latest-offset, timestamp or specific-offsets: {}", mode);
  }

  /// Flink starts there when the group has no offset; everywhere else frazil never jumps.
  Status GroupOffsets() {
    const auto reset = config_.properties.find("auto.offset.reset");
    if (reset == config_.properties.end()) return {};
    const std::string value = spec::ToLower(reset->second);
    if (value == "earliest" || value == "smallest" || value == "beginning") {
      config_.startup.without_group_offset = StartupMode::Kind::kEarliest;
    } else if (value == "latest" || value == "largest" || value == "end") {
      config_.startup.without_group_offset = StartupMode::Kind::kLatest;
    } else if (value != "none" && value != "error") {
      return Fail(ErrorCode::kInvalidArgument, "properties.auto.offset.reset has to be earliest, latest or none: {}",
                  reset->second);
    }
    return {};
  }

  KafkaProperties rest_;
  KafkaSourceConfig config_;
};

}  // namespace

Result<KafkaClientConfig> TranslateKafkaProperties(const KafkaProperties& properties) {
  return Translation(properties).Run();
}

std::vector<std::string> JavaPropertyNames() {
  std::vector<std::string> names;
  for (const Rule& rule : kRules) {
    if (!rule.name.ends_with('*')) names.emplace_back(rule.name);
  }
  return names;
}

bool IsSecretProperty(const std::string& name) {
  // `access-key` is in s3.access-key-id and s3.secret-access-key; JAAS texts hold a password.
  constexpr auto kParts =
      std::to_array<std::string_view>({"password", "secret", "token", "jaas", ".pem", "keystore.key", "private.key",
                                       "assertion", "credential", "access-key", "user-info", "user.info", "webhook"});
  const std::string lower = spec::ToLower(name);
  if (lower.ends_with("credentials-source") || lower.ends_with("credentials.source")) return false;
  for (const std::string_view part : kParts) {
    if (lower.find(part) != std::string::npos) return true;
  }
  return false;
}

Result<KafkaSourceConfig> ParseKafkaSource(const KafkaProperties& options) { return SourceReader(options).Run(); }

}  // namespace frazil::ingest
