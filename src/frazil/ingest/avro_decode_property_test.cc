// Random schemas and values: what the decoder makes of them is what a slow decoder of the test's own reads out of the same
// bytes; cutting batches anywhere changes nothing; broken bytes leave nothing behind.

#include <random>

#include "frazil/ingest/avro_record_decoder.h"
#include "frazil/ingest/avro_table_schema.h"
#include "frazil/ingest/avro_test_support.h"
#include "frazil/spec/json_access.h"

namespace frazil::ingest {
namespace {

using format::AvroKind;
using format::AvroNode;
using Random = std::mt19937_64;

uint64_t Below(Random& random, uint64_t limit) { return random() % limit; }

/// JSON of a random type. Names of records, fixed and enums are unique.
class SchemaMaker {
 public:
  explicit SchemaMaker(Random& random) : random_(random) {}

  std::string Record(int depth) {
    std::string fields;
    const uint64_t count = 1 + Below(random_, 5);
    for (uint64_t i = 0; i < count; ++i) {
      fields += fmt::format(R"({}{{"name": "f{}", "type": {}}})", i == 0 ? "" : ", ", i, MaybeNull(depth));
    }
    return fmt::format(R"({{"type": "record", "name": "r{}", "fields": [{}]}})", ++names_, fields);
  }

 private:
  std::string MaybeNull(int depth) {
    const std::string type = Type(depth);
    switch (Below(random_, 4)) {
      case 0: return R"(["null", )" + type + "]";
      case 1: return "[" + type + R"(, "null"])";
      default: return type;
    }
  }

  std::string Type(int depth) {
    switch (Below(random_, depth > 0 ? 12 : 9)) {
      case 0: return R"("boolean")";
      case 1: return R"("int")";
      case 2: return R"("long")";
      case 3: return R"("double")";
      case 4: return R"("bytes")";
      case 5: return fmt::format(R"({{"type": "fixed", "name": "x{}", "size": {}}})", ++names_, 1 + Below(random_, 5));
      case 6: return fmt::format(R"({{"type": "enum", "name": "e{}", "symbols": ["A", "B", "C"]}})", ++names_);
      case 7: return R"({"type": "long", "logicalType": "timestamp-micros"})";
      case 8: return R"("string")";
      case 9: return R"({"type": "array", "items": )" + MaybeNull(depth - 1) + "}";
      case 10: return R"({"type": "map", "values": )" + MaybeNull(depth - 1) + "}";
      default: return Record(depth - 1);
    }
  }

  Random& random_;
  int names_ = 0;
};

void EncodeRandom(const AvroNode& node, Random& random, format::AvroEncoder& out) {
  const auto text = [&] {
    std::string made(Below(random, 12), 'x');
    for (char& c : made) c = static_cast<char>('a' + Below(random, 26));
    return made;
  };
  const auto blocks = [&](const auto& item) {
    for (uint64_t block = Below(random, 3); block > 0; --block) {
      const auto count = static_cast<int64_t>(1 + Below(random, 3));
      if (Below(random, 2) == 0) {
        out.Long(count);
      } else {
        out.Long(-count);
        out.Long(0);  // the size is for those who skip by it
      }
      for (int64_t i = 0; i < count; ++i) item();
    }
    out.Long(0);
  };
  int64_t key = 0;
  switch (node.kind) {
    case AvroKind::kNull: break;
    case AvroKind::kBoolean: out.Boolean(Below(random, 2) == 1); break;
    case AvroKind::kInt: out.Int(static_cast<int32_t>(random() >> Below(random, 64))); break;
    case AvroKind::kLong: out.Long(static_cast<int64_t>(random() >> Below(random, 64))); break;
    case AvroKind::kDouble: out.Double(static_cast<double>(Below(random, 1000)) / 8); break;
    case AvroKind::kString:
    case AvroKind::kBytes: out.String(text()); break;
    case AvroKind::kFixed: out.Raw(AsBytes(std::string(static_cast<size_t>(node.fixed_size), 'q'))); break;
    case AvroKind::kEnum: out.Long(static_cast<int64_t>(Below(random, node.symbols.size()))); break;
    case AvroKind::kUnion: {
      const uint64_t branch = Below(random, node.children.size());
      out.Long(static_cast<int64_t>(branch));
      EncodeRandom(*node.children[branch], random, out);
      break;
    }
    case AvroKind::kRecord:
      for (const auto& field : node.fields) EncodeRandom(*field.type, random, out);
      break;
    case AvroKind::kArray: blocks([&] { EncodeRandom(*node.children[0], random, out); }); break;
    case AvroKind::kMap:
      blocks([&] {
        out.String(fmt::format("k{}", ++key));
        EncodeRandom(*node.children[0], random, out);
      });
      break;
    case AvroKind::kFloat: out.Float(0); break;
  }
}

/// Reads bytes into text, value by value, as the Avro specification has it.
class SlowReader {
 public:
  explicit SlowReader(std::string_view bytes) : rest_(bytes) {}

