// The tables that Spark and Iceberg's Java core wrote (tests/fixtures/spark-v3), read through SQL and by FileReader: every
// row and column as Spark reads them, with row lineage.

#include <algorithm>
#include <cmath>
#include <map>

#include <arrow/array.h>
#include <arrow/record_batch.h>
#include <arrow/type.h>
#include <gtest/gtest.h>

#include "frazil/base/test_support.h"
#include "frazil/catalog/memory_catalog.h"
#include "frazil/scan/file_reader.h"
#include "frazil/sql/session.h"
#include "frazil/sql/table_renderer.h"
#include "tests/support/spark_fixture.h"

namespace frazil {
namespace {

using Json = nlohmann::json;

/// "1E-10" and "0.0000000001" as one text: digits without zeros at the ends, and an exponent.
std::string PlainDecimal(std::string text) {
  int exponent = 0;
  if (size_t e = text.find_first_of("eE"); e != std::string::npos) {
    exponent = std::stoi(text.substr(e + 1));
    text.resize(e);
  }
  bool negative = !text.empty() && text[0] == '-';
  if (negative) text.erase(0, 1);
  if (size_t dot = text.find('.'); dot != std::string::npos) {
    exponent -= static_cast<int>(text.size() - dot - 1);
    text.erase(dot, 1);
  }
  text.erase(0, std::min(text.find_first_not_of('0'), text.size()));
  while (!text.empty() && text.back() == '0') {
    text.pop_back();
    ++exponent;
  }
  return text.empty() ? "0" : fmt::format("{}{}e{}", negative ? "-" : "", text, exponent);
}

/// Java and Python write times with different numbers of fraction digits.
std::string PlainTime(std::string text) {
  for (const char* zone : {"Z", "+00:00", "+00"}) {
    if (text.ends_with(zone)) text.resize(text.size() - std::string(zone).size());
  }
  std::replace(text.begin(), text.end(), ' ', 'T');
  if (size_t dot = text.find('.'); dot != std::string::npos) {
    text.erase(text.find_last_not_of('0') + 1);
    if (text.back() == '.') text.pop_back();
  }
  return text;
}

std::string PlainFloat(double number) {
  if (std::isnan(number)) return "nan";
  if (std::isinf(number)) return number > 0 ? "inf" : "-inf";
  return fmt::format("{}", number);
}

std::string Hex(std::string_view bytes) { return ToHex(AsBytes(bytes)); }

/// A cell in a form in which equal values are equal texts.
Json Ours(const arrow::Array& array, int64_t row) {
  using arrow::Type;
  if (array.IsNull(row) || array.type_id() == Type::NA) return nullptr;
  auto text = [&] {
    auto one = arrow::RecordBatch::Make(arrow::schema({arrow::field("x", array.type())}), 1, {array.Slice(row, 1)});
    return sql::CellsOf(*one)->at(0).at(0).text;
  };
  switch (array.type_id()) {
    case Type::FLOAT: return PlainFloat(static_cast<const arrow::FloatArray&>(array).Value(row));
    case Type::DOUBLE: return PlainFloat(static_cast<const arrow::DoubleArray&>(array).Value(row));
    case Type::DECIMAL128: return PlainDecimal(text());
    case Type::TIMESTAMP:
    case Type::TIME64: return PlainTime(text());
    case Type::BINARY: return Hex(static_cast<const arrow::BinaryArray&>(array).GetView(row));
    case Type::FIXED_SIZE_BINARY: return Hex(static_cast<const arrow::FixedSizeBinaryArray&>(array).GetView(row));
    case Type::STRING: return text();
    case Type::LIST: {
      const auto& list = static_cast<const arrow::ListArray&>(array);
      Json elements = Json::array();
      for (int64_t i = list.value_offset(row); i < list.value_offset(row + 1); ++i)
        elements.push_back(Ours(*list.values(), i));
      return elements;
    }
    case Type::MAP: {
      const auto& map = static_cast<const arrow::MapArray&>(array);
      Json entries = Json::object();
      for (int64_t i = map.value_offset(row); i < map.value_offset(row + 1); ++i) {
        Json key = Ours(*map.keys(), i);
        entries[key.is_string() ? key.get<std::string>() : key.dump()] = Ours(*map.items(), i);
      }
      return entries;
    }
    case Type::STRUCT: {
      const auto& members = static_cast<const arrow::StructArray&>(array);
      Json object = Json::object();
      for (int i = 0; i < members.num_fields(); ++i)
        object[members.type()->field(i)->name()] = Ours(*members.field(i), row);
      return object;
    }
    default: return text();
  }
}

/// Spark's value in the same form. The type is ours: JSON alone does not tell a decimal from a text.
Json Theirs(const Json& value, const arrow::DataType& type) {
  using arrow::Type;
  if (value.is_null()) return nullptr;
  switch (type.id()) {
    case Type::FLOAT:
    case Type::DOUBLE: {
      if (value.is_number()) return PlainFloat(value.get<double>());
      return PlainFloat(std::stod(value.get<std::string>()));  // "NaN", "-Infinity", "-0.0"
    }
    case Type::DECIMAL128: return PlainDecimal(value.is_string() ? value.get<std::string>() : value.dump());
    case Type::TIMESTAMP:
    case Type::TIME64: return PlainTime(value.get<std::string>());
    case Type::LIST: {
      Json elements = Json::array();
      for (const Json& element : value) elements.push_back(Theirs(element, *type.field(0)->type()));
      return elements;
    }
    case Type::MAP: {
      Json entries = Json::object();
      const auto& item = *static_cast<const arrow::MapType&>(type).item_type();
      for (const auto& [key, element] : value.items()) entries[key] = Theirs(element, item);
      return entries;
    }
    case Type::STRUCT: {
      Json object = Json::object();
      for (const auto& field : type.fields()) object[field->name()] = Theirs(value.at(field->name()), *field->type());
      return object;
    }
    default: return value.is_string() ? value : Json(value.dump());
  }
}

std::string BaseName(const std::string& path) { return path.substr(path.rfind('/') + 1); }

struct Read {
  std::shared_ptr<arrow::Schema> schema;
  std::vector<Json> rows;
};

class SparkTable {
 public:
  explicit SparkTable(const std::string& name) : fixture_(name) {
    catalog_ = catalog::MakeMemoryCatalog("lake", "memory://lake", fixture_.file_io());
    EXPECT_THAT(catalog_->CreateNamespace({"db"}, {}), IsOk());
    EXPECT_THAT(catalog_->RegisterTable({{"db"}, name}, fixture_.metadata_location()), IsOk());
    sql::SessionOptions options;
    options.catalogs["lake"] = catalog_;
    options.default_catalog = "lake";
    options.default_namespace = {"db"};
    options.threads = 2;
    auto session = sql::Session::Make(std::move(options));
    EXPECT_THAT(session, IsOk());
    session_ = *std::move(session);
  }

