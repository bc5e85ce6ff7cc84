#pragma once

#include <optional>
#include <string>

#include "frazil/spec/type.h"

namespace frazil::sql {

/// `value`, a struct, list or map of type `from` as results spell types (kNanosWithZone counts), as an expression whose cast to
/// `to` keeps the moments in it, at any depth: a timestamptz_ns is the TIMESTAMP_NS of UTC in DuckDB, which would take it for a
/// time of the session's zone on the way to timestamptz, and make one of timestamptz; what has no zone is of the session's.
/// `value` itself where nothing is to do.
std::string KeepingNestedMoments(const std::string& value, const std::string& from, const spec::Type& to);

/// A value of type `from` as the UTC time that a timestamptz_ns is in DuckDB, in microseconds still or in nanoseconds: what has no
/// zone, times, dates and text, is of the session's, as it is for timestamptz. None: of other types (a TIMESTAMP_NS is UTC). Text
/// that is no time makes the query fail.
std::optional<std::string> UtcTimeToStore(const std::string& value, const std::string& from);
/// And a timestamptz_ns as a timestamptz.
std::string MomentAtUtcTime(const std::string& timestamptz_ns);

}  // namespace frazil::sql
