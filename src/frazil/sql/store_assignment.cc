#include "frazil/sql/store_assignment.h"

#include "frazil/spec/ascii.h"
#include "frazil/sql/engine.h"
#include "frazil/sql/nested_moments.h"
#include "frazil/sql/struct_members.h"
#include "frazil/sql/token.h"
#include "frazil/sql/type_text.h"

namespace frazil::sql {
namespace {

using spec::TypeId;

constexpr char kUnfit[] = "cannot write to column ";

enum class Family { kBoolean, kWhole, kReal, kDecimal, kText, kDate, kTime, kTimestamp, kOther };

bool StartsWith(const std::string& text, const char* prefix) { return text.rfind(prefix, 0) == 0; }

/// Of a type as DuckDB's results spell it.
Family FamilyOf(const std::string& type) {
  if (type.ends_with(']') || StartsWith(type, "struct") || StartsWith(type, "map")) return Family::kOther;
  if (type == "boolean") return Family::kBoolean;
  for (const char* whole : {"tinyint", "smallint", "integer", "bigint", "hugeint", "utinyint", "usmallint", "uinteger",
                            "ubigint", "uhugeint", "bignum"}) {
    if (type == whole) return Family::kWhole;
  }
  if (type == "float" || type == "double") return Family::kReal;
  if (StartsWith(type, "decimal")) return Family::kDecimal;
  if (type == "varchar") return Family::kText;
  if (type == "date") return Family::kDate;
  if (StartsWith(type, "timestamp")) return Family::kTimestamp;
  if (StartsWith(type, "time")) return Family::kTime;
  return Family::kOther;
}

bool IsNumber(Family family) {
  return family == Family::kWhole || family == Family::kReal || family == Family::kDecimal;
}
bool IsMoment(Family family) {
  return family == Family::kDate || family == Family::kTimestamp || family == Family::kTime;
}

/// What ANSI assignment never does, though DuckDB has a cast for some of it.
bool IsRefused(Family from, Family to) {
  if (from == Family::kBoolean) return IsNumber(to) || IsMoment(to);
  if (IsNumber(from)) return to == Family::kBoolean || IsMoment(to);
  return IsMoment(from) && (IsNumber(to) || to == Family::kBoolean);
}

/// Casts that succeed for every value.
bool IsSafe(const std::string& from, Family from_family, const std::string& to, Family to_family) {
  if (to_family == Family::kText) return true;
  if (to_family == Family::kOther && from_family != Family::kText) return true;
  if (from_family == Family::kWhole && to_family == Family::kWhole) {
    return from == "tinyint" || from == "smallint" || from == "utinyint" || (from == "integer" && to == "bigint") ||
           from == "usmallint" || (from == "uinteger" && to == "bigint");
  }
  if ((from_family == Family::kWhole || from_family == Family::kDecimal) && to == "double") return true;
  if (from_family == Family::kWhole && to_family == Family::kReal) return true;
  if (from_family == Family::kReal && to == "double") return true;
  return IsMoment(from_family) && IsMoment(to_family) && from_family != Family::kTime && to_family != Family::kTime &&
         !to.ends_with("_ns");
}

/// The type of a result as DuckDB has it.
std::string InDuckDb(std::string type) {
  const std::string_view with_zone = kNanosWithZone;
  for (size_t at = 0; (at = type.find(with_zone, at)) != std::string::npos;) {
    type.replace(at, with_zone.size(), "timestamp_ns");
  }
  return type;
}

}  // namespace

Result<std::string> StoreAs(const spec::Field& column, const std::string& value, const std::string& source_type,
                            const std::string& table) {
  const std::string from = InDuckDb(source_type);
  auto cast_type = SqlCastType(column.type);
  if (!cast_type) {
    return Fail(ErrorCode::kNotSupported, "columns of type {} cannot be written yet: {} of {}", column.type.ToString(),
                column.name, table);
  }
  const std::string to = spec::ToLower(*cast_type);
  // A moment in nanoseconds is kept as the timestamp_ns of UTC, and DuckDB would take that for a time of the session's zone.
  if (source_type == kNanosWithZone && to == "timestamp with time zone") {
    return MomentAtUtcTime(value);
  }
  const std::string kept = KeepingNestedMoments(value, source_type, column.type);
  if (from == to && kept == value) return value;
  if (const auto extra = FindExtraMember(from, column.type, column.name)) {
    return tl::unexpected<Error>(
        Error(ErrorCode::kInvalidArgument, fmt::format("no member of that name in {}: {}", table, *extra))
            .WithHint("leave it out, or add it by ALTER TABLE ... ADD COLUMN"));
  }
  const Family from_family = FamilyOf(from);
  const Family to_family = FamilyOf(to);
  const std::string cast = fmt::format("CAST({} AS {})", kept, *cast_type);
  // Spark prints times of the session's zone without it.
  if (to_family == Family::kText && from == "timestamp with time zone") {
    return fmt::format("CAST(CAST({} AS TIMESTAMP) AS VARCHAR)", value);
  }
  // The bytes of the text; DuckDB's cast reads escapes in it.
  if (from_family == Family::kText && to == "blob") return fmt::format("encode({})", value);
  if (IsSafe(from, from_family, to, to_family)) return cast;

  const std::string unfit =
      fmt::format("CAST(error({} || CAST({} AS VARCHAR)) AS {})",
                  QuoteText(fmt::format("{}{} ({}) of {}: ", kUnfit, column.name, TypeText(column.type), table)), value,
                  *cast_type);
  if (IsRefused(from_family, to_family)) {
    return fmt::format("CASE WHEN {} IS NULL THEN CAST(NULL AS {}) ELSE {} END", value, *cast_type, unfit);
  }
  // DuckDB rounds on the way to whole numbers, Spark cuts the fraction off.
  const bool cuts = (from_family == Family::kReal || from_family == Family::kDecimal) && to_family == Family::kWhole;
  const auto moment = column.type.id() == TypeId::kTimestampTzNs ? UtcTimeToStore(value, from) : std::nullopt;
  if (moment && from_family == Family::kText) {
    // No TRY: it takes neither subqueries nor volatile functions.
    return fmt::format("CASE WHEN {0} IS NOT NULL AND TRY_CAST({0} AS {1}) IS NULL THEN {2} ELSE {3} END", value,
                       *cast_type, unfit, *moment);
  }
  const std::string exact = cuts ? fmt::format("trunc({})", value) : moment.value_or(value);
  return fmt::format("CASE WHEN {0} IS NOT NULL AND TRY_CAST({1} AS {2}) IS NULL THEN {3} ELSE CAST({1} AS {2}) END",
                     value, exact, *cast_type, unfit);
}

Result<std::string> DefaultOf(const spec::Field& column, const std::string& table) {
  FRAZIL_ASSIGN(const std::string type, SqlCastType(column.type));
  if (!spec::IsNull(column.write_default)) {
    return fmt::format("CAST({} AS {})", SqlLiteral(column.type, column.write_default), type);
  }
  if (column.required) {
    return Fail(ErrorCode::kInvalidArgument, "required column has no value and no default: {} of {}", column.name,
                table);
  }
  return fmt::format("CAST(NULL AS {})", type);
}

bool IsDefaultKeyword(const std::string& expression) { return spec::EqualsAnyCase(spec::Trim(expression), "default"); }

Error ExplainStoreError(Error error) {
  if (error.message().rfind(kUnfit, 0) != 0 || !error.hint().empty()) return error;
  return std::move(error).WithHint("CAST it in the query; TRY_CAST makes null of what does not fit");
}

}  // namespace frazil::sql