  const Json& expected() const { return fixture_.expected(); }

  Result<Read> Query(const std::string& query) {
    FRAZIL_ASSIGN(auto result, session_->Execute(query));
    Read read{result->schema(), {}};
    while (true) {
      FRAZIL_ASSIGN(auto batch, result->Next());
      if (!batch) break;
      AddRows(*batch, read);
    }
    return read;
  }

  /// All live rows of the current snapshot by scan::FileReader: the columns of the table that `wanted` names, lineage,
  /// `_pos` and `_file`.
  Result<Read> ReadFiles(const std::vector<std::string>& wanted) {
    FRAZIL_ASSIGN(const table::Table table, table::Table::Load(catalog_, {{"db"}, fixture_.name()}));
    FRAZIL_ASSIGN(const table::ScanPlan plan, table::PlanScan(table, table.metadata()->current_snapshot(), nullptr));
    scan::ReadColumns columns;
    columns.row_lineage = columns.position = true;
    for (const std::string& name : wanted) {
      if (const spec::Field* field = plan.schema->FindField(name)) columns.fields.push_back(field->id);
    }
    Read read;
    for (const table::FileScanTask& task : plan.tasks) {
      FRAZIL_ASSIGN(const auto reader, scan::FileReader::Open(table.io(), plan, task, columns));
      read.schema = reader->schema();
      const size_t first = read.rows.size();
      while (true) {
        FRAZIL_ASSIGN(const auto batch, reader->Next());
        if (!batch) break;
        AddRows(*batch, read);
      }
      for (size_t i = first; i < read.rows.size(); ++i) read.rows[i]["_file"] = BaseName(task.data_file.file.file_path);
    }
    return read;
  }

