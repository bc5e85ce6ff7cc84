#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include <arrow/type_fwd.h>
#include <simdjson.h>

#include "frazil/base/result.h"
#include "frazil/ingest/column_buffer.h"
#include "frazil/ingest/record_columns.h"
#include "frazil/spec/schema.h"

namespace frazil::ingest {

/// Turns one JSON value into a single value of a primitive type: safe casts only, nothing rounded or cut.
///
/// Numbers for numeric types; decimals also as strings (exact); "NaN", "Infinity" and "-Infinity" for floats; dates and
/// times as ISO 8601 or with a blank for the T, "Z" or an offset for timestamptz, unless `timestamps` says which form;
/// uuid canonical; binary and fixed in base64. `column` is for messages. kInvalidArgument with the column, the value and
/// the type.
Result<spec::Value> ValueFromJson(const simdjson::dom::element& json, const spec::Type& type, const std::string& column,
                                  JsonTimestamps timestamps = JsonTimestamps::kAny);

/// The member of that name, none when it is absent. kInvalidArgument when it is there twice: readers of JSON disagree on
/// which one counts, so either would be a guess.
Result<std::optional<simdjson::dom::element>> FindOnce(const simdjson::dom::object& object, std::string_view name);

/// Appends a JSON value of any type to a column; a null only if the column is optional. Absent members of a struct get
/// their write default, else null. kInvalidArgument naming the column; then the column may hold a part of the value, which
/// the caller cuts off.
Status AppendJson(const simdjson::dom::element& json, ColumnBuffer& column,
                  JsonTimestamps timestamps = JsonTimestamps::kAny);

/// One column under construction: JSON in, an Arrow array of format::ArrowTypeOf(type) out. One thread.
class JsonColumn {
 public:
  static Result<JsonColumn> Make(const spec::Field& field);

  /// Appends a value; a null only if the field is optional. After an error nothing was appended.
  Status Append(const simdjson::dom::element& json);
  Status AppendValue(const spec::Value& value);
  /// A slot whose content nobody reads (poison rows, the other columns of a tombstone).
  void AppendFiller() { column_->AppendFiller(); }
  int64_t length() const { return column_->length(); }
  Result<std::shared_ptr<arrow::Array>> Finish();

 private:
  explicit JsonColumn(std::unique_ptr<ColumnBuffer> column) : column_(std::move(column)) {}
  std::unique_ptr<ColumnBuffer> column_;
};

}  // namespace frazil::ingest
