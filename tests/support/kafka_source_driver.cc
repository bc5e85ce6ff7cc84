// Drives one Kafka source for tests/kafka: a command a line on standard input, an answer in JSON a line on standard output.
//     kafka_source_driver TOPIC [headers] NAME=VALUE...       client properties in Java's names

#include <cstdio>
#include <iostream>
#include <sstream>

#include <nlohmann/json.hpp>

#include "frazil/base/error.h"
#include "frazil/ingest/dead_letter_topic.h"
#include "frazil/ingest/kafka_source.h"

namespace {

using frazil::ErrorCode;
using frazil::Result;
using frazil::ingest::RecordSource;
using frazil::ingest::SourcePositions;
using frazil::ingest::SourceRecord;
using frazil::ingest::StartupMode;
using Json = nlohmann::json;

Json TextOrNull(const std::optional<std::string_view>& text) { return text ? Json(std::string(*text)) : Json(nullptr); }

Json ToJson(const SourceRecord& record) {
  Json headers = Json::array();
  for (const auto& [name, value] : record.headers) {
    headers.push_back({std::string(name), value.data() == nullptr ? Json(nullptr) : Json(std::string(value))});
  }
  return {{"partition", record.partition},
          {"offset", record.offset},
          {"key", TextOrNull(record.key)},
          {"value", TextOrNull(record.value)},
          {"timestamp", record.timestamp_ms ? Json(*record.timestamp_ms) : Json(nullptr)},
          {"epoch", record.leader_epoch ? Json(*record.leader_epoch) : Json(nullptr)},
          {"headers", headers}};
}

Json ToJson(const SourcePositions& positions) {
  Json json = Json::object();
  for (const auto& [partition, position] : positions) json[std::to_string(partition)] = position.next;
  return json;
}

template <typename T>
Json Done(const Result<T>& result) {
  if (result) return {{"ok", true}};
  return {{"error", std::string(frazil::ErrorCodeName(result.error().code()))}, {"message", result.error().ToString()}};
}

/// "0:5 1:7:3": partition, offset and, where known, leader epoch.
SourcePositions ReadPositions(std::istringstream& words) {
  SourcePositions positions;
  for (std::string word; words >> word;) {
    int partition = 0;
    long long offset = 0;
    int epoch = 0;
    const int found = std::sscanf(word.c_str(), "%d:%lld:%d", &partition, &offset, &epoch);
    positions[partition].next = offset;
    if (found == 3) positions[partition].leader_epoch = epoch;
  }
  return positions;
}

StartupMode ReadMode(std::istringstream& words) {
  StartupMode mode;
  std::string kind;
  words >> kind;
  if (kind == "earliest") mode.kind = StartupMode::Kind::kEarliest;
  if (kind == "latest") mode.kind = StartupMode::Kind::kLatest;
  if (kind == "group-else-earliest") mode.without_group_offset = StartupMode::Kind::kEarliest;
  if (kind == "timestamp") {
    mode.kind = StartupMode::Kind::kTimestamp;
    words >> mode.timestamp_ms;
  }
  if (kind == "specific") {
    mode.kind = StartupMode::Kind::kSpecificOffsets;
    for (const auto& [partition, position] : ReadPositions(words)) mode.specific_offsets[partition] = position.next;
  }
  return mode;
}

Json Poll(RecordSource& source, std::istringstream& words) {
  size_t max = 0;
  int timeout_ms = 0;
  words >> max >> timeout_ms;
  const auto records = source.Poll(max, std::chrono::milliseconds(timeout_ms));
  Json answer = Done(records);
  if (records) {
    answer["records"] = Json::array();
    for (const SourceRecord& record : *records) answer["records"].push_back(ToJson(record));
  }
  return answer;
}

/// Counts what comes until every partition stands where it ended at the start: for rates and for large topics.
Json Count(RecordSource& source) {
  const auto bounds = source.Bounds();
  if (!bounds) return Done(bounds);
  int64_t count = 0;
  for (;;) {
    bool is_done = true;
    for (const auto& [partition, position] : source.Positions()) {
      is_done = is_done && position.next >= bounds->at(partition).end;
    }
    if (is_done) return {{"ok", true}, {"count", count}};
    const auto records = source.Poll(10'000, std::chrono::milliseconds(1'000));
    if (!records && records.error().code() != ErrorCode::kUnavailable) return Done(records);
    if (records) count += static_cast<int64_t>(records->size());
  }
}