  /// Reads the keys of `rows` and compares. `from`: the table, perhaps at a version. `unreadable` columns are left out.
  void ExpectRows(const Json& rows, const std::string& from, const std::vector<std::string>& unreadable = {}) {
    std::string columns;
    for (const auto& [key, value] : rows.at(0).items()) {
      if (std::find(unreadable.begin(), unreadable.end(), key) != unreadable.end()) continue;
      columns += (columns.empty() ? "`" : ", `") + key + "`";
    }
    auto read = Query("SELECT " + columns + " FROM " + from);
    ASSERT_THAT(read, IsOk());
    ExpectSame(*read, rows);
  }

  /// The same of the current snapshot by scan::FileReader.
  void ExpectRowsOfFiles(const Json& rows, const std::vector<std::string>& unreadable = {}) {
    std::vector<std::string> wanted;
    for (const auto& [key, value] : rows.at(0).items()) {
      if (std::find(unreadable.begin(), unreadable.end(), key) == unreadable.end()) wanted.push_back(key);
    }
    auto read = ReadFiles(wanted);
    ASSERT_THAT(read, IsOk());
    for (Json& row : read->rows) {  // javatypes does not record lineage
      for (auto item = row.begin(); item != row.end();) {
        item = rows.at(0).contains(item.key()) ? std::next(item) : row.erase(item);
      }
    }
    ExpectSame(*read, rows);
  }

 private:
  static void AddRows(const arrow::RecordBatch& batch, Read& read) {
    for (int64_t row = 0; row < batch.num_rows(); ++row) {
      Json object = Json::object();
      for (int i = 0; i < batch.num_columns(); ++i)
        object[batch.schema()->field(i)->name()] = Ours(*batch.column(i), row);
      if (object.contains("_file")) object["_file"] = BaseName(object["_file"]);
      read.rows.push_back(std::move(object));
    }
  }

  static void ExpectSame(const Read& read, const Json& rows) {
    std::vector<std::string> ours, theirs;
    for (const Json& row : read.rows) ours.push_back(row.dump());
    for (const Json& row : rows) {
      Json object = Json::object();
      for (const auto& [name, value] : read.rows.at(0).items()) {
        const auto field = read.schema->GetFieldByName(name);
        object[name] = Theirs(row.at(name), field == nullptr ? *arrow::utf8() : *field->type());
      }
      theirs.push_back(object.dump());
    }
    std::sort(ours.begin(), ours.end());
    std::sort(theirs.begin(), theirs.end());
    EXPECT_EQ(ours, theirs);
  }

