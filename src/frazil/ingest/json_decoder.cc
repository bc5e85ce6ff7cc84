#include "frazil/ingest/json_decoder.h"

#include <algorithm>
#include <array>

#include <arrow/api.h>

#include "frazil/format/parquet_schema.h"

namespace frazil::ingest {
namespace {

using simdjson::dom::element;
using simdjson::dom::object;

constexpr size_t kNoColumn = static_cast<size_t>(-1);
constexpr std::array<std::string_view, 7> kUpsertWords = {"i", "c", "r", "u", "upsert", "insert", "update"};
constexpr std::array<std::string_view, 2> kDeleteWords = {"d", "delete"};

Result<ChangeKind> ParseOp(std::string_view text) {
  const auto is = [&](std::string_view word) { return word == text; };
  if (std::any_of(kUpsertWords.begin(), kUpsertWords.end(), is)) return ChangeKind::kUpsert;
  if (std::any_of(kDeleteWords.begin(), kDeleteWords.end(), is)) return ChangeKind::kTombstone;
  return tl::unexpected(Error(ErrorCode::kInvalidArgument, fmt::format("unknown operation '{}'", text))
                            .WithHint("one of i c r u upsert insert update, d delete"));
}

bool IsBlank(std::string_view line) { return line.find_first_not_of(" \t\r") == std::string_view::npos; }

}  // namespace

JsonDecoder::JsonDecoder(spec::SchemaPtr schema, JsonDecoderOptions options)
    : schema_(std::move(schema)), options_(std::move(options)) {}

Result<JsonDecoder> JsonDecoder::Make(spec::SchemaPtr schema, JsonDecoderOptions options) {
  JsonDecoder decoder(schema, std::move(options));
  for (size_t i = 0; i < schema->fields().size(); ++i) {
    const spec::Field& field = schema->fields()[i];
    decoder.column_of_.emplace(field.name, i);
    const auto& identifiers = schema->identifier_field_ids();
    if (std::find(identifiers.begin(), identifiers.end(), field.id) != identifiers.end()) {
      decoder.key_columns_.push_back(i);
    }
  }
  FRAZIL_TRY(decoder.StartColumns());
  return decoder;
}

Status JsonDecoder::StartColumns() {
  columns_.clear();
  for (const spec::Field& field : schema_->fields()) {
    if (field.type.id() == spec::TypeId::kUnknown) {
      return Fail(ErrorCode::kNotSupported, "JSON for column '{}' of type unknown", field.name);
    }
    FRAZIL_ASSIGN(JsonColumn column, JsonColumn::Make(field));
    columns_.push_back(std::move(column));
  }
  kinds_.clear();
  buffered_bytes_ = 0;
  return {};
}

Status JsonDecoder::Decode(std::string_view line) {
  if (IsBlank(line)) return {};
  const simdjson::padded_string padded(line);
  object record;
  const simdjson::error_code error = parser_.parse(padded).get(record);
  if (error != simdjson::SUCCESS) {
    return Fail(ErrorCode::kInvalidArgument, "not a JSON object: {}", simdjson::error_message(error));
  }
  const size_t rows_before = kinds_.size();
  if (Status status = DecodeObject(record); !status) {
    // Columns that took a value keep it, the others get a filler: all stay equally long, and no key points to the row.
    for (JsonColumn& column : columns_) {
      if (column.length() == static_cast<int64_t>(rows_before) + 1) continue;
      column.AppendFiller();
    }
    kinds_.push_back(ChangeKind::kPoison);
    return status;
  }
  buffered_bytes_ += static_cast<int64_t>(line.size());
  return {};
}

Status JsonDecoder::DecodeObject(const object& record) {
  seen_.assign(columns_.size(), false);
  return options_.form == JsonForm::kFlat ? DecodeFlat(record) : DecodeKeyValue(record);
}

Status JsonDecoder::DecodeFlat(const object& record) {
  if (!options_.op_column.empty()) {
    FRAZIL_ASSIGN(const std::optional<element> op, FindOnce(record, options_.op_column));
    std::string_view text;
    if (!op || op->get(text) != simdjson::SUCCESS) {
      return Fail(ErrorCode::kInvalidArgument, "the record has no text member '{}' that says what to do",
                  options_.op_column);
    }
    FRAZIL_ASSIGN(const ChangeKind kind, ParseOp(text));
    if (kind == ChangeKind::kTombstone) return AppendTombstone(record);
  }
  return AppendRow(record, nullptr);
}

Status JsonDecoder::DecodeKeyValue(const object& record) {
  FRAZIL_ASSIGN(const std::optional<element> key_member, FindOnce(record, "key"));
  object key;
  if (!key_member || key_member->get(key) != simdjson::SUCCESS) {
    return Fail(ErrorCode::kInvalidArgument, "the record has no object member 'key'");
  }
  FRAZIL_ASSIGN(const std::optional<element> value, FindOnce(record, "value"));
  if (!value) {
    return tl::unexpected(Error(ErrorCode::kInvalidArgument, "the record has no member 'value'")
                              .WithHint("a delete has \"value\": null"));
  }
  if (value->is_null()) return AppendTombstone(key);
  object row;
  if (value->get(row) != simdjson::SUCCESS)
    return Fail(ErrorCode::kInvalidArgument, "'value' is neither an object nor null");
  FRAZIL_TRY(CheckSameKey(row, key));
  return AppendRow(row, &key);
}

/// A record whose key and value name different keys is poison: whichever one took would be a guess.
Status JsonDecoder::CheckSameKey(const object& row, const object& key) const {
  for (const size_t column : key_columns_) {
    const spec::Field& field = schema_->fields()[column];
    FRAZIL_ASSIGN(const std::optional<element> in_row, FindOnce(row, field.name));
    FRAZIL_ASSIGN(const std::optional<element> in_key, FindOnce(key, field.name));
    if (!in_row || !in_key) continue;
    FRAZIL_ASSIGN(const spec::Value row_value, ValueFromJson(*in_row, field.type, field.name));
    FRAZIL_ASSIGN(const spec::Value key_value, ValueFromJson(*in_key, field.type, field.name));
    if (!spec::SameValue(row_value, key_value)) {
      return Fail(ErrorCode::kInvalidArgument, "key and value disagree on identifier field '{}'", field.name);
    }
  }
  return {};
}

size_t JsonDecoder::ColumnOf(std::string_view name, size_t guess) const {
  // Producers write members in one order, nearly always the columns'.
  if (guess < columns_.size() && schema_->fields()[guess].name == name) return guess;
  const auto found = column_of_.find(name);
  return found == column_of_.end() ? kNoColumn : found->second;
}

Status JsonDecoder::AppendRow(const object& row, const object* key) {
  size_t guess = 0;
  for (const auto member : row) {
    const size_t column = ColumnOf(member.key, guess);
    if (column == kNoColumn) {
      if (member.key != options_.op_column) ++ignored_members_[std::string(member.key)];
      continue;
    }
    guess = column + 1;
    if (seen_[column]) return Fail(ErrorCode::kInvalidArgument, "member '{}' is there twice", member.key);
    FRAZIL_TRY(columns_[column].Append(member.value));
    seen_[column] = true;
  }
  if (key != nullptr) {
    for (const size_t column : key_columns_) {
      if (seen_[column]) continue;
      FRAZIL_ASSIGN(const std::optional<element> value, FindOnce(*key, schema_->fields()[column].name));
      if (!value) continue;
      FRAZIL_TRY(columns_[column].Append(*value));
      seen_[column] = true;
    }
  }
  FRAZIL_TRY(FillMissing());
  kinds_.push_back(ChangeKind::kUpsert);
  return {};
}

Status JsonDecoder::AppendTombstone(const object& key) {
  for (const size_t column : key_columns_) {
    const spec::Field& field = schema_->fields()[column];
    FRAZIL_ASSIGN(const std::optional<element> value, FindOnce(key, field.name));
    if (!value) {
      return Fail(ErrorCode::kInvalidArgument, "a delete must give every identifier field, '{}' is missing",
                  field.name);
    }
    FRAZIL_TRY(columns_[column].Append(*value));
    seen_[column] = true;
  }
  for (size_t i = 0; i < columns_.size(); ++i) {
    if (!seen_[i]) columns_[i].AppendFiller();
  }
  kinds_.push_back(ChangeKind::kTombstone);
  return {};
}

Status JsonDecoder::FillMissing() {
  for (size_t i = 0; i < columns_.size(); ++i) {
    if (seen_[i]) continue;
    const spec::Field& field = schema_->fields()[i];
    if (field.required && spec::IsNull(field.write_default)) {
      return Fail(ErrorCode::kInvalidArgument, "required column '{}' is missing", field.name);
    }
    FRAZIL_TRY(columns_[i].AppendValue(field.write_default));
  }
  return {};
}

Result<ChangeBatch> JsonDecoder::Finish() {
  ChangeBatch batch;
  arrow::ArrayVector arrays;
  for (JsonColumn& column : columns_) {
    FRAZIL_ASSIGN(std::shared_ptr<arrow::Array> array, column.Finish());
    arrays.push_back(std::move(array));
  }
  FRAZIL_ASSIGN(std::shared_ptr<arrow::Schema> schema, format::ToArrowSchema(*schema_));
  batch.rows = arrow::RecordBatch::Make(std::move(schema), num_rows(), std::move(arrays));
  batch.kinds = std::move(kinds_);
  FRAZIL_TRY(StartColumns());
  return batch;
}

}  // namespace frazil::ingest
