#pragma once

#include <string>

#include "frazil/spec/type.h"

namespace frazil::sql {

/// `value`, a struct, list or map of type `from` as results spell types (kNanosWithZone counts), as an expression whose cast to
/// `to` keeps the moments in it, at any depth: a timestamptz_ns is the TIMESTAMP_NS of UTC in DuckDB, which would take it for a
/// time of the session's zone on the way to timestamptz, and make one of timestamptz. `value` itself where there is none.
std::string KeepingNestedMoments(const std::string& value, const std::string& from, const spec::Type& to);

/// A timestamptz as the UTC time that a timestamptz_ns is in DuckDB, in microseconds still; and a timestamptz_ns as a timestamptz.
std::string UtcTimeOf(const std::string& timestamptz);
std::string MomentAtUtcTime(const std::string& timestamptz_ns);

}  // namespace frazil::sql
