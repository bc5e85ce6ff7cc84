#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "frazil/base/request_counters.h"
#include "frazil/base/result.h"
#include "frazil/ingest/http_client.h"
#include "frazil/ingest/schema_registry.h"

namespace frazil::ingest {

struct RegistryOptions {
  /// Base addresses with any path that the interface lies under; the next one is asked when one does not answer.
  std::vector<std::string> urls;
  HttpOptions http;
  std::shared_ptr<RequestCounters> counters;  ///< of requests, by what they ask for; may be null
};

/// Options in the names of Flink's `avro-confluent` format without prefix: url (several with commas), basic-auth.user-info,
/// basic-auth.credentials-source, bearer-auth.token, bearer-auth.credentials-source, ssl.*. A user in the URL serves as
/// basic authentication. kInvalidArgument naming the option, never a secret.
Result<RegistryOptions> ParseRegistryOptions(const std::map<std::string, std::string>& options);

/// Speaks Confluent's interface. Answers about an id are kept for good; a subject's latest version is always asked for.
Result<std::unique_ptr<SchemaRegistry>> MakeRegistryClient(RegistryOptions options);

/// What an answer to any question says about whether a registry answers: all do, a refusal of this question too. kUnavailable:
/// 401 (nobody is let in with these credentials), and those that mean later (5xx, 408, 429).
Status JudgeRegistryAnswer(const HttpResponse& answer, const std::string& url);
/// Asks the registry's servers for the newest version of a subject that need not exist; ok when one of them answers, else the
/// error of the last one. Errors of HttpClient::Send() besides.
Status CheckRegistryAnswers(const RegistryOptions& options, const std::string& subject);

}  // namespace frazil::ingest
