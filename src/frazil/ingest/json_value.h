#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <arrow/type_fwd.h>
#include <simdjson.h>

#include "frazil/base/result.h"
#include "frazil/spec/schema.h"

namespace frazil::ingest {

/// Turns one JSON value into a single value of a primitive type: safe casts only, nothing rounded or cut.
///
/// Numbers for numeric types; decimals also as strings (exact); "NaN", "Infinity" and "-Infinity" for floats; dates and
/// times as ISO 8601 or with a blank for the T, "Z" or an offset for timestamptz; uuid canonical; binary and fixed in
/// base64. `column` is for messages. kInvalidArgument with the column, the value and the type.
Result<spec::Value> ValueFromJson(const simdjson::dom::element& json, const spec::Type& type,
                                  const std::string& column);

/// The member of that name, none when it is absent. kInvalidArgument when it is there twice: readers of JSON disagree on
/// which one counts, so either would be a guess.
Result<std::optional<simdjson::dom::element>> FindOnce(const simdjson::dom::object& object, std::string_view name);

/// One column under construction: JSON in, an Arrow array of format::ArrowTypeOf(type) out. One thread.
class JsonColumn {
 public:
  static Result<JsonColumn> Make(const spec::Field& field);

  /// Appends a value; a null only if the field is optional. After an error nothing was appended.
  Status Append(const simdjson::dom::element& json);
  Status AppendValue(const spec::Value& value);
  /// A slot whose content nobody reads (poison rows, the other columns of a tombstone).
  Status AppendFiller();
  int64_t length() const;
  Result<std::shared_ptr<arrow::Array>> Finish();

 private:
  JsonColumn(spec::Field field, std::shared_ptr<arrow::ArrayBuilder> builder);
  spec::Field field_;
  std::shared_ptr<arrow::ArrayBuilder> builder_;
};

}  // namespace frazil::ingest
