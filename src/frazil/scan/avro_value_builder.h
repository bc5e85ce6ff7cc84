#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include <arrow/type_fwd.h>

#include "frazil/base/result.h"
#include "frazil/format/avro_decoder.h"
#include "frazil/spec/schema.h"

namespace frazil::scan {

/// A column of an Avro data file or a field inside one, as the file has it. A list's child is its element, a map's are key
/// and value.
struct AvroColumn {
  std::optional<spec::FieldId> id;
  std::string name;
  const format::AvroNode* node = nullptr;  ///< perhaps a union with null
  std::vector<AvroColumn> children;

  const AvroColumn* Find(spec::FieldId wanted) const;
  bool HasIds() const;
  bool Has(spec::FieldId wanted) const;
};

/// The columns of a file under one root. `name_mapping` gives ids (dotted names) when the file has none at all.
AvroColumn AvroColumnsOf(const format::AvroNode& record, const std::map<std::string, spec::FieldId>& name_mapping);

/// Decodes one column of a file into an Arrow array of the table's type (spec sections 6.2, 6.12, 7.2). One thread.
///
/// What is wrong with the bytes sticks to the decoder, as everywhere in Avro.
class AvroValueBuilder {
 public:
  virtual ~AvroValueBuilder() = default;
  /// Reads the next value.
  virtual void Read(format::AvroDecoder& decoder) = 0;
  /// A slot inside a null struct, or of a field that the file lacks: the field's initial default, else null.
  virtual void AppendMissing() = 0;
  /// The values since the last call, of Arrow type ArrowTypeOf(wanted.type).
  virtual Result<std::shared_ptr<arrow::Array>> Finish() = 0;
};

/// Builder of `wanted` from what the file has. kInvalidTable naming the column when the file's type cannot become the
/// table's or a required field is missing without default; kNotSupported for variant and geometries.
Result<std::unique_ptr<AvroValueBuilder>> MakeAvroValueBuilder(const AvroColumn& column, const spec::Field& wanted);

}  // namespace frazil::scan
