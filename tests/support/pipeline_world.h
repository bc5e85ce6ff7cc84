#pragma once

#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "frazil/catalog/catalog.h"
#include "frazil/ingest/pipeline.h"
#include "tests/support/fake_record_source.h"
#include "tests/support/scenario.h"

namespace frazil::test {

/// A topic, a table, and pipelines from one to the other. Checks a table against the topic at the offsets that the table
/// itself records. Runs go on the calling thread unless an executor is given; then time is the machine's.
class PipelineWorld {
 public:
  struct Options {
    int32_t num_partitions = 2;
    index::Partitioning partitioning = index::Partitioning::kNone;
    std::map<std::string, std::string> properties;
    std::shared_ptr<catalog::Catalog> catalog;  ///< null: in memory
    bool create_table = true;
  };
  PipelineWorld() : PipelineWorld(Options{}) {}
  explicit PipelineWorld(Options options);

  /// What a pipeline gets unless a test says otherwise: from the earliest record, to the end that the topic has now.
  ingest::PipelineOptions BoundedOptions();
  /// `catalog`: null, or one that goes before the world's.
  std::unique_ptr<ingest::Pipeline> NewPipeline(ingest::PipelineOptions options,
                                                std::shared_ptr<catalog::Catalog> catalog = nullptr,
                                                std::unique_ptr<ingest::DeadLetters> dead_letters = nullptr);
  /// A new process that reads to the topic's end.
  Status Run(std::shared_ptr<catalog::Catalog> catalog = nullptr);
  Status Run(ingest::PipelineOptions options, std::shared_ptr<catalog::Catalog> catalog = nullptr);

  void Append(const std::vector<Change>& changes) {
    for (const Change& change : changes) topic->Append(change);
  }

  table::Table Table() const { return *table::Table::Load(catalog, kName); }
  table::EffectiveMarker Marker() const;
  /// The pipeline's offsets in the table.
  std::map<int32_t, int64_t> Committed() const;
  std::map<int64_t, std::string> Rows() const;
  std::map<int64_t, int64_t> RowIds() const;
  size_t NumSnapshots() const { return Table().metadata()->snapshots.size(); }

  /// The table holds what the topic holds below the table's offsets, and all invariants hold. `foreign`: rows that others
  /// brought, by id.
  void ExpectRight(const std::map<int64_t, std::string>& foreign = {}) const;
  /// The same, and the whole topic is in.
  void ExpectComplete(const std::map<int64_t, std::string>& foreign = {}) const;

  inline static const catalog::TableName kName{{"db"}, "t"};
  static constexpr char kId[] = "kafka:fake";

  std::shared_ptr<ManualClock> clock = std::make_shared<ManualClock>(1'700'000'000'000);
  std::shared_ptr<FakeTopic> topic;
  std::shared_ptr<catalog::Catalog> catalog;
  std::vector<std::string> notices;
  std::optional<ingest::PipelineStatus> status;  ///< of the last Run()
};

}  // namespace frazil::test
