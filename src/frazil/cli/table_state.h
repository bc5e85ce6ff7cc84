#pragma once

#include <string>

#include "frazil/cli/config.h"
#include "frazil/spec/table_metadata.h"

namespace frazil::cli {

/// Local state of a table: `$FRAZIL_HOME/state/<table uuid>`. All of it can be deleted without loss.
inline std::string TableStateFolder(const Config& config, const spec::TableMetadata& metadata) {
  return config.home() + "/state/" + metadata.table_uuid.ToString();
}

/// The key index of a table (index::IndexDirectory).
inline std::string KeyIndexFolder(const Config& config, const spec::TableMetadata& metadata) {
  return TableStateFolder(config, metadata) + "/index";
}

/// Where what does not fit in memory goes.
inline std::string TempDirectory(const Config& config) {
  const std::string configured = config.Get("limits.temp-dir");
  return configured.empty() ? config.home() + "/tmp" : configured;
}

}  // namespace frazil::cli
