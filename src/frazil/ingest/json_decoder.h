#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <simdjson.h>

#include "frazil/base/result.h"
#include "frazil/ingest/change_batch.h"
#include "frazil/ingest/json_value.h"
#include "frazil/spec/schema.h"

namespace frazil::ingest {

enum class JsonForm {
  kFlat,      ///< `json`: the row is the object
  kKeyValue,  ///< `json-kv`: {"key": {...}, "value": {...} | null}
};

struct JsonDecoderOptions {
  JsonForm form = JsonForm::kFlat;
  /// `json` only: member that says what to do: i c r u upsert insert update | d delete. Empty: all are upserts.
  std::string op_column;
};

/// Decodes JSON lines into the columns of a table, one record a call: the change buffer of file ingest.
///
/// Absent columns get their write default, else null. Members that are no column are ignored and counted by name. A
/// record that cannot be taken (poison) leaves a row that no key points to. One thread.
class JsonDecoder {
 public:
  /// kNotSupported naming a column whose type JSON cannot bring.
  static Result<JsonDecoder> Make(spec::SchemaPtr schema, JsonDecoderOptions options);

  /// Takes one record (one line without its newline). Blank lines are no records: nothing happens.
  /// kInvalidArgument says why the record is poison; the decoder goes on with the next one.
  Status Decode(std::string_view line);

  int64_t num_rows() const { return static_cast<int64_t>(kinds_.size()); }
  /// Rough size of what is buffered, for the memory budget.
  int64_t buffered_bytes() const { return buffered_bytes_; }
  /// The rows so far, and starts anew. `start` and `end` of the batch are the caller's to set.
  Result<ChangeBatch> Finish();

  /// Names of members that no column took, with how often.
  const std::map<std::string, int64_t, std::less<>>& ignored_members() const { return ignored_members_; }

 private:
  JsonDecoder(spec::SchemaPtr schema, JsonDecoderOptions options);
  Status StartColumns();
  Status DecodeObject(const simdjson::dom::object& record);
  Status DecodeFlat(const simdjson::dom::object& record);
  Status DecodeKeyValue(const simdjson::dom::object& record);
  Status AppendRow(const simdjson::dom::object& row, const simdjson::dom::object* key);
  Status AppendTombstone(const simdjson::dom::object& key);
  Status FillMissing();
  Status CheckSameKey(const simdjson::dom::object& row, const simdjson::dom::object& key) const;
  size_t ColumnOf(std::string_view name, size_t guess) const;

  spec::SchemaPtr schema_;
  JsonDecoderOptions options_;
  std::vector<size_t> key_columns_;
  std::map<std::string, size_t, std::less<>> column_of_;
  std::vector<JsonColumn> columns_;
  std::vector<ChangeKind> kinds_;
  std::vector<bool> seen_;
  int64_t buffered_bytes_ = 0;
  std::map<std::string, int64_t, std::less<>> ignored_members_;
  simdjson::dom::parser parser_;
};

}  // namespace frazil::ingest
