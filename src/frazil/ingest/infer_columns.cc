#include "frazil/ingest/infer_columns.h"

#include <map>

#include <simdjson.h>

#include "frazil/ingest/file_source.h"

namespace frazil::ingest {
namespace {

using simdjson::dom::element_type;

constexpr int64_t kMaxRecords = 10'000;

enum class Kind { kNull, kBoolean, kLong, kDouble, kString };

const char* SqlName(Kind kind) {
  switch (kind) {
    case Kind::kBoolean: return "boolean";
    case Kind::kLong: return "bigint";
    case Kind::kDouble: return "double";
    default: return "string";
  }
}

Result<Kind> KindOf(const simdjson::dom::element& json, std::string_view column) {
  switch (json.type()) {
    case element_type::NULL_VALUE: return Kind::kNull;
    case element_type::BOOL: return Kind::kBoolean;
    case element_type::INT64: return Kind::kLong;
    case element_type::UINT64:
    case element_type::DOUBLE: return Kind::kDouble;
    case element_type::STRING: return Kind::kString;
    default:
      return tl::unexpected(
          Error(ErrorCode::kNotSupported, fmt::format("inferring the type of nested column '{}'", column))
              .WithHint("give the types with --columns"));
  }
}

Kind Widen(Kind a, Kind b) {
  if (a == b || b == Kind::kNull) return a;
  if (a == Kind::kNull) return b;
  const auto is_number = [](Kind kind) { return kind == Kind::kLong || kind == Kind::kDouble; };
  return is_number(a) && is_number(b) ? Kind::kDouble : Kind::kString;
}

class Inference {
 public:
  Status Add(const simdjson::dom::object& row, const std::string& skip) {
    for (const auto member : row) {
      if (!skip.empty() && member.key == skip) continue;
      FRAZIL_ASSIGN(const Kind kind, KindOf(member.value, member.key));
      auto [slot, inserted] = position_.try_emplace(std::string(member.key), columns_.size());
      if (inserted) {
        columns_.push_back(kind);
        names_.push_back(slot->first);
      } else {
        columns_[slot->second] = Widen(columns_[slot->second], kind);
      }
    }
    return {};
  }

  std::vector<InferredColumn> Finish() const {
    std::vector<InferredColumn> result;
    for (size_t i = 0; i < columns_.size(); ++i) result.push_back({names_[i], SqlName(columns_[i])});
    return result;
  }

 private:
  std::vector<Kind> columns_;
  std::vector<std::string> names_;
  std::map<std::string, size_t> position_;
};

}  // namespace

Result<std::vector<InferredColumn>> InferColumns(const std::string& path, const JsonDecoderOptions& options) {
  if (path == "-") {
    return tl::unexpected(Error(ErrorCode::kNotSupported, "inferring columns from standard input")
                              .WithHint("give them with --columns \"a bigint, b string\""));
  }
  FRAZIL_ASSIGN(const std::unique_ptr<FileSource> source, FileSource::Open(path));
  simdjson::dom::parser parser;
  Inference inference;
  while (source->next_ordinal() < kMaxRecords) {
    FRAZIL_ASSIGN(const std::optional<std::string_view> line, source->Next());
    if (!line) break;
    const simdjson::padded_string padded(*line);
    simdjson::dom::object record;
    if (parser.parse(padded).get(record) != simdjson::SUCCESS) continue;  // ingest will name it
    if (options.form == JsonForm::kFlat) {
      FRAZIL_TRY(inference.Add(record, options.op_column));
      continue;
    }
    for (const char* part : {"key", "value"}) {
      simdjson::dom::object object;
      if (record.at_key(part).get(object) == simdjson::SUCCESS) FRAZIL_TRY(inference.Add(object, ""));
    }
  }
  std::vector<InferredColumn> columns = inference.Finish();
  if (columns.empty()) return Fail(ErrorCode::kInvalidArgument, "no JSON records to infer columns from: {}", path);
  return columns;
}

}  // namespace frazil::ingest
