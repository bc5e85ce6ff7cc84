// Any bytes as records of some schemas: the first byte chooses one, the others are decoded into the columns that it makes,
// and into columns of which the schema has only some. Afterwards all columns are equally long, whatever came.

#include <cstdlib>

#include "frazil/ingest/avro_iceberg_type.h"
#include "frazil/ingest/avro_plan.h"

using namespace frazil;

namespace {

constexpr const char* kSchemas[] = {
    R"({"type": "record", "name": "r", "fields": [{"name": "a", "type": "long"}, {"name": "b", "type": "long"},
        {"name": "c", "type": "string"}, {"name": "d", "type": ["null", "string"]}]})",
    R"({"type": "record", "name": "r", "fields": [{"name": "a", "type": {"type": "array", "items": ["null", "long"]}},
        {"name": "m", "type": {"type": "map", "values": {"type": "array", "items": "string"}}},
        {"name": "s", "type": ["null", {"type": "record", "name": "s", "fields": [{"name": "x", "type": "int"},
          {"name": "y", "type": ["null", {"type": "map", "values": "double"}]}]}]}]})",
    R"({"type": "record", "name": "r", "fields": [{"name": "a", "type": "boolean"}, {"name": "f", "type": "float"},
        {"name": "e", "type": {"type": "enum", "name": "e", "symbols": ["A", "B"]}},
        {"name": "x", "type": {"type": "fixed", "name": "x", "size": 3}},
        {"name": "u", "type": {"type": "string", "logicalType": "uuid"}},
        {"name": "d", "type": {"type": "bytes", "logicalType": "decimal", "precision": 10, "scale": 2}},
        {"name": "t", "type": {"type": "int", "logicalType": "time-millis"}},
        {"name": "at", "type": {"type": "long", "logicalType": "timestamp-millis"}},
        {"name": "y", "type": ["bytes", "null"]}]})",
};

/// A plan with the columns that it fills.
struct Target {
  std::vector<spec::Field> fields;
  std::vector<std::unique_ptr<ingest::ColumnBuffer>> columns;
  std::unique_ptr<ingest::AvroPlan> plan;
};

template <typename T>
T Must(Result<T> result) {
  if (!result) std::abort();
  return *std::move(result);
}

Target MakeTarget(const char* schema, bool whole) {
  Target target;
  const format::AvroNodePtr writer = Must(format::ParseAvroSchema(schema));
  for (const format::AvroField& field : writer->fields) {
    if (!whole && target.fields.size() % 2 == 1) {
      target.fields.push_back({.id = spec::FieldId{1},
                               .name = "absent",
                               .required = false,
                               .type = spec::Type::Primitive(spec::TypeId::kLong)});
      continue;
    }
    const auto written = Must(ingest::WithoutNull(*field.type, field.name));
    target.fields.push_back({.id = spec::FieldId{1},
                             .name = field.name,
                             .required = !written.is_nullable,
                             .type = Must(ingest::IcebergTypeFor(*written.node, field.name))});
  }
  std::vector<ingest::ColumnBinding> bindings;
  for (const spec::Field& field : target.fields) {
    target.columns.push_back(Must(ingest::ColumnBuffer::Make(field)));
    bindings.push_back({.field = &field, .column = target.columns.back().get(), .path = field.name, .other_path = ""});
  }
  ingest::CompiledAvro compiled = Must(ingest::CompileAvroPlan(writer, bindings, {}));
  if (!compiled.changes.empty()) std::abort();
  target.plan = std::move(compiled.plan);
  return target;
}

std::vector<Target> MakeTargets() {
  std::vector<Target> targets;
  for (const char* schema : kSchemas) {
    for (const bool whole : {true, false}) targets.push_back(MakeTarget(schema, whole));
  }
  return targets;
}

void CheckNested(const ingest::ColumnBuffer& column) {
  for (size_t i = 0; i < column.num_children(); ++i) {
    const ingest::ColumnBuffer& child = column.child(i);
    if (column.layout() == ingest::ColumnBuffer::Layout::kStruct && child.length() != column.length()) std::abort();
    if (child.length() != column.child(0).length()) std::abort();
    CheckNested(child);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static std::vector<Target> targets = MakeTargets();
  if (size == 0) return 0;
  Target& target = targets[data[0] % targets.size()];
  const ByteView bytes = std::as_bytes(std::span(data + 1, size - 1));
  for (int64_t row = 0; row < 2; ++row) {
    const bool taken = target.plan->Run(bytes, row).has_value();
    for (auto& column : target.columns) {
      if (!taken) {
        column->CutTo(row);
      } else if (column->length() == row) {
        column->AppendFiller();
      }
      if (column->length() != row + (taken ? 1 : 0)) std::abort();
      CheckNested(*column);
    }
    if (!taken) break;
  }
  for (auto& column : target.columns) column->CutTo(0);
  return 0;
}
