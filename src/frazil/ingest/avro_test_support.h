#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include <arrow/api.h>

#include "frazil/base/test_support.h"
#include "frazil/format/avro_encoder.h"
#include "frazil/ingest/record_decoder.h"
#include "frazil/ingest/schema_registry.h"

namespace frazil::ingest {

/// A registry in memory that can be told to be away.
class TestRegistry final : public SchemaRegistry {
 public:
  Result<std::shared_ptr<const RegisteredSchema>> ById(int32_t id) override {
    if (is_away) return Fail(ErrorCode::kUnavailable, "registry away");
    const auto found = by_id.find(id);
    if (found == by_id.end()) return Fail(ErrorCode::kNotFound, "schema not found in the registry: {}", id);
    return std::make_shared<const RegisteredSchema>(found->second);
  }
  Result<std::shared_ptr<const RegisteredSchema>> BySubject(const std::string& subject, int version) override {
    const auto found = by_subject.find({subject, version});
    if (found == by_subject.end()) return Fail(ErrorCode::kNotFound, "subject not found: {}", subject);
    return ById(found->second);
  }
  Result<std::shared_ptr<const RegisteredSchema>> Latest(const std::string& subject) override {
    return BySubject(subject, 1);
  }
  Result<int32_t> Register(const std::string&, const RegisteredSchema&) override {
    return Fail(ErrorCode::kNotSupported, "register");
  }

  void Add(int32_t id, std::string text) {
    RegisteredSchema schema;
    schema.id = id;
    schema.text = std::move(text);
    by_id[id] = std::move(schema);
  }

  std::map<int32_t, RegisteredSchema> by_id;
  std::map<std::pair<std::string, int>, int32_t> by_subject;
  bool is_away = false;
};

/// `body(encoder)` writes the Avro value behind the frame.
template <typename Body>
std::string Framed(int32_t id, Body body) {
  Bytes bytes = {std::byte{0}};
  AppendBig<int32_t>(bytes, id);
  format::AvroEncoder encoder(bytes);
  body(encoder);
  return std::string(AsText(bytes));
}

inline spec::Field Column(int id, std::string name, spec::Type type, bool required = false) {
  return {.id = spec::FieldId{id}, .name = std::move(name), .required = required, .type = std::move(type)};
}
inline spec::Field Column(int id, std::string name, spec::TypeId type, bool required = false) {
  return Column(id, std::move(name), spec::Type::Primitive(type), required);
}

inline spec::SchemaPtr SchemaOf(std::vector<spec::Field> fields, std::vector<int> identifiers = {1}) {
  std::vector<spec::FieldId> ids;
  for (const int id : identifiers) ids.emplace_back(id);
  auto schema = spec::Schema::Make(spec::SchemaId{0}, std::move(fields), std::move(ids));
  EXPECT_THAT(schema, IsOk());
  return *schema;
}

/// The rows as text, one line each: columns apart by '|', "-" before tombstones, whose other columns are left out.
inline std::vector<std::string> RowsOf(const ChangeBatch& batch) {
  const arrow::Status valid = batch.rows->ValidateFull();
  EXPECT_TRUE(valid.ok()) << valid.ToString();
  EXPECT_EQ(batch.rows->num_rows(), static_cast<int64_t>(batch.kinds.size()));
  std::vector<std::string> rows;
  for (int64_t i = 0; i < batch.rows->num_rows(); ++i) {
    std::string text;
    for (const auto& column : batch.rows->columns()) {
      text += (text.empty() ? "" : "|") + column->GetScalar(i).ValueOrDie()->ToString();
    }
    rows.push_back((batch.kinds[static_cast<size_t>(i)] == ChangeKind::kTombstone ? "-" : "") + text);
  }
  return rows;
}

}  // namespace frazil::ingest
