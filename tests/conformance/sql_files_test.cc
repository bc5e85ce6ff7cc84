// Runs tests/sql/*.test: what statements do, as text. Each case of a file runs on a catalog of its own, and again on
// tables that came about in other ways (the modes below), with the same expectations. tests/sql/README.md says how the
// files are written.

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <functional>
#include <regex>
#include <set>
#include <sstream>

#include <arrow/record_batch.h>
#include <gmock/gmock.h>

#include "frazil/base/test_support.h"
#include "frazil/catalog/memory_catalog.h"
#include "frazil/io/memory_file_io.h"
#include "frazil/maintain/procedures.h"
#include "frazil/sql/session.h"
#include "frazil/sql/table_renderer.h"

namespace frazil::sql {
namespace {

struct Record {
  enum class Kind { kStatement, kSetup, kError, kQuery };
  Kind kind = Kind::kStatement;
  int line = 0;
  bool is_sorted = false;
  std::string sql;
  std::optional<std::vector<std::string>> expected;
  std::set<std::string> skipped_modes;
  std::set<std::string> only_modes;
};

struct Case {
  std::string name;
  int line = 0;
  std::vector<Record> records;
  std::set<std::string> skipped_modes;
};

struct File {
  std::string path;
  std::vector<Record> setup;  ///< before the first case; runs at the start of each
  std::vector<Case> cases;
};

/// How the tables of a case come about.
struct Mode {
  std::string name;
  std::vector<std::pair<std::string, std::string>> properties;  ///< of every CREATE TABLE that does not set them
  bool is_scattered = false;  ///< rows of `statement setup` lie in many small files, with vectors
};

std::vector<Mode> Modes() {
  const std::vector<std::pair<std::string, std::string>> copy_on_write = {{"write.delete.mode", "copy-on-write"},
                                                                          {"write.update.mode", "copy-on-write"},
                                                                          {"write.merge.mode", "copy-on-write"}};
  std::vector<std::pair<std::string, std::string>> merge_on_read_v2 = {{"format-version", "2"}};
  for (const auto& [key, value] : copy_on_write) merge_on_read_v2.emplace_back(key, "merge-on-read");
  return {{"v3", {}, false},
          {"scattered", {}, true},
          {"copy_on_write", copy_on_write, false},
          {"v2", {{"format-version", "2"}}, false},
          {"v2_merge_on_read", merge_on_read_v2, false}};
}

std::vector<std::string> Lines(const std::string& path) {
  std::ifstream input(path);
  std::vector<std::string> lines;
  for (std::string line; std::getline(input, line);) lines.push_back(line);
  return lines;
}

File ReadFile(const std::string& path) {
  File file;
  file.path = path;
  const std::vector<std::string> lines = Lines(path);
  std::set<std::string> skipped, only;
  for (size_t i = 0; i < lines.size(); ++i) {
    const std::string& line = lines[i];
    std::istringstream words(line);
    std::string first, second;
    words >> first >> second;
    if (first.empty() || first[0] == '#') continue;
    if (first == "==") {
      file.cases.push_back({line.substr(3), static_cast<int>(i) + 1, {}, {}});
      continue;
    }
    if (first == "skipcase" && !file.cases.empty()) {
      file.cases.back().skipped_modes.insert(second);
      continue;
    }
    if (first == "skipif" || first == "onlyif") {
      (first == "skipif" ? skipped : only).insert(second);
      continue;
    }
    Record record;
    record.line = static_cast<int>(i) + 1;
    record.skipped_modes = std::move(skipped);
    record.only_modes = std::move(only);
    skipped.clear();
    only.clear();
    if (first == "query") {
      record.kind = Record::Kind::kQuery;
      record.is_sorted = second == "rowsort";
    } else if (first == "statement" && second == "error") {
      record.kind = Record::Kind::kError;
    } else if (first == "statement" && second == "setup") {
      record.kind = Record::Kind::kSetup;
    } else if (first != "statement" || second != "ok") {
      throw std::runtime_error(path + ":" + std::to_string(i + 1) + ": unknown record: " + line);
    }
    for (++i; i < lines.size() && !lines[i].empty() && lines[i] != "----"; ++i) record.sql += lines[i] + "\n";
    if (i < lines.size() && lines[i] == "----") {
      record.expected.emplace();
      for (++i; i < lines.size() && !lines[i].empty(); ++i) record.expected->push_back(lines[i]);
    }
    (file.cases.empty() ? file.setup : file.cases.back().records).push_back(std::move(record));
  }
  return file;
}

class SqlFileTest : public testing::Test {
 public:
  SqlFileTest(const File& file, const Case& one, const Mode& mode) : file_(file), case_(one), mode_(mode) {}

