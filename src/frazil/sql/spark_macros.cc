#include "frazil/sql/spark_macros.h"

namespace frazil::sql {

std::string SparkMacros() {
  // A macro hides the function of its name: those of other arity pass on to DuckDB's own.
  return R"sql(
CREATE TEMP MACRO "<=>"(a, b) AS a IS NOT DISTINCT FROM b;
CREATE TEMP MACRO "<~>"(a, b) AS regexp_matches(a, b);
CREATE TEMP MACRO "<!~>"(a, b) AS NOT regexp_matches(a, b);

CREATE TEMP MACRO nvl(a, b) AS coalesce(a, b);
CREATE TEMP MACRO nvl2(a, b, c) AS CASE WHEN a IS NOT NULL THEN b ELSE c END;
CREATE TEMP MACRO "isnull"(a) AS a IS NULL;
CREATE TEMP MACRO "isnotnull"(a) AS a IS NOT NULL;
CREATE TEMP MACRO nanvl(a, b) AS CASE WHEN isnan(a) THEN b ELSE a END;
CREATE TEMP MACRO pmod(a, b) AS CASE WHEN a % b < 0 THEN (a % b + b) % b ELSE a % b END;
CREATE TEMP MACRO try_divide(a, b) AS CASE WHEN b <> 0 THEN a / b END;

CREATE TEMP MACRO current_timestamp() AS get_current_timestamp();
CREATE TEMP MACRO date_sub(d, n) AS CAST(d AS DATE) - CAST(n AS INTEGER),
  (part, since, until) AS system.main.date_sub(part, since, until);
CREATE TEMP MACRO datediff(until, since) AS CAST(until AS DATE) - CAST(since AS DATE),
  (part, since, until) AS system.main.datediff(part, since, until);
CREATE TEMP MACRO add_months(d, n) AS CAST(CAST(d AS DATE) + to_months(CAST(n AS INTEGER)) AS DATE);
CREATE TEMP MACRO to_date(t) AS CAST(t AS DATE);
CREATE TEMP MACRO trunc(x) AS system.main.trunc(x),
  (d, part) AS CAST(date_trunc(CASE WHEN upper(part) IN ('MM', 'MON') THEN 'month'
                                    WHEN upper(part) IN ('YY', 'YYYY') THEN 'year' ELSE part END, CAST(d AS DATE)) AS DATE);
CREATE TEMP MACRO from_unixtime(s) AS strftime(to_timestamp(s), '%Y-%m-%d %H:%M:%S');
CREATE TEMP MACRO unix_timestamp() AS CAST(floor(epoch(get_current_timestamp())) AS BIGINT),
  (t) AS CAST(floor(epoch(CAST(t AS TIMESTAMPTZ))) AS BIGINT);
CREATE TEMP MACRO unix_date(d) AS CAST(d AS DATE) - DATE '1970-01-01';
CREATE TEMP MACRO date_from_unix_date(n) AS DATE '1970-01-01' + CAST(n AS INTEGER);
CREATE TEMP MACRO timestamp_seconds(n) AS to_timestamp(n);
CREATE TEMP MACRO timestamp_millis(n) AS CAST(make_timestamp_ms(CAST(n AS BIGINT)) AS TIMESTAMP) AT TIME ZONE 'UTC';
CREATE TEMP MACRO timestamp_micros(n) AS make_timestamp(CAST(n AS BIGINT)) AT TIME ZONE 'UTC';

CREATE TEMP MACRO locate(part, t) AS instr(t, part);
CREATE TEMP MACRO substring_index(t, mark, n) AS
  array_to_string(CASE WHEN n > 0 THEN string_split(t, mark)[:n] WHEN n = 0 THEN [] ELSE string_split(t, mark)[n:] END, mark);
CREATE TEMP MACRO initcap(t) AS array_to_string(
  list_transform(string_split(lower(t), ' '), lambda w : upper(w[:1]) || w[2:]), ' ');
CREATE TEMP MACRO space(n) AS repeat(' ', n);
CREATE TEMP MACRO sha2(t, bits) AS
  CASE WHEN bits IN (0, 256) THEN sha256(t) ELSE error('sha2 knows 256 bits only: ' || bits) END;

CREATE TEMP MACRO size(x) AS
  json_array_length(CASE WHEN typeof(x) LIKE 'MAP(%' THEN to_json(json_keys(to_json(x))) ELSE to_json(x) END);
CREATE TEMP MACRO array_union(a, b) AS
  list_filter(list_concat(a, b), lambda e, i : list_position(list_concat(a, b), e) = i);
CREATE TEMP MACRO array_except(a, b) AS
  list_filter(a, lambda e, i : NOT coalesce(list_contains(b, e), false) AND list_position(a, e) = i);
CREATE TEMP MACRO array_remove(a, x) AS list_filter(a, lambda e : e IS NULL OR e <> x);
CREATE TEMP MACRO sequence(a, b) AS generate_series(a, b, CASE WHEN a <= b THEN 1 ELSE -1 END),
  (a, b, step) AS generate_series(a, b, step);

CREATE TEMP TYPE byte AS TINYINT;
CREATE TEMP TYPE timestamp_ntz AS TIMESTAMP;
CREATE TEMP TYPE timestamp_ltz AS TIMESTAMPTZ;
)sql";
}

}  // namespace frazil::sql
