#include "frazil/ingest/kafka_client.h"

#include <algorithm>
#include <string_view>

#include "frazil/base/log.h"
#include "frazil/spec/schema.h"

namespace frazil::ingest {
namespace {

using AdminOptions = std::unique_ptr<rd_kafka_AdminOptions_t, KafkaDestroy<rd_kafka_AdminOptions_destroy>>;
using TopicCollection = std::unique_ptr<rd_kafka_TopicCollection_t, KafkaDestroy<rd_kafka_TopicCollection_destroy>>;
using ConfigResource = std::unique_ptr<rd_kafka_ConfigResource_t, KafkaDestroy<rd_kafka_ConfigResource_destroy>>;

/// librdkafka ends requests in time; the margin is for its own bookkeeping.
constexpr int kMarginMs = 5'000;
constexpr int kSyslogError = 3;

int Milliseconds(std::chrono::milliseconds time) { return static_cast<int>(time.count()); }

AdminOptions NewOptions(const KafkaClient& client, rd_kafka_admin_op_t operation) {
  AdminOptions options(rd_kafka_AdminOptions_new(client.handle(), operation));
  char ignored[128];
  rd_kafka_AdminOptions_set_request_timeout(options.get(), Milliseconds(client.request_timeout()), ignored,
                                            sizeof(ignored));
  return options;
}

TopicCollection Named(const std::string& topic) {
  const char* names[] = {topic.c_str()};
  return TopicCollection(rd_kafka_TopicCollection_of_topic_names(names, 1));
}

/// What the nearest property is called, of the Java client's and librdkafka's own; empty: nothing is near.
std::string NearestProperty(const std::string& name) {
  std::vector<std::string> known = JavaPropertyNames();
  const std::unique_ptr<rd_kafka_conf_t, KafkaDestroy<rd_kafka_conf_destroy>> conf(rd_kafka_conf_new());
  size_t count = 0;
  const char** pairs = rd_kafka_conf_dump(conf.get(), &count);
  for (size_t i = 0; i < count; i += 2) known.emplace_back(pairs[i]);
  rd_kafka_conf_dump_free(pairs, count);
  return spec::NearestName(name, known);
}

Result<std::string> SetProperty(rd_kafka_conf_t* conf, const std::string& name, const std::string& value) {
  char text[512];
  switch (rd_kafka_conf_set(conf, name.c_str(), value.c_str(), text, sizeof(text))) {
    case RD_KAFKA_CONF_OK: return "";
    case RD_KAFKA_CONF_UNKNOWN: {
      const std::string nearest = NearestProperty(name);
      return tl::unexpected(Error(ErrorCode::kInvalidArgument, "unknown Kafka client property: " + name)
                                .WithHint(nearest.empty() ? "" : "did you mean properties." + nearest + "?"));
    }
    case RD_KAFKA_CONF_INVALID: break;
  }
  if (IsSecretProperty(name)) {
    return Fail(ErrorCode::kInvalidArgument, "Kafka client property has a value that cannot be: {}", name);
  }
  return Fail(ErrorCode::kInvalidArgument, "Kafka client property {}: {}", name, text);
}

/// librdkafka ends its complaints with times and states of its own: "(after 0ms in state CONNECT, ...)".
std::string WithoutState(std::string_view complaint) {
  return std::string(complaint.substr(0, complaint.find(" (after ")));
}

}  // namespace

Status CheckKafkaProperties(const KafkaProperties& properties) {
  FRAZIL_ASSIGN(const KafkaClientConfig config, TranslateKafkaProperties(properties));
  const std::unique_ptr<rd_kafka_conf_t, KafkaDestroy<rd_kafka_conf_destroy>> conf(rd_kafka_conf_new());
  for (const auto& [name, value] : config.values) FRAZIL_TRY(SetProperty(conf.get(), name, value));
  return {};
}

ErrorCode CodeOfKafkaError(rd_kafka_resp_err_t code) {
  switch (code) {
    case RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART:
    case RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_ID:
    case RD_KAFKA_RESP_ERR__UNKNOWN_TOPIC:
    case RD_KAFKA_RESP_ERR__UNKNOWN_PARTITION: return ErrorCode::kNotFound;
    case RD_KAFKA_RESP_ERR__AUTO_OFFSET_RESET:
    case RD_KAFKA_RESP_ERR_OFFSET_OUT_OF_RANGE:
    case RD_KAFKA_RESP_ERR__LOG_TRUNCATION:
    case RD_KAFKA_RESP_ERR__FENCED: return ErrorCode::kFenced;
    case RD_KAFKA_RESP_ERR__BAD_MSG:
    case RD_KAFKA_RESP_ERR__BAD_COMPRESSION:
    case RD_KAFKA_RESP_ERR_INVALID_MSG: return ErrorCode::kCorruptData;
    case RD_KAFKA_RESP_ERR__INVALID_ARG:
    case RD_KAFKA_RESP_ERR__CONFLICT:
    case RD_KAFKA_RESP_ERR_TOPIC_EXCEPTION:
    case RD_KAFKA_RESP_ERR_INVALID_CONFIG:
    case RD_KAFKA_RESP_ERR_POLICY_VIOLATION:
    case RD_KAFKA_RESP_ERR_MSG_SIZE_TOO_LARGE:
    case RD_KAFKA_RESP_ERR_INVALID_GROUP_ID: return ErrorCode::kInvalidArgument;
    case RD_KAFKA_RESP_ERR__UNSUPPORTED_FEATURE:
    case RD_KAFKA_RESP_ERR__NOT_IMPLEMENTED:  // a compression that the client was built without
    case RD_KAFKA_RESP_ERR_UNSUPPORTED_VERSION: return ErrorCode::kNotSupported;
    case RD_KAFKA_RESP_ERR_TOPIC_ALREADY_EXISTS: return ErrorCode::kAlreadyExists;
    default: return ErrorCode::kUnavailable;
  }
}

Result<std::unique_ptr<KafkaClient>> KafkaClient::Make(rd_kafka_type_t type, const KafkaClientConfig& config,
                                                       OnDelivery on_delivery) {
  std::unique_ptr<KafkaClient> client(new KafkaClient());
  std::unique_ptr<rd_kafka_conf_t, KafkaDestroy<rd_kafka_conf_destroy>> conf(rd_kafka_conf_new());
  for (const auto& [name, value] : config.values) {
    FRAZIL_TRY(SetProperty(conf.get(), name, value));
    if (name == "bootstrap.servers") client->bootstrap_servers_ = value;
  }
  rd_kafka_conf_set_log_cb(conf.get(), &KafkaClient::OnLog);
  rd_kafka_conf_set_error_cb(conf.get(), &KafkaClient::OnError);
  rd_kafka_conf_set_opaque(conf.get(), client.get());
  if (on_delivery != nullptr) {
    rd_kafka_conf_set_dr_msg_cb(conf.get(), &KafkaClient::OnDelivered);
    client->on_delivery_ = std::move(on_delivery);
  }
  char text[512];
  client->handle_ = rd_kafka_new(type, conf.get(), text, sizeof(text));
  if (client->handle_ == nullptr) return Fail(ErrorCode::kInvalidArgument, "Kafka client: {}", text);
  static_cast<void>(conf.release());  // it is the client's now
  return client;
}

KafkaClient::~KafkaClient() {
  if (handle_ != nullptr) rd_kafka_destroy(handle_);
}

void KafkaClient::OnLog(const rd_kafka_t* handle, int level, const char* facility, const char* text) {
  std::string_view line(text);
  if (line.starts_with("[thrd:")) line.remove_prefix(std::min(line.size(), line.find("]: ") + 3));
  // What is broken the caller hears from the request that fails; all of it would be said again and again.
  Log::Debug("kafka: {} {}", facility, line);
  if (level <= kSyslogError && handle != nullptr) {
    static_cast<const KafkaClient*>(rd_kafka_opaque(handle))->SetTrouble(WithoutState(line));
  }
}

void KafkaClient::OnDelivered(rd_kafka_t* handle, const rd_kafka_message_t* message, void* opaque) {
  static_cast<void>(handle);
  static_cast<const KafkaClient*>(opaque)->on_delivery_(*message);
}

void KafkaClient::OnError(rd_kafka_t* handle, int code, const char* reason, void* opaque) {
  static_cast<void>(handle);
  if (code == RD_KAFKA_RESP_ERR__ALL_BROKERS_DOWN) return;  // its cause was said before
  static_cast<const KafkaClient*>(opaque)->SetTrouble(WithoutState(reason));
}

void KafkaClient::SetTrouble(std::string text) const {
  const std::lock_guard lock(mutex_);
  trouble_ = std::move(text);
}

std::string KafkaClient::trouble() const {
  const std::lock_guard lock(mutex_);
  return trouble_;
}

Error KafkaClient::ErrorOf(rd_kafka_resp_err_t code, const std::string& what, const char* text) const {
  std::string message = fmt::format("{}: {}", what, text != nullptr && *text != '\0' ? text : rd_kafka_err2str(code));
  // Which of its steps librdkafka was waiting in tells nobody anything.
  if (code == RD_KAFKA_RESP_ERR__TIMED_OUT) message = what + ": no answer";
  const ErrorCode kind = CodeOfKafkaError(code);
  const std::string last = trouble();
  if (kind == ErrorCode::kUnavailable && !last.empty() && message.find(last) == std::string::npos) {
    message += fmt::format(" ({})", last);
  }
  return Error(kind, std::move(message));
}

template <typename Ask>
Result<KafkaEvent> KafkaClient::Request(rd_kafka_admin_op_t operation, const std::string& what, Ask ask,
                                        std::optional<rd_kafka_IsolationLevel_t> isolation) {
  const AdminOptions options = NewOptions(*this, operation);
  if (isolation) rd_kafka_AdminOptions_set_isolation_level(options.get(), *isolation);
  const KafkaQueue queue(rd_kafka_queue_new(handle_));
  ask(options.get(), queue.get());
  KafkaEvent event(rd_kafka_queue_poll(queue.get(), Milliseconds(request_timeout_) + kMarginMs));
  if (event == nullptr) return tl::unexpected(ErrorOf(RD_KAFKA_RESP_ERR__TIMED_OUT, what));
  if (const rd_kafka_resp_err_t code = rd_kafka_event_error(event.get()); code != RD_KAFKA_RESP_ERR_NO_ERROR) {
    return tl::unexpected(ErrorOf(code, what, rd_kafka_event_error_string(event.get())));
  }
  SetTrouble("");
  return event;
}

Result<std::string> KafkaClient::ClusterId() {
  char* id = rd_kafka_clusterid(handle_, Milliseconds(request_timeout_));
  if (id == nullptr) {
    return tl::unexpected(ErrorOf(RD_KAFKA_RESP_ERR__TIMED_OUT, "cluster id of " + bootstrap_servers_));
  }
  std::string text(id);
  rd_kafka_mem_free(handle_, id);
  return text;
}

Result<std::vector<std::string>> KafkaClient::TopicNames() {
  const rd_kafka_metadata_t* found = nullptr;
  const rd_kafka_resp_err_t code = rd_kafka_metadata(handle_, 1, nullptr, &found, Milliseconds(request_timeout_));
  if (code != RD_KAFKA_RESP_ERR_NO_ERROR) {
    return tl::unexpected(ErrorOf(code, "topics at " + bootstrap_servers_));
  }
  const std::unique_ptr<const rd_kafka_metadata_t, KafkaDestroy<rd_kafka_metadata_destroy>> metadata(found);
  std::vector<std::string> names;
  for (int i = 0; i < metadata->topic_cnt; ++i) {
    const std::string_view name = metadata->topics[i].topic;
    if (!name.starts_with("__")) names.emplace_back(name);
  }
  std::sort(names.begin(), names.end());
  return names;
}

void KafkaClient::BeginDescribe(const std::string& topic, rd_kafka_queue_t* queue) {
  const AdminOptions options = NewOptions(*this, RD_KAFKA_ADMIN_OP_DESCRIBETOPICS);
  const TopicCollection topics = Named(topic);
  rd_kafka_DescribeTopics(handle_, topics.get(), options.get(), queue);
}

Result<KafkaTopic> KafkaClient::TakeDescription(const std::string& topic, rd_kafka_event_t* event) {
  const std::string what = fmt::format("topic {} at {}", topic, bootstrap_servers_);
  if (const rd_kafka_resp_err_t code = rd_kafka_event_error(event); code != RD_KAFKA_RESP_ERR_NO_ERROR) {
    return tl::unexpected(ErrorOf(code, what, rd_kafka_event_error_string(event)));
  }
  size_t count = 0;
  const rd_kafka_TopicDescription_t** found =
      rd_kafka_DescribeTopics_result_topics(rd_kafka_event_DescribeTopics_result(event), &count);
  if (count != 1) return Fail(ErrorCode::kInternal, "{}: {} descriptions of one topic", what, count);
  if (const rd_kafka_error_t* error = rd_kafka_TopicDescription_error(found[0]);
      error != nullptr && rd_kafka_error_code(error) != RD_KAFKA_RESP_ERR_NO_ERROR) {
    if (CodeOfKafkaError(rd_kafka_error_code(error)) == ErrorCode::kNotFound) {
      return Fail(ErrorCode::kNotFound, "topic not found at {}: {}", bootstrap_servers_, topic);
    }
    return tl::unexpected(ErrorOf(rd_kafka_error_code(error), what, rd_kafka_error_string(error)));
  }
  KafkaTopic description;
  const rd_kafka_Uuid_t* id = rd_kafka_TopicDescription_topic_id(found[0]);
  if (rd_kafka_Uuid_most_significant_bits(id) != 0 || rd_kafka_Uuid_least_significant_bits(id) != 0) {
    description.id = rd_kafka_Uuid_base64str(id);
  }
  const rd_kafka_TopicPartitionInfo_t** partitions = rd_kafka_TopicDescription_partitions(found[0], &count);
  for (size_t i = 0; i < count; ++i) {
    description.partitions.push_back(rd_kafka_TopicPartitionInfo_partition(partitions[i]));
  }
  return description;
}

Result<KafkaTopic> KafkaClient::Describe(const std::string& topic) {
  FRAZIL_ASSIGN(const KafkaEvent event,
                Request(RD_KAFKA_ADMIN_OP_DESCRIBETOPICS, fmt::format("topic {} at {}", topic, bootstrap_servers_),
                        [&](rd_kafka_AdminOptions_t* options, rd_kafka_queue_t* queue) {
                          const TopicCollection topics = Named(topic);
                          rd_kafka_DescribeTopics(handle_, topics.get(), options, queue);
                        }));
  return TakeDescription(topic, event.get());
}

Result<std::map<int32_t, int64_t>> KafkaClient::ListOffsets(const std::string& topic,
                                                            const std::vector<int32_t>& partitions, int64_t spec,
                                                            rd_kafka_IsolationLevel_t isolation) {
  const std::string what = fmt::format("offsets of topic {} at {}", topic, bootstrap_servers_);
  const KafkaPartitionList asked(rd_kafka_topic_partition_list_new(static_cast<int>(partitions.size())));
  for (const int32_t partition : partitions) {
    rd_kafka_topic_partition_list_add(asked.get(), topic.c_str(), partition)->offset = spec;
  }
  FRAZIL_ASSIGN(const KafkaEvent event, Request(
                                            RD_KAFKA_ADMIN_OP_LISTOFFSETS, what,
                                            [&](rd_kafka_AdminOptions_t* options, rd_kafka_queue_t* queue) {
                                              rd_kafka_ListOffsets(handle_, asked.get(), options, queue);
                                            },
                                            isolation));
  size_t count = 0;
  const rd_kafka_ListOffsetsResultInfo_t** infos =
      rd_kafka_ListOffsets_result_infos(rd_kafka_event_ListOffsets_result(event.get()), &count);
  std::map<int32_t, int64_t> offsets;
  for (size_t i = 0; i < count; ++i) {
    const rd_kafka_topic_partition_t* found = rd_kafka_ListOffsetsResultInfo_topic_partition(infos[i]);
    if (found->err != RD_KAFKA_RESP_ERR_NO_ERROR) {
      return tl::unexpected(ErrorOf(found->err, fmt::format("{}, partition {}", what, found->partition)));
    }
    offsets[found->partition] = found->offset;
  }
  return offsets;
}

Result<std::map<std::string, std::string>> KafkaClient::TopicConfig(const std::string& topic) {
  const std::string what = fmt::format("settings of topic {} at {}", topic, bootstrap_servers_);
  const ConfigResource resource(rd_kafka_ConfigResource_new(RD_KAFKA_RESOURCE_TOPIC, topic.c_str()));
  rd_kafka_ConfigResource_t* asked[] = {resource.get()};
  FRAZIL_ASSIGN(const KafkaEvent event, Request(RD_KAFKA_ADMIN_OP_DESCRIBECONFIGS, what,
                                                [&](rd_kafka_AdminOptions_t* options, rd_kafka_queue_t* queue) {
                                                  rd_kafka_DescribeConfigs(handle_, asked, 1, options, queue);
                                                }));
  size_t count = 0;
  const rd_kafka_ConfigResource_t** found =
      rd_kafka_DescribeConfigs_result_resources(rd_kafka_event_DescribeConfigs_result(event.get()), &count);
  std::map<std::string, std::string> settings;
  for (size_t i = 0; i < count; ++i) {
    const auto code = rd_kafka_ConfigResource_error(found[i]);
    if (code == RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED) {
      Log::Warn("{} cannot be seen: the operation DescribeConfigs is not allowed", what);
      return settings;
    }
    if (code != RD_KAFKA_RESP_ERR_NO_ERROR) {
      return tl::unexpected(ErrorOf(code, what, rd_kafka_ConfigResource_error_string(found[i])));
    }
    size_t entries = 0;
    const rd_kafka_ConfigEntry_t** entry = rd_kafka_ConfigResource_configs(found[i], &entries);
    for (size_t j = 0; j < entries; ++j) {
      const char* value = rd_kafka_ConfigEntry_value(entry[j]);
      settings[rd_kafka_ConfigEntry_name(entry[j])] = value == nullptr ? "" : value;
    }
  }
  return settings;
}

Result<std::map<int32_t, int64_t>> KafkaClient::GroupOffsets(const std::string& group, const std::string& topic,
                                                             const std::vector<int32_t>& partitions) {
  const std::string what = fmt::format("offsets of group {} at {}", group, bootstrap_servers_);
  KafkaPartitionList asked(rd_kafka_topic_partition_list_new(static_cast<int>(partitions.size())));
  for (const int32_t partition : partitions) rd_kafka_topic_partition_list_add(asked.get(), topic.c_str(), partition);
  std::unique_ptr<rd_kafka_ListConsumerGroupOffsets_t, KafkaDestroy<rd_kafka_ListConsumerGroupOffsets_destroy>> request(
      rd_kafka_ListConsumerGroupOffsets_new(group.c_str(), asked.get()));
  rd_kafka_ListConsumerGroupOffsets_t* requests[] = {request.get()};
  FRAZIL_ASSIGN(const KafkaEvent event, Request(RD_KAFKA_ADMIN_OP_LISTCONSUMERGROUPOFFSETS, what,
                                                [&](rd_kafka_AdminOptions_t* options, rd_kafka_queue_t* queue) {
                                                  // Offsets of a transaction that is not decided yet are waited for.
                                                  rd_kafka_AdminOptions_set_require_stable_offsets(options, 1);
                                                  rd_kafka_ListConsumerGroupOffsets(handle_, requests, 1, options,
                                                                                    queue);
                                                }));
  size_t count = 0;
  const rd_kafka_group_result_t** groups = rd_kafka_ListConsumerGroupOffsets_result_groups(
      rd_kafka_event_ListConsumerGroupOffsets_result(event.get()), &count);
  std::map<int32_t, int64_t> offsets;
  for (size_t i = 0; i < count; ++i) {
    if (const rd_kafka_error_t* error = rd_kafka_group_result_error(groups[i]); error != nullptr) {
      return tl::unexpected(ErrorOf(rd_kafka_error_code(error), what, rd_kafka_error_string(error)));
    }
    const rd_kafka_topic_partition_list_t* found = rd_kafka_group_result_partitions(groups[i]);
    for (int j = 0; found != nullptr && j < found->cnt; ++j) {
      if (found->elems[j].offset >= 0) offsets[found->elems[j].partition] = found->elems[j].offset;
    }
  }
  return offsets;
}

}  // namespace frazil::ingest