  void SetUp() override {
    SessionOptions options;
    options.catalogs["demo"] = catalog_;
    options.default_catalog = "demo";
    options.threads = 2;
    options.procedures = maintain::AllProcedures();
    auto session = Session::Make(std::move(options));
    ASSERT_THAT(session, IsOk());
    session_ = *std::move(session);
    ASSERT_THAT(Run("CREATE NAMESPACE demo"), IsOk());
    ASSERT_THAT(Run("USE demo"), IsOk());
  }

  void TestBody() override {
    for (const std::vector<Record>* records : {&file_.setup, &case_.records}) {
      for (const Record& record : *records) {
        if (record.skipped_modes.contains(mode_.name)) continue;
        if (!record.only_modes.empty() && !record.only_modes.contains(mode_.name)) continue;
        SCOPED_TRACE(file_.path + ":" + std::to_string(record.line) + " (" + mode_.name + ")\n" + record.sql);
        ASSERT_NO_FATAL_FAILURE(Check(record));
      }
    }
  }

 private:
  struct Answer {
    std::vector<std::string> rows;  ///< cells between |, null as NULL
    std::string message;
  };

  Result<Answer> Run(const std::string& sql) {
    FRAZIL_ASSIGN(auto result, session_->Execute(sql));
    Answer answer;
    answer.message = result->message();
    while (true) {
      FRAZIL_ASSIGN(auto batch, result->Next());
      if (!batch) return answer;
      FRAZIL_ASSIGN(auto cells, CellsOf(*batch));
      for (const auto& row : cells) {
        std::string line;
        for (size_t i = 0; i < row.size(); ++i) line += (i == 0 ? "" : "|") + (row[i].is_null ? "NULL" : row[i].text);
        answer.rows.push_back(line);
      }
    }
  }

  void Check(const Record& record) {
    auto answer = Run(WithProperties(record.sql));
    if (record.kind == Record::Kind::kError) {
      ASSERT_FALSE(answer.has_value()) << "it succeeded: " << answer->message;
      ASSERT_TRUE(record.expected) << "an error needs its text";
      EXPECT_EQ(answer.error().ToString(), record.expected->at(0));
      return;
    }
    ASSERT_TRUE(answer.has_value()) << answer.error().ToString();
    if (record.kind == Record::Kind::kQuery) {
      std::vector<std::string> expected = record.expected.value_or(std::vector<std::string>());
      if (record.is_sorted) {
        std::sort(expected.begin(), expected.end());
        std::sort(answer->rows.begin(), answer->rows.end());
      }
      EXPECT_EQ(answer->rows, expected);
      return;
    }
    if (record.expected) {
      // Behind a semicolon stands what the layout of the files made of it, which differs from mode to mode.
      EXPECT_EQ(answer->message.substr(0, answer->message.find(';')), record.expected->at(0));
    }
    if (record.kind == Record::Kind::kSetup && mode_.is_scattered) {
      ASSERT_NO_FATAL_FAILURE(Scatter(record.sql));
    }
  }