  std::string Read(const AvroNode& node) {
    switch (node.kind) {
      case AvroKind::kNull: return "null";
      case AvroKind::kBoolean: return Take(1)[0] != 0 ? "true" : "false";
      case AvroKind::kInt:
      case AvroKind::kLong: return std::to_string(Long());
      case AvroKind::kDouble: {
        double value = 0;
        std::memcpy(&value, Take(8).data(), 8);
        return fmt::format("{}", value);
      }
      case AvroKind::kString:
      case AvroKind::kBytes: return Quoted(Take(static_cast<size_t>(Long())));
      case AvroKind::kFixed: return Quoted(Take(static_cast<size_t>(node.fixed_size)));
      case AvroKind::kEnum: return Quoted(node.symbols[static_cast<size_t>(Long())]);
      case AvroKind::kUnion: return Read(*node.children[static_cast<size_t>(Long())]);
      case AvroKind::kRecord: {
        std::string text = "{";
        for (const auto& field : node.fields) text += Read(*field.type) + ";";
        return text + "}";
      }
      case AvroKind::kArray:
      case AvroKind::kMap: {
        std::string text = "[";
        while (int64_t count = Long()) {
          if (count < 0) {
            Long();
            count = -count;
          }
          for (; count > 0; --count) {
            if (node.kind == AvroKind::kMap) text += Quoted(Take(static_cast<size_t>(Long()))) + "=";
            text += Read(*node.children[0]) + ";";
          }
        }
        return text + "]";
      }
      case AvroKind::kFloat: break;
    }
    return "?";
  }
  bool at_end() const { return rest_.empty(); }
  static std::string Quoted(std::string_view text) { return "'" + std::string(text) + "'"; }

