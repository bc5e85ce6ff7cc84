#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

#include "frazil/io/file_io.h"
#include "tests/support/golden.h"

namespace frazil::test {

/// Reads files at the locations that the tables of tests/fixtures/spark-v3 recorded when they were written; they lie in
/// the fixture folder now. Every spelling of the location works ("file:/tmp/..", "file:///tmp/..", "/tmp/.."). Read-only.
class SparkFixtureFileIO : public io::FileIO {
 public:
  explicit SparkFixtureFileIO(std::shared_ptr<io::FileIO> inner = io::MakeLocalFileIO()) : inner_(std::move(inner)) {}

  static constexpr std::string_view kRecordedRoot = "/tmp/frazil-fixtures/spark-v3/db/";

  /// The recorded path without its scheme: equal for every spelling.
  static std::string Normalized(const std::string& path) {
    std::string_view rest = path;
    if (rest.starts_with("file:")) rest.remove_prefix(5);
    while (rest.starts_with("//")) rest.remove_prefix(1);
    return std::string(rest);
  }
  /// Where a recorded path lies now. Paths elsewhere stay.
  static std::string Map(const std::string& path) {
    const std::string plain = Normalized(path);
    if (!plain.starts_with(kRecordedRoot)) return path;
    return std::string(FRAZIL_TEST_DATA_DIR) + "/spark-v3/" + plain.substr(kRecordedRoot.size());
  }

  Result<std::unique_ptr<io::InputFile>> Open(const std::string& path) const override {
    return inner_->Open(Map(path));
  }
  Result<std::unique_ptr<io::OutputFile>> Create(const std::string& path) override {
    return Fail(ErrorCode::kNotSupported, "writing into the fixtures: {}", path);
  }
  Status Delete(const std::vector<std::string>& paths) override {
    return Fail(ErrorCode::kNotSupported, "deleting fixtures: {}", paths.empty() ? "" : paths.front());
  }
  Result<std::vector<io::FileInfo>> List(const std::string& prefix) const override { return inner_->List(Map(prefix)); }
  Result<bool> Exists(const std::string& path) const override { return inner_->Exists(Map(path)); }

 private:
  std::shared_ptr<io::FileIO> inner_;
};

/// One table of tests/fixtures/spark-v3.
class SparkFixture {
 public:
  explicit SparkFixture(std::string name)
      : name_(std::move(name)), expected_(nlohmann::json::parse(GoldenText("spark-v3/" + name_ + "/expected.json"))) {}

  static std::vector<std::string> TableNames() {
    return {"alltypes", "evolve", "javatypes", "lineage", "part_dv", "refs", "spec_evo", "upgraded", "variant"};
  }

  const std::string& name() const { return name_; }
  std::shared_ptr<io::FileIO> file_io() const { return io_; }
  /// The table's location as recorded, without a slash at the end.
  std::string location() const { return "file:" + std::string(SparkFixtureFileIO::kRecordedRoot) + name_; }
  /// The current metadata file at its recorded location; gzip in table `refs`.
  std::string metadata_location() const { return location() + "/" + expected_.at("metadata").get<std::string>(); }
  /// What Spark reads; the keys are told in the fixtures' README.
  const nlohmann::json& expected() const { return expected_; }

  /// Path below the table's folder ("data/x.parquet"), as expected.json gives it, of any spelling of a recorded path.
  std::string RelativePath(const std::string& recorded) const {
    const std::string root = std::string(SparkFixtureFileIO::kRecordedRoot) + name_ + "/";
    const std::string plain = SparkFixtureFileIO::Normalized(recorded);
    return plain.starts_with(root) ? plain.substr(root.size()) : plain;
  }
  /// Recorded paths of the files of one folder ("metadata") whose names end so.
  std::vector<std::string> FilesIn(const std::string& folder, std::string_view suffix) const {
    std::vector<std::string> paths;
    for (const std::string& file : GoldenFiles("spark-v3/" + name_ + "/" + folder)) {
      if (file.ends_with(suffix))
        paths.push_back("file:" + std::string(SparkFixtureFileIO::kRecordedRoot) + file.substr(9));
    }
    return paths;
  }

 private:
  std::string name_;
  nlohmann::json expected_;
  std::shared_ptr<io::FileIO> io_ = std::make_shared<SparkFixtureFileIO>();
};

}  // namespace frazil::test
