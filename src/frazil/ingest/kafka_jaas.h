#pragma once

#include <map>
#include <string>
#include <string_view>

#include "frazil/base/result.h"

namespace frazil::ingest {

/// One login module of a JAAS configuration as Java clients are given it in `sasl.jaas.config`.
struct JaasModule {
  std::string class_name;
  std::map<std::string, std::string> options;
};

/// `org.apache...PlainLoginModule required username="u" password="p";`: quoted by " or ', with \ before a quote or another \.
/// kInvalidArgument saying what is wrong but not the text, which holds a password; kNotSupported for several modules.
Result<JaasModule> ParseJaas(std::string_view text);

}  // namespace frazil::ingest