  test::SparkFixture fixture_;
  std::shared_ptr<catalog::Catalog> catalog_;
  std::unique_ptr<sql::Session> session_;
};

class ReadableSparkTable : public testing::TestWithParam<std::string> {};

TEST_P(ReadableSparkTable, ReadsAsSparkReadsIt) {
  SparkTable table(GetParam());
  const std::vector<std::string> apart =
      GetParam() == "variant" ? std::vector<std::string>{"v"} : std::vector<std::string>();
  table.ExpectRows(table.expected().at("rows"), GetParam(), apart);
  table.ExpectRowsOfFiles(table.expected().at("rows"), apart);
}

TEST_P(ReadableSparkTable, CountsRowsOfEverySnapshot) {
  SparkTable table(GetParam());
  if (!table.expected().contains("snapshots")) GTEST_SKIP() << "not recorded for this table";
  for (const Json& snapshot : table.expected().at("snapshots")) {
    auto read = table.Query(fmt::format("SELECT count(*) AS n FROM {} VERSION AS OF {}", GetParam(),
                                        snapshot.at("snapshot_id").get<int64_t>()));
    ASSERT_THAT(read, IsOk());
    EXPECT_EQ(read->rows.at(0).at("n"), std::to_string(snapshot.at("rows_at_snapshot").get<int64_t>()));
  }
}

INSTANTIATE_TEST_SUITE_P(Spark, ReadableSparkTable,
                         testing::Values("alltypes", "evolve", "javatypes", "lineage", "part_dv", "refs", "spec_evo",
                                         "upgraded", "variant"),
                         [](const auto& instance) { return instance.param; });

TEST(SparkTable, LineageIsRightAfterEveryStep) {
  SparkTable table("lineage");
  for (const Json& step : table.expected().at("steps")) {
    SCOPED_TRACE(step.at("step").get<std::string>());
    table.ExpectRows(step.at("rows"), fmt::format("lineage VERSION AS OF {}", step.at("snapshot_id").get<int64_t>()));
  }
}

TEST(SparkTable, BranchesAndTagsHaveTheirOwnRows) {
  SparkTable table("refs");
  table.ExpectRows(table.expected().at("branch_dev_rows"), "refs VERSION AS OF 'dev'");
  table.ExpectRows(table.expected().at("branch_dev_rows"), "refs.branch_dev");
  table.ExpectRows(table.expected().at("tag_rows"), "refs VERSION AS OF 'keep-me'");
  EXPECT_THAT(table.Query(fmt::format("SELECT * FROM refs VERSION AS OF {}",
                                      table.expected().at("expired_snapshot").get<int64_t>())),
              IsError(ErrorCode::kNotFound, "4911012046686240577"));
}

TEST(SparkTable, FiltersGiveWhatSparkGives) {
  SparkTable table("part_dv");
  for (const Json& query : table.expected().at("queries")) {
    std::string text = query.at("sql").get<std::string>();
    for (size_t at; (at = text.find("from T")) != std::string::npos;) text.replace(at, 6, "from part_dv");
    SCOPED_TRACE(text);
    auto read = table.Query(text);
    ASSERT_THAT(read, IsOk());
    ASSERT_EQ(read->rows.size(), query.at("result").size());
    for (size_t i = 0; i < read->rows.size(); ++i) {
      for (const auto& field : read->schema->fields()) {
        EXPECT_EQ(read->rows[i].at(field->name()), Theirs(query.at("result").at(i).at(field->name()), *field->type()));
      }
    }
  }
}

TEST(SparkTable, HasNoLineageBeforeTheFirstSnapshotOfVersion3) {
  SparkTable table("upgraded");
  const std::string last_of_version_2 = "upgraded VERSION AS OF 6637335653316777553";
  table.ExpectRows(table.expected().at("rows_v2_before_upgrade"), last_of_version_2);
  table.ExpectRows(table.expected().at("rows_right_after_upgrade"), last_of_version_2);
}

TEST(SparkTable, VariantsReadAsJson) {
  SparkTable table("variant");
  auto read = table.Query("SELECT id, v FROM variant ORDER BY id");
  ASSERT_THAT(read, IsOk());
  const Json& rows = table.expected().at("rows");
  ASSERT_EQ(read->rows.size(), rows.size());
  for (size_t i = 0; i < rows.size(); ++i) {
    const Json& ours = read->rows[i].at("v");
    EXPECT_EQ(ours.is_null() ? Json() : Json::parse(ours.get<std::string>()), rows[i].at("v")) << rows[i].dump();
  }
  // By FileReader the other columns can be read.
  EXPECT_THAT(table.ReadFiles({"v"}), IsError(ErrorCode::kNotSupported, "v"));
}

}  // namespace
}  // namespace frazil
