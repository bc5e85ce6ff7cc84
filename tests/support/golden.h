#pragma once

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <string>
#include <vector>

#include "frazil/base/bytes.h"

namespace frazil::test {

/// Content of a file below tests/fixtures; throws when it is not there, which fails the test.
inline std::string GoldenText(const std::string& path) {
  std::ifstream file(std::string(FRAZIL_TEST_DATA_DIR) + "/" + path, std::ios::binary);
  if (!file) throw std::runtime_error("no such fixture: " + path);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

inline Bytes GoldenBytes(const std::string& path) { return CopyBytes(AsBytes(GoldenText(path))); }

/// Paths below tests/fixtures of all files in a folder, deep and sorted.
inline std::vector<std::string> GoldenFiles(const std::string& folder) {
  const std::filesystem::path root = FRAZIL_TEST_DATA_DIR;
  std::vector<std::string> paths;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(root / folder)) {
    if (entry.is_regular_file()) paths.push_back(entry.path().lexically_relative(root).string());
  }
  std::sort(paths.begin(), paths.end());
  return paths;
}

/// Rows of a CSV fixture without its header; RFC 4180 quotes, no line breaks in fields.
inline std::vector<std::vector<std::string>> GoldenCsv(const std::string& path) {
  std::vector<std::vector<std::string>> rows;
  std::vector<std::string> row{""};
  bool in_quotes = false;
  const std::string text = GoldenText(path);
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (in_quotes) {
      if (c != '"') {
        row.back() += c;
      } else if (i + 1 < text.size() && text[i + 1] == '"') {
        row.back() += text[++i];
      } else {
        in_quotes = false;
      }
    } else if (c == '"') {
      in_quotes = true;
    } else if (c == ',') {
      row.emplace_back();
    } else if (c == '\n') {
      rows.push_back(std::move(row));
      row = {""};
    } else if (c != '\r') {
      row.back() += c;
    }
  }
  if (row.size() > 1) rows.push_back(std::move(row));
  if (!rows.empty()) rows.erase(rows.begin());
  return rows;
}

}  // namespace frazil::test
