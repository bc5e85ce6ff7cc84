#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "frazil/base/result.h"
#include "frazil/catalog/table_name.h"
#include "frazil/ingest/pipeline.h"
#include "frazil/ingest/record_columns.h"
#include "frazil/ingest/record_source.h"
#include "frazil/service/settings.h"

namespace frazil::service {

/// What `pipelines.<id>` says, checked and in our own terms (docs/reference/config.md). A value.
struct PipelineConfig {
  std::string id;

  std::string topic;
  /// `properties.*` as they were written; ingest::TranslateKafkaProperties takes them.
  std::map<std::string, std::string> kafka_properties;
  ingest::StartupMode startup;
  bool is_bounded = false;
  ingest::StartupMode bound{.kind = ingest::StartupMode::Kind::kLatest};
  std::chrono::milliseconds discovery_interval{300'000};  ///< zero: never
  ingest::RecordColumns columns;
  /// Of the schema registry of Avro keys and values, as they were written (ingest::ParseRegistryOptions takes them); empty:
  /// records need none.
  std::map<std::string, std::string> registry;
  /// Where the schemas of a new table's columns are registered (Flink's `subject`).
  std::string value_subject;
  std::string key_subject;

  std::string catalog;  ///< empty: the default one
  catalog::TableName table;
  std::vector<std::string> identifier_fields;  ///< empty: those of the table
  bool create_if_missing = false;
  std::string schema;  ///< DDL text of the columns; empty: from the registry
  std::vector<std::string> partition_by;
  std::map<std::string, std::string> table_properties;
  ingest::LandingMode landing = ingest::LandingMode::kAuto;

  std::chrono::milliseconds commit_interval{300'000};
  int64_t commit_max_bytes = int64_t{256} << 20;
  int64_t commit_max_records = 2'000'000;

  ingest::PoisonRule poison;
  std::string dead_letter_topic;    ///< empty: dead letters do not go to a topic
  std::string dead_letter_catalog;  ///< of the table; empty: the default one
  std::optional<catalog::TableName> dead_letter_table;

  /// "catalog.namespace.table" or without the catalog.
  std::string TableText() const;
  /// What Pipeline takes of it; executor, budget, folder and notices are the caller's to set.
  ingest::PipelineOptions ToOptions() const;
};

/// Reads one pipeline. `catalogs` are the names that a table may begin with. Nothing is connected to.
/// kInvalidArgument and kNotSupported naming key and place.
Result<PipelineConfig> ReadPipelineConfig(const Settings& settings, const std::string& id,
                                          const std::vector<std::string>& catalogs);

/// All pipelines by id. kInvalidArgument when two of them feed one table, which may be named with its catalog or, where that
/// is the default one, without: one pipeline feeds one table, and one worker writes it.
Result<std::vector<PipelineConfig>> ReadPipelineConfigs(const Settings& settings,
                                                        const std::vector<std::string>& catalogs,
                                                        const std::string& default_catalog);

}  // namespace frazil::service
