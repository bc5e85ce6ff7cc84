#pragma once

#include <string>
#include <string_view>

#include "frazil/ingest/column_buffer.h"
#include "frazil/spec/type.h"

namespace frazil::ingest {

/// A column of the table that is filled from a key or a value.
struct ColumnBinding {
  const spec::Field* field = nullptr;  ///< of the table; outlives the binding
  ColumnBuffer* column = nullptr;      ///< null: only asked whether it would fit
  std::string path;                    ///< of the field in the record ("user.id"); empty: the whole key or value
  std::string other_path;              ///< looked for when there is nothing at `path`; empty: none
  bool is_identifier = false;          ///< stays required: a null is poison
  bool only_if_missing = false;        ///< another source comes first; taken where that one had nothing
};

/// Splits "user.id" into "user" and "id".
struct PathStep {
  std::string_view name;
  std::string_view rest;
};
inline PathStep FirstStep(std::string_view path) {
  const size_t dot = path.find('.');
  if (dot == std::string_view::npos) return {path, {}};
  return {path.substr(0, dot), path.substr(dot + 1)};
}

}  // namespace frazil::ingest