  std::string WithProperties(const std::string& sql) const {
    static const std::regex kCreate("^\\s*(CREATE|CREATE OR REPLACE|REPLACE) TABLE", std::regex::icase);
    if (!std::regex_search(sql, kCreate)) return sql;
    std::string added;
    for (const auto& [key, value] : mode_.properties) {
      if (sql.find("'" + key + "'") == std::string::npos)
        added += (added.empty() ? "'" : ", '") + key + "' = '" + value + "'";
    }
    if (added.empty()) return sql;
    std::smatch found;
    if (std::regex_search(sql, found, std::regex("TBLPROPERTIES\\s*\\(", std::regex::icase))) {
      return found.prefix().str() + found.str() + added + ", " + found.suffix().str();
    }
    if (std::regex_search(sql, found, std::regex("\\sAS\\s+(SELECT|VALUES|WITH)", std::regex::icase))) {
      return found.prefix().str() + " TBLPROPERTIES (" + added + ")" + found.str() + found.suffix().str();
    }
    return sql + " TBLPROPERTIES (" + added + ")";
  }

  /// Of the rows that an INSERT just added every second one goes by a vector, and comes back in a file of its own.
  void Scatter(const std::string& insert) {
    std::smatch found;
    ASSERT_TRUE(std::regex_search(insert, found, std::regex("INSERT INTO\\s+(\\w+)", std::regex::icase)));
    const std::string table = found[1];
    auto loaded = catalog_->LoadTable({{"demo"}, table});
    ASSERT_THAT(loaded, IsOk());
    const spec::Snapshot& snapshot = *loaded->metadata->current_snapshot();
    const std::string moved =
        fmt::format("_last_updated_sequence_number = {} AND _pos % 2 = 0", snapshot.sequence_number);
    auto last = Run(fmt::format("SELECT max(_pos) FROM {} WHERE {}", table, moved));
    ASSERT_THAT(last, IsOk());
    ASSERT_THAT(Run(fmt::format("DELETE FROM {} WHERE {}", table, moved)), IsOk());
    for (int position = 0; position <= std::stoi(last->rows.at(0)); position += 2) {
      ASSERT_THAT(Run(fmt::format("INSERT INTO {0} SELECT * FROM {0} VERSION AS OF {1} WHERE {2} AND _pos = {3}", table,
                                  snapshot.id, moved, position)),
                  IsOk());
    }
  }

  const File& file_;
  const Case& case_;
  const Mode& mode_;
  std::shared_ptr<io::MemoryFileIO> io_ = std::make_shared<io::MemoryFileIO>();
  std::shared_ptr<catalog::Catalog> catalog_ = catalog::MakeMemoryCatalog("demo", "memory://lake", io_);
  std::unique_ptr<Session> session_;
};

/// "UPDATE: keeps row ids" -> "update_keeps_row_ids".
std::string TestName(const std::string& text) {
  std::string name;
  for (char letter : text) {
    if (std::isalnum(static_cast<unsigned char>(letter))) {
      name += static_cast<char>(std::tolower(static_cast<unsigned char>(letter)));
    } else if (!name.empty() && name.back() != '_') {
      name += '_';
    }
  }
  while (!name.empty() && name.back() == '_') name.pop_back();
  return name;
}

void RegisterFiles() {
  static const std::vector<Mode> modes = Modes();
  static std::vector<std::unique_ptr<File>> files;
  std::vector<std::string> paths;
  for (const auto& entry : std::filesystem::directory_iterator(std::string(FRAZIL_TEST_DATA_DIR) + "/../sql")) {
    if (entry.path().extension() == ".test") paths.push_back(entry.path().string());
  }
  std::sort(paths.begin(), paths.end());
  for (const std::string& path : paths) {
    files.push_back(std::make_unique<File>(ReadFile(path)));
    const File& file = *files.back();
    for (const Mode& mode : modes) {
      const std::string suite = std::filesystem::path(path).stem().string() + "_" + mode.name;
      for (const Case& one : file.cases) {
        if (one.skipped_modes.contains(mode.name)) continue;
        testing::RegisterTest(suite.c_str(), TestName(one.name).c_str(), nullptr, nullptr, path.c_str(), one.line,
                              [&file, &one, &mode]() -> SqlFileTest* { return new SqlFileTest(file, one, mode); });
      }
    }
  }
}

}  // namespace
}  // namespace frazil::sql

int main(int count, char** arguments) {
  testing::InitGoogleMock(&count, arguments);
  frazil::sql::RegisterFiles();
  return RUN_ALL_TESTS();
}
