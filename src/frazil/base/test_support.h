#pragma once

#include <filesystem>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "frazil/base/result.h"
#include "frazil/base/uuid.h"

namespace frazil {

/// A fresh folder that goes with the object. Tests write nowhere else.
class TempDir {
 public:
  TempDir() : path_(std::filesystem::temp_directory_path() / ("frazil-test-" + Uuid::Random().ToString())) {
    std::filesystem::create_directories(path_);
  }
  ~TempDir() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  TempDir(const TempDir&) = delete;
  TempDir& operator=(const TempDir&) = delete;

  const std::filesystem::path& path() const { return path_; }
  std::string Join(const std::string& name) const { return (path_ / name).string(); }

 private:
  std::filesystem::path path_;
};

inline void PrintTo(const Error& error, std::ostream* out) {
  *out << ErrorCodeName(error.code()) << ": " << error.ToString();
}

MATCHER(IsOk, "is ok") {
  if (arg.has_value()) return true;
  *result_listener << "failed with " << ErrorCodeName(arg.error().code()) << ": " << arg.error().ToString();
  return false;
}

MATCHER_P(IsOkAnd, matcher, "is ok and its value matches") {
  if (!arg.has_value()) {
    *result_listener << "failed with " << ErrorCodeName(arg.error().code()) << ": " << arg.error().ToString();
    return false;
  }
  return ::testing::ExplainMatchResult(matcher, *arg, result_listener);
}

/// Failed with this code and a message (hint and context included) that contains `text`.
MATCHER_P2(IsError, code, text, "is an error of that code whose text contains it") {
  if (arg.has_value()) {
    *result_listener << "succeeded";
    return false;
  }
  *result_listener << ErrorCodeName(arg.error().code()) << ": " << arg.error().ToString();
  return arg.error().code() == code && arg.error().ToString().find(text) != std::string::npos;
}

}  // namespace frazil

/// `ASSERT_OK_AND_ASSIGN(auto table, catalog.LoadTable(name));`
#define ASSERT_OK_AND_ASSIGN(declaration, expression) \
  ASSERT_OK_AND_ASSIGN_INNER(FRAZIL_CONCAT(test_result_, __LINE__), declaration, expression)
#define ASSERT_OK_AND_ASSIGN_INNER(result, declaration, expression) \
  auto&& result = (expression);                                     \
  ASSERT_THAT(result, ::frazil::IsOk());                            \
  declaration = *std::move(result)