 private:
  int64_t Long() {
    uint64_t value = 0;
    for (int shift = 0;; shift += 7) {
      const auto byte = static_cast<unsigned char>(Take(1)[0]);
      value += static_cast<uint64_t>(byte % 128) << shift;
      if (byte < 128) break;
    }
    return value % 2 == 0 ? static_cast<int64_t>(value / 2) : -static_cast<int64_t>(value / 2) - 1;
  }
  std::string_view Take(size_t size) {
    const std::string_view taken = rest_.substr(0, size);
    rest_.remove_prefix(size);
    return taken;
  }
  std::string_view rest_;
};

/// The same text, from what the decoder made.
std::string Text(const arrow::Array& array, int64_t row) {
  if (array.IsNull(row)) return "null";
  switch (array.type_id()) {
    case arrow::Type::BOOL: return static_cast<const arrow::BooleanArray&>(array).Value(row) ? "true" : "false";
    case arrow::Type::INT32: return std::to_string(static_cast<const arrow::Int32Array&>(array).Value(row));
    case arrow::Type::INT64: return std::to_string(static_cast<const arrow::Int64Array&>(array).Value(row));
    case arrow::Type::TIMESTAMP: return std::to_string(static_cast<const arrow::TimestampArray&>(array).Value(row));
    case arrow::Type::DOUBLE: return fmt::format("{}", static_cast<const arrow::DoubleArray&>(array).Value(row));
    case arrow::Type::STRING:
    case arrow::Type::BINARY: return SlowReader::Quoted(static_cast<const arrow::BinaryArray&>(array).GetView(row));
    case arrow::Type::FIXED_SIZE_BINARY:
      return SlowReader::Quoted(static_cast<const arrow::FixedSizeBinaryArray&>(array).GetView(row));
    case arrow::Type::STRUCT: {
      const auto& fields = static_cast<const arrow::StructArray&>(array);
      std::string text = "{";
      for (int i = 0; i < fields.num_fields(); ++i) text += Text(*fields.field(i), row) + ";";
      return text + "}";
    }
    case arrow::Type::MAP: {
      const auto& map = static_cast<const arrow::MapArray&>(array);
      std::string text = "[";
      for (int32_t i = map.value_offset(row); i < map.value_offset(row + 1); ++i) {
        text += Text(*map.keys(), i) + "=" + Text(*map.items(), i) + ";";
      }
      return text + "]";
    }
    case arrow::Type::LIST: {
      const auto& list = static_cast<const arrow::ListArray&>(array);
      std::string text = "[";
      for (int32_t i = list.value_offset(row); i < list.value_offset(row + 1); ++i)
        text += Text(*list.values(), i) + ";";
      return text + "]";
    }
    default: return "?";
  }
}

std::string RowText(const arrow::RecordBatch& rows, int64_t row) {
  std::string text = "{";
  for (const auto& column : rows.columns()) text += Text(*column, row) + ";";
  return text + "}";
}

TEST(AvroDecodeProperty, AgreesWithASlowDecoderHoweverBatchesAreCut) {
  for (uint64_t seed = 1; seed <= 300; ++seed) {
    SCOPED_TRACE(fmt::format("seed {}", seed));
    Random random(seed);
    const std::string text = SchemaMaker(random).Record(3);
    ASSERT_OK_AND_ASSIGN(const format::AvroNodePtr writer, format::ParseAvroSchema(text));
    ASSERT_OK_AND_ASSIGN(const spec::SchemaPtr schema, TableSchemaFor(*writer, nullptr, {}, {}));
    auto registry = std::make_shared<TestRegistry>();
    registry->Add(1, text);
    ASSERT_OK_AND_ASSIGN(const auto decoder, MakeAvroRecordDecoder(schema, {}, registry));

    std::vector<std::string> expected, decoded;
    const auto cut = [&] {
      auto batch = decoder->Finish();
      ASSERT_THAT(batch, IsOk());
      const arrow::Status valid = batch->rows->ValidateFull();
      ASSERT_TRUE(valid.ok()) << valid.ToString() << text;
      for (int64_t i = 0; i < batch->rows->num_rows(); ++i) decoded.push_back(RowText(*batch->rows, i));
    };
    for (int i = 0; i < 40; ++i) {
      std::string message = Framed(1, [&](format::AvroEncoder& out) { EncodeRandom(*writer, random, out); });
      const bool breaks = Below(random, 5) == 0;
      if (breaks) message.resize(Below(random, message.size()));
      SourceRecord record;
      record.value = message;
      ASSERT_OK_AND_ASSIGN(const Decoded outcome, decoder->Decode(record));
      if (breaks && outcome == Decoded::kPoison) continue;
      ASSERT_EQ(outcome, Decoded::kRow) << decoder->why() << text;
      SlowReader reader(std::string_view(message).substr(5));
      expected.push_back(reader.Read(*writer));
      ASSERT_TRUE(reader.at_end());
      if (Below(random, 7) == 0) cut();
    }
    cut();
    ASSERT_EQ(decoded, expected) << text;
  }
}

}  // namespace
}  // namespace frazil::ingest
