#pragma once

#include <string>
#include <utility>

#include <CLI/CLI.hpp>

#include "frazil/base/result.h"
#include "frazil/catalog/table_name.h"

namespace frazil::cli {

/// Check of an option: `parse` (text -> Result) takes it. What it does not take is a usage error, said before anything is
/// opened.
template <typename Parse>
CLI::Validator Parsed(Parse parse) {
  const auto check = [parse = std::move(parse)](const std::string& text) -> std::string {
    const auto parsed = parse(text);
    return parsed ? std::string() : parsed.error().ToString();
  };
  return {check, "", ""};
}

/// For App::parse_complete_callback: options that do not go together are a usage error as well.
template <typename T>
void RequireUsable(const Result<T>& parsed) {
  if (!parsed) throw CLI::ValidationError(parsed.error().ToString());
}

/// namespace.table, with or without a catalog.
inline CLI::Validator IsTableName() {
  return Parsed([](const std::string& text) { return catalog::TableName::Parse(text); });
}

/// key=value.
inline CLI::Validator IsKeyValue() {
  const auto check = [](const std::string& text) {
    const size_t equals = text.find('=');
    return equals == std::string::npos || equals == 0 ? "not key=value: '" + text + "'" : std::string();
  };
  return {check, "", ""};
}

}  // namespace frazil::cli
