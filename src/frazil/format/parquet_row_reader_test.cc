#include "frazil/format/parquet_row_reader.h"

#include <random>

#include <arrow/io/memory.h>
#include <parquet/arrow/writer.h>

#include "frazil/format/parquet_test_support.h"

namespace frazil::format {
namespace {

using spec::Type;
using spec::TypeId;

using Random = std::mt19937_64;

/// A column of every type, nested ones too.
std::vector<spec::Field> EveryType(bool required) {
  std::vector<spec::Field> fields;
  const auto add = [&](const std::string& name, Type type) {
    fields.push_back(MakeField(static_cast<int>(fields.size()) + 1, name, std::move(type), required));
  };
  add("boolean", Type::Primitive(TypeId::kBoolean));
  add("int", Type::Primitive(TypeId::kInt));
  add("long", Type::Primitive(TypeId::kLong));
  add("float", Type::Primitive(TypeId::kFloat));
  add("double", Type::Primitive(TypeId::kDouble));
  add("decimal9", Type::DecimalOf(9, 2));
  add("decimal18", Type::DecimalOf(18, 3));
  add("decimal38", Type::DecimalOf(38, 10));
  add("date", Type::Primitive(TypeId::kDate));
  add("time", Type::Primitive(TypeId::kTime));
  add("timestamp", Type::Primitive(TypeId::kTimestamp));
  add("timestamptz", Type::Primitive(TypeId::kTimestampTz));
  add("timestamp_ns", Type::Primitive(TypeId::kTimestampNs));
  add("string", Type::Primitive(TypeId::kString));
  add("uuid", Type::Primitive(TypeId::kUuid));
  add("fixed", Type::FixedOf(3));
  add("binary", Type::Primitive(TypeId::kBinary));
  add("struct", Type::StructOf({MakeField(100, "a", Type::Primitive(TypeId::kLong)),
                                MakeField(101, "b", Type::Primitive(TypeId::kString), true)}));
  add("list", Type::ListOf(MakeField(102, "element", Type::Primitive(TypeId::kInt))));
  add("map", Type::MapOf(MakeField(103, "key", Type::Primitive(TypeId::kString), true),
                         MakeField(104, "value", Type::Primitive(TypeId::kDouble))));
  add("deep",
      Type::ListOf(MakeField(
          105, "element",
          Type::StructOf(
              {MakeField(106, "x", Type::Primitive(TypeId::kInt)),
               MakeField(107, "y", Type::ListOf(MakeField(108, "element", Type::Primitive(TypeId::kString))))}))));
  return fields;
}

std::string RandomText(Random& random, size_t length) {
  std::string text;
  while (text.size() < length) text += static_cast<char>('a' + random() % 26);
  return text;
}

/// JSON of a value as arrow::json takes it. Few distinct values, so that dictionaries and runs occur.
std::string RandomValue(Random& random, const spec::Field& field) {
  if (!field.required && random() % 5 == 0) return "null";
  const auto number = static_cast<int64_t>(random() % 40);
  switch (field.type.id()) {
    case TypeId::kBoolean: return random() % 2 == 0 ? "true" : "false";
    case TypeId::kFloat:
    case TypeId::kDouble: return fmt::format("{}.5", number);
    case TypeId::kDecimal: {
      return fmt::format("\"{}.{}\"", number * 7919, std::string(static_cast<size_t>(field.type.scale()), '3'));
    }
    case TypeId::kString:
    case TypeId::kBinary: return fmt::format("\"{}\"", RandomText(random, random() % 12));
    case TypeId::kUuid: return fmt::format("\"{}\"", RandomText(random, 16));
    case TypeId::kFixed: return fmt::format("\"{}\"", RandomText(random, static_cast<size_t>(field.type.length())));
    case TypeId::kStruct: {
      std::string text;
      for (const spec::Field& child : field.type.fields()) {
        text += fmt::format("{}\"{}\": {}", text.empty() ? "" : ", ", child.name, RandomValue(random, child));
      }
      return "{" + text + "}";
    }
    case TypeId::kList: {
      std::string text;
      for (uint64_t i = random() % 4; i > 0; --i) {
        text += (text.empty() ? "" : ", ") + RandomValue(random, field.type.element());
      }
      return "[" + text + "]";
    }
    case TypeId::kMap: {
      std::string text;
      for (uint64_t i = random() % 4; i > 0; --i) {
        text +=
            fmt::format("{}[\"key{}\", {}]", text.empty() ? "" : ", ", i, RandomValue(random, field.type.map_value()));
      }
      return "[" + text + "]";
    }
    default: return std::to_string(number);
  }
}

std::shared_ptr<arrow::Table> RandomRows(Random& random, const spec::Schema& schema, int64_t num_rows) {
  std::vector<std::string> columns;
  for (const spec::Field& field : schema.fields()) {
    std::string text;
    for (int64_t i = 0; i < num_rows; ++i) text += (text.empty() ? "" : ", ") + RandomValue(random, field);
    columns.push_back("[" + text + "]");
  }
  return arrow::Table::FromRecordBatches({BatchOf(schema, columns)}).ValueOrDie();
}

/// Some writer's settings, and their description.
std::pair<std::shared_ptr<parquet::WriterProperties>, std::string> RandomWriter(Random& random,
                                                                                const spec::Schema& schema) {
  parquet::WriterProperties::Builder builder;
  std::string text;
  const auto pick = [&](auto... values) {
    const std::array all = {values...};
    return all[random() % all.size()];
  };
  const auto codec = pick(parquet::Compression::UNCOMPRESSED, parquet::Compression::SNAPPY, parquet::Compression::GZIP,
                          parquet::Compression::ZSTD, parquet::Compression::LZ4, parquet::Compression::BROTLI);
  builder.compression(codec);
  const bool v2 = random() % 2 == 0;
  builder.data_page_version(v2 ? parquet::ParquetDataPageVersion::V2 : parquet::ParquetDataPageVersion::V1);
  const auto page_rows = pick(1, 7, 30, 1000);
  builder.max_rows_per_page(page_rows);
  builder.write_batch_size(pick(1, 5, 64));
  const bool has_index = random() % 4 != 0;
  if (!has_index) builder.disable_write_page_index();
  const int dictionary = pick(0, 1, 2);  // none, all, given up in the middle
  if (dictionary == 0) builder.disable_dictionary();
  if (dictionary == 2) builder.dictionary_pagesize_limit(40);
  const bool encoded = dictionary == 0 && random() % 2 == 0;
  if (encoded) {
    builder.encoding("boolean", parquet::Encoding::RLE);
    for (const spec::Field& field : schema.fields()) {
      switch (field.type.id()) {
        case TypeId::kInt:
        case TypeId::kDate: builder.encoding(field.name, parquet::Encoding::DELTA_BINARY_PACKED); break;
        case TypeId::kLong:
        case TypeId::kFloat:
        case TypeId::kDouble:
        case TypeId::kUuid: builder.encoding(field.name, parquet::Encoding::BYTE_STREAM_SPLIT); break;
        case TypeId::kString: builder.encoding(field.name, parquet::Encoding::DELTA_BYTE_ARRAY); break;
        case TypeId::kBinary: builder.encoding(field.name, parquet::Encoding::DELTA_LENGTH_BYTE_ARRAY); break;
        default: break;
      }
    }
  }
  text = fmt::format("codec {} page v{} rows a page {} index {} dictionary {} encoded {}", static_cast<int>(codec),
                     v2 ? 2 : 1, page_rows, has_index, dictionary, encoded);
  return {builder.build(), text};
}

void WriteFile(io::MemoryFileIO& io, const std::string& path, const arrow::Table& rows, int64_t row_group_rows,
               const std::shared_ptr<parquet::WriterProperties>& properties) {
  const auto sink = arrow::io::BufferOutputStream::Create().ValueOrDie();
  parquet::ArrowWriterProperties::Builder arrow_builder;
  const arrow::Status written = parquet::arrow::WriteTable(rows, arrow::default_memory_pool(), sink, row_group_rows,
                                                           properties, arrow_builder.build());
  ASSERT_TRUE(written.ok()) << written.ToString();
  const auto buffer = sink->Finish().ValueOrDie();
  const auto* data = reinterpret_cast<const std::byte*>(buffer->data());
  io.Overwrite(path, Bytes(data, data + buffer->size()));
}

ParquetRowReader ReaderOf(const std::shared_ptr<const ParquetReader>& file) {
  return ParquetRowReader(file, std::make_shared<ParquetPageCache>(int64_t{1} << 20));
}

void ExpectRows(const ParquetRowReader& reader, const std::vector<spec::Field>& fields,
                const std::vector<int64_t>& positions, const arrow::Table& expected) {
  ASSERT_OK_AND_ASSIGN(const auto rows, reader.ReadRows(fields, positions, nullptr));
  ASSERT_TRUE(rows->ValidateFull().ok()) << rows->ValidateFull().ToString();
  ASSERT_EQ(rows->num_rows(), static_cast<int64_t>(positions.size()));
  ASSERT_TRUE(rows->schema()->Equals(expected.schema())) << rows->schema()->ToString();
  for (size_t i = 0; i < positions.size(); ++i) {
    const auto row = arrow::Table::FromRecordBatches({rows->Slice(static_cast<int64_t>(i), 1)}).ValueOrDie();
    ASSERT_TRUE(row->Equals(*expected.Slice(positions[i], 1)))
        << "position " << positions[i] << "\n"
        << row->ToString() << expected.Slice(positions[i], 1)->ToString();
  }
}

TEST(ParquetRowReader, GivesTheRowsOfAScanWhateverTheTypeAndTheWriter) {
  const uint64_t seed = 20260730;
  for (uint64_t round = 0; round < 24; ++round) {
    Random random(seed + round);
    const auto schema = MakeSchema(EveryType(/*required=*/random() % 3 == 0));
    const int64_t num_rows = 1 + static_cast<int64_t>(random() % 120);
    const auto [properties, text] = RandomWriter(random, *schema);
    SCOPED_TRACE(fmt::format("seed {} rows {} {}", seed + round, num_rows, text));
    io::MemoryFileIO io;
    WriteFile(io, "/f.parquet", *RandomRows(random, *schema, num_rows), random() % 2 == 0 ? 37 : 1000, properties);
    ASSERT_OK_AND_ASSIGN(const auto file, OpenParquet(io, "/f.parquet"));
    ASSERT_OK_AND_ASSIGN(const auto expected, ReadColumns(*file, schema->fields()));
    const ParquetRowReader reader = ReaderOf(file);
    std::vector<int64_t> some;
    for (int64_t i = 0; i < num_rows; ++i) {
      if (random() % 3 == 0) some.push_back(i);
      if (random() % 4 != 0) continue;
      ASSERT_NO_FATAL_FAILURE(ExpectRows(reader, schema->fields(), {i}, *expected));
    }
    ASSERT_NO_FATAL_FAILURE(ExpectRows(reader, schema->fields(), some, *expected));
    ASSERT_NO_FATAL_FAILURE(ExpectRows(reader, schema->fields(), {num_rows - 1}, *expected));
  }
}

TEST(ParquetRowReader, ReadsOnePageAColumn) {
  const auto schema = MakeSchema({MakeField(1, "id", Type::Primitive(TypeId::kLong), true),
                                  MakeField(2, "text", Type::Primitive(TypeId::kString))});
  std::string ids;
  std::string texts;
  for (int i = 0; i < 10'000; ++i) {
    ids += fmt::format("{}{}", i == 0 ? "" : ",", i);
    texts += fmt::format("{}\"text {}\"", i == 0 ? "" : ",", i % 100);
  }
  io::MemoryFileIO io;
  parquet::WriterProperties::Builder builder;
  builder.compression(parquet::Compression::ZSTD)
      ->disable_dictionary("id")
      ->max_rows_per_page(1000)
      ->write_batch_size(1000);
  WriteFile(io, "/f.parquet",
            *arrow::Table::FromRecordBatches({BatchOf(*schema, {"[" + ids + "]", "[" + texts + "]"})}).ValueOrDie(),
            100'000, builder.build());
  ASSERT_OK_AND_ASSIGN(const auto file, OpenParquet(io, "/f.parquet"));
  const ParquetRowReader reader = ReaderOf(file);
  ParquetReadCounts first;
  ASSERT_THAT(reader.ReadRows(schema->fields(), std::vector<int64_t>{5'500}, &first), IsOk());
  EXPECT_EQ(first.reads, 4);  // offset indexes, a page of each column, the dictionary
  EXPECT_EQ(first.pages, 2);
  ParquetReadCounts second;
  ASSERT_OK_AND_ASSIGN(const auto rows, reader.ReadRows(schema->fields(), std::vector<int64_t>{7'123}, &second));
  EXPECT_EQ(second.reads, 2);
  EXPECT_EQ(second.pages, 2);
  EXPECT_LT(second.bytes_read, 5'000);
  EXPECT_EQ(rows->column(1)->GetScalar(0).ValueOrDie()->ToString(), "text 23");
}

TEST(ParquetRowReader, LeavesOutColumnsThatTheFileLacks) {
  const auto schema = MakeSchema({MakeField(1, "id", Type::Primitive(TypeId::kLong), true)});
  io::MemoryFileIO io;
  ASSERT_THAT(WriteBatches(io, "/f.parquet", schema, {BatchOf(*schema, {"[1, 2, 3]"})}), IsOk());
  ASSERT_OK_AND_ASSIGN(const auto file, OpenParquet(io, "/f.parquet"));
  const ParquetRowReader reader = ReaderOf(file);
  const spec::Field added = MakeField(9, "added", Type::Primitive(TypeId::kString));
  ASSERT_OK_AND_ASSIGN(const auto both,
                       reader.ReadRows({added, schema->fields()[0]}, std::vector<int64_t>{1}, nullptr));
  EXPECT_EQ(both->num_columns(), 1);
  EXPECT_EQ(both->column(0)->GetScalar(0).ValueOrDie()->ToString(), "2");
  ASSERT_OK_AND_ASSIGN(const auto none, reader.ReadRows({added}, std::vector<int64_t>{0, 2}, nullptr));
  EXPECT_EQ(none->num_columns(), 0);
  EXPECT_EQ(none->num_rows(), 2);
  EXPECT_THAT(reader.ReadRows({added}, std::vector<int64_t>{3}, nullptr),
              IsError(ErrorCode::kInvalidArgument, "must ascend within the file"));
  EXPECT_THAT(reader.ReadRows({added}, std::vector<int64_t>{1, 1}, nullptr),
              IsError(ErrorCode::kInvalidArgument, "must ascend within the file"));
}

TEST(ParquetRowReader, NeitherCrashesNorInventsRowsWhenBytesAreFlipped) {
  const uint64_t seed = 7;
  Random random(seed);
  const auto schema = MakeSchema(EveryType(false));
  parquet::WriterProperties::Builder builder;
  builder.max_rows_per_page(10)->write_batch_size(5)->compression(parquet::Compression::UNCOMPRESSED);
  io::MemoryFileIO io;
  WriteFile(io, "/f.parquet", *RandomRows(random, *schema, 50), 1000, builder.build());
  ASSERT_OK_AND_ASSIGN(const Bytes good, io.ReadFile("/f.parquet"));
  for (int round = 0; round < 150; ++round) {
    SCOPED_TRACE(fmt::format("seed {} round {}", seed, round));
    Bytes bad = good;
    bad[random() % bad.size()] ^= static_cast<std::byte>(1 + random() % 255);
    io.Overwrite("/f.parquet", bad);
    const auto file = OpenParquet(io, "/f.parquet");
    if (!file) continue;
    const auto rows = ReaderOf(*file).ReadRows(schema->fields(), std::vector<int64_t>{3, 27}, nullptr);
    if (!rows) {
      EXPECT_TRUE(rows.error().code() == ErrorCode::kCorruptData || rows.error().code() == ErrorCode::kInvalidTable ||
                  rows.error().code() == ErrorCode::kNotSupported || rows.error().code() == ErrorCode::kInvalidArgument)
          << rows.error().ToString();
      continue;
    }
    EXPECT_TRUE((*rows)->Validate().ok());
  }
}

TEST(ParquetRowReader, ReadsTheChunkWhereTheOffsetIndexLies) {
  const auto schema =
      MakeSchema({MakeField(1, "id", Type::Primitive(TypeId::kLong), true),
                  MakeField(2, "list", Type::ListOf(MakeField(3, "element", Type::Primitive(TypeId::kInt))))});
  Random random(11);
  parquet::WriterProperties::Builder builder;
  builder.max_rows_per_page(10)->write_batch_size(5)->disable_dictionary();
  io::MemoryFileIO io;
  WriteFile(io, "/f.parquet", *RandomRows(random, *schema, 60), 1000, builder.build());
  ASSERT_OK_AND_ASSIGN(const auto intact, OpenParquet(io, "/f.parquet"));
  ASSERT_OK_AND_ASSIGN(const auto expected, ReadColumns(*intact, schema->fields()));
  ASSERT_OK_AND_ASSIGN(const Bytes good, io.ReadFile("/f.parquet"));
  // The indexes lie between the last page and the footer.
  uint32_t footer_size = 0;
  std::memcpy(&footer_size, good.data() + good.size() - 8, sizeof(footer_size));
  const size_t end = good.size() - 8 - footer_size;
  const auto begin =
      static_cast<size_t>(intact->row_groups()[0].start_offset + intact->row_groups()[0].compressed_bytes);
  ASSERT_LT(begin, end);
  int whole_chunks = 0;
  for (size_t at = begin; at < end; ++at) {
    for (const uint8_t flip : {0x01, 0x80}) {
      Bytes bad = good;
      bad[at] ^= static_cast<std::byte>(flip);
      io.Overwrite("/f.parquet", bad);
      SCOPED_TRACE(fmt::format("byte {} xor {}", at, flip));
      ASSERT_OK_AND_ASSIGN(const auto file, OpenParquet(io, "/f.parquet"));
      const ParquetRowReader reader = ReaderOf(file);
      ASSERT_NO_FATAL_FAILURE(ExpectRows(reader, schema->fields(), {4, 33, 59}, *expected));
      ParquetReadCounts counts;
      ASSERT_THAT(reader.ReadRows(schema->fields(), std::vector<int64_t>{33}, &counts), IsOk());
      whole_chunks += counts.pages > 2;
    }
  }
  EXPECT_GT(whole_chunks, 0);
}

}  // namespace
}  // namespace frazil::format
