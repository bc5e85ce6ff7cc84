#include "frazil/sql/duckdb_settings.h"

#include <algorithm>

#include "duckdb/common/exception.hpp"
#include "duckdb/main/client_config.hpp"
#include "duckdb/main/settings.hpp"
#include "frazil/base/result.h"
#include "frazil/sql/query_text.h"
#include "frazil/sql/type_text.h"

namespace frazil::sql {

namespace {

using KeepsOrderSetting = duckdb::PreserveInsertionOrderSetting;

/// DuckDB's threads each hold pages of all columns, parts of hash tables, a CSV buffer of 32 MB between a few of them.
constexpr int64_t kLeastMemoryPerThread = int64_t{48} << 20;

}  // namespace

void Configure(const EngineOptions& options, duckdb::DBConfig& config) {
  const int64_t most_threads = std::max<int64_t>(1, options.memory_limit_bytes / kLeastMemoryPerThread);
  config.SetOptionByName("threads", duckdb::Value::BIGINT(std::min<int64_t>(options.threads, most_threads)));
  config.SetOptionByName("memory_limit", duckdb::Value(std::to_string(options.memory_limit_bytes) + "B"));
  config.SetOptionByName("temp_directory", duckdb::Value(options.temp_directory));
  config.SetOptionByName("autoinstall_known_extensions", duckdb::Value::BOOLEAN(false));
  config.SetOptionByName("autoload_known_extensions", duckdb::Value::BOOLEAN(false));
}

std::vector<std::string> ConnectionSettings() {
  return {"SET TimeZone = 'UTC'", fmt::format("SET default_null_order = '{}'", kSparkNullOrder)};
}

void CountProgress(duckdb::ClientContext& context) {
  auto& settings = duckdb::ClientConfig::GetConfig(context);
  settings.enable_progress_bar = true;
  settings.print_progress_bar = false;
  settings.wait_time = 0;
}

std::string ShowSettingQuery(const std::string& key) {
  return fmt::format("SELECT {0} AS key, current_setting({0})::VARCHAR AS value", QuotedText(key));
}

QueryMemory::QueryMemory(duckdb::BufferManager& buffers, MemoryBudget* budget)
    : buffers_(buffers),
      budget_(budget),
      asked_bytes_(static_cast<int64_t>(buffers.GetMaxMemory())),
      given_bytes_(asked_bytes_) {}

void QueryMemory::Limit(int64_t room) {
  const auto limit = static_cast<int64_t>(buffers_.GetMaxMemory());
  if (limit != given_bytes_) asked_bytes_ = given_bytes_ = limit;  // SET memory_limit
  if (budget_ != nullptr) room += budget_->used_bytes();
  const int64_t wanted = std::max(asked_bytes_ / 2, asked_bytes_ - room);
  if (wanted == given_bytes_) return;
  try {
    buffers_.SetMemoryLimit(static_cast<duckdb::idx_t>(wanted));
  } catch (const duckdb::OutOfMemoryException&) {
    return;  // temporary tables hold more and cannot be spilled: it stays as it is
  }
  given_bytes_ = wanted;
}

Unordered::Unordered(duckdb::ClientContext& context) : config_(duckdb::DBConfig::GetConfig(context)) {
  duckdb::Value keeps_order;
  keeps_order_ = context.TryGetCurrentSetting(KeepsOrderSetting::Name, keeps_order) && keeps_order.GetValue<bool>();
  if (keeps_order_) config_.SetOption(KeepsOrderSetting::SettingIndex, duckdb::Value::BOOLEAN(false));
}

Unordered::~Unordered() {
  if (keeps_order_) config_.SetOption(KeepsOrderSetting::SettingIndex, duckdb::Value::BOOLEAN(true));
}

}  // namespace frazil::sql
