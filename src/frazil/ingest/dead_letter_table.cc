#include "frazil/ingest/dead_letter_table.h"

#include <arrow/api.h>

#include "frazil/base/version.h"
#include "frazil/format/parquet_schema.h"
#include "frazil/ingest/moved_table.h"
#include "frazil/table/snapshot_change.h"
#include "frazil/write/row_writer.h"

namespace frazil::ingest {
namespace {

using spec::Type;
using spec::TypeId;

/// Letters are committed before the batch that passes them, and earlier when they have become so many.
constexpr int64_t kMaxHeldBytes = int64_t{16} << 20;

spec::SchemaPtr LetterSchema() {
  int32_t next_id = 0;
  const auto field = [&](const char* name, Type type, bool required) {
    return spec::Field{.id = spec::FieldId(++next_id), .name = name, .required = required, .type = std::move(type)};
  };
  const auto primitive = [&](const char* name, TypeId id, bool required = false) {
    return field(name, Type::Primitive(id), required);
  };
  std::vector<spec::Field> header = {primitive("name", TypeId::kString, true), primitive("value", TypeId::kBinary)};
  Type headers = Type::ListOf(field("element", Type::StructOf(std::move(header)), true));
  return *spec::Schema::Make(spec::SchemaId(0),
                             {primitive("pipeline", TypeId::kString, true), primitive("topic", TypeId::kString, true),
                              primitive("partition", TypeId::kInt, true), primitive("offset", TypeId::kLong, true),
                              primitive("timestamp", TypeId::kTimestampTz), primitive("key", TypeId::kBinary),
                              primitive("value", TypeId::kBinary), field("headers", std::move(headers), false),
                              primitive("reason", TypeId::kString, true)},
                             {});
}

/// New files, nothing else.
class AppendChange : public table::SnapshotChange {
 public:
  explicit AppendChange(const std::vector<spec::DataFile>& files) : files_(files) {}

  Result<table::FileChanges> Prepare(const table::Table&, spec::SnapshotId) override {
    table::FileChanges changes;
    for (const spec::DataFile& file : files_) changes.added_data_files.push_back({.file = file, .sequence_number = {}});
    changes.summary = {{"engine-name", "frazil"}, {"engine-version", kVersion}};
    return changes;
  }

 private:
  const std::vector<spec::DataFile>& files_;
};

/// Letters as rows under construction; see the header.
class DeadLetterTable final : public DeadLetters {
 public:
  DeadLetterTable(table::Table table, DeadLetterTableOptions options, std::unique_ptr<arrow::RecordBatchBuilder> rows,
                  Clock& clock)
      : table_(std::move(table)), options_(std::move(options)), rows_(std::move(rows)), clock_(clock) {}

  Status Add(const SourceRecord& record, const std::string& why) override {
    if (held_bytes_ >= kMaxHeldBytes) FRAZIL_TRY(Flush());
    const arrow::Status added = Append(record, why);
    if (!added.ok()) return Fail(ErrorCode::kResourceExhausted, "dead letters: {}", added.message());
    held_bytes_ += static_cast<int64_t>(record.key.value_or("").size() + record.value.value_or("").size());
    return {};
  }

  Status Flush() override {
    if (rows_->GetField(0)->length() > 0) {
      auto batch = rows_->Flush();
      if (!batch.ok()) return Fail(ErrorCode::kResourceExhausted, "dead letters: {}", batch.status().message());
      waiting_.push_back(batch.MoveValueUnsafe());
    }
    if (waiting_.empty()) return {};
    if (const Status refreshed = table_.Refresh(); !refreshed) {
      return tl::unexpected(MovedTable(table_).Judge(refreshed.error()));
    }
    FRAZIL_ASSIGN(const auto writer,
                  write::RowWriter::Make(table_.io(), table_.metadata(), table_.metadata()->schema(), nullptr));
    for (const auto& batch : waiting_) FRAZIL_TRY(writer->Write(*batch));
    FRAZIL_ASSIGN(const std::vector<spec::DataFile> files, writer->Finish());
    AppendChange change(files);
    const auto outcome = table::CommitSnapshot(table_, change, {}, clock_);
    if (!outcome) {
      // Not known: the files stay, and the letters go once more with the next attempt.
      if (outcome.error().code() != ErrorCode::kCommitUnknown) {
        std::vector<std::string> paths;
        for (const spec::DataFile& file : files) paths.push_back(file.file_path);
        (void)table_.io()->Delete(paths);  // best effort: orphan removal finds them
        return tl::unexpected(MovedTable(table_).Judge(outcome.error()));
      }
      return Fail(ErrorCode::kUnavailable, "dead letters: {}", outcome.error().ToString());
    }
    waiting_.clear();
    held_bytes_ = 0;
    return {};
  }

