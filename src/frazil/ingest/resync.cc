#include "frazil/ingest/resync.h"

#include <utility>

#include <arrow/api.h>
#include <arrow/util/byte_size.h>

#include "frazil/ingest/batch_commit.h"
#include "frazil/ingest/pipeline_start.h"
#include "frazil/ingest/poison_guard.h"
#include "frazil/ingest/verify.h"
#include "frazil/table/snapshot_change.h"
#include "frazil/write/gather.h"

namespace frazil::ingest {
namespace {

using Wanted = KeyDifference::Wanted;

/// Rows of one batch of the comparison, gathered when it goes.
struct PickedRows {
  std::shared_ptr<arrow::RecordBatch> from;
  std::vector<int64_t> rows;
  std::vector<ChangeKind> kinds;
};

class Resync {
 public:
  Resync(table::Table& table, RecordSource& source, RecordDecoder& decoder, const ResyncOptions& options, Clock& clock)
      : table_(table),
        source_(source),
        decoder_(decoder),
        options_(options),
        clock_(clock),
        pipeline_{.id = options.pipeline_id, .writer = options.writer, .source = {}, .num_partitions = {}},
        guard_(options.poison, options.dead_letters, source.description(), clock) {}

  Result<ResyncReport> Run() {
    FRAZIL_TRY(guard_.CheckPolicy());
    FRAZIL_TRY(Prepare());
    FRAZIL_TRY(Compare());
    if (options_.dead_letters != nullptr) FRAZIL_TRY(options_.dead_letters->Flush());
    FRAZIL_TRY(Commit(report_.after));
    KeepIndex(started_, options_.index);
    return std::move(report_);
  }

 private:
  Status Prepare();
  Status Compare();
  Status Evolve();
  Status Take(const KeyDifference& difference);
  Status TakePoison(const SourceRecord& record, const std::string& why);
  Status OrderUnproven(const KeyDifference& difference) const;
  Status Gather();
  Status Commit(const SourcePositions& end);

  table::Table& table_;
  RecordSource& source_;
  RecordDecoder& decoder_;
  const ResyncOptions& options_;
  Clock& clock_;
  PipelineIdentity pipeline_;
  PoisonGuard guard_;
  StartedIndex started_;
  LandedToStrikeOut landed_;
  spec::SchemaPtr schema_;
  ResyncReport report_;
  std::optional<int64_t> newest_timestamp_ms_;
  std::map<int32_t, int64_t> told_;  ///< poison before these offsets was decided about

