#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "duckdb/main/client_context.hpp"
#include "duckdb/main/config.hpp"
#include "duckdb/storage/buffer_manager.hpp"
#include "frazil/base/memory_budget.h"
#include "frazil/sql/engine.h"

namespace frazil::sql {

/// The settings that DuckDB begins with.
void Configure(const EngineOptions& options, duckdb::DBConfig& config);
/// And those of a connection, as statements.
std::vector<std::string> ConnectionSettings();
/// Makes the connection count how far its queries are; what is shown is up to who watches.
void CountProgress(duckdb::ClientContext& context);
/// The query that answers (key, value) of one of DuckDB's settings; it fails when there is none.
std::string ShowSettingQuery(const std::string& key);

/// How much of the limit of DuckDB's memory queries have: others have reserved some, rows that are written need some. One
/// thread.
class QueryMemory {
 public:
  /// `budget` may be null.
  QueryMemory(duckdb::BufferManager& buffers, MemoryBudget* budget);

  /// Leaves `room` bytes to others; half of what was asked for is always the query's. Follows SET memory_limit.
  void Limit(int64_t room);

 private:
  duckdb::BufferManager& buffers_;
  MemoryBudget* const budget_;
  int64_t asked_bytes_;  ///< the limit that --memory-limit or the last SET memory_limit gave DuckDB
  int64_t given_bytes_;  ///< and what it has of that now
};

/// While it lives DuckDB need not keep the order of rows. No statements: each would make DuckDB forget a cancel.
class Unordered {
 public:
  explicit Unordered(duckdb::ClientContext& context);
  ~Unordered();
  Unordered(const Unordered&) = delete;

 private:
  duckdb::DBConfig& config_;
  bool keeps_order_ = false;
};

}  // namespace frazil::sql