 private:
  arrow::Status Append(const SourceRecord& record, const std::string& why) {
    const auto bytes = [](arrow::ArrayBuilder* builder, const std::optional<std::string_view>& value) {
      auto& binary = static_cast<arrow::BinaryBuilder&>(*builder);
      return value ? binary.Append(*value) : binary.AppendNull();
    };
    ARROW_RETURN_NOT_OK(rows_->GetFieldAs<arrow::StringBuilder>(0)->Append(options_.pipeline_id));
    ARROW_RETURN_NOT_OK(rows_->GetFieldAs<arrow::StringBuilder>(1)->Append(options_.source_topic));
    ARROW_RETURN_NOT_OK(rows_->GetFieldAs<arrow::Int32Builder>(2)->Append(record.partition));
    ARROW_RETURN_NOT_OK(rows_->GetFieldAs<arrow::Int64Builder>(3)->Append(record.offset));
    auto* timestamp = rows_->GetFieldAs<arrow::TimestampBuilder>(4);
    ARROW_RETURN_NOT_OK(record.timestamp_ms ? timestamp->Append(*record.timestamp_ms * 1'000)
                                            : timestamp->AppendNull());
    ARROW_RETURN_NOT_OK(bytes(rows_->GetField(5), record.key));
    ARROW_RETURN_NOT_OK(bytes(rows_->GetField(6), record.value));
    auto* headers = rows_->GetFieldAs<arrow::ListBuilder>(7);
    ARROW_RETURN_NOT_OK(headers->Append());
    auto& header = static_cast<arrow::StructBuilder&>(*headers->value_builder());
    for (const auto& [name, value] : record.headers) {
      ARROW_RETURN_NOT_OK(header.Append());
      ARROW_RETURN_NOT_OK(static_cast<arrow::StringBuilder&>(*header.field_builder(0)).Append(name));
      const std::optional<std::string_view> given =
          value.data() == nullptr ? std::nullopt : std::optional<std::string_view>(value);
      ARROW_RETURN_NOT_OK(bytes(header.field_builder(1), given));
    }
    return rows_->GetFieldAs<arrow::StringBuilder>(8)->Append(why);
  }

  table::Table table_;
  const DeadLetterTableOptions options_;
  const std::unique_ptr<arrow::RecordBatchBuilder> rows_;
  std::vector<std::shared_ptr<arrow::RecordBatch>> waiting_;  ///< of a flush that failed
  int64_t held_bytes_ = 0;
  Clock& clock_;
};

/// Ids are given anew when a table is made; names, types and order have to be ours.
Status CheckColumns(const table::Table& table) {
  FRAZIL_ASSIGN(const auto wanted, format::ToArrowSchema(*LetterSchema()));
  FRAZIL_ASSIGN(const auto found, format::ToArrowSchema(*table.metadata()->schema()));
  if (found->Equals(*wanted, /*check_metadata=*/false)) return {};
  return tl::unexpected(
      Error(ErrorCode::kInvalidTable, "not a table of dead letters: " + table.name().ToString())
          .WithHint("its columns have to be (" + wanted->ToString() + "); a table that is missing is made"));
}

}  // namespace

spec::CreateTableRequest DeadLetterTableRequest() {
  spec::CreateTableRequest request;
  request.schema = LetterSchema();
  return request;
}

Result<std::unique_ptr<DeadLetters>> MakeDeadLetterTable(table::Table table, DeadLetterTableOptions options,
                                                         Clock& clock) {
  FRAZIL_TRY(CheckColumns(table));
  FRAZIL_ASSIGN(const auto schema, format::ToArrowSchema(*table.metadata()->schema()));
  auto rows = arrow::RecordBatchBuilder::Make(schema, arrow::default_memory_pool());
  if (!rows.ok()) return Fail(ErrorCode::kInternal, "dead letters: {}", rows.status().message());
  return std::make_unique<DeadLetterTable>(std::move(table), std::move(options), rows.MoveValueUnsafe(), clock);
}

}  // namespace frazil::ingest