/// Writes what the next polls bring to a dead-letter topic: "reject TOPIC COUNT reason ...".
Json Reject(RecordSource& source, frazil::ingest::DeadLetterTopicOptions options, std::istringstream& words) {
  size_t count = 0;
  std::string reason;
  words >> options.topic >> count;
  std::getline(words >> std::ws, reason);
  const auto letters = MakeDeadLetterTopic(std::move(options));
  if (!letters) return Done(letters);
  while (count > 0) {
    const auto records = source.Poll(count, std::chrono::milliseconds(1'000));
    if (!records) return Done(records);
    for (const SourceRecord& record : *records) {
      if (const auto added = (*letters)->Add(record, reason); !added) return Done(added);
    }
    count -= records->size();
  }
  return Done((*letters)->Flush());
}

Json Answer(RecordSource& source, const frazil::ingest::KafkaSourceOptions& options, const std::string& line) {
  std::istringstream words(line);
  std::string command;
  words >> command;
  if (command == "identity") {
    const auto identity = source.Identity();
    Json answer = Done(identity);
    if (identity) answer["identity"] = *identity;
    return answer;
  }
  if (command == "bounds") {
    const auto bounds = source.Bounds();
    Json answer = Done(bounds);
    if (bounds) {
      for (const auto& [partition, limits] : *bounds) {
        answer["bounds"][std::to_string(partition)] = {limits.log_start, limits.end};
      }
    }
    return answer;
  }
  if (command == "resolve") {
    const auto offsets = source.Resolve(ReadMode(words));
    Json answer = Done(offsets);
    if (offsets) {
      for (const auto& [partition, offset] : *offsets) answer["offsets"][std::to_string(partition)] = offset;
    }
    return answer;
  }
  if (command == "retention") {
    const auto retention = source.TombstoneRetention();
    Json answer = Done(retention);
    if (retention) answer["retention"] = *retention ? Json((*retention)->count()) : Json(nullptr);
    return answer;
  }
  if (command == "assign") return Done(source.Assign(ReadPositions(words)));
  if (command == "poll") return Poll(source, words);
  if (command == "count") return Count(source);
  if (command == "positions") return {{"ok", true}, {"positions", ToJson(source.Positions())}};
  if (command == "check") return Done(source.CheckSame());
  if (command == "pause") return Done(source.Pause());
  if (command == "resume") return Done(source.Resume());
  if (command == "store") return Done(source.StoreCommitted(ReadPositions(words)));
  if (command == "reject") return Reject(source, {"", options.topic, options.properties}, words);
  return {{"error", "unknown command"}, {"message", line}};
}

}  // namespace

int main(int argc, char** argv) {
  frazil::ingest::KafkaSourceOptions options;
  for (int i = 1; i < argc; ++i) {
    const std::string argument = argv[i];
    if (i == 1) {
      options.topic = argument;
    } else if (argument == "headers") {
      options.with_headers = true;
    } else {
      const size_t equals = argument.find('=');
      options.properties[argument.substr(0, equals)] = argument.substr(equals + 1);
    }
  }
  std::vector<std::string> notices;
  options.on_notice = [&](const std::string& notice) { notices.push_back(notice); };
  const auto source = frazil::ingest::MakeKafkaSource(options);
  Json made = Done(source);
  made["notices"] = notices;
  std::cout << made.dump(-1, ' ', false, Json::error_handler_t::replace) << std::endl;
  if (!source) return 1;
  for (std::string line; std::getline(std::cin, line);) {
    std::cout << Answer(**source, options, line).dump(-1, ' ', false, Json::error_handler_t::replace) << std::endl;
  }
  return 0;
}
