#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <arrow/type_fwd.h>

#include "frazil/format/avro_file.h"
#include "frazil/scan/avro_value_builder.h"
#include "frazil/scan/row_source.h"

namespace frazil::scan {

/// Rows of an Avro data or delete file (spec section 7.2). The compressed file lies in memory; rows are decoded a batch at a
/// time.
class AvroRowSource final : public RowSource {
 public:
  /// `name_mapping`: ids by dotted name for files without any.
  static Result<std::unique_ptr<AvroRowSource>> Open(const io::FileIO& io, const spec::DataFile& file,
                                                     const std::map<std::string, spec::FieldId>& name_mapping);

  bool has_field_ids() const override { return has_field_ids_; }
  bool HasField(spec::FieldId id) const override;
  Status Start(const std::vector<spec::Field>& wanted) override;
  Result<std::optional<format::ParquetBatch>> Next() override;

 private:
  explicit AvroRowSource(format::AvroFileReader file);
  Result<bool> NextBlock();
  Status ReadRow();

  struct Step {
    const format::AvroNode* node = nullptr;
    AvroValueBuilder* builder = nullptr;  ///< null: nobody wants it
  };

  const format::AvroFileReader file_;
  int64_t record_count_ = 0;  ///< as the manifest says
  AvroColumn root_;
  bool has_field_ids_ = false;
  std::vector<Step> steps_;                                  // in the order of the file
  std::vector<std::unique_ptr<AvroValueBuilder>> builders_;  // in the order wanted
  std::shared_ptr<arrow::Schema> schema_;
  std::optional<format::AvroBlockCursor> blocks_;
  std::optional<format::AvroDecoder> block_;
  int64_t rows_left_in_block_ = 0;
  int64_t next_row_ = 0;
};

}  // namespace frazil::scan
