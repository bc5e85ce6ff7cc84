#pragma once

#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "frazil/ingest/column_buffer.h"
#include "frazil/ingest/column_filler.h"
#include "frazil/ingest/column_source.h"
#include "frazil/ingest/record_columns.h"
#include "frazil/ingest/record_decoder.h"
#include "frazil/ingest/schema_registry.h"

namespace frazil::ingest {

class AvroSchemaCache;

/// The decoder of every pair of formats: binds the table's columns to fillers of key and value and to the record's metadata,
/// fills what is left, and takes a poison record back out of the columns.
class ColumnRecordDecoder final : public RecordDecoder {
 public:
  static Result<std::unique_ptr<ColumnRecordDecoder>> Make(spec::SchemaPtr schema, RecordColumns columns,
                                                           std::shared_ptr<SchemaRegistry> registry);
  ~ColumnRecordDecoder() override;

  Result<Decoded> Decode(const SourceRecord& record) override;
  const std::string& why() const override { return why_; }
  Result<std::vector<spec::TableUpdate>> WantedUpdates(const spec::TableMetadata& metadata) override;
  Status UseSchema(spec::SchemaPtr schema) override;
  int64_t num_rows() const override { return num_rows_; }
  int64_t buffered_bytes() const override { return buffered_bytes_; }
  Result<ChangeBatch> Finish() override;
  std::vector<int32_t> key_schema_ids() const override;
  std::vector<int32_t> value_schema_ids() const override;

 private:
  using Filled = ColumnFiller::Filled;
  /// What bytes are decoded for: which columns are bound to them.
  enum class Part { kValue, kKeyOfUpsert, kKeyOfTombstone };

  ColumnRecordDecoder(RecordColumns columns, std::shared_ptr<SchemaRegistry> registry);
  Result<std::vector<ColumnBinding>> BindingsOf(Part part, const spec::Schema& schema, bool with_columns) const;
  Result<std::unique_ptr<ColumnFiller>> MakeFiller(Part part, const spec::Schema& schema) const;
  Status CheckSources(const spec::Schema& schema) const;
  Status StartColumns(const spec::Schema& schema);

  Result<Filled> FillUpsert(const SourceRecord& record);
  Result<Filled> FillTombstone(const SourceRecord& record);
  Result<Filled> Fill(Part part, std::string_view bytes);
  Status FillMissing();
  void NoteKeySchema(std::string_view key);
  bool LacksIdentifier() const;
  bool IsIdentifier(const spec::Schema& schema, const spec::Field& field) const;
  Result<Decoded> Refuse(Error error);
  void CutRow();

  RecordColumns record_columns_;
  std::shared_ptr<SchemaRegistry> registry_;
  std::shared_ptr<AvroSchemaCache> schemas_;
  spec::SchemaPtr schema_;
  std::vector<std::unique_ptr<ColumnBuffer>> columns_;  // by field; none for a field of type unknown
  std::vector<ColumnBuffer*> identifiers_;
  std::vector<MetadataColumn> metadata_;
  std::vector<MetadataColumn> metadata_identifiers_;
  bool key_has_columns_ = false;
  bool value_has_all_columns_ = false;        // none comes from elsewhere
  std::unique_ptr<ColumnFiller> fillers_[3];  // by Part; null: the key has no format
  struct Asking {
    Part part;
    int32_t writer_schema_id;
  };
  std::vector<Asking> asking_;  // who said kNeedsSchema of the last record; outlives the fillers
  std::vector<ChangeKind> kinds_;
  int64_t num_rows_ = 0;
  int64_t buffered_bytes_ = 0;
  size_t row_bytes_ = 0;  // of the record at hand
  std::string why_;
  std::set<int32_t> key_schema_ids_;
  std::set<int32_t> value_schema_ids_;  // of fillers that are gone
  int32_t last_key_schema_id_ = -1;
};

}  // namespace frazil::ingest
