#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "frazil/base/result.h"

namespace frazil::ingest {

/// A schema as the registry holds it; references are resolved by whoever parses it.
struct RegisteredSchema {
  struct Reference {
    std::string name;
    std::string subject;
    int version = 0;
  };
  int32_t id = 0;
  std::string type = "AVRO";  ///< AVRO, JSON, PROTOBUF
  std::string text;
  std::vector<Reference> references;
};

/// Client of a Confluent-compatible schema registry. Thread-safe.
///
/// Errors: kNotFound (the id or subject is unknown: that record is poison), kUnavailable (5xx, time-out, 401, 403: wait;
/// the message has the reason and the URL without credentials), kInvalidArgument (an answer that is none).
class SchemaRegistry {
 public:
  virtual ~SchemaRegistry() = default;
  /// Kept after the first answer: an id never changes its meaning.
  virtual Result<std::shared_ptr<const RegisteredSchema>> ById(int32_t id) = 0;
  virtual Result<std::shared_ptr<const RegisteredSchema>> BySubject(const std::string& subject, int version) = 0;
  virtual Result<std::shared_ptr<const RegisteredSchema>> Latest(const std::string& subject) = 0;
  /// The id of the schema under the subject, registered if it is not there yet.
  virtual Result<int32_t> Register(const std::string& subject, const RegisteredSchema& schema) = 0;
};

}  // namespace frazil::ingest
