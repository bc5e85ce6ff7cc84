#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "frazil/format/avro_schema.h"
#include "frazil/ingest/avro_plan.h"
#include "frazil/spec/ascii.h"
#include "frazil/spec/type.h"

namespace frazil::ingest {

/// How a written primitive becomes a column's value: by an op, by none until the column is wider, or not at all.
struct AvroCast {
  std::optional<AvroOp::Code> code;
  int64_t factor = 1;
  std::optional<spec::Type> wider;  ///< what the column has to become first
};

/// Safe casts only: int to long and double, float to double, decimals to more digits, times to finer ticks, a fixed or text
/// to bytes, a uuid to its text. A time of an instant fills a column without zone in UTC; never the other way round.
AvroCast CastOf(const format::AvroNode& writer, const spec::Type& written, const spec::Type& wanted);

/// Index of the item of that name: exactly, else ignoring case when one fits (catalogs like Glue fold names).
template <typename Items>
std::optional<size_t> FindByName(const Items& items, std::string_view name) {
  std::optional<size_t> near;
  bool is_doubtful = false;
  for (size_t i = 0; i < items.size(); ++i) {
    if (items[i].name == name) return i;
    if (!spec::EqualsAnyCase(items[i].name, name)) continue;
    is_doubtful = is_doubtful || near.has_value();
    near = i;
  }
  return is_doubtful ? std::nullopt : near;
}

}  // namespace frazil::ingest
