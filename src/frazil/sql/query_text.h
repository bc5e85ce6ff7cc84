#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "frazil/base/result.h"

namespace frazil::sql {

/// Turns a query in Spark's spelling into DuckDB's, token by token; everything else stays as written:
///
///   `name`                                        -> "name"
///   t [FOR] [SYSTEM_]VERSION AS OF 12 | 'ref' [a] -> t [AS a] AT (VERSION => 12 | 'ref')
///   t [FOR] [SYSTEM_TIME|TIMESTAMP] AS OF '...'   -> t [AS a] AT (TIMESTAMP => '...')
///   FROM a.b.c.d                                  -> FROM "<folded>", which UnfoldName undoes
///   SET TIME ZONE 'x' | LOCAL                     -> SET TimeZone = 'x' | RESET TimeZone
///   RESET default_null_order                      -> SET default_null_order = '...' (Spark's)
///   LEFT SEMI | ANTI JOIN, a DIV b, * EXCEPT (a)  -> SEMI | ANTI JOIN, a // b, * EXCLUDE (a)
///   x [NOT] RLIKE | REGEXP 'p'                    -> x <~> 'p' (spark_macros.h)
///   X'0102'                                       -> '\x01\x02'::BLOB
///   1L, 1S, 1Y, 1BD, 1.5F, 1.5D                   -> CAST(1 AS BIGINT), ...
///   EXPLAIN EXTENDED | FORMATTED | ... q          -> EXPLAIN q
///   array(1, 2)                                   -> list_value(1, 2)
///   LATERAL VIEW [OUTER] explode(x) t AS c        -> , LATERAL (SELECT unnest(x)) AS "t"("c") (lateral_view.h)
///
/// kInvalidArgument with line:column when a version, a time or a part of a LATERAL VIEW is missing.
Result<std::string> RewriteQuery(std::string_view query);

/// Where nulls stand by default: first, behind DESC last (DuckDB's own default is last).
inline constexpr char kSparkNullOrder[] = "nulls_first_on_asc_last_on_desc";

/// The parts of a name of four or more parts that RewriteQuery folded into one; none for other names.
std::optional<std::vector<std::string>> UnfoldName(const std::string& name);

}  // namespace frazil::sql