  PickedRows changes_;
  PickedRows rows_;
  std::vector<std::shared_ptr<arrow::RecordBatch>> gathered_;
  std::vector<ChangeKind> gathered_kinds_;
  int64_t gathered_bytes_ = 0;
};

Status Resync::Prepare() {
  FRAZIL_TRY(table_.Refresh());
  if (table_.metadata()->format_version < 3) {
    return tl::unexpected(
        Error(ErrorCode::kNotSupported, "resync of a table of format version 2: " + table_.name().ToString())
            .WithHint("frazil run --upgrade-table takes it over first"));
  }
  FRAZIL_ASSIGN(report_.before, PositionsInTable(table_, options_.pipeline_id));
  if (!options_.delete_extra) {
    FRAZIL_ASSIGN(report_.other_writers, OtherWriters(table_, options_.pipeline_id));
  }
  FRAZIL_ASSIGN(pipeline_.source, source_.Identity());
  FRAZIL_TRY(CheckSameSource(table_, source_, pipeline_));
  FRAZIL_ASSIGN(const auto bounds, source_.Bounds());
  pipeline_.num_partitions = static_cast<int32_t>(bounds.size());
  for (const auto& [partition, bound] : bounds) {
    if (bound.log_start > 0) {
      return tl::unexpected(
          Error(ErrorCode::kFenced,
                fmt::format("partition {} of {} begins at record {}: keys without a record may be rows whose records "
                            "retention took",
                            partition, source_.description(), bound.log_start))
              .WithHint("frazil pipeline reset-offsets --to earliest reads what is left and deletes nothing else"));
    }
    report_.after[partition].next = bound.end;
    report_.before.try_emplace(partition);  // from its beginning
  }
  FRAZIL_TRY(CheckWithinLog(report_.before, bounds, pipeline_, source_.description()));
  FRAZIL_ASSIGN(started_, OpenStartIndex(table_, options_.index, clock_));
  return FollowFromStart(table_, started_, false, options_.index, clock_);
}

Status Resync::Compare() {
  for (;;) {
    schema_ = table_.metadata()->schema();
    if (decoder_.num_rows() > 0) FRAZIL_TRY(decoder_.Finish());
    FRAZIL_TRY(decoder_.UseSchema(schema_));
    FRAZIL_ASSIGN(
        const ComparisonReport compared,
        CompareTable(table_, source_, decoder_,
                     {.end = report_.after,
                      .sample_keys = 0,
                      .memory_bytes = options_.memory_bytes,
                      .temp_directory = options_.temp_directory,
                      .executor = options_.index.executor,
                      .stop = options_.stop,
                      .on_progress = options_.on_progress,
                      .on_poison = [this](const auto& record, const auto& why) { return TakePoison(record, why); },
                      .on_difference = [this](const KeyDifference& one) { return Take(one); }}));
    if (compared.needs_schema) {
      FRAZIL_TRY(Evolve());
      continue;
    }
    report_.records = compared.records;
    report_.poison = compared.poison;
    report_.keys = compared.keys;
    newest_timestamp_ms_ = compared.newest_timestamp_ms;
    return Gather();
  }
}

/// A record wants another schema of the table, which gets it at once: it is what the pipeline would do.
Status Resync::Evolve() {
  FRAZIL_TRY(table_.Refresh());
  FRAZIL_TRY(table::CommitUpdates(
      table_, [this](const spec::TableMetadata& base) { return decoder_.WantedUpdates(base); }, clock_));
  if (HasSameKey(*table_.metadata()->schema(), *started_.key)) return {};
  return tl::unexpected(
      Error(ErrorCode::kFenced, "the identifier fields of " + table_.name().ToString() + " changed meanwhile")
          .WithHint("run the command again"));
}

Status Resync::OrderUnproven(const KeyDifference& difference) const {
  std::string key;
  for (const spec::FieldId id : started_.key->field_ids()) {
    const std::string& name = schema_->FindField(id)->name;
    const auto value = difference.changes->GetColumnByName(name)->GetScalar(difference.change);
    key += fmt::format("{}{}={}", key.empty() ? "" : ", ", name, value.ok() ? (*value)->ToString() : "?");
  }
  return tl::unexpected(
      Error(ErrorCode::kFenced,
            fmt::format("a key has records in several partitions of {} whose timestamps do not tell "
                        "which is the last: {}",
                        source_.description(), key))
          .WithHint("write the key's right value to the topic once more, then run the command again"));
}

Status Resync::TakePoison(const SourceRecord& record, const std::string& why) {
  const auto passed = report_.before.find(record.partition);
  if (passed != report_.before.end() && record.offset < passed->second.next) return {};
  int64_t& told = told_[record.partition];  // a schema change has everything read again
  if (record.offset < told) return {};
  FRAZIL_TRY(guard_.Take(record, why));
  told = record.offset + 1;
  return {};
}

Status Resync::Take(const KeyDifference& difference) {
  if (difference.wanted == Wanted::kHasNoKey) {
    ++report_.rows_without_key;
    return {};
  }
  if (difference.wanted == Wanted::kNever && !report_.other_writers.empty()) {
    ++report_.rows_left;
    return {};
  }
  if (difference.is_order_unproven) return OrderUnproven(difference);
  const bool is_upsert = difference.wanted == Wanted::kValue;
  const bool has_change = difference.change >= 0;
  PickedRows& picked = has_change ? changes_ : rows_;
  const std::shared_ptr<arrow::RecordBatch>& from = has_change ? difference.changes : difference.rows;
  if (picked.from != from) {
    FRAZIL_TRY(Gather());
    picked.from = from;
  }
  picked.rows.push_back(has_change ? difference.change : difference.row);
  picked.kinds.push_back(is_upsert ? ChangeKind::kUpsert : ChangeKind::kTombstone);
  return gathered_bytes_ < options_.commit_max_bytes ? Status() : Commit(report_.before);
}

/// Copies what was picked, so that the batches that it is of can go.
Status Resync::Gather() {
  for (PickedRows* picked : {&changes_, &rows_}) {
    if (picked->rows.empty()) continue;
    FRAZIL_ASSIGN(const auto all, write::Gather(*picked->from, picked->rows));
    std::vector<std::shared_ptr<arrow::Array>> columns;
    std::vector<std::shared_ptr<arrow::Field>> fields;
    for (const spec::Field& field : schema_->fields()) {
      columns.push_back(all->GetColumnByName(field.name));
      if (!columns.back()) return Fail(ErrorCode::kInternal, "a column is missing in a repair: {}", field.name);
      fields.push_back(all->schema()->GetFieldByName(field.name));
    }
    gathered_.push_back(arrow::RecordBatch::Make(gathered_.empty() ? arrow::schema(fields) : gathered_[0]->schema(),
                                                 all->num_rows(), std::move(columns)));
    gathered_kinds_.insert(gathered_kinds_.end(), picked->kinds.begin(), picked->kinds.end());
    gathered_bytes_ += arrow::util::TotalBufferSize(*gathered_.back());
    *picked = {};
  }
  return {};
}

/// Repairs what was found so far and moves the pipeline to `end`: to where it stands already, but for the last commit.
Status Resync::Commit(const SourcePositions& end) {
  FRAZIL_TRY(Gather());
  const bool is_last = &end == &report_.after;
  FRAZIL_TRY(source_.CheckSame());
  ChangeBatch batch;
  if (gathered_.empty()) {
    FRAZIL_ASSIGN(batch, decoder_.Finish());  // no rows, but their columns
  } else {
    auto rows = arrow::ConcatenateRecordBatches(gathered_);
    if (!rows.ok()) return Fail(ErrorCode::kResourceExhausted, "repairs: {}", rows.status().message());
    batch.rows = rows.MoveValueUnsafe();
    batch.kinds = std::exchange(gathered_kinds_, {});
  }
  gathered_.clear();
  gathered_bytes_ = 0;
  batch.keeps_age = !is_last;
  if (is_last) {
    batch.valid_through_ms = newest_timestamp_ms_;
    batch.key_schema_ids = decoder_.key_schema_ids();
    batch.value_schema_ids = decoder_.value_schema_ids();
  }
  const SourcePositions read = source_.Positions();
  for (const auto& [partition, position] : report_.before) {
    OffsetRange& range = batch.ranges[partition];
    range = {.start = position.next, .end = end.at(partition).next, .leader_epoch = position.leader_epoch};
    if (const auto found = read.find(partition); is_last && found != read.end()) {
      range.leader_epoch = found->second.leader_epoch;
    }
  }
  FRAZIL_ASSIGN(const CollapsedBatch collapsed, Collapse(batch, *schema_, *started_.key));
  BatchCommit commit(batch, collapsed, pipeline_, *started_.index, schema_, clock_,
                     {.landing = options_.landing,
                      .executor = options_.index.executor,
                      .stages = nullptr,
                      .key = started_.key.get(),
                      .landed = &landed_});
  FRAZIL_TRY(commit.Run(table_));
  report_.upserts += commit.resolution().num_inserts + commit.resolution().num_updates;
  report_.deletes += commit.resolution().num_deletes;
  return {};
}

}  // namespace

Result<ResyncReport> ResyncTable(table::Table& table, RecordSource& source, RecordDecoder& decoder,
                                 const ResyncOptions& options, Clock& clock) {
  return Resync(table, source, decoder, options, clock).Run();
}

}  // namespace frazil::ingest
